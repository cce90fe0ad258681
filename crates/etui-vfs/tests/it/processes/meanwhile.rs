//! [`Meanwhile`]: the system's files, and events at a moment of the VFS's work.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use etui_vfs::device::{self, Access, DatabaseLock, File, Platform, Role, SqliteFile};

/// A moment of the VFS's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// SQLite has checkpointed a WAL; the exclusive lock is not taken yet.
    Checkpointed,
    /// The VFS looks whether there is a WAL of SQLite's own.
    LooksForWal,
    /// SQLite has checkpointed its WAL for the last to close, and deletes it.
    DeletesWal,
}

/// The system's files.
pub struct Meanwhile<F> {
    files: Arc<dyn Platform>,
    /// Called at each moment, with the database.
    run: F,
}

impl<F> Meanwhile<F> {
    pub fn new(run: F) -> Self {
        Self {
            files: device::system().unwrap(),
            run,
        }
    }
}

impl<F> std::fmt::Debug for Meanwhile<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meanwhile")
    }
}

impl<F: Fn(Moment, &Path) + Send + Sync> Platform for Meanwhile<F> {
    fn open(&self, path: Option<&Path>, role: Role, access: Access) -> io::Result<Box<dyn File>> {
        self.files.open(path, role, access)
    }

    fn open_lock(&self, path: &Path) -> io::Result<Box<dyn DatabaseLock>> {
        self.files.open_lock(path)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        if let Some(database) = path.to_str().unwrap().strip_suffix("-wal") {
            (self.run)(Moment::LooksForWal, Path::new(database));
        }
        self.files.exists(path)
    }

    fn remove(&self, path: &Path, durably: bool) -> io::Result<()> {
        if let Some(database) = path.to_str().unwrap().strip_suffix("-wal") {
            (self.run)(Moment::DeletesWal, Path::new(database));
        }
        self.files.remove(path, durably)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.rename(from, to)
    }

    fn sync_directory_of(&self, path: &Path) -> io::Result<()> {
        self.files.sync_directory_of(path)
    }

    fn file_identity(&self, path: &Path) -> io::Result<Option<(u64, u64)>> {
        self.files.file_identity(path)
    }

    fn recover_foreign_wal(&self, path: &Path) -> io::Result<()> {
        self.files.recover_foreign_wal(path)?;
        (self.run)(Moment::Checkpointed, path);
        Ok(())
    }

    fn open_shared(&self, path: &Path) -> io::Result<Option<SqliteFile>> {
        self.files.open_shared(path)
    }

    fn watch_opens(&self, path: &Path) -> io::Result<OwnedFd> {
        self.files.watch_opens(path)
    }

    fn open_wal(&self, path: &Path) -> io::Result<SqliteFile> {
        self.files.open_wal(path)
    }
}
