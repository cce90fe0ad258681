//! [`WalkedFolder`]: a folder as a scan found it, its cover and the folder of its albums.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::media::files;
use crate::media::scan::walk::{FileKind, ListedFile, Listing};
use crate::media::tag_values::is_disc_folder;

/// A folder as it was found.
pub(super) struct WalkedFolder {
    pub(super) id: i64,
    pub(super) root: i64,
    pub(super) path: PathBuf,
    pub(super) parent: Option<usize>,
    pub(super) name: Vec<u8>,
    pub(super) inode: i64,
    pub(super) listing: Listing,
    pub(super) is_new: bool,
    /// Known by its inode alone, which another folder may have had before.
    pub(super) is_moved: bool,
    /// As it was stored.
    pub(super) context: i64,
}

pub(super) fn is_cover(kind: FileKind) -> bool {
    matches!(kind, FileKind::Cover(_))
}

pub(super) fn has_audio(listing: &Listing) -> bool {
    listing
        .files
        .iter()
        .any(|file| file.kind == FileKind::Audio)
}

/// Hash of the circumstances that a folder's files depend on: the folder of their albums, the cover,
/// music beside pictures.
pub(super) fn context(walked: &[WalkedFolder], place: usize) -> i64 {
    let mut hasher = blake3::Hasher::new();
    let mut add = |number: i64| {
        hasher.update(&number.to_le_bytes());
    };
    add(album_folder(walked, place));
    let own = walked.get(place);
    add(own.is_some_and(|folder| has_audio(&folder.listing)).into());
    if let Some((folder, cover)) = best_cover(walked, place) {
        add(folder.id);
        add(cover.stat.size);
        add(cover.stat.mtime);
        add(cover.stat.inode);
    }
    let hash = hasher.finalize();
    let first = hash
        .as_bytes()
        .first_chunk()
        .map_or(0, |b| i64::from_le_bytes(*b));
    // 0: not known yet.
    first | 1
}

/// Folders with music, and those whose discs have music.
pub(super) fn folders_with_music(walked: &[WalkedFolder], first: usize) -> HashSet<usize> {
    let mut music = HashSet::new();
    for (place, folder) in walked.iter().enumerate().skip(first) {
        if has_audio(&folder.listing) {
            music.insert(place);
            if is_disc(&folder.name) {
                music.extend(folder.parent);
            }
        }
    }
    music
}

/// Returns true for the name of a disc's folder: `CD2`, `Disc 1`.
fn is_disc(name: &[u8]) -> bool {
    is_disc_folder(&String::from_utf8_lossy(name))
}

/// The folder of a track's album: the parent of a disc's folder.
pub(super) fn album_folder(walked: &[WalkedFolder], place: usize) -> i64 {
    let Some(folder) = walked.get(place) else {
        return 0;
    };
    let parent = folder.parent.and_then(|parent| walked.get(parent));
    match parent.filter(|_| is_disc(&folder.name)) {
        Some(parent) => parent.id,
        None => folder.id,
    }
}

/// The picture that is the cover of a folder's music: its own, else that of the folder of discs.
fn best_cover(walked: &[WalkedFolder], place: usize) -> Option<(&WalkedFolder, &ListedFile)> {
    fn of(folder: &WalkedFolder) -> Option<(&WalkedFolder, &ListedFile)> {
        let files = folder.listing.files.iter();
        let covers = files.filter(|file| is_cover(file.kind));
        let best = covers.min_by(|a, b| cover_order(a).cmp(&cover_order(b)))?;
        Some((folder, best))
    }
    let folder = walked.get(place)?;
    of(folder).or_else(|| of(walked.get(folder.parent.filter(|_| is_disc(&folder.name))?)?))
}

fn cover_order(file: &ListedFile) -> (u8, &[u8]) {
    match file.kind {
        FileKind::Cover(order) => (order, &file.name),
        _ => (u8::MAX, &file.name),
    }
}

pub(super) fn cover_file(walked: &[WalkedFolder], place: usize) -> Option<PathBuf> {
    let (folder, cover) = best_cover(walked, place)?;
    Some(folder.path.join(files::path_of(&cover.name)))
}
