//! The seam to files: nothing of the redo log reaches a file but through [`Platform`] and
//! [`File`]. The system's is in `system.rs`; the crash laboratory has one in memory that records
//! every write, flush and change of size.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::Error;
use crate::host::Host;
use crate::system::System;

pub use crate::system::HostFile;

/// The system's files, as [`register`](crate::register) uses them: for a platform that adds
/// something to them.
///
/// # Errors
///
/// This SQLite is too old, or has no VFS for files.
pub fn system() -> Result<Arc<dyn Platform>, Error> {
    Ok(Arc::new(System::new(Host::find()?)))
}

/// What a file is to the database that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The database.
    Database,
    /// Its rollback journal.
    Journal,
    /// Its redo log.
    Redo,
    /// What SQLite, or the volatile WAL, puts aside: gone when it is closed.
    Temporary,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Whether it is written.
    pub write: bool,
    /// Whether it is made if there is none.
    pub create: bool,
}

/// A lock of a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Nobody else can lock or use it.
    Exclusive,
    /// None.
    None,
}

/// Where files are.
pub trait Platform: fmt::Debug + Send + Sync {
    /// Opens a file. `path` is `None` for a temporary file without a name.
    ///
    /// # Errors
    ///
    /// There is none and it is not to be made, or it cannot be opened.
    fn open(&self, path: Option<&Path>, role: Role, access: Access) -> io::Result<Box<dyn File>>;

    /// Whether there is a file.
    ///
    /// # Errors
    ///
    /// It cannot be told.
    fn exists(&self, path: &Path) -> io::Result<bool>;

    /// Removes a file; `durably`: also after a power cut. None there is no error.
    ///
    /// # Errors
    ///
    /// It cannot be removed.
    fn remove(&self, path: &Path, durably: bool) -> io::Result<()>;

    /// Makes durable that the file `path` is in its directory.
    ///
    /// # Errors
    ///
    /// The flush failed.
    fn sync_directory_of(&self, path: &Path) -> io::Result<()>;

    /// What tells a file from all others, whatever name it is opened by: its device and its
    /// number there. `None`: its path does.
    ///
    /// # Errors
    ///
    /// It cannot be told.
    fn identity(&self, _path: &Path) -> io::Result<Option<(u64, u64)>> {
        Ok(None)
    }

    /// Lets SQLite without this VFS bring the database to where a WAL of its own says, and
    /// remove that; nobody has the database locked then.
    ///
    /// # Errors
    ///
    /// It could not.
    fn settle_wal(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    /// The process that has the file locked, if that can be told.
    fn holder(&self, _path: &Path) -> Option<u32> {
        None
    }
}

/// An open file. All methods may be called by several threads.
#[expect(
    clippy::len_without_is_empty,
    reason = "a size in bytes, which may fail"
)]
pub trait File: fmt::Debug + Send + Sync {
    /// Reads at `offset`; fewer bytes than asked for only at the file's end. Tells how many.
    ///
    /// # Errors
    ///
    /// The device failed.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The same for who has the file for itself, which may be cheaper.
    ///
    /// # Errors
    ///
    /// The device failed.
    fn read_alone(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_at(bytes, offset)
    }

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    ///
    /// The device failed, or is full ([`io::ErrorKind::StorageFull`]). Some of it may be written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Its size in bytes.
    ///
    /// # Errors
    ///
    /// The device failed.
    fn len(&self) -> io::Result<u64>;

    /// Sets its size; what is new reads as zeros.
    ///
    /// # Errors
    ///
    /// The device failed, or is full.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Makes durable all that was written, and the size (`fdatasync`).
    ///
    /// # Errors
    ///
    /// The flush failed: what was written since the last one may or may not be durable, and a
    /// later flush that succeeds proves nothing about it.
    fn sync(&self) -> io::Result<()>;

    /// Takes or gives up the lock, without waiting. `false`: another process has it.
    ///
    /// # Errors
    ///
    /// The file system has no locks.
    fn lock(&self, lock: Lock) -> io::Result<bool>;

    /// The file of SQLite's own VFS, where there is one below: it maps its pages into memory and
    /// knows whether it was moved.
    fn host(&mut self) -> Option<&mut HostFile> {
        None
    }
}
