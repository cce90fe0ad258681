//! [`Meanwhile`]: the system's files, and an event between SQLite's checkpoint of a WAL and the
//! exclusive lock of the VFS.

use std::io;
use std::path::Path;
use std::sync::Arc;

use etui_vfs::device::{self, Access, DatabaseLock, File, Platform, Role};

/// The system's files.
pub struct Meanwhile<F> {
    files: Arc<dyn Platform>,
    /// Called at that moment, with the database.
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

impl<F: Fn(&Path) + Send + Sync> Platform for Meanwhile<F> {
    fn open(&self, path: Option<&Path>, role: Role, access: Access) -> io::Result<Box<dyn File>> {
        self.files.open(path, role, access)
    }

    fn open_lock(&self, path: &Path) -> io::Result<Box<dyn DatabaseLock>> {
        self.files.open_lock(path)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.files.exists(path)
    }

    fn remove(&self, path: &Path, durably: bool) -> io::Result<()> {
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
        (self.run)(path);
        Ok(())
    }
}
