//! The files of a connection: a [`DatabaseConnection`], a [`RollbackJournal`], or the volatile WAL.

use std::io;
use std::os::raw::{c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use libsqlite3_sys as ffi;

use super::buffered_file::BufferedFile;
use super::commit::write_code;
use super::database::Database;
use super::database_registry::DatabaseKey;
use super::exchange::{SharedConnection, Sharing};
use super::journal::RollbackJournal;
use super::locks::{HeldLocks, LockSlots, RECOVER, SLOTS, WRITE};
use super::session::{ResultCode, SessionPhase};
use super::wal_file::WalFile;
use super::{Options, RedoLogUse, VfsState};
use crate::base_vfs::BaseVfs;
use crate::counters::CountedFile;
use crate::device::{Access, File, Lock, Role};
use crate::first_pages::FirstPages;
use crate::mutation::Mutation;
use crate::ofd_lock::ByteLock;
use crate::redo::header_marker;

/// `SQLITE_IOCAP_SUBPAGE_READ`: pages may be read in parts, at any offset.
const SUBPAGE_READ: c_int = 0x8000;

/// An open file.
#[derive(Debug)]
pub(super) enum OpenFile {
    Database(DatabaseConnection),
    Journal(RollbackJournal),
    Wal(WalFile),
}

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

fn to_result(code: c_int) -> Result<(), ResultCode> {
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(code),
    }
}

