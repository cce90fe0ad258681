//! Posting lists: which records have a term or a gram.
//!
//! ```text
//! row := (key, first) -> ids
//! key := gram:INTEGER | term:BLOB
//! ids := varint*    each the distance from the id before; the one before the first is `first`
//! ```
//!
//! Terms and grams have one table, as another would cost every opening what it takes to parse it.
//! SQLite orders all integers before all BLOBs, so grams lie apart from terms, and what is asked
//! from an integer to an integer, or from a BLOB to a BLOB, meets nothing of the others.
//!
//! A row takes ids until they have [`MAX_BLOCK`] bytes. The table is `WITHOUT ROWID`, whose inner
//! pages hold whole rows too: with rows of a kilobyte four would fit on one, and a look into a
//! million records would go down nine pages.

use roaring::RoaringTreemap;
use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension, Rows};

use super::build::Builder;
use crate::error::Result;
use etui_text::varint;

/// Bytes of `ids` with which a row is full.
pub(crate) const MAX_BLOCK: usize = 240;

/// A set of records.
pub(crate) type Ids = RoaringTreemap;

const OF_KEY: &str = "SELECT first, ids FROM posting WHERE key = ?1 ORDER BY first";
const IN_RANGE: &str = "SELECT first, ids FROM posting WHERE key >= ?1 AND key < ?2";
const LAST_BLOCK: &str =
    "SELECT first, ids FROM posting WHERE key = ?1 ORDER BY first DESC LIMIT 1";
/// The row that an id would be in: (key, id).
pub(crate) const BLOCK_BEFORE: &str =
    "SELECT first, ids FROM posting WHERE key = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1";
/// The row behind it.
pub(crate) const BLOCK_BEHIND: &str =
    "SELECT first, ids FROM posting WHERE key = ?1 AND first > ?2 ORDER BY first LIMIT 1";
/// The rows of all keys between two, with their keys, in order.
pub(crate) const BETWEEN: &str =
    "SELECT key, first, ids FROM posting WHERE key > ?1 AND key < ?2 ORDER BY key, first";
const BLOCK_AFTER: &str =
    "SELECT first FROM posting WHERE key = ?1 AND first > ?2 ORDER BY first LIMIT 1";
const DELETE: &str = "DELETE FROM posting WHERE key = ?1 AND first = ?2";
const INSERT: &str = "INSERT OR REPLACE INTO posting (key, first, ids) VALUES (?1, ?2, ?3)";

/// A record that has a key now (`true`) or no more (`false`).
pub(crate) type Edit = (i64, bool);

/// Calls `visit` with each record of `key`, ascending, until it says `false`; tells whether
/// it never did.
pub(crate) fn of_key(
    conn: &Connection,
    key: impl ToSql,
    visit: impl FnMut(i64) -> bool,
) -> Result<bool> {
    each(conn.prepare_cached(OF_KEY)?.query([key])?, visit)
}

/// The same for all keys from `from` to before `to`; a record of several keys comes several
/// times, and in no order.
pub(crate) fn in_range(
    conn: &Connection,
    from: impl ToSql,
    to: impl ToSql,
    visit: impl FnMut(i64) -> bool,
) -> Result<bool> {
    each(conn.prepare_cached(IN_RANGE)?.query((from, to))?, visit)
}

