//! [`LargeCommits`]: a series of large commits, such as the batches of a scan.
//!
//! On the redo log most of their pages are new and written once. What is left to a checkpoint are the
//! pages of lists and indexes, of which each batch writes many again: a checkpoint after many batches
//! writes them once for all. They wait in the memory of the volatile WAL, which may be larger
//! meanwhile (`PRAGMA etui_burst`). On SQLite's own WAL, a file that would grow, nothing changes, unless
//! the series was announced and another program keeps the store shared: that WAL grows to `MANY_PAGES`
//! and is cut back by the next checkpoint (`journal_size_limit`).

use rusqlite::{Connection, OptionalExtension};

use super::open::CHECKPOINT_PAGES;
use super::pool::ConnectionPool;
use super::vfs::Vfs;
use crate::error::{Error, Result};

/// The number of pages in the volatile WAL at which a large commit checkpoints: those of ten batches
/// of the first study. Their records fit into the redo log at rest. `media-sync` needs it: with 2,000
/// every third batch writes the pages of the lists to the database again.
const MANY_PAGES: i64 = 8_000;

/// A series of large commits; it ends when this is dropped.
pub(crate) struct LargeCommits<'p> {
    pool: &'p ConnectionPool,
    /// They are many: the series ends with a checkpoint.
    are_many: bool,
    /// They go to the redo log.
    is_logged: bool,
}

impl<'p> LargeCommits<'p> {
    /// Begins a series. With [`Vfs::Bursts`] one of many commits goes over to the redo log at the end of
    /// the next transaction, if no other process has the store open.
    pub(super) fn begin(pool: &'p ConnectionPool, many: bool) -> Result<Self> {
        let is_announced = match pool.vfs() {
            Vfs::System => false,
            Vfs::Etui => true,
            Vfs::Bursts => many,
        };
        let announce = |conn: &Connection| {
            let answer = conn.query_row("PRAGMA etui_burst", [], |row| row.get::<_, String>(0));
            Ok(answer.optional()?.is_some_and(|answer| answer == "1"))
        };
        Ok(Self {
            pool,
            are_many: many,
            is_logged: is_announced && pool.read(announce)?,
        })
    }

    /// Prepares a commit of the series, in its transaction.
    pub(crate) fn prepare(&self, conn: &Connection) -> Result<()> {
        match self.is_logged {
            true => set_checkpoint(conn, MANY_PAGES),
            false => Ok(()),
        }
    }
}

impl Drop for LargeCommits<'_> {
    fn drop(&mut self) {
        if !self.is_logged {
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
        let end = |conn: &Connection| Ok(conn.execute_batch("PRAGMA etui_burst = 0")?);
        let _ = self.pool.read(end);
    }
}

fn set_checkpoint(conn: &Connection, pages: i64) -> Result<()> {
    Ok(conn.pragma_update(None, "wal_autocheckpoint", pages)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Store};

    fn checkpoint_pages(store: &Store) -> i64 {
        let read = |conn: &Connection| {
            conn.query_row("PRAGMA wal_autocheckpoint", [], |row| row.get(0))
                .unwrap()
        };
        store.db.with_writer(read).unwrap()
    }

    #[test]
    fn checkpoints_are_rarer_during_a_series_on_the_redo_log() {
        let dir = tempfile::tempdir().unwrap();
        for (name, vfs, many, during) in [
            ("always", Vfs::Etui, false, MANY_PAGES),
            ("few", Vfs::Bursts, false, CHECKPOINT_PAGES),
            ("many", Vfs::Bursts, true, MANY_PAGES),
            ("never", Vfs::System, true, CHECKPOINT_PAGES),
        ] {
            let options = Options {
                vfs,
                ..Options::default()
            };
            let store = Store::open_with(dir.path().join(name), &options).unwrap();
            let commits = store.db.expect_large_commits(many).unwrap();
            store
                .db
                .write_unhooked(|conn| commits.prepare(conn))
                .unwrap();
            assert_eq!(checkpoint_pages(&store), during, "{name}");
            drop(commits);
            assert_eq!(checkpoint_pages(&store), CHECKPOINT_PAGES, "{name}");
            store.close().unwrap();
        }
    }
}
