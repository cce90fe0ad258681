//! The search index: terms and grams, fed in batches.
//!
//! A save writes neither; what was changed since the index was last brought up to date is
//! *pending* and looked at besides it ([`pending`]). [`merge`] brings the index up to date. So
//! what the index says holds for all records but the pending ones, and those are compared by
//! their own keys.

pub(crate) mod build;
pub(crate) mod bulk;
pub(crate) mod grams;
pub(crate) mod look;
pub(crate) mod merge;
pub(crate) mod pending;
pub(crate) mod postings;
pub(crate) mod stream;
pub(crate) mod terms;

use std::path::Path;

use rusqlite::Connection;

use crate::db::metadata;
use crate::error::Result;
use crate::record::changes;

/// Makes the index anew from the records' keys, sorted, inside the caller's transaction. `store`:
/// its file, beside which there is room to sort.
pub(crate) fn rebuild(conn: &Connection, store: &Path) -> Result<()> {
    conn.execute_batch("DELETE FROM posting")?;
    let mut bulk = bulk::Bulk::new(store)?;
    let mut statement =
        conn.prepare("SELECT id, keys FROM record NOT INDEXED WHERE removed IS NULL ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        bulk.add(row.get(0)?, row.get_ref(1)?.as_blob().unwrap_or_default())?;
    }
    drop(rows);
    bulk.write(conn, true, &mut || Ok(()))?;
    let latest = changes::latest(conn)?;
    metadata::set(conn, metadata::TERM_MARK, latest)?;
    metadata::set(conn, metadata::GRAM_MARK, latest)
}
