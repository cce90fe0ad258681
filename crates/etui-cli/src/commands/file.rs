//! [`NewFile`]: a file that is complete or not there.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::errors::{Failure, Result};

/// A file in the making, under another name in the same directory; readable only by its owner.
pub struct NewFile {
    to: PathBuf,
    replace: bool,
    file: BufWriter<NamedTempFile>,
}

impl NewFile {
    /// Begins a file that is to be `to`; replaces one that is there only if `replace`.
    pub fn begin(to: &Path, replace: bool) -> Result<Self> {
        if to.exists() && !replace {
            return Err(exists(to));
        }
        let file = tempfile::Builder::new()
            .prefix(".etui-")
            .suffix(".part")
            .tempfile_in(directory(to))
            .map_err(|e| Failure::io(to, e))?;
        Ok(Self {
            to: to.to_owned(),
            replace,
            file: BufWriter::with_capacity(64 << 10, file),
        })
    }

    /// Makes the file safe on its medium and gives it its name.
    pub fn finish(self) -> Result<()> {
        let to = self.to;
        let file = self
            .file
            .into_inner()
            .map_err(|e| Failure::io(&to, e.into_error()))?;
        file.as_file().sync_all().map_err(|e| Failure::io(&to, e))?;
        let named = if self.replace {
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
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
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
