//! `etui lab doctor`: examines a SQLite database of any program, and what a command does to it, and
//! measures proposed changes on copies.
//!
//! ```text
//! copy ── inspect ───────────────┐
//!   │                            ├── proposals ── trial: replay under each setup ── examination
//! capture: the command observed ─┘                  │
//!   └── workload: its transactions ─────────────────┘
//! ```
//!
//! The database is only read. The command runs as it would run alone, but observed.

mod capture;
mod copy;
mod examination;
mod found;
mod indexes;
mod inspect;
mod measurement;
mod options;
mod place;
mod proposals;
mod replay;
mod schema;
mod setup;
mod sql_text;
mod text;
mod trial;
mod unseen;
mod words;
mod workload;

pub use copy::copy_database;
pub(crate) use examination::examine;
pub(crate) use options::Options;
pub(crate) use text::describe;
