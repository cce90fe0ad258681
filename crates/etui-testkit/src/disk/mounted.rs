//! [`MountedDisks`]: many disks behind one [`Platform`], so that a VFS is registered once.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use etui_vfs::device::{Access, File, Platform, Role};

use super::platform::RecordingDisk;

/// Many disks, each mounted on a directory: `/3/name` is `/name` of the third.
#[derive(Debug, Clone, Default)]
pub struct MountedDisks {
    inner: Arc<Mutex<MountTable>>,
}

#[derive(Debug, Default)]
struct MountTable {
    mounted: BTreeMap<u64, RecordingDisk>,
    next: u64,
    /// Files without a name.
    scratch: RecordingDisk,
}

/// A mounted disk; unmounted on drop.
#[derive(Debug)]
pub struct DiskMount {
    rack: MountedDisks,
    number: u64,
    /// The disk.
    pub disk: RecordingDisk,
}

impl DiskMount {
    /// Returns the path of a file of this disk as mounted.
    pub fn path(&self, path: &str) -> String {
        format!("/{}{path}", self.number)
    }
}

impl Drop for DiskMount {
    fn drop(&mut self) {
        self.rack.lock().mounted.remove(&self.number);
    }
}

impl MountedDisks {
    /// Creates no mounted disks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Mounts a disk on a directory that was never used before.
    pub fn mount(&self, disk: &RecordingDisk) -> DiskMount {
        let mut inner = self.lock();
        inner.next += 1;
        let number = inner.next;
        inner.mounted.insert(number, disk.clone());
        drop(inner);
        DiskMount {
            rack: self.clone(),
            number,
            disk: disk.clone(),
        }
    }

    /// Returns the disk of all files without a name.
    pub fn scratch(&self) -> RecordingDisk {
        self.lock().scratch.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, MountTable> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn resolve(&self, path: &Path) -> io::Result<(RecordingDisk, PathBuf)> {
        let mut parts = path.components();
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let (Some(Component::RootDir), Some(Component::Normal(first))) =
            (parts.next(), parts.next())
        else {
            return Err(missing());
        };
        let number: u64 = first
            .to_str()
            .and_then(|number| number.parse().ok())
            .ok_or_else(missing)?;
        let disk = self.lock().mounted.get(&number).cloned();
        let rest = Path::new("/").join(parts.as_path());
        Ok((disk.ok_or_else(missing)?, rest))
    }
}

impl Platform for MountedDisks {
    fn open(&self, path: Option<&Path>, role: Role, access: Access) -> io::Result<Box<dyn File>> {
        let Some(path) = path else {
            let scratch = self.lock().scratch.clone();
            return scratch.open(None, role, access);
        };
        let (disk, path) = self.resolve(path)?;
        disk.open(Some(&path), role, access)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        match self.resolve(path) {
            Ok((disk, path)) => disk.exists(&path),
            Err(_) => Ok(false),
        }
    }

    fn remove(&self, path: &Path, durably: bool) -> io::Result<()> {
        let (disk, path) = self.resolve(path)?;
        disk.remove(&path, durably)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let ((disk, from), (_, to)) = (self.resolve(from)?, self.resolve(to)?);
        disk.rename(&from, &to)
    }

    fn sync_directory_of(&self, path: &Path) -> io::Result<()> {
        let (disk, path) = self.resolve(path)?;
        disk.sync_directory_of(&path)
    }
}