/// A connection to a database.
#[derive(Debug)]
pub(super) struct DatabaseConnection {
    pub database: Arc<Database>,
    key: DatabaseKey,
    /// A file of its own, so that connections read concurrently.
    file: BufferedFile,
    /// The locks and the wal-index by SQLite's VFS; `None`: the process is always alone.
    shared: Option<Arc<SharedConnection>>,
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
        database.ask_for_own_open();
        let open = || {
            let file = shared.platform.open(Some(&path), Role::Database, access)?;
            let own = match database.options().redo_log {
                RedoLogUse::Always => None,
                RedoLogUse::Bursts | RedoLogUse::Never => {
                    let own = shared.platform.open_shared(&path)?;
                    Some(own.ok_or(io::ErrorKind::Unsupported)?)
                }
            };
            key.check(shared, &path)?;
            Ok::<_, io::Error>((file, own))
        };
        let (file, own) = match open() {
            Ok((file, own)) => {
                let file = CountedFile::new(file, Role::Database, &shared.counting);
                let file = BufferedFile::new(file, Arc::clone(database.buffered().buffer()));
                (file, own.map(|own| Arc::new(SharedConnection::new(own))))
            }
            Err(error) => {
                shared.registry.leave(&key);
                return Err(error);
            }
        };
        database.connections().extend(own.clone());
        Ok(Self {
            database,
            key,
            file,
            shared: own,
            held: HeldLocks::default(),
            mapped_index: false,
            checkpointing: false,
            checkpointed: false,
            keeps_wal: false,
            first_pages: FirstPages::default(),
        })
    }

    pub fn read(&mut self, to: &mut [u8], offset: u64) -> Result<(), ResultCode> {
        let sharing = self.database.sharing();
        if *sharing == Sharing::Shared {
            let done = read(to, |to| self.file.read_exclusive(to, offset));
            // Before it has a lock, a connection may see the marker of a process that is alone.
            header_marker::hide(to, offset);
            return done;
        }
        // Without a lock SQLite reads only the header, for the page size.
        if self.held.level > ffi::SQLITE_LOCK_NONE && !self.reattach() {
            return Err(ffi::SQLITE_IOERR_READ);
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

    pub fn write(&mut self, data: &[u8], offset: u64) -> Result<(), ResultCode> {
        let database = Arc::clone(&self.database);
        let sharing = database.sharing();
        if *sharing == Sharing::Shared {
            // Rule 45: nothing is kept back while others read.
            return self.file.defer_write(data, offset, 0).map_err(write_code);
        }
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

    pub fn truncate(&mut self, size: u64) -> Result<(), ResultCode> {
        let database = Arc::clone(&self.database);
        let sharing = database.sharing();
        if *sharing == Sharing::Shared {
            let done = self.file.set_len(size);
            return done.map_err(|_| ffi::SQLITE_IOERR_TRUNCATE);
        }
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

    pub fn sync(&mut self) -> Result<(), ResultCode> {
        let database = Arc::clone(&self.database);
        let sharing = database.sharing();
        if *sharing == Sharing::Shared {
            return self.file.sync().map_err(|_| ffi::SQLITE_IOERR_FSYNC);
        }
        let session = &mut *database.session();
        match self.file.sync() {
            Ok(()) => {
                session.database_dirty = false;
                Ok(())
            }
            Err(error) => {
                if let SessionPhase::Live(_) = session.phase {
                    database.fail_flush(session, &error);
                }
                Err(ffi::SQLITE_IOERR_FSYNC)
            }
        }
    }

    pub fn size(&self) -> Result<u64, ResultCode> {
        self.file.len().map_err(|_| ffi::SQLITE_IOERR_FSTAT)
    }

    pub fn lock(&mut self, level: c_int) -> Result<(), ResultCode> {
        let database = Arc::clone(&self.database);
        let sharing = database.sharing();
        let done = match *sharing {
            Sharing::Alone => self.lock_alone(level),
            Sharing::Shared => self.lock_shared(level),
        };
        self.note_level();
        done
    }

    fn note_level(&self) {
        if let Some(shared) = &self.shared {
            shared.note_level(self.held.level);
        }
    }

    /// Takes a lock by SQLite's VFS, and in memory.
    fn lock_shared(&mut self, level: c_int) -> Result<(), ResultCode> {
        let (before, database) = (self.held.level, Arc::clone(&self.database));
        let Some(shared) = self.shared.clone() else {
            return Err(ffi::SQLITE_IOERR_LOCK);
        };
        if before >= level {
            return Ok(());
        }
        let wants_exclusive = level == ffi::SQLITE_LOCK_EXCLUSIVE;
        if wants_exclusive && before == ffi::SQLITE_LOCK_SHARED && database.can_exclude() {
            return self.exclude_others(&shared);
        }
        if wants_exclusive {
            database.release_for_exclusive();
        }
        match shared.file.raise_lock(level) {
            ffi::SQLITE_OK => {}
            code => {
                if wants_exclusive {
                    // As SQLite's VFS does.
                    database.locks().note_pending(&mut self.held);
                    database.rest_lock();
                }
                return Err(code);
            }
        }
        let is_locked = database.locks().raise_lock(&mut self.held, level);
        if before > ffi::SQLITE_LOCK_NONE {
            return is_locked.then_some(()).ok_or(ffi::SQLITE_BUSY);
        }
        // SQLite's own lock may be lost at once; now that of the VFS is held as well.
        let is_kept = is_locked && (database.rest_lock() || database.keeps_lock());
        // A process that was alone is gone, or was killed.
        let is_marked = match is_kept {
            true => database.is_marked().map_err(|_| ffi::SQLITE_IOERR_READ),
            false => Err(ffi::SQLITE_BUSY),
        };
        if is_marked == Ok(false) {
            return Ok(());
        }
        let none = ffi::SQLITE_LOCK_NONE;
        shared.file.lower_lock(none);
        database.locks().lower_lock(&mut self.held, none);
        database.rest_lock();
        is_marked?;
        database.recover_to_share()?;
        self.lock_shared(level)
    }

    /// Takes EXCLUSIVE by the lock that nothing else in the process can release.
    fn exclude_others(&mut self, shared: &SharedConnection) -> Result<(), ResultCode> {
        let database = Arc::clone(&self.database);
        let guard = database.guard();
        let mut locks = database.locks();
        if !locks.raise_lock(&mut self.held, ffi::SQLITE_LOCK_EXCLUSIVE) {
            return Err(ffi::SQLITE_BUSY);
        }
        // SQLite's SHARED would conflict with it; that of the guard is there without a gap.
        shared.file.lower_lock(ffi::SQLITE_LOCK_NONE);
        if matches!(database.set_lock(Lock::Exclusive), Ok(true)) {
            if let Some(guard) = &*guard {
                let _ = guard.lock_in_use(false);
            }
            return Ok(());
        }
        locks.note_pending(&mut self.held);
        drop((locks, guard));
        let _ = shared.file.raise_lock(ffi::SQLITE_LOCK_SHARED);
        database.rest_lock();
        Err(ffi::SQLITE_BUSY)
    }

    fn lock_alone(&mut self, level: c_int) -> Result<(), ResultCode> {
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

    pub fn unlock(&mut self, level: c_int) {
        let database = Arc::clone(&self.database);
        let sharing = database.sharing();
        self.checkpointed = false;
        if self.held.level > level {
            // SQLite has flushed before it reported that a transaction is complete.
            let _ = self.file.flush();
        }
        let was_exclusive = self.held.level >= ffi::SQLITE_LOCK_EXCLUSIVE;
        if let (Sharing::Shared, Some(shared)) = (*sharing, &self.shared) {
            shared.file.lower_lock(level);
            if was_exclusive && level == ffi::SQLITE_LOCK_SHARED {
                database.lower_exclusive();
                let _ = shared.file.raise_lock(level);
            }
        }
        self.database.locks().lower_lock(&mut self.held, level);
        self.note_level();
        if *sharing == Sharing::Shared {
            database.rest_lock();
        }
        drop(sharing);
        self.exchange_if_wanted();
    }

    /// Makes an exchange that is wanted, if this connection has ended its transaction.
    fn exchange_if_wanted(&self) {
        if self.held.is_between_transactions() {
            self.database.exchange_if_wanted();
        }
    }

    pub fn is_reserved(&self) -> bool {
        let sharing = self.database.sharing();
        match (*sharing, &self.shared) {
            (Sharing::Shared, Some(shared)) => shared.file.is_reserved(),
            _ => self.database.locks().is_reserved(),
        }
    }

    pub fn lock_index(
        &mut self,
        first: c_int,
        count: c_int,
        flags: c_int,
    ) -> Result<(), ResultCode> {
        let slots = LockSlots::new(first, count).ok_or(ffi::SQLITE_IOERR_SHMLOCK)?;
        let is_unlock = flags & ffi::SQLITE_SHM_UNLOCK != 0;
        let done = {
            let database = Arc::clone(&self.database);
            let sharing = database.sharing();
            match (*sharing, self.shared.clone()) {
                (Sharing::Shared, Some(shared)) => {
                    self.lock_shared_index(&shared, slots, (first, count, flags))
                }
                _ => self.lock_own_index(slots, flags),
            }
        };
        if is_unlock {
            self.exchange_if_wanted();
        }
        done
    }

    /// Changes locks of the wal-index in memory, and by those of the guard for the whole process; by
    /// SQLite's VFS where there is no guard.
    fn lock_shared_index(
        &mut self,
        shared: &SharedConnection,
        slots: LockSlots,
        (first, count, flags): (c_int, c_int, c_int),
    ) -> Result<(), ResultCode> {
        let database = Arc::clone(&self.database);
        let exclusive = flags & ffi::SQLITE_SHM_EXCLUSIVE != 0;
        let failed = |_| ffi::SQLITE_IOERR_SHMLOCK;
        // The guard's lock and the table change together.
        let guard = database.guard();
        let mut locks = database.locks();
        if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
            if !self.held.holds(slots) {
                return Ok(());
            }
            locks.unlock(&mut self.held, slots);
            let done = match &*guard {
                None => to_result(shared.file.lock_index(first, count, flags)),
                Some(guard) if exclusive || locks.are_free(slots) => {
                    let unlocked = guard.lock_slots(first, count, ByteLock::None);
                    unlocked.map(|_| ()).map_err(failed)
                }
                Some(_) => Ok(()),
            };
            drop((locks, guard));
            let ends_write = exclusive && slots.covers_range(WRITE);
            if ends_write && database.has_written_wal.swap(false, Ordering::Relaxed) {
                database.note_shared_commit();
            }
            return done;
        }
        let is_new = exclusive || locks.are_free(slots);
        if !locks.lock(&mut self.held, slots, exclusive) {
            return Err(ffi::SQLITE_BUSY);
        }
        let lock = match exclusive {
            true => ByteLock::Write,
            false => ByteLock::Read,
        };
        let done = match &*guard {
            None => to_result(shared.file.lock_index(first, count, flags)),
            Some(guard) if is_new => match guard.lock_slots(first, count, lock) {
                Ok(true) => Ok(()),
                Ok(false) => Err(ffi::SQLITE_BUSY),
                Err(error) => Err(failed(error)),
            },
            Some(_) => Ok(()),
        };
        if done.is_err() {
            locks.unlock(&mut self.held, slots);
        }
        done
    }

    fn lock_own_index(&mut self, slots: LockSlots, flags: c_int) -> Result<(), ResultCode> {
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

    pub fn map_index(
        &mut self,
        region: c_int,
        size: c_int,
        extend: bool,
    ) -> Result<*mut u8, ResultCode> {
        let (Ok(region), Ok(size)) = (usize::try_from(region), usize::try_from(size)) else {
            return Err(ffi::SQLITE_IOERR_SHMMAP);
        };
        let sharing = self.database.sharing();
        let own = match (*sharing, &self.shared) {
            (Sharing::Shared, Some(shared)) => Some(shared),
            _ => None,
        };
        let mut index = self.database.index();
        if !self.mapped_index {
            index.join();
            self.mapped_index = true;
            if let Some(shared) = &self.shared {
                shared.note_mapped(true);
            }
        }
        if let Some(own) = own {
            // The file is there from the first call on, whatever that returns; the first lock comes later.
            let first = own.file.map_index(0, size as c_int, extend)?;
            if self.database.guard().is_none() {
                drop(index);
                self.database.guard_shared();
                self.database.rest_lock();
                index = self.database.index();
            }
            if first.is_null() {
                return Ok(first);
            }
            // Each region, so that every connection has the wal-index by SQLite's VFS.
            let mut at = ptr::null_mut();
            for number in 0..=region {
                let from = own.file.map_index(number as c_int, size as c_int, extend)?;
                if from.is_null() {
                    return Ok(from);
                }
                // SAFETY: SQLite's VFS has mapped this region of the file, shared.
                let mapped = unsafe { index.map_shared(number, from) };
                at = mapped.map_err(|_| ffi::SQLITE_IOERR_SHMMAP)?;
            }
            return Ok(at);
        }
        let at = index.map_region(region, size, extend);
        if at.is_null() && extend {
            return Err(ffi::SQLITE_IOERR_SHMMAP);
        }
        Ok(at)
    }

    /// Releases the locks of the wal-index that a connection still has when it unmaps it.
    fn release_index(&mut self, shared: &SharedConnection) {
        for slot in 0..SLOTS as c_int {
            let Some(one) = LockSlots::new(slot, 1) else {
                return;
            };
            let kind = match self.held.holds_exclusively(one) {
                true => ffi::SQLITE_SHM_EXCLUSIVE,
                false => ffi::SQLITE_SHM_SHARED,
            };
            let _ = self.lock_shared_index(shared, one, (slot, 1, ffi::SQLITE_SHM_UNLOCK | kind));
        }
    }

    pub fn unmap_index(&mut self, delete: bool) {
        let database = Arc::clone(&self.database);
        let sharing = database.sharing();
        if let (Sharing::Shared, Some(shared)) = (*sharing, self.shared.clone()) {
            self.release_index(&shared);
            shared.file.unmap_index(delete);
        }
        if let Some(all) = LockSlots::new(0, 8) {
            self.database.locks().unlock(&mut self.held, all);
        }
        if let Some(shared) = &self.shared {
            shared.note_mapped(false);
        }
        let mut index = self.database.index();
        if self.mapped_index {
            index.leave();
            self.mapped_index = false;
        }
        if *sharing == Sharing::Shared && !index.in_use() {
            self.database.guard_no_more();
            if !self.database.locks().is_exclusive() {
                self.database.rest_lock();
            }
            // The next one may map another file of that name.
            index.clear();
        }
        if delete {
            index.clear();
        }
    }

    /// Writes the deferred pages of a checkpoint. SQLite ignores the result: pages that cannot be
    /// written stay deferred, are readable, and keep the log from being ended.
    fn end_checkpoint(&self) -> c_int {
        let Err(error) = self.file.flush() else {
            return ffi::SQLITE_OK;
        };
        let session = &mut *self.database.session();
        self.database.fail_io(session, "writing to it", &error)
    }

    /// # Safety
    ///
    /// `argument` is valid for the operation.
    pub unsafe fn control(&mut self, operation: c_int, argument: *mut c_void) -> c_int {
        if operation == ffi::SQLITE_FCNTL_PRAGMA {
            // It may exchange, and must not hold `Sharing`.
            // SAFETY: as the caller promises: three strings, the first for the result.
            return unsafe { self.pragma(argument.cast()) };
        }
        let database = Arc::clone(&self.database);
        let sharing = database.sharing();
        if *sharing == Sharing::Shared {
            match operation {
                ffi::SQLITE_FCNTL_CKPT_START
                | ffi::SQLITE_FCNTL_CKPT_DONE
                | ffi::SQLITE_FCNTL_COMMIT_PHASETWO => return ffi::SQLITE_OK,
                ffi::SQLITE_FCNTL_SIZE_HINT => {
                    return match self.file.host() {
                        // SAFETY: as the caller promises.
                        Some(host) => unsafe { host.control(operation, argument) },
                        None => ffi::SQLITE_NOTFOUND,
                    };
                }
                _ => {}
            }
        }
        match operation {
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

    /// # Safety
    ///
    /// `argument` points to three strings or nulls: the result, the pragma's name, its value.
    unsafe fn pragma(&self, argument: *mut *mut c_char) -> c_int {
        // SAFETY: as the caller promises.
        let name = unsafe { std::ffi::CStr::from_ptr(*argument.add(1)) };
        // SAFETY: as the caller promises.
        let value = unsafe { (*argument.add(2)).as_ref() };
        // SAFETY: a string, as the caller promises.
        let value = value.map(|value| unsafe { std::ffi::CStr::from_ptr(value) });
        let answer = match name.to_bytes().to_ascii_lowercase().as_slice() {
            b"etui_stats" => self.database.atomic_counters().now().to_string(),
            b"etui_burst" if value.is_some_and(|value| value.to_bytes() == b"0") => {
                self.database.end_burst();
                "0".to_owned()
            }
            b"etui_burst" => u8::from(self.database.expect_burst()).to_string(),
            b"etui_share" => u8::from(self.database.share_for_long_read()).to_string(),
            _ => return ffi::SQLITE_NOTFOUND,
        };
        // SAFETY: as the caller promises.
        unsafe { *argument = BaseVfs::text(answer.trim_end()) };
        ffi::SQLITE_OK
    }

    pub fn device_characteristics(&mut self) -> c_int {
        let below = self
            .file
            .host()
            .map_or(0, |host| host.device_characteristics());
        ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE | (below & SUBPAGE_READ)
    }

    /// Maps a page if the base VFS does. Not one of the first that are wanted, and never page 1, which
    /// would show the header marker.
    pub fn fetch(&mut self, offset: i64, length: c_int) -> Result<*mut c_void, ResultCode> {
        let sharing = self.database.sharing();
        let is_readable = *sharing == Sharing::Shared || self.database.is_ready();
        if offset == 0 || !is_readable || self.file.buffer().is_used() || self.first_pages.is_next()
        {
            return Ok(ptr::null_mut());
        }
        match self.file.host() {
            Some(host) => host.fetch(offset, length),
            None => Ok(ptr::null_mut()),
        }
    }

    /// # Safety
    ///
    /// `page` is null or came from [`DatabaseConnection::fetch`] at this offset.
    pub unsafe fn unfetch(&mut self, offset: i64, page: *mut c_void) -> c_int {
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
        {
            let sharing = self.database.sharing();
            if let (Sharing::Shared, Some(shared)) = (*sharing, &self.shared) {
                shared.file.lower_lock(ffi::SQLITE_LOCK_NONE);
            }
            let mut connections = self.database.connections();
            let is_other = |one: &Arc<SharedConnection>| {
                let own = self.shared.as_ref();
                own.is_none_or(|own| !Arc::ptr_eq(own, one))
            };
            connections.retain(is_other);
            drop(connections);
            self.database
                .locks()
                .lower_lock(&mut self.held, ffi::SQLITE_LOCK_NONE);
            if *sharing == Sharing::Shared {
                self.database.rest_lock();
            }
        }
        self.exchange_if_wanted();
        self.database.shared().registry.leave(&self.key);
    }
}
