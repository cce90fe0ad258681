//! [`ExportTarget`]: standard output, or a file that appears complete or not at all. A device or pipe
//! is written directly.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use etui::store::part_file::PartFile;
use etui_program::output::OutputWriter;
use etui_program::{Failure, Result};

/// The destination of exported data.
pub enum ExportTarget<'a> {
    Output(&'a mut OutputWriter),
    /// A device or pipe.
    Special(File),
    /// A file that [`Self::commit`] renames to `path`, with mode 0600 until then.
    New {
        path: PathBuf,
        replace: bool,
        file: BufWriter<PartFile>,
    },
}

impl<'a> ExportTarget<'a> {
    /// Opens a file, or standard output. An existing file is an error unless `replace` is set.
    pub fn open(out: &'a mut OutputWriter, path: Option<&Path>, replace: bool) -> Result<Self> {
        let Some(given) = named_file(path) else {
            return Ok(Self::Output(out));
        };
        // Follow symbolic links, so that the link stays.
        let path = given.canonicalize().unwrap_or_else(|_| given.to_owned());
        let failed = |e| Failure::io(&path, e);
        let existing = std::fs::metadata(&path).ok();
        if let Some(existing) = &existing {
            if !existing.is_file() && !existing.is_dir() {
                let file = File::options().write(true).open(&path);
                return file.map(Self::Special).map_err(failed);
            }
            if !replace {
                return Err(already_exists(given));
            }
        }
        let file = PartFile::beside(&path).map_err(failed)?;
        if let Some(existing) = existing {
            // Keep the permissions of the replaced file.
            let kept = file
                .file()
                .and_then(|file| file.set_permissions(existing.permissions()));
            kept.map_err(failed)?;
        }
        let file = BufWriter::with_capacity(64 << 10, file);
        Ok(Self::New {
            path,
            replace,
            file,
        })
    }

    /// Syncs a file and renames it to its path.
    pub fn commit(self) -> Result<()> {
        let Self::New {
            path,
            replace,
            file,
        } = self
        else {
            return Ok(());
        };
        let failed = |e| Failure::io(&path, e);
        let file = file.into_inner().map_err(|e| failed(e.into_error()))?;
        file.finish(&path, replace).map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => already_exists(&path),
            _ => failed(e),
        })
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Output(out) => out,
            Self::Special(file) => file,
            Self::New { file, .. } => file,
        }
    }
}

impl Write for ExportTarget<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

/// Returns the file that an output option names; `None` for `-`, standard output.
pub fn named_file(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| path.as_os_str() != "-")
}

/// Returns the error of a write to a path, or to standard output.
pub fn write_failure(path: Option<&Path>, error: io::Error) -> Failure {
    match path {
        Some(path) => Failure::io(path, error),
        None => Failure::named_io("standard output", error),
    }
}

fn already_exists(path: &Path) -> Failure {
    Failure::Other(format!(
        "{}: already exists; choose another name, or replace it with --force",
        path.display()
    ))
}
