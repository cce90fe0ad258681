//! Posting lists: the records that have a term or a trigram.
//!
//! ```text
//! row := (term | trigram, first) -> ids
//! ids := varint*    each the difference to the id before; the one before the first is `first`
//! ```
//!
//! A row takes ids until they have [`MAX_BLOCK`] bytes. The tables are `WITHOUT ROWID`, whose inner
//! pages hold whole rows too: with rows of a kilobyte only four would fit on a page, and a lookup
//! among a million records would descend nine pages.

use std::ops::Range;
use std::sync::LazyLock;

use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension};

use super::id_set::{RecordIds, RecordIdsBuilder};
use crate::error::Result;
use etui_text::varint;

/// Bytes of `ids` at which a row is full.
pub(crate) const MAX_BLOCK: usize = 240;

/// The statements on one of the two tables.
pub(crate) struct PostingSql {
    list: String,
    range: String,
    rows: String,
    keys: String,
    first_key: String,
    last_block: String,
    block_at: String,
    block_after: String,
    delete: String,
    insert: String,
}

impl PostingSql {
    fn new(table: &str, key: &str) -> Self {
        let sql = |text: &str| text.replace("TABLE", table).replace("KEY", key);
        let list = "SELECT first, ids FROM TABLE WHERE KEY = ?1";
        Self {
            list: sql(&format!("{list} ORDER BY first")),
            range: sql("SELECT first, ids FROM TABLE WHERE KEY >= ?1 AND KEY < ?2"),
            rows: sql(
                "SELECT KEY, first, ids FROM TABLE WHERE KEY >= ?1 AND KEY < ?2 \
                 ORDER BY KEY, first",
            ),
            keys: sql("SELECT DISTINCT KEY FROM TABLE WHERE KEY >= ?1 AND KEY < ?2"),
            first_key: sql("SELECT KEY FROM TABLE WHERE KEY >= ?1 AND KEY < ?2 LIMIT 1"),
            last_block: sql(&format!("{list} ORDER BY first DESC LIMIT 1")),
            block_at: sql(&format!(
                "{list} AND first <= ?2 ORDER BY first DESC LIMIT 1"
            )),
            block_after: sql("SELECT first FROM TABLE WHERE KEY = ?1 AND first > ?2 \
                 ORDER BY first LIMIT 1"),
            delete: sql("DELETE FROM TABLE WHERE KEY = ?1 AND first = ?2"),
            // A row whose first id stays is replaced in place.
            insert: sql("INSERT OR REPLACE INTO TABLE (KEY, first, ids) VALUES (?1, ?2, ?3)"),
        }
    }
}

/// The key of a posting list, which determines its table.
pub(crate) trait PostingKey: ToSql + Copy {
    /// Returns the statements on the table.
    fn sql() -> &'static PostingSql;
}

/// A term.
impl PostingKey for &[u8] {
    fn sql() -> &'static PostingSql {
        static SQL: LazyLock<PostingSql> =
            LazyLock::new(|| PostingSql::new("term_posting", "term"));
        &SQL
    }
}

/// A trigram.
impl PostingKey for i64 {
    fn sql() -> &'static PostingSql {
        static SQL: LazyLock<PostingSql> =
            LazyLock::new(|| PostingSql::new("trigram_posting", "trigram"));
        &SQL
    }
}

/// A record that gained (`true`) or lost (`false`) a key.
pub(crate) type Edit = (i64, bool);

/// Calls `visit` with each record of `key`, ascending.
pub(crate) fn read_list<K: PostingKey>(
    conn: &Connection,
    key: K,
    mut visit: impl FnMut(i64),
) -> Result<()> {
    let mut statement = conn.prepare_cached(&K::sql().list)?;
    let mut rows = statement.query([key])?;
    while let Some(row) = rows.next()? {
        let ids = row.get_ref(1)?.as_blob().unwrap_or_default();
        decode_row(row.get(0)?, ids, &mut visit);
    }
    Ok(())
}

/// Calls `visit` with each record of each key in a range. A record of several keys is visited
/// several times, and the order is that of the keys.
pub(crate) fn read_range<K: PostingKey>(
    conn: &Connection,
    keys: Range<K>,
    mut visit: impl FnMut(i64),
) -> Result<()> {
    let mut statement = conn.prepare_cached(&K::sql().range)?;
    let mut rows = statement.query((keys.start, keys.end))?;
    while let Some(row) = rows.next()? {
        let ids = row.get_ref(1)?.as_blob().unwrap_or_default();
        decode_row(row.get(0)?, ids, &mut visit);
    }
    Ok(())
}

