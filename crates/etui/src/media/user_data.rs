//! User data of a track or picture, recorded by programs: plays, a rating, favourites.
//!
//! They are the lines `user.*` of the record's text. A scan keeps them, so they stay when the file
//! is moved, renamed or retagged, and come back when a lost file does.

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

use super::history;
use super::library::{Media, find_record};
use super::picture::Picture;
use super::tag_lines::{TagLines, USER};
use super::track::Track;
use crate::db::{IndexContext, TransactionSize};
use crate::error::{Error, Result};
use crate::record::RecordKind;
use crate::record::prepared::IndexedRecord;
use crate::record::records::RecordWriter;
use crate::types::{CollectionKind, Condition};

/// A rating: one to five stars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rating(u8);

impl Rating {
    /// Returns a rating of 1 to 5; `None` for any other number.
    pub fn new(stars: u8) -> Option<Self> {
        (1..=5).contains(&stars).then_some(Self(stars))
    }
}

impl Media {
    /// Counts a play of a track, at a time, and adds it to the history ([`Media::plays`]).
    ///
    /// # Errors
    /// [`Error::NoRecord`]; any write error.
    pub fn record_play(&self, uid: &str, at: SystemTime) -> Result<()> {
        // A clock before 1970 is not set.
        let seconds = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        self.write_user_data(CollectionKind::Music, uid, |conn, record, lines| {
            history::insert(conn, record, seconds)?;
            let plays: u32 = lines.number("user.plays").unwrap_or(0);
            let last: u64 = lines.number("user.played").unwrap_or(0);
            lines.set("user.plays", Some(&plays.saturating_add(1).to_string()));
            lines.set("user.played", Some(&last.max(seconds).to_string()));
            Ok(())
        })
    }

    /// Rates a track or picture; `None` takes the rating back.
    ///
    /// # Errors
    /// [`Error::NoRecord`]; any write error.
    pub fn set_rating(
        &self,
        kind: CollectionKind,
        uid: &str,
        rating: Option<Rating>,
    ) -> Result<()> {
        self.change_user_data(kind, uid, |lines| {
            let stars = rating.map(|Rating(stars)| stars.to_string());
            lines.set("user.rating", stars.as_deref());
        })
    }

    /// Makes a track or picture a favourite, or not.
    ///
    /// # Errors
    /// [`Error::NoRecord`]; any write error.
    pub fn set_favourite(&self, kind: CollectionKind, uid: &str, is_favourite: bool) -> Result<()> {
        self.change_user_data(kind, uid, |lines| {
            lines.set("user.favourite", is_favourite.then_some("1"));
        })
    }

    /// Takes over the ratings and numbers of plays that files have in their tags (POPM, FMPS, RATING,
    /// XMP), where there are none yet. Ratings of other scales become stars when the file is read.
    ///
    /// # Errors
    /// Any write error. Batches that were written before it stay.
    pub fn import_ratings(&self) -> Result<RatingImport> {
        let mut done = RatingImport::default();
        let context = self.db.index_context();
        for kind in [CollectionKind::Music, CollectionKind::Pictures] {
            let collection = self.collection_id(kind);
            let uids: Vec<String> = self.db.read_transaction(|conn| {
                let mut statement = conn.prepare_cached(
                    "SELECT uid, text FROM record WHERE collection = ?1 AND removed_at IS NULL",
                )?;
                let mut rows = statement.query([collection])?;
                let mut uids = Vec::new();
                while let Some(row) = rows.next()? {
                    let mut lines = TagLines::from_text(row.get(1)?);
                    if take_file_ratings(&mut lines) != RatingImport::default() {
                        uids.push(row.get(0)?);
                    }
                }
                Ok(uids)
            })?;
            for uids in uids.chunks(IMPORT_BATCH) {
                let batch = self.db.write(|conn| {
                    RecordWriter::run_scan(conn, self.db.order(), |writing| {
                        let mut batch = RatingImport::default();
                        for uid in uids {
                            let Some((_, true, text)) = find_record(conn, collection, uid)? else {
                                continue;
                            };
                            let mut lines = TagLines::from_text(text);
                            let taken = take_file_ratings(&mut lines);
                            batch.ratings += taken.ratings;
                            batch.plays += taken.plays;
                            put_lines(conn, writing, &context, (kind, collection), uid, lines)?;
                        }
                        Ok(batch)
                    })
                })?;
                done.ratings += batch.ratings;
                done.plays += batch.plays;
            }
        }
        Ok(done)
    }

