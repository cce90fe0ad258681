//! Playlists: lists of tracks in an order of the user's own, and saved filters.
//!
//! ```text
//! media_playlist        id -> name, filter
//! media_playlist_entry  (playlist, place) -> uid, location, title, artist, album, length
//! ```
//!
//! An entry names its track by the UID, so that it stays when the file is moved, renamed or
//! retagged, and when a lost file comes back. Its location serves a track that is not known yet: a
//! scan that finds the file links the entry. An entry whose track is lost stays, with its name.
//!
//! The places of entries have gaps, so that inserting one writes one row.

mod entries;
mod import;

use rusqlite::{Connection, OptionalExtension};

pub use self::entries::{PlaylistTrack, PlaylistTrackState};
pub use self::import::{PlaylistImport, UnmatchedEntry};
use super::library::Media;
use super::track::{TrackColumn, TrackFilter, TrackQuery};
use crate::error::{Error, Result};
use crate::search::query::Columns;
use crate::types::RecordId;

const SCHEMA: &str = include_str!("../playlist.sql");

/// Characters of a playlist's name.
const MAX_NAME: usize = 200;

/// A playlist.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Playlist {
    /// Its name.
    pub name: String,
    /// The filter of tracks that it is; `None`: it has entries of its own.
    pub filter: Option<String>,
    /// Number of its entries; of a filter, the tracks that it matches now.
    pub entries: u64,
}

/// A row of `media_playlist`.
struct StoredPlaylist {
    id: i64,
    filter: Option<String>,
}

/// Creates the tables unless they are there.
pub(super) fn create_tables(conn: &Connection) -> Result<()> {
    if !has_tables(conn)? {
        conn.execute_batch(SCHEMA)?;
    }
    Ok(())
}

/// Returns true if a playlist was ever made, or a play counted since there is a history.
pub(super) fn has_tables(conn: &Connection) -> Result<bool> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'media_play'";
    Ok(conn.prepare_cached(sql)?.exists([])?)
}

fn find(conn: &Connection, name: &str) -> Result<StoredPlaylist> {
    let unknown = || Error::NoPlaylist(name.to_owned());
    if !has_tables(conn)? {
        return Err(unknown());
    }
    let found = conn
        .prepare_cached("SELECT id, filter FROM media_playlist WHERE name = ?1")?
        .query_row([name], |r| {
            Ok(StoredPlaylist {
                id: r.get(0)?,
                filter: r.get(1)?,
            })
        });
    found.optional()?.ok_or_else(unknown)
}

/// Finds a playlist with entries of its own.
fn find_own(conn: &Connection, name: &str) -> Result<i64> {
    let found = find(conn, name)?;
    match found.filter {
        Some(_) => Err(Error::SavedFilter(name.to_owned())),
        None => Ok(found.id),
    }
}

