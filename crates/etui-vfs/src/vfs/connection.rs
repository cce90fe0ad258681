//! [`DatabaseConnection`]: a database that a connection has open.

use std::io;
use std::os::raw::{c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr;
use std::sync::{Arc, PoisonError};

use etui_vfs_base::base_vfs::BaseVfs;
use etui_vfs_base::file_methods::{OpenFile, methods};
use etui_vfs_base::first_pages::FirstPages;
use libsqlite3_sys as ffi;

use super::buffered_file::BufferedFile;
use super::commit::{is_no_space, write_code};
use super::database::Database;
use super::database_registry::DatabaseKey;
use super::locks::{HeldLocks, LockSlots, RECOVER, WRITE};
use super::session::{ResultCode, SessionPhase};
use super::{Options, VfsState};
use crate::counters::CountedFile;
use crate::device::{Access, File, Role};
use crate::mutation::Mutation;
use etui_vfs_base::header_marker;

/// `SQLITE_IOCAP_SUBPAGE_READ`: pages may be read in parts, at any offset.
const SUBPAGE_READ: c_int = 0x8000;

/// Completes a read for SQLite: a short read is an error code, and the rest is zeros.
pub(super) fn read(
    to: &mut [u8],
    read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
) -> Result<(), ResultCode> {
    let there = read(to).map_err(|_| ffi::SQLITE_IOERR_READ)?;
    match to.get_mut(there..) {
        Some(rest) if !rest.is_empty() => {
            rest.fill(0);
            Err(ffi::SQLITE_IOERR_SHORT_READ)
        }
        _ => Ok(()),
    }
}

/// A connection to a database.
#[derive(Debug)]
pub(super) struct DatabaseConnection {
    pub database: Arc<Database>,
    key: DatabaseKey,
    /// A file of its own, so that connections read concurrently.
    file: BufferedFile,
    held: HeldLocks,
    mapped_index: bool,
    /// A checkpoint is in progress.
    checkpointing: bool,
    /// After a checkpoint, which may truncate the file.
    checkpointed: bool,
    keeps_wal: bool,
    first_pages: FirstPages,
}

impl DatabaseConnection {
    pub fn open(
        shared: &'static VfsState,
        path: PathBuf,
        access: Access,
        options: Options,
    ) -> io::Result<Self> {
        let (key, database) = shared.registry.join(shared, &path, access, options)?;
        let opened = shared.platform.open(Some(&path), Role::Database, access);
        let opened = opened.and_then(|file| key.check(shared, &path).map(|()| file));
        let file = match opened {
            Ok(file) => {
                let file = CountedFile::new(file, Role::Database, &shared.counting);
                BufferedFile::new(file, Arc::clone(database.buffered().buffer()))
            }
            Err(error) => {
                shared.registry.leave(&key);
                return Err(error);
            }
        };
        Ok(Self {
            database,
            key,
            file,
            held: HeldLocks::default(),
            mapped_index: false,
            checkpointing: false,
            checkpointed: false,
            keeps_wal: false,
            first_pages: FirstPages::default(),
        })
    }

    /// Continues after leaving WAL mode with a lock, although the database file needs its log: the
    /// log is replayed if nobody else reads, and otherwise when a lock is taken again.
    fn reattach(&self) -> bool {
        if self.database.is_ready() {
            return true;
        }
        let session = &mut *self.database.session();
        let alone = self.database.locks().is_alone(&self.held);
        if alone && self.database.reattach(session).is_ok() {
            return true;
        }
        let what = "its log has to be replayed first";
        self.database.report_error(ffi::SQLITE_IOERR, what);
        false
    }

    /// Writes the deferred pages of a checkpoint. SQLite ignores the result: pages that cannot be
    /// written stay deferred, are readable, and keep the log from being ended.
    fn end_checkpoint(&self) -> c_int {
        let Err(error) = self.file.flush() else {
            return ffi::SQLITE_OK;
        };
        if is_no_space(&error) {
            // Later: the checkpoint has failed, and all is in the log.
            return self.database.io_failure("writing to it", &error);
        }
        let session = &mut *self.database.session();
        self.database.fail_io(session, "writing to it", &error)
    }

    /// # Safety
    ///
    /// `argument` points to three strings or nulls: the result, the pragma's name, its value.
    unsafe fn pragma(&self, argument: *mut *mut c_char) -> c_int {
        // SAFETY: as the caller promises.
        let name = unsafe { std::ffi::CStr::from_ptr(*argument.add(1)) };
        if !name.to_bytes().eq_ignore_ascii_case(b"etui_stats") {
            return ffi::SQLITE_NOTFOUND;
        }
        let answer = self.database.atomic_counters().now().to_string();
        // SAFETY: as the caller promises.
        unsafe { *argument = BaseVfs::text(answer.trim_end()) };
        ffi::SQLITE_OK
    }
}

impl OpenFile for DatabaseConnection {
    fn table() -> &'static ffi::sqlite3_io_methods {
        static TABLE: ffi::sqlite3_io_methods = methods::<DatabaseConnection>(true);
        &TABLE
    }

    fn read(&mut self, to: &mut [u8], offset: u64) -> Result<(), ResultCode> {
        // Without a lock SQLite reads only the header, for the page size.
        if self.held.level > ffi::SQLITE_LOCK_NONE && !self.reattach() {
            // The others that have a lock leave it, or reattach first.
            return Err(match self.database.locks().is_alone(&self.held) {
                true => ffi::SQLITE_IOERR_READ,
                false => ffi::SQLITE_BUSY,
            });
        }
        if offset > 0 {
            return read(to, |to| self.file.read_exclusive(to, offset));
        }
        let header = self.database.header.read();
        let _header = header.unwrap_or_else(PoisonError::into_inner);
        let done = read(to, |to| self.file.read_at(to, offset));
        // A connection that takes no locks (`immutable=1`) would read past another process's log.
        if self.database.is_ready() {
            header_marker::hide(to, offset);
        }
        done
    }

    fn write(&mut self, data: &[u8], offset: u64) -> Result<(), ResultCode> {
        let database = Arc::clone(&self.database);
        if !self.reattach() {
            return Err(ffi::SQLITE_IOERR_WRITE);
        }
        let session = &mut *database.session();
        database.leave_log(session)?;
        let SessionPhase::Live(log) = &session.phase else {
            let kept = database.options().write_back;
            let written = self.file.defer_write(data, offset, kept);
            return written.map_err(write_code);
        };
        let (lineage, page_size) = (log.header().lineage, u64::from(log.header().page_size));
        let broken = database.broken();
        let failed = session.failed && !broken.is(Mutation::ForgetFailure);
        if !self.checkpointing && !broken.is(Mutation::AllowAnyWrite) || failed {
            let what = "a write of the database was refused that is not a checkpoint's";
            database.report_error(ffi::SQLITE_IOERR_WRITE, what);
            return Err(ffi::SQLITE_IOERR_WRITE);
        }
        let page = offset.is_multiple_of(page_size) && data.len() as u64 == page_size;
        let number = page.then(|| u32::try_from(offset / page_size + 1).unwrap_or(0));
        if let Some(number) = number {
            if database.is_written(session, number) {
                return Ok(());
            }
            let unfolded = database.restore_before_write(session, number);
            unfolded.map_err(write_code)?;
            // Whether or not the write succeeds.
            session.note_backfilled(number, false);
        }
        session.database_dirty = true;
        let kept = database.options().gather;
        let written = if offset == 0 && !broken.is(Mutation::CheckpointErasesMarker) {
            let mut page = data.to_vec();
            header_marker::keep(&mut page, lineage);
            self.file.defer_write(&page, offset, kept)
        } else {
            self.file.defer_write(data, offset, kept)
        };
        written.map_err(write_code)?;
        if let Some(number) = number {
            database.note_written(session, number, data);
        }
        Ok(())
    }

    fn truncate(&mut self, size: u64) -> Result<(), ResultCode> {
        let database = Arc::clone(&self.database);
        if !self.reattach() {
            return Err(ffi::SQLITE_IOERR_TRUNCATE);
        }
        let session = &mut *database.session();
        database.leave_log(session)?;
        if let SessionPhase::Live(log) = &session.phase {
            // Another connection may have committed another size meanwhile; but above the epoch's
            // smallest size, pages may exist nowhere else.
            let page_size = u64::from(log.header().page_size);
            let needed = u64::from(session.min_pages()) * page_size;
            let allowed = self.checkpointed && size >= needed && !session.failed;
            if !allowed && !database.broken().is(Mutation::AllowAnyWrite) {
                let what = "a change of its size was refused that is not a checkpoint's";
                database.report_error(ffi::SQLITE_IOERR_TRUNCATE, what);
                return Err(ffi::SQLITE_IOERR_TRUNCATE);
            }
            // A checkpoint truncates to the size that it saw; another connection may have appended
            // pages in place since.
            let size = match database.broken().is(Mutation::TruncateAppended) {
                true => size,
                false => size.max(u64::from(session.placed()) * page_size),
            };
            if self.file.len().is_ok_and(|len| len == size) {
                return Ok(());
            }
            let left = u32::try_from(size / page_size).unwrap_or(u32::MAX);
            let unfolded = database.restore_pages_beyond(session, left);
            unfolded.map_err(|_| ffi::SQLITE_IOERR_TRUNCATE)?;
            session.database_dirty = true;
        }
        let done = self.file.set_len(size);
        done.map_err(|_| ffi::SQLITE_IOERR_TRUNCATE)
    }

    fn sync(&mut self, _flags: c_int) -> Result<(), ResultCode> {
        let database = Arc::clone(&self.database);
        let session = &mut *database.session();
        if let SessionPhase::Live(_) = session.phase {
            return database.flush_database(session).map_err(|code| match code {
                ffi::SQLITE_FULL => code,
                _ => ffi::SQLITE_IOERR_FSYNC,
            });
        }
        self.file.sync().map_err(|_| ffi::SQLITE_IOERR_FSYNC)?;
        session.database_dirty = false;
        Ok(())
    }

    fn size(&mut self) -> Result<u64, ResultCode> {
        self.file.len().map_err(|_| ffi::SQLITE_IOERR_FSTAT)
    }

    fn lock(&mut self, level: c_int) -> Result<(), ResultCode> {
        if self.held.level == ffi::SQLITE_LOCK_NONE {
            self.database.attach_session()?;
        } else {
            // If it fails, reads and writes are refused.
            self.reattach();
        }
        match self.database.locks().raise_lock(&mut self.held, level) {
            true => Ok(()),
            false => Err(ffi::SQLITE_BUSY),
        }
    }

    fn unlock(&mut self, level: c_int) -> Result<(), ResultCode> {
        self.checkpointed = false;
        if self.held.level > level {
            // SQLite has flushed before it reported that a transaction is complete.
            let _ = self.file.flush();
        }
        self.database.locks().lower_lock(&mut self.held, level);
        Ok(())
    }

    fn is_reserved(&mut self) -> Result<bool, ResultCode> {
        Ok(self.database.locks().is_reserved())
    }

    fn lock_index(&mut self, first: c_int, count: c_int, flags: c_int) -> Result<(), ResultCode> {
        let slots = LockSlots::new(first, count).ok_or(ffi::SQLITE_IOERR_SHMLOCK)?;
        let exclusive = flags & ffi::SQLITE_SHM_EXCLUSIVE != 0;
        if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
            self.checkpointed = false;
            let ended =
                if exclusive && slots.covers_range(WRITE) && self.held.holds_exclusively(slots) {
                    self.database.end_write()
                } else {
                    Ok(())
                };
            self.database.locks().unlock(&mut self.held, slots);
            return ended;
        }
        if exclusive && slots.covers_range(RECOVER) {
            // Rule 17: the commits that a recovering reader publishes must be durable.
            let session = &mut *self.database.session();
            self.database.flush_log(session)?;
        }
        loop {
            if self.database.locks().lock(&mut self.held, slots, exclusive) {
                if exclusive && slots.covers_range(RECOVER) {
                    self.database.prepare_recovery();
                }
                return Ok(());
            }
            if !self.database.wait_for_idle_checkpoint() {
                return Err(ffi::SQLITE_BUSY);
            }
        }
    }

    fn map_index(
        &mut self,
        region: c_int,
        size: c_int,
        extend: bool,
    ) -> Result<*mut u8, ResultCode> {
        let (Ok(region), Ok(size)) = (usize::try_from(region), usize::try_from(size)) else {
            return Err(ffi::SQLITE_IOERR_SHMMAP);
        };
        let mut index = self.database.index();
        if !self.mapped_index {
            index.join();
            self.mapped_index = true;
        }
        let at = index.map_region(region, size, extend);
        if at.is_null() && extend {
            return Err(ffi::SQLITE_IOERR_SHMMAP);
        }
        Ok(at)
    }

    fn unmap_index(&mut self, delete: bool) {
        self.database
            .locks()
            .unlock(&mut self.held, LockSlots::all());
        let mut index = self.database.index();
        if self.mapped_index {
            index.leave();
            self.mapped_index = false;
        }
        if delete {
            index.clear();
        }
    }

    unsafe fn control(&mut self, operation: c_int, argument: *mut c_void) -> c_int {
        match operation {
            // SAFETY: as the caller promises: three strings, the first for the result.
            ffi::SQLITE_FCNTL_PRAGMA => unsafe { self.pragma(argument.cast()) },
            ffi::SQLITE_FCNTL_CKPT_START => {
                self.checkpointing = true;
                // SQLite ignores the result. A log that could not be flushed refuses the
                // checkpoint's writes.
                let begun = self.database.begin_checkpoint();
                begun.err().unwrap_or(ffi::SQLITE_OK)
            }
            ffi::SQLITE_FCNTL_CKPT_DONE => {
                self.checkpointed = self.checkpointing;
                self.checkpointing = false;
                self.end_checkpoint()
            }
            // Before SQLite reports that a transaction is complete, whether or not it syncs.
            ffi::SQLITE_FCNTL_SYNC => match self.file.flush() {
                Ok(()) => ffi::SQLITE_NOTFOUND,
                Err(error) => write_code(error),
            },
            ffi::SQLITE_FCNTL_COMMIT_PHASETWO => {
                self.database.note_commit();
                ffi::SQLITE_OK
            }
            ffi::SQLITE_FCNTL_PERSIST_WAL => {
                // SAFETY: as the caller promises: an int, negative for a query.
                unsafe {
                    let to: *mut c_int = argument.cast();
                    if *to >= 0 {
                        self.keeps_wal = *to != 0;
                    }
                    *to = c_int::from(self.keeps_wal);
                }
                ffi::SQLITE_OK
            }
            ffi::SQLITE_FCNTL_POWERSAFE_OVERWRITE => {
                // SAFETY: as the caller promises: an int; this VFS does not support 0.
                unsafe { *argument.cast::<c_int>() = 1 };
                ffi::SQLITE_OK
            }
            ffi::SQLITE_FCNTL_LOCKSTATE => {
                // SAFETY: as the caller promises: a pointer to an int.
                unsafe { *argument.cast::<c_int>() = self.held.level };
                ffi::SQLITE_OK
            }
            ffi::SQLITE_FCNTL_VFSNAME => {
                // SAFETY: as the caller promises: a pointer to a string of SQLite.
                unsafe { *argument.cast::<*mut c_char>() = BaseVfs::text("etui") };
                ffi::SQLITE_OK
            }
            ffi::SQLITE_FCNTL_SIZE_HINT => {
                let database = Arc::clone(&self.database);
                let session = &mut *database.session();
                if let SessionPhase::Live(_) = session.phase {
                    if !self.checkpointing || session.failed {
                        return ffi::SQLITE_OK;
                    }
                    // SQLite's own VFS truncates a longer file, as no other connection can have
                    // extended it meanwhile. Here a thread may have appended pages in place.
                    // SAFETY: as the caller promises: a pointer to a 64-bit integer.
                    let hint = unsafe { *argument.cast::<i64>() };
                    let longer = |len| u64::try_from(hint).is_ok_and(|hint| hint > len);
                    if !self.file.len().is_ok_and(longer) {
                        return ffi::SQLITE_OK;
                    }
                    session.database_dirty = true;
                }
                match self.file.host() {
                    // SAFETY: as the caller promises.
                    Some(host) => unsafe { host.control(operation, argument) },
                    None => ffi::SQLITE_NOTFOUND,
                }
            }
            ffi::SQLITE_FCNTL_CHUNK_SIZE
            | ffi::SQLITE_FCNTL_MMAP_SIZE
            | ffi::SQLITE_FCNTL_HAS_MOVED
            | ffi::SQLITE_FCNTL_LAST_ERRNO => match self.file.host() {
                // SAFETY: as the caller promises.
                Some(host) => unsafe { host.control(operation, argument) },
                None => ffi::SQLITE_NOTFOUND,
            },
            _ => ffi::SQLITE_NOTFOUND,
        }
    }

    fn device_characteristics(&mut self) -> c_int {
        let below = self
            .file
            .host()
            .map_or(0, |host| host.device_characteristics());
        ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE | (below & SUBPAGE_READ)
    }

    /// Maps a page if the base VFS does. Not one of the first that are wanted, and never page 1, which
    /// would show the header marker.
    fn fetch(&mut self, offset: i64, length: c_int) -> Result<*mut c_void, ResultCode> {
        let is_read = offset == 0 || !self.database.is_ready() || self.file.buffer().is_used();
        if is_read || self.first_pages.is_next() {
            return Ok(ptr::null_mut());
        }
        match self.file.host() {
            Some(host) => host.fetch(offset, length),
            None => Ok(ptr::null_mut()),
        }
    }

    unsafe fn unfetch(&mut self, offset: i64, page: *mut c_void) -> c_int {
        match self.file.host() {
            // SAFETY: as the caller promises.
            Some(host) => unsafe { host.unfetch(offset, page) },
            None => ffi::SQLITE_OK,
        }
    }
}

impl Drop for DatabaseConnection {
    fn drop(&mut self) {
        self.unmap_index(false);
        self.database
            .locks()
            .lower_lock(&mut self.held, ffi::SQLITE_LOCK_NONE);
        self.database.shared().registry.leave(&self.key);
    }
}
