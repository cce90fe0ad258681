//! [`TransitionTable`]: a time zone as a table of the instants at which its UTC offset changes.

/// Seconds of 400 years: the Gregorian calendar repeats, weekdays included.
pub(crate) const CYCLE: i64 = 146_097 * 86_400;

/// A change of a UTC offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneTransition {
    /// The instant of the change, in seconds since 1970-01-01 00:00:00 UTC.
    pub at: i64,
    /// UTC offset in seconds from this instant on.
    pub offset: i32,
}

/// The transitions of a time zone, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionTable {
    /// Offset before the first transition.
    first: i32,
    list: Vec<ZoneTransition>,
    /// Whether the last 400 years of the table repeat for ever.
    cyclic: bool,
}

impl TransitionTable {
    /// Builds a table from transitions in any order; of several at one instant the last one is
    /// taken. With `cyclic`, the last 400 years repeat after the end of the table.
    pub fn new(first: i32, mut list: Vec<ZoneTransition>, cyclic: bool) -> Self {
        list.sort_by_key(|t| t.at);
        // `dedup_by_key` keeps the first of several: in reverse order that is the last one.
        list.reverse();
        list.dedup_by_key(|t| t.at);
        list.reverse();
        let mut offset = first;
        // A transition that changes nothing would look like a gap or a fold of no length.
        list.retain(|t| std::mem::replace(&mut offset, t.offset) != t.offset);
        let long =
            matches!((list.first(), list.last()), (Some(a), Some(z)) if z.at - a.at >= CYCLE);
        Self {
            first,
            list,
            // A table shorter than a cycle has no instants to go back to.
            cyclic: cyclic && long,
        }
    }

    /// Returns the seconds to go back from `at` to an instant inside the table.
    fn cycle_shift(&self, at: i64) -> i64 {
        match self.list.last() {
            // Whole cycles, rounded up: the result is not after the last transition.
            Some(last) if self.cyclic && at > last.at => (at - last.at + CYCLE - 1) / CYCLE * CYCLE,
            _ => 0,
        }
    }

    fn offset_before(&self, index: usize) -> i32 {
        index
            .checked_sub(1)
            .and_then(|i| self.list.get(i))
            .map_or(self.first, |t| t.offset)
    }

    /// Returns the UTC offset at an instant, in seconds.
    pub(super) fn offset_at(&self, at: i64) -> i32 {
        let at = at - self.cycle_shift(at);
        self.offset_before(self.list.partition_point(|t| t.at <= at))
    }

    /// Returns the UTC offset with which a local time is read, and whether it is in a gap.
    pub(super) fn offset_of(&self, local: i64) -> (i32, bool) {
        // Two days exceed any offset: near its end the table is used directly.
        let local = local - self.cycle_shift(local - 2 * 86_400);
        // The local time from which only the new offset applies: the end of the gap or of the fold.
        let settled =
            |i: usize, t: &ZoneTransition| t.at + i64::from(self.offset_before(i).max(t.offset));
        // By hand: `settled`, which ascends, needs the index, and `partition_point` gives the element only.
        let (mut low, mut high) = (0, self.list.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.list.get(middle) {
                Some(t) if settled(middle, t) <= local => low = middle + 1,
                _ => high = middle,
            }
        }
        let offset = self.offset_before(low);
        let gap = self
            .list
            .get(low)
            .is_some_and(|t| t.offset > offset && local >= t.at + i64::from(offset));
        (offset, gap)
    }
}
