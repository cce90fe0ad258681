//! Reading a list: positions, letters, and the iteration over blocks.

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension};

use super::block::Block;
use super::decode_counts;
use crate::error::Result;

/// The counts of consecutive blocks.
pub(crate) struct ListSpan {
    pub(crate) first: Vec<u8>,
    pub(crate) count: u64,
    pub(crate) blocks: Vec<u8>,
}

/// Returns all spans of a list.
pub(crate) fn read_spans(conn: &Connection, collection: i64) -> Result<Vec<ListSpan>> {
    let mut statement = conn.prepare_cached(
        "SELECT first, count, blocks FROM list_span WHERE collection = ?1 ORDER BY first",
    )?;
    let spans = statement.query_map([collection], |r| {
        Ok(ListSpan {
            first: r.get(0)?,
            count: r.get::<_, i64>(1)?.unsigned_abs(),
            blocks: r.get(2)?,
        })
    })?;
    Ok(spans.collect::<rusqlite::Result<_>>()?)
}

/// Returns the number of entries of a list.
pub(crate) fn count(conn: &Connection, collection: i64) -> Result<u64> {
    let mut sum = conn.prepare_cached("SELECT sum(count) FROM list_span WHERE collection = ?1")?;
    let all: Option<i64> = sum.query_row([collection], |r| r.get(0))?;
    // sum() of no rows is NULL.
    Ok(all.unwrap_or(0).unsigned_abs())
}

/// Finds the entry at `position`: returns its block's `first`, and the number of entries of the
/// block before it; `None` if the list is shorter.
pub(crate) fn find_position(
    conn: &Connection,
    collection: i64,
    position: u64,
) -> Result<Option<(Vec<u8>, usize)>> {
    let mut rest = position;
    for span in read_spans(conn, collection)? {
        if rest >= span.count {
            rest -= span.count;
            continue;
        }
        let mut ordinal = 0i64;
        for n in decode_counts(&span.blocks) {
            if rest < u64::from(n) {
                break;
            }
            rest -= u64::from(n);
            ordinal += 1;
        }
        let first = conn
            .prepare_cached(
                "SELECT first FROM list_block WHERE collection = ?1 AND first >= ?2 \
                 ORDER BY first LIMIT 1 OFFSET ?3",
            )?
            .query_row((collection, span.first, ordinal), |r| r.get(0))
            .optional()?;
        return Ok(first.map(|first| (first, usize::try_from(rest).unwrap_or(usize::MAX))));
    }
    Ok(None)
}

/// Returns the number of entries before `(sort, id)`.
pub(crate) fn position(conn: &Connection, collection: i64, sort: &[u8], id: i64) -> Result<u64> {
    let place = super::list_key(sort, id);
    let mut statement = conn.prepare_cached(
        "SELECT first, count, blocks FROM list_span WHERE collection = ?1 AND first <= ?2 \
         ORDER BY first",
    )?;
    let mut rows = statement.query((collection, &place))?;
    let mut before = 0;
    let mut last: Option<(Vec<u8>, u64, Vec<u8>)> = None;
    while let Some(row) = rows.next()? {
        // All spans but the last are wholly before the entry.
        if let Some((_, count, _)) = last {
            before += count;
        }
        let count = row.get::<_, i64>(1)?.unsigned_abs();
        last = Some((row.get(0)?, count, row.get(2)?));
    }
    let Some((span, _, blocks)) = last else {
        return Ok(0);
    };
    let mut statement = conn.prepare_cached(
        "SELECT first, entries FROM list_block WHERE collection = ?1 AND first <= ?2 \
         ORDER BY first DESC LIMIT 1",
    )?;
    let mut rows = statement.query((collection, &place))?;
    let Some(row) = rows.next()? else {
        return Ok(before);
    };
    let first = row.get_ref(0)?.as_blob().unwrap_or_default();
    let ordinal: i64 = conn
        .prepare_cached(
            "SELECT count(*) FROM list_block \
             WHERE collection = ?1 AND first >= ?2 AND first < ?3",
        )?
        .query_row((collection, &span, first), |r| r.get(0))?;
    let whole: u64 = decode_counts(&blocks)
        .iter()
        .take(usize::try_from(ordinal).unwrap_or(0))
        .map(|&n| u64::from(n))
        .sum();
    let block = Block::new(row.get_ref(1)?.as_blob().unwrap_or_default());
    Ok(before + whole + block.count_before(sort, id) as u64)
}

/// Returns the number of entries before each bound of `letters`, which are ascending.
pub(crate) fn label_positions(
    conn: &Connection,
    collection: i64,
    letters: &[Vec<u8>],
) -> Result<Vec<u64>> {
    let mut positions = Vec::with_capacity(letters.len());
    let mut before = 0;
    for span in read_spans(conn, collection)? {
        while letters
            .get(positions.len())
            .is_some_and(|l| *l <= span.first)
        {
            positions.push(before);
        }
        before += span.count;
    }
    // Letters after the last entry are at the end of the list.
    positions.resize(letters.len(), before);
    Ok(positions)
}

/// Calls `visit` with each block from the one that holds `from`, to the end of the list or back to
/// its beginning, until it breaks.
pub(crate) fn for_each_block(
    conn: &Connection,
    collection: i64,
    from: &[u8],
    back: bool,
    mut visit: impl FnMut(Block<'_>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut statement = conn.prepare_cached(if back {
        "SELECT entries FROM list_block WHERE collection = ?1 AND first <= ?2 \
         ORDER BY first DESC"
    } else {
        "SELECT entries FROM list_block WHERE collection = ?1 AND first >= coalesce(\
         (SELECT first FROM list_block WHERE collection = ?1 AND first <= ?2 \
          ORDER BY first DESC LIMIT 1), x'') ORDER BY first"
    })?;
    let mut rows = statement.query((collection, from))?;
    while let Some(row) = rows.next()? {
        let block = Block::new(row.get_ref(0)?.as_blob().unwrap_or_default());
        if visit(block)?.is_break() {
            break;
        }
    }
    Ok(())
}
