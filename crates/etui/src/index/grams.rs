//! Grams: every three characters in a row, for what stands inside or at the end of a word.
//!
//! Grams are taken from the padded values (`keys`), so ` an` says that a word begins with "an"
//! and `er ` that one ends with "er". A gram's records are kept in blocks:
//!
//! ```text
//! gram  := c1 << 42 | c2 << 21 | c3                    (Unicode scalar values)
//! row   := (gram, first) -> ids
//! ids   := varint*    each the distance from the id before; the one before the first is `first`
//! ```
//!
//! A block's `ids` stay below [`MAX_BLOCK`] bytes, so that a row never needs an overflow page.

use rusqlite::{Connection, OptionalExtension};

use crate::contacts::keys::{Key, Keys};
use crate::error::Result;

/// Largest `ids` of a block in bytes: with its key it fits SQLite's longest index cell that stays
/// on a 4 kB page (1002 bytes).
const MAX_BLOCK: usize = 900;

/// Calls `visit` with every gram of `text`.
pub(crate) fn of_text(text: &str, mut visit: impl FnMut(i64)) {
    const LOW_TWO: i64 = (1 << 42) - 1;
    let mut gram = 0i64;
    for (i, c) in text.chars().enumerate() {
        gram = (gram & LOW_TWO) << 21 | i64::from(u32::from(c));
        if i >= 2 {
            visit(gram);
        }
    }
}

/// Calls `visit` with every gram of a record's keys; the same gram may come more than once.
pub(crate) fn of_keys(keys: &[u8], mut visit: impl FnMut(i64)) {
    for (key, value) in Keys(keys) {
        let value = match key {
            Key::Note | Key::Category => continue,
            Key::Phone => value.get(1..).unwrap_or_default(),
            _ => value,
        };
        if let Ok(text) = std::str::from_utf8(value) {
            of_text(text, &mut visit);
        }
    }
}

/// The records that have all of `grams`, ascending.
pub(crate) fn containing(conn: &Connection, grams: &[i64]) -> Result<Vec<i64>> {
    let mut common: Option<Vec<i64>> = None;
    for &gram in grams {
        let ids = ids_of(conn, gram)?;
        let next = match common {
            None => ids,
            Some(before) => intersect(&before, &ids),
        };
        if next.is_empty() {
            return Ok(next);
        }
        common = Some(next);
    }
    Ok(common.unwrap_or_default())
}

fn ids_of(conn: &Connection, gram: i64) -> Result<Vec<i64>> {
    let mut all = Vec::new();
    let mut statement =
        conn.prepare_cached("SELECT first, ids FROM gram WHERE gram = ?1 ORDER BY first")?;
    let mut rows = statement.query([gram])?;
    while let Some(row) = rows.next()? {
        decode(
            row.get(0)?,
            row.get_ref(1)?.as_blob().unwrap_or_default(),
            &mut all,
        );
    }
    Ok(all)
}

fn intersect(a: &[i64], b: &[i64]) -> Vec<i64> {
    let (small, large) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let mut rest = large;
    let mut out = Vec::with_capacity(small.len());
    for &id in small {
        rest = &rest[rest.partition_point(|&x| x < id)..];
        if rest.first() == Some(&id) {
            out.push(id);
        }
    }
    out
}

/// A record that has a gram now (`true`) or no more (`false`).
pub(crate) type Edit = (i64, bool);

