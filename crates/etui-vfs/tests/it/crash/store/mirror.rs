//! [`Mirror`]: the system's files, with some directories mirrored on a laboratory disk.
//!
//! A store accesses its file also without its VFS, so it cannot be on a disk in memory. Its files
//! are real; each operation of the VFS is repeated on the disk, which records it. Nothing is really
//! flushed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use etui_testkit::disk::{CrashImage, DiskFiles, FileContent, RecordingDisk};
use etui_vfs::device::{Access, DatabaseLock, File, Lock, Platform, Role, SqliteFile, system};

#[derive(Debug)]
pub struct Mirror {
    below: Arc<dyn Platform>,
    followed: Mutex<BTreeMap<PathBuf, Followed>>,
}

#[derive(Debug, Clone)]
struct Followed {
    disk: RecordingDisk,
    /// The role whose flushes are ignored.
    unflushed: Option<Role>,
}

impl Mirror {
    pub fn new() -> Self {
        Self {
            below: system().unwrap(),
            followed: Mutex::default(),
        }
    }

    /// Mirrors a directory, whose files are durable in their present state.
    pub fn follow(&self, directory: &Path, unflushed: Option<Role>) -> RecordingDisk {
        let mut files = DiskFiles::default();
        for (number, entry) in (0..).zip(fs::read_dir(directory).unwrap()) {
            let path = entry.unwrap().path();
            let mut content = FileContent::default();
            content.write_at(&fs::read(&path).unwrap(), 0);
            files.names.insert(path, number);
            files.contents.insert(number, content);
        }
        let disk = RecordingDisk::from_files(files);
        let followed = Followed {
            disk: disk.clone(),
            unflushed,
        };
        self.all().insert(directory.to_owned(), followed);
        disk
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Followed>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn followed(&self, path: &Path) -> Option<Followed> {
        self.all().get(path.parent()?).cloned()
    }
}

/// Writes an image of a power failure into an empty directory.
pub fn write_out(image: &CrashImage<'_>, directory: &Path) {
    for (path, file) in &image.files.names {
        let content = image.files.contents.get(file);
        let bytes = content.map(FileContent::to_vec).unwrap_or_default();
        fs::write(directory.join(path.file_name().unwrap()), bytes).unwrap();
    }
}

impl Platform for Mirror {
    fn open(&self, path: Option<&Path>, role: Role, access: Access) -> io::Result<Box<dyn File>> {
        let below = self.below.open(path, role, access)?;
        let noted = match path.and_then(|path| Some((path, self.followed(path)?))) {
            Some((path, followed)) => Some(Noted {
                file: followed.disk.open(Some(path), role, access)?,
                flushes: followed.unflushed != Some(role),
            }),
            None => None,
        };
        Ok(Box::new(Both { below, noted }))
    }

    fn open_lock(&self, path: &Path) -> io::Result<Box<dyn DatabaseLock>> {
        self.below.open_lock(path)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.below.exists(path)
    }

    fn remove(&self, path: &Path, durably: bool) -> io::Result<()> {
        self.below.remove(path, false)?;
        match self.followed(path) {
            Some(followed) => followed.disk.remove(path, durably),
            None => Ok(()),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.below.rename(from, to)?;
        match self.followed(from) {
            Some(followed) => followed.disk.rename(from, to),
            None => Ok(()),
        }
    }

    fn sync_directory_of(&self, path: &Path) -> io::Result<()> {
        match self.followed(path) {
            Some(followed) => followed.disk.sync_directory_of(path),
            None => Ok(()),
        }
    }

    fn file_identity(&self, path: &Path) -> io::Result<Option<(u64, u64)>> {
        self.below.file_identity(path)
    }

    fn recover_foreign_wal(&self, path: &Path) -> io::Result<()> {
        self.below.recover_foreign_wal(path)
    }

    fn lock_holder(&self, path: &Path) -> Option<String> {
        self.below.lock_holder(path)
    }
}

/// A file and its mirror.
#[derive(Debug)]
struct Both {
    below: Box<dyn File>,
    noted: Option<Noted>,
}

#[derive(Debug)]
struct Noted {
    file: Box<dyn File>,
    flushes: bool,
}

impl Both {
    /// SQLite's own VFS may have extended the file after a size hint.
    fn note_length(&self) -> io::Result<()> {
        if let Some(noted) = &self.noted {
            let len = self.below.len()?;
            if noted.file.len()? != len {
                noted.file.set_len(len)?;
            }
        }
        Ok(())
    }
}

impl File for Both {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.below.read_at(bytes, offset)
    }

    fn read_exclusive(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.below.read_exclusive(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.note_length()?;
        self.below.write_at(bytes, offset)?;
        match &self.noted {
            Some(noted) => noted.file.write_at(bytes, offset),
            None => Ok(()),
        }
    }

    fn len(&self) -> io::Result<u64> {
        self.below.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.note_length()?;
        self.below.set_len(len)?;
        self.note_length()
    }

    fn sync(&self) -> io::Result<()> {
        self.note_length()?;
        match &self.noted {
            Some(noted) if noted.flushes => noted.file.sync(),
            _ => Ok(()),
        }
    }

    fn lock(&self, lock: Lock) -> io::Result<bool> {
        self.below.lock(lock)
    }

    fn host(&mut self) -> Option<&mut SqliteFile> {
        self.below.host()
    }
}
