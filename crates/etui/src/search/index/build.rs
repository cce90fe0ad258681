//! Making a set of records from ids in any order.

use roaring::{RoaringBitmap, RoaringTreemap};

use super::postings::Ids;

/// So many ids are kept as they come; of more, a bit each.
const LOOSE: usize = 4_096;
/// Most bytes of bits; ids beyond are put into the set one by one.
const MAX_BITS: usize = 8 << 20;

/// A set that is being made.
#[derive(Default)]
pub(crate) struct Builder {
    loose: Vec<u64>,
    bits: Vec<u8>,
    set: Ids,
}

impl Builder {
    /// Adds an id; negative ones are of no record.
    pub(crate) fn add(&mut self, id: i64) {
        self.loose.push(id.max(0).cast_unsigned());
        if self.loose.len() >= LOOSE {
            self.settle();
        }
    }

    /// Puts what came loose into the bits.
    fn settle(&mut self) {
        for id in self.loose.drain(..) {
            match usize::try_from(id / 8).ok().filter(|&at| at < MAX_BITS) {
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

    /// The set.
    pub(crate) fn finish(mut self) -> Ids {
        if self.bits.is_empty() && self.set.is_empty() {
            self.loose.sort_unstable();
            self.loose.dedup();
            return RoaringTreemap::from_sorted_iter(self.loose).unwrap_or_default();
        }
        self.settle();
        let low = RoaringBitmap::from_lsb0_bytes(0, &self.bits);
        RoaringTreemap::from_bitmaps([(0, low)]) | self.set
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
        fn a_set_has_what_was_added(
            ids in prop::collection::vec(
                prop_oneof![9 => 0i64..300_000, 1 => any::<i64>().prop_map(|n| n.max(0))], 0..9_000)
        ) {
            let mut builder = Builder::default();
            ids.iter().for_each(|&id| builder.add(id));
            let all: BTreeSet<u64> = ids.iter().map(|id| id.cast_unsigned()).collect();
            prop_assert!(builder.finish().iter().eq(all));
        }
    }
}
