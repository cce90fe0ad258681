//! The search index: posting lists of terms and trigrams.
//!
//! A save does not write the index. Records changed since the last merge are *pending*
//! ([`pending`]): a search compares their keys besides reading the index. [`merge`] brings the
//! index up to date in batches. The index is therefore right for all records but the pending ones.

pub(crate) mod bulk;
pub(crate) mod condition;
pub(crate) mod id_set;
pub(crate) mod merge;
pub(crate) mod pending;
pub(crate) mod postings;
pub(crate) mod terms;
pub(crate) mod trigrams;

use std::ops::BitOr;
use std::path::Path;

use rusqlite::Connection;

use crate::db::metadata;
use crate::error::Result;
use crate::record::changes;

/// Terms, trigrams, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct IndexParts(u8);

impl IndexParts {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const TERMS: Self = Self(1);
    pub(crate) const TRIGRAMS: Self = Self(2);
    pub(crate) const ALL: Self = Self(3);

    /// Returns true if all of `parts` are among these.
    pub(crate) fn contains(self, parts: Self) -> bool {
        self.0 & parts.0 == parts.0
    }
}

impl BitOr for IndexParts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Rebuilds the index from the records' keys inside the caller's transaction. Temporary files for
/// the sort are created next to `store`, the store's file.
pub(crate) fn rebuild_index(conn: &Connection, store: &Path) -> Result<()> {
    conn.execute_batch("DELETE FROM term_posting; DELETE FROM trigram_posting")?;
    let mut indexer = bulk::BulkIndexer::new(store)?;
    // The ids must ascend (`add_record`).
    let mut statement = conn
        .prepare("SELECT id, keys FROM record NOT INDEXED WHERE removed_at IS NULL ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        indexer.add_record(row.get(0)?, row.get_ref(1)?.as_blob().unwrap_or_default())?;
    }
    drop(rows);
    indexer.write_index(conn, true, &mut || Ok(()))?;
    let latest = changes::latest_seq(conn)?;
    metadata::set(conn, metadata::TERM_WATERMARK, latest)?;
    metadata::set(conn, metadata::TRIGRAM_WATERMARK, latest)
}
