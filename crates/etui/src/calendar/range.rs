//! What happens between two instants.
//!
//! Two places are looked at, and both cost what lies in the range:
//!
//! - the list, from a day (nothing that is told by it alone lasts longer) and the reach of the
//!   earth's zones before the range to that reach behind it;
//! - the rows of `series` that are not over before the range and begin before its end. What happens
//!   once is told by its row; what recurs is asked for its instances in the range, wherever that
//!   lies.
//!
//! Instants are made from what clocks show and the zones as they are known now.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::Calendar;
use super::ics::ComponentKind;
use super::moment::{self, MAX_UTC_OFFSET, Named};
use super::objects::ZonesOf;
use super::series_cache::{ParsedSeries, SeriesCache};
use super::summary::Stored;
use super::time::{CalendarTime, TimeZone, Timestamp};
use super::{CalendarObject, Status};
use crate::error::Result;
use crate::record::time_index::{self, MAX_LISTED, SpanTable};
use crate::record::{Reader, list};
use crate::types::RecordId;

/// One time that something happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// The record that says so.
    pub record: RecordId,
    /// What it is.
    pub kind: ComponentKind,
    /// Which of the record's components says so.
    pub component: usize,
    /// Its place in the recurrence: what a `RECURRENCE-ID` for it has to say. `None`: it happens
    /// once.
    pub instance: Option<CalendarTime>,
    /// When it starts.
    pub start: CalendarTime,
    /// When it ends; a day's end is the day behind it.
    pub end: CalendarTime,
    /// The same as instants, seen from the zone that was asked for.
    pub during: Range<Timestamp>,
    /// Its title; empty when it has none.
    pub title: Arc<str>,
    /// Where; empty when nothing is said of that.
    pub place: Arc<str>,
    /// How far it has come.
    pub status: Option<Status>,
    /// Whether it takes up no time.
    pub transparent: bool,
}

impl Occurrence {
    /// Whether it is a day's, or several days'.
    #[must_use]
    pub fn is_all_day(&self) -> bool {
        self.start.is_date()
    }

    /// Whether the time is taken.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        takes_time(self.kind, self.transparent, self.status)
    }
}

/// Whether such a component takes up time.
pub(super) fn takes_time(kind: ComponentKind, transparent: bool, status: Option<Status>) -> bool {
    kind == ComponentKind::Event && !transparent && status != Some(Status::Cancelled)
}

impl Calendar<'_> {
    /// What happens in `range`, by when it starts: also what began before and lasts into it. See
    /// [`Reader::between`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn between(&self, range: Range<Timestamp>, viewer: &TimeZone) -> Result<Vec<Occurrence>> {
        self.read_ordered(|r| r.between(range, viewer))
    }

    /// The first `limit` of what happens in `range`. See [`Reader::between_at_most`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn between_at_most(
        &self,
        range: Range<Timestamp>,
        viewer: &TimeZone,
        limit: usize,
    ) -> Result<Vec<Occurrence>> {
        self.read_ordered(|r| r.between_at_most(range, viewer, limit))
    }
}

