//! The table `record`: insert, find, remove, restore.

use rusqlite::{Connection, OptionalExtension};

use super::prepared::IndexedRecord;
use super::{changes, list, steps, time_index};
use crate::error::{Error, Result};
use crate::types::{Condition, ETag, RecordId, SaveOutcome, SavedRecord, now_ms};
use etui_text::collator::Collator;

/// Writes records inside one transaction: assigns sequence numbers and collects the edits of lists.
pub(crate) struct RecordWriter<'o> {
    last: i64,
    list: list::ListEdits,
    order: &'o Collator,
}

impl<'o> RecordWriter<'o> {
    /// Runs `work`, writes the collected edits, and records the changes as a step.
    pub(crate) fn run<T>(
        conn: &Connection,
        order: &'o Collator,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let (value, [before, last]) = Self::run_counted(conn, order, work)?;
        // A transaction without changes is no step that could be undone.
        if last > before {
            steps::record_changes(conn, before + 1, last)?;
        }
        Ok(value)
    }

    /// Runs `work`, and writes the collected edits. For records that are found again by a scan.
    pub(crate) fn run_scan<T>(
        conn: &Connection,
        order: &'o Collator,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        Self::run_counted(conn, order, work).map(|(value, _)| value)
    }

    /// Also returns the latest sequence numbers before and after.
    fn run_counted<T>(
        conn: &Connection,
        order: &'o Collator,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(T, [i64; 2])> {
        let before = changes::latest_seq(conn)?;
        let mut writing = Self {
            last: before,
            list: list::ListEdits::default(),
            order,
        };
        let value = work(&mut writing)?;
        writing.list.write(conn, order.label_bounds())?;
        Ok((value, [before, writing.last]))
    }

    /// Takes a sequence number that no change has. That of the next change is greater.
    pub(crate) fn reserve_seq(&mut self) -> i64 {
        self.next()
    }

    fn next(&mut self) -> i64 {
        self.last += 1;
        self.last
    }

    fn list_put(
        &mut self,
        conn: &Connection,
        collection: i64,
        id: i64,
        new: &IndexedRecord<'_>,
    ) -> Result<()> {
        self.list
            .put(collection, &new.derived.sort_key, id, &new.derived.summary);
        self.write_if_many(conn)
    }

    fn list_remove(
        &mut self,
        conn: &Connection,
        collection: i64,
        id: i64,
        sort: &[u8],
    ) -> Result<()> {
        self.list.remove(collection, sort, id);
        self.write_if_many(conn)
    }

    fn write_if_many(&mut self, conn: &Connection) -> Result<()> {
        if self.list.is_full() {
            self.list.write(conn, self.order.label_bounds())?;
        }
        Ok(())
    }
}

/// An existing record, live or removed.
pub(crate) struct ExistingRecord {
    pub(crate) id: i64,
    pub(crate) etag: ETag,
    pub(crate) removed: bool,
}

pub(crate) fn find_record(
    conn: &Connection,
    collection: i64,
    uid: &str,
) -> Result<Option<ExistingRecord>> {
    Ok(conn
        .prepare_cached(
            "SELECT id, etag, removed_at IS NOT NULL FROM record WHERE collection = ?1 AND uid = ?2",
        )?
        .query_row((collection, uid), |r| {
            Ok(ExistingRecord {
                id: r.get(0)?,
                etag: r.get(1)?,
                removed: r.get(2)?,
            })
        })
        .optional()?)
}

pub(crate) fn check_condition(
    uid: &str,
    condition: Condition,
    found: Option<&ExistingRecord>,
) -> Result<()> {
    let live = found.filter(|f| !f.removed).map(|f| f.etag);
    let (expected, holds) = match condition {
        Condition::Always => return Ok(()),
        Condition::IfMatch(etag) => (Some(etag), live == Some(etag)),
        Condition::IfAbsent => (None, live.is_none()),
    };
    if holds {
        return Ok(());
    }
    Err(Error::Conflict {
        uid: uid.to_owned(),
        expected,
        found: live,
    })
}

/// Saves a record: adds it, or replaces the one with its UID.
pub(crate) fn put_record(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    collection: i64,
    new: &IndexedRecord<'_>,
    condition: Condition,
) -> Result<SavedRecord> {
    let found = find_record(conn, collection, new.uid())?;
    check_condition(new.uid(), condition, found.as_ref())?;
    let etag = ETag::of(new.text);
    let Some(found) = found else {
        let id = writing.next();
        insert_record(conn, collection, id, etag, new)?;
        writing.list_put(conn, collection, id, new)?;
        return Ok(SavedRecord {
            id: RecordId(id),
            etag,
            outcome: SaveOutcome::Added,
        });
    };
    let saved = |outcome| SavedRecord {
        id: RecordId(found.id),
        etag,
        outcome,
    };
    if found.etag == etag
        && !found.removed
        && is_same(conn, found.id, new)?
        && (!new.has_exact_source() || has_source(conn, found.id, new)?)
    {
        return Ok(saved(SaveOutcome::Unchanged));
    }
    replace_record(conn, writing, &found, etag, new)?;
    Ok(saved(if found.removed {
        SaveOutcome::Added
    } else {
        SaveOutcome::Changed
    }))
}

