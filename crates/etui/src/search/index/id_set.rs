//! [`RecordIds`], and building it from ids in any order.

use roaring::{RoaringBitmap, RoaringTreemap};

/// A set of record ids.
pub(crate) type RecordIds = RoaringTreemap;

/// Ids that are buffered before they are laid out as bits; smaller sets are sorted.
const MAX_BUFFERED_IDS: usize = 4_096;
/// Most bytes of bits. Ids beyond them are inserted into the set one by one.
const MAX_BITMAP_BYTES: usize = 8 << 20;

/// Builds a [`RecordIds`]: inserting a million unordered ids directly takes ten times as long.
#[derive(Default)]
pub(crate) struct RecordIdsBuilder {
    buffered: Vec<u64>,
    bits: Vec<u8>,
    set: RecordIds,
}

impl RecordIdsBuilder {
    /// Adds an id. Negative ids are of no record; they count as 0.
    pub(crate) fn add(&mut self, id: i64) {
        self.buffered.push(id.max(0).cast_unsigned());
        if self.buffered.len() >= MAX_BUFFERED_IDS {
            self.flush_buffer();
        }
    }

    /// Moves the buffered ids into the bits.
    fn flush_buffer(&mut self) {
        for id in self.buffered.drain(..) {
            match usize::try_from(id / 8)
                .ok()
                .filter(|&at| at < MAX_BITMAP_BYTES)
            {
                Some(at) => {
                    if at >= self.bits.len() {
                        self.bits.resize((at + 1).next_multiple_of(8_192), 0);
                    }
                    self.bits[at] |= 1 << (id % 8);
                }
                None => {
                    self.set.insert(id);
                }
            }
        }
    }

    pub(crate) fn finish(mut self) -> RecordIds {
        if self.bits.is_empty() && self.set.is_empty() {
            self.buffered.sort_unstable();
            self.buffered.dedup();
            // Sorted and without duplicates, the ids are always accepted.
            return RecordIds::from_sorted_iter(self.buffered).unwrap_or_default();
        }
        self.flush_buffer();
        let low = RoaringBitmap::from_lsb0_bytes(0, &self.bits);
        RecordIds::from_bitmaps([(0, low)]) | self.set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn a_set_has_the_ids_that_were_added(
            ids in prop::collection::vec(
                prop_oneof![9 => 0i64..300_000, 1 => any::<i64>().prop_map(|n| n.max(0))], 0..9_000)
        ) {
            let mut builder = RecordIdsBuilder::default();
            ids.iter().for_each(|&id| builder.add(id));
            let all: BTreeSet<u64> = ids.iter().map(|id| id.cast_unsigned()).collect();
            prop_assert!(builder.finish().iter().eq(all));
        }
    }
}
