//! Collections by kind and name, as the schema has them.
//!
//! A collection that was removed keeps its row, and with it its number, for as long as its records
//! can be brought back: a number that was given anew would have handles, views and date books of the
//! one before look at the other. It is of another kind then, so that its name is free, and whoever
//! looks for one of its kind does not find it:
//!
//! ```text
//! kind := contacts | calendar                       one that is there
//!       | (contacts | calendar) " removed " at      one that was removed; at: when, in Unix ms
//! ```

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};

use super::changes;
use crate::db::metadata;
use crate::error::{Error, Result};
use crate::types::{CollectionKind, now_ms};

/// A collection of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CollectionRef {
    pub(crate) id: i64,
    pub(crate) name: String,
}

/// Returns all collections of a kind, the default one first.
pub(crate) fn all(conn: &Connection, kind: CollectionKind) -> Result<Vec<CollectionRef>> {
    let mut found = Vec::new();
    each(conn, kind, |collection, removed| {
        if removed == 0 {
            found.push(collection);
        }
    })?;
    found.sort_unstable_by_key(|collection| collection.id);
    Ok(found)
}

/// Calls `visit` with each collection of a kind and the time of its removal (0: not removed).
fn each(
    conn: &Connection,
    kind: CollectionKind,
    mut visit: impl FnMut(CollectionRef, i64),
) -> Result<()> {
    let mut statement = conn.prepare_cached("SELECT id, name, kind FROM collection NOT INDEXED")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some((found, removed)) =
            CollectionKind::of_collection(row.get_ref(2)?.as_str().unwrap_or(""))
            && found == kind
        {
            let (id, name) = (row.get(0)?, row.get(1)?);
            visit(CollectionRef { id, name }, removed);
        }
    }
    Ok(())
}

/// The one of this name; without a name the default one, which is the first.
pub(crate) fn one(
    conn: &Connection,
    kind: CollectionKind,
    name: Option<&str>,
) -> Result<CollectionRef> {
    of(all(conn, kind)?, kind, name)
}

/// The same, of all of the kind.
pub(crate) fn of(
    all: Vec<CollectionRef>,
    kind: CollectionKind,
    name: Option<&str>,
) -> Result<CollectionRef> {
    let is_it = |found: &&CollectionRef| name.is_none_or(|name| found.name == name);
    if let Some(found) = all.iter().find(is_it) {
        return Ok(found.clone());
    }
    Err(Error::NoCollection {
        kind,
        name: name.unwrap_or(kind.default_name()).to_owned(),
        known: all.into_iter().map(|c| c.name).collect(),
    })
}

/// Sees to it that there is this one still: whoever has a handle of it need not know.
pub(crate) fn expect(conn: &Connection, kind: CollectionKind, named: &CollectionRef) -> Result<()> {
    let is_there = conn
        .prepare_cached("SELECT 1 FROM collection WHERE id = ?1 AND kind = ?2")?
        .exists((named.id, kind.schema_name()))?;
    match is_there {
        true => Ok(()),
        false => Err(Error::NoCollection {
            kind,
            name: named.name.clone(),
            known: all(conn, kind)?.into_iter().map(|c| c.name).collect(),
        }),
    }
}

/// Makes one.
pub(crate) fn create(conn: &Connection, kind: CollectionKind, name: &str) -> Result<CollectionRef> {
    fit(kind, name)?;
    let made = conn.execute(
        "INSERT OR IGNORE INTO collection (kind, name) VALUES (?1, ?2)",
        (kind.schema_name(), name),
    )?;
    free(kind, name, made)?;
    let id = conn.last_insert_rowid();
    meant_anew(conn, id)?;
    Ok(CollectionRef {
        id,
        name: name.to_owned(),
    })
}

/// Gives one another name.
pub(crate) fn rename(
    conn: &Connection,
    kind: CollectionKind,
    name: &str,
    to: &str,
) -> Result<CollectionRef> {
    let CollectionRef { id, .. } = one(conn, kind, Some(name))?;
    fit(kind, to)?;
    let renamed = conn.execute(
        "UPDATE OR IGNORE collection SET name = ?2 WHERE id = ?1",
        (id, to),
    )?;
    free(kind, to, renamed)?;
    Ok(CollectionRef {
        id,
        name: to.to_owned(),
    })
}

/// Whether this can be a name.
fn fit(kind: CollectionKind, name: &str) -> Result<()> {
    let fits = (1..=200).contains(&name.chars().count())
        && !name.chars().any(char::is_control)
        && name.trim() == name;
    match fits {
        true => Ok(()),
        false => Err(Error::BadName {
            kind,
            name: name.to_owned(),
        }),
    }
}

