//! Listing folders: the media files in each, without opening any.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Properties of a file in a listing. Equal values: the file was not changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
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
pub(in crate::media) enum FileKind {
    Audio,
    /// A picture or video.
    Picture,
    /// A picture by whose name it is the cover of the folder's music; the order of preference.
    Cover(u8),
    /// XMP of other programs for the file that it is named as.
    Sidecar,
}

/// How a file belongs to another, whose name begins with the same letters: they are one entry with two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::media) enum Belonging {
    /// A raw picture to the camera's JPEG or HEIC, a sidecar file to its picture or video.
    Always,
    /// A video to the picture of a live photo, unless it is a longer one.
    IfShort,
}

/// The file that another belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::media) struct Owner {
    /// Its place in the listing.
    pub(in crate::media) place: usize,
    pub(super) how: Belonging,
}

impl ListedFile {
    /// Returns true for a sidecar of nothing.
    pub(super) fn is_stray(&self) -> bool {
        self.kind == FileKind::Sidecar && self.owner.is_none()
    }
}

const AUDIO: &[&str] = &[
    "aac", "aif", "aifc", "aiff", "ape", "flac", "m4a", "m4b", "mp3", "mpc", "oga", "ogg", "opus",
    "spx", "wav", "wv",
];
const PICTURES: &[&str] = &[
    "3gp", "avif", "bmp", "gif", "heic", "heif", "jpeg", "jpg", "m4v", "mkv", "mov", "mp4", "png",
    "tif", "tiff", "webm", "webp",
];
/// Pictures of a camera that a raw picture or the video of a live photo may belong to.
const STILLS: &[&str] = &["heic", "heif", "jpeg", "jpg"];
/// The videos of live photos.
const LIVE: &[&str] = &["mov", "mp4"];
/// Formats of media that are not read.
const OTHERS: &[&str] = &[
    "3g2", "3fr", "aax", "ac3", "amr", "asf", "avi", "crw", "dff", "divx", "dsf", "dts", "eac3",
    "erf", "flv", "it", "jp2", "jxl", "kdc", "m2ts", "mef", "mid", "midi", "mka", "mod", "mos",
    "mp2", "mpeg", "mpg", "mrw", "mts", "ofr", "ogm", "ogv", "orf", "psd", "ra", "rm", "rmvb",
    "rw2", "rwl", "s3m", "shn", "svg", "tak", "tta", "vob", "weba", "wma", "wmv", "x3f", "xcf",
    "xm",
];
const COVER_NAMES: &[&str] = &["cover", "folder", "front", "album"];

impl FileKind {
    /// Returns the kind of a file of this name; `None` if it is no medium.
    pub(in crate::media) fn of_name(name: &[u8]) -> Option<Self> {
        let path = Path::new(OsStr::from_bytes(name));
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let is_in = |list: &[&str]| list.contains(&extension.as_str());
        if is_in(AUDIO) {
            return Some(Self::Audio);
        }
        if extension == "xmp" {
            return Some(Self::Sidecar);
        }
        if !is_in(PICTURES) {
            let raw = etui_media::raw_format(&format!(".{extension}"));
            return raw.map(|_| Self::Picture);
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
pub(in crate::media) struct ListedFile {
    pub(in crate::media) name: Vec<u8>,
    pub(in crate::media) kind: FileKind,
    pub(in crate::media) stat: FileStat,
    pub(in crate::media) owner: Option<Owner>,
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
            listing.files.push(ListedFile {
                name,
                kind,
                stat,
                owner: None,
            });
        }
    }
    listing.files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    find_owners(&mut listing.files);
    listing.folders.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(listing)
}

/// Splits a name at its last dot.
pub(in crate::media) fn split_name(name: &[u8]) -> (&[u8], &[u8]) {
    let dot = name.iter().rposition(|&byte| byte == b'.');
    let at = dot.unwrap_or(name.len());
    let (stem, rest) = name.split_at_checked(at).unwrap_or((name, b""));
    (stem, rest.get(1..).unwrap_or_default())
}

/// Finds the owner of each file that has one. Files are sorted by name.
pub(in crate::media) fn find_owners(files: &mut [ListedFile]) {
    let has = |file: &ListedFile, list: &[&str]| {
        let (_, extension) = split_name(&file.name);
        let mut list = list.iter();
        file.kind == FileKind::Picture
            && list.any(|known| extension.eq_ignore_ascii_case(known.as_bytes()))
    };
    let is_raw =
        |file: &ListedFile| etui_media::raw_format(&String::from_utf8_lossy(&file.name)).is_some();
    let is_guest =
        |file: &ListedFile| file.kind == FileKind::Sidecar || has(file, LIVE) || is_raw(file);
    if !files.iter().any(is_guest) {
        return;
    }
    // Of several pictures of a stem, the first by name.
    let mut owners: HashMap<&[u8], usize> = HashMap::new();
    // A file without a still picture owns its sidecar itself.
    let mut others: HashMap<&[u8], usize> = HashMap::new();
    for (place, file) in files.iter().enumerate() {
        let (stem, _) = split_name(&file.name);
        if has(file, STILLS) {
            owners.entry(stem).or_insert(place);
        } else if file.kind == FileKind::Picture {
            others.entry(stem).or_insert(place);
        }
    }
    let of_stem = |stem: &[u8]| owners.get(stem).copied();
    let owner = |file: &ListedFile| {
        let (stem, _) = split_name(&file.name);
        let (place, how) = match file.kind {
            FileKind::Sidecar => {
                // `a.jpg.xmp` is of that file, `a.xmp` of the picture or video `a`.
                let named = files.binary_search_by(|other| other.name.as_slice().cmp(stem));
                let named = named.ok().filter(|place| {
                    let named = files.get(*place);
                    named.is_some_and(|named| named.kind == FileKind::Picture)
                });
                // That of a raw picture says what its entry is shown with.
                let still = named.and_then(|place| {
                    let named = files.get(place).filter(|named| is_raw(named))?;
                    of_stem(split_name(&named.name).0)
                });
                let found = still.or(named).or_else(|| of_stem(stem));
                let found = found.or_else(|| others.get(stem).copied())?;
                (found, Belonging::Always)
            }
            FileKind::Picture if is_raw(file) => (of_stem(stem)?, Belonging::Always),
            FileKind::Picture if has(file, LIVE) => (of_stem(stem)?, Belonging::IfShort),
            _ => return None,
        };
        Some(Owner { place, how })
    };
    let found: Vec<Option<Owner>> = files.iter().map(owner).collect();
    for (file, found) in files.iter_mut().zip(found) {
        file.owner = found;
    }
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