/// Calls `visit` with each row of a range of terms: term, first id, ids.
pub(crate) fn each_row(
    conn: &Connection,
    terms: Range<&[u8]>,
    mut visit: impl FnMut(&[u8], i64, &[u8]),
) -> Result<()> {
    let mut statement = conn.prepare_cached(&<&[u8]>::sql().rows)?;
    let mut rows = statement.query((terms.start, terms.end))?;
    while let Some(row) = rows.next()? {
        let term = row.get_ref(0)?.as_blob().unwrap_or_default();
        let ids = row.get_ref(2)?.as_blob().unwrap_or_default();
        visit(term, row.get(1)?, ids);
    }
    Ok(())
}

/// Calls `visit` with each term in a range, once, in order.
pub(crate) fn each_term(
    conn: &Connection,
    terms: Range<&[u8]>,
    mut visit: impl FnMut(&[u8]),
) -> Result<()> {
    let mut statement = conn.prepare_cached(&<&[u8]>::sql().keys)?;
    let mut rows = statement.query((terms.start, terms.end))?;
    while let Some(row) = rows.next()? {
        visit(row.get_ref(0)?.as_blob().unwrap_or_default());
    }
    Ok(())
}

/// Returns the first term in a range.
pub(crate) fn first_term(conn: &Connection, terms: Range<&[u8]>) -> Result<Option<Vec<u8>>> {
    Ok(conn
        .prepare_cached(&<&[u8]>::sql().first_key)?
        .query_row((terms.start, terms.end), |row| row.get(0))
        .optional()?)
}

/// Returns the records of `key`.
pub(crate) fn record_ids(conn: &Connection, key: impl PostingKey) -> Result<RecordIds> {
    let mut ids = RecordIdsBuilder::default();
    read_list(conn, key, |id| ids.add(id))?;
    Ok(ids.finish())
}

/// Writes the list of a key that has none.
pub(crate) fn insert_list<K: PostingKey>(conn: &Connection, key: K, ids: &[i64]) -> Result<()> {
    let mut insert = conn.prepare_cached(&K::sql().insert)?;
    encode_list(ids, |first, ids| {
        insert.execute((key, first, ids))?;
        Ok(())
    })
}

/// Applies `edits`, ascending by record and at most one per record, to the list of `key`.
pub(crate) fn apply_edits<K: PostingKey>(
    conn: &Connection,
    key: K,
    mut edits: &[Edit],
) -> Result<()> {
    let last = conn
        .prepare_cached(&K::sql().last_block)?
        .query_row([key], read_block)
        .optional()?;
    while let Some(&(next, _)) = edits.first() {
        // The block that `next` belongs to is the last one that starts at or before it, or else
        // the list's first; usually it is the list's last. `end` is the start of the block after.
        let (block, end) = match &last {
            None => (None, None),
            Some((first, ids)) if *first <= next => (Some((*first, ids.clone())), None),
            Some(_) => {
                let block = conn
                    .prepare_cached(&K::sql().block_at)?
                    .query_row((key, next), read_block)
                    .optional()?;
                let bound = block.as_ref().map_or(next, |(first, _)| *first);
                let end: Option<i64> = conn
                    .prepare_cached(&K::sql().block_after)?
                    .query_row((key, bound), |r| r.get(0))
                    .optional()?;
                (block, end)
            }
        };
        let in_block = end.map_or(edits.len(), |end| edits.partition_point(|e| e.0 < end));
        let (now, later) = edits.split_at(in_block);
        edits = later;
        let mut old = Vec::new();
        if let Some((first, ids)) = &block {
            decode_row(*first, ids, |id| old.push(id));
        }
        let new = merge_edits(&old, now);
        // Writing equal ids would still make the page dirty.
        if new == old {
            continue;
        }
        // The insert below does not replace the row of another first id.
        if let Some((first, _)) = block
            && new.first() != Some(&first)
        {
            conn.prepare_cached(&K::sql().delete)?
                .execute((key, first))?;
        }
        insert_list(conn, key, &new)?;
    }
    Ok(())
}

