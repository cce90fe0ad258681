//! The redo log, which makes a commit durable with one write and one flush. Its records are
//! [`etui_redo`]'s.
//!
//! - [`log`]: the log's file: header, records, growth;
//! - [`recover`]: replays a log over its database.

pub(crate) mod log;
pub(crate) mod recover;

#[cfg(test)]
pub(crate) mod tests;
