//! The table `resource`: names of records.

use rusqlite::{Connection, OptionalExtension};

use super::kind::Resource;
use super::name::{computed_id, computed_name};
use crate::db::metadata;
use crate::error::{Error, Result};
use crate::record::changes;
use crate::resource_tag::ResourceTag;
use crate::types::ETag;

const SCHEMA: &str = include_str!("resource.sql");

/// Returns true if a name was ever given.
pub(super) fn has_table(conn: &Connection) -> Result<bool> {
    let mut found = conn.prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = 'resource'")?;
    Ok(found.exists([])?)
}

/// A record as the names see it.
pub(crate) struct NamedRecord {
    pub(super) id: i64,
    pub(crate) uid: String,
    pub(crate) tag: ResourceTag,
    pub(crate) is_removed: bool,
}

/// Returns the record of this id, live or removed; `None` if the collection has none.
pub(super) fn find_by_id<R: Resource>(
    conn: &Connection,
    collection: i64,
    id: i64,
) -> Result<Option<NamedRecord>> {
    const PLAIN: &str = "SELECT uid, etag, removed_at IS NOT NULL, NULL, NULL FROM record \
                         WHERE id = ?1 AND collection = ?2";
    const SOURCED: &str = "SELECT uid, etag, removed_at IS NOT NULL, source, positions FROM record \
                           WHERE id = ?1 AND collection = ?2";
    let sql = if R::HAS_SOURCE { SOURCED } else { PLAIN };
    Ok(conn
        .prepare_cached(sql)?
        .query_row((id, collection), |r| {
            let positions = r.get_ref(4)?.as_blob_or_null()?.unwrap_or_default();
            let etag: ETag = r.get(1)?;
            Ok(NamedRecord {
                id,
                uid: r.get(0)?,
                tag: ResourceTag::new(etag, r.get(3)?, positions),
                is_removed: r.get(2)?,
            })
        })
        .optional()?)
}

/// Returns the id of the record with this UID, live or removed.
pub(super) fn find_by_uid<R: Resource>(
    conn: &Connection,
    collection: i64,
    uid: &str,
) -> Result<Option<NamedRecord>> {
    let id: Option<i64> = conn
        .prepare_cached("SELECT id FROM record WHERE collection = ?1 AND uid = ?2")?
        .query_row((collection, uid), |r| r.get(0))
        .optional()?;
    match id {
        Some(id) => find_by_id::<R>(conn, collection, id),
        None => Ok(None),
    }
}

/// Returns the record with this name, live or removed.
pub(super) fn find<R: Resource>(
    conn: &Connection,
    collection: i64,
    name: &str,
) -> Result<Option<NamedRecord>> {
    let has_table = has_table(conn)?;
    if has_table && let Some(id) = read_named(conn, collection, name)? {
        return find_by_id::<R>(conn, collection, id);
    }
    match computed_id(name, R::EXTENSION) {
        // A record with an assigned name is not found by its computed one.
        Some(id) if !has_table || read_given(conn, id)?.is_none() => {
            find_by_id::<R>(conn, collection, id)
        }
        _ => Ok(None),
    }
}

/// Returns the record that was given this name.
fn read_named(conn: &Connection, collection: i64, name: &str) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached(
            "SELECT record FROM resource WHERE collection = ?1 AND name = ?2 AND released = 0",
        )?
        .query_row((collection, name), |r| r.get(0))
        .optional()?)
}

/// Returns the name that a record was given.
fn read_given(conn: &Connection, id: i64) -> Result<Option<String>> {
    Ok(conn
        .prepare_cached("SELECT name FROM resource WHERE record = ?1 AND released = 0")?
        .query_row([id], |r| r.get(0))
        .optional()?)
}

/// Returns the name of a record.
pub(super) fn name_of<R: Resource>(conn: &Connection, id: i64) -> Result<String> {
    let given = match has_table(conn)? {
        true => read_given(conn, id)?,
        false => None,
    };
    Ok(given.unwrap_or_else(|| computed_name(id, R::EXTENSION)))
}