pub(crate) fn insert_record(
    conn: &Connection,
    collection: i64,
    id: i64,
    etag: ETag,
    new: &IndexedRecord<'_>,
) -> Result<()> {
    let origin = new.source().map(|from| from.origin(conn)).transpose()?;
    conn.prepare_cached(
        "INSERT INTO record \
         (id, collection, changed, removed_at, uid, etag, sort_key, summary, keys, text, source, positions) \
         VALUES (?1, ?2, ?1, NULL, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute((
        id,
        collection,
        new.uid(),
        etag,
        &new.derived.sort_key,
        &new.derived.summary,
        &new.derived.keys,
        new.text,
        origin.as_ref().map(|o| o.source),
        origin.as_ref().map(|o| &o.positions),
    ))?;
    time_index::insert_entries(conn, collection, id, &new.derived.times)
}

/// Returns true if the stored record equals the row. ETags are not enough: a damaged text has the
/// ETag of the saved one, and the same text in another object may mean other times.
pub(crate) fn is_same(conn: &Connection, id: i64, new: &IndexedRecord<'_>) -> Result<bool> {
    let is_same: bool = conn
        .prepare_cached(
            "SELECT text = ?2 AND sort_key = ?3 AND keys = ?4 FROM record WHERE id = ?1",
        )?
        .query_row(
            (id, new.text, &new.derived.sort_key, &new.derived.keys),
            |r| r.get(0),
        )?;
    Ok(is_same && time_index::is_current(conn, id, &new.derived.times)?)
}

/// Returns true if the stored record has the source object of the row, with the same positions.
fn has_source(conn: &Connection, id: i64, new: &IndexedRecord<'_>) -> Result<bool> {
    let Some(from) = new.source() else {
        return Ok(true);
    };
    let origin = from.origin(conn)?;
    Ok(conn
        .prepare_cached(
            "SELECT source IS ?2 AND coalesce(positions, x'') = ?3 FROM record WHERE id = ?1",
        )?
        .query_row((id, origin.source, origin.positions), |r| r.get(0))?)
}

/// Logs that a live record gets another name.
pub(crate) fn log_rename(conn: &Connection, writing: &mut RecordWriter<'_>, id: i64) -> Result<()> {
    let number = log_change(conn, writing, id, changes::EDITED, false)?;
    conn.prepare_cached("UPDATE record SET changed = ?2 WHERE id = ?1")?
        .execute((id, number))?;
    Ok(())
}

fn replace_record(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    found: &ExistingRecord,
    etag: ETag,
    new: &IndexedRecord<'_>,
) -> Result<()> {
    let (collection, sort, summary, shared): (i64, Vec<u8>, Vec<u8>, _) = conn
        .prepare_cached("SELECT collection, sort_key, summary, source FROM record WHERE id = ?1")?
        .query_row([found.id], |r| {
            Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))
        })?;
    let origin = match new.source() {
        Some(from) if !from.keeps_source(conn, shared)? => Some(from.origin(conn)?),
        _ => None,
    };
    let kind = if found.removed {
        changes::RESTORED
    } else {
        changes::EDITED
    };
    let number = log_change(conn, writing, found.id, kind, true)?;
    conn.prepare_cached(
        "UPDATE record SET changed = ?2, removed_at = NULL, etag = ?3, sort_key = ?4, summary = ?5, \
         keys = ?6, text = ?7 WHERE id = ?1",
    )?
    .execute((
        found.id,
        number,
        etag,
        &new.derived.sort_key,
        &new.derived.summary,
        &new.derived.keys,
        new.text,
    ))?;
    if let Some(origin) = origin {
        // The change log has the source only of changes that replace it.
        if origin.source != shared || new.has_exact_source() {
            conn.prepare_cached(
                "UPDATE change SET (source, positions) = \
                 (SELECT source, coalesce(positions, x'') FROM record WHERE id = ?2) \
                 WHERE seq = ?1",
            )?
            .execute((number, found.id))?;
        }
        conn.prepare_cached("UPDATE record SET source = ?2, positions = ?3 WHERE id = ?1")?
            .execute((found.id, origin.source, origin.positions))?;
    }
    // The removal has deleted the entries of a removed record.
    if !found.removed {
        time_index::remove_entries(conn, found.id)?;
    }
    time_index::insert_entries(conn, collection, found.id, &new.derived.times)?;
    let moved = sort != new.derived.sort_key;
    if !found.removed && moved {
        writing.list_remove(conn, collection, found.id, &sort)?;
    }
    // The list is not edited if nothing that it shows changed: that is so for most edits.
    if found.removed || moved || summary != new.derived.summary {
        writing.list_put(conn, collection, found.id, new)?;
    }
    Ok(())
}

