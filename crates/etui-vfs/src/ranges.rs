//! [`Ranges`]: a set of numbers, kept as the ranges it consists of.

use std::collections::BTreeMap;

/// Ranges that neither overlap nor touch: begin and end of each.
#[derive(Debug, Default)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range; answers how much of it was there already.
    pub fn add(&mut self, begin: u64, end: u64) -> u64 {
        if end <= begin {
            return 0;
        }
        let (mut from, mut to, mut there) = (begin, end, 0_u64);
        // The ranges that touch this one lie at the end of those that begin before its end.
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

    /// Empties it.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Ranges;

    #[test]
    fn counts_what_was_there_already() {
        let mut ranges = Ranges::default();
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
    fn agrees_with_a_set_of_numbers() {
        let mut state = 7_u64;
        let mut next = |bound: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let mut ranges = Ranges::default();
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
