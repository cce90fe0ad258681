//! Editing a list: inserting and removing entries, splitting blocks and spans.

use std::cell::Cell;
use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, ffi};

use super::block::{Block, BlockWriter, splice_entry};
use super::{BLOCK_BYTES, SPAN_BLOCKS, decode_counts};
use crate::error::{Error, Result};

/// Number of edits in memory before they are written, of neighbours and of edits all over a list. Of the
/// latter each write decodes most blocks, so that writing by 4,096 would take the square of their number.
const MIN_EDITS: usize = 4_096;
const MAX_EDITS: usize = 65_536;
/// Entries decoded for one edit, from which on more edits are collected before the next write.
const SCATTERED: usize = 2;

/// The edits of one collection by sort key and id: entries to insert (with a summary) or to remove.
type EditMap = BTreeMap<(Vec<u8>, i64), Option<Vec<u8>>>;

/// The edits of lists in one transaction, collected so that neighbours are written together. Edits
/// that [`ListEdits::write`] has not written are lost.
pub(crate) struct ListEdits {
    by_collection: BTreeMap<i64, EditMap>,
    gathered: usize,
    /// The number of edits at which they are written.
    limit: usize,
}

impl Default for ListEdits {
    fn default() -> Self {
        Self {
            by_collection: BTreeMap::new(),
            gathered: 0,
            limit: MIN_EDITS,
        }
    }
}

impl ListEdits {
    /// Inserts an entry, or updates its summary.
    pub(crate) fn put(&mut self, collection: i64, sort: &[u8], id: i64, summary: &[u8]) {
        self.add_edit(collection, sort, id, Some(summary.to_vec()));
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, collection: i64, sort: &[u8], id: i64) {
        self.add_edit(collection, sort, id, None);
    }

    fn add_edit(&mut self, collection: i64, sort: &[u8], id: i64, summary: Option<Vec<u8>>) {
        self.gathered += 1;
        self.by_collection
            .entry(collection)
            .or_default()
            .insert((sort.to_vec(), id), summary);
    }

    /// Returns true if the edits should be written before more are added.
    pub(crate) fn is_full(&self) -> bool {
        self.gathered >= self.limit
    }

    /// Writes the edits. `letters` are the bounds of letters, ascending.
    pub(crate) fn write(&mut self, conn: &Connection, letters: &[Vec<u8>]) -> Result<()> {
        let written = std::mem::take(&mut self.gathered);
        let mut decoded = 0;
        for (collection, pending) in std::mem::take(&mut self.by_collection) {
            let edits: Vec<_> = pending.into_iter().collect();
            let list = ListWriter {
                conn,
                collection,
                letters,
                decoded: Cell::new(0),
            };
            let mut rest = &edits[..];
            while !rest.is_empty() {
                rest = list.write_some(rest)?;
            }
            decoded += list.decoded.get();
        }
        if decoded / SCATTERED > written {
            self.limit = (2 * self.limit).min(MAX_EDITS);
        }
        Ok(())
    }
}

/// Empties all lists.
pub(crate) fn clear_lists(conn: &Connection) -> Result<()> {
    conn.execute_batch("DELETE FROM list_block; DELETE FROM list_span")?;
    Ok(())
}

type EntryEdit = ((Vec<u8>, i64), Option<Vec<u8>>);

struct ListWriter<'a> {
    conn: &'a Connection,
    collection: i64,
    letters: &'a [Vec<u8>],
    /// The number of entries of the blocks that were changed.
    decoded: Cell<usize>,
}

struct StoredBlock {
    id: i64,
    first: Vec<u8>,
    entries: Vec<u8>,
}

