//! [`NewFile`]: a file that is complete or not there. What is no file (a device, a pipe) is
//! written to as it is.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::errors::{Failure, Result};

/// A file in the making, under another name in the same directory; readable only by its owner.
pub struct NewFile {
    to: PathBuf,
    target: Target,
}

enum Target {
    New {
        replace: bool,
        file: BufWriter<NamedTempFile>,
    },
    Special(File),
}

impl NewFile {
    /// Begins a file that is to be `to`; replaces one that is there only if `replace`.
    pub fn begin(to: &Path, replace: bool) -> Result<Self> {
        // Through a symbolic link it is the file behind it that is meant.
        let given = to;
        let to = &to.canonicalize().unwrap_or_else(|_| to.to_owned());
        let there = std::fs::metadata(to).ok();
        if there.as_ref().is_some_and(|m| !m.is_file() && !m.is_dir()) {
            let file = File::options().write(true).open(to);
            return Ok(Self {
                to: to.clone(),
                target: Target::Special(file.map_err(|e| Failure::io(to, e))?),
            });
        }
        if there.is_some() && !replace {
            return Err(exists(given));
        }
        let file = tempfile::Builder::new()
            .prefix(".etui-")
            .suffix(".part")
            .tempfile_in(directory(to))
            .map_err(|e| Failure::io(to, e))?;
        if let Some(there) = there {
            // Who may read it stays as it was.
            file.as_file()
                .set_permissions(there.permissions())
                .map_err(|e| Failure::io(to, e))?;
        }
        Ok(Self {
            to: to.clone(),
            target: Target::New {
                replace,
                file: BufWriter::with_capacity(64 << 10, file),
            },
        })
    }

    /// Makes the file safe on its medium and gives it its name.
    pub fn finish(self) -> Result<()> {
        let to = self.to;
        let (replace, file) = match self.target {
            Target::New { replace, file } => (replace, file),
            Target::Special(mut file) => return file.flush().map_err(|e| Failure::io(&to, e)),
        };
        let file = file
            .into_inner()
            .map_err(|e| Failure::io(&to, e.into_error()))?;
        file.as_file().sync_all().map_err(|e| Failure::io(&to, e))?;
        let named = if replace {
            file.persist(&to)
        } else {
            file.persist_noclobber(&to)
        };
        named.map_err(|e| match e.error.kind() {
            io::ErrorKind::AlreadyExists => exists(&to),
            _ => Failure::io(&to, e.error),
        })?;
        File::open(directory(&to))
            .and_then(|d| d.sync_all())
            .map_err(|e| Failure::io(&to, e))
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::New { file, .. } => file.write(bytes),
            Target::Special(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::New { file, .. } => file.flush(),
            Target::Special(file) => file.flush(),
        }
    }
}

fn exists(path: &Path) -> Failure {
    Failure::Other(format!(
        "{}: exists already; choose another name, or replace it with --force",
        path.display()
    ))
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    }
}
