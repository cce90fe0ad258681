//! Alone or shared: the exchange between the redo log and SQLite's own WAL, with connections open.
//!
//! ```text
//!           alone                                 shared
//! the volatile WAL, in memory            NAME-wal   \
//! the wal-index, in memory               NAME-shm    }  SQLite's own, by its own VFS
//! NAME-redo: durable commits             locks      /
//! one lock on the database               no header marker; the log is ended
//!
//! shared  --- a burst of commits, and nobody else ------------------->  alone
//! alone   --- somebody opens the file, a pause, the last close ------>  shared
//! ```
//!
//! While shared, each call goes on to SQLite's VFS. An exchange waits until no connection of this
//! process holds a lock of the wal-index, and holds all of them in memory meanwhile. SQLite's
//! connections do not notice: the address of the wal-index stays and shows other pages, its header is
//! unlike any before, so that each connection drops its cache, and a handle of the WAL leads to the
//! image or to the file.

use std::io;
use std::os::raw::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, RwLockReadGuard};

use libsqlite3_sys as ffi;

use super::RedoLogUse;
use super::bursts::OpenWatch;
use super::database::{Database, sibling_path};
use super::locks::{HeldLocks, LockSlots, SLOTS};
use super::session::{ResultCode, Session, SessionPhase};
use super::wal_index::REGION;
use crate::counters::add;
use crate::device::{Access, Lock, Role, SqliteFile};
use crate::mutation::Mutation;
use crate::redo::header_marker;

/// How this process has a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// By the redo log, with a lock that keeps others out.
    Alone,
    /// By SQLite's own WAL mode.
    Shared,
}

/// The outcome of an attempt to go alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    /// This process is alone.
    Done,
    /// A connection of this process reads or writes.
    Later,
    /// Another process has the database open, or the system refuses.
    Refused,
}

/// [`Sharing`], which does not change until this is dropped.
pub(super) type SharingGuard<'d> = RwLockReadGuard<'d, Sharing>;

/// The locks and the wal-index of one connection while the database is shared.
#[derive(Debug)]
pub(super) struct SharedConnection {
    pub file: SqliteFile,
    /// The connection's lock of the database, alone or shared.
    level: AtomicI32,
    /// The connection has the wal-index mapped, alone or shared.
    is_mapped: AtomicBool,
}

impl SharedConnection {
    pub fn new(file: SqliteFile) -> Self {
        Self {
            file,
            level: AtomicI32::new(ffi::SQLITE_LOCK_NONE),
            is_mapped: AtomicBool::new(false),
        }
    }

    pub fn note_level(&self, level: c_int) {
        self.level.store(level, Ordering::Relaxed);
    }

    pub fn note_mapped(&self, is_mapped: bool) {
        self.is_mapped.store(is_mapped, Ordering::Relaxed);
    }

    fn has_lock(&self) -> bool {
        self.level.load(Ordering::Relaxed) > ffi::SQLITE_LOCK_NONE
    }

    fn has_index(&self) -> bool {
        self.is_mapped.load(Ordering::Relaxed)
    }
}

/// Takes SHARED by SQLite's VFS for each connection that has a lock.
fn take_shared(connections: &[Arc<SharedConnection>]) -> Result<(), ResultCode> {
    for connection in connections.iter().filter(|one| one.has_lock()) {
        match connection.file.raise_lock(ffi::SQLITE_LOCK_SHARED) {
            ffi::SQLITE_OK => {}
            code => return Err(code),
        }
    }
    Ok(())
}

fn give_up_shared(connections: &[Arc<SharedConnection>]) {
    for connection in connections.iter().filter(|one| one.has_lock()) {
        connection.file.lower_lock(ffi::SQLITE_LOCK_NONE);
    }
}

