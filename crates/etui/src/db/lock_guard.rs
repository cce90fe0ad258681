//! [`LockGuard`]: protects a store against another copy of SQLite in the same process.
//!
//! SQLite's locks are POSIX locks, which belong to a process and a file: closing *any* descriptor of
//! the file drops all of them. So a program that uses etui and another SQLite (Python's `sqlite3`, a
//! toolkit's library), or only reads a few bytes of the file, takes the locks from under the store:
//! the next program that closes it believes to be the last, and deletes the WAL that the store still
//! writes to.
//!
//! Open file description locks belong to a descriptor, and conflict with POSIX locks, also of the
//! same process. Those of the guard say that the store is open:
//!
//! ```text
//! NAME       bytes 0x40000002 to +509, read     as SQLite's SHARED: nobody else is the last to close
//! NAME-shm   byte 128, read                     as SQLite's lock of a wal-index in use
//! NAME-wal   no lock; its inode is compared with that of the name
//! ```
//!
//! For other processes nothing changes. A process has one guard for a file, however many stores it
//! opens there. It is released before the last store closes, so that SQLite can delete the WAL; its
//! descriptors are closed after, since that drops POSIX locks too.
//!
//! Before each commit [`LockGuard::check`] looks whether SQLite's write lock is still held and
//! `NAME-wal` is still the file that it was.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Weak};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::pool::lock;
use super::with_suffix;
use crate::error::{Error, Result};

/// SQLite's `SHARED_FIRST` and `SHARED_SIZE`: the bytes of the database that an open connection has
/// locked to read.
const SHARED: (i64, i64) = (0x4000_0002, 510);
/// The byte of the wal-index that is locked to read while it is in use (`UNIX_SHM_DMS`).
const IN_USE: (i64, i64) = (128, 1);
/// The byte of the wal-index that is locked during a write transaction (`WAL_WRITE_LOCK`).
const WRITE: (i64, i64) = (120, 1);

/// Device and inode.
type FileId = (u64, u64);

/// The guards of this process. An entry is removed when the last store on its file is closed.
static GUARDS: LazyLock<Mutex<HashMap<FileId, Weak<OpenFiles>>>> = LazyLock::new(Mutex::default);

/// The locked files, shared by the stores of a process on one database.
struct OpenFiles {
    id: FileId,
    path: PathBuf,
    wal_path: PathBuf,
    database: File,
    wal_index: File,
    wal: FileId,
    /// Stores that were not closed yet.
    stores: Mutex<usize>,
}

/// A store's part in the guard of its file.
pub(super) struct LockGuard {
    files: Arc<OpenFiles>,
    is_released: AtomicBool,
}

impl LockGuard {
    /// Protects an open database in WAL mode. Returns `None` where that cannot be done: the file
    /// system has no open file description locks, or the database no wal-index.
    pub(super) fn acquire(path: &Path) -> Option<Self> {
        let id = file_id(path)?;
        let known = lock(&GUARDS).get(&id).and_then(Weak::upgrade);
        let files = match known.filter(|files| files.is_current()) {
            Some(files) => files,
            None => {
                let files = Arc::new(OpenFiles::open(path, id)?);
                lock(&GUARDS).insert(id, Arc::downgrade(&files));
                files
            }
        };
        let mut stores = lock(&files.stores);
        if *stores == 0 && !files.lock_to_read() {
            return None;
        }
        *stores += 1;
        drop(stores);
        Some(Self {
            files,
            is_released: AtomicBool::new(false),
        })
    }

    /// Checks, in a write transaction, that its commit is safe.
    ///
    /// # Errors
    /// [`Error::LocksLost`]; [`Error::LogReplaced`].
    pub(super) fn check(&self) -> Result<()> {
        let files = &self.files;
        if !files.is_current() {
            return Err(Error::LogReplaced(files.wal_path.clone()));
        }
        let mut found = read_lock(WRITE);
        found.l_type = libc::F_WRLCK as libc::c_short;
        let asked = fcntl(&files.wal_index, FcntlArg::F_OFD_GETLK(&mut found));
        let own = libc::pid_t::try_from(std::process::id()).unwrap_or(0);
        let is_held = i32::from(found.l_type) == libc::F_WRLCK && found.l_pid == own;
        match asked {
            Ok(_) if !is_held => Err(Error::LocksLost(files.path.clone())),
            _ => Ok(()),
        }
    }

    /// Gives the locks up if this is the last store of the process on its file. To be called before
    /// its connections are closed.
    pub(super) fn release(&self) {
        if self.is_released.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut stores = lock(&self.files.stores);
        *stores = stores.saturating_sub(1);
        if *stores == 0 {
            self.files.unlock();
        }
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        self.release();
    }
}

impl Drop for OpenFiles {
    fn drop(&mut self) {
        let mut guards = lock(&GUARDS);
        if guards
            .get(&self.id)
            .is_some_and(|files| files.strong_count() == 0)
        {
            guards.remove(&self.id);
        }
    }
}

impl OpenFiles {
    fn open(path: &Path, id: FileId) -> Option<Self> {
        let wal_path = with_suffix(path, "-wal");
        Some(Self {
            id,
            path: path.to_owned(),
            wal: file_id(&wal_path)?,
            wal_path,
            wal_index: File::open(with_suffix(path, "-shm")).ok()?,
            database: File::open(path).ok()?,
            stores: Mutex::new(0),
        })
    }

    /// Returns true if the WAL's name is still that of the file that it was.
    fn is_current(&self) -> bool {
        file_id(&self.wal_path) == Some(self.wal)
    }

    /// Locks the files. Returns false if that is not possible.
    fn lock_to_read(&self) -> bool {
        let locked = set_lock(&self.database, &read_lock(SHARED))
            && set_lock(&self.wal_index, &read_lock(IN_USE));
        if !locked {
            self.unlock();
        }
        locked
    }

    fn unlock(&self) {
        for (file, range) in [(&self.database, SHARED), (&self.wal_index, IN_USE)] {
            let mut lock = read_lock(range);
            lock.l_type = libc::F_UNLCK as libc::c_short;
            set_lock(file, &lock);
        }
    }
}

fn set_lock(file: &File, lock: &libc::flock) -> bool {
    fcntl(file, FcntlArg::F_OFD_SETLK(lock)).is_ok()
}

fn read_lock((start, length): (i64, i64)) -> libc::flock {
    libc::flock {
        l_type: libc::F_RDLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start,
        l_len: length,
        l_pid: 0,
    }
}

fn file_id(path: &Path) -> Option<FileId> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}
