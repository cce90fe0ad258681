//! Playlist files: which track each entry is.
//!
//! An entry is, in this order:
//!
//! 1. the track whose file has its path: absolute, in the folder of the list, or in one of the library;
//! 2. the one track whose path ends like it: the name without its extension and at least one of the
//!    last four folders are equal, without case and accents. So lists of another machine or system are read, and
//!    those whose files were converted. With one equal folder only, the titles must not differ;
//! 3. a track of its title and artist, whose length differs by two seconds at most if both are
//!    known; of several the one of its album, else the first in the library.
//!
//! Any other entry is kept with its location and name, and a later scan may find its file.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use etui_media::playlist::{PlaylistEntry, PlaylistFile, is_remote, local_paths};
use etui_text::fold::fold_words;
use rusqlite::Connection;

use super::entries::{FoundTrack, StoredEntry, TrackPaths, insert_at, record_at};
use super::{create_tables, delete, find, insert};
use crate::error::{Error, Result};
use crate::media::files::{StoredRoot, path_of, read_roots};
use crate::media::library::Media;
use crate::media::tag_lines::TagLines;
use crate::media::track::Track;
use crate::types::CollectionKind;

/// Seconds by which the lengths of a track may differ: players round and count differently.
const MAX_DIFFERENCE: u32 = 2;
/// Bytes of a location that is kept.
const MAX_LOCATION: usize = 4096;
/// Folders of a path that are compared.
const MAX_FOLDERS: usize = 4;
/// Tracks of one title and artist that are compared by length and album.
const MAX_TITLED: usize = 16;
/// Characters of a title, artist or album that is kept.
const MAX_TEXT: usize = 500;

/// Result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlaylistImport {
    /// Entries that are tracks of the library.
    pub tracks: u64,
    /// Entries that are URLs, such as radio stations. They are kept.
    pub streams: u64,
    /// Entries that are no track of the library. They are kept.
    pub unmatched: Vec<UnmatchedEntry>,
}

/// An entry of a playlist file that is no track of the library.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnmatchedEntry {
    /// Its line in the file, from 1.
    pub line: usize,
    /// The path that it says; empty if it says none.
    pub location: PathBuf,
    /// Its title; without one, the file's name.
    pub title: String,
    /// Its artist; empty if unknown.
    pub artist: String,
}

