//! Free/busy: when time is taken (RFC 5545 §3.6.4).

use std::ops::Range;

use super::Calendar;
use super::range::{Told, takes_time};
use super::time::{TimeZone, Timestamp};
use super::{CalendarObject, Status};
use crate::error::Result;
use crate::record::Reader;

/// A time that is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    /// From when until when.
    pub during: Range<Timestamp>,
    /// Only by what is not settled (`STATUS:TENTATIVE`).
    pub tentative: bool,
}

impl Calendar<'_> {
    /// When time is taken in `range`. See [`Reader::free_busy`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn free_busy(&self, range: Range<Timestamp>, viewer: &TimeZone) -> Result<Vec<Busy>> {
        self.read_ordered(|r| r.free_busy(range, viewer))
    }
}

impl Reader<'_, CalendarObject> {
    /// When time is taken in `range`, in order, nothing twice: by events that are not cancelled
    /// and take up time (`TRANSP`). Where tentative ones meet settled ones, the latter count.
    /// Days and floating times are where they are in the zone `viewer`.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn free_busy(&self, range: Range<Timestamp>, viewer: &TimeZone) -> Result<Vec<Busy>> {
        let (mut settled, mut tentative) = (Vec::new(), Vec::new());
        let mut take = |during: &Range<Timestamp>, status| match status {
            Some(Status::Tentative) => push(&mut tentative, &range, during),
            _ => push(&mut settled, &range, during),
        };
        self.told(|| {
            if range.start >= range.end {
                return Ok(());
            }
            self.each(&range, viewer, |_, told| match told {
                Told::Once(stored, during) => {
                    if takes_time(stored.kind(), stored.is_transparent(), stored.status) {
                        take(&during, stored.status);
                    }
                }
                Told::Series(known) => {
                    if known.series.longest() == 0 {
                        return;
                    }
                    if let Some((component, during)) = known.series.unbroken(viewer) {
                        let component = known.components.get(component);
                        if let Some(c) = component.filter(|c| c.takes_time()) {
                            take(&during, c.status);
                        }
                        return;
                    }
                    for instance in known.series.between(range.clone(), viewer) {
                        let component = known.components.get(instance.component);
                        if let Some(c) = component.filter(|c| c.takes_time()) {
                            take(&instance.during, c.status);
                        }
                    }
                }
            })
        })?;
        let settled = joined(settled);
        let tentative = without(joined(tentative), &settled);
        let as_busy = |all: Vec<Range<Timestamp>>, tentative| {
            all.into_iter()
                .map(move |during| Busy { during, tentative })
        };
        let mut all: Vec<Busy> = as_busy(settled, false)
            .chain(as_busy(tentative, true))
            .collect();
        all.sort_by_key(|b| b.during.start);
        Ok(all)
    }
}

/// Puts in what of `during` is in `range`; what goes on where the last one is makes that longer,
/// so that a rule that fires every second is one range.
fn push(all: &mut Vec<Range<Timestamp>>, range: &Range<Timestamp>, during: &Range<Timestamp>) {
    let (start, end) = (during.start.max(range.start), during.end.min(range.end));
    if start >= end {
        return;
    }
    match all.last_mut() {
        Some(last) if (last.start..=last.end).contains(&start) => last.end = last.end.max(end),
        _ => all.push(start..end),
    }
}

/// Ranges in order, those that meet made one.
fn joined(mut ranges: Vec<Range<Timestamp>>) -> Vec<Range<Timestamp>> {
    ranges.sort_by_key(|r| r.start);
    let mut all: Vec<Range<Timestamp>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match all.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    all
}

/// What of `ranges` is in none of `others`; both in order.
fn without(ranges: Vec<Range<Timestamp>>, others: &[Range<Timestamp>]) -> Vec<Range<Timestamp>> {
    let mut left = Vec::with_capacity(ranges.len());
    let mut first = 0;
    for range in ranges {
        let mut from = range.start;
        first += others[first..].partition_point(|o| o.end <= from);
        for other in others[first..].iter().take_while(|o| o.start < range.end) {
            if from < other.start {
                left.push(from..other.start);
            }
            from = from.max(other.end);
        }
        if from < range.end {
            left.push(from..range.end);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(all: &[(i64, i64)]) -> Vec<Range<Timestamp>> {
        let at = Timestamp::from_seconds;
        all.iter().map(|&(a, b)| at(a)..at(b)).collect()
    }

    #[test]
    fn ranges_are_joined_and_taken_away() {
        let all = joined(ranges(&[(5, 9), (1, 3), (3, 4), (8, 12)]));
        assert_eq!(all, ranges(&[(1, 4), (5, 12)]));
        let left = without(ranges(&[(0, 2), (3, 20)]), &all);
        assert_eq!(left, ranges(&[(0, 1), (4, 5), (12, 20)]));
        assert_eq!(without(ranges(&[(2, 3)]), &all), ranges(&[]));
    }
}
