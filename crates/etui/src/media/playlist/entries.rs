//! The entries of playlists: read, added, removed and moved.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use etui_media::playlist::{PlaylistEntry, PlaylistFile, is_remote};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{find, find_own};
use crate::error::{Error, Result};
use crate::media::files;
use crate::media::library::Media;
use crate::media::tag_lines::TagLines;
use crate::media::track::Track;
use crate::types::{CollectionKind, RecordId};

/// The distance of the places of two entries: between them 20 can be inserted, each time in the
/// middle of those left, before others are moved.
const GAP: i64 = 1 << 20;

/// Where the track of an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaylistTrackState {
    /// In the library.
    Here,
    /// In the library, on a drive that was not connected at the last scan.
    Away,
    /// Not in the library: its file is gone, or was never scanned.
    Missing,
    /// A URL, such as a radio station's.
    Stream,
}

/// An entry of a playlist.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlaylistTrack {
    /// The track; `None` if it is not in the library.
    pub id: Option<RecordId>,
    /// The UID of the track, if it was ever in the library.
    pub uid: Option<String>,
    /// Where it is.
    pub state: PlaylistTrackState,
    /// The path of its file, or the last one that is known, or a URL; empty if unknown.
    pub location: PathBuf,
    /// Its title; without one, the file's name.
    pub title: String,
    /// Its artists, separated by commas.
    pub artist: String,
    /// The title of its album.
    pub album: String,
    /// Its length in seconds.
    pub seconds: Option<u32>,
}

/// A row of `media_playlist_entry` without its place.
#[derive(Debug, Clone, Default)]
pub(super) struct StoredEntry {
    pub(super) uid: Option<String>,
    pub(super) location: Option<Vec<u8>>,
    pub(super) title: String,
    pub(super) artist: String,
    pub(super) album: String,
    pub(super) seconds: Option<u32>,
}

const COLUMNS: &str = "uid, location, title, artist, album, seconds";

impl StoredEntry {
    fn read(row: &Row<'_>, from: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            uid: row.get(from)?,
            location: row.get(from + 1)?,
            title: row.get(from + 2)?,
            artist: row.get(from + 3)?,
            album: row.get(from + 4)?,
            seconds: row.get(from + 5)?,
        })
    }

    /// Returns the entry of a track that is in the library.
    pub(super) fn of_track(found: &FoundTrack, path: Option<&Path>) -> Self {
        Self {
            uid: Some(found.uid.clone()),
            location: path.map(|path| path.as_os_str().as_bytes().to_vec()),
            title: found.track.title(),
            artist: found.track.artist(),
            album: found.track.album(),
            seconds: seconds_of(&found.track),
        }
    }
}

/// A live track.
pub(super) struct FoundTrack {
    pub(super) id: i64,
    pub(super) uid: String,
    pub(super) track: Track,
}

impl FoundTrack {
    /// Returns the live track of a record id.
    pub(super) fn by_id(conn: &Connection, music: i64, id: i64) -> Result<Option<Self>> {
        let found = conn
            .prepare_cached(
                "SELECT uid, text FROM record \
                 WHERE id = ?1 AND collection = ?2 AND removed_at IS NULL",
            )?
            .query_row((id, music), |r| Ok((r.get(0)?, r.get(1)?)));
        Ok(found.optional()?.map(|(uid, text)| Self {
            id,
            uid,
            track: Track::new(TagLines::from_text(text)),
        }))
    }
}

fn seconds_of(track: &Track) -> Option<u32> {
    let seconds = u32::try_from(track.length() / 1000).unwrap_or(u32::MAX);
    (seconds > 0).then_some(seconds)
}

/// The paths of tracks. Folders are looked up once.
#[derive(Default)]
pub(super) struct TrackPaths {
    folders: HashMap<i64, Option<(PathBuf, bool)>>,
}

impl TrackPaths {
    /// Returns the path of a record's file, and whether its drive is away.
    pub(super) fn find(
        &mut self,
        conn: &Connection,
        record: i64,
    ) -> Result<Option<(PathBuf, bool)>> {
        let Some((folder, name)) = files::file_of_record(conn, record)? else {
            return Ok(None);
        };
        let found = match self.folders.entry(folder) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let found = files::folder_path(conn, folder)?;
                new.insert(found.map(|(path, root)| (path, root.is_away)))
            }
        };
        let found = found.as_ref();
        Ok(found.map(|(path, is_away)| (path.join(files::path_of(&name)), *is_away)))
    }
}

