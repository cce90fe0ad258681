//! Paths beside a database file: its sidecar files, its directory.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Returns `path` with `suffix` after its name, as SQLite names its sidecar files.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns the directory of a file.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Flushes the directory, so that the file's name is durable.
pub(crate) fn sync_directory(path: &Path) -> Result<()> {
    let directory = parent_of(path);
    std::fs::File::open(directory)
        .and_then(|d| d.sync_all())
        .map_err(|e| Error::io(directory, e))
}
