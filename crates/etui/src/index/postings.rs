//! Posting lists: which records have a term or a gram.
//!
//! ```text
//! row := (key, first) -> ids
//! ids := varint*    each the distance from the id before; the one before the first is `first`
//! ```
//!
//! A row takes ids until they have [`MAX_BLOCK`] bytes. Both tables are `WITHOUT ROWID`, whose inner
//! pages hold whole rows too: with rows of a kilobyte four would fit on one, and a look into a
//! million records would go down nine pages.

use roaring::RoaringTreemap;
use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension};

use super::build::Builder;
use crate::error::Result;
use crate::text::varint;

/// Bytes of `ids` with which a row is full.
pub(crate) const MAX_BLOCK: usize = 240;

/// A set of records.
pub(crate) type Ids = RoaringTreemap;

/// A table of posting lists.
pub(crate) struct Postings {
    of_key: &'static str,
    in_range: &'static str,
    last_block: &'static str,
    /// The row that an id would be in: (key, id).
    pub(crate) block_before: &'static str,
    /// The row behind it.
    pub(crate) block_behind: &'static str,
    block_after: &'static str,
    delete: &'static str,
    insert: &'static str,
}

/// Defines the statements of a table once for both.
macro_rules! postings {
    ($table:literal, $key:literal) => {
        Postings {
            of_key: concat!(
                "SELECT first, ids FROM ",
                $table,
                " WHERE ",
                $key,
                " = ?1 ORDER BY first"
            ),
            in_range: concat!(
                "SELECT first, ids FROM ",
                $table,
                " WHERE ",
                $key,
                " >= ?1 AND ",
                $key,
                " < ?2"
            ),
            last_block: concat!(
                "SELECT first, ids FROM ",
                $table,
                " WHERE ",
                $key,
                " = ?1 ORDER BY first DESC LIMIT 1"
            ),
            block_before: concat!(
                "SELECT first, ids FROM ",
                $table,
                " WHERE ",
                $key,
                " = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1"
            ),
            block_behind: concat!(
                "SELECT first, ids FROM ",
                $table,
                " WHERE ",
                $key,
                " = ?1 AND first > ?2 ORDER BY first LIMIT 1"
            ),
            block_after: concat!(
                "SELECT first FROM ",
                $table,
                " WHERE ",
                $key,
                " = ?1 AND first > ?2 ORDER BY first LIMIT 1"
            ),
            delete: concat!(
                "DELETE FROM ",
                $table,
                " WHERE ",
                $key,
                " = ?1 AND first = ?2"
            ),
            insert: concat!(
                "INSERT OR REPLACE INTO ",
                $table,
                " (",
                $key,
                ", first, ids) VALUES (?1, ?2, ?3)"
            ),
        }
    };
}

/// Words, addresses, numbers.
pub(crate) const TERMS: Postings = postings!("term", "term");
/// Three characters in a row.
pub(crate) const GRAMS: Postings = postings!("gram", "gram");

/// A record that has a key now (`true`) or no more (`false`).
pub(crate) type Edit = (i64, bool);