/// Appends the present state of a record to the change log, before it changes.
fn log_change(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    id: i64,
    kind: i64,
    text: bool,
) -> Result<i64> {
    let number = writing.next();
    conn.prepare_cached(
        "INSERT INTO change (seq, record, at, kind, keys, text) \
         SELECT ?1, id, ?2, ?3, iif(removed_at IS NULL, keys, NULL), iif(?4, text, NULL) \
         FROM record WHERE id = ?5",
    )?
    .execute((number, now_ms(), kind, text, id))?;
    Ok(number)
}

/// Moves a record to the trash; returns false if there is no live record with this UID.
pub(crate) fn remove(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    collection: i64,
    uid: &str,
    condition: Condition,
) -> Result<bool> {
    let found = find_record(conn, collection, uid)?;
    check_condition(uid, condition, found.as_ref())?;
    let Some(found) = found.filter(|f| !f.removed) else {
        return Ok(false);
    };
    move_to_trash(conn, writing, collection, found.id, now_ms())?;
    Ok(true)
}

fn move_to_trash(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    collection: i64,
    id: i64,
    at: i64,
) -> Result<()> {
    // The text stays in `record`, so the change log needs no copy.
    let number = log_change(conn, writing, id, changes::REMOVED, false)?;
    let sort: Vec<u8> = conn
        .prepare_cached(
            "UPDATE record SET changed = ?2, removed_at = ?3 WHERE id = ?1 RETURNING sort_key",
        )?
        .query_row((id, number, at), |r| r.get(0))?;
    time_index::remove_entries(conn, id)?;
    writing.list_remove(conn, collection, id, &sort)
}

/// Moves all live records of a collection to the trash; returns their number.
pub(crate) fn remove_all_records(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    collection: i64,
    at: i64,
) -> Result<u64> {
    let ids: Vec<i64> = conn
        .prepare("SELECT id FROM record WHERE collection = ?1 AND removed_at IS NULL ORDER BY id")?
        .query_map([collection], |r| r.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for &id in &ids {
        move_to_trash(conn, writing, collection, id, at)?;
    }
    Ok(ids.len() as u64)
}

/// Returns the UIDs of the records that were removed at exactly this time.
pub(crate) fn uids_removed_at(conn: &Connection, collection: i64, at: i64) -> Result<Vec<String>> {
    let mut statement = conn
        .prepare("SELECT uid FROM record WHERE collection = ?1 AND removed_at = ?2 ORDER BY id")?;
    let uids = statement.query_map((collection, at), |r| r.get(0))?;
    Ok(uids.collect::<rusqlite::Result<_>>()?)
}

/// Returns the number of records that were removed at exactly this time.
pub(crate) fn count_removed_at(conn: &Connection, collection: i64, at: i64) -> Result<u64> {
    let count: i64 = conn
        .prepare_cached("SELECT count(*) FROM record WHERE collection = ?1 AND removed_at = ?2")?
        .query_row((collection, at), |r| r.get(0))?;
    Ok(count.unsigned_abs())
}

/// Returns the version that a restore brings back: the text of a removed record, or the text before
/// the latest edit of a live one; `None` if none is kept.
pub(crate) fn previous_version(
    conn: &Connection,
    collection: i64,
    uid: &str,
) -> Result<Option<StoredText>> {
    let Some(found) = find_record(conn, collection, uid)? else {
        return Ok(None);
    };
    let sql = if found.removed {
        "SELECT text, source, coalesce(positions, x'') FROM record WHERE id = ?1"
    } else {
        "SELECT c.text, iif(c.positions IS NULL, r.source, c.source), \
         coalesce(c.positions, r.positions, x'') \
         FROM record r JOIN change c ON c.seq = r.changed \
         WHERE r.id = ?1 AND c.text IS NOT NULL"
    };
    Ok(conn
        .prepare_cached(sql)?
        .query_row([found.id], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
        .optional()?)
}

/// A stored version: its text, the id of its source object, and the positions of its components
/// there.
pub(crate) type StoredText = (Vec<u8>, Option<i64>, Vec<u8>);

/// Returns the stored version of the live record with this UID.
pub(crate) fn read_version(
    conn: &Connection,
    collection: i64,
    uid: &str,
) -> Result<Option<StoredText>> {
    Ok(conn
        .prepare_cached(
            "SELECT text, source, coalesce(positions, x'') FROM record \
             WHERE collection = ?1 AND uid = ?2 AND removed_at IS NULL",
        )?
        .query_row((collection, uid), |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
        .optional()?)
}
