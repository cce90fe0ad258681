//! Records: put, fetched, removed, brought back.

use rusqlite::{Connection, OptionalExtension};

use super::{Condition, ETag, Outcome, RecordId, Saved, changes, now_ms};
use crate::error::{Error, Result};

/// A record on its way in, with what was derived from it.
pub(crate) struct Incoming<'a> {
    pub(crate) uid: &'a str,
    pub(crate) text: &'a [u8],
    pub(crate) keys: &'a [u8],
    pub(crate) sort: &'a [u8],
    pub(crate) summary: &'a [u8],
}

/// Hands out change numbers inside one write transaction.
pub(crate) struct Numbers {
    last: i64,
}

impl Numbers {
    pub(crate) fn new(conn: &Connection) -> Result<Self> {
        Ok(Self {
            last: changes::latest(conn)?,
        })
    }

    fn next(&mut self) -> i64 {
        self.last += 1;
        self.last
    }
}

struct Found {
    id: i64,
    etag: ETag,
    removed: bool,
}

fn find(conn: &Connection, collection: i64, uid: &str) -> Result<Option<Found>> {
    Ok(conn
        .prepare_cached(
            "SELECT id, etag, removed IS NOT NULL FROM record WHERE collection = ?1 AND uid = ?2",
        )?
        .query_row((collection, uid), |r| {
            Ok(Found {
                id: r.get(0)?,
                etag: r.get(1)?,
                removed: r.get(2)?,
            })
        })
        .optional()?)
}

fn check(uid: &str, condition: Condition, found: Option<&Found>) -> Result<()> {
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
pub(crate) fn put(
    conn: &Connection,
    numbers: &mut Numbers,
    collection: i64,
    new: &Incoming<'_>,
    condition: Condition,
) -> Result<Saved> {
    let found = find(conn, collection, new.uid)?;
    check(new.uid, condition, found.as_ref())?;
    let etag = ETag::of(new.text);
    let Some(found) = found else {
        let id = numbers.next();
        conn.prepare_cached(
            "INSERT INTO record (id, collection, changed, removed, uid, etag, sort, keys, text) \
             VALUES (?1, ?2, ?1, NULL, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute((id, collection, new.uid, etag, new.sort, new.keys, new.text))?;
        list_insert(conn, collection, id, new.sort, new.summary)?;
        return Ok(Saved {
            id: RecordId(id),
            etag,
            outcome: Outcome::Added,
        });
    };
    let saved = |outcome| Saved {
        id: RecordId(found.id),
        etag,
        outcome,
    };
    if found.etag == etag && !found.removed && is_text(conn, found.id, new.text)? {
        return Ok(saved(Outcome::Unchanged));
    }
    replace(conn, numbers, &found, etag, new)?;
    Ok(saved(if found.removed {
        Outcome::Added
    } else {
        Outcome::Changed
    }))
}

/// Whether the record's text is this one: a damaged text has the ETag of the one that was saved.
fn is_text(conn: &Connection, id: i64, text: &[u8]) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT text = ?2 FROM record WHERE id = ?1")?
        .query_row((id, text), |r| r.get(0))?)
}

fn replace(
    conn: &Connection,
    numbers: &mut Numbers,
    found: &Found,
    etag: ETag,
    new: &Incoming<'_>,
) -> Result<()> {
    let (collection, sort): (i64, Vec<u8>) = conn
        .prepare_cached("SELECT collection, sort FROM record WHERE id = ?1")?
        .query_row([found.id], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let kind = if found.removed {
        changes::RESTORED
    } else {
        changes::EDITED
    };
    let number = log(conn, numbers, found.id, kind, true)?;
    conn.prepare_cached(
        "UPDATE record SET changed = ?2, removed = NULL, etag = ?3, sort = ?4, keys = ?5, \
         text = ?6 WHERE id = ?1",
    )?
    .execute((found.id, number, etag, new.sort, new.keys, new.text))?;
    if !found.removed && sort == new.sort {
        // Untouched where the summary is the same, so that most edits leave this B-tree alone.
        conn.prepare_cached(
            "UPDATE list SET summary = ?4 \
             WHERE collection = ?1 AND sort = ?2 AND id = ?3 AND summary IS NOT ?4",
        )?
        .execute((collection, new.sort, found.id, new.summary))?;
        return Ok(());
    }
    if !found.removed {
        list_remove(conn, collection, found.id, &sort)?;
    }
    list_insert(conn, collection, found.id, new.sort, new.summary)
}

/// Appends to the change log what the record is before the change.
fn log(conn: &Connection, numbers: &mut Numbers, id: i64, kind: i64, text: bool) -> Result<i64> {
    let number = numbers.next();
    conn.prepare_cached(
        "INSERT INTO change (number, record, at, kind, keys, text) \
         SELECT ?1, id, ?2, ?3, iif(removed IS NULL, keys, NULL), iif(?4, text, NULL) \
         FROM record WHERE id = ?5",
    )?
    .execute((number, now_ms(), kind, text, id))?;
    Ok(number)
}

fn list_insert(
    conn: &Connection,
    collection: i64,
    id: i64,
    sort: &[u8],
    summary: &[u8],
) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO list (collection, sort, id, summary) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute((collection, sort, id, summary))?;
    Ok(())
}

fn list_remove(conn: &Connection, collection: i64, id: i64, sort: &[u8]) -> Result<()> {
    conn.prepare_cached("DELETE FROM list WHERE collection = ?1 AND sort = ?2 AND id = ?3")?
        .execute((collection, sort, id))?;
    Ok(())
}

/// Moves a record to the trash. `false`: there is no live record with this UID.
pub(crate) fn remove(
    conn: &Connection,
    numbers: &mut Numbers,
    collection: i64,
    uid: &str,
    condition: Condition,
) -> Result<bool> {
    let found = find(conn, collection, uid)?;
    check(uid, condition, found.as_ref())?;
    let Some(found) = found.filter(|f| !f.removed) else {
        return Ok(false);
    };
    let number = log(conn, numbers, found.id, changes::REMOVED, false)?;
    let sort: Vec<u8> = conn
        .prepare_cached(
            "UPDATE record SET changed = ?2, removed = ?3 WHERE id = ?1 RETURNING sort",
        )?
        .query_row((found.id, number, now_ms()), |r| r.get(0))?;
    list_remove(conn, collection, found.id, &sort)?;
    Ok(true)
}

/// The text that a restore brings back: of a removed record its own, of a live one the one
/// before its latest edit. `None`: nothing is remembered.
pub(crate) fn former(conn: &Connection, collection: i64, uid: &str) -> Result<Option<Vec<u8>>> {
    let Some(found) = find(conn, collection, uid)? else {
        return Ok(None);
    };
    let sql = if found.removed {
        "SELECT text FROM record WHERE id = ?1"
    } else {
        "SELECT c.text FROM record r JOIN change c ON c.number = r.changed \
         WHERE r.id = ?1 AND c.text IS NOT NULL"
    };
    Ok(conn
        .prepare_cached(sql)?
        .query_row([found.id], |r| r.get(0))
        .optional()?)
}