/// Checks the name of a new playlist.
fn check_name(conn: &Connection, name: &str) -> Result<()> {
    let is_allowed = (1..=MAX_NAME).contains(&name.chars().count())
        && !name.chars().any(char::is_control)
        && name.trim() == name;
    if !is_allowed {
        return Err(Error::BadPlaylistName(name.to_owned()));
    }
    match find(conn, name) {
        Ok(_) => Err(Error::PlaylistExists(name.to_owned())),
        Err(Error::NoPlaylist(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

fn insert(conn: &Connection, name: &str, filter: Option<&str>) -> Result<i64> {
    create_tables(conn)?;
    check_name(conn, name)?;
    let sql = "INSERT INTO media_playlist (name, filter) VALUES (?1, ?2)";
    Ok(conn.prepare_cached(sql)?.insert((name, filter))?)
}

fn delete(conn: &Connection, id: i64) -> Result<()> {
    conn.execute("DELETE FROM media_playlist_entry WHERE playlist = ?1", [id])?;
    conn.execute("DELETE FROM media_playlist WHERE id = ?1", [id])?;
    Ok(())
}

impl Media {
    /// Returns the playlists, by name.
    ///
    /// # Errors
    /// Any read error.
    pub fn playlists(&self) -> Result<Vec<Playlist>> {
        let mut lists = self.db.read_transaction(|conn| {
            if !has_tables(conn)? {
                return Ok(Vec::new());
            }
            let mut statement = conn.prepare_cached(
                "SELECT name, filter, \
                 (SELECT count(*) FROM media_playlist_entry e WHERE e.playlist = p.id) \
                 FROM media_playlist p ORDER BY name",
            )?;
            let lists = statement.query_map([], |r| {
                Ok(Playlist {
                    name: r.get(0)?,
                    filter: r.get(1)?,
                    entries: r.get::<_, i64>(2)?.cast_unsigned(),
                })
            })?;
            Ok(lists.collect::<rusqlite::Result<Vec<_>>>()?)
        })?;
        let order = self.db.order();
        lists.sort_by_cached_key(|list| order.sort_key(&[&list.name]));
        for list in &mut lists {
            if let Some(filter) = &list.filter {
                list.entries = match self.matches(filter) {
                    Ok(tracks) => tracks.len() as u64,
                    // One of a later version: reading the playlist itself says so.
                    Err(Error::Filter(_)) => 0,
                    Err(error) => return Err(error),
                };
            }
        }
        Ok(lists)
    }

    /// Returns the tracks that a saved filter matches, in list order.
    fn matches(&self, filter: &str) -> Result<Vec<RecordId>> {
        let filter: TrackFilter = filter.parse()?;
        let query = TrackQuery::new(filter).columns(Columns::<TrackColumn>::NONE);
        let rows = self.tracks().query(&query)?;
        Ok(rows.iter().map(|row| row.id()).collect())
    }

    /// Makes a playlist: an empty one, or a saved filter of tracks, which is evaluated whenever the
    /// playlist is read.
    ///
    /// # Errors
    /// [`Error::PlaylistExists`], [`Error::BadPlaylistName`]; [`Error::Filter`]; any write error.
    pub fn create_playlist(&self, name: &str, filter: Option<&str>) -> Result<()> {
        if let Some(filter) = filter {
            let _: TrackFilter = filter.parse()?;
        }
        self.db.write(|conn| {
            insert(conn, name, filter)?;
            Ok(())
        })
    }

    /// Gives a playlist another name.
    ///
    /// # Errors
    /// [`Error::NoPlaylist`], [`Error::PlaylistExists`], [`Error::BadPlaylistName`]; any write error.
    pub fn rename_playlist(&self, name: &str, new_name: &str) -> Result<()> {
        self.db.write(|conn| {
            let found = find(conn, name)?;
            if name != new_name {
                check_name(conn, new_name)?;
            }
            let sql = "UPDATE media_playlist SET name = ?2 WHERE id = ?1";
            conn.execute(sql, (found.id, new_name))?;
            Ok(())
        })
    }

    /// Deletes a playlist for good; its tracks stay. Returns the number of its entries.
    ///
    /// # Errors
    /// [`Error::NoPlaylist`]; any write error.
    pub fn delete_playlist(&self, name: &str) -> Result<u64> {
        self.db.write(|conn| {
            let found = find(conn, name)?;
            let entries = entries::places(conn, found.id)?.len() as u64;
            delete(conn, found.id)?;
            Ok(entries)
        })
    }
}

/// Deletes the entries of tracks that are erased for good, and what they say of them.
pub(crate) fn purge_entries(conn: &Connection, uids: &[String]) -> Result<()> {
    if !has_tables(conn)? || uids.is_empty() {
        return Ok(());
    }
    // Entries have no index by UID: an erasure is rare.
    let uids: std::collections::HashSet<&str> = uids.iter().map(String::as_str).collect();
    let mut statement = conn
        .prepare("SELECT playlist, place, uid FROM media_playlist_entry WHERE uid IS NOT NULL")?;
    let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get::<_, String>(2)?)))?;
    let rows: Vec<(i64, i64, String)> = rows.collect::<rusqlite::Result<_>>()?;
    for (playlist, place, uid) in rows {
        if uids.contains(uid.as_str()) {
            entries::delete_at(conn, playlist, place)?;
        }
    }
    Ok(())
}
