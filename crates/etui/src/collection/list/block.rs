//! One block of a list: some dozen entries in order.
//!
//! ```text
//! block     := n:varint  ids:varint  sorts:varint      entries, and bytes of the next two parts
//!              ids sorts summaries
//! ids       := (zigzag varint)*n                       each the distance from the id before, 0 first
//! sorts     := (shared:varint length:varint bytes)*n   sort key: what it shares with the one before
//! summaries := (length:varint bytes)*n
//! ```
//!
//! The parts lie apart so that who walks a list for its ids alone, or for the place of a key,
//! reads no more than that. Bytes that are no block are read as far as they make sense.

use crate::text::varint;

/// A block as it is stored.
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
            let count = varint::take(&mut bytes)?;
            let ids = usize::try_from(varint::take(&mut bytes)?).ok()?;
            let sorts = usize::try_from(varint::take(&mut bytes)?).ok()?;
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

    /// How many entries it has.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Its ids in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = i64> + use<'a> {
        let mut rest = self.ids;
        let mut last = 0i64;
        (0..self.count).map_while(move |_| {
            last = last.wrapping_add(varint::unzigzag(varint::take(&mut rest)?));
            Some(last)
        })
    }

    /// Its summaries in order.
    pub(crate) fn summaries(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.summaries;
        (0..self.count).map_while(move |_| varint::take_bytes(&mut rest))
    }

    /// Calls `visit` with each sort key in order, until it says `false`.
    pub(crate) fn sorts(&self, mut visit: impl FnMut(&[u8]) -> bool) {
        let mut rest = self.sorts;
        let mut key = Vec::with_capacity(64);
        for _ in 0..self.count {
            let Some(shared) = varint::take(&mut rest).and_then(|n| usize::try_from(n).ok()) else {
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

    /// How many entries stand before the place of `(sort, id)`.
    pub(crate) fn before(&self, sort: &[u8], id: i64) -> usize {
        let mut ids = self.ids();
        let mut before = 0;
        self.sorts(|key| {
            let is_before = ids.next().is_some_and(|i| (key, i) < (sort, id));
            before += usize::from(is_before);
            is_before
        });
        before
    }
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
        varint::push(&mut self.ids, varint::zigzag(id.wrapping_sub(self.last_id)));
        let shared = self
            .last_sort
            .iter()
            .zip(sort)
            .take_while(|(a, b)| a == b)
            .count();
        varint::push(&mut self.sorts, shared as u64);
        varint::push_bytes(&mut self.sorts, &sort[shared..]);
        varint::push_bytes(&mut self.summaries, summary);
        self.last_sort.clear();
        self.last_sort.extend_from_slice(sort);
        self.last_id = id;
        self.count += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Bytes of the block so far.
    pub(crate) fn size(&self) -> usize {
        self.ids.len() + self.sorts.len() + self.summaries.len() + 8
    }

    /// The block; the writer is empty again.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.size());
        varint::push(&mut out, self.count as u64);
        varint::push(&mut out, self.ids.len() as u64);
        varint::push(&mut out, self.sorts.len() as u64);
        for part in [&mut self.ids, &mut self.sorts, &mut self.summaries] {
            out.extend_from_slice(part);
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
            let size = writer.size();
            let bytes = writer.finish();
            prop_assert!(bytes.len() <= size);
            let block = Block::new(&bytes);
            prop_assert_eq!(block.len(), entries.len());
            prop_assert!(block.ids().eq(entries.iter().map(|e| e.1)));
            prop_assert!(block.summaries().eq(entries.iter().map(|e| &e.2[..])));
            let mut sorts = Vec::new();
            block.sorts(|s| { sorts.push(s.to_vec()); true });
            prop_assert!(sorts.iter().eq(entries.iter().map(|e| &e.0)));
            let before = entries.iter().filter(|e| (&e.0, e.1) < (&place.0, place.1)).count();
            prop_assert_eq!(block.before(&place.0, place.1), before);
        }

        #[test]
        fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let block = Block::new(&bytes);
            let _ = (block.ids().count(), block.summaries().count(), block.before(b"m", 0));
        }
    }
}
