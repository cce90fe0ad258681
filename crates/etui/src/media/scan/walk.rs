//! Listing folders: the media files in each, without opening any.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Properties of a file in a listing. Equal values: the file was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::media) struct FileStat {
    pub(in crate::media) size: i64,
    /// Time of the last modification, ns since 1970.
    pub(in crate::media) mtime: i64,
    pub(in crate::media) inode: i64,
}

impl FileStat {
    pub(super) fn of(metadata: &fs::Metadata) -> Self {
        let mtime = metadata.mtime().saturating_mul(1_000_000_000);
        Self {
            size: metadata.size().cast_signed(),
            mtime: mtime.saturating_add(metadata.mtime_nsec()),
            inode: metadata.ino().cast_signed(),
        }
    }
}

/// The kind that a file has by its extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum FileKind {
    Audio,
    /// A picture or video.
    Picture,
    /// A picture by whose name it is the cover of the folder's music; the order of preference.
    Cover(u8),
}

const AUDIO: &[&str] = &[
    "aac", "aif", "aifc", "aiff", "ape", "flac", "m4a", "m4b", "mp3", "mpc", "oga", "ogg", "opus",
    "spx", "wav", "wv",
];
const PICTURES: &[&str] = &[
    "3gp", "avif", "bmp", "gif", "heic", "heif", "jpeg", "jpg", "m4v", "mkv", "mov", "mp4", "png",
    "webm", "webp",
];
/// Formats of media that are not read.
const OTHERS: &[&str] = &[
    "3g2", "aax", "ac3", "amr", "arw", "asf", "avi", "cr2", "cr3", "dff", "divx", "dng", "dsf",
    "dts", "eac3", "flv", "it", "jp2", "jxl", "m2ts", "mid", "midi", "mka", "mod", "mp2", "mpeg",
    "mpg", "mts", "nef", "ofr", "ogm", "ogv", "orf", "pef", "psd", "ra", "raf", "rm", "rmvb",
    "rw2", "s3m", "shn", "srw", "svg", "tak", "tif", "tiff", "tta", "vob", "weba", "wma", "wmv",
    "xcf", "xm",
];
const COVER_NAMES: &[&str] = &["cover", "folder", "front", "album"];

impl FileKind {
    /// Returns the kind of a file of this name; `None` if it is no medium.
    pub(super) fn of_name(name: &[u8]) -> Option<Self> {
        let path = Path::new(OsStr::from_bytes(name));
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let is_in = |list: &[&str]| list.contains(&extension.as_str());
        if is_in(AUDIO) {
            return Some(Self::Audio);
        }
        if !is_in(PICTURES) {
            return None;
        }
        let stem = path.file_stem()?.to_string_lossy().to_ascii_lowercase();
        let order = COVER_NAMES.iter().position(|name| *name == stem);
        let order = order.filter(|_| is_in(&["jpg", "jpeg", "png"]));
        match order.and_then(|order| u8::try_from(order).ok()) {
            Some(order) => Some(Self::Cover(order)),
            None => Some(Self::Picture),
        }
    }
}

/// Returns the extension of a file of a format that is not read.
fn other_format(name: &[u8]) -> Option<&'static str> {
    let path = Path::new(OsStr::from_bytes(name));
    let extension = path.extension()?.to_str()?;
    let mut others = OTHERS.iter().copied();
    others.find(|other| extension.eq_ignore_ascii_case(other))
}

/// A media file in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedFile {
    pub(super) name: Vec<u8>,
    pub(super) kind: FileKind,
    pub(super) stat: FileStat,
}

/// A folder in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedFolder {
    pub(super) name: Vec<u8>,
    pub(super) inode: i64,
}

/// The content of one folder, sorted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) files: Vec<ListedFile>,
    pub(super) folders: Vec<ListedFolder>,
    /// True if it has no entry at all, media or not.
    pub(super) is_empty: bool,
    /// True if it has the file [`NO_MEDIA`]: neither its files nor its folders are listed.
    pub(super) is_excluded: bool,
    /// The files of formats that are not read, by extension.
    pub(super) others: BTreeMap<&'static str, u64>,
}

