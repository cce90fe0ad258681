//! A block of a list: some dozen entries in order.
//!
//! ```text
//! block     := n:varint  ids:varint  sorts:varint      entries, and bytes of the next two parts
//!              ids sorts summaries
//! ids       := (zigzag varint)*n                       each the distance from the id before, 0 first
//! sorts     := (shared:varint length:varint bytes)*n   sort key: what it shares with the one before
//! summaries := (length:varint bytes)*n
//! ```
//!
//! The parts are separate, so that reading the ids or finding a key reads no other part. Bytes that
//! are no block are read as far as they are valid.

use std::ops::Range;

use etui_text::varint;

/// A stored block.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    count: usize,
    ids: &'a [u8],
    sorts: &'a [u8],
    summaries: &'a [u8],
}

impl<'a> Block<'a> {
    pub(crate) fn new(mut bytes: &'a [u8]) -> Self {
        let mut parts = || {
            let count = varint::take_u64(&mut bytes)?;
            let ids = usize::try_from(varint::take_u64(&mut bytes)?).ok()?;
            let sorts = usize::try_from(varint::take_u64(&mut bytes)?).ok()?;
            let (ids, rest) = bytes.split_at_checked(ids)?;
            let (sorts, summaries) = rest.split_at_checked(sorts)?;
            // Every entry has at least one byte in each part.
            let count = usize::try_from(count).ok().filter(|&n| n <= ids.len())?;
            Some(Self {
                count,
                ids,
                sorts,
                summaries,
            })
        };
        parts().unwrap_or(Self {
            count: 0,
            ids: &[],
            sorts: &[],
            summaries: &[],
        })
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns the ids in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = i64> + use<'a> {
        let mut rest = self.ids;
        let mut last = 0i64;
        (0..self.count).map_while(move |_| {
            last = last.wrapping_add(varint::zigzag_decode(varint::take_u64(&mut rest)?));
            Some(last)
        })
    }

    /// Returns the summaries in order.
    pub(crate) fn summaries(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.summaries;
        (0..self.count).map_while(move |_| varint::take_bytes(&mut rest))
    }

    /// Calls `visit` with each sort key in order, until it returns false.
    pub(crate) fn for_each_sort_key(&self, mut visit: impl FnMut(&[u8]) -> bool) {
        let mut rest = self.sorts;
        let mut key = Vec::with_capacity(64);
        for _ in 0..self.count {
            let Some(shared) = varint::take_u64(&mut rest).and_then(|n| usize::try_from(n).ok())
            else {
                return;
            };
            let Some(bytes) = varint::take_bytes(&mut rest) else {
                return;
            };
            key.truncate(shared);
            key.extend_from_slice(bytes);
            if !visit(&key) {
                return;
            }
        }
    }

    /// Returns the number of entries before `(sort, id)`.
    pub(crate) fn count_before(&self, sort: &[u8], id: i64) -> usize {
        let mut ids = self.ids();
        let mut before = 0;
        self.for_each_sort_key(|key| {
            let is_before = ids.next().is_some_and(|i| (key, i) < (sort, id));
            before += usize::from(is_before);
            is_before
        });
        before
    }
}

/// An entry of a block: its id, and the ranges of its parts.
#[derive(Default)]
struct EntryRanges {
    id: i64,
    ids: Range<usize>,
    sorts: Range<usize>,
    summary: Range<usize>,
}

/// A cursor over the entries of a block and the ranges of their parts.
struct EntryCursor<'a> {
    block: Block<'a>,
    at: EntryRanges,
    key: Vec<u8>,
    taken: usize,
}

impl<'a> EntryCursor<'a> {
    fn new(block: Block<'a>) -> Self {
        Self {
            block,
            at: EntryRanges::default(),
            key: Vec::with_capacity(64),
            taken: 0,
        }
    }

    /// Advances to the next entry; returns false at the end or at invalid bytes.
    fn advance(&mut self) -> bool {
        let mut next = || {
            if self.taken == self.block.count {
                return None;
            }
            let (ids, sorts) = (self.block.ids, self.block.sorts);
            let summaries = self.block.summaries;
            let mut rest = ids.get(self.at.ids.end..)?;
            self.at.id = self
                .at
                .id
                .wrapping_add(varint::zigzag_decode(varint::take_u64(&mut rest)?));
            self.at.ids = self.at.ids.end..ids.len() - rest.len();
            let mut rest = sorts.get(self.at.sorts.end..)?;
            let shared = usize::try_from(varint::take_u64(&mut rest)?).ok()?;
            let bytes = varint::take_bytes(&mut rest)?;
            self.key.truncate(shared);
            self.key.extend_from_slice(bytes);
            self.at.sorts = self.at.sorts.end..sorts.len() - rest.len();
            let mut rest = summaries.get(self.at.summary.end..)?;
            varint::take_bytes(&mut rest)?;
            self.at.summary = self.at.summary.end..summaries.len() - rest.len();
            self.taken += 1;
            Some(())
        };
        next().is_some()
    }
}

