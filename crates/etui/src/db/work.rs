//! [`Work`]: what a caller does on a connection, without its types.

use rusqlite::Connection;

use super::group_commit::CommitFailure;
use crate::error::Result;

/// Work on a connection, which runs once at most. Its value is kept by the caller.
pub(super) type Work<'w> = &'w mut dyn FnMut(&Connection) -> Result<()>;

/// Runs `work` by `run` and returns its value. `run` does not see the types of `work`: what
/// surrounds a read or a write transaction is compiled once, and not for each of some 150 callers.
pub(super) fn run_untyped<T>(
    work: impl FnOnce(&Connection) -> Result<T>,
    run: impl FnOnce(Work<'_>) -> Result<()>,
) -> Result<T> {
    let mut work = Some(work);
    let mut value = None;
    run(&mut |conn| {
        if let Some(work) = work.take() {
            value = Some(work(conn)?);
        }
        Ok(())
    })?;
    // A success without a value would be a transaction that skipped its work.
    value.ok_or_else(|| CommitFailure::unknown().into())
}
