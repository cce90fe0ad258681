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

use rusqlite::Connection;

use crate::collection::meta;
use crate::error::Result;

/// Empties the index; every record is pending then.
pub(crate) fn clear(conn: &Connection) -> Result<()> {
    conn.execute_batch("DELETE FROM term; DELETE FROM gram")?;
    meta::set(conn, meta::TERM_MARK, 0)?;
    meta::set(conn, meta::GRAM_MARK, 0)
}