/// A block after the edit of one entry.
pub(crate) struct SplicedBlock {
    pub(crate) bytes: Vec<u8>,
    pub(crate) count: usize,
}

/// Returns the block with one entry inserted or updated (`Some` summary) or removed (`None`); the
/// parts of other entries are copied unchanged. Returns `None` if there is nothing to change, or
/// the block cannot be read to its end.
pub(crate) fn splice_entry(
    block: &Block<'_>,
    sort: &[u8],
    id: i64,
    summary: Option<&[u8]>,
) -> Option<SplicedBlock> {
    let mut steps = EntryCursor::new(*block);
    let (mut before_id, mut before_key) = (0, Vec::with_capacity(64));
    let mut here = steps.advance();
    while here && (&steps.key[..], steps.at.id) < (sort, id) {
        before_id = steps.at.id;
        before_key.clear();
        before_key.extend_from_slice(&steps.key);
        here = steps.advance();
    }
    if !here && steps.taken < block.count {
        return None;
    }
    let is_same = here && steps.at.id == id && steps.key == sort;
    // The ranges of the entry's parts, empty if it is new.
    let (ids, sorts, summaries) = match (here, is_same) {
        (false, _) => {
            let end = |part: &[u8]| part.len()..part.len();
            (end(block.ids), end(block.sorts), end(block.summaries))
        }
        (true, true) => (
            steps.at.ids.clone(),
            steps.at.sorts.clone(),
            steps.at.summary.clone(),
        ),
        (true, false) => {
            let begin = |r: &Range<usize>| r.start..r.start;
            (
                begin(&steps.at.ids),
                begin(&steps.at.sorts),
                begin(&steps.at.summary),
            )
        }
    };
    if is_same && summary.is_none() || !is_same && summary.is_some() {
        // The next entry has another predecessor now.
        let follows = match is_same {
            true => steps.advance(),
            false => here,
        };
        let mut own_ids = Vec::with_capacity(20);
        let mut own_sorts = Vec::with_capacity(64);
        let mut own_summary = Vec::new();
        let (mut last_id, mut last_key) = (before_id, &before_key[..]);
        if let Some(summary) = summary {
            push_id(&mut own_ids, last_id, id);
            push_sort(&mut own_sorts, last_key, sort);
            varint::push_bytes(&mut own_summary, summary);
            (last_id, last_key) = (id, sort);
        } else if !follows && steps.taken < block.count {
            return None;
        }
        let (mut ids_end, mut sorts_end) = (ids.end, sorts.end);
        if follows {
            push_id(&mut own_ids, last_id, steps.at.id);
            push_sort(&mut own_sorts, last_key, &steps.key);
            (ids_end, sorts_end) = (steps.at.ids.end, steps.at.sorts.end);
        }
        let count = match summary {
            Some(_) => block.count + 1,
            None => block.count - 1,
        };
        return Some(SplicedBlock {
            bytes: assemble_block(
                count,
                [&block.ids[..ids.start], &own_ids, &block.ids[ids_end..]],
                [
                    &block.sorts[..sorts.start],
                    &own_sorts,
                    &block.sorts[sorts_end..],
                ],
                [
                    &block.summaries[..summaries.start],
                    &own_summary,
                    &block.summaries[summaries.end..],
                ],
            ),
            count,
        });
    }
    let mut own_summary = Vec::new();
    varint::push_bytes(&mut own_summary, summary?);
    Some(SplicedBlock {
        bytes: assemble_block(
            block.count,
            [block.ids, &[], &[]],
            [block.sorts, &[], &[]],
            [
                &block.summaries[..summaries.start],
                &own_summary,
                &block.summaries[summaries.end..],
            ],
        ),
        count: block.count,
    })
}

fn push_id(out: &mut Vec<u8>, last: i64, id: i64) {
    varint::push_u64(out, varint::zigzag_encode(id.wrapping_sub(last)));
}

fn push_sort(out: &mut Vec<u8>, last: &[u8], sort: &[u8]) {
    let shared = last.iter().zip(sort).take_while(|(a, b)| a == b).count();
    varint::push_u64(out, shared as u64);
    varint::push_bytes(out, &sort[shared..]);
}

