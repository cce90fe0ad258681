//! Backup from a live store, and restore.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use tempfile::NamedTempFile;

use crate::db::metadata;
use crate::db::random::random_i64;
use crate::db::{inode, parent_of, refuse_stray_log, sync_directory, with_suffix};
use crate::error::{Error, Result};
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
        let part = PartialFile::beside(to)?;
        self.db.read_transaction(|conn| {
            // The read transaction begins with the first read; from here the copy is of one state.
            metadata::get_number(conn, metadata::STORE_ID)?;
            copy_pages(conn, part.path(), progress)
        })?;
        // The backup is checked now, not when it is needed.
        let copied = Self::open_with(part.path(), &read_options())?;
        copied.must_be_whole(self.path())?;
        copied.close()?;
        part.finish(to)
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
        let part = PartialFile::beside(to)?;
        backup
            .db
            .read_transaction(|conn| copy_pages(conn, part.path(), progress))?;
        backup.close()?;
        let restored = Connection::open(part.path())
            .map_err(|e| Error::Sqlite(e).about(part.path(), Duration::ZERO))?;
        metadata::set(&restored, metadata::INCARNATION, random_i64()?)?;
        metadata::set(&restored, metadata::INODE, inode(part.path())?)?;
        restored
            .close()
            .map_err(|(_, e)| Error::Sqlite(e).about(part.path(), Duration::ZERO))?;
        part.finish(to)
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
    let about = |e: rusqlite::Error| Error::Sqlite(e).about(to, Duration::ZERO);
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

/// A file that is being written under another name; deleted unless it is finished.
struct PartialFile(Option<NamedTempFile>);

impl PartialFile {
    /// Creates `.NAME.part-RANDOM` in the directory of `to`, readable only by its owner.
    fn beside(to: &Path) -> Result<Self> {
        let mut prefix = OsString::from(".");
        prefix.push(to.file_name().unwrap_or_default());
        prefix.push(".part-");
        let file = tempfile::Builder::new()
            .prefix(&prefix)
            .tempfile_in(parent_of(to))
            .map_err(|e| Error::io(to, e))?;
        Ok(Self(Some(file)))
    }

    fn path(&self) -> &Path {
        self.0.as_ref().map_or(Path::new(""), NamedTempFile::path)
    }

    /// Flushes the file and gives it its name, unless that is taken.
    fn finish(mut self, to: &Path) -> Result<()> {
        if let Some(file) = self.0.take() {
            file.as_file().sync_all().map_err(|e| Error::io(to, e))?;
            file.persist_noclobber(to)
                .map_err(|e| match e.error.kind() {
                    ErrorKind::AlreadyExists => Error::Exists(to.to_owned()),
                    _ => Error::io(to, e.error),
                })?;
        }
        sync_directory(to)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            for suffix in ["-journal", "-wal", "-shm"] {
                let _ = std::fs::remove_file(with_suffix(file.path(), suffix));
            }
        }
    }
}