/// Whether a name was free, by how many rows have it now that did not.
fn free(kind: CollectionKind, name: &str, rows: usize) -> Result<()> {
    match rows {
        0 => Err(Error::CollectionExists {
            kind,
            name: name.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// One that is removed, and when: its records are removed at the same moment, and none was before.
pub(crate) struct RemovedRef {
    pub(crate) id: i64,
    pub(crate) at: i64,
}

/// Removes one, unless it is the last of its kind. Its records are left to be removed.
pub(crate) fn remove(conn: &Connection, kind: CollectionKind, name: &str) -> Result<RemovedRef> {
    let CollectionRef { id, .. } = one(conn, kind, Some(name))?;
    if all(conn, kind)?.len() == 1 {
        return Err(Error::LastCollection {
            kind,
            name: name.to_owned(),
        });
    }
    let mut last = conn.query_row(
        "SELECT coalesce(max(removed), 0) FROM record WHERE collection = ?1",
        [id],
        |r| r.get(0),
    )?;
    each(conn, kind, |_, removed| last = removed.max(last))?;
    let at = now_ms().max(last.saturating_add(1));
    conn.execute(
        "UPDATE collection SET kind = ?2 WHERE id = ?1",
        (id, kind.stored_removed(at)),
    )?;
    Ok(RemovedRef { id, at })
}

/// Those that were removed and when, the latest first.
pub(crate) fn removed(
    conn: &Connection,
    kind: CollectionKind,
) -> Result<Vec<(CollectionRef, i64)>> {
    let mut gone = Vec::new();
    each(conn, kind, |named, removed| {
        if removed != 0 {
            gone.push((named, removed));
        }
    })?;
    gone.sort_unstable_by_key(|(named, at)| Reverse((*at, named.id)));
    Ok(gone)
}

/// The latest of those that were removed, of which this is true; `name` is what was asked for.
pub(crate) fn latest_removed(
    conn: &Connection,
    kind: CollectionKind,
    name: &str,
    is_meant: impl Fn(&CollectionRef, i64) -> bool,
) -> Result<RemovedRef> {
    let gone = removed(conn, kind)?;
    if let Some((CollectionRef { id, .. }, at)) =
        gone.iter().find(|(named, at)| is_meant(named, *at))
    {
        return Ok(RemovedRef { id: *id, at: *at });
    }
    let mut known: Vec<String> = gone.into_iter().map(|(named, _)| named.name).collect();
    known.sort_unstable();
    known.dedup();
    Err(Error::NoRemovedCollection {
        kind,
        name: name.to_owned(),
        known,
    })
}

/// Brings back one that was removed, under this name. Its records are left to be.
pub(crate) fn restore(conn: &Connection, kind: CollectionKind, id: i64, name: &str) -> Result<()> {
    fit(kind, name)?;
    let restored = conn.execute(
        "UPDATE OR IGNORE collection SET kind = ?2, name = ?3 WHERE id = ?1",
        (id, kind.schema_name(), name),
    )?;
    free(kind, name, restored)
}

/// What this one is called now; `None`: it was removed.
pub(crate) fn name_now(conn: &Connection, kind: CollectionKind, id: i64) -> Result<Option<String>> {
    Ok(conn
        .prepare_cached("SELECT name FROM collection WHERE id = ?1 AND kind = ?2")?
        .query_row((id, kind.schema_name()), |r| r.get(0))
        .optional()?)
}

/// The one of this number: its kind, its name, and when it was removed, 0: it was not. `None`: there
/// is none of a known kind.
pub(crate) fn numbered(
    conn: &Connection,
    id: i64,
) -> Result<Option<(CollectionKind, String, i64)>> {
    let found: Option<(String, String)> = conn
        .prepare_cached("SELECT kind, name FROM collection WHERE id = ?1")?
        .query_row([id], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?;
    Ok(found.and_then(|(stored, name)| {
        let (kind, removed) = CollectionKind::of_collection(&stored)?;
        Some((kind, name, removed))
    }))
}

/// What a collection's row says of it, beside its number: another one once it was renamed, removed
/// or brought back.
pub(crate) type CollectionStatus = (Value, Value);

/// All there are, by number.
pub(crate) fn standings(conn: &Connection) -> Result<BTreeMap<i64, CollectionStatus>> {
    let mut statement = conn.prepare_cached("SELECT id, kind, name FROM collection NOT INDEXED")?;
    let all = statement.query_map([], |r| Ok((r.get(0)?, (r.get(1)?, r.get(2)?))))?;
    Ok(all.collect::<rusqlite::Result<_>>()?)
}

/// From now on this one is meant where another one may have been, by its name or by none.
pub(crate) fn meant_anew(conn: &Connection, id: i64) -> Result<()> {
    // Tokens from before any change are told everything anyway.
    match changes::latest(conn)? {
        0 => Ok(()),
        latest => metadata::set(conn, &since_key(id), latest),
    }
}

/// The number of the latest change when it began to be meant.
pub(crate) fn meant_since(conn: &Connection, id: i64) -> Result<i64> {
    metadata::number(conn, &since_key(id))
}

fn since_key(id: i64) -> String {
    format!("{}{id}", metadata::MEANT_SINCE)
}

/// Forgets those that were removed long ago and have no records any more. The latest one stays: it
/// carries the numbers.
pub(crate) fn trim(conn: &Connection, now: i64) -> Result<()> {
    let mut gone = Vec::new();
    for kind in CollectionKind::ALL {
        each(conn, kind, |named, removed| {
            if removed != 0 && removed < now - changes::KEPT_MS {
                gone.push(named.id);
            }
        })?;
    }
    for id in gone {
        let forgotten = conn.execute(
            "DELETE FROM collection WHERE id = ?1 AND id < (SELECT max(id) FROM collection) \
             AND NOT EXISTS (SELECT 1 FROM record WHERE collection = ?1)",
            [id],
        )?;
        if forgotten > 0 {
            metadata::unset(conn, &since_key(id))?;
        }
    }
    Ok(())
}
