//! [`LargeCommits`]: a series of large commits, such as the batches of a scan.
//!
//! Each batch writes many pages of lists and indexes again: a checkpoint after many batches writes them
//! to the database once for all. The WAL grows meanwhile to `MANY_PAGES`, and is cut back after the
//! checkpoint that ends the series (`journal_size_limit`).

use rusqlite::Connection;

use super::open::CHECKPOINT_PAGES;
use super::pool::ConnectionPool;
use super::vfs::Vfs;
use crate::error::{Error, Result};

/// The number of pages in the WAL at which a large commit checkpoints: those of ten batches
/// of the first study. `media-sync` needs it: with 2,000
/// every third batch writes the pages of the lists to the database again.
const MANY_PAGES: i64 = 8_000;

/// A series of large commits; it ends when this is dropped.
pub(crate) struct LargeCommits<'p> {
    pool: &'p ConnectionPool,
    are_many: bool,
    checkpoints_rarely: bool,
}

impl<'p> LargeCommits<'p> {
    /// Begins a series; `are_many`: it is worth a checkpoint at its end.
    pub(super) fn begin(pool: &'p ConnectionPool, are_many: bool) -> Self {
        // The redo log's WAL is in memory, and its new pages are written once.
        let checkpoints_rarely = are_many || pool.vfs() != Vfs::System;
        Self {
            pool,
            are_many,
            checkpoints_rarely,
        }
    }

    /// Prepares a commit of the series, in its transaction.
    pub(crate) fn prepare(&self, conn: &Connection) -> Result<()> {
        match self.checkpoints_rarely {
            true => set_checkpoint(conn, MANY_PAGES),
            false => Ok(()),
        }
    }
}

impl Drop for LargeCommits<'_> {
    fn drop(&mut self) {
        if !self.checkpoints_rarely {
            return;
        }
        // Errors are those of the next use.
        let _ = self.pool.with_writer(|conn| {
            set_checkpoint(conn, CHECKPOINT_PAGES)?;
            // Pages of the database are mapped, those of the WAL are copied at each read.
            match self.are_many {
                true => Ok(conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?),
                false => Ok::<_, Error>(()),
            }
        });
    }
}

fn set_checkpoint(conn: &Connection, pages: i64) -> Result<()> {
    Ok(conn.pragma_update(None, "wal_autocheckpoint", pages)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    #[test]
    fn checkpoints_are_rarer_during_a_long_series() {
        let dir = tempfile::tempdir().unwrap();
        for (many, during) in [(false, CHECKPOINT_PAGES), (true, MANY_PAGES)] {
            let store = Store::open(dir.path().join(many.to_string())).unwrap();
            let checkpoint_pages = || {
                let pages = |conn: &Connection| {
                    conn.query_row("PRAGMA wal_autocheckpoint", [], |row| row.get(0))
                };
                store.db.with_writer(pages).unwrap()
            };
            let commits = store.db.expect_large_commits(many);
            store
                .db
                .write_unhooked(|conn| commits.prepare(conn))
                .unwrap();
            assert_eq!(checkpoint_pages(), Ok(during));
            drop(commits);
            assert_eq!(checkpoint_pages(), Ok(CHECKPOINT_PAGES));
            store.close().unwrap();
        }
    }
}
