//! [`PartFile`]: a file that is written under another name until it is complete.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;

use crate::db::sidecar::is_at;
use crate::db::{parent_of, sync_directory, with_suffix};
use crate::error::{Error, Result};

/// The suffix of such a file, before random characters.
const MARK: &str = ".etui-part-";
/// The random characters.
const RANDOM: usize = 6;
/// The files that SQLite has beside a database.
const BESIDE: [&str; 3] = ["-journal", "-wal", "-shm"];
/// The number of attempts to keep a new file from other processes that tidy.
const ATTEMPTS: usize = 100;

/// A file that is being written as `.NAME.etui-part-RANDOM`, readable only by its owner, and locked
/// (`flock`) meanwhile; deleted unless it is finished. The files of a killed process are deleted by the next one
/// that makes such a file in the directory.
#[doc(hidden)]
#[derive(Debug)]
pub struct PartFile(Option<NamedTempFile>);

impl PartFile {
    /// Creates one in the directory of `to`, and deletes those of processes that are gone.
    ///
    /// # Errors
    /// Any error of the file system.
    pub fn beside(to: &Path) -> io::Result<Self> {
        let directory = parent_of(to);
        tidy(directory);
        let mut prefix = OsString::from(".");
        prefix.push(to.file_name().unwrap_or_default());
        prefix.push(MARK);
        for _ in 0..ATTEMPTS {
            let file = tempfile::Builder::new()
                .prefix(&prefix)
                .rand_bytes(RANDOM)
                .tempfile_in(directory)?;
            let descriptor: OwnedFd = file.as_file().try_clone()?.into();
            // A file system without such locks: then nobody tidies there either.
            let is_locked = flock(&descriptor, FlockOperation::NonBlockingLockExclusive);
            if is_locked.is_err() || is_at(&descriptor, file.path()) {
                return Ok(Self(Some(file)));
            }
            // Another process tidied at this moment.
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        self.0.as_ref().map_or(Path::new(""), NamedTempFile::path)
    }

    /// Returns the open file.
    ///
    /// # Errors
    /// None, until it is finished.
    pub fn file(&self) -> io::Result<&File> {
        let file = self.0.as_ref().map(NamedTempFile::as_file);
        file.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Flushes the file and gives it its name; one that is taken is an error, or replaced.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], or any error of the file system.
    pub fn finish(mut self, to: &Path, replace: bool) -> io::Result<()> {
        if let Some(file) = self.0.take() {
            // Before the renaming: after a power cut the name must not be that of an incomplete file.
            file.as_file().sync_all()?;
            let named = match replace {
                true => file.persist(to),
                false => file.persist_noclobber(to),
            };
            named.map_err(|e| e.error)?;
        }
        // The name is durable once its directory is.
        File::open(parent_of(to))?.sync_all()
    }

    /// As [`PartFile::finish`], for a file of the library.
    pub(crate) fn finish_new(self, to: &Path) -> Result<()> {
        self.finish(to, false).map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists(to.to_owned()),
            _ => Error::io(to, e),
        })?;
        sync_directory(to)
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file()?.flush()
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            remove_beside(file.path());
        }
    }
}

fn remove_beside(path: &Path) {
    for suffix in BESIDE {
        // Most of these files do not exist.
        let _ = std::fs::remove_file(with_suffix(path, suffix));
    }
}

/// Returns true for a name that [`PartFile::beside`] gives.
fn is_part(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let Some(at) = name.len().checked_sub(MARK.len() + RANDOM) else {
        return false;
    };
    let (begin, end) = name.split_at(at);
    begin.starts_with(b".")
        && end.starts_with(MARK.as_bytes())
        && end[MARK.len()..].iter().all(u8::is_ascii_alphanumeric)
}

/// Deletes the files in a directory that no process holds, as far as they can be opened.
fn tidy(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries
        .flatten()
        .filter(|entry| is_part(&entry.file_name()))
    {
        let path = entry.path();
        let Ok(file) = File::open(&path).map(OwnedFd::from) else {
            continue;
        };
        let is_free = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        // A file that was finished or removed since is no longer at this path.
        if is_free && is_at(&file, &path) {
            remove_beside(&path);
            let _ = std::fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_killed_process_left_is_tidied_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("backup.etui");
        let others = [
            ".backup.etui.etui-part-abc12", // too short
            ".backup.etui.etui-part-abc12-",
            ".backup.etui.part-abc123",
            "backup.etui.etui-part-abc123",
        ];
        for name in others {
            std::fs::write(dir.path().join(name), "theirs").unwrap();
        }
        let left = ".backup.etui.etui-part-abc123";
        for name in [left, &format!("{left}-journal"), &format!("{left}-wal")] {
            std::fs::write(dir.path().join(name), "left").unwrap();
        }
        let other_left = dir.path().join(".people.vcf.etui-part-XYZ789");
        std::fs::write(other_left, "left").unwrap();

        let held = PartFile::beside(&to).unwrap();
        let second = PartFile::beside(&to).unwrap();
        assert!(held.path().exists() && second.path().exists());
        assert_eq!(names(dir.path()).len(), others.len() + 2);
        std::fs::write(held.path(), "whole").unwrap();
        held.finish_new(&to).unwrap();
        assert!(matches!(second.finish_new(&to), Err(Error::Exists(_))));
        let mut expected: Vec<String> = others.map(str::to_owned).to_vec();
        expected.push("backup.etui".to_owned());
        expected.sort();
        assert_eq!(names(dir.path()), expected);
        assert_eq!(std::fs::read(&to).unwrap(), b"whole");
    }
}