fn read_block(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, Vec<u8>)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn merge_edits(old: &[i64], edits: &[Edit]) -> Vec<i64> {
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

/// Calls `write` with each row of a list of ascending ids.
fn encode_list(ids: &[i64], mut write: impl FnMut(i64, &[u8]) -> Result<()>) -> Result<()> {
    let mut rest = ids.iter().copied().peekable();
    // A varint has at most ten bytes.
    let mut block = Vec::with_capacity(MAX_BLOCK + 10);
    while let Some(first) = rest.next() {
        block.clear();
        let mut last = first;
        while block.len() < MAX_BLOCK {
            let Some(id) = rest.next() else { break };
            varint::push_u64(&mut block, id.abs_diff(last));
            last = id;
        }
        write(first, &block)?;
    }
    Ok(())
}

/// Calls `visit` with each id of a row. A damaged row ends at its first malformed byte.
pub(crate) fn decode_row(first: i64, mut ids: &[u8], mut visit: impl FnMut(i64)) {
    let mut last = first;
    visit(first);
    while !ids.is_empty() {
        match varint::take_u64(&mut ids).and_then(|n| last.checked_add_unsigned(n)) {
            Some(id) if id != last => {
                visit(id);
                last = id;
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn empty() -> Connection {
        let conn = Connection::open_in_memory().unwrap();
        crate::db::schema::Migrations(&[]).run(&conn, 0).unwrap();
        conn
    }

    fn ids_in<K: PostingKey>(conn: &Connection, keys: Range<K>) -> Vec<i64> {
        let mut found = Vec::new();
        read_range(conn, keys, |id| found.push(id)).unwrap();
        found.sort_unstable();
        found
    }

    /// Reads and edits of terms do not touch trigrams, and the reverse.
    #[test]
    fn terms_and_trigrams_are_separate() {
        let conn = empty();
        let trigrams = [0, 1, i64::from(b'a'), i64::MAX - 1];
        let terms: [&[u8]; 5] = [b"", b"\0", b"a", b"1", b"\xff\xff"];
        for (id, trigram) in (1..).zip(trigrams) {
            insert_list(&conn, trigram, &[id]).unwrap();
        }
        for (id, term) in (11..).zip(terms) {
            insert_list(&conn, term, &[id]).unwrap();
        }
        let all_terms: Range<&[u8]> = b""..b"\xff\xff\xff";
        assert_eq!(ids_in(&conn, 0..i64::MAX), [1, 2, 3, 4]);
        assert_eq!(ids_in(&conn, 1..i64::MAX - 1), [2, 3]);
        assert_eq!(ids_in(&conn, all_terms.clone()), [11, 12, 13, 14, 15]);
        assert_eq!(ids_in(&conn, terms[1]..terms[4]), [12, 13, 14]);

        let trigram = i64::from(b'a');
        let term: &[u8] = b"a";
        apply_edits(&conn, trigram, &[(3, false), (7, true)]).unwrap();
        apply_edits(&conn, term, &[(8, true)]).unwrap();
        assert!(record_ids(&conn, trigram).unwrap().iter().eq([7]));
        assert!(record_ids(&conn, term).unwrap().iter().eq([8, 13]));
        apply_edits(&conn, term, &[(8, false), (13, false)]).unwrap();
        assert_eq!(ids_in(&conn, 0..i64::MAX), [1, 2, 4, 7]);
        assert_eq!(ids_in(&conn, all_terms), [11, 12, 14, 15]);
    }

    /// No statement reads rows outside its bounds, or sorts rows that are in order.
    #[test]
    fn every_statement_seeks() {
        let conn = empty();
        for (sql, table, key) in [
            (<&[u8]>::sql(), "term_posting", "term"),
            (<i64>::sql(), "trigram_posting", "trigram"),
        ] {
            for (statement, bounds) in [
                (&sql.list, "KEY=?"),
                (&sql.range, "KEY>? AND KEY<?"),
                (&sql.rows, "KEY>? AND KEY<?"),
                (&sql.keys, "KEY>? AND KEY<?"),
                (&sql.first_key, "KEY>? AND KEY<?"),
                (&sql.last_block, "KEY=?"),
                (&sql.block_at, "KEY=? AND first<?"),
                (&sql.block_after, "KEY=? AND first>?"),
                (&sql.delete, "KEY=? AND first=?"),
            ] {
                let mut plan = conn
                    .prepare(&format!("EXPLAIN QUERY PLAN {statement}"))
                    .unwrap();
                let plan: Vec<String> = plan
                    .raw_query()
                    .mapped(|r| r.get(3))
                    .collect::<rusqlite::Result<_>>()
                    .unwrap();
                let bounds = bounds.replace("KEY", key);
                let wanted = format!("SEARCH {table} USING PRIMARY KEY ({bounds})");
                assert_eq!(plan, [wanted], "{statement}");
            }
        }
    }

    proptest! {
        /// Lists equal a set after any batches of additions and removals.
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
                apply_edits(&conn, 7, &edits).unwrap();
                apply_edits(&conn, b"x".as_slice(), &edits).unwrap();
                let found = record_ids(&conn, 7).unwrap();
                prop_assert!(found.iter().eq(reference.iter().map(|id| id.cast_unsigned())));
                prop_assert_eq!(found, record_ids(&conn, b"x".as_slice()).unwrap());
                let largest: Option<i64> = conn
                    .query_row("SELECT max(length(ids)) FROM trigram_posting", [], |r| r.get(0)).unwrap();
                prop_assert!(largest.unwrap_or(0) <= MAX_BLOCK as i64 + 10);
            }
        }

        #[test]
        fn any_bytes_decode(first in any::<i64>(), ids in prop::collection::vec(any::<u8>(), 0..40)) {
            decode_row(first, &ids, |_| {});
        }
    }
}
