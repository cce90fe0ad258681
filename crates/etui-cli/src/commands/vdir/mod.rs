//! vdir: a folder per collection and a file per record, as khard, khal and vdirsyncer have them.
//!
//! ```text
//! DIR/                a collection, or a folder of collections
//!   UID.vcf           a card; in a calendar UID.ics, a calendar object with all components of a UID
//!   displayname       the name of the collection
//!   color             its colour, #RRGGBB
//!   .etui-exported    the files that etui has written or read
//!   .*  *.tmp         other files that are not items
//! ```
//!
//! The format is described in vdirsyncer's manual, "The Vdir Storage Format".

pub mod item;
pub mod ledger;
pub mod names;

use etui_program::{Failure, Result};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

/// The file with the name of a collection.
pub const DISPLAY_NAME: &str = "displayname";
/// The file with the colour of a collection.
pub const COLOR: &str = "color";

/// Bytes that are read of a name or a colour.
const MAX_PROPERTY: u64 = 1 << 10;

/// An item of a folder: a file that has a record.
#[derive(Debug, Clone)]
pub struct FolderItem {
    pub path: PathBuf,
    /// Bytes of the file.
    pub size: u64,
}

impl FolderItem {
    /// Returns the name of the file, if it is text.
    pub fn name(&self) -> Option<&str> {
        self.path.file_name().and_then(OsStr::to_str)
    }
}

/// Returns the items of a folder with a suffix, such as `.vcf`, sorted by name.
pub fn list_items(folder: &Path, suffix: &str) -> Result<Vec<FolderItem>> {
    let mut items = Vec::new();
    for_each_visible(folder, |path, metadata| {
        let name = path.file_name().map(|name| name.as_encoded_bytes());
        let has_suffix = name.is_some_and(|name| has_suffix(name, suffix));
        if has_suffix && metadata.is_file() {
            let size = metadata.len();
            items.push(FolderItem { path, size });
        }
    })?;
    // In one order, whatever that of the file system is.
    items.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(items)
}

/// Returns true if a file name ends in a suffix, in any case, after at least one character.
fn has_suffix(name: &[u8], suffix: &str) -> bool {
    let stem = name.len().checked_sub(suffix.len());
    let end = stem
        .filter(|stem| *stem > 0)
        .and_then(|stem| name.get(stem..));
    end.is_some_and(|end| end.eq_ignore_ascii_case(suffix.as_bytes()))
}

/// Returns the folders in a folder, sorted by name.
pub fn list_folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for_each_visible(folder, |path, metadata| {
        if metadata.is_dir() {
            folders.push(path);
        }
    })?;
    folders.sort();
    Ok(folders)
}

/// Calls `visit` with everything in a folder that is not hidden and not temporary. Links are not
/// followed.
fn for_each_visible(folder: &Path, mut visit: impl FnMut(PathBuf, Metadata)) -> Result<()> {
    let failed = |e| Failure::io(folder, e);
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(b".") || has_suffix(name, ".tmp") {
            continue;
        }
        match entry.metadata() {
            Ok(metadata) => visit(entry.path(), metadata),
            // It was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::io(&entry.path(), error)),
        }
    }
    Ok(())
}

/// Returns the content of a file such as `displayname`, on one line; `None` if there is none.
pub fn read_property(folder: &Path, name: &str) -> Result<Option<String>> {
    use std::io::Read;
    let path = folder.join(name);
    let file = match std::fs::File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::io(&path, error)),
    };
    let mut bytes = Vec::new();
    let read = file.take(MAX_PROPERTY).read_to_end(&mut bytes);
    read.map_err(|e| Failure::io(&path, e))?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().next().unwrap_or_default().trim();
    Ok((!line.is_empty()).then(|| line.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_and_temporary_files_are_not_items() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "b.vcf",
            "a.VCF",
            ".hidden.vcf",
            ".vcf",
            "c.vcf.tmp",
            "d.tmp",
            "e.ics",
            "f",
        ] {
            std::fs::write(dir.path().join(name), "x").unwrap();
        }
        std::fs::create_dir(dir.path().join("g.vcf")).unwrap();
        std::os::unix::fs::symlink("b.vcf", dir.path().join("link.vcf")).unwrap();
        let items = list_items(dir.path(), ".vcf").unwrap();
        let names: Vec<_> = items.iter().filter_map(FolderItem::name).collect();
        assert_eq!(names, ["a.VCF", "b.vcf"]);
        assert_eq!(
            list_folders(dir.path()).unwrap(),
            [dir.path().join("g.vcf")]
        );
    }

    #[test]
    fn a_name_is_the_first_line_of_its_file() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read_property(dir.path(), DISPLAY_NAME).unwrap(), None);
        std::fs::write(dir.path().join(DISPLAY_NAME), " Work \nmore\n").unwrap();
        let name = read_property(dir.path(), DISPLAY_NAME).unwrap();
        assert_eq!(name.as_deref(), Some("Work"));
        std::fs::write(dir.path().join(DISPLAY_NAME), "\n").unwrap();
        assert_eq!(read_property(dir.path(), DISPLAY_NAME).unwrap(), None);
    }
}