impl ListWriter<'_> {
    /// Writes the edits of the block of the first edit; returns the others.
    fn write_some<'e>(&self, edits: &'e [EntryEdit]) -> Result<&'e [EntryEdit]> {
        let Some(((sort, id), _)) = edits.first() else {
            return Ok(edits);
        };
        let place = super::list_key(sort, *id);
        // The bounds of the letter of `place`.
        let letter = self.letters.partition_point(|l| *l <= place);
        let begins = letter.checked_sub(1).and_then(|l| self.letters.get(l));
        let begins = begins.map_or(&[][..], |l| &l[..]);
        let block = self
            .conn
            .prepare_cached(
                "SELECT id, first, entries FROM list_block \
                 WHERE collection = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1",
            )?
            .query_row((self.collection, &place), |r| {
                Ok(StoredBlock {
                    id: r.get(0)?,
                    first: r.get(1)?,
                    entries: r.get(2)?,
                })
            })
            .optional()?
            // A span, and so a block, has names of one letter only.
            .filter(|b| b.first.as_slice() >= begins);
        let here = match edits.len() {
            // The most frequent case needs no look-up of the next block.
            1 => 1,
            _ => {
                let bound = block.as_ref().map_or(begins, |b| &b.first);
                let next: Option<Vec<u8>> = self
                    .conn
                    .prepare_cached(
                        "SELECT first FROM list_block WHERE collection = ?1 AND first > ?2 \
                         ORDER BY first LIMIT 1",
                    )?
                    .query_row((self.collection, bound), |r| r.get(0))
                    .optional()?;
                let end = [next.as_ref(), self.letters.get(letter)]
                    .into_iter()
                    .flatten()
                    .min();
                end.map_or(edits.len(), |end| {
                    edits.partition_point(|((sort, id), _)| super::list_key(sort, *id) < *end)
                })
            }
        };
        // At least one edit, so that the caller's loop ends.
        let (here, others) = edits.split_at(here.max(1));
        match block {
            Some(block) => self.rewrite_blocks(block, here)?,
            None => self.begin_letter(begins, here)?,
        }
        Ok(others)
    }

    /// Applies edits to an existing block.
    fn rewrite_blocks(&self, block: StoredBlock, edits: &[EntryEdit]) -> Result<()> {
        let old = Block::new(&block.entries);
        let before = old.len();
        self.decoded.set(self.decoded.get() + before);
        let blocks = match edits {
            [one] => apply_edit(&old, one),
            many => merged(&old, many),
        };
        let first_count = blocks.first().map_or(0, |b| b.count);
        if blocks.len() <= 1 {
            let entries = blocks.first().map_or(EMPTY, |b| &b.entries);
            // Writing equal bytes would still make the page dirty.
            if entries == block.entries {
                return Ok(());
            }
            if first_count == before {
                // Only summaries changed: the counts stay.
                return self.update_block(block.id, entries);
            }
        }
        let span = self.span_of(&block.first)?;
        let mut of_blocks = decode_counts(&span.blocks);
        let at = self.block_ordinal(&span.first, &block.first)?;
        if at >= of_blocks.len() {
            return Err(counted_wrongly());
        }
        if blocks.is_empty() && (at > 0 || of_blocks.len() == 1) {
            // The first block of a span stays while there are others: the span begins there.
            self.conn
                .prepare_cached("DELETE FROM list_block WHERE id = ?1")?
                .execute([block.id])?;
            if of_blocks.len() == 1 {
                self.conn
                    .prepare_cached("DELETE FROM list_span WHERE collection = ?1 AND first = ?2")?
                    .execute((self.collection, &span.first))?;
                return Ok(());
            }
            of_blocks.splice(at..=at, []);
            return self.update_span(&span.first, &of_blocks);
        }
        let entries = blocks.first().map_or(EMPTY, |b| &b.entries);
        self.update_block(block.id, entries)?;
        for more in blocks.iter().skip(1) {
            self.insert_block(&more.first, &more.entries)?;
        }
        let new = blocks.iter().map(|b| saturating_count(b.count));
        // An emptied first block stays, with a count of 0.
        let new: Vec<u16> = match blocks.is_empty() {
            true => vec![0],
            false => new.collect(),
        };
        of_blocks.splice(at..=at, new);
        self.update_span(&span.first, &of_blocks)
    }

    /// Inserts the first blocks of a letter, and their span.
    fn begin_letter(&self, begins: &[u8], edits: &[EntryEdit]) -> Result<()> {
        let mut blocks = merged(&Block::new(EMPTY), edits);
        if let Some(first) = blocks.first_mut() {
            // From the bound of the letter on: a later entry that sorts before all others has its block too.
            first.first = begins.to_vec();
        }
        for part in blocks.chunks(SPAN_BLOCKS) {
            for block in part {
                self.insert_block(&block.first, &block.entries)?;
            }
            let of_blocks: Vec<u16> = part.iter().map(|b| saturating_count(b.count)).collect();
            if let Some(first) = part.first() {
                self.insert_span(&first.first, &of_blocks)?;
            }
        }
        Ok(())
    }

    fn update_block(&self, id: i64, entries: &[u8]) -> Result<()> {
        self.conn
            .prepare_cached("UPDATE list_block SET entries = ?2 WHERE id = ?1")?
            .execute((id, entries))?;
        Ok(())
    }

    fn insert_block(&self, first: &[u8], entries: &[u8]) -> Result<()> {
        self.conn
            .prepare_cached(
                "INSERT INTO list_block (collection, first, entries) VALUES (?1, ?2, ?3)",
            )?
            .execute((self.collection, first, entries))?;
        Ok(())
    }

    fn span_of(&self, first: &[u8]) -> Result<StoredSpan> {
        self.conn
            .prepare_cached(
                "SELECT first, blocks FROM list_span WHERE collection = ?1 AND first <= ?2 \
                 ORDER BY first DESC LIMIT 1",
            )?
            .query_row((self.collection, first), |r| {
                Ok(StoredSpan {
                    first: r.get(0)?,
                    blocks: r.get(1)?,
                })
            })
            .optional()?
            .ok_or_else(counted_wrongly)
    }

    /// Returns the ordinal of the block that begins at `first` in its span.
    fn block_ordinal(&self, span: &[u8], first: &[u8]) -> Result<usize> {
        let before: i64 = self
            .conn
            .prepare_cached(
                "SELECT count(*) FROM list_block \
                 WHERE collection = ?1 AND first >= ?2 AND first < ?3",
            )?
            .query_row((self.collection, span, first), |r| r.get(0))?;
        Ok(usize::try_from(before).unwrap_or(0))
    }

    fn insert_span(&self, first: &[u8], of_blocks: &[u16]) -> Result<()> {
        self.conn
            .prepare_cached(
                "INSERT INTO list_span (collection, first, count, blocks) \
                 VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((
                self.collection,
                first,
                sum_counts(of_blocks),
                encode_counts(of_blocks),
            ))?;
        Ok(())
    }

    /// Writes the counts of a span, split if it has too many blocks.
    fn update_span(&self, first: &[u8], of_blocks: &[u16]) -> Result<()> {
        let parts = of_blocks.len().div_ceil(SPAN_BLOCKS).max(1);
        // `chunks` panics for a size of 0.
        let size = of_blocks.len().div_ceil(parts).max(1);
        let mut begin = 0;
        // The first part keeps the row of the span.
        for part in of_blocks.chunks(size).skip(1) {
            begin += size;
            let first: Vec<u8> = self
                .conn
                .prepare_cached(
                    "SELECT first FROM list_block WHERE collection = ?1 AND first >= ?2 \
                     ORDER BY first LIMIT 1 OFFSET ?3",
                )?
                .query_row((self.collection, first, begin as i64), |r| r.get(0))
                .optional()?
                .ok_or_else(counted_wrongly)?;
            self.insert_span(&first, part)?;
        }
        let part = &of_blocks[..size.min(of_blocks.len())];
        self.conn
            .prepare_cached(
                "UPDATE list_span SET count = ?3, blocks = ?4 WHERE collection = ?1 AND first = ?2",
            )?
            .execute((
                self.collection,
                first,
                sum_counts(part),
                encode_counts(part),
            ))?;
        Ok(())
    }
}

