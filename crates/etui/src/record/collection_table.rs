//! The table `collection`: address books and calendars by kind and name.
//!
//! A removed collection keeps its row while its records can be restored. Its id must not be given
//! to another collection: handles, views and date books of the removed one would read the other.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};

use super::{changes, external_id};
use crate::error::{Error, Result};
use crate::types::{CollectionKind, now_ms};

/// A collection by id and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CollectionRef {
    pub(crate) id: i64,
    pub(crate) name: String,
}

/// Returns all collections of a kind, the default one first.
pub(crate) fn list_collections(
    conn: &Connection,
    kind: CollectionKind,
) -> Result<Vec<CollectionRef>> {
    let mut found = Vec::new();
    for_each_collection(conn, kind, |collection, removed_at| {
        if removed_at.is_none() {
            found.push(collection);
        }
    })?;
    Ok(found)
}

/// Calls `visit` with each collection of a kind and the time of its removal, in the order of ids.
fn for_each_collection(
    conn: &Connection,
    kind: CollectionKind,
    mut visit: impl FnMut(CollectionRef, Option<i64>),
) -> Result<()> {
    let mut statement = conn.prepare_cached(
        "SELECT id, name, removed_at FROM collection NOT INDEXED WHERE kind = ?1 ORDER BY id",
    )?;
    let mut rows = statement.query([kind.schema_name()])?;
    while let Some(row) = rows.next()? {
        let (id, name) = (row.get(0)?, row.get(1)?);
        visit(CollectionRef { id, name }, row.get(2)?);
    }
    Ok(())
}

