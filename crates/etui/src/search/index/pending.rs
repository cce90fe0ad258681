//! Pending records: records changed since the index was last merged. Every search compares their
//! keys with the filter.

use rusqlite::{Connection, Row};

use super::IndexParts;
use crate::db::metadata;
use crate::error::Result;
use crate::record::keys::SearchKeys;

/// The latest change in each part of the index, and in the store, read in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Watermarks {
    /// The terms of changes up to this one are in the index.
    pub(crate) terms: i64,
    /// The trigrams of changes up to this one are in the index.
    pub(crate) trigrams: i64,
    /// The latest change of the store.
    pub(crate) latest: i64,
}

impl Watermarks {
    pub(crate) fn read(conn: &Connection) -> Result<Self> {
        Ok(conn
            .prepare_cached(
                "SELECT coalesce((SELECT value FROM meta WHERE key = ?1), 0), \
                        coalesce((SELECT value FROM meta WHERE key = ?2), 0), \
                        max(coalesce((SELECT max(id) FROM record), 0), \
                            coalesce((SELECT max(seq) FROM change), 0))",
            )?
            .query_row(
                [metadata::TERM_WATERMARK, metadata::TRIGRAM_WATERMARK],
                |r| {
                    Ok(Self {
                        terms: r.get(0)?,
                        trigrams: r.get(1)?,
                        latest: r.get(2)?,
                    })
                },
            )?)
    }

    /// Returns the change up to which all of `parts` are merged.
    pub(crate) fn merged(&self, parts: IndexParts) -> i64 {
        match (
            parts.contains(IndexParts::TERMS),
            parts.contains(IndexParts::TRIGRAMS),
        ) {
            (true, true) => self.terms.min(self.trigrams),
            (true, false) => self.terms,
            (false, true) => self.trigrams,
            (false, false) => self.latest,
        }
    }
}

/// Calls `visit` with each record changed after `merged`: its id, and its UID and keys if it is live
/// and in the collection.
pub(crate) fn each_pending(
    conn: &Connection,
    collection: i64,
    merged: i64,
    mut visit: impl FnMut(i64, Option<SearchKeys<'_>>),
) -> Result<()> {
    let mut visit_row = |row: &Row<'_>| -> Result<()> {
        let is_live: bool = row.get(1)?;
        let search = SearchKeys {
            uid: row.get_ref(2)?.as_bytes().unwrap_or_default(),
            keys: row.get_ref(3)?.as_blob().unwrap_or_default(),
        };
        visit(row.get(0)?, is_live.then_some(search));
        Ok(())
    };
    // A record's id is the number of the change that added it.
    let mut added = conn.prepare_cached(
        "SELECT id, removed_at IS NULL AND collection = ?2, uid, keys FROM record NOT INDEXED \
         WHERE id > ?1",
    )?;
    let mut rows = added.query((merged, collection))?;
    while let Some(row) = rows.next()? {
        visit_row(row)?;
    }
    // CROSS JOIN keeps the order of the tables: SQLite reads the changed records, not all.
    let mut edited = conn.prepare_cached(
        "SELECT r.id, r.removed_at IS NULL AND r.collection = ?2, r.uid, r.keys \
         FROM (SELECT DISTINCT record FROM change WHERE seq > ?1 AND record <= ?1) c \
         CROSS JOIN record r ON r.id = c.record",
    )?;
    let mut rows = edited.query((merged, collection))?;
    while let Some(row) = rows.next()? {
        visit_row(row)?;
    }
    Ok(())
}