struct StoredSpan {
    first: Vec<u8>,
    blocks: Vec<u8>,
}

/// The error of spans that do not match their blocks: another program wrote to them.
fn counted_wrongly() -> Error {
    let code = ffi::Error::new(ffi::SQLITE_CORRUPT);
    let what = "the list is counted wrongly".to_owned();
    rusqlite::Error::SqliteFailure(code, Some(what)).into()
}

/// An empty block.
const EMPTY: &[u8] = &[0, 0, 0];

struct NewBlock {
    /// Its lower bound; the caller sets that of the first block.
    first: Vec<u8>,
    count: usize,
    entries: Vec<u8>,
}

/// Returns the blocks after one edit.
fn apply_edit(old: &Block<'_>, edit: &EntryEdit) -> Vec<NewBlock> {
    let ((sort, id), summary) = edit;
    match splice_entry(old, sort, *id, summary.as_deref()) {
        Some((_, 0)) => Vec::new(),
        Some((entries, count)) if entries.len() <= BLOCK_BYTES && count <= MAX_COUNT => {
            let first = Vec::new();
            vec![NewBlock {
                first,
                count,
                entries,
            }]
        }
        // Too large for one block, or a block that cannot be spliced: its blocks are built again.
        _ => merged(old, std::slice::from_ref(edit)),
    }
}