/// Calls `visit` with the records of rows, until it says `false`; whether it never did.
fn each(mut rows: Rows<'_>, mut visit: impl FnMut(i64) -> bool) -> Result<bool> {
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
pub(crate) fn set(conn: &Connection, key: impl ToSql) -> Result<Ids> {
    let mut ids = Builder::default();
    of_key(conn, key, |id| {
        ids.add(id);
        true
    })?;
    Ok(ids.finish())
}

/// Writes the list of a key that has none yet.
pub(crate) fn insert(conn: &Connection, key: impl ToSql + Copy, ids: &[i64]) -> Result<()> {
    let mut insert = conn.prepare_cached(INSERT)?;
    encode(ids, |first, ids| {
        insert.execute((key, first, ids))?;
        Ok(())
    })
}

/// Applies `edits` (ascending by record, once each) to the list of `key`.
pub(crate) fn apply(conn: &Connection, key: impl ToSql + Copy, mut edits: &[Edit]) -> Result<()> {
    let last = conn
        .prepare_cached(LAST_BLOCK)?
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
                    .prepare_cached(BLOCK_BEFORE)?
                    .query_row((key, next), block_of)
                    .optional()?;
                let bound = block.as_ref().map_or(next, |(first, _)| *first);
                let end: Option<i64> = conn
                    .prepare_cached(BLOCK_AFTER)?
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
            conn.prepare_cached(DELETE)?.execute((key, first))?;
        }
        let mut insert = conn.prepare_cached(INSERT)?;
        encode(&new, |first, ids| {
            insert.execute((key, first, ids))?;
            Ok(())
        })?;
    }
    Ok(())
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

    fn empty() -> Connection {
        let conn = Connection::open_in_memory().unwrap();
        crate::db::schema::migrate(&conn, 0).unwrap();
        conn
    }

    /// Whatever is asked, or changed, of terms has nothing to do with grams, and the other way round.
    #[test]
    fn terms_and_grams_lie_apart() {
        let conn = empty();
        let grams = [0, 1, i64::from(b'a'), i64::MAX - 1];
        let terms: [&[u8]; 5] = [b"", b"\0", b"a", b"1", b"\xff\xff"];
        for (id, gram) in (1..).zip(grams) {
            insert(&conn, gram, &[id]).unwrap();
        }
        for (id, term) in (11..).zip(terms) {
            insert(&conn, term, &[id]).unwrap();
        }
        let in_range = |from: &dyn ToSql, to: &dyn ToSql| {
            let mut found = Vec::new();
            in_range(&conn, from, to, |id| {
                found.push(id);
                true
            })
            .unwrap();
            found.sort_unstable();
            found
        };
        assert_eq!(in_range(&0, &i64::MAX), [1, 2, 3, 4]);
        assert_eq!(in_range(&1, &(i64::MAX - 1)), [2, 3]);
        let (first, last): (&[u8], &[u8]) = (b"", b"\xff\xff\xff");
        assert_eq!(in_range(&first, &last), [11, 12, 13, 14, 15]);
        assert_eq!(in_range(&terms[1], &terms[4]), [12, 13, 14]);

        let gram = i64::from(b'a');
        let term: &[u8] = b"a";
        apply(&conn, gram, &[(3, false), (7, true)]).unwrap();
        apply(&conn, term, &[(8, true)]).unwrap();
        assert!(set(&conn, gram).unwrap().iter().eq([7]));
        assert!(set(&conn, term).unwrap().iter().eq([8, 13]));
        apply(&conn, term, &[(8, false), (13, false)]).unwrap();
        assert_eq!(in_range(&0, &i64::MAX), [1, 2, 4, 7]);
        assert_eq!(in_range(&first, &last), [11, 12, 14, 15]);
    }

    /// No statement passes rows that it does not ask for, or sorts what is in order.
    #[test]
    fn every_statement_seeks() {
        let conn = empty();
        for (statement, bounds) in [
            (OF_KEY, "key=?"),
            (IN_RANGE, "key>? AND key<?"),
            (LAST_BLOCK, "key=?"),
            (BLOCK_BEFORE, "key=? AND first<?"),
            (BLOCK_BEHIND, "key=? AND first>?"),
            (BETWEEN, "key>? AND key<?"),
            (BLOCK_AFTER, "key=? AND first>?"),
            (DELETE, "key=? AND first=?"),
        ] {
            let mut plan = conn
                .prepare(&format!("EXPLAIN QUERY PLAN {statement}"))
                .unwrap();
            let plan: Vec<String> = plan
                .raw_query()
                .mapped(|r| r.get(3))
                .collect::<rusqlite::Result<_>>()
                .unwrap();
            let wanted = format!("SEARCH posting USING PRIMARY KEY ({bounds})");
            assert_eq!(plan, [wanted], "{statement}");
        }
    }

    proptest! {
        /// Lists hold what a set would hold, whatever is added and taken out in batches.
        #[test]
        fn lists_equal_a_set(
            batches in prop::collection::vec(
                prop::collection::btree_map(1i64..3_000, any::<bool>(), 0..800), 1..6)
        ) {
            let conn = empty();
            let mut reference = BTreeSet::new();
            for batch in batches {
                let batch: BTreeMap<i64, bool> = batch;
                for (&id, &present) in &batch {
                    if present { reference.insert(id); } else { reference.remove(&id); }
                }
                let edits: Vec<Edit> = batch.into_iter().collect();
                apply(&conn, 7, &edits).unwrap();
                apply(&conn, b"x".as_slice(), &edits).unwrap();
                let found = set(&conn, 7).unwrap();
                prop_assert!(found.iter().eq(reference.iter().map(|id| id.cast_unsigned())));
                prop_assert_eq!(found, set(&conn, b"x".as_slice()).unwrap());
                let largest: Option<i64> = conn
                    .query_row("SELECT max(length(ids)) FROM posting", [], |r| r.get(0)).unwrap();
                prop_assert!(largest.unwrap_or(0) <= MAX_BLOCK as i64 + 10);
            }
        }

        #[test]
        fn any_bytes_are_answered(first in any::<i64>(), ids in prop::collection::vec(any::<u8>(), 0..40)) {
            decode(first, &ids, |_| true);
        }
    }
}
