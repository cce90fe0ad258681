//! Backup from a live store, and restore.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use crate::db::metadata;
use crate::db::random::random_i64;
use crate::db::{inode, refuse_stray_log};
use crate::error::{Error, Result};
use crate::store::part_file::PartFile;
use crate::store::{Options, Store};

/// Pages copied at a time; between two steps other programs may write.
const PAGES_PER_STEP: i32 = 1_024;

impl Store {
    /// Copies the store, in its present state, to a new file at `to`, while it is in use.
    ///
    /// The copy is complete and durable when this returns; until then it has another name.
    /// `progress` receives the pages copied and the pages in all.
    ///
    /// # Errors
    /// [`Error::Exists`] if there is a file at `to`, [`Error::StrayLog`] if there is a log;
    /// [`Error::Damaged`] if this store is; [`Error::DiskFull`], [`Error::Io`]; nothing is left at
    /// `to` then.
    pub fn backup(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        if to.exists() {
            return Err(Error::Exists(to.to_owned()));
        }
        refuse_stray_log(to)?;
        let part = PartFile::beside(to).map_err(|e| Error::io(to, e))?;
        self.db.read_transaction(|conn| {
            // The read transaction begins with the first read; from here the copy is of one state.
            metadata::get_number(conn, metadata::STORE_ID)?;
            copy_pages(conn, part.path(), progress)
        })?;
        // The backup is checked now, not when it is needed.
        let copied = Self::open_with(part.path(), &read_options())?;
        copied.must_be_whole(self.path())?;
        // Closed before it is renamed: an open connection has sidecar files under the old name.
        copied.close()?;
        part.finish_new(to)
    }

    /// Restores a backup as the store at `to`, which must not exist.
    ///
    /// The restored store starts a new incarnation: older sync tokens give
    /// `Changes::Resynchronise`.
    ///
    /// # Errors
    /// [`Error::Exists`]; for the backup [`Error::NoStore`], [`Error::NotAStore`],
    /// [`Error::NotADatabase`], [`Error::Newer`], [`Error::Damaged`]; then nothing is left
    /// at `to`.
    pub fn restore(from: &Path, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        if to.exists() {
            return Err(Error::Exists(to.to_owned()));
        }
        refuse_stray_log(to)?;
        let backup = Self::open_with(from, &read_options())?;
        backup.must_be_whole(from)?;
        let part = PartFile::beside(to).map_err(|e| Error::io(to, e))?;
        backup
            .db
            .read_transaction(|conn| copy_pages(conn, part.path(), progress))?;
        backup.close()?;
        let restored = Connection::open(part.path())
            .map_err(|e| Error::from(e).about(part.path(), Duration::ZERO))?;
        metadata::set(&restored, metadata::INCARNATION, random_i64()?)?;
        // With the inode of the backup, the first write would take it for a copy and begin another incarnation.
        metadata::set(&restored, metadata::INODE, inode(part.path())?)?;
        restored
            .close()
            .map_err(|(_, e)| Error::from(e).about(part.path(), Duration::ZERO))?;
        part.finish_new(to)
    }
}

impl Store {
    /// # Errors
    /// [`Error::Damaged`], about `path`, if [`Store::check`] finds a problem.
    fn must_be_whole(&self, path: &Path) -> Result<()> {
        match self.check()?.problems.into_iter().next() {
            None => Ok(()),
            Some(first) => Err(Error::Damaged {
                path: path.to_owned(),
                detail: first,
            }),
        }
    }
}

/// Returns options for reading an existing store.
fn read_options() -> Options {
    Options {
        read_only: true,
        create: false,
        ..Options::default()
    }
}

fn copy_pages(from: &Connection, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
    let about = |e: rusqlite::Error| Error::from(e).about(to, Duration::ZERO);
    let mut target = Connection::open(to).map_err(about)?;
    {
        let backup = Backup::new(from, &mut target).map_err(about)?;
        loop {
            let step = backup.step(PAGES_PER_STEP).map_err(about)?;
            let state = backup.progress();
            let all = u64::from(state.pagecount.unsigned_abs());
            progress(
                all - u64::from(state.remaining.unsigned_abs()).min(all),
                all,
            );
            match step {
                StepResult::Done => break,
                StepResult::Busy | StepResult::Locked => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                _ => {}
            }
        }
    }
    target.close().map_err(|(_, e)| about(e))
}
