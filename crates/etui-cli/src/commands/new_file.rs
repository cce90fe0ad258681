//! [`NewFile`]: a file that appears complete or not at all. A device or pipe is written directly.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::errors::{Failure, Result};

/// A file that is written under a temporary name in its directory, with mode 0600.
pub struct NewFile {
    path: PathBuf,
    target: FileTarget,
}

enum FileTarget {
    New {
        replace: bool,
        file: BufWriter<NamedTempFile>,
    },
    Special(File),
}

impl NewFile {
    /// Creates a file that [`Self::commit`] renames to `path`. An existing file is an error unless
    /// `replace` is set.
    pub fn create(path: &Path, replace: bool) -> Result<Self> {
        // Follow symbolic links, so that the link stays.
        let given = path;
        let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let existing = std::fs::metadata(path).ok();
        if existing
            .as_ref()
            .is_some_and(|m| !m.is_file() && !m.is_dir())
        {
            let file = File::options().write(true).open(path);
            return Ok(Self {
                path: path.clone(),
                target: FileTarget::Special(file.map_err(|e| Failure::io(path, e))?),
            });
        }
        if existing.is_some() && !replace {
            return Err(already_exists(given));
        }
        let file = tempfile::Builder::new()
            .prefix(".etui-")
            .suffix(".part")
            .tempfile_in(parent_dir(path))
            .map_err(|e| Failure::io(path, e))?;
        if let Some(existing) = existing {
            // Keep the permissions of the replaced file.
            file.as_file()
                .set_permissions(existing.permissions())
                .map_err(|e| Failure::io(path, e))?;
        }
        Ok(Self {
            path: path.clone(),
            target: FileTarget::New {
                replace,
                file: BufWriter::with_capacity(64 << 10, file),
            },
        })
    }

    /// Syncs the file and renames it to its path.
    pub fn commit(self) -> Result<()> {
        let path = self.path;
        let (replace, file) = match self.target {
            FileTarget::New { replace, file } => (replace, file),
            FileTarget::Special(mut file) => {
                return file.flush().map_err(|e| Failure::io(&path, e));
            }
        };
        let file = file
            .into_inner()
            .map_err(|e| Failure::io(&path, e.into_error()))?;
        file.as_file()
            .sync_all()
            .map_err(|e| Failure::io(&path, e))?;
        let named = if replace {
            file.persist(&path)
        } else {
            file.persist_noclobber(&path)
        };
        named.map_err(|e| match e.error.kind() {
            io::ErrorKind::AlreadyExists => already_exists(&path),
            _ => Failure::io(&path, e.error),
        })?;
        File::open(parent_dir(&path))
            .and_then(|d| d.sync_all())
            .map_err(|e| Failure::io(&path, e))
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            FileTarget::New { file, .. } => file.write(bytes),
            FileTarget::Special(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            FileTarget::New { file, .. } => file.flush(),
            FileTarget::Special(file) => file.flush(),
        }
    }
}

fn already_exists(path: &Path) -> Failure {
    Failure::Other(format!(
        "{}: already exists; choose another name, or replace it with --force",
        path.display()
    ))
}

fn parent_dir(path: &Path) -> &Path {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    }
}