/// Returns the collection of this name; without a name the default one, which is the first.
pub(crate) fn find_collection(
    conn: &Connection,
    kind: CollectionKind,
    name: Option<&str>,
) -> Result<CollectionRef> {
    let all = list_collections(conn, kind)?;
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

/// Returns the collection of this kind and id.
pub(crate) fn find_live(conn: &Connection, kind: CollectionKind, id: i64) -> Result<CollectionRef> {
    let all = list_collections(conn, kind)?;
    match all.iter().find(|found| found.id == id) {
        Some(found) => Ok(found.clone()),
        None => Err(Error::NoCollection {
            kind,
            name: id.to_string(),
            known: all.into_iter().map(|c| c.name).collect(),
        }),
    }
}

/// Fails if a collection was removed, for a handle may outlive it, or if it is a reference to one of another store.
pub(crate) fn expect_exists(
    conn: &Connection,
    kind: CollectionKind,
    collection: &CollectionRef,
) -> Result<()> {
    let exists = conn
        .prepare_cached(
            "SELECT 1 FROM collection WHERE id = ?1 AND kind = ?2 AND removed_at IS NULL",
        )?
        .exists((collection.id, kind.schema_name()))?;
    if exists {
        return Ok(());
    }
    let known = list_collections(conn, kind)?.into_iter().map(|c| c.name);
    Err(Error::NoCollection {
        kind,
        name: collection.name.clone(),
        known: known.collect(),
    })
}

pub(crate) fn create_collection(
    conn: &Connection,
    kind: CollectionKind,
    name: &str,
) -> Result<CollectionRef> {
    check_name(kind, name)?;
    // OR IGNORE: a taken name inserts no row, so that the error below can name the collection.
    let inserted = conn.execute(
        "INSERT OR IGNORE INTO collection (kind, name) VALUES (?1, ?2)",
        (kind.schema_name(), name),
    )?;
    check_changed(kind, name, inserted)?;
    let id = conn.last_insert_rowid();
    start_history(conn, id)?;
    Ok(CollectionRef {
        id,
        name: name.to_owned(),
    })
}

/// Renames the live collection with this id.
pub(crate) fn rename_collection(
    conn: &Connection,
    kind: CollectionKind,
    id: i64,
    to: &str,
) -> Result<CollectionRef> {
    check_name(kind, to)?;
    let renamed = conn.execute(
        "UPDATE OR IGNORE collection SET name = ?2 WHERE id = ?1",
        (id, to),
    )?;
    check_changed(kind, to, renamed)?;
    Ok(CollectionRef {
        id,
        name: to.to_owned(),
    })
}

/// Fails if a text cannot be the name of a collection.
pub(crate) fn check_name(kind: CollectionKind, name: &str) -> Result<()> {
    let is_valid = (1..=200).contains(&name.chars().count())
        && !name.chars().any(char::is_control)
        && name.trim() == name;
    match is_valid {
        true => Ok(()),
        false => Err(Error::BadName {
            kind,
            name: name.to_owned(),
        }),
    }
}

/// Fails if no row was changed: another collection has the name.
fn check_changed(kind: CollectionKind, name: &str, rows: usize) -> Result<()> {
    match rows {
        0 => Err(Error::CollectionExists {
            kind,
            name: name.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// A removed collection. Its records have the same `removed_at`; no earlier removal in it has.
pub(crate) struct RemovedRef {
    pub(crate) id: i64,
    pub(crate) removed_at: i64,
}

/// Removes a collection, unless it is the last of its kind. The caller removes its records.
pub(crate) fn remove_collection(
    conn: &Connection,
    kind: CollectionKind,
    collection: &CollectionRef,
) -> Result<RemovedRef> {
    let id = collection.id;
    // Without a name, the first collection of a kind is meant: there must always be one.
    if list_collections(conn, kind)?.len() == 1 {
        return Err(Error::LastCollection {
            kind,
            name: collection.name.clone(),
        });
    }
    let last: i64 = conn.query_row(
        "SELECT max(coalesce((SELECT max(removed_at) FROM record WHERE collection = ?1), 0), \
         coalesce((SELECT max(removed_at) FROM collection WHERE kind = ?2), 0))",
        (id, kind.schema_name()),
        |r| r.get(0),
    )?;
    // Later than every removal before, whatever the clock says: restoring finds the records by this time.
    let removed_at = now_ms().max(last.saturating_add(1));
    conn.execute(
        "UPDATE collection SET removed_at = ?2 WHERE id = ?1",
        (id, removed_at),
    )?;
    Ok(RemovedRef { id, removed_at })
}

/// Returns the removed collections and the times of their removal, the latest first.
pub(crate) fn list_removed(
    conn: &Connection,
    kind: CollectionKind,
) -> Result<Vec<(CollectionRef, i64)>> {
    let mut removed = Vec::new();
    for_each_collection(conn, kind, |collection, removed_at| {
        removed.extend(removed_at.map(|at| (collection, at)));
    })?;
    removed.sort_unstable_by_key(|(collection, at)| Reverse((*at, collection.id)));
    Ok(removed)
}

/// Returns the latest removed collection that matches; `name` is for the error.
pub(crate) fn find_removed(
    conn: &Connection,
    kind: CollectionKind,
    name: &str,
    matches: impl Fn(&CollectionRef, i64) -> bool,
) -> Result<RemovedRef> {
    let removed = list_removed(conn, kind)?;
    if let Some((CollectionRef { id, .. }, at)) = removed.iter().find(|(c, at)| matches(c, *at)) {
        return Ok(RemovedRef {
            id: *id,
            removed_at: *at,
        });
    }
    let mut known: Vec<String> = removed.into_iter().map(|(c, _)| c.name).collect();
    known.sort_unstable();
    known.dedup();
    Err(Error::NoRemovedCollection {
        kind,
        name: name.to_owned(),
        known,
    })
}

/// Restores a removed collection under this name. The caller restores its records.
pub(crate) fn restore_collection(
    conn: &Connection,
    kind: CollectionKind,
    id: i64,
    name: &str,
) -> Result<()> {
    check_name(kind, name)?;
    // Since the removal it may have been given to a live collection.
    if let Some(external_id) = external_id::read(conn, id)? {
        external_id::expect_free(conn, kind, id, &external_id)?;
    }
    let restored = conn.execute(
        "UPDATE OR IGNORE collection SET removed_at = NULL, name = ?2 WHERE id = ?1",
        (id, name),
    )?;
    check_changed(kind, name, restored)
}

/// Returns the present name of a collection; `None` if it was removed.
pub(crate) fn current_name(conn: &Connection, id: i64) -> Result<Option<String>> {
    Ok(conn
        .prepare_cached("SELECT name FROM collection WHERE id = ?1 AND removed_at IS NULL")?
        .query_row([id], |r| r.get(0))
        .optional()?)
}

/// Returns the kind and the name of the collection with this id, and true if it exists or false if
/// it was removed; `None` if there is none of a known kind.
pub(crate) fn find_by_id(
    conn: &Connection,
    id: i64,
) -> Result<Option<(CollectionKind, String, bool)>> {
    let found: Option<(String, String, bool)> = conn
        .prepare_cached("SELECT kind, name, removed_at IS NULL FROM collection WHERE id = ?1")?
        .query_row([id], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
        .optional()?;
    Ok(found.and_then(|(kind, name, exists)| {
        Some((CollectionKind::from_schema_name(&kind)?, name, exists))
    }))
}

/// The name of a collection, and the time of its removal if it was removed.
pub(crate) type CollectionStatus = (Value, Value);

/// Returns the status of every collection by id. It changes when the collection is renamed,
/// removed or restored.
pub(crate) fn read_statuses(conn: &Connection) -> Result<BTreeMap<i64, CollectionStatus>> {
    let mut statement =
        conn.prepare_cached("SELECT id, name, removed_at FROM collection NOT INDEXED")?;
    let all = statement.query_map([], |r| Ok((r.get(0)?, (r.get(1)?, r.get(2)?))))?;
    Ok(all.collect::<rusqlite::Result<_>>()?)
}

/// Starts the history of a collection at the latest change: until now, its name or the default
/// may have meant another collection.
pub(crate) fn start_history(conn: &Connection, id: i64) -> Result<()> {
    let latest = changes::latest_seq(conn)?;
    conn.prepare_cached("UPDATE collection SET history_start = ?2 WHERE id = ?1")?
        .execute((id, latest))?;
    Ok(())
}

/// Returns the sequence number at which the history of a collection starts.
pub(crate) fn history_start(conn: &Connection, id: i64) -> Result<i64> {
    let start = conn
        .prepare_cached("SELECT history_start FROM collection WHERE id = ?1")?
        .query_row([id], |r| r.get(0))
        .optional()?;
    Ok(start.unwrap_or(0))
}

/// Deletes collections that were removed before the retention period and have no records left. The
/// one with the greatest id stays, so that ids are not reused.
pub(crate) fn purge_removed(conn: &Connection, now: i64) -> Result<()> {
    conn.execute(
        "DELETE FROM collection WHERE removed_at < ?1 \
         AND id < (SELECT max(id) FROM collection) \
         AND NOT EXISTS (SELECT 1 FROM record WHERE collection = collection.id)",
        [now - changes::KEPT_MS],
    )?;
    // The keys of `meta` have the collection in their text, which no foreign key can refer to.
    conn.execute(
        "DELETE FROM meta WHERE (key GLOB 'color.*' OR key GLOB 'segment.*') \
         AND CAST(substr(key, instr(key, '.') + 1) AS INTEGER) NOT IN (SELECT id FROM collection)",
        [],
    )?;
    conn.execute(
        "DELETE FROM calendar_zone WHERE collection NOT IN (SELECT id FROM collection)",
        [],
    )?;
    Ok(())
}