    /// Undoes the latest change of plays, rating or favourite that is still known; the history of
    /// plays follows. The file's tags stay. Returns false if there is none.
    ///
    /// # Errors
    /// [`Error::NoRecord`]; any write error.
    pub fn undo_user_data(&self, kind: CollectionKind, uid: &str) -> Result<bool> {
        let collection = self.collection_id(kind);
        let mut undone = false;
        self.write_user_data(kind, uid, |conn, record, lines| {
            let present = lines.filtered(USER, true);
            let mut statement = conn.prepare_cached(
                "SELECT c.text FROM record r JOIN change c ON c.record = r.id \
                 WHERE r.collection = ?1 AND r.uid = ?2 AND c.text IS NOT NULL \
                 ORDER BY c.seq DESC",
            )?;
            let mut rows = statement.query((collection, uid))?;
            while let Some(row) = rows.next()? {
                let before = TagLines::from_text(row.get(0)?).filtered(USER, true);
                if before != present {
                    history::follow_undo(conn, record, &present, &before)?;
                    *lines = lines.filtered(USER, false);
                    lines.append(&before);
                    undone = true;
                    break;
                }
            }
            Ok(())
        })?;
        Ok(undone)
    }

    fn change_user_data(
        &self,
        kind: CollectionKind,
        uid: &str,
        change: impl FnOnce(&mut TagLines),
    ) -> Result<()> {
        self.write_user_data(kind, uid, |_, _, lines| {
            change(lines);
            Ok(())
        })
    }

    fn write_user_data(
        &self,
        kind: CollectionKind,
        uid: &str,
        change: impl FnOnce(&Connection, i64, &mut TagLines) -> Result<()>,
    ) -> Result<()> {
        let collection = self.collection_id(kind);
        let context = self.db.index_context();
        self.db.write_of(TransactionSize::of(1, 0), |conn| {
            let Some((record, true, text)) = find_record(conn, collection, uid)? else {
                return Err(Error::NoRecord {
                    kind,
                    uid: uid.to_owned(),
                });
            };
            let mut lines = TagLines::from_text(text);
            change(conn, record, &mut lines)?;
            RecordWriter::run_scan(conn, self.db.order(), |writing| {
                put_lines(conn, writing, &context, (kind, collection), uid, lines)
            })
        })?;
        Ok(())
    }
}

/// Records that one transaction of an import of ratings changes.
const IMPORT_BATCH: usize = 500;

/// Number of records that [`Media::import_ratings`] changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RatingImport {
    /// Those that have a rating now.
    pub ratings: u64,
    /// Those that have a number of plays now.
    pub plays: u64,
}

/// Copies the rating and plays of the file's tags where the user data has none.
fn take_file_ratings(lines: &mut TagLines) -> RatingImport {
    let mut take = |from: &str, to: &str| {
        let said = lines.number::<u32>(from).filter(|number| *number > 0);
        let is_new = said.filter(|_| lines.first(to).is_none());
        if let Some(number) = is_new {
            lines.push_number(to, number);
        }
        u64::from(is_new.is_some())
    };
    RatingImport {
        ratings: take("file.rating", "user.rating"),
        plays: take("file.plays", "user.plays"),
    }
}

/// Saves the text of a track or picture; returns its record id.
pub(super) fn put_lines(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    context: &IndexContext<'_>,
    (kind, collection): (CollectionKind, i64),
    uid: &str,
    lines: TagLines,
) -> Result<i64> {
    fn put<R: RecordKind>(
        conn: &Connection,
        writing: &mut RecordWriter<'_>,
        context: &IndexContext<'_>,
        collection: i64,
        uid: &str,
        record: &R,
    ) -> Result<i64> {
        let one = IndexedRecord::new(record, context).with_uid(uid);
        Ok(one.put(conn, writing, collection, Condition::Always)?.id.0)
    }
    match kind {
        CollectionKind::Pictures => put(
            conn,
            writing,
            context,
            collection,
            uid,
            &Picture::new(lines),
        ),
        _ => put(conn, writing, context, collection, uid, &Track::new(lines)),
    }
}