impl Database {
    /// Goes on with the redo log, if no other process has the database open and no connection of
    /// this one reads or writes.
    pub(super) fn go_alone(self: &Arc<Self>) -> Attempt {
        let mut sharing = self.sharing_mut();
        if *sharing == Sharing::Alone {
            return Attempt::Done;
        }
        let may_go = self.options.redo_log == RedoLogUse::Bursts
            && !self.keeps_lock.load(Ordering::Relaxed)
            && self.index().can_exchange()
            && self
                .shared
                .platform
                .network_file_system(&self.path)
                .is_none();
        if !may_go {
            return Attempt::Refused;
        }
        let session = &mut *self.session();
        let mut held = HeldLocks::default();
        let Some(all) = self.lock_whole_index(&mut held) else {
            return Attempt::Later;
        };
        let taken = self.take_over(session);
        self.locks().unlock(&mut held, all);
        let Ok(watch) = taken else {
            self.watch_no_more();
            return Attempt::Refused;
        };
        *sharing = Sharing::Alone;
        add(&self.atomic_counters().exchanged_to_log, 1);
        drop(sharing);
        self.follow_opens(watch);
        Attempt::Done
    }

    /// The exchange to the redo log, in the order of rule 47. After an error the database is shared
    /// as before.
    fn take_over(&self, session: &mut Session) -> Result<OpenWatch, ResultCode> {
        let connections = self.connections().clone();
        let busy = |_| ffi::SQLITE_BUSY;
        let random = self.random_header()?;
        let has_gap = self.broken().is(Mutation::GapInLocks);
        if has_gap {
            self.release_for_exclusive();
            give_up_shared(&connections);
        } else if !self.is_free(&connections)? {
            return Err(ffi::SQLITE_BUSY);
        }
        let checkpointed = self.shared.platform.recover_foreign_wal(&self.path);
        if !has_gap {
            give_up_shared(&connections);
        }
        let taken = checkpointed.map_err(busy).and_then(|()| {
            // Rule 40: from before the lock is taken, and after the checkpoint, which opens the file.
            let watch = self.watch_opens().ok_or(ffi::SQLITE_BUSY)?;
            if !self.set_lock(Lock::Exclusive).map_err(busy)? {
                return Err(ffi::SQLITE_BUSY);
            }
            self.check_exclusive()?;
            self.flush_empty_wal()?;
            // SAFETY: no addresses are given.
            let exchanged = unsafe { self.index().exchange(None, random) };
            exchanged.map_err(|_| ffi::SQLITE_NOMEM)?;
            Ok(watch)
        });
        if taken.is_err() {
            // From the write lock to the read lock, so that nobody can take SQLite's EXCLUSIVE.
            let kept = self.set_lock(Lock::Shared);
            let again = take_shared(&connections);
            if !matches!((kept, again), (Ok(true), Ok(()))) || !self.rest_lock() {
                self.keeps_lock.store(true, Ordering::Relaxed);
            }
            return taken;
        }
        for connection in connections.iter().filter(|one| one.has_index()) {
            connection.file.unmap_index(true);
        }
        self.guard_no_more();
        self.main.buffer().invalidate_read_ahead();
        session.failed = false;
        session.log_failed = false;
        session.doubtful = None;
        session.directory_synced = false;
        session.phase = SessionPhase::Plain;
        session.last_record = None;
        session.begin_epoch(None);
        session.forget_frames();
        self.wal_mut().clear();
        self.ready.store(true, Ordering::Release);
        taken
    }

    /// Looks whether nobody else has the database open, by an exclusive lock that is lowered at once to
    /// a shared one (rule 47). Only then is its WAL checkpointed, by SQLite's VFS, whose locks the
    /// program can drop.
    fn is_free(&self, connections: &[Arc<SharedConnection>]) -> Result<bool, ResultCode> {
        let busy = |_| ffi::SQLITE_BUSY;
        // These would conflict; the lock of the VFS is held meanwhile.
        give_up_shared(connections);
        let is_free = self.set_lock(Lock::Exclusive);
        let kept = self.set_lock(Lock::Shared);
        let again = take_shared(connections);
        if !matches!((&kept, again), (Ok(true), Ok(()))) {
            self.rest_lock();
            return Ok(false);
        }
        if !matches!(is_free, Ok(true)) {
            self.rest_lock();
        }
        is_free.map_err(busy)
    }