/// Name of the file by which a folder and those below it are left out, as Android's media scanner does.
const NO_MEDIA: &[u8] = b".nomedia";

/// Returns true for the name of a hidden file or folder.
pub(super) fn is_hidden(name: &[u8]) -> bool {
    name.starts_with(b".")
}

/// Lists a folder. Links are not followed; hidden files and folders are left out, as are files that
/// vanish meanwhile. `go_on` is called for each entry; if it returns false, the listing is partial.
///
/// # Errors
/// Any error of reading the folder.
pub(super) fn list_folder(path: &Path, go_on: &mut dyn FnMut() -> bool) -> io::Result<Listing> {
    let mut listing = Listing {
        is_empty: true,
        ..Listing::default()
    };
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        listing.is_empty = false;
        if !go_on() {
            break;
        }
        let name = entry.file_name().as_bytes().to_vec();
        if name == NO_MEDIA {
            return Ok(Listing {
                is_excluded: true,
                ..Listing::default()
            });
        }
        if is_hidden(&name) {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_dir() {
            use std::os::unix::fs::DirEntryExt;
            let inode = entry.ino().cast_signed();
            listing.folders.push(ListedFolder { name, inode });
        } else if kind.is_file() {
            let Some(kind) = FileKind::of_name(&name) else {
                if let Some(extension) = other_format(&name) {
                    *listing.others.entry(extension).or_default() += 1;
                }
                continue;
            };
            // Any other error than a file that vanished: its folder cannot be read.
            let metadata = match entry.metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata?,
            };
            let stat = FileStat::of(&metadata);
            listing.files.push(ListedFile { name, kind, stat });
        }
    }
    listing.files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    listing.folders.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(listing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_extension() {
        let kind = |name: &str| FileKind::of_name(name.as_bytes());
        assert_eq!(kind("01 Low.MP3"), Some(FileKind::Audio));
        assert_eq!(kind("Folder.JPG"), Some(FileKind::Cover(1)));
        assert_eq!(kind("folder.gif"), Some(FileKind::Picture));
        assert_eq!(kind("list.m3u8"), None);
        assert_eq!(kind("mp3"), None);
        assert_eq!(FileKind::of_name(b"\xff\xfe.ogg"), Some(FileKind::Audio));
    }

    #[test]
    fn hidden_and_excluded_files_are_not_listed() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["a.mp3", "._a.mp3", ".b.flac", "c.WMA", "d.mka", "e.txt"] {
            fs::write(path(name), b"1").unwrap();
        }
        let list = || list_folder(dir.path(), &mut || true).unwrap();
        let listing = list();
        assert_eq!(listing.files.len(), 1);
        assert_eq!(listing.others, BTreeMap::from([("mka", 1), ("wma", 1)]));
        fs::write(path(".nomedia"), b"").unwrap();
        let listing = list();
        assert!(listing.is_excluded && !listing.is_empty);
        assert!(listing.files.is_empty() && listing.others.is_empty());
    }

    #[test]
    fn links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("b")).unwrap();
        fs::create_dir(path(".trash")).unwrap();
        fs::write(path("a.mp3"), b"1").unwrap();
        std::os::unix::fs::symlink(path("a.mp3"), path("link.mp3")).unwrap();
        std::os::unix::fs::symlink(dir.path(), path("loop")).unwrap();
        let listing = list_folder(dir.path(), &mut || true).unwrap();
        let names = |n: &Vec<u8>| String::from_utf8_lossy(n).into_owned();
        let files: Vec<_> = listing.files.iter().map(|f| names(&f.name)).collect();
        let folders: Vec<_> = listing.folders.iter().map(|f| names(&f.name)).collect();
        assert_eq!((files, folders), (vec!["a.mp3".into()], vec!["b".into()]));
    }
}
