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
            // Wrapping: damaged distances must not panic.
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

/// A cursor over the entries of a block, and the offsets of an entry's id, sort key and summary.
struct EntryCursor<'a> {
    block: Block<'a>,
    id: i64,
    key: Vec<u8>,
    starts: [usize; 3],
    ends: [usize; 3],
    taken: usize,
}

impl<'a> EntryCursor<'a> {
    fn new(block: Block<'a>) -> Self {
        Self {
            block,
            id: 0,
            key: Vec::with_capacity(64),
            starts: [0; 3],
            ends: [0; 3],
            taken: 0,
        }
    }

    /// Advances to the next entry; returns false at the end or at invalid bytes.
    fn advance(&mut self) -> bool {
        let mut next = || {
            if self.taken == self.block.count {
                return None;
            }
            let mut ids = self.block.ids.get(self.ends[0]..)?;
            let mut sorts = self.block.sorts.get(self.ends[1]..)?;
            let mut summaries = self.block.summaries.get(self.ends[2]..)?;
            let step = varint::zigzag_decode(varint::take_u64(&mut ids)?);
            let shared = usize::try_from(varint::take_u64(&mut sorts)?).ok()?;
            let bytes = varint::take_bytes(&mut sorts)?;
            varint::take_bytes(&mut summaries)?;
            self.id = self.id.wrapping_add(step);
            self.key.truncate(shared);
            self.key.extend_from_slice(bytes);
            self.starts = self.ends;
            self.ends = [
                self.block.ids.len() - ids.len(),
                self.block.sorts.len() - sorts.len(),
                self.block.summaries.len() - summaries.len(),
            ];
            self.taken += 1;
            Some(())
        };
        next().is_some()
    }
}

/// Returns the bytes and the count of the block with one entry inserted or updated (`Some` summary)
/// or removed (`None`); the parts of other entries are copied unchanged. Returns `None` if there is
/// nothing to change, or the block cannot be read to its end.
pub(crate) fn splice_entry(
    block: &Block<'_>,
    sort: &[u8],
    id: i64,
    summary: Option<&[u8]>,
) -> Option<(Vec<u8>, usize)> {
    let mut cursor = EntryCursor::new(*block);
    let (mut last_id, mut last_key) = (0, Vec::with_capacity(64));
    let mut here = cursor.advance();
    while here && (&cursor.key[..], cursor.id) < (sort, id) {
        last_id = cursor.id;
        last_key.clone_from(&cursor.key);
        here = cursor.advance();
    }
    let is_same = here && cursor.id == id && cursor.key == sort;
    if (!here && cursor.taken < block.count) || (!is_same && summary.is_none()) {
        return None;
    }
    let start = if here { cursor.starts } else { cursor.ends };
    let mut end = if is_same { cursor.ends } else { start };
    let [mut own_ids, mut own_sorts, mut own_summary] = [const { Vec::new() }; 3];
    if let Some(summary) = summary {
        push_id(&mut own_ids, last_id, id);
        push_sort(&mut own_sorts, &last_key, sort);
        varint::push_bytes(&mut own_summary, summary);
        (last_id, last_key) = (id, sort.to_vec());
    }
    if is_same != summary.is_some() {
        // The next entry has another predecessor now.
        let follows = if is_same { cursor.advance() } else { here };
        if follows {
            push_id(&mut own_ids, last_id, cursor.id);
            push_sort(&mut own_sorts, &last_key, &cursor.key);
            (end[0], end[1]) = (cursor.ends[0], cursor.ends[1]);
        } else if cursor.taken < block.count {
            return None;
        }
    }
    let count = block.count + usize::from(summary.is_some()) - usize::from(is_same);
    let parts = [
        (block.ids, &own_ids),
        (block.sorts, &own_sorts),
        (block.summaries, &own_summary),
    ];
    let parts = std::array::from_fn(|n| {
        let (old, own) = parts[n];
        [&old[..start[n]], &own[..], &old[end[n]..]]
    });
    Some((assemble_block(count, parts), count))
}

fn push_id(out: &mut Vec<u8>, last: i64, id: i64) {
    varint::push_u64(out, varint::zigzag_encode(id.wrapping_sub(last)));
}

fn push_sort(out: &mut Vec<u8>, last: &[u8], sort: &[u8]) {
    let shared = last.iter().zip(sort).take_while(|(a, b)| a == b).count();
    varint::push_u64(out, shared as u64);
    varint::push_bytes(out, &sort[shared..]);
}

/// Returns the block with these ids, sort keys and summaries, each in pieces.
fn assemble_block<const N: usize>(count: usize, parts: [[&[u8]; N]; 3]) -> Vec<u8> {
    let lengths = parts.map(|part| part.iter().map(|piece| piece.len()).sum::<usize>());
    let mut out = Vec::with_capacity(lengths.iter().sum::<usize>() + 8);
    for number in [count, lengths[0], lengths[1]] {
        varint::push_u64(&mut out, number as u64);
    }
    for piece in parts.as_flattened() {
        out.extend_from_slice(piece);
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
        let Self {
            ids,
            sorts,
            summaries,
            ..
        } = &*self;
        let out = assemble_block(self.count, [[&ids[..]], [sorts], [summaries]]);
        *self = Self::default();
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
                Some(spliced) => prop_assert_eq!(spliced, (written(&after), after.len())),
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