impl Media {
    /// Makes a playlist of a playlist file. `folder` is the absolute path of the file's folder, in
    /// which relative locations are. A playlist of this name is an error, or replaced.
    ///
    /// Every entry is kept, in order: tracks by their identity, others by location and name.
    ///
    /// # Errors
    /// [`Error::PlaylistExists`], [`Error::BadPlaylistName`]; any write error.
    pub fn import_playlist(
        &self,
        name: &str,
        file: &PlaylistFile,
        folder: &Path,
        replace: bool,
    ) -> Result<PlaylistImport> {
        let music = self.collection_id(CollectionKind::Music);
        self.db.write(|conn| {
            create_tables(conn)?;
            if replace {
                match find(conn, name) {
                    Ok(found) => delete(conn, found.id)?,
                    Err(Error::NoPlaylist(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            let playlist = insert(conn, name, None)?;
            let mut matcher = EntryMatcher {
                conn,
                music,
                folder,
                roots: read_roots(conn)?,
                paths: TrackPaths::default(),
                index: None,
            };
            let mut report = PlaylistImport::default();
            let mut entries = Vec::with_capacity(file.entries.len());
            for entry in &file.entries {
                entries.push(matcher.stored_entry(entry, &mut report)?);
            }
            insert_at(conn, playlist, None, &entries)?;
            Ok(report)
        })
    }
}

/// Finds the tracks of entries.
struct EntryMatcher<'c> {
    conn: &'c Connection,
    music: i64,
    folder: &'c Path,
    /// The folders of the library.
    roots: Vec<StoredRoot>,
    paths: TrackPaths,
    /// Made for the first entry whose path is not known.
    index: Option<LibraryIndex>,
}

/// The tracks of the library by the ends of their paths and by their titles. A lookup costs the
/// same however many tracks have a name.
#[derive(Default)]
struct LibraryIndex {
    tracks: Vec<IndexedTrack>,
    hasher: RandomState,
    /// Hashes of path ends to the one track that has the end; `None`: several have it.
    by_end: HashMap<u64, Option<usize>>,
    by_title: HashMap<(String, String), Vec<usize>>,
}

struct IndexedTrack {
    id: i64,
    title: String,
    album: String,
    seconds: u32,
}

impl EntryMatcher<'_> {
    fn stored_entry(
        &mut self,
        entry: &PlaylistEntry,
        report: &mut PlaylistImport,
    ) -> Result<StoredEntry> {
        if let Some(id) = self.find(entry)?
            && let Some(found) = FoundTrack::by_id(self.conn, self.music, id)?
        {
            report.tracks += 1;
            let path = self.paths.find(self.conn, id)?;
            let path = path.as_ref().map(|(path, _)| path.as_path());
            return Ok(StoredEntry::of_track(&found, path));
        }
        let location = entry.locations.first().map(Vec::as_slice);
        let location = match location {
            Some(url) if is_remote(url) => {
                report.streams += 1;
                Some(url.trim_ascii().to_vec())
            }
            Some(written) => {
                // The last one is a path of this system, if any is.
                let paths = local_paths(written, self.folder);
                let path = paths.iter().find(|path| path.exists()).or(paths.last());
                path.map(|path| path.as_os_str().as_bytes().to_vec())
            }
            None => None,
        };
        let location = location.filter(|location| location.len() <= MAX_LOCATION);
        let is_stream = location.as_deref().is_some_and(is_remote);
        let path = location.as_deref().map(path_of).unwrap_or_default();
        let title = match entry.title.is_empty() {
            true if is_stream => path.display().to_string(),
            true => path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            false => entry.title.clone(),
        };
        let clip = |text: &str| text.chars().take(MAX_TEXT).collect::<String>();
        let stored = StoredEntry {
            uid: None,
            location,
            title: clip(&title),
            artist: clip(&entry.artist),
            album: clip(&entry.album),
            seconds: entry.seconds,
        };
        if !is_stream {
            report.unmatched.push(UnmatchedEntry {
                line: entry.line,
                location: path,
                title: stored.title.clone(),
                artist: stored.artist.clone(),
            });
        }
        Ok(stored)
    }

    fn find(&mut self, entry: &PlaylistEntry) -> Result<Option<i64>> {
        let locations = entry.locations.iter();
        let paths: Vec<PathBuf> = locations
            .flat_map(|location| local_paths(location, self.folder))
            .collect();
        // Some servers write paths that are relative to their music folder.
        let locations = entry.locations.iter();
        let in_roots = locations.flat_map(|location| {
            let roots = self.roots.iter();
            roots.flat_map(|root| local_paths(location, &root.path))
        });
        for path in paths.iter().cloned().chain(in_roots) {
            let path = &path;
            if let Some(id) = self.track_at(path)? {
                return Ok(Some(id));
            }
            // The list names it by a link.
            if let Ok(real) = path.canonicalize()
                && real != *path
                && let Some(id) = self.track_at(&real)?
            {
                return Ok(Some(id));
            }
        }
        if self.index.is_none() {
            self.index = Some(LibraryIndex::read(self.conn, self.music, &mut self.paths)?);
        }
        let Some(index) = &self.index else {
            return Ok(None);
        };
        let by_path = paths.iter().find_map(|path| index.by_path(path, entry));
        Ok(by_path.or_else(|| index.by_title(entry)))
    }

    fn track_at(&self, path: &Path) -> Result<Option<i64>> {
        let Some(record) = record_at(self.conn, path)? else {
            return Ok(None);
        };
        let found = FoundTrack::by_id(self.conn, self.music, record)?;
        Ok(found.map(|found| found.id))
    }
}

impl LibraryIndex {
    fn read(conn: &Connection, music: i64, paths: &mut TrackPaths) -> Result<Self> {
        let mut index = Self::default();
        let mut statement = conn.prepare_cached(
            "SELECT id, text FROM record \
             WHERE collection = ?1 AND removed_at IS NULL ORDER BY id",
        )?;
        let mut rows = statement.query([music])?;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            let Some((path, _)) = paths.find(conn, id)? else {
                continue;
            };
            let track = Track::new(TagLines::from_text(row.get(1)?));
            let title = fold_words(&track.title());
            let artist = fold_words(&track.artist());
            let place = index.tracks.len();
            for (end, _) in path_ends(&path) {
                let known = index.by_end.entry(index.hasher.hash_one(end));
                known
                    .and_modify(|place| *place = None)
                    .or_insert(Some(place));
            }
            let titled = index.by_title.entry((artist, title.clone())).or_default();
            if titled.len() < MAX_TITLED {
                titled.push(place);
            }
            index.tracks.push(IndexedTrack {
                id,
                title,
                album: fold_words(&track.album()),
                seconds: u32::try_from(track.length() / 1000).unwrap_or(u32::MAX),
            });
        }
        Ok(index)
    }

    /// Returns the one track whose path has the longest end that a path has too.
    fn by_path(&self, path: &Path, entry: &PlaylistEntry) -> Option<i64> {
        let title = fold_words(&entry.title);
        for (end, folders) in path_ends(path) {
            let Some(found) = self.by_end.get(&self.hasher.hash_one(end)) else {
                continue;
            };
            // Several have this end, and so all shorter ones.
            let track = self.tracks.get((*found)?)?;
            let is_other = !title.is_empty() && title != track.title;
            return (folders > 1 || !is_other).then_some(track.id);
        }
        None
    }

    /// Returns a track of the title and artist of an entry.
    fn by_title(&self, entry: &PlaylistEntry) -> Option<i64> {
        let (artist, title) = (fold_words(&entry.artist), fold_words(&entry.title));
        if artist.is_empty() || title.is_empty() {
            return None;
        }
        let album = fold_words(&entry.album);
        let places = self.by_title.get(&(artist, title))?.iter();
        let of_title = places.filter_map(|place| self.tracks.get(*place));
        let is_as_long = |track: &&IndexedTrack| match entry.seconds {
            Some(seconds) if track.seconds > 0 => seconds.abs_diff(track.seconds) <= MAX_DIFFERENCE,
            _ => true,
        };
        let found: Vec<&IndexedTrack> = of_title.filter(is_as_long).collect();
        let of_album = found.iter().find(|track| track.album == album);
        of_album.or(found.first()).map(|track| track.id)
    }
}

/// Returns a name as it is compared; one without words, such as `!!!`, as it is.
fn folded(name: &std::ffi::OsStr) -> String {
    let name = name.to_string_lossy();
    match fold_words(&name) {
        empty if empty.is_empty() => name.into_owned(),
        words => words,
    }
}

/// Returns the ends of a path, the longest first, each with its number of folders: up to
/// [`MAX_FOLDERS`] and the name, with its extension and without.
fn path_ends(path: &Path) -> impl Iterator<Item = ((Vec<String>, Option<String>), usize)> {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let extension = extension.to_ascii_lowercase();
    let mut names = vec![folded(path.file_stem().unwrap_or_default())];
    let folders = path.ancestors().skip(1).filter_map(Path::file_name);
    names.extend(folders.take(MAX_FOLDERS).map(folded));
    (1..names.len()).rev().flat_map(move |folders| {
        let end: Vec<String> = names.iter().take(folders + 1).cloned().collect();
        let with_extension = (end.clone(), Some(extension.clone()));
        [(with_extension, folders), ((end, None), folders)]
    })
}
