//! A library for `LD_PRELOAD`: records the statements that a program runs on one SQLite database,
//! and its writes and flushes of the database's files. `etui lab doctor` preloads it.
//!
//! ```text
//! program -> sqlite3_open -> SQLite -> a trace callback -> record
//!         -> pwrite, fdatasync, ... -> libc                -> record
//! ```
//!
//! - The program's results, `errno` and files are those of the same call without the library.
//! - Each record is one appending write to a file of the process, which is opened and closed for it.
//!   So nothing is lost if the program is killed, no descriptor can be confused with one of the
//!   program, and a fork needs no care.
//! - Memory is not allocated and no lock is taken, because the program may write in a signal handler.
//! - If the record cannot be written, it is dropped.
//!
//! `ETUI_DOCTOR_DATABASE` is the canonical path of the database, `ETUI_DOCTOR_TRACE` the directory
//! for the records. The module `record` documents their format.

mod files;
mod libc;
mod next;
mod record;
mod settings;
mod sqlite;
