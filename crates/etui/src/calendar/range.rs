//! Occurrences between two instants.
//!
//! Two sources are read, each at the cost of its part of the answer:
//!
//! - the list, from a day (the longest occurrence found by the list alone) and [`MAX_UTC_OFFSET`]
//!   before the range to [`MAX_UTC_OFFSET`] after it;
//! - the time index, for records whose span overlaps the range. They are expanded in the range,
//!   wherever it is.
//!
//! Instants are computed from local times with the time zone rules of today.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::ics::ComponentKind;
use super::object_zones::ObjectZones;
use super::recurrence::Instance;
use super::series_cache::{ParsedSeries, SeriesCache};
use super::summary::StoredSummary;
use super::time::{CalendarTime, TimeZone, Timestamp};
use super::time_codec::{self, MAX_UTC_OFFSET, ZoneInterner};
use super::{CalendarObject, Status};
use crate::error::Result;
use crate::record::time_index::{self, MAX_LISTED, SpanTable};
use crate::record::{ReadState, Reader, list};
use crate::types::RecordId;

/// One occurrence of an event, to-do or journal entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// Record of the occurrence.
    pub record: RecordId,
    /// Kind of the component.
    pub kind: ComponentKind,
    /// Position of its component in the record.
    pub component: usize,
    /// Its `RECURRENCE-ID`; `None` if the record does not recur.
    pub instance: Option<CalendarTime>,
    /// Start.
    pub start: CalendarTime,
    /// End; that of a date is the next day.
    pub end: CalendarTime,
    /// Start and end as instants, as seen from the zone asked for.
    pub during: Range<Timestamp>,
    /// Title; empty if there is none.
    pub title: Arc<str>,
    /// Location; empty if there is none.
    pub location: Arc<str>,
    /// Status.
    pub status: Option<Status>,
    /// True if it takes up no time in free/busy.
    pub transparent: bool,
}

impl Occurrence {
    /// Returns true if it lasts one or several whole days.
    pub fn is_all_day(&self) -> bool {
        self.start.is_date()
    }

    /// Returns true if its time is busy.
    pub fn is_busy(&self) -> bool {
        takes_time(self.kind, self.transparent, self.status)
    }
}

/// Returns true if such a component takes up time in free/busy.
pub(super) fn takes_time(kind: ComponentKind, transparent: bool, status: Option<Status>) -> bool {
    kind == ComponentKind::Event && !transparent && status != Some(Status::Cancelled)
}

impl Reader<CalendarObject> {
    /// Returns the occurrences in `range` by start, including those that began before and last into
    /// it. An occurrence without length is in the range if it starts there (RFC 4791 §9.9). Days and
    /// floating times are read in the zone `viewer`. Occurrences that start together are ordered by
    /// end, then by record id, then by component.
    ///
    /// A rule that fires every second has as many occurrences as the range has seconds. Use
    /// [`between_bounded`](Self::between_bounded) to bound them.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn between(&self, range: Range<Timestamp>, viewer: &TimeZone) -> Result<Vec<Occurrence>> {
        self.read_ordered(|state| state.first_between(range, viewer, usize::MAX))
    }
}