/// Applies `edits` (ascending by record, once each) to the blocks of `gram`.
pub(crate) fn apply(conn: &Connection, gram: i64, mut edits: &[Edit]) -> Result<()> {
    while let Some(&(next, _)) = edits.first() {
        // The block that `next` belongs to: the last one that begins at or before it, or else
        // the gram's first; and where the block after that begins.
        let block = conn
            .prepare_cached(
                "SELECT first, ids FROM gram WHERE gram = ?1 AND first <= ?2 \
                 ORDER BY first DESC LIMIT 1",
            )?
            .query_row((gram, next), |r| {
                Ok((r.get::<_, i64>(0)?, r.get::<_, Vec<u8>>(1)?))
            })
            .optional()?;
        let bound = block.as_ref().map_or(next, |(first, _)| *first);
        let end: Option<i64> = conn
            .prepare_cached("SELECT min(first) FROM gram WHERE gram = ?1 AND first > ?2")?
            .query_row((gram, bound), |r| r.get(0))?;
        let here = end.map_or(edits.len(), |end| edits.partition_point(|e| e.0 < end));
        let (now, later) = edits.split_at(here);
        edits = later;
        let mut old = Vec::new();
        if let Some((first, ids)) = &block {
            decode(*first, ids, &mut old);
        }
        let new = merge(&old, now);
        if new == old {
            continue;
        }
        if let Some((first, _)) = block
            && new.first() != Some(&first)
        {
            conn.prepare_cached("DELETE FROM gram WHERE gram = ?1 AND first = ?2")?
                .execute((gram, first))?;
        }
        write_blocks(conn, gram, &new)?;
    }
    Ok(())
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

fn write_blocks(conn: &Connection, gram: i64, ids: &[i64]) -> Result<()> {
    let mut statement =
        conn.prepare_cached("INSERT OR REPLACE INTO gram (gram, first, ids) VALUES (?1, ?2, ?3)")?;
    let mut rest = ids.iter().copied().peekable();
    let mut blob = Vec::with_capacity(MAX_BLOCK + 10);
    while let Some(first) = rest.next() {
        blob.clear();
        let mut last = first;
        while blob.len() < MAX_BLOCK {
            let Some(id) = rest.next() else { break };
            push_varint(&mut blob, id.abs_diff(last));
            last = id;
        }
        statement.execute((gram, first, &blob))?;
    }
    Ok(())
}

fn push_varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push((n & 0x7f) as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Appends a block's ids. A damaged block ends where it stops making sense.
fn decode(first: i64, ids: &[u8], out: &mut Vec<i64>) {
    out.push(first);
    let (mut last, mut n, mut shift) = (first, 0u64, 0u32);
    for &b in ids {
        if shift > 63 {
            return;
        }
        n |= u64::from(b & 0x7f) << shift;
        if b & 0x80 != 0 {
            shift += 7;
            continue;
        }
        let Some(id) = last.checked_add_unsigned(n) else {
            return;
        };
        out.push(id);
        (last, n, shift) = (id, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn grams(text: &str) -> Vec<i64> {
        let mut all = Vec::new();
        of_text(text, |g| all.push(g));
        all
    }

    #[test]
    fn a_gram_is_three_characters() {
        assert_eq!(grams(" a"), []);
        assert_eq!(grams(" anna ").len(), 4);
        assert_eq!(grams("山田太")[0], (0x5c71 << 42) | (0x7530 << 21) | 0x592a);
        assert!(grams("\u{10ffff}\u{10ffff}\u{10ffff}")[0] > 0);
    }

    proptest! {
        /// Blocks hold what a set would hold, whatever is added and taken out in batches.
        #[test]
        fn blocks_equal_a_set(
            batches in prop::collection::vec(
                prop::collection::btree_map(1i64..3_000, any::<bool>(), 0..800), 1..6)
        ) {
            let conn = Connection::open_in_memory().unwrap();
            conn.execute_batch(include_str!("../engine/migrations/0001.sql")).unwrap();
            let mut reference = BTreeSet::new();
            for batch in batches {
                let batch: BTreeMap<i64, bool> = batch;
                for (&id, &present) in &batch {
                    if present { reference.insert(id); } else { reference.remove(&id); }
                }
                let edits: Vec<Edit> = batch.into_iter().collect();
                apply(&conn, 7, &edits).unwrap();
                let found = containing(&conn, &[7]).unwrap();
                prop_assert_eq!(&found, &reference.iter().copied().collect::<Vec<_>>());
                let largest: Option<i64> = conn
                    .query_row("SELECT max(length(ids)) FROM gram", [], |r| r.get(0)).unwrap();
                prop_assert!(largest.unwrap_or(0) <= MAX_BLOCK as i64 + 10);
            }
        }
    }
}
