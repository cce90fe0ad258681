//! [`RollbackJournal`]: a rollback journal that SQLite has open.

use std::os::raw::c_int;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use etui_vfs_base::file_methods::{OpenFile, methods};
use libsqlite3_sys as ffi;

use super::VfsState;
use super::buffered_file::{BufferOptions, BufferedFile, SharedBuffer};
use super::commit::write_code;
use super::connection::read;
use super::database::Database;
use super::session::ResultCode;
use crate::counters::CountedFile;
use crate::device::{Access, File, Role};

/// The header that SQLite writes over a journal which it no longer needs and does not delete.
const OVER: [u8; 28] = [0; 28];

/// A rollback journal, or a super-journal of several databases.
#[derive(Debug)]
pub(super) struct RollbackJournal {
    file: Arc<BufferedFile>,
    shared: &'static VfsState,
    /// Its path, if its directory must be synced with it.
    new: Option<PathBuf>,
    /// Its database.
    database: Option<Arc<Database>>,
    /// Its transaction is complete; it is truncated to its resting size once that is durable.
    is_over: bool,
}

impl RollbackJournal {
    pub fn open(
        shared: &'static VfsState,
        path: PathBuf,
        access: Access,
        database: Option<Arc<Database>>,
    ) -> std::io::Result<Self> {
        let file = shared.platform.open(Some(&path), Role::Journal, access)?;
        let file = CountedFile::new(file, Role::Journal, &shared.counting);
        let buffer = SharedBuffer::new(BufferOptions::default(), shared.broken);
        let file = Arc::new(BufferedFile::new(file, buffer));
        // A reader defers no writes.
        if let Some(database) = database.as_ref().filter(|_| access.write) {
            database.buffered().buffer().set_before(&file);
        }
        Ok(Self {
            file,
            shared,
            new: access.create.then_some(path),
            database,
            is_over: false,
        })
    }

    /// Returns the resting size by the study's formula: 16 pages, from 64 kB to 512 kB; `None`:
    /// disabled.
    fn resting_size(&self) -> Option<u64> {
        let database = self.database.as_ref()?;
        let page_size = u64::from(database.buffered().buffer().page_size()?);
        let wanted = database.options().journal_rests;
        wanted.then(|| (16 * page_size).clamp(64 << 10, 512 << 10))
    }
}

impl OpenFile for RollbackJournal {
    fn table() -> &'static ffi::sqlite3_io_methods {
        static TABLE: ffi::sqlite3_io_methods = methods::<RollbackJournal>(false);
        &TABLE
    }

    /// Reads. After the end of its own part SQLite looks for the header of an older transaction's
    /// part, and overwrites it; in a journal at its resting size it must find the real contents.
    fn read(&mut self, to: &mut [u8], offset: u64) -> Result<(), ResultCode> {
        read(to, |to| match self.resting_size() {
            Some(_) => self.file.read_past_reported_len(to, offset),
            None => self.file.read_at(to, offset),
        })
    }

    fn write(&mut self, bytes: &[u8], offset: u64) -> Result<(), ResultCode> {
        let kept = self.database.as_ref();
        let kept = kept.map_or(0, |database| database.options().write_back);
        self.is_over = offset == 0 && *bytes == OVER;
        let written = self.file.defer_write(bytes, offset, kept);
        written.map_err(write_code)
    }

    /// Truncates the journal. With a resting size its header is overwritten instead, as SQLite does
    /// with a persistent one.
    fn truncate(&mut self, size: u64) -> Result<(), ResultCode> {
        if size == 0 && self.resting_size().is_some() && self.file.len().is_ok_and(|len| len > 0) {
            self.is_over = true;
            let over = self.file.write_at(&OVER, 0);
            let over = over.and_then(|()| self.file.set_reported_len(0));
            return over.map_err(write_code);
        }
        let done = self.file.set_len(size);
        done.map_err(|_| ffi::SQLITE_IOERR_TRUNCATE)
    }

    fn sync(&mut self, _flags: c_int) -> Result<(), ResultCode> {
        let synced = self.file.sync().and_then(|()| match &self.new {
            Some(path) => self.shared.platform.sync_directory_of(path),
            None => Ok(()),
        });
        synced.map_err(|_| ffi::SQLITE_IOERR_FSYNC)?;
        self.new = None;
        // Not before: a journal that is still valid must be complete.
        if self.is_over
            && let Some(resting) = self.resting_size()
        {
            // A journal that stays longer is valid, too.
            let _ = self.file.shrink_to(resting);
        }
        Ok(())
    }

    fn size(&mut self) -> Result<u64, ResultCode> {
        self.file.len().map_err(|_| ffi::SQLITE_IOERR_FSTAT)
    }
}

impl Drop for RollbackJournal {
    fn drop(&mut self) {
        // Writes still deferred when the transaction is complete are not needed.
        let _ = self.file.flush();
    }
}

/// Returns the database of a journal.
pub(super) fn database_of(shared: &'static VfsState, journal: &Path) -> Option<Arc<Database>> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let name = journal.as_os_str().as_bytes().strip_suffix(b"-journal")?;
    shared.registry.find(Path::new(OsStr::from_bytes(name)))
}
