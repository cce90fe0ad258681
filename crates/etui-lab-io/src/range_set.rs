//! [`RangeSet`]: a set of integers, stored as disjoint ranges.

use std::collections::BTreeMap;

/// Disjoint, non-adjacent ranges: begin and end of each.
#[derive(Debug, Default)]
pub(crate) struct RangeSet(BTreeMap<u64, u64>);

impl RangeSet {
    /// Adds a range. Returns how many of its numbers the set contained before.
    pub fn add(&mut self, begin: u64, end: u64) -> u64 {
        if end <= begin {
            return 0;
        }
        let (mut from, mut to, mut there) = (begin, end, 0_u64);
        // Of the ranges that begin before its end, the last ones are those that may touch it.
        while let Some((&b, &e)) = self.0.range(..=end).next_back() {
            if e < begin {
                break;
            }
            there = there.saturating_add(e.min(end).saturating_sub(b.max(begin)));
            from = from.min(b);
            to = to.max(e);
            self.0.remove(&b);
        }
        self.0.insert(from, to);
        there
    }

    /// Removes all ranges.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::RangeSet;

    #[test]
    fn add_returns_the_overlap() {
        let mut ranges = RangeSet::default();
        assert_eq!(ranges.add(10, 20), 0);
        assert_eq!(ranges.add(30, 40), 0);
        assert_eq!(ranges.add(20, 30), 0);
        assert_eq!(ranges.0.len(), 1);
        assert_eq!(ranges.add(5, 15), 5);
        assert_eq!(ranges.add(0, 100), 35);
        assert_eq!(ranges.add(50, 50), 0);
        assert_eq!(ranges.add(99, 101), 1);
        ranges.clear();
        assert_eq!(ranges.add(0, 100), 0);
    }

    #[test]
    fn add_matches_a_btree_set() {
        let mut state = 7_u64;
        let mut next = |bound: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let mut ranges = RangeSet::default();
        let mut set = std::collections::BTreeSet::new();
        for _ in 0..2_000 {
            let begin = next(300);
            let end = begin + next(20);
            let there = (begin..end).filter(|n| !set.insert(*n)).count() as u64;
            assert_eq!(ranges.add(begin, end), there);
            if next(100) == 0 {
                ranges.clear();
                set.clear();
            }
        }
    }
}
