//! Shared by the targets of the redo log.
//!
//! - [`reference`]: a second implementation of the log's format, written from its description, with
//!   the expected result for a database;
//! - [`killed`]: databases with their logs as left by killed processes, and opening one.

pub mod killed;
pub mod reference;