/// Fails if a name without a record has the computed form of a record that may still be added.
pub(super) fn check_free<R: Resource>(conn: &Connection, name: &str) -> Result<()> {
    match computed_id(name, R::EXTENSION) {
        Some(id) if id > changes::latest_seq(conn)? => Err(Error::ReservedName(name.to_owned())),
        _ => Ok(()),
    }
}

/// Gives a record a name that no live record has, and releases the name that it has with the change
/// `released`, which is before that of the record.
///
/// A removed record that has the name loses it, without a trace: clients know it as removed.
pub(super) fn assign<R: Resource>(
    conn: &Connection,
    collection: i64,
    id: i64,
    name: &str,
    released: Option<i64>,
) -> Result<()> {
    if !has_table(conn)? {
        conn.execute_batch(SCHEMA)?;
    }
    // Found by the name, so before the name is assigned.
    let displaced = find::<R>(conn, collection, name)?.map(|found| found.id);
    if let Some(released) = released {
        release::<R>(conn, collection, id, released)?;
    }
    conn.prepare_cached(
        "INSERT INTO resource (collection, name, record) VALUES (?1, ?2, ?3) \
         ON CONFLICT (collection, name) DO UPDATE SET record = ?3, released = 0",
    )?
    .execute((collection, name, id))?;
    match displaced {
        Some(displaced) if displaced != id => rename_displaced::<R>(conn, collection, displaced),
        _ => Ok(()),
    }
}

/// Records that a record loses its name with the change `released`.
fn release<R: Resource>(conn: &Connection, collection: i64, id: i64, released: i64) -> Result<()> {
    let before = name_of::<R>(conn, id)?;
    conn.prepare_cached(
        "INSERT INTO resource (collection, name, record, released) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (collection, name) DO UPDATE SET record = ?3, released = ?4",
    )?
    .execute((collection, before, id, released))?;
    // Clients with older tokens read the collection again.
    let floor = metadata::get_number(conn, metadata::LOG_FLOOR)?;
    conn.prepare_cached(
        "DELETE FROM resource WHERE collection = ?1 AND released <> 0 AND released <= ?2",
    )?
    .execute((collection, floor))?;
    Ok(())
}

/// Gives a removed record that lost its name another one, if its computed name is taken.
fn rename_displaced<R: Resource>(conn: &Connection, collection: i64, id: i64) -> Result<()> {
    let computed = computed_name(id, R::EXTENSION);
    if read_named(conn, collection, &computed)?.is_none() {
        return Ok(());
    }
    let mut is_taken =
        conn.prepare_cached("SELECT 1 FROM resource WHERE collection = ?1 AND name = ?2")?;
    let mut count = 2;
    loop {
        let name = format!("etui-{id}-{count}{}", R::EXTENSION);
        if !is_taken.exists((collection, &name))? {
            conn.prepare_cached(
                "INSERT INTO resource (collection, name, record) VALUES (?1, ?2, ?3)",
            )?
            .execute((collection, name, id))?;
            return Ok(());
        }
        count += 1;
    }
}

/// Returns the problems of the table: rows without a record, and records with several names.
pub(crate) fn check_names(conn: &Connection) -> Result<Vec<String>> {
    if !has_table(conn)? {
        return Ok(Vec::new());
    }
    let mut statement = conn.prepare(
        "SELECT n.name, n.record, 'which is not there' FROM resource n NOT INDEXED \
         LEFT JOIN record r ON r.id = n.record WHERE r.id IS NULL \
         UNION ALL \
         SELECT n.name, n.record, 'which is in another collection' FROM resource n NOT INDEXED \
         JOIN record r ON r.id = n.record WHERE r.collection <> n.collection \
         UNION ALL \
         SELECT min(name), record, 'which has several names' FROM resource NOT INDEXED \
         WHERE released = 0 GROUP BY record HAVING count(*) > 1",
    )?;
    let problems = statement.query_map([], |r| {
        let (name, record, what): (String, i64, String) = (r.get(0)?, r.get(1)?, r.get(2)?);
        Ok(format!(
            "the resource name \"{name}\" is that of record {record}, {what}"
        ))
    })?;
    Ok(problems.collect::<rusqlite::Result<_>>()?)
}
