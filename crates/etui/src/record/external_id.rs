//! External ids: the identifier that another system, such as a desktop or a sync service, has for a
//! collection.
//!
//! It is beside the name, survives renaming, and stays with a removed collection. It is unique
//! within the live collections of its kind. That is checked here, in the write transaction: a store
//! has few collections, and an index would cost each store a page.

use rusqlite::{Connection, OptionalExtension};

use super::collection_table::CollectionRef;
use crate::error::{Error, Result};
use crate::types::CollectionKind;

/// Maximum length in bytes.
const MAX_LENGTH: usize = 255;

/// Returns the collection with this external id.
pub(crate) fn find_collection(
    conn: &Connection,
    kind: CollectionKind,
    external_id: &str,
) -> Result<Option<CollectionRef>> {
    Ok(conn
        .prepare_cached(
            "SELECT id, name FROM collection NOT INDEXED \
             WHERE kind = ?1 AND external_id = ?2 AND removed_at IS NULL",
        )?
        .query_row((kind.schema_name(), external_id), |r| {
            Ok(CollectionRef {
                id: r.get(0)?,
                name: r.get(1)?,
            })
        })
        .optional()?)
}

/// Returns the external id of a collection, live or removed.
pub(crate) fn read(conn: &Connection, collection: i64) -> Result<Option<String>> {
    let found = conn
        .prepare_cached("SELECT external_id FROM collection WHERE id = ?1")?
        .query_row([collection], |r| r.get(0))
        .optional()?;
    Ok(found.flatten())
}

/// Sets or clears the external id of a collection.
pub(crate) fn set(
    conn: &Connection,
    kind: CollectionKind,
    collection: i64,
    external_id: Option<&str>,
) -> Result<()> {
    if let Some(external_id) = external_id {
        check_text(kind, external_id)?;
        expect_free(conn, kind, collection, external_id)?;
    }
    conn.execute(
        "UPDATE collection SET external_id = ?2 WHERE id = ?1",
        (collection, external_id),
    )?;
    Ok(())
}

/// Fails if a live collection other than `collection` has the external id.
pub(crate) fn expect_free(
    conn: &Connection,
    kind: CollectionKind,
    collection: i64,
    external_id: &str,
) -> Result<()> {
    match find_collection(conn, kind, external_id)? {
        Some(other) if other.id != collection => Err(Error::ExternalIdExists {
            kind,
            name: other.name,
            external_id: external_id.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Fails if a text cannot be an external id.
fn check_text(kind: CollectionKind, external_id: &str) -> Result<()> {
    let is_valid =
        (1..=MAX_LENGTH).contains(&external_id.len()) && !external_id.chars().any(char::is_control);
    match is_valid {
        true => Ok(()),
        false => Err(Error::BadExternalId {
            kind,
            external_id: external_id.to_owned(),
        }),
    }
}
