//! The history of plays: the table `media_play`, a row for each play.
//!
//! The number of plays of a track and the time of the last one are in its record; the history has
//! the times of all. It keeps the latest [`MAX_PLAYS`] of the library.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

use super::library::Media;
use super::playlist;
use super::tag_lines::TagLines;
use super::track::Track;
use crate::error::Result;
use crate::types::{CollectionKind, RecordId};

/// Plays that are kept: 27 a day for ten years, some 4 MB with their indexes.
const MAX_PLAYS: i64 = 100_000;

/// A play of a track.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Play {
    /// When, in whole seconds.
    pub at: SystemTime,
    /// The track.
    pub id: RecordId,
    /// The UID of the track.
    pub uid: String,
    /// The title of the track; without one, the file's name.
    pub title: String,
    /// The artists of the track, separated by commas.
    pub artist: String,
    /// The title of the album.
    pub album: String,
}

impl Media {
    /// Returns the latest plays, the last first. Plays of tracks in the trash are left out; they come
    /// back with their track, and are deleted with it.
    ///
    /// # Errors
    /// Any read error.
    pub fn plays(&self, limit: usize) -> Result<Vec<Play>> {
        let music = self.collection_id(CollectionKind::Music);
        self.db.read_transaction(|conn| {
            if !playlist::has_tables(conn)? {
                return Ok(Vec::new());
            }
            let mut statement = conn.prepare_cached(
                "SELECT p.at, r.id, r.uid, r.text FROM media_play p JOIN record r ON r.id = p.record \
                 WHERE r.collection = ?1 AND r.removed_at IS NULL \
                 ORDER BY p.at DESC, p.id DESC LIMIT ?2",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let plays = statement.query_map((music, limit), |r| {
                let track = Track::new(TagLines::from_text(r.get(3)?));
                Ok(Play {
                    at: time_of(r.get(0)?),
                    id: RecordId(r.get(1)?),
                    uid: r.get(2)?,
                    title: track.title(),
                    artist: track.artist(),
                    album: track.album(),
                })
            })?;
            Ok(plays.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Returns the times of a track's plays, the last first. There are fewer than its count if they
    /// are older than the history.
    ///
    /// # Errors
    /// Any read error.
    pub fn plays_of(&self, track: RecordId) -> Result<Vec<SystemTime>> {
        self.db.read_transaction(|conn| {
            if !playlist::has_tables(conn)? {
                return Ok(Vec::new());
            }
            let sql = "SELECT at FROM media_play WHERE record = ?1 ORDER BY at DESC";
            let mut statement = conn.prepare_cached(sql)?;
            let times = statement.query_map([track.0], |r| Ok(time_of(r.get(0)?)))?;
            Ok(times.collect::<rusqlite::Result<_>>()?)
        })
    }
}

fn time_of(seconds: i64) -> SystemTime {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    UNIX_EPOCH
        .checked_add(Duration::from_secs(seconds))
        .unwrap_or(UNIX_EPOCH)
}

/// Adds a play, and deletes those beyond [`MAX_PLAYS`].
pub(super) fn insert(conn: &Connection, record: i64, seconds: u64) -> Result<()> {
    playlist::create_tables(conn)?;
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let id = conn
        .prepare_cached("INSERT INTO media_play (record, at) VALUES (?1, ?2)")?
        .insert((record, seconds))?;
    conn.prepare_cached("DELETE FROM media_play WHERE id <= ?1")?
        .execute([id - MAX_PLAYS])?;
    Ok(())
}

/// Makes the history follow an undo: plays that are not counted any more are deleted, the last
/// counted first; one that is counted again is inserted at the time of the last play.
pub(super) fn follow_undo(
    conn: &Connection,
    record: i64,
    present: &TagLines,
    restored: &TagLines,
) -> Result<()> {
    let plays = |lines: &TagLines| lines.number::<u32>("user.plays").unwrap_or(0);
    let (now, then) = (plays(present), plays(restored));
    if then < now && playlist::has_tables(conn)? {
        conn.prepare_cached(
            "DELETE FROM media_play WHERE id IN \
             (SELECT id FROM media_play WHERE record = ?1 ORDER BY id DESC LIMIT ?2)",
        )?
        .execute((record, now - then))?;
    }
    if then > now {
        let last = restored.number::<u64>("user.played").unwrap_or(0);
        insert(conn, record, last)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_plays_are_kept() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch("CREATE TABLE record (id INTEGER PRIMARY KEY)")
            .unwrap();
        for seconds in 1..=3 {
            insert(&conn, 7, seconds).unwrap();
        }
        conn.execute("INSERT INTO media_play VALUES (?1, 7, 4)", [MAX_PLAYS + 1])
            .unwrap();
        insert(&conn, 7, 5).unwrap();
        let mut statement = conn
            .prepare("SELECT at FROM media_play ORDER BY id")
            .unwrap();
        let kept = statement.query_map([], |r| r.get::<_, i64>(0)).unwrap();
        assert_eq!(kept.map(|at| at.unwrap()).collect::<Vec<_>>(), [3, 4, 5]);
        conn.execute_batch("INSERT INTO record VALUES (7); DELETE FROM record")
            .unwrap();
        let left = conn.query_row("SELECT count(*) FROM media_play", [], |r| {
            r.get::<_, i64>(0)
        });
        assert_eq!(left.unwrap(), 0);
    }
}
