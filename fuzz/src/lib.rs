//! What the targets of the redo log share.
//!
//! - [`reference`]: a second reading of the log's format, written from its description, and what
//!   has to become of a database by it;
//! - [`killed`]: databases with their logs as killed processes leave them, and opening one.

pub mod killed;
pub mod reference;