/// Returns the block with these parts.
fn assemble_block(
    count: usize,
    ids: [&[u8]; 3],
    sorts: [&[u8]; 3],
    summaries: [&[u8]; 3],
) -> Vec<u8> {
    let length = |parts: &[&[u8]; 3]| parts.iter().map(|p| p.len()).sum::<usize>();
    let mut out = Vec::with_capacity(length(&ids) + length(&sorts) + length(&summaries) + 8);
    varint::push_u64(&mut out, count as u64);
    varint::push_u64(&mut out, length(&ids) as u64);
    varint::push_u64(&mut out, length(&sorts) as u64);
    for part in ids.iter().chain(&sorts).chain(&summaries) {
        out.extend_from_slice(part);
    }
    out
}

/// Writes a block, entry by entry in order.
#[derive(Default)]
pub(crate) struct BlockWriter {
    count: usize,
    last_id: i64,
    last_sort: Vec<u8>,
    ids: Vec<u8>,
    sorts: Vec<u8>,
    summaries: Vec<u8>,
}

impl BlockWriter {
    pub(crate) fn push(&mut self, sort: &[u8], id: i64, summary: &[u8]) {
        push_id(&mut self.ids, self.last_id, id);
        push_sort(&mut self.sorts, &self.last_sort, sort);
        varint::push_bytes(&mut self.summaries, summary);
        self.last_sort.clear();
        self.last_sort.extend_from_slice(sort);
        self.last_id = id;
        self.count += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns the block, and empties the writer.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let out = assemble_block(
            self.count,
            [&self.ids, &[], &[]],
            [&self.sorts, &[], &[]],
            [&self.summaries, &[], &[]],
        );
        for part in [&mut self.ids, &mut self.sorts, &mut self.summaries] {
            part.clear();
        }
        self.count = 0;
        self.last_id = 0;
        self.last_sort.clear();
        out
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_read_back(
            mut entries in prop::collection::vec(
                (prop::collection::vec(any::<u8>(), 0..12), any::<i64>(),
                 prop::collection::vec(any::<u8>(), 0..20)), 0..40),
            place in (prop::collection::vec(any::<u8>(), 0..3), any::<i64>()),
        ) {
            entries.sort();
            let mut writer = BlockWriter::default();
            for (sort, id, summary) in &entries {
                writer.push(sort, *id, summary);
            }
            let bytes = writer.finish();
            let block = Block::new(&bytes);
            prop_assert_eq!(block.len(), entries.len());
            prop_assert!(block.ids().eq(entries.iter().map(|e| e.1)));
            prop_assert!(block.summaries().eq(entries.iter().map(|e| &e.2[..])));
            let mut sorts = Vec::new();
            block.for_each_sort_key(|s| { sorts.push(s.to_vec()); true });
            prop_assert!(sorts.iter().eq(entries.iter().map(|e| &e.0)));
            let before = entries.iter().filter(|e| (&e.0, e.1) < (&place.0, place.1)).count();
            prop_assert_eq!(block.count_before(&place.0, place.1), before);
        }

        /// A spliced block equals a block that is written from scratch.
        #[test]
        fn a_splice_is_a_new_block(
            entries in prop::collection::btree_map(
                (prop::collection::vec(b'a'..b'd', 0..5), 0i64..6),
                prop::collection::vec(any::<u8>(), 0..9), 0..24),
            sort in prop::collection::vec(b'a'..b'd', 0..5),
            id in 0i64..6,
            summary in prop::option::of(prop::collection::vec(any::<u8>(), 0..9)),
        ) {
            let written = |entries: &BTreeMap<(Vec<u8>, i64), Vec<u8>>| {
                let mut writer = BlockWriter::default();
                for ((sort, id), summary) in entries {
                    writer.push(sort, *id, summary);
                }
                writer.finish()
            };
            let before = written(&entries);
            let spliced = splice_entry(&Block::new(&before), &sort, id, summary.as_deref());
            let mut after = entries.clone();
            match summary {
                Some(summary) => after.insert((sort, id), summary),
                None => after.remove(&(sort, id)),
            };
            match spliced {
                Some(spliced) => {
                    prop_assert_eq!(spliced.bytes, written(&after));
                    prop_assert_eq!(spliced.count, after.len());
                }
                None => prop_assert_eq!(entries, after),
            }
        }

        #[test]
        fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let block = Block::new(&bytes);
            let _ = (block.ids().count(), block.summaries().count(), block.count_before(b"m", 0));
            let _ = splice_entry(&block, b"m", 0, Some(b"s"));
            let _ = splice_entry(&block, b"", 0, None);
        }
    }
}
