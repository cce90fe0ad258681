//! [`SharedGuard`]: protects a shared database against the loss of SQLite's locks.
//!
//! SQLite's locks are POSIX locks, which belong to a process and a file: if the program itself, or
//! another copy of SQLite in it, opens and closes the database or its wal-index, all of them are
//! gone. The next program that closes the database takes itself for the last, and deletes the WAL.
//!
//! ```text
//! NAME       SHARED, read    OFD lock: nobody else is the last to close
//! NAME-shm   byte 128, read  OFD lock: the wal-index is in use
//! NAME-shm   byte 120        asked for before a commit: SQLite's write lock is held
//! NAME-wal   before a commit: its inode is that of the name
//! ```
//!
//! The locks are released while a connection asks for EXCLUSIVE, which SQLite does when it leaves WAL
//! mode and when it is the last to close; it asks whether the wal-index is in use, too.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use libsqlite3_sys as ffi;

use super::database::{Database, sibling_path};
use super::session::ResultCode;
use crate::device::Lock;
use crate::fork::LockedFile;
use crate::mutation::Mutation;
use crate::ofd_lock::{is_locked_by_process, lock_byte};

/// The byte of the wal-index that is locked to read while it is in use (`UNIX_SHM_DMS`).
const IN_USE: i64 = 128;
/// The byte of the wal-index that is locked during a write transaction (`WAL_WRITE_LOCK`).
const WRITE: i64 = 120;

/// The identity of a file ([`Platform::file_identity`](crate::device::Platform::file_identity)).
pub(super) type FileId = Option<(u64, u64)>;

/// The wal-index, opened for its locks. It is dropped when no connection has the wal-index mapped:
/// closing it earlier would drop SQLite's locks.
#[derive(Debug)]
pub(super) struct SharedGuard(LockedFile);

impl SharedGuard {
    fn new(database: &Path) -> io::Result<Self> {
        let index = sibling_path(database, "-shm");
        let file = LockedFile::open(OpenOptions::new().read(true), &index)?;
        file.get()?;
        Ok(Self(file))
    }

    fn lock(&self, is_locked: bool) -> io::Result<bool> {
        lock_byte(self.0.get()?, IN_USE, is_locked)
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

    /// Puts the lock of the database at rest while it is shared. Returns false if it stayed as it
    /// was.
    pub(super) fn rest_lock(&self) -> bool {
        if self.keeps_lock.load(Ordering::Relaxed) {
            return false;
        }
        let lock = match &*self.guard() {
            Some(guard) if matches!(guard.lock(true), Ok(true)) => Lock::Guard,
            _ => Lock::None,
        };
        matches!(self.set_lock(lock), Ok(true))
    }

    /// Releases the locks for a connection that asks for EXCLUSIVE and is the only
    /// one that has the wal-index.
    pub(super) fn release_for_exclusive(&self) {
        let is_only = !self.index().is_used_by_several();
        if is_only && !self.keeps_lock.load(Ordering::Relaxed) {
            let _ = self.set_lock(Lock::None);
            if let Some(guard) = &*self.guard() {
                let _ = guard.lock(false);
            }
        }
    }

    /// Checks, before a commit to SQLite's own WAL, that the locks are held and the WAL has its name.
    /// Otherwise the commit fails with `SQLITE_IOERR_LOCK` or `SQLITE_IOERR_VNODE`.
    pub(super) fn check_shared_commit(&self, wal: FileId) -> Result<(), ResultCode> {
        let guard = self.guard();
        let Some(SharedGuard(index)) = &*guard else {
            return Ok(());
        };
        let path = sibling_path(&self.path, "-wal");
        if !matches!(self.shared.platform.file_identity(&path), Ok(named) if named == wal) {
            let what = "its WAL was deleted or replaced; close it and open it again";
            return Err(self.refuse_with(ffi::SQLITE_IOERR_VNODE, what));
        }
        let file = index.get().map_err(|_| ffi::SQLITE_IOERR_WRITE)?;
        match is_locked_by_process(file, WRITE) {
            Ok(false) => {
                let what = "the program closed a descriptor of its files, which released SQLite's \
                            locks; the transaction is rolled back";
                Err(self.refuse_with(ffi::SQLITE_IOERR_LOCK, what))
            }
            Ok(true) | Err(_) => Ok(()),
        }
    }
}