/// Returns the record of the file at a path.
pub(super) fn record_at(conn: &Connection, path: &Path) -> Result<Option<i64>> {
    let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
        return Ok(None);
    };
    for root in files::read_roots(conn)? {
        let Ok(below) = parent.strip_prefix(&root.path) else {
            continue;
        };
        let mut folder: Option<i64> = conn
            .prepare_cached("SELECT id FROM media_folder WHERE root = ?1 AND parent IS NULL")?
            .query_row([root.id], |r| r.get(0))
            .optional()?;
        for part in below.iter() {
            let Some(parent) = folder else { break };
            folder = conn
                .prepare_cached("SELECT id FROM media_folder WHERE parent = ?1 AND name = ?2")?
                .query_row((parent, part.as_bytes()), |r| r.get(0))
                .optional()?;
        }
        let Some(folder) = folder else { continue };
        let record: Option<Option<i64>> = conn
            .prepare_cached("SELECT record FROM media_file WHERE folder = ?1 AND name = ?2")?
            .query_row((folder, name.as_bytes()), |r| r.get(0))
            .optional()?;
        if let Some(record) = record.flatten() {
            return Ok(Some(record));
        }
    }
    Ok(None)
}

/// Returns the places of a playlist's entries, in order.
pub(super) fn places(conn: &Connection, playlist: i64) -> Result<Vec<i64>> {
    let mut statement = conn.prepare_cached(
        "SELECT place FROM media_playlist_entry WHERE playlist = ?1 ORDER BY place",
    )?;
    let places = statement.query_map([playlist], |r| r.get(0))?;
    Ok(places.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn delete_at(conn: &Connection, playlist: i64, place: i64) -> Result<()> {
    conn.prepare_cached("DELETE FROM media_playlist_entry WHERE playlist = ?1 AND place = ?2")?
        .execute((playlist, place))?;
    Ok(())
}

/// Inserts entries before the one at position `at`, or at the end.
pub(super) fn insert_at(
    conn: &Connection,
    playlist: i64,
    at: Option<usize>,
    entries: &[StoredEntry],
) -> Result<()> {
    let count = i64::try_from(entries.len()).unwrap_or(i64::MAX);
    let known = places(conn, playlist)?;
    let (before, step) = match bounds_at(&known, at) {
        (before, Some(after)) if after - before > count => (before, (after - before) / (count + 1)),
        (before, None) => (before, GAP),
        // No room is left: the entries after them are moved to the end first.
        (_, Some(after)) => {
            let last = known.last().copied().unwrap_or(0);
            let tail: Vec<i64> = known.iter().copied().filter(|p| *p >= after).collect();
            shift(conn, playlist, &tail, last + GAP * (count + 1))?;
            (last, GAP)
        }
    };
    let sql = format!(
        "INSERT INTO media_playlist_entry (playlist, place, {COLUMNS}) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut place = before;
    for entry in entries {
        place += step;
        statement.execute((
            playlist,
            place,
            &entry.uid,
            &entry.location,
            &entry.title,
            &entry.artist,
            &entry.album,
            entry.seconds,
        ))?;
    }
    Ok(())
}

/// Returns the places before and after a position.
fn bounds_at(places: &[i64], at: Option<usize>) -> (i64, Option<i64>) {
    let at = at.unwrap_or(places.len()).min(places.len());
    let before = at.checked_sub(1).and_then(|at| places.get(at));
    let after = places.get(at).copied();
    // The first place has room before it.
    let first = after.map_or(0, |after| after - GAP);
    (before.copied().unwrap_or(first), after)
}

/// Moves entries to places from `first` on.
fn shift(conn: &Connection, playlist: i64, places: &[i64], first: i64) -> Result<()> {
    let mut statement = conn.prepare_cached(
        "UPDATE media_playlist_entry SET place = ?3 WHERE playlist = ?1 AND place = ?2",
    )?;
    for (place, number) in places.iter().zip(0..) {
        statement.execute((playlist, place, first + GAP * number))?;
    }
    Ok(())
}

/// Returns the places of some positions.
fn places_of(
    conn: &Connection,
    (playlist, name): (i64, &str),
    positions: impl IntoIterator<Item = usize>,
) -> Result<Vec<i64>> {
    let known = places(conn, playlist)?;
    let place = |position: usize| {
        let place = known.get(position).copied();
        place.ok_or_else(|| Error::NoPlaylistEntry {
            playlist: name.to_owned(),
            position,
            entries: known.len(),
        })
    };
    positions.into_iter().map(place).collect()
}

fn read_at(conn: &Connection, playlist: i64, place: i64) -> Result<StoredEntry> {
    let sql =
        format!("SELECT {COLUMNS} FROM media_playlist_entry WHERE playlist = ?1 AND place = ?2");
    let mut statement = conn.prepare_cached(&sql)?;
    Ok(statement.query_row((playlist, place), |row| StoredEntry::read(row, 0))?)
}

impl Media {
    /// Returns the entries of a playlist, in order; of a saved filter, the tracks that it matches
    /// now, in list order.
    ///
    /// # Errors
    /// [`Error::NoPlaylist`]; any read error.
    pub fn playlist_tracks(&self, name: &str) -> Result<Vec<PlaylistTrack>> {
        let found = self.db.read_transaction(|conn| find(conn, name))?;
        let Some(filter) = found.filter else {
            return self
                .db
                .read_transaction(|conn| self.read_entries(conn, found.id));
        };
        let ids = self.matches(&filter)?;
        let music = self.collection_id(CollectionKind::Music);
        self.db.read_transaction(|conn| {
            let mut paths = TrackPaths::default();
            let mut tracks = Vec::with_capacity(ids.len());
            for id in ids {
                // One that was lost since the filter was evaluated is left out.
                if let Some(track) = FoundTrack::by_id(conn, music, id.0)? {
                    tracks.push(live_track(conn, &mut paths, track)?);
                }
            }
            Ok(tracks)
        })
    }

    fn read_entries(&self, conn: &Connection, playlist: i64) -> Result<Vec<PlaylistTrack>> {
        let music = self.collection_id(CollectionKind::Music);
        let sql = format!(
            "SELECT {COLUMNS} FROM media_playlist_entry WHERE playlist = ?1 ORDER BY place"
        );
        let mut statement = conn.prepare_cached(&sql)?;
        let mut rows = statement.query([playlist])?;
        let mut paths = TrackPaths::default();
        let mut tracks = Vec::new();
        while let Some(row) = rows.next()? {
            let entry = StoredEntry::read(row, 0)?;
            tracks.push(match find_track(conn, music, &entry)? {
                Some(found) => live_track(conn, &mut paths, found)?,
                None => lost_track(entry),
            });
        }
        Ok(tracks)
    }

    /// Adds tracks to a playlist, before the entry at a position counted from 0, or at the end. A
    /// track may be in it several times.
    ///
    /// # Errors
    /// [`Error::NoPlaylist`], [`Error::SavedFilter`]; [`Error::NoRecordId`] for an id that is no
    /// track: nothing is added then; any write error.
    pub fn add_to_playlist(
        &self,
        name: &str,
        tracks: &[RecordId],
        at: Option<usize>,
    ) -> Result<()> {
        let music = self.collection_id(CollectionKind::Music);
        self.db.write(|conn| {
            let playlist = find_own(conn, name)?;
            let mut paths = TrackPaths::default();
            let mut entries = Vec::with_capacity(tracks.len());
            for id in tracks {
                let found = FoundTrack::by_id(conn, music, id.0)?;
                let found = found.ok_or(Error::NoRecordId(*id))?;
                let path = paths.find(conn, id.0)?;
                let path = path.as_ref().map(|(path, _)| path.as_path());
                entries.push(StoredEntry::of_track(&found, path));
            }
            insert_at(conn, playlist, at, &entries)
        })
    }

    /// Removes entries from a playlist, by their positions counted from 0.
    ///
    /// # Errors
    /// [`Error::NoPlaylist`], [`Error::SavedFilter`]; [`Error::NoPlaylistEntry`]: nothing is removed
    /// then; any write error.
    pub fn remove_from_playlist(&self, name: &str, positions: &[usize]) -> Result<()> {
        self.db.write(|conn| {
            let playlist = find_own(conn, name)?;
            for place in places_of(conn, (playlist, name), positions.iter().copied())? {
                delete_at(conn, playlist, place)?;
            }
            Ok(())
        })
    }

    /// Moves entries of a playlist, so that the first of them is at position `to`, counted from 0
    /// without them, or at the end.
    ///
    /// # Errors
    /// As [`Media::remove_from_playlist`].
    pub fn move_in_playlist(&self, name: &str, from: Range<usize>, to: usize) -> Result<()> {
        self.db.write(|conn| {
            let playlist = find_own(conn, name)?;
            let mut moved = Vec::new();
            for place in places_of(conn, (playlist, name), from)? {
                moved.push(read_at(conn, playlist, place)?);
                delete_at(conn, playlist, place)?;
            }
            insert_at(conn, playlist, Some(to), &moved)
        })
    }

    /// Returns a playlist as a file: each entry with the path of its track. Entries that are missing
    /// have the last path that is known.
    ///
    /// # Errors
    /// As [`Media::playlist_tracks`].
    pub fn playlist_file(&self, name: &str) -> Result<PlaylistFile> {
        let tracks = self.playlist_tracks(name)?.into_iter();
        let entries = tracks.map(|track| {
            let location = track.location.into_os_string();
            let location = (!location.is_empty()).then(|| location.as_bytes().to_vec());
            PlaylistEntry {
                locations: location.into_iter().collect(),
                title: track.title,
                artist: track.artist,
                album: track.album,
                seconds: track.seconds,
                line: 0,
            }
        });
        Ok(PlaylistFile {
            title: name.to_owned(),
            entries: entries.collect(),
            problem: None,
        })
    }

    /// Links the entries of playlists whose files a scan found.
    pub(in crate::media) fn link_playlists(&self) -> Result<()> {
        let music = self.collection_id(CollectionKind::Music);
        let found = self.db.read_transaction(|conn| {
            if !super::has_tables(conn)? {
                return Ok(Vec::new());
            }
            let sql = format!(
                "SELECT playlist, place, {COLUMNS} FROM media_playlist_entry WHERE uid IS NULL"
            );
            let mut statement = conn.prepare_cached(&sql)?;
            let mut rows = statement.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let entry = StoredEntry::read(row, 2)?;
                if let Some(track) = find_track(conn, music, &entry)? {
                    found.push((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, track.uid));
                }
            }
            Ok(found)
        })?;
        if found.is_empty() {
            return Ok(());
        }
        self.db.write(|conn| {
            let mut statement = conn.prepare_cached(
                "UPDATE media_playlist_entry SET uid = ?3 \
                 WHERE playlist = ?1 AND place = ?2 AND uid IS NULL",
            )?;
            for entry in &found {
                statement.execute((entry.0, entry.1, &entry.2))?;
            }
            Ok(())
        })
    }
}

/// Returns the live track of an entry: by its UID, else by its path.
fn find_track(conn: &Connection, music: i64, entry: &StoredEntry) -> Result<Option<FoundTrack>> {
    if let Some(uid) = &entry.uid
        && let Some((id, true, text)) = crate::media::library::find_record(conn, music, uid)?
    {
        return Ok(Some(FoundTrack {
            id,
            uid: uid.clone(),
            track: Track::new(TagLines::from_text(text)),
        }));
    }
    let path = entry
        .location
        .as_deref()
        .filter(|location| !is_remote(location));
    let Some(path) = path else { return Ok(None) };
    match record_at(conn, &files::path_of(path))? {
        Some(record) => FoundTrack::by_id(conn, music, record),
        None => Ok(None),
    }
}

fn live_track(
    conn: &Connection,
    paths: &mut TrackPaths,
    found: FoundTrack,
) -> Result<PlaylistTrack> {
    let (location, is_away) = paths.find(conn, found.id)?.unwrap_or_default();
    Ok(PlaylistTrack {
        id: Some(RecordId(found.id)),
        uid: Some(found.uid),
        state: match is_away {
            true => PlaylistTrackState::Away,
            false => PlaylistTrackState::Here,
        },
        location,
        title: found.track.title(),
        artist: found.track.artist(),
        album: found.track.album(),
        seconds: seconds_of(&found.track),
    })
}

fn lost_track(entry: StoredEntry) -> PlaylistTrack {
    let location = entry.location.unwrap_or_default();
    PlaylistTrack {
        id: None,
        uid: entry.uid,
        state: match is_remote(&location) {
            true => PlaylistTrackState::Stream,
            false => PlaylistTrackState::Missing,
        },
        location: files::path_of(&location),
        title: entry.title,
        artist: entry.artist,
        album: entry.album,
        seconds: entry.seconds,
    }
}
