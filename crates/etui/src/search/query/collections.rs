//! [`query_collections`]: one answer from several collections.

use super::record_reader::read_sort_key;
use super::rows::{RowBuffer, Rows};
use super::{Cursor, Query, ResultWindow, SearchableRecord, SortOrder};
use crate::error::Result;
use crate::record::{ReadState, Reader};
use crate::types::RecordId;

/// The rows of several collections in one order.
#[derive(Debug, Clone)]
pub struct CollectionRows<C> {
    /// The records with the fields asked for.
    pub rows: Rows<C>,
    /// For each row, the index of its collection.
    pub collections: Vec<usize>,
}

/// Answers `query` over several collections of one kind, read in one state
/// ([`Snapshot`](crate::Snapshot)). Order, limit, offset and cursor are those of the merged answer.
/// With [`SortOrder::Unordered`], the collections follow each other.
///
/// The cost is that of querying each collection for all rows up to the end of the page.
///
/// # Errors
/// Whatever reading reports.
pub fn query_collections<'r, R: SearchableRecord + 'r>(
    collections: impl IntoIterator<Item = &'r Reader<R>>,
    query: &Query<R::Column>,
) -> Result<CollectionRows<R::Column>> {
    let collections: Vec<&Reader<R>> = collections.into_iter().collect();
    if let [one] = collections.as_slice() {
        let rows = one.query(query)?;
        return Ok(CollectionRows {
            collections: vec![0; rows.len()],
            rows,
        });
    }
    let window = &query.window;
    let each = Query {
        window: ResultWindow {
            offset: 0,
            // One collection may have all rows up to the end of the page.
            limit: window.offset.saturating_add(window.limit),
            ..window.clone()
        },
        ..query.clone()
    };
    let mut answers = Vec::new();
    let mut merged: Vec<MergedRow> = Vec::new();
    for (collection, reader) in collections.into_iter().enumerate() {
        let rows = reader.read_ordered(|state| {
            let rows = state.query(&each)?;
            let ranks = state.ranks(&query.ranks);
            for (row, &id) in rows.ids().iter().enumerate() {
                let sort = match window.sort.is_list() {
                    true => sort_key(state, id)?,
                    false => Vec::new(),
                };
                let rank = match window.sort {
                    SortOrder::Rank => ranks.of_id(state.conn, state.collection, id)?,
                    _ => 0,
                };
                merged.push(MergedRow {
                    cursor: Cursor {
                        sort,
                        id: id.0,
                        rank,
                    },
                    collection,
                    row,
                });
            }
            Ok(rows)
        })?;
        answers.push((rows, reader));
    }
    if window.sort != SortOrder::Unordered {
        // The id is the tie-breaker, as in each list.
        merged.sort_by_cached_key(|MergedRow { cursor, .. }| {
            (cursor.rank, cursor.sort.clone(), cursor.id)
        });
        if window.sort.is_reversed() {
            merged.reverse();
        }
    }
    let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let mut buffer = RowBuffer::default();
    let mut indexes = Vec::new();
    let mut last = None;
    let page = merged.into_iter().skip(count(window.offset));
    for row in page.take(count(window.limit)) {
        if let Some((rows, _)) = answers.get(row.collection) {
            buffer.begin_row(RecordId(row.cursor.id));
            buffer.push_encoded(rows.encoded_row(row.row));
            indexes.push(row.collection);
            last = Some(row);
        }
    }
    let is_full = buffer.len() as u64 >= window.limit && window.sort != SortOrder::Unordered;
    let next = match last.filter(|_| is_full) {
        Some(MergedRow {
            mut cursor,
            collection,
            ..
        }) => {
            // Orders by id have not read the sort key, which every cursor has.
            if let Some((_, reader)) = answers.get(collection) {
                cursor.sort = reader.read(|state| sort_key(state, RecordId(cursor.id)))?;
            }
            Some(cursor)
        }
        None => None,
    };
    Ok(CollectionRows {
        rows: Rows::new(query.columns, buffer, next),
        collections: indexes,
    })
}

/// A row of one collection's answer.
struct MergedRow {
    cursor: Cursor,
    collection: usize,
    row: usize,
}

fn sort_key<R: SearchableRecord>(state: &ReadState<'_, R>, id: RecordId) -> Result<Vec<u8>> {
    Ok(read_sort_key(state.conn, id)?.unwrap_or_default())
}
