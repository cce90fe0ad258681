//! Free/busy time (RFC 5545 §3.6.4).

use std::collections::HashSet;
use std::ops::Range;

use super::range::{RangeCandidate, takes_time};
use super::time::{TimeZone, Timestamp};
use super::{CalendarObject, Status};
use crate::error::Result;
use crate::record::{ReadState, Reader};
use crate::types::RecordId;

/// Instances that are expanded for one answer, until only [`MIN_INSTANCES_OF_SERIES`] are expanded
/// of each further series.
const MAX_INSTANCES: usize = 1 << 20;
const MIN_INSTANCES_OF_SERIES: usize = 1 << 10;
/// Number of ranges from which on they are merged.
const MANY_RANGES: usize = 1 << 16;

/// A busy period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusyPeriod {
    /// Start and end.
    pub during: Range<Timestamp>,
    /// True if only tentative events (`STATUS:TENTATIVE`) take it up.
    pub tentative: bool,
}

impl Reader<CalendarObject> {
    /// Returns the busy periods of `range`, in order and without overlaps: the time of events that
    /// are not cancelled and not transparent (`TRANSP`). Where tentative and other events overlap,
    /// the period is not tentative. Days and floating times are read in the zone `viewer`.
    ///
    /// An answer expands about a million instances, then 1,024 of each further series. The rest of a
    /// series counts as busy without a gap.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn free_busy(&self, range: Range<Timestamp>, viewer: &TimeZone) -> Result<Vec<BusyPeriod>> {
        self.free_busy_except(range, viewer, &HashSet::new())
    }

    /// Returns the busy periods of `range` as [`Self::free_busy`], without those of some records, such as private
    /// ones.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn free_busy_except(
        &self,
        range: Range<Timestamp>,
        viewer: &TimeZone,
        except: &HashSet<RecordId>,
    ) -> Result<Vec<BusyPeriod>> {
        self.read_ordered(|r| r.free_busy(range, viewer, except))
    }
}

impl ReadState<'_, CalendarObject> {
    /// See [`Reader::free_busy_except`].
    pub(crate) fn free_busy(
        &self,
        range: Range<Timestamp>,
        viewer: &TimeZone,
        except: &HashSet<RecordId>,
    ) -> Result<Vec<BusyPeriod>> {
        let (mut settled, mut tentative) = (Vec::new(), Vec::new());
        let (mut left, mut many) = (MAX_INSTANCES, MANY_RANGES);
        let mut take = |during: &Range<Timestamp>, status| {
            let all = match status {
                Some(Status::Tentative) => &mut tentative,
                _ => &mut settled,
            };
            push_clipped(all, &range, during);
            if all.len() >= many {
                *all = merge_ranges(std::mem::take(all));
                // Ranges that cannot be merged double the bound, so that they are not sorted again and again.
                many = many.max(2 * all.len());
            }
        };
        self.explain_errors(|| {
            if range.start >= range.end {
                return Ok(());
            }
            self.each(&range, viewer, |record, candidate| match candidate {
                _ if except.contains(&RecordId(record)) => {}
                RangeCandidate::Once(stored, during) => {
                    if takes_time(stored.kind(), stored.is_transparent(), stored.status) {
                        take(&during, stored.status);
                    }
                }
                RangeCandidate::Series(known) => {
                    // Instances without length take up no time.
                    if known.series.longest() == 0 {
                        return;
                    }
                    // Without gaps it is one range, whatever the number of its instances.
                    if let Some((component, during)) = known.series.unbroken(viewer) {
                        let component = known.components.get(component);
                        if let Some(c) = component.filter(|c| c.takes_time()) {
                            take(&during, c.status);
                        }
                        return;
                    }
                    let most = left.max(MIN_INSTANCES_OF_SERIES);
                    for (n, mut instance) in known.series.between(range.clone(), viewer).enumerate()
                    {
                        left = left.saturating_sub(1);
                        if n == most {
                            instance.during.end = known.series.bounds().end;
                        }
                        let component = known.components.get(instance.component);
                        if let Some(c) = component.filter(|c| c.takes_time()) {
                            take(&instance.during, c.status);
                        }
                        if n == most {
                            break;
                        }
                    }
                }
            })
        })?;
        Ok(combine_ranges(settled, tentative))
    }
}

/// Merges the busy periods of several calendars: in order, without overlaps and empty periods.
/// Where tentative and other periods overlap, the result is not tentative.
#[must_use]
pub fn merge_busy(mut periods: Vec<BusyPeriod>) -> Vec<BusyPeriod> {
    periods.retain(|period| !period.during.is_empty());
    let (tentative, settled): (Vec<_>, Vec<_>) = periods.into_iter().partition(|p| p.tentative);
    let ranges = |all: Vec<BusyPeriod>| all.into_iter().map(|period| period.during).collect();
    combine_ranges(ranges(settled), ranges(tentative))
}

/// Returns the busy periods of these ranges, in order and without overlaps.
fn combine_ranges(
    settled: Vec<Range<Timestamp>>,
    tentative: Vec<Range<Timestamp>>,
) -> Vec<BusyPeriod> {
    let settled = merge_ranges(settled);
    let tentative = subtract_ranges(merge_ranges(tentative), &settled);
    let as_busy = |all: Vec<Range<Timestamp>>, tentative| {
        all.into_iter()
            .map(move |during| BusyPeriod { during, tentative })
    };
    let mut all: Vec<BusyPeriod> = as_busy(settled, false)
        .chain(as_busy(tentative, true))
        .collect();
    all.sort_by_key(|b| b.during.start);
    all
}

/// Adds the part of `during` that is in `range`. It extends the last range if it begins within it or
/// at its end, so that a rule that fires every second makes one range.
fn push_clipped(
    all: &mut Vec<Range<Timestamp>>,
    range: &Range<Timestamp>,
    during: &Range<Timestamp>,
) {
    let (start, end) = (during.start.max(range.start), during.end.min(range.end));
    if start >= end {
        return;
    }
    match all.last_mut() {
        Some(last) if (last.start..=last.end).contains(&start) => last.end = last.end.max(end),
        _ => all.push(start..end),
    }
}

/// Sorts ranges and merges those that overlap or meet.
fn merge_ranges(mut ranges: Vec<Range<Timestamp>>) -> Vec<Range<Timestamp>> {
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

/// Returns `ranges` minus `others`; both are in order.
fn subtract_ranges(
    ranges: Vec<Range<Timestamp>>,
    others: &[Range<Timestamp>],
) -> Vec<Range<Timestamp>> {
    let mut left = Vec::with_capacity(ranges.len());
    let mut first = 0;
    for range in ranges {
        let mut from = range.start;
        // Both are in order: ranges that end before this one end before all further ones.
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

    fn ranges_of(all: &[(i64, i64)]) -> Vec<Range<Timestamp>> {
        let at = Timestamp::from_seconds;
        all.iter().map(|&(a, b)| at(a)..at(b)).collect()
    }

    #[test]
    fn ranges_are_joined_and_taken_away() {
        let all = merge_ranges(ranges_of(&[(5, 9), (1, 3), (3, 4), (8, 12)]));
        assert_eq!(all, ranges_of(&[(1, 4), (5, 12)]));
        let left = subtract_ranges(ranges_of(&[(0, 2), (3, 20)]), &all);
        assert_eq!(left, ranges_of(&[(0, 1), (4, 5), (12, 20)]));
        assert_eq!(subtract_ranges(ranges_of(&[(2, 3)]), &all), ranges_of(&[]));
    }
}