    /// Checks, with the exclusive lock, that the file alone is the database (rule 48).
    fn check_exclusive(&self) -> Result<(), ResultCode> {
        self.check_name()?;
        let platform = &self.shared.platform;
        let header = self.read_header()?.ok_or(ffi::SQLITE_BUSY)?;
        let marked = header_marker::log_lineage(&header).is_some();
        for suffix in ["-journal", "-wal"] {
            if suffix == "-wal" && self.broken().is(Mutation::LookBeforeLock) {
                continue;
            }
            let there = platform.exists(&sibling_path(&self.path, suffix));
            if there.map_err(|_| ffi::SQLITE_BUSY)? {
                return Err(ffi::SQLITE_BUSY);
            }
        }
        match marked || header_marker::is_torn(&header) {
            true => Err(ffi::SQLITE_BUSY),
            false => Ok(()),
        }
    }

    /// Makes it durable that SQLite's WAL is empty. Otherwise its frames may reappear after a power cut,
    /// beside a database whose header marker says that its log counts (rule 48).
    fn flush_empty_wal(&self) -> Result<(), ResultCode> {
        if self.broken().is(Mutation::EmptyWalUnflushed) {
            return Ok(());
        }
        let wal = sibling_path(&self.path, "-wal");
        let access = Access {
            write: true,
            create: false,
        };
        let opened = self.shared.platform.open(Some(&wal), Role::Journal, access);
        match opened.and_then(|wal| wal.sync()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.io_failure("its empty WAL cannot be flushed", &error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Shares the database: all is brought to its file, and SQLite's own VFS goes on. Returns true
    /// if it is shared afterwards; not while a connection reads or writes.
    pub(super) fn step_aside(&self) -> bool {
        let mut sharing = self.sharing_mut();
        if *sharing == Sharing::Shared {
            return true;
        }
        if self.options.redo_log == RedoLogUse::Always {
            return false;
        }
        let session = &mut *self.session();
        let mut held = HeldLocks::default();
        if session.failed || session.has_unpublished() {
            return false;
        }
        let Some(all) = self.lock_whole_index(&mut held) else {
            return false;
        };
        // A failure is in SQLite's log; the process stays alone.
        let done = self
            .settle(session)
            .and_then(|()| self.admit_others(session));
        self.locks().unlock(&mut held, all);
        if done.is_ok() {
            *sharing = Sharing::Shared;
            self.shares.fetch_add(1, Ordering::Relaxed);
            add(&self.atomic_counters().exchanged_to_wal, 1);
            self.watch_no_more();
        }
        done.is_ok()
    }

    /// The second half of rule 42: the file is the database, the log is ended, the marker cleared,
    /// each durably.
    fn admit_others(&self, session: &mut Session) -> Result<(), ResultCode> {
        if !matches!(session.phase, SessionPhase::Plain) {
            return Err(ffi::SQLITE_BUSY);
        }
        // Rule 34: the wal-index and the WAL are opened by name.
        self.check_name()?;
        if self.broken().is(Mutation::AdmitBeforeMap) {
            let _ = self.set_lock(Lock::None);
        }
        let wal = self
            .shared
            .platform
            .exists(&sibling_path(&self.path, "-wal"));
        if wal.map_err(|_| ffi::SQLITE_BUSY)? && !self.broken().is(Mutation::AdmitBeforeMap) {
            return Err(self.refuse_with(ffi::SQLITE_BUSY, "there is a WAL that is not its own"));
        }
        let connections = self.connections().clone();
        let random = self.random_header()?;
        let mapped = self.map_real_index(&connections);
        let exchanged = mapped.and_then(|regions| {
            // SAFETY: the pages are those of the wal-index's file, mapped by SQLite's VFS.
            let exchanged = unsafe { self.index().exchange(Some(&regions), random) };
            exchanged.map_err(|_| ffi::SQLITE_NOMEM)
        });
        if let Err(code) = exchanged {
            for connection in connections.iter().filter(|one| one.has_index()) {
                connection.file.unmap_index(true);
            }
            return Err(code);
        }
        session.phase = SessionPhase::Detached;
        session.forget_frames();
        self.wal_mut().clear();
        self.ready.store(false, Ordering::Release);
        if self.index().in_use() {
            self.guard_shared();
        }
        let lowered = self.set_lock(Lock::Shared);
        let taken = take_shared(&connections);
        if !matches!((lowered, taken), (Ok(true), Ok(()))) || !self.rest_lock() {
            // Rule 44: the read lock stays for as long as the database is open.
            self.keeps_lock.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Maps the wal-index's file for each connection that has the index, and returns the addresses
    /// of its regions.
    fn map_real_index(
        &self,
        connections: &[Arc<SharedConnection>],
    ) -> Result<Vec<*mut u8>, ResultCode> {
        let count = self.index().len();
        let mut regions = Vec::new();
        for connection in connections.iter().filter(|one| one.has_index()) {
            regions.clear();
            for number in 0..count {
                let number = c_int::try_from(number).map_err(|_| ffi::SQLITE_IOERR_SHMMAP)?;
                let at = connection.file.map_index(number, REGION as c_int, true)?;
                if at.is_null() {
                    return Err(ffi::SQLITE_IOERR_SHMMAP);
                }
                regions.push(at);
            }
        }
        match regions.len() == count {
            true => Ok(regions),
            // The regions of connections that are gone.
            false => Err(ffi::SQLITE_BUSY),
        }
    }

    /// Brings everything to the database file, ends the log and clears the header marker. The caller
    /// has all locks of the index.
    fn settle(&self, session: &mut Session) -> Result<(), ResultCode> {
        if let SessionPhase::Detached = session.phase {
            return Err(ffi::SQLITE_BUSY);
        }
        match self.broken().is(Mutation::AsideWithoutBackfill) {
            true => session.note_all_backfilled(),
            false => self.backfill_indexed(session)?,
        }
        self.finish(session)
    }

    /// Locks the whole wal-index in memory, if no connection holds a lock of it or is about to write.
    pub(super) fn lock_whole_index(&self, held: &mut HeldLocks) -> Option<LockSlots> {
        let all = LockSlots::new(0, SLOTS as c_int)?;
        let mut locks = self.locks();
        if self.broken().is(Mutation::ExchangeWithReader) {
            return Some(all);
        }
        // A connection with exclusive access takes no locks of the index.
        (!locks.is_reserved() && locks.lock(held, all, true)).then_some(all)
    }

    /// Returns random numbers for a header (rule 43).
    fn random_header(&self) -> Result<[u8; 12], ResultCode> {
        if self.broken().is(Mutation::SameHeader) {
            return Ok([0; 12]);
        }
        let mut random = [0; 12];
        random.copy_from_slice(&self.shared.log_lineage()[..12]);
        Ok(random)
    }

    /// Replays the log that a killed process left to a database which is to be shared. The caller has
    /// no lock of it.
    pub(super) fn recover_to_share(&self) -> Result<(), ResultCode> {
        let session = &mut *self.session();
        let mut held = HeldLocks::default();
        let taken = self.take_to_recover(&mut held);
        let replayed = taken
            .and_then(|()| self.attach_locked(session))
            .and_then(|_| self.finish(session));
        session.detach_log();
        self.locks().lower_lock(&mut held, ffi::SQLITE_LOCK_NONE);
        self.rest_lock();
        replayed
    }

    /// Takes the lock that excludes others, and EXCLUSIVE in memory: the connections of this process
    /// leave the lock as it is meanwhile.
    fn take_to_recover(&self, held: &mut HeldLocks) -> Result<(), ResultCode> {
        let _guard = self.guard();
        let levels = [ffi::SQLITE_LOCK_SHARED, ffi::SQLITE_LOCK_EXCLUSIVE];
        match levels
            .iter()
            .all(|level| self.locks().raise_lock(held, *level))
        {
            true => self.take_lock(),
            false => Err(ffi::SQLITE_BUSY),
        }
    }

    /// Returns true if the header says that the database needs its log, or was left with half of a
    /// marker.
    pub(super) fn is_marked(&self) -> io::Result<bool> {
        let mut header = [0; header_marker::HEADER];
        let there = self.main().read_at(&mut header, 0)?;
        let is_marked =
            header_marker::log_lineage(&header).is_some() || header_marker::is_torn(&header);
        Ok(there == header.len() && is_marked)
    }
}