/// Returns the blocks after `edits`: none, one or several.
fn merged(old: &Block<'_>, edits: &[EntryEdit]) -> Vec<NewBlock> {
    let mut sorts = Vec::new();
    let mut ends = Vec::with_capacity(old.len());
    old.for_each_sort_key(|sort| {
        sorts.extend_from_slice(sort);
        ends.push(sorts.len());
        true
    });
    let mut start = 0;
    let keys = ends.iter().map(|&end| {
        let key = &sorts[start..end];
        start = end;
        key
    });
    let mut entries = keys
        .zip(old.ids())
        .zip(old.summaries())
        .map(|((sort, id), summary)| (sort, id, summary))
        .peekable();
    let mut all: Vec<(&[u8], i64, &[u8])> = Vec::with_capacity(old.len() + edits.len());
    for ((sort, id), summary) in edits {
        while let Some(entry) = entries.next_if(|e| (e.0, e.1) < (&sort[..], *id)) {
            all.push(entry);
        }
        // The edit replaces the entry with its key.
        entries.next_if(|e| (e.0, e.1) == (&sort[..], *id));
        if let Some(summary) = summary {
            all.push((sort, *id, summary));
        }
    }
    all.extend(entries);
    // A block that grew by one entry is halved, so that both halves have room; a run of new entries
    // fills nine tenths of each block.
    let bytes: usize = all.iter().map(entry_size).sum();
    let fill = match bytes {
        ..=BLOCK_BYTES => BLOCK_BYTES,
        b if b < 2 * BLOCK_BYTES => b / 2,
        b => b.div_ceil(b.div_ceil(BLOCK_BYTES * 9 / 10)),
    };
    let mut blocks = Vec::new();
    let mut writer = BlockWriter::default();
    let mut first = Vec::new();
    let mut begun = 0;
    for entry in &all {
        let size = entry_size(entry);
        let full = begun >= fill || begun + size > BLOCK_BYTES || writer.len() == MAX_COUNT;
        if full && writer.len() > 0 {
            blocks.push(NewBlock {
                first: std::mem::replace(&mut first, super::list_key(entry.0, entry.1)),
                count: writer.len(),
                entries: writer.finish(),
            });
            begun = 0;
        }
        begun += size;
        writer.push(entry.0, entry.1, entry.2);
    }
    if writer.len() > 0 {
        blocks.push(NewBlock {
            first,
            count: writer.len(),
            entries: writer.finish(),
        });
    }
    blocks
}

/// Counts of a block are 16 bits wide.
const MAX_COUNT: usize = 4_096;

/// Returns a bound of the size of an entry in bytes.
fn entry_size((sort, _, summary): &(&[u8], i64, &[u8])) -> usize {
    sort.len() + summary.len() + 8
}

fn saturating_count(count: usize) -> u16 {
    // `MAX_COUNT` is less than `u16::MAX`.
    u16::try_from(count).unwrap_or(u16::MAX)
}

fn sum_counts(of_blocks: &[u16]) -> i64 {
    of_blocks.iter().map(|&n| i64::from(n)).sum()
}

fn encode_counts(of_blocks: &[u16]) -> Vec<u8> {
    of_blocks.iter().flat_map(|n| n.to_le_bytes()).collect()
}
