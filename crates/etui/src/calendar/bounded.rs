//! Answers that a calendar cannot make large: of dense series only the first occurrences.
//!
//! A rule that fires every second has 604,800 occurrences in a week, and a calendar can have
//! thousands of these rules. An answer of limited size would be full of them. Here each series has a
//! cap, which is halved while the answer is too large:
//!
//! ```text
//! limit 10         cap 8    4     2
//! every second     8        4     2   cut
//! every hour       8        4     2   cut
//! every day        4        4     2   cut
//! four meetings    4        4     4
//!                 24       16    10
//! ```
//!
//! Expansion costs O(limit) for each value of the cap, and O(1) for each further record.

use std::ops::Range;
use std::sync::Arc;

use super::CalendarObject;
use super::range::{FirstOccurrences, Occurrence, RangeCandidate, instance_of, once_of};
use super::series_cache::ParsedSeries;
use super::time::{TimeZone, Timestamp};
use crate::error::Result;
use crate::record::{ReadState, Reader};
use crate::types::RecordId;

/// Occurrences of one series that [`Reader::between_bounded`] returns for each day of the range.
pub const MAX_PER_DAY: usize = 100;

/// A series that an answer has in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutSeries {
    /// The record.
    pub record: RecordId,
    /// Its title; empty if there is none.
    pub title: Arc<str>,
}

impl CutSeries {
    pub(super) fn new(record: i64, series: &ParsedSeries) -> Self {
        let title = series.components.first().map(|c| Arc::clone(&c.title));
        Self {
            record: RecordId(record),
            title: title.unwrap_or_default(),
        }
    }
}

/// How an answer of occurrences is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OccurrenceLimit {
    /// The first ones; a dense rule can fill the answer.
    First(usize),
    /// At most so many. A series has at most [`MAX_PER_DAY`] for each day of the range, its first ones. If these
    /// are more than the limit, the series with the most occurrences are cut further. A dense series thus never
    /// hides an entry that has few occurrences.
    Fair(usize),
}

/// The occurrences of a range, and the omissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundedOccurrences {
    /// The occurrences by start.
    pub occurrences: Vec<Occurrence>,
    /// Series with only their first [`per_series`](Self::per_series) occurrences in the answer.
    pub cut: Vec<CutSeries>,
    /// The cap of each series; of [`OccurrenceLimit::First`] the limit itself.
    pub per_series: usize,
    /// True if the answer has only the first occurrences: with [`OccurrenceLimit::Fair`], the limit is exceeded even
    /// with one occurrence of each series.
    pub has_more: bool,
}

/// The first occurrences of a series.
struct SeriesStart {
    cut: CutSeries,
    occurrences: Vec<Occurrence>,
    is_cut: bool,
}

impl SeriesStart {
    fn truncate(&mut self, cap: usize) {
        self.is_cut |= self.occurrences.len() > cap;
        self.occurrences.truncate(cap);
    }
}

impl Reader<CalendarObject> {
    /// Returns occurrences in `range`, in the order of [`between`](Self::between), up to a limit. At most twice as
    /// many are held in memory.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn between_bounded(
        &self,
        range: Range<Timestamp>,
        viewer: &TimeZone,
        limit: OccurrenceLimit,
    ) -> Result<BoundedOccurrences> {
        self.read_ordered(|state| match limit {
            OccurrenceLimit::First(limit) => {
                // One more than the limit shows whether there are more.
                let mut occurrences =
                    state.first_between(range, viewer, limit.saturating_add(1))?;
                let has_more = occurrences.len() > limit;
                occurrences.truncate(limit);
                Ok(BoundedOccurrences {
                    occurrences,
                    cut: Vec::new(),
                    per_series: limit,
                    has_more,
                })
            }
            OccurrenceLimit::Fair(limit) => state.between_fairly(range, viewer, limit),
        })
    }
}

impl ReadState<'_, CalendarObject> {
    fn between_fairly(
        &self,
        range: Range<Timestamp>,
        viewer: &TimeZone,
        limit: usize,
    ) -> Result<BoundedOccurrences> {
        let seconds = range.end.seconds().saturating_sub(range.start.seconds());
        let days = usize::try_from(seconds / 86_400 + i64::from(seconds % 86_400 != 0));
        // Of each series at least one occurrence is shown, also in a range without a day.
        let mut cap = days.unwrap_or(0).saturating_mul(MAX_PER_DAY).max(1);
        let mut once = FirstOccurrences::new(limit);
        let mut all: Vec<SeriesStart> = Vec::new();
        let mut count = 0;
        self.explain_errors(|| {
            if range.start >= range.end || limit == 0 {
                return Ok(());
            }
            self.each(&range, viewer, |record, candidate| {
                match candidate {
                    RangeCandidate::Once(stored, during) => {
                        if let Some(occurrence) = once_of(record, stored, during) {
                            once.push(occurrence);
                        }
                    }
                    RangeCandidate::Series(series) => {
                        let instances = series.series.between(range.clone(), viewer);
                        // One more than the cap shows that there are more.
                        let instances = instances.take(cap.saturating_add(1));
                        let mut start = SeriesStart {
                            cut: CutSeries::new(record, series),
                            occurrences: instances
                                .filter_map(|i| instance_of(record, series, i))
                                .collect(),
                            is_cut: false,
                        };
                        start.truncate(cap);
                        count += start.occurrences.len();
                        all.push(start);
                    }
                }
                while cap > 1 && once.len().min(limit) + count > limit {
                    cap /= 2;
                    all.iter_mut().for_each(|start| start.truncate(cap));
                    count = all.iter().map(|start| start.occurrences.len()).sum();
                }
            })
        })?;
        all.sort_by_key(|start| start.cut.record);
        let mut cut = Vec::new();
        for start in all {
            start.occurrences.into_iter().for_each(|o| once.push(o));
            cut.extend(start.is_cut.then_some(start.cut));
        }
        let (occurrences, has_more) = once.into_sorted_part();
        Ok(BoundedOccurrences {
            occurrences,
            cut,
            per_series: cap,
            has_more,
        })
    }
}
