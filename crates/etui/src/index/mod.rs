//! The search index: terms and grams, fed in batches.
//!
//! A save writes neither; what was changed since the index was last brought up to date is
//! *pending* and looked at besides it ([`pending`]). [`merge`] brings the index up to date. So an
//! answer is always: candidates from the index, and all pending records, each compared with the
//! record's own keys. An index entry too many does no harm, one too few cannot be: a record's
//! entries are in the index or the record is pending.

pub(crate) mod grams;
pub(crate) mod merge;
pub(crate) mod terms;

use rusqlite::Connection;

use crate::collection::meta;
use crate::error::Result;

/// One look into the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// Records with exactly this term.
    Term(Vec<u8>),
    /// Records with a term that begins so.
    TermPrefix(Vec<u8>),
    /// Records that contain all of these grams.
    Grams(Vec<i64>),
}

/// The records that any of `lookups` finds, and those that are pending; ascending, once each.
pub(crate) fn candidates(conn: &Connection, lookups: &[Lookup]) -> Result<Vec<i64>> {
    let mut ids = Vec::new();
    let (mut uses_terms, mut uses_grams) = (false, false);
    for lookup in lookups {
        match lookup {
            Lookup::Term(term) => terms::exact(conn, term, &mut ids)?,
            Lookup::TermPrefix(prefix) => terms::prefix(conn, prefix, &mut ids)?,
            Lookup::Grams(grams) => ids.extend(grams::containing(conn, grams)?),
        }
        match lookup {
            Lookup::Grams(_) => uses_grams = true,
            _ => uses_terms = true,
        }
    }
    if uses_terms {
        ids.extend(pending(conn, meta::TERM_MARK)?);
    }
    if uses_grams {
        ids.extend(pending(conn, meta::GRAM_MARK)?);
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Empties the index; every record is pending then.
pub(crate) fn clear(conn: &Connection) -> Result<()> {
    conn.execute_batch("DELETE FROM term; DELETE FROM gram")?;
    meta::set(conn, meta::TERM_MARK, 0)?;
    meta::set(conn, meta::GRAM_MARK, 0)
}

/// Records changed since the mark.
pub(crate) fn pending(conn: &Connection, mark: &str) -> Result<Vec<i64>> {
    let mark = meta::number(conn, mark)?;
    let mut ids = Vec::new();
    for sql in [
        "SELECT id FROM record WHERE id > ?1",
        "SELECT DISTINCT record FROM change WHERE number > ?1",
    ] {
        let mut statement = conn.prepare_cached(sql)?;
        let mut rows = statement.query([mark])?;
        while let Some(row) = rows.next()? {
            ids.push(row.get(0)?);
        }
    }
    Ok(ids)
}
