//! [`Journal`]: a rollback journal that SQLite has open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use libsqlite3_sys as ffi;

use super::Shared;
use super::buffered::{Buffer, Buffered, Tuning};
use super::commit::write_code;
use super::database::Database;
use super::session::Code;
use crate::counters::CountedFile;
use crate::device::{Access, File, Role};

/// What SQLite writes over the begin of a journal that it is done with and does not remove.
const OVER: [u8; 28] = [0; 28];

/// A rollback journal, or one of several databases.
#[derive(Debug)]
pub(super) struct Journal {
    file: Arc<Buffered>,
    shared: &'static Shared,
    /// Its name, if its directory is to be synced with it.
    new: Option<PathBuf>,
    /// Whose it is.
    database: Option<Arc<Database>>,
    /// Whether it is over, and goes back to its resting size once that is durable.
    is_over: bool,
}

impl Journal {
    pub fn open(
        shared: &'static Shared,
        path: PathBuf,
        access: Access,
        database: Option<Arc<Database>>,
    ) -> std::io::Result<Self> {
        let file = shared.platform.open(Some(&path), Role::Journal, access)?;
        let file = CountedFile::new(file, Role::Journal, &shared.counting);
        let buffer = Buffer::new(Tuning::default(), shared.broken);
        let file = Arc::new(Buffered::new(file, buffer));
        // Who only looks at it keeps nothing back.
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

    pub fn file(&self) -> &Buffered {
        &self.file
    }

    /// Its resting size by the study's formula: 16 pages, from 64 kB to 512 kB; `None`: it is not
    /// to have one.
    fn resting(&self) -> Option<u64> {
        let database = self.database.as_ref()?;
        let page_size = u64::from(database.buffered().buffer().page_size()?);
        let wanted = database.options().journal_rests;
        wanted.then(|| (16 * page_size).clamp(64 << 10, 512 << 10))
    }

    /// Reads. SQLite looks whether the header of an older transaction's part stands where its own
    /// ends, and takes it away: of a journal that rests it is to find what is there.
    pub fn read(&self, to: &mut [u8], offset: u64) -> std::io::Result<usize> {
        match self.resting() {
            Some(_) => self.file.read_beyond(to, offset),
            None => self.file.read_at(to, offset),
        }
    }

    pub fn write(&mut self, bytes: &[u8], offset: u64) -> Result<(), Code> {
        let kept = self.database.as_ref();
        let kept = kept.map_or(0, |database| database.options().write_back);
        self.is_over = offset == 0 && *bytes == OVER;
        let written = self.file.write_later(bytes, offset, kept);
        written.map_err(write_code)
    }

    /// Cuts it. One that is to rest is overwritten instead, as SQLite does with one that persists.
    pub fn truncate(&mut self, size: u64) -> Result<(), Code> {
        if size == 0 && self.resting().is_some() && self.file.len().is_ok_and(|len| len > 0) {
            self.is_over = true;
            let over = self.file.write_at(&OVER, 0);
            let over = over.and_then(|()| self.file.seem_to_end(0));
            return over.map_err(write_code);
        }
        let done = self.file.set_len(size);
        done.map_err(|_| ffi::SQLITE_IOERR_TRUNCATE)
    }

    pub fn sync(&mut self) -> Result<(), Code> {
        let synced = self.file.sync().and_then(|()| match &self.new {
            Some(path) => self.shared.platform.sync_directory_of(path),
            None => Ok(()),
        });
        synced.map_err(|_| ffi::SQLITE_IOERR_FSYNC)?;
        self.new = None;
        // Not before: a journal that still counts must be whole.
        if self.is_over
            && let Some(resting) = self.resting()
        {
            let _ = self.file.cut_below(resting);
        }
        Ok(())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // What is not written when its transaction is complete, nobody needs.
        let _ = self.file.flush();
    }
}

/// The database that a journal of this name belongs to.
pub(super) fn database_of(shared: &'static Shared, journal: &Path) -> Option<Arc<Database>> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let name = journal.as_os_str().as_bytes().strip_suffix(b"-journal")?;
    shared.registry.find(Path::new(OsStr::from_bytes(name)))
}
