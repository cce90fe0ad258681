//! [`SharedGuard`]: protects a shared database against the loss of SQLite's locks.
//!
//! SQLite's locks are POSIX locks, which belong to a process and a file: if the program itself, or
//! another copy of SQLite in it, opens and closes the database or its wal-index, all of them are
//! gone. The next program that closes the database takes itself for the last, and deletes the WAL.
//!
//! ```text
//! NAME       SHARED, read         OFD lock: nobody else is the last to close
//! NAME-shm   byte 128, read       OFD lock: the wal-index is in use
//! NAME-shm   bytes 120 to 127     OFD locks: SQLite's eight locks of the wal-index
//! NAME-wal   before a commit: its inode is that of the name
//! ```
//!
//! The eight locks are taken here *instead* of by SQLite's VFS, once for all connections of the process,
//! which are arbitrated in memory. SQLite in other processes, and another copy in this one, see them
//! as its own.
//!
//! For EXCLUSIVE, which SQLite takes when it leaves WAL mode and when it is the last to close, the lock of
//! the database becomes one that excludes all others, and that of the wal-index in use is
//! released: SQLite's VFS asks for it before it deletes the file.

use std::fs::OpenOptions;
use std::io;
use std::os::raw::c_int;
use std::path::Path;
use std::sync::atomic::Ordering;

use libsqlite3_sys as ffi;

use super::database::{Database, sibling_path};
use super::session::ResultCode;
use crate::device::Lock;
use crate::fork::LockedFile;
use crate::mutation::Mutation;
use crate::ofd_lock::{ByteLock, lock_bytes};

/// The byte of the wal-index that is locked to read while it is in use (`UNIX_SHM_DMS`).
const IN_USE: i64 = 128;
/// The first of the bytes of the wal-index that are SQLite's eight locks (`UNIX_SHM_BASE`).
const SLOTS_BEGIN: i64 = 120;

/// The identity of a file ([`Platform::file_identity`](crate::device::Platform::file_identity)).
pub(super) type FileId = Option<(u64, u64)>;

/// The wal-index, opened for its locks. It is dropped when no connection has the wal-index mapped:
/// closing it earlier would drop SQLite's locks.
#[derive(Debug)]
pub(super) struct SharedGuard(LockedFile);

impl SharedGuard {
    fn new(database: &Path) -> io::Result<Self> {
        let index = sibling_path(database, "-shm");
        let file = LockedFile::open(OpenOptions::new().read(true).write(true), &index)?;
        // The file system may have no such locks.
        lock_bytes(file.get()?, IN_USE, 1, ByteLock::Read)?;
        Ok(Self(file))
    }

    /// Locks, or unlocks, the byte that says that the wal-index is in use.
    pub fn lock_in_use(&self, is_locked: bool) -> io::Result<bool> {
        let lock = if is_locked {
            ByteLock::Read
        } else {
            ByteLock::None
        };
        lock_bytes(self.0.get()?, IN_USE, 1, lock)
    }

    /// Changes locks of the wal-index, for all connections of this process.
    pub fn lock_slots(&self, first: c_int, count: c_int, lock: ByteLock) -> io::Result<bool> {
        let start = SLOTS_BEGIN + i64::from(first);
        lock_bytes(self.0.get()?, start, i64::from(count), lock)
    }
}

impl Database {
    /// Begins to guard a shared database whose wal-index SQLite has mapped. It stays unguarded where
    /// the system has no such locks.
    pub(super) fn guard_shared(&self) {
        let mut guard = self.guard();
        if guard.is_none() && !self.broken().is(Mutation::PosixGate) {
            *guard = SharedGuard::new(&self.path).ok();
        }
    }

    /// Stops guarding. No connection has the wal-index mapped.
    pub(super) fn guard_no_more(&self) {
        *self.guard() = None;
    }

    /// Puts the lock of the database at rest while it is shared: SHARED, as long as a connection has
    /// it. Returns false if it stayed as it was: another process has the database alone.
    pub(super) fn rest_lock(&self) -> bool {
        if self.keeps_lock.load(Ordering::Relaxed) {
            return false;
        }
        // EXCLUSIVE is taken, and a log replayed, with the guard held as well.
        let guard = self.guard();
        // Another connection has it alone, and may be deleting the WAL. Whoever takes EXCLUSIVE has the
        // guard meanwhile; whoever gives it up comes here again.
        if self.locks().is_exclusive() {
            return true;
        }
        if let Some(guard) = &*guard {
            let _ = guard.lock_in_use(true);
        }
        let is_locked = self.locks().is_locked();
        let lock = match is_locked && !self.broken().is(Mutation::PosixGate) {
            true => Lock::Guard,
            false => Lock::None,
        };
        // An error: the file system has no such locks.
        !matches!(self.set_lock(lock), Ok(false))
    }

    /// Releases the locks for a connection that asks for EXCLUSIVE and is the only
    /// one that has the wal-index.
    pub(super) fn release_for_exclusive(&self) {
        let is_only = !self.index().is_used_by_several();
        if is_only && !self.keeps_lock.load(Ordering::Relaxed) {
            let _ = self.set_lock(Lock::None);
            if let Some(guard) = &*self.guard() {
                let _ = guard.lock_in_use(false);
            }
        }
    }

    /// Returns true if the lock of the database stays as it is until the database is closed (rule 44).
    pub(super) fn keeps_lock(&self) -> bool {
        self.keeps_lock.load(Ordering::Relaxed)
    }

    /// Returns true if EXCLUSIVE can be taken by the guard's lock: there is a guard, and one connection
    /// alone has the wal-index.
    pub(super) fn can_exclude(&self) -> bool {
        let is_only = !self.index().is_used_by_several();
        is_only && !self.keeps_lock.load(Ordering::Relaxed) && self.guard().is_some()
    }

    /// Lets others read again, before SQLite's VFS takes SHARED.
    pub(super) fn lower_exclusive(&self) {
        let _ = self.set_lock(Lock::Shared);
    }

    /// Checks, before a commit to SQLite's own WAL, that the WAL has its name. Otherwise the commit
    /// fails with `SQLITE_IOERR_VNODE`.
    pub(super) fn check_shared_commit(&self, wal: FileId) -> Result<(), ResultCode> {
        let path = sibling_path(&self.path, "-wal");
        if !matches!(self.shared.platform.file_identity(&path), Ok(named) if named == wal) {
            let what = "its WAL was deleted or replaced; close it and open it again";
            return Err(self.refuse_with(ffi::SQLITE_IOERR_VNODE, what));
        }
        Ok(())
    }
}