impl Postings {
    /// Calls `visit` with each record of `key`, ascending, until it says `false`; tells whether
    /// it never did.
    pub(crate) fn of_key(
        &self,
        conn: &Connection,
        key: impl ToSql,
        mut visit: impl FnMut(i64) -> bool,
    ) -> Result<bool> {
        let mut statement = conn.prepare_cached(self.of_key)?;
        let mut rows = statement.query([key])?;
        while let Some(row) = rows.next()? {
            if !decode(
                row.get(0)?,
                row.get_ref(1)?.as_blob().unwrap_or_default(),
                &mut visit,
            ) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The same for all keys from `from` to before `to`; a record of several keys comes several
    /// times, and in no order.
    pub(crate) fn in_range(
        &self,
        conn: &Connection,
        from: impl ToSql,
        to: impl ToSql,
        mut visit: impl FnMut(i64) -> bool,
    ) -> Result<bool> {
        let mut statement = conn.prepare_cached(self.in_range)?;
        let mut rows = statement.query((from, to))?;
        while let Some(row) = rows.next()? {
            if !decode(
                row.get(0)?,
                row.get_ref(1)?.as_blob().unwrap_or_default(),
                &mut visit,
            ) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The records of `key`.
    pub(crate) fn set(&self, conn: &Connection, key: impl ToSql) -> Result<Ids> {
        let mut ids = Builder::default();
        self.of_key(conn, key, |id| {
            ids.add(id);
            true
        })?;
        Ok(ids.finish())
    }

    /// Writes the list of a key that has none yet.
    pub(crate) fn insert(
        &self,
        conn: &Connection,
        key: impl ToSql + Copy,
        ids: &[i64],
    ) -> Result<()> {
        let mut insert = conn.prepare_cached(self.insert)?;
        encode(ids, |first, ids| {
            insert.execute((key, first, ids))?;
            Ok(())
        })
    }

    /// Applies `edits` (ascending by record, once each) to the list of `key`.
    pub(crate) fn apply(
        &self,
        conn: &Connection,
        key: impl ToSql + Copy,
        mut edits: &[Edit],
    ) -> Result<()> {
        let last = conn
            .prepare_cached(self.last_block)?
            .query_row([key], block_of)
            .optional()?;
        while let Some(&(next, _)) = edits.first() {
            // The block that `next` belongs to: the last one that begins at or before it, or else
            // the list's first; and where the block after that begins. Most often it is the last.
            let (block, end) = match &last {
                None => (None, None),
                Some((first, ids)) if *first <= next => (Some((*first, ids.clone())), None),
                Some(_) => {
                    let block = conn
                        .prepare_cached(self.block_before)?
                        .query_row((key, next), block_of)
                        .optional()?;
                    let bound = block.as_ref().map_or(next, |(first, _)| *first);
                    let end: Option<i64> = conn
                        .prepare_cached(self.block_after)?
                        .query_row((key, bound), |r| r.get(0))
                        .optional()?;
                    (block, end)
                }
            };
            let here = end.map_or(edits.len(), |end| edits.partition_point(|e| e.0 < end));
            let (now, later) = edits.split_at(here);
            edits = later;
            let mut old = Vec::new();
            if let Some((first, ids)) = &block {
                decode(*first, ids, |id| {
                    old.push(id);
                    true
                });
            }
            let new = merge(&old, now);
            if new == old {
                continue;
            }
            if let Some((first, _)) = block
                && new.first() != Some(&first)
            {
                conn.prepare_cached(self.delete)?.execute((key, first))?;
            }
            let mut insert = conn.prepare_cached(self.insert)?;
            encode(&new, |first, ids| {
                insert.execute((key, first, ids))?;
                Ok(())
            })?;
        }
        Ok(())
    }
}

fn block_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, Vec<u8>)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn merge(old: &[i64], edits: &[Edit]) -> Vec<i64> {
    let mut out = Vec::with_capacity(old.len() + edits.len());
    let mut old = old.iter().copied().peekable();
    for &(id, present) in edits {
        while let Some(before) = old.next_if(|&o| o < id) {
            out.push(before);
        }
        old.next_if_eq(&id);
        if present {
            out.push(id);
        }
    }
    out.extend(old);
    out
}

/// Calls `write` with each row that `ids` (ascending) take.
fn encode(ids: &[i64], mut write: impl FnMut(i64, &[u8]) -> Result<()>) -> Result<()> {
    let mut rest = ids.iter().copied().peekable();
    let mut block = Vec::with_capacity(MAX_BLOCK + 10);
    while let Some(first) = rest.next() {
        block.clear();
        let mut last = first;
        while block.len() < MAX_BLOCK {
            let Some(id) = rest.next() else { break };
            varint::push(&mut block, id.abs_diff(last));
            last = id;
        }
        write(first, &block)?;
    }
    Ok(())
}

/// Calls `visit` with each id of a row until it says `false`; tells whether it never did. A
/// damaged row ends where it stops making sense.
pub(crate) fn decode(first: i64, mut ids: &[u8], mut visit: impl FnMut(i64) -> bool) -> bool {
    let mut last = first;
    if !visit(first) {
        return false;
    }
    while !ids.is_empty() {
        let Some(id) = varint::take(&mut ids).and_then(|n| last.checked_add_unsigned(n)) else {
            return true;
        };
        if id == last {
            return true;
        }
        if !visit(id) {
            return false;
        }
        last = id;
    }
    true
}

/// Ids gathered in any order, up to a bound.
pub(crate) struct Gathered {
    ids: Vec<i64>,
    most: usize,
    /// Length at which it is time to look for ids that came twice.
    look_at: usize,
}

impl Gathered {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            ids: Vec::new(),
            most,
            look_at: most + 1,
        }
    }

    /// `false`: there are more than the bound.
    pub(crate) fn add(&mut self, id: i64) -> bool {
        self.ids.push(id);
        if self.ids.len() < self.look_at {
            return true;
        }
        self.ids.sort_unstable();
        self.ids.dedup();
        self.look_at = self.ids.len() + self.most / 2 + 1;
        self.ids.len() <= self.most
    }

    /// Ascending, once each. `None`: there were more than the bound.
    pub(crate) fn into_ids(mut self) -> Option<Vec<i64>> {
        self.ids.sort_unstable();
        self.ids.dedup();
        (self.ids.len() <= self.most).then_some(self.ids)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Lists hold what a set would hold, whatever is added and taken out in batches.
        #[test]
        fn lists_equal_a_set(
            batches in prop::collection::vec(
                prop::collection::btree_map(1i64..3_000, any::<bool>(), 0..800), 1..6)
        ) {
            let conn = Connection::open_in_memory().unwrap();
            crate::engine::schema::migrate(&conn, 0).unwrap();
            let mut reference = BTreeSet::new();
            for batch in batches {
                let batch: BTreeMap<i64, bool> = batch;
                for (&id, &present) in &batch {
                    if present { reference.insert(id); } else { reference.remove(&id); }
                }
                let edits: Vec<Edit> = batch.into_iter().collect();
                GRAMS.apply(&conn, 7, &edits).unwrap();
                TERMS.apply(&conn, b"x".as_slice(), &edits).unwrap();
                let found = GRAMS.set(&conn, 7).unwrap();
                prop_assert!(found.iter().eq(reference.iter().map(|id| id.cast_unsigned())));
                prop_assert_eq!(found, TERMS.set(&conn, b"x".as_slice()).unwrap());
                let largest: Option<i64> = conn
                    .query_row("SELECT max(length(ids)) FROM gram", [], |r| r.get(0)).unwrap();
                prop_assert!(largest.unwrap_or(0) <= MAX_BLOCK as i64 + 10);
            }
        }

        #[test]
        fn any_bytes_are_answered(first in any::<i64>(), ids in prop::collection::vec(any::<u8>(), 0..40)) {
            decode(first, &ids, |_| true);
        }
    }
}