impl Reader<'_, CalendarObject> {
    /// What happens in `range`, by when it starts: also what began before and lasts into it. What
    /// has no length counts where it starts (RFC 4791 §9.9). Days and floating times are where
    /// they are in the zone `viewer`. Of what starts together, what ends first comes first; what
    /// also ends together is in the order of the records' numbers, then of their components.
    ///
    /// A rule that fires every second has as many occurrences as the range has seconds; to bound
    /// them, ask for so many at the most.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn between(&self, range: Range<Timestamp>, viewer: &TimeZone) -> Result<Vec<Occurrence>> {
        self.between_at_most(range, viewer, usize::MAX)
    }

    /// The first `limit` of what happens in `range`, in the order of [`between`](Self::between).
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn between_at_most(
        &self,
        range: Range<Timestamp>,
        viewer: &TimeZone,
        limit: usize,
    ) -> Result<Vec<Occurrence>> {
        if range.start >= range.end || limit == 0 {
            return Ok(Vec::new());
        }
        self.told(|| {
            let mut found = Vec::new();
            self.each(&range, viewer, |record, told| match told {
                Told::Once(stored, during) => found.extend(once_of(record, stored, during)),
                Told::Series(known) => series_of(record, known, &range, viewer, limit, &mut found),
            })?;
            Ok(in_order(found, limit))
        })
    }

    /// All that may have to do with a range.
    pub(super) fn each(
        &self,
        range: &Range<Timestamp>,
        viewer: &TimeZone,
        mut visit: impl FnMut(i64, Told<'_>),
    ) -> Result<()> {
        let mut zones = Named::default();
        self.each_listed(range, &mut zones, |record, stored| {
            if let Some(during) = during(&stored, range, viewer) {
                visit(record, Told::Once(stored, during));
            }
        })?;
        let bounds = range.start.seconds()..range.end.seconds();
        let (table, cache) = (SpanTable::Series, self.db.cache::<SeriesCache>());
        let mut zones = ZonesOf::default();
        time_index::for_each_overlapping(self.conn, table, self.collection, &bounds, |row| {
            if let Some(series) = cache.get(self.conn, row.record, row.version, &mut zones)? {
                visit(row.record, Told::Series(&series));
            }
            Ok(())
        })
    }

    /// What the list tells of, and may have to do with a range.
    fn each_listed(
        &self,
        range: &Range<Timestamp>,
        zones: &mut Named,
        mut visit: impl FnMut(i64, Stored<'_>),
    ) -> Result<()> {
        let from = moment::place(
            range
                .start
                .seconds()
                .saturating_sub(MAX_LISTED + MAX_UTC_OFFSET),
        );
        let to = moment::place(range.end.seconds().saturating_add(MAX_UTC_OFFSET));
        let first = list::place(&from, 0);
        list::walk(self.conn, self.collection, &first, false, |block| {
            let begin = block.before(&from, i64::MIN);
            let end = block.before(&to, i64::MIN);
            let entries = block.ids().zip(block.summaries());
            for (id, summary) in entries.take(end).skip(begin) {
                let stored = Stored::read(summary, zones);
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

/// The first `limit` by their start. They are large: their places are sorted, and each is moved
/// once.
fn in_order(mut found: Vec<Occurrence>, limit: usize) -> Vec<Occurrence> {
    // Start, end and place in one number: 39 bits for the seconds of all years.
    let seconds = |at: Timestamp| (at.seconds() - Timestamp::MIN.seconds()) as u128;
    let mut order: Vec<u128> = (found.iter().zip(0..))
        .map(|(o, place)| seconds(o.during.start) << 89 | seconds(o.during.end) << 50 | place)
        .collect();
    order.sort_unstable();
    let place = |key: u128| (key & ((1 << 50) - 1)) as usize;
    for together in order.chunk_by_mut(|a, b| a >> 50 == b >> 50) {
        if together.len() > 1 {
            together.sort_by_key(|key| found.get(place(*key)).map(|o| (o.record, o.component)));
        }
    }
    let mut places: Vec<usize> = order.into_iter().map(place).collect();
    for first in 0..places.len() {
        // A ring of those that go each to the next one's place.
        let mut to = first;
        while let Some(from) = places.get_mut(to).map(|from| std::mem::replace(from, to)) {
            if from == first {
                break;
            }
            found.swap(to, from);
            to = from;
        }
    }
    found.truncate(limit);
    found
}

/// What may have to do with a range.
pub(super) enum Told<'a> {
    /// It happens once, then, in the range.
    Once(Stored<'a>, Range<Timestamp>),
    /// To be asked for its instances.
    Series(&'a ParsedSeries),
}

/// When something that happens once is in a range.
pub(super) fn during(
    stored: &Stored<'_>,
    range: &Range<Timestamp>,
    viewer: &TimeZone,
) -> Option<Range<Timestamp>> {
    let during = stored.start.as_ref()?.at(viewer)..stored.end.as_ref()?.at(viewer);
    touches(&during, range).then_some(during)
}

fn once_of(record: i64, stored: Stored<'_>, during: Range<Timestamp>) -> Option<Occurrence> {
    Some(Occurrence {
        record: RecordId(record),
        kind: stored.kind(),
        component: 0,
        instance: None,
        during,
        title: shared(stored.title),
        place: shared(stored.place),
        status: stored.status,
        transparent: stored.is_transparent(),
        start: stored.start?,
        end: stored.end?,
    })
}

fn shared(text: &[u8]) -> Arc<str> {
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
    found: &mut Vec<Occurrence>,
) {
    let (mut left, mut latest) = (limit, Timestamp::MIN);
    for instance in known.series.between(range.clone(), viewer) {
        // Of those that begin at one time a later one may end first.
        if left == 0 && instance.during.start > latest {
            return;
        }
        latest = instance.during.start;
        left = left.saturating_sub(1);
        if let Some(component) = known.components.get(instance.component) {
            found.push(Occurrence {
                record: RecordId(record),
                kind: component.kind,
                component: component.position,
                instance: known.recurs.then_some(instance.id),
                start: instance.start,
                end: instance.end,
                during: instance.during,
                title: Arc::clone(&component.title),
                place: Arc::clone(&component.location),
                status: component.status,
                transparent: component.transparent,
            });
        }
    }
}

/// Whether something has to do with a range of time.
fn touches(during: &Range<Timestamp>, range: &Range<Timestamp>) -> bool {
    let Range { start, end } = *during;
    start < range.end && (end > range.start || (start >= end && start >= range.start))
}
