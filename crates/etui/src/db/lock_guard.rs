//! [`LockGuard`]: protects a store with a persistent WAL, on SQLite's own VFS, against another copy of
//! SQLite in the same process. etui's VFS has locks that cannot be lost.
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
//! opens there. It is released before the last store closes, so that SQLite can delete the WAL.
//!
//! **Its descriptors are closed** when no store of the process is open, nor being opened or closed, on
//! the file: closing them earlier would drop the POSIX locks of those. So a store is registered
//! before its first connection is opened, until its last is closed.
//!
//! Before each commit [`LockGuard::check`] looks whether SQLite's write lock is still held and
//! `NAME-wal` is still the file that it was.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::paths::{parent_of, with_suffix};
use super::pool::lock;
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

/// The databases that this process has open, by their paths.
static DATABASES: LazyLock<Mutex<HashMap<PathBuf, Database>>> = LazyLock::new(Mutex::default);

/// A database of this process.
#[derive(Default)]
struct Database {
    file: Option<File>,
    /// The wal-index of the stores that are open.
    wal_index: Option<Arc<WalIndex>>,
    /// Stores that are open, being opened or being closed.
    registered: usize,
    /// Stores that are open and protected.
    protected: usize,
}

/// A wal-index. Its descriptor is closed when no store is left that uses it.
struct WalIndex {
    id: FileId,
    file: File,
}

/// A store's part in the guard of its file.
pub(super) struct LockGuard {
    key: PathBuf,
    path: PathBuf,
    files: Option<ProtectedFiles>,
    is_released: AtomicBool,
}

/// The files of a protected store.
struct ProtectedFiles {
    wal_path: PathBuf,
    wal: FileId,
    wal_index: Arc<WalIndex>,
}

impl LockGuard {
    /// Registers a store before its first connection is opened. It is to be dropped after the last
    /// one is closed.
    pub(super) fn register(path: &Path) -> Self {
        let key = canonical_path(path);
        let mut databases = lock(&DATABASES);
        databases.entry(key.clone()).or_default().registered += 1;
        Self {
            key,
            path: path.to_owned(),
            files: None,
            is_released: AtomicBool::new(false),
        }
    }

    /// Protects the database, which SQLite has open in WAL mode. It stays unprotected where that
    /// cannot be done: the file system has no open file description locks, or the database no
    /// wal-index.
    pub(super) fn protect(&mut self) {
        self.files = self.lock_files();
    }

    fn lock_files(&self) -> Option<ProtectedFiles> {
        let wal_path = with_suffix(&self.path, "-wal");
        let wal = file_id(&wal_path)?;
        let mut databases = lock(&DATABASES);
        let database = databases.get_mut(&self.key)?;
        let wal_index = database.use_wal_index(&with_suffix(&self.path, "-shm"))?;
        if database.file.is_none() {
            database.file = Some(File::open(&self.path).ok()?);
        }
        let is_locked = database.lock_to_read();
        if is_locked {
            database.protected += 1;
        } else if database.protected == 0 {
            database.unlock();
        }
        is_locked.then_some(ProtectedFiles {
            wal_path,
            wal,
            wal_index,
        })
    }

    /// Checks, in a write transaction, that its commit is safe.
    ///
    /// # Errors
    /// [`Error::LocksLost`]; [`Error::LogReplaced`].
    pub(super) fn check(&self) -> Result<()> {
        let Some(files) = &self.files else {
            return Ok(());
        };
        if file_id(&files.wal_path) != Some(files.wal) {
            return Err(Error::LogReplaced(files.wal_path.clone()));
        }
        let mut found = read_lock(WRITE);
        found.l_type = libc::F_WRLCK as libc::c_short;
        let asked = fcntl(&files.wal_index.file, FcntlArg::F_OFD_GETLK(&mut found));
        let own = libc::pid_t::try_from(std::process::id()).unwrap_or(0);
        let is_held = i32::from(found.l_type) == libc::F_WRLCK && found.l_pid == own;
        match asked {
            Ok(_) if !is_held => Err(Error::LocksLost(self.path.clone())),
            _ => Ok(()),
        }
    }

    /// Gives the locks up if this is the last store of the process on its file. To be called before
    /// its connections are closed.
    pub(super) fn release(&self) {
        if self.is_released.swap(true, Ordering::Relaxed) || self.files.is_none() {
            return;
        }
        let mut databases = lock(&DATABASES);
        if let Some(database) = databases.get_mut(&self.key) {
            database.protected = database.protected.saturating_sub(1);
            if database.protected == 0 {
                database.unlock();
            }
        }
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        self.release();
        let mut databases = lock(&DATABASES);
        if let Some(database) = databases.get_mut(&self.key) {
            database.registered = database.registered.saturating_sub(1);
            if database.registered == 0 {
                self.files = None;
                databases.remove(&self.key);
            }
        }
    }
}

impl Database {
    /// Returns the wal-index with this name, opening it unless it is the one of the open stores.
    fn use_wal_index(&mut self, path: &Path) -> Option<Arc<WalIndex>> {
        let id = file_id(path)?;
        if self.wal_index.as_ref().is_none_or(|index| index.id != id) {
            let file = File::open(path).ok()?;
            self.wal_index = Some(Arc::new(WalIndex { id, file }));
        }
        self.wal_index.clone()
    }

    /// The locked files, each with its range.
    fn locked_ranges(&self) -> impl Iterator<Item = (&File, (i64, i64))> {
        let index = self.wal_index.as_ref().map(|index| (&index.file, IN_USE));
        let file = self.file.as_ref().map(|file| (file, SHARED));
        file.into_iter().chain(index)
    }

    fn lock_to_read(&self) -> bool {
        self.locked_ranges()
            .all(|(file, range)| set_lock(file, &read_lock(range)))
    }

    fn unlock(&self) {
        for (file, range) in self.locked_ranges() {
            let mut lock = read_lock(range);
            lock.l_type = libc::F_UNLCK as libc::c_short;
            set_lock(file, &lock);
        }
    }
}

/// Returns the path without links, also of a file that does not exist yet.
fn canonical_path(path: &Path) -> PathBuf {
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    let folder = parent_of(path).canonicalize();
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
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
    etui_vfs::file_identity(path).ok()
}