impl ReadState<'_, CalendarObject> {
    /// Returns the first `limit` occurrences in a range, in order.
    pub(super) fn first_between(
        &self,
        range: Range<Timestamp>,
        viewer: &TimeZone,
        limit: usize,
    ) -> Result<Vec<Occurrence>> {
        if range.start >= range.end || limit == 0 {
            return Ok(Vec::new());
        }
        self.explain_errors(|| {
            let mut found = FirstOccurrences::new(limit);
            self.each(&range, viewer, |record, candidate| match candidate {
                RangeCandidate::Once(stored, during) => {
                    if let Some(occurrence) = once_of(record, stored, during) {
                        found.push(occurrence);
                    }
                }
                RangeCandidate::Series(known) => {
                    series_of(record, known, &range, viewer, limit, &mut found)
                }
            })?;
            Ok(found.into_sorted())
        })
    }

    /// Calls `visit` with each record that may overlap a range.
    pub(super) fn each(
        &self,
        range: &Range<Timestamp>,
        viewer: &TimeZone,
        mut visit: impl FnMut(i64, RangeCandidate<'_>),
    ) -> Result<()> {
        let mut zones = ZoneInterner::default();
        self.each_listed(range, &mut zones, |record, stored| {
            if let Some(during) = overlapping_instants(&stored, range, viewer) {
                visit(record, RangeCandidate::Once(stored, during));
            }
        })?;
        let bounds = range.start.seconds()..range.end.seconds();
        let (table, cache) = (SpanTable::Series, self.db.cache::<SeriesCache>());
        let mut zones = ObjectZones::default();
        time_index::for_each_overlapping(self.conn, table, self.collection, &bounds, |row| {
            if let Some(series) =
                cache.get_or_parse(self.conn, row.record, row.version, &mut zones)?
            {
                visit(row.record, RangeCandidate::Series(&series));
            }
            Ok(())
        })
    }

    /// Calls `visit` with each listed occurrence that may overlap a range.
    fn each_listed(
        &self,
        range: &Range<Timestamp>,
        zones: &mut ZoneInterner,
        mut visit: impl FnMut(i64, StoredSummary<'_>),
    ) -> Result<()> {
        let from = time_codec::list_key_at(
            range
                .start
                .seconds()
                .saturating_sub(MAX_LISTED + MAX_UTC_OFFSET),
        );
        let to = time_codec::list_key_at(range.end.seconds().saturating_add(MAX_UTC_OFFSET));
        let first = list::list_key(&from, 0);
        list::for_each_block(self.conn, self.collection, &first, false, |block| {
            let begin = block.count_before(&from, i64::MIN);
            let end = block.count_before(&to, i64::MIN);
            let entries = block.ids().zip(block.summaries());
            for (id, summary) in entries.take(end).skip(begin) {
                let stored = StoredSummary::from_bytes(summary, zones);
                if !stored.in_series() {
                    visit(id, stored);
                }
            }
            Ok(match end < block.len() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        })
    }
}

/// Collects the first `limit` occurrences by start. It is pruned at twice `limit`, which costs
/// O(log limit) for each occurrence.
pub(super) struct FirstOccurrences {
    limit: usize,
    found: Vec<Occurrence>,
    /// No later occurrence is among the first.
    latest_start: Timestamp,
    /// Whether occurrences were dropped.
    has_more: bool,
}

impl FirstOccurrences {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            found: Vec::new(),
            latest_start: Timestamp::MAX,
            has_more: false,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    pub(super) fn push(&mut self, occurrence: Occurrence) {
        if occurrence.during.start > self.latest_start {
            self.has_more = true;
            return;
        }
        self.found.push(occurrence);
        if self.found.len() >= self.limit.saturating_mul(2) {
            self.prune();
            if let Some(last) = self.found.last() {
                self.latest_start = last.during.start;
            }
        }
    }

    /// Sorts the occurrences and drops those beyond the limit. Occurrences are large: each is moved
    /// once.
    fn prune(&mut self) {
        let key = |o: &Occurrence| (o.during.start, o.during.end, o.record, o.component);
        self.found.sort_by_cached_key(key);
        self.has_more |= self.found.len() > self.limit;
        self.found.truncate(self.limit);
    }

    pub(super) fn into_sorted(mut self) -> Vec<Occurrence> {
        self.prune();
        self.found
    }

    /// Returns the first occurrences, and whether there are more.
    pub(super) fn into_sorted_part(mut self) -> (Vec<Occurrence>, bool) {
        self.prune();
        (self.found, self.has_more)
    }
}

/// A record that may overlap a range.
pub(super) enum RangeCandidate<'a> {
    /// A listed occurrence and its instants, which overlap the range.
    Once(StoredSummary<'a>, Range<Timestamp>),
    /// A record to expand.
    Series(&'a ParsedSeries),
}

/// Returns the instants of a listed occurrence if they overlap a range.
pub(super) fn overlapping_instants(
    stored: &StoredSummary<'_>,
    range: &Range<Timestamp>,
    viewer: &TimeZone,
) -> Option<Range<Timestamp>> {
    let during = stored.start.as_ref()?.at(viewer)..stored.end.as_ref()?.at(viewer);
    overlaps(&during, range).then_some(during)
}

pub(super) fn once_of(
    record: i64,
    stored: StoredSummary<'_>,
    during: Range<Timestamp>,
) -> Option<Occurrence> {
    Some(Occurrence {
        record: RecordId(record),
        kind: stored.kind(),
        component: 0,
        instance: None,
        during,
        title: shared_text(stored.title),
        location: shared_text(stored.location),
        status: stored.status,
        transparent: stored.is_transparent(),
        start: stored.start?,
        end: stored.end?,
    })
}

fn shared_text(text: &[u8]) -> Arc<str> {
    match text {
        [] => Arc::default(),
        text => Arc::from(String::from_utf8_lossy(text)),
    }
}

fn series_of(
    record: i64,
    known: &ParsedSeries,
    range: &Range<Timestamp>,
    viewer: &TimeZone,
    limit: usize,
    found: &mut FirstOccurrences,
) {
    let (mut left, mut latest) = (limit, Timestamp::MIN);
    for instance in known.series.between(range.clone(), viewer) {
        let start = instance.during.start;
        // Of instances that begin together a later one may end first.
        if start > found.latest_start || (left == 0 && start > latest) {
            return;
        }
        latest = start;
        left = left.saturating_sub(1);
        if let Some(occurrence) = instance_of(record, known, instance) {
            found.push(occurrence);
        }
    }
}

/// Returns the occurrence that an instance of a series is.
pub(super) fn instance_of(
    record: i64,
    known: &ParsedSeries,
    instance: Instance,
) -> Option<Occurrence> {
    let component = known.components.get(instance.component)?;
    Some(Occurrence {
        record: RecordId(record),
        kind: component.kind,
        component: component.position,
        instance: known.recurs.then_some(instance.id),
        start: instance.start,
        end: instance.end,
        during: instance.during,
        title: Arc::clone(&component.title),
        location: Arc::clone(&component.location),
        status: component.status,
        transparent: component.transparent,
    })
}

/// Returns true if an occurrence overlaps a range.
fn overlaps(during: &Range<Timestamp>, range: &Range<Timestamp>) -> bool {
    let Range { start, end } = *during;
    start < range.end && (end > range.start || (start >= end && start >= range.start))
}
