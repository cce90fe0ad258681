//! [`RecordsById`]: the records that queries and date books fetch by id.

use std::fmt::Write as _;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row};

use crate::error::Result;
use crate::record::keys::SearchKeys;
use crate::search::index::id_set::RecordIds;
use crate::types::RecordId;

/// Fetches live records of one collection by id. Starting a statement costs as much as finding a
/// record, so one statement fetches up to [`BATCH`] records, in the order of their ids' arguments.
pub(crate) struct RecordsById<'c> {
    conn: &'c Connection,
    collection: i64,
    columns: &'static str,
    single: Option<CachedStatement<'c>>,
    batch: Option<CachedStatement<'c>>,
}

/// Records fetched by one statement (experiment `searches`).
pub(crate) const BATCH: usize = 32;

impl<'c> RecordsById<'c> {
    /// `columns`: the columns of `r`, the record, that follow its id.
    pub(crate) fn new(conn: &'c Connection, collection: i64, columns: &'static str) -> Self {
        Self {
            conn,
            collection,
            columns,
            single: None,
            batch: None,
        }
    }

    /// Calls `visit` with the row of each record that is live and in the collection.
    pub(crate) fn each_row(
        &mut self,
        ids: &[i64],
        mut visit: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        for chunk in ids.chunks(BATCH) {
            let (slot, size) = match chunk.len() {
                1 => (&mut self.single, 1),
                _ => (&mut self.batch, BATCH),
            };
            let statement = match slot {
                Some(statement) => statement,
                None => slot.insert(prepare_select(self.conn, self.columns, size)?),
            };
            // Unused parameters of a batch are NULL, which no record's id equals.
            for at in 0..size {
                statement.raw_bind_parameter(at + 1, chunk.get(at))?;
            }
            statement.raw_bind_parameter(size + 1, self.collection)?;
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                visit(row)?;
            }
        }
        Ok(())
    }
}

/// Returns the sort key of a record.
pub(super) fn read_sort_key(conn: &Connection, id: RecordId) -> Result<Option<Vec<u8>>> {
    Ok(conn
        .prepare_cached("SELECT sort_key FROM record WHERE id = ?1")?
        .query_row([id.0], |r| r.get(0))
        .optional()?)
}

fn prepare_select<'c>(
    conn: &'c Connection,
    columns: &str,
    size: usize,
) -> Result<CachedStatement<'c>> {
    if size == 1 {
        return Ok(conn.prepare_cached(&format!(
            "SELECT r.id, {columns} FROM record r \
             WHERE r.id = ?1 AND r.collection = ?2 AND r.removed_at IS NULL"
        ))?);
    }
    let mut sql = format!("SELECT r.id, {columns} FROM (VALUES (?1)");
    for n in 2..=size {
        // Writing to a String does not fail.
        let _ = write!(sql, ",(?{n})");
    }
    let _ = write!(
        sql,
        ") v CROSS JOIN record r ON r.id = v.column1 \
         WHERE r.collection = ?{} AND r.removed_at IS NULL",
        size + 1
    );
    Ok(conn.prepare_cached(&sql)?)
}

/// Fetches the columns by which a record is rechecked and sorted.
pub(super) struct RecheckReader<'c>(RecordsById<'c>);

/// A record's columns for recheck and sort.
pub(super) struct RecheckRow<'r> {
    pub(super) id: i64,
    pub(super) sort: &'r [u8],
    pub(super) summary: &'r [u8],
    pub(super) search: SearchKeys<'r>,
}

impl<'c> RecheckReader<'c> {
    pub(super) fn new(conn: &'c Connection, collection: i64) -> Self {
        Self(RecordsById::new(
            conn,
            collection,
            "r.sort_key, r.summary, r.uid, r.keys",
        ))
    }

