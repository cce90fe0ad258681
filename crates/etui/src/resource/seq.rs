//! The sequence number of the latest change in one collection.
//!
//! Sequence numbers count the changes of the whole store. That of a collection is found by going
//! back from the latest change to one of its records, so that no save writes it. Below the floor of
//! the change log `collection.history_start` has it. The process remembers how far it looked.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension};

use crate::db::Db;
use crate::error::Result;
use crate::record::{changes, collection_table};

/// By collection: the latest change of the store that was looked at, and the latest one of the
/// collection up to it.
#[derive(Default)]
struct KnownSeqs(Mutex<HashMap<i64, (i64, i64)>>);

/// Returns the sequence number of the latest change in a collection, or that at which its history
/// starts. Runs in a read transaction, which sees committed changes only.
pub(super) fn collection_seq(db: &Db, conn: &Connection, collection: i64) -> Result<i64> {
    let latest = changes::latest_seq(conn)?;
    let start = collection_table::history_start(conn, collection)?;
    let lock = || {
        let known = &db.cache::<KnownSeqs>().0;
        known.lock().unwrap_or_else(PoisonError::into_inner)
    };
    // Of an older state than that of the cache only changes in that state count.
    let known = lock().get(&collection).copied();
    let known = known.filter(|(_, seq)| *seq <= latest);
    let (after, before) = known.unwrap_or((0, 0));
    if after >= latest {
        return Ok(before.max(start));
    }
    let seq = seq_after(conn, collection, after.max(start))?
        .unwrap_or(before)
        .max(start);
    let mut known = lock();
    let entry = known.entry(collection).or_insert((latest, seq));
    // Another thread may have stored a later state meanwhile.
    if entry.0 < latest {
        *entry = (latest, seq);
    }
    Ok(seq)
}

/// Returns the latest change in a collection after the change `after`.
fn seq_after(conn: &Connection, collection: i64, after: i64) -> Result<Option<i64>> {
    let added: Option<i64> = conn
        .prepare_cached(
            "SELECT id FROM record NOT INDEXED WHERE id > ?1 AND collection = ?2 \
             ORDER BY id DESC LIMIT 1",
        )?
        .query_row((after, collection), |r| r.get(0))
        .optional()?;
    // Changes before the latest addition need not be read.
    let changed: Option<i64> = conn
        .prepare_cached(
            "SELECT c.seq FROM change c CROSS JOIN record r ON r.id = c.record \
             WHERE c.seq > ?1 AND r.collection = ?2 ORDER BY c.seq DESC LIMIT 1",
        )?
        .query_row((after.max(added.unwrap_or(0)), collection), |r| r.get(0))
        .optional()?;
    Ok(changed.or(added))
}
