//! [`TransitionTable`]: a zone as a table of the instants at which its offset changes.

/// Seconds of 400 years: the Gregorian calendar repeats, weekdays included.
pub(crate) const CYCLE: i64 = 146_097 * 86_400;

/// The clocks are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneTransition {
    /// When, in seconds since 1970-01-01 00:00:00 UTC.
    pub at: i64,
    /// Seconds that local time is ahead of UTC from then on.
    pub offset: i32,
}

/// A zone's changes, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionTable {
    /// The offset before the first.
    first: i32,
    list: Vec<ZoneTransition>,
    /// Whether the last 400 years of the table go on for ever.
    cyclic: bool,
}

impl TransitionTable {
    /// A table of changes, in any order; of several at one instant the last is taken. With
    /// `cyclic`, its last 400 years repeat behind its end.
    #[must_use]
    pub fn new(first: i32, mut list: Vec<ZoneTransition>, cyclic: bool) -> Self {
        list.sort_by_key(|t| t.at);
        list.reverse();
        list.dedup_by_key(|t| t.at);
        list.reverse();
        let mut offset = first;
        list.retain(|t| std::mem::replace(&mut offset, t.offset) != t.offset);
        let long =
            matches!((list.first(), list.last()), (Some(a), Some(z)) if z.at - a.at >= CYCLE);
        Self {
            first,
            list,
            cyclic: cyclic && long,
        }
    }

    /// How many seconds to go back from `at` to a time that the table knows.
    fn cycles(&self, at: i64) -> i64 {
        match self.list.last() {
            Some(last) if self.cyclic && at > last.at => (at - last.at + CYCLE - 1) / CYCLE * CYCLE,
            _ => 0,
        }
    }

    fn before(&self, index: usize) -> i32 {
        index
            .checked_sub(1)
            .and_then(|i| self.list.get(i))
            .map_or(self.first, |t| t.offset)
    }

    /// Seconds that local time is ahead of UTC at an instant.
    pub(super) fn offset_at(&self, at: i64) -> i32 {
        let at = at - self.cycles(at);
        self.before(self.list.partition_point(|t| t.at <= at))
    }

    /// The offset a local time is to be read by, and whether the clocks skipped it.
    pub(super) fn offset_of(&self, wall: i64) -> (i32, bool) {
        // Two days stand for any offset: near its end the table is used as it stands.
        let wall = wall - self.cycles(wall - 2 * 86_400);
        // The local time from which only the new offset counts: where the gap ends, or where
        // what came twice has come twice.
        let settled = |i: usize, t: &ZoneTransition| t.at + i64::from(self.before(i).max(t.offset));
        let (mut low, mut high) = (0, self.list.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.list.get(middle) {
                Some(t) if settled(middle, t) <= wall => low = middle + 1,
                _ => high = middle,
            }
        }
        let offset = self.before(low);
        let gap = self
            .list
            .get(low)
            .is_some_and(|t| t.offset > offset && wall >= t.at + i64::from(offset));
        (offset, gap)
    }
}