    /// Calls `visit` with each of these records that is live and in the collection.
    pub(super) fn each_row(
        &mut self,
        ids: &[i64],
        mut visit: impl FnMut(RecheckRow<'_>) -> Result<()>,
    ) -> Result<()> {
        self.0.each_row(ids, |row| {
            let column =
                |n| -> Result<&[u8]> { Ok(row.get_ref(n)?.as_bytes().unwrap_or_default()) };
            visit(RecheckRow {
                id: row.get(0)?,
                sort: column(1)?,
                summary: column(2)?,
                search: SearchKeys {
                    uid: column(3)?,
                    keys: column(4)?,
                },
            })
        })
    }

    /// Returns true if the record is live, in the collection, and matches.
    pub(super) fn recheck_record(
        &mut self,
        id: i64,
        matches: impl Fn(SearchKeys<'_>) -> bool,
    ) -> Result<bool> {
        let mut is_match = false;
        self.each_row(&[id], |row| {
            is_match = matches(row.search);
            Ok(())
        })?;
        Ok(is_match)
    }
}

/// Calls `visit` with the id, UID and keys of each of these records that is live and in the collection, in
/// the order of their ids. If they are at least half of a range of ids, the range is read in one
/// scan.
pub(super) fn each_key_set(
    conn: &Connection,
    collection: i64,
    ids: &RecordIds,
    mut visit: impl FnMut(i64, SearchKeys<'_>),
) -> Result<()> {
    let (Some(first), Some(last)) = (ids.min(), ids.max()) else {
        return Ok(());
    };
    let is_dense = ids.len() >= (last - first) / 2;
    let mut ids = ids.iter();
    let mut visit_row = |row: &Row<'_>| -> Result<()> {
        let search = SearchKeys {
            uid: row.get_ref(1)?.as_bytes().unwrap_or_default(),
            keys: row.get_ref(2)?.as_blob().unwrap_or_default(),
        };
        visit(row.get(0)?, search);
        Ok(())
    };
    if !is_dense {
        let ids: Vec<i64> = ids.map(u64::cast_signed).collect();
        return RecordsById::new(conn, collection, "r.uid, r.keys").each_row(&ids, visit_row);
    }
    let mut statement = conn.prepare_cached(
        "SELECT id, uid, keys FROM record NOT INDEXED \
         WHERE id BETWEEN ?1 AND ?2 AND collection = ?3 AND removed_at IS NULL ORDER BY id",
    )?;
    let mut rows = statement.query((first.cast_signed(), last.cast_signed(), collection))?;
    let mut next = ids.next();
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        while next.is_some_and(|next| next < id.cast_unsigned()) {
            next = ids.next();
        }
        if next == Some(id.cast_unsigned()) {
            visit_row(row)?;
        }
    }
    Ok(())
}

/// Matches with their sort keys and summaries, in one allocation.
#[derive(Default)]
pub(super) struct SortBuffer {
    bytes: Vec<u8>,
    entries: Vec<SortEntry>,
}

/// A match: its rank and id, and the offsets of its sort key and summary.
struct SortEntry {
    rank: u8,
    id: i64,
    sort_start: usize,
    summary_start: usize,
    end: usize,
}

impl SortBuffer {
    pub(super) fn push(&mut self, rank: u8, id: i64, sort: &[u8], summary: &[u8]) {
        let sort_start = self.bytes.len();
        self.bytes.extend_from_slice(sort);
        let summary_start = self.bytes.len();
        self.bytes.extend_from_slice(summary);
        self.entries.push(SortEntry {
            rank,
            id,
            sort_start,
            summary_start,
            end: self.bytes.len(),
        });
    }

    pub(super) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries
            .sort_unstable_by_key(|e| (e.rank, &bytes[e.sort_start..e.summary_start], e.id));
    }

    /// Returns each match in order: rank, id, sort key, summary.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u8, i64, &[u8], &[u8])> {
        self.entries.iter().map(|e| {
            let sort = &self.bytes[e.sort_start..e.summary_start];
            (e.rank, e.id, sort, &self.bytes[e.summary_start..e.end])
        })
    }
}
