//! [`FolderFiles`]: the files of a folder. They are written beside their names and renamed, so that none is there in part.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use etui_seal::{SealKey, open, seal};

use super::batch::{Change, read_batch, write_batch};
use crate::error::SyncError;

/// The file that says that a folder is one.
const MARKER: &str = "etui-folder";

/// The marker's text, by which a wrong key is found at once.
const MARKER_TEXT: &[u8] = b"etui folder 1";

/// The context of sealed batches.
const BATCH: &[u8] = b"etui folder batch 1";

const EXTENSION: &str = ".etc";

/// Bytes of texts in one file, roughly: a service carries a few large files better than one that is very large.
const FILE_TEXTS: usize = 16 << 20;

/// Bytes of a file that are read.
const MAX_FILE: u64 = 256 << 20;

/// A file of a device, as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FoundFile {
    pub(super) path: PathBuf,
    pub(super) length: u64,
}

pub(super) struct FolderFiles {
    path: PathBuf,
    key: SealKey,
}

/// Returns a hash of the files' names and lengths.
pub(super) fn token(found: &[FoundFile]) -> String {
    let mut hasher = blake3::Hasher::new();
    for file in found {
        hasher.update(file.path.as_os_str().as_encoded_bytes());
        hasher.update(&[0]);
        hasher.update(&file.length.to_le_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> SyncError {
    SyncError::Folder(path.display().to_string(), error.to_string())
}

/// Returns true for a folder that has others in it.
fn has_devices(path: &Path) -> bool {
    let found = fs::read_dir(path).into_iter().flatten().flatten();
    let mut plain = found.filter(|one| !one.file_name().to_string_lossy().starts_with('.'));
    plain.any(|one| one.file_type().is_ok_and(|kind| kind.is_dir()))
}

impl FolderFiles {
    pub(super) fn is_one(path: &Path) -> bool {
        path.join(MARKER).exists()
    }

    pub(super) fn create(path: &Path) -> Result<(Self, SealKey), SyncError> {
        let key = SealKey::generate().map_err(|error| failed(path, &error))?;
        let files = Self {
            path: path.to_owned(),
            key: key.clone(),
        };
        if Self::is_one(path) || has_devices(path) {
            return Err(failed(
                path,
                &"other devices use it already; wait until it is carried here, and give its key",
            ));
        }
        // Not the folders above it, such as the place of a stick that is not there.
        match fs::create_dir(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let parent = path.parent().unwrap_or(path).display();
                return Err(failed(
                    path,
                    &format!("there is no {parent}; is the stick there?"),
                ));
            }
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(failed(path, &error));
            }
            _ => {}
        }
        files.write_file(path, MARKER, MARKER_TEXT, MARKER_TEXT)?;
        Ok((files, key))
    }

    pub(super) fn open(path: &Path, key: SealKey) -> Result<Self, SyncError> {
        let none = "there is no folder of etui; is the stick there, and the folder carried?";
        let mut found = Vec::new();
        for file in fs::read_dir(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => failed(path, &none),
            _ => failed(path, &error),
        })? {
            let file = file.map_err(|error| failed(path, &error))?;
            // Two devices may have begun it at once: a service keeps the second marker under another name.
            if file.file_name().to_string_lossy().starts_with(MARKER) {
                found.push(fs::read(file.path()).map_err(|error| failed(path, &error))?);
            }
        }
        let is_marker = |sealed: &Vec<u8>| {
            open(&key, MARKER_TEXT, sealed).is_ok_and(|text| text == MARKER_TEXT)
        };
        match (found.is_empty(), found.iter().any(is_marker)) {
            (true, _) => Err(failed(path, &none)),
            (_, false) => Err(failed(path, &"it has another key")),
            (_, true) => Ok(Self {
                path: path.to_owned(),
                key,
            }),
        }
    }

    /// Returns the files of all devices.
    pub(super) fn list(&self) -> Result<Vec<FoundFile>, SyncError> {
        let at = |path: &Path, error: io::Error| failed(path, &error);
        let mut found = Vec::new();
        for device in fs::read_dir(&self.path).map_err(|e| at(&self.path, e))? {
            let device = device.map_err(|e| at(&self.path, e))?;
            let folder = device.path();
            if !device.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            for file in fs::read_dir(&folder).map_err(|e| at(&folder, e))? {
                let file = file.map_err(|e| at(&folder, e))?;
                let name = file.file_name().to_string_lossy().into_owned();
                // Copies that a service makes keep a part of the name.
                if name.starts_with('.') || !name.contains(EXTENSION) {
                    continue;
                }
                match file.metadata() {
                    Ok(known) if known.is_file() => found.push(FoundFile {
                        path: file.path(),
                        length: known.len(),
                    }),
                    // Removed meanwhile, by a device that made one of many.
                    _ => {}
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Returns the files of a device.
    pub(super) fn own(&self, found: &[FoundFile], device: &str) -> Vec<FoundFile> {
        let folder = self.path.join(device);
        let own = found
            .iter()
            .filter(|file| file.path.parent() == Some(folder.as_path()));
        own.cloned().collect()
    }

    /// Reads a file; `None` if it is not whole, of another key, or gone.
    pub(super) fn read(&self, file: &FoundFile) -> Result<Option<Vec<Change>>, SyncError> {
        if file.length > MAX_FILE {
            return Ok(None);
        }
        let sealed = match fs::read(&file.path) {
            Ok(sealed) => sealed,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&file.path, &error)),
        };
        Ok(open(&self.key, BATCH, &sealed)
            .ok()
            .and_then(|text| read_batch(&text)))
    }

    /// Writes changes of a device; returns the new files.
    pub(super) fn write(
        &self,
        device: &str,
        changes: &[Change],
    ) -> Result<Vec<FoundFile>, SyncError> {
        let folder = self.path.join(device);
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
        let mut number = self.last_number(&folder)?;
        let mut written = Vec::new();
        let mut rest = changes;
        while !rest.is_empty() {
            let mut bytes = 0;
            let count = rest
                .iter()
                .take_while(|one| {
                    let before = bytes;
                    bytes += one.text.as_ref().map_or(0, Vec::len);
                    before < FILE_TEXTS
                })
                .count();
            let (part, later) = rest.split_at(count);
            rest = later;
            number += 1;
            let text = write_batch(device, part).map_err(|error| failed(&folder, &error))?;
            // Two programs that take themselves for this device, such as on a copy of its store, write two files.
            let random = SealKey::generate().map_err(|error| failed(&folder, &error))?;
            let tail = random.to_text().replace('-', "")[..8].to_lowercase();
            let name = format!("{number:06}-{tail}{EXTENSION}");
            written.push(self.write_file(&folder, &name, BATCH, &text)?);
        }
        Ok(written)
    }

    fn last_number(&self, folder: &Path) -> Result<u64, SyncError> {
        let all = fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
        let numbers = all.filter_map(|file| {
            let name = file.ok()?.file_name().into_string().ok()?;
            name.split('-').next()?.parse().ok()
        });
        Ok(numbers.max().unwrap_or(0))
    }

    fn write_file(
        &self,
        folder: &Path,
        name: &str,
        context: &[u8],
        text: &[u8],
    ) -> Result<FoundFile, SyncError> {
        let path = folder.join(name);
        // Services leave hidden files alone.
        let part = folder.join(format!(".{name}.part"));
        let sealed = seal(&self.key, context, text).map_err(|error| failed(&path, &error))?;
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&part)?;
            file.write_all(&sealed)?;
            file.sync_all()?;
            fs::rename(&part, &path)?;
            File::open(folder)?.sync_all()
        };
        write().map_err(|error| {
            // A part of a file is of no use.
            let _ = fs::remove_file(&part);
            failed(&path, &error)
        })?;
        Ok(FoundFile {
            length: sealed.len() as u64,
            path,
        })
    }

    pub(super) fn remove(&self, files: &[FoundFile]) -> Result<(), SyncError> {
        for file in files {
            match fs::remove_file(&file.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(failed(&file.path, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
