//! The interface to files. The redo log accesses files only through [`Platform`] and [`File`]. The
//! system's implementation is in `system_platform.rs`; the crash laboratory has one in memory that
//! records each write, flush and change of size.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use etui_vfs_base::base_vfs::BaseVfs;

use crate::Error;
use crate::system_platform::SystemPlatform;

pub use etui_vfs_base::SqliteFile;

/// Returns the system's files, as [`register`](crate::register) uses them, as the base of another
/// platform.
///
/// # Errors
///
/// This SQLite is too old, or has no VFS for files.
pub fn system() -> Result<Arc<dyn Platform>, Error> {
    Ok(Arc::new(SystemPlatform::new(BaseVfs::find()?)))
}

/// The role of a file in its database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The database.
    Database,
    /// The rollback journal.
    Journal,
    /// The redo log.
    Redo,
    /// A temporary file of SQLite or of the volatile WAL, deleted when it is closed.
    Temporary,
}

/// The access mode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Open for writing.
    pub write: bool,
    /// Create the file if it does not exist.
    pub create: bool,
}

/// The lock state of a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Locked: nobody else can lock or use the file.
    Exclusive,
    /// Nobody else can lock it exclusively.
    Shared,
    /// Unlocked.
    None,
}

/// A set of files: the system's, or a simulated disk.
pub trait Platform: fmt::Debug + Send + Sync {
    /// Opens a file. `path` is `None` for an unnamed temporary file.
    ///
    /// # Errors
    ///
    /// The file does not exist and is not to be created, or it cannot be opened.
    fn open(&self, path: Option<&Path>, role: Role, access: Access) -> io::Result<Box<dyn File>>;

    /// Returns the name of the network file system that a path is on, if any: locks that are kept
    /// there, and opens by other machines, cannot be relied on.
    fn network_file_system(&self, _path: &Path) -> Option<String> {
        None
    }

    /// Opens a database, which exists, for locking: the lock excludes other processes, and SQLite
    /// without this VFS. It must survive that the process opens and closes the file.
    ///
    /// # Errors
    ///
    /// It cannot be opened.
    fn open_lock(&self, path: &Path) -> io::Result<Box<dyn DatabaseLock>> {
        let access = Access {
            write: true,
            create: false,
        };
        let file = self.open(Some(path), Role::Database, access)?;
        Ok(Box::new(WholeFile(file)))
    }

    /// Returns true if the file exists.
    ///
    /// # Errors
    ///
    /// The system cannot answer.
    fn exists(&self, path: &Path) -> io::Result<bool>;

    /// Removes a file; with `durably`, the removal survives a power failure. A missing file is no
    /// error.
    ///
    /// # Errors
    ///
    /// The file cannot be removed.
    fn remove(&self, path: &Path, durably: bool) -> io::Result<()>;

    /// Renames a file within its directory, unless the new name is in use.
    ///
    /// # Errors
    ///
    /// The name is in use, or the file cannot be renamed.
    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Makes the directory entry of the file `path` durable.
    ///
    /// # Errors
    ///
    /// The flush failed.
    fn sync_directory_of(&self, path: &Path) -> io::Result<()>;

    /// Returns the identity of a file under any of its names: device and inode number. `None`: the
    /// path identifies the file.
    ///
    /// # Errors
    ///
    /// The system cannot answer.
    fn file_identity(&self, _path: &Path) -> io::Result<Option<(u64, u64)>> {
        Ok(None)
    }

    /// Lets SQLite without this VFS checkpoint a WAL of its own. The caller has at most a shared
    /// lock of the database, so the WAL may remain, empty.
    ///
    /// # Errors
    ///
    /// SQLite failed.
    fn recover_foreign_wal(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Names the process that has the file locked, if it is known.
    fn lock_holder(&self, _path: &Path) -> Option<String> {
        None
    }
}

/// The lock of a database.
pub trait DatabaseLock: fmt::Debug + Send + Sync {
    /// Changes the lock, without waiting and without a moment in between. Returns false if
    /// another process, or SQLite in this one, has a lock that conflicts; it is then as before, or
    /// released.
    ///
    /// # Errors
    ///
    /// The file system has no such locks.
    fn set(&self, lock: Lock) -> io::Result<bool>;

    /// Returns the identity of the file that it locks; see [`Platform::file_identity`].
    ///
    /// # Errors
    ///
    /// The system cannot answer.
    fn identity(&self) -> io::Result<Option<(u64, u64)>> {
        Ok(None)
    }
}

/// The lock of a file that is opened for it.
#[derive(Debug)]
struct WholeFile(Box<dyn File>);

impl DatabaseLock for WholeFile {
    fn set(&self, lock: Lock) -> io::Result<bool> {
        self.0.lock(lock)
    }
}

/// An open file. All methods may be called from several threads.
#[expect(
    clippy::len_without_is_empty,
    reason = "a size in bytes, which may fail"
)]
pub trait File: fmt::Debug + Send + Sync {
    /// Reads at `offset`. Returns the number of bytes, which is smaller than requested only at the
    /// end of the file.
    ///
    /// # Errors
    ///
    /// The device failed.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Reads like [`File::read_at`], with exclusive access, which may be cheaper.
    ///
    /// # Errors
    ///
    /// The device failed.
    fn read_exclusive(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_at(bytes, offset)
    }

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    ///
    /// The device failed, or is full ([`io::ErrorKind::StorageFull`]). A part may have been
    /// written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Returns the size in bytes.
    ///
    /// # Errors
    ///
    /// The device failed.
    fn len(&self) -> io::Result<u64>;

    /// Sets the size; new bytes are zero.
    ///
    /// # Errors
    ///
    /// The device failed, or is full.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Makes all writes and the size durable (`fdatasync`).
    ///
    /// # Errors
    ///
    /// The flush failed. Writes since the last flush may or may not be durable, and a later
    /// successful flush proves nothing about them.
    fn sync(&self) -> io::Result<()>;

    /// Takes or releases the lock, without waiting. Returns false if another process has it.
    ///
    /// # Errors
    ///
    /// The file system has no locks.
    fn lock(&self, lock: Lock) -> io::Result<bool>;

    /// Returns the file of the base VFS, if there is one: it maps pages into memory and knows
    /// whether the file was moved.
    fn host(&mut self) -> Option<&mut SqliteFile> {
        None
    }
}
