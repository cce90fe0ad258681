//! [`across`]: one answer of several collections, as if they were one.

use rusqlite::OptionalExtension;

use super::rows::{Rows, Table};
use super::{Cursor, Listed, Part, Query, Sort};
use crate::error::Result;
use crate::record::Reader;
use crate::types::RecordId;

/// What a query means in several collections, in one order.
#[derive(Debug, Clone)]
pub struct Across<C> {
    /// The records with the fields asked for.
    pub rows: Rows<C>,
    /// For each of them, which of the collections it is in.
    pub of: Vec<usize>,
}

/// The records of several collections of one kind, read in one state
/// ([`Snapshot`](crate::Snapshot)), that `query` means, as if they were one collection: order,
/// limit, offset and places are those of all together. Of [`Sort::Found`], one collection follows
/// the other.
///
/// It costs as much as a query of each collection for all rows up to the end of the part asked
/// for.
///
/// # Errors
/// Whatever reading reports.
pub fn across<'r, 's: 'r, R: Listed + 'r>(
    collections: impl IntoIterator<Item = &'r Reader<'s, R>>,
    query: &Query<R::Column>,
) -> Result<Across<R::Column>> {
    let collections: Vec<&Reader<'s, R>> = collections.into_iter().collect();
    if let [one] = collections.as_slice() {
        let rows = one.query(query)?;
        return Ok(Across {
            of: vec![0; rows.len()],
            rows,
        });
    }
    let part = &query.part;
    let each = Query {
        part: Part {
            offset: 0,
            limit: part.offset.saturating_add(part.limit),
            ..part.clone()
        },
        ..query.clone()
    };
    let mut answers = Vec::new();
    let mut all: Vec<Found> = Vec::new();
    for (of, reader) in collections.into_iter().enumerate() {
        let rows = reader.query(&each)?;
        for (row, &id) in rows.ids().iter().enumerate() {
            let sort = match part.sort.is_list() {
                true => sort_of(reader, id)?,
                false => Vec::new(),
            };
            let place = Cursor { sort, id: id.0 };
            all.push(Found { place, of, row });
        }
        answers.push((rows, reader));
    }
    if part.sort != Sort::Found {
        let place = |found: &Found| (found.place.sort.clone(), found.place.id);
        all.sort_by_cached_key(place);
        if part.sort.is_reversed() {
            all.reverse();
        }
    }
    let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let mut table = Table::default();
    let mut of = Vec::new();
    let mut last = None;
    let shown = all.into_iter().skip(count(part.offset));
    for found in shown.take(count(part.limit)) {
        if let Some((rows, _)) = answers.get(found.of) {
            table.begin(RecordId(found.place.id));
            table.push_stored(rows.stored(found.row));
            of.push(found.of);
            last = Some(found);
        }
    }
    let is_full = table.len() as u64 >= part.limit && part.sort != Sort::Found;
    let next = match last.filter(|_| is_full) {
        Some(Found { mut place, of, .. }) => {
            if let Some((_, reader)) = answers.get(of) {
                place.sort = sort_of(reader, RecordId(place.id))?;
            }
            Some(place)
        }
        None => None,
    };
    Ok(Across {
        rows: Rows::new(query.columns, table, next),
        of,
    })
}

/// A row of one of the answers.
struct Found {
    place: Cursor,
    of: usize,
    row: usize,
}

fn sort_of<R: Listed>(reader: &Reader<'_, R>, id: RecordId) -> Result<Vec<u8>> {
    reader.told(|| {
        let found = reader
            .conn
            .prepare_cached("SELECT sort FROM record WHERE id = ?1")?
            .query_row([id.0], |r| r.get(0))
            .optional()?;
        Ok(found.unwrap_or_default())
    })
}
