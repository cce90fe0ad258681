//! Reading a list: positions, letters, and the walk from block to block.

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension};

use super::block::Block;
use super::decode_counts;
use crate::error::Result;

/// Counted blocks in a row.
pub(crate) struct ListSpan {
    pub(crate) first: Vec<u8>,
    pub(crate) count: u64,
    pub(crate) blocks: Vec<u8>,
}

/// All spans of a list, for whoever checks them.
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

/// How many entries a list has.
pub(crate) fn count(conn: &Connection, collection: i64) -> Result<u64> {
    let mut sum = conn.prepare_cached("SELECT sum(count) FROM list_span WHERE collection = ?1")?;
    let all: Option<i64> = sum.query_row([collection], |r| r.get(0))?;
    Ok(all.unwrap_or(0).unsigned_abs())
}

/// Where the entry at `position` is: its block's `first`, and how many of the block's entries
/// stand before it. `None`: the list is shorter.
pub(crate) fn find_position(
    conn: &Connection,
    collection: i64,
    position: u64,
) -> Result<Option<(Vec<u8>, usize)>> {
    let mut statement = conn.prepare_cached(
        "SELECT count, blocks, first FROM list_span WHERE collection = ?1 ORDER BY first",
    )?;
    let mut rows = statement.query([collection])?;
    let mut rest = position;
    while let Some(row) = rows.next()? {
        let count = row.get::<_, i64>(0)?.unsigned_abs();
        if rest >= count {
            rest -= count;
            continue;
        }
        let mut ordinal = 0i64;
        for n in decode_counts(row.get_ref(1)?.as_blob().unwrap_or_default()) {
            if rest < u64::from(n) {
                break;
            }
            rest -= u64::from(n);
            ordinal += 1;
        }
        let span = row.get_ref(2)?.as_blob().unwrap_or_default();
        let first = conn
            .prepare_cached(
                "SELECT first FROM list_block WHERE collection = ?1 AND first >= ?2 \
                 ORDER BY first LIMIT 1 OFFSET ?3",
            )?
            .query_row((collection, span, ordinal), |r| r.get(0))
            .optional()?;
        return Ok(first.map(|first| (first, usize::try_from(rest).unwrap_or(usize::MAX))));
    }
    Ok(None)
}

/// How many entries stand before the place of `(sort, id)`.
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

/// How many entries stand before each of `letters`, which are where letters begin, ascending.
pub(crate) fn label_positions(
    conn: &Connection,
    collection: i64,
    letters: &[Vec<u8>],
) -> Result<Vec<u64>> {
    let mut statement = conn.prepare_cached(
        "SELECT first, count FROM list_span WHERE collection = ?1 ORDER BY first",
    )?;
    let mut rows = statement.query([collection])?;
    let mut positions = Vec::with_capacity(letters.len());
    let mut before = 0;
    while let Some(row) = rows.next()? {
        let first = row.get_ref(0)?.as_blob().unwrap_or_default();
        while letters
            .get(positions.len())
            .is_some_and(|l| l.as_slice() <= first)
        {
            positions.push(before);
        }
        before += row.get::<_, i64>(1)?.unsigned_abs();
    }
    positions.resize(letters.len(), before);
    Ok(positions)
}

/// Calls `visit` with each block from the one that holds `from` on, or back to the list's
/// beginning, until it breaks off.
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

/// The same from the block on whose `first` is this, or, if that is empty, from the list's beginning
/// on; `visit` gets each block's `first`, too. Half as dear to prepare, which counts where a program
/// looks but once.
pub(crate) fn for_each_block_from(
    conn: &Connection,
    collection: i64,
    first: &[u8],
    mut visit: impl FnMut(&[u8], Block<'_>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut statement = conn.prepare_cached(
        "SELECT entries, first FROM list_block WHERE collection = ?1 AND first >= ?2 ORDER BY first",
    )?;
    let mut rows = statement.query((collection, first))?;
    while let Some(row) = rows.next()? {
        let block = Block::new(row.get_ref(0)?.as_blob().unwrap_or_default());
        if visit(row.get_ref(1)?.as_blob().unwrap_or_default(), block)?.is_break() {
            break;
        }
    }
    Ok(())
}
