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

pub use capture::{
    CommandEnd, CommandRun, CommitShape, FileIo, Observed, StatementShape, Tracer, run_command,
};
pub use copy::{DatabaseHeader, copy_database, read_header};
pub use examination::{Examination, Options, examine};
pub use indexes::{IndexTrial, ScanFinding};
pub use inspect::{Inspection, RedundantIndex, TableInfo, inspect};
pub use measurement::{Advice, Measurement, WorkloadUse};
pub use place::{Location, Scratch};
pub use proposals::Proposal;
pub use replay::{Bench, IoCounts, Prepared, Replayed};
pub use setup::{JournalMode, Layer, Setup, Synchronous};
pub use text::describe;
pub use trial::{Trial, WORTHWHILE};
pub use workload::{Transaction, Workload, WorkloadSource};
