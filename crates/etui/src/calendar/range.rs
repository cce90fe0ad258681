//! What happens between two instants.
//!
//! Two places are looked at, and both cost what lies in the range:
//!
//! - the list, from a day (nothing that is told by it alone lasts longer) and the reach of the
//!   earth's zones before the range to that reach behind it;
//! - the rows of `series` that are not over before the range and begin before its end, each of
//!   which is asked for its instances in the range, wherever that lies.
//!
//! Instants are made from what clocks show and the zones as they are known now.

use std::ops::{ControlFlow, Range};

use super::Calendar;
use super::ics::Kind;
use super::known::Known;
use super::moment::{self, Named, REACH};
use super::record::{Record, Status};
use super::summary::Stored;
use super::time::{Time, Timestamp, Zone};
use crate::collection::times::{self, SHORT};
use crate::collection::{Reader, RecordId, list};
use crate::error::Result;

/// One time that something happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// The record that says so.
    pub record: RecordId,
    /// What it is.
    pub kind: Kind,
    /// Which of the record's components says so.
    pub component: usize,
    /// Its place in the recurrence: what a `RECURRENCE-ID` for it has to say. `None`: it happens
    /// once.
    pub instance: Option<Time>,
    /// When it starts.
    pub start: Time,
    /// When it ends; a day's end is the day behind it.
    pub end: Time,
    /// The same as instants, seen from the zone that was asked for.
    pub during: Range<Timestamp>,
    /// Its title; empty when it has none.
    pub title: String,
    /// Where; empty when nothing is said of that.
    pub place: String,
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
pub(super) fn takes_time(kind: Kind, transparent: bool, status: Option<Status>) -> bool {
    kind == Kind::Event && !transparent && status != Some(Status::Cancelled)
}

impl Calendar<'_> {
    /// What happens in `range`, by when it starts: also what began before and lasts into it. See
    /// [`Reader::between`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn between(&self, range: Range<Timestamp>, viewer: &Zone) -> Result<Vec<Occurrence>> {
        self.read_ordered(|r| r.between(range, viewer))
    }

    /// The first `limit` of what happens in `range`. See [`Reader::between_at_most`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn between_at_most(
        &self,
        range: Range<Timestamp>,
        viewer: &Zone,
        limit: usize,
    ) -> Result<Vec<Occurrence>> {
        self.read_ordered(|r| r.between_at_most(range, viewer, limit))
    }
}

impl Reader<'_, Record> {
    /// What happens in `range`, by when it starts: also what began before and lasts into it. What
    /// has no length counts where it starts (RFC 4791 §9.9). Days and floating times are where
    /// they are in the zone `viewer`.
    ///
    /// A rule that fires every second has as many occurrences as the range has seconds; to bound
    /// them, ask for so many at the most.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn between(&self, range: Range<Timestamp>, viewer: &Zone) -> Result<Vec<Occurrence>> {
        self.between_at_most(range, viewer, usize::MAX)
    }

    /// The first `limit` of what happens in `range`.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn between_at_most(
        &self,
        range: Range<Timestamp>,
        viewer: &Zone,
        limit: usize,
    ) -> Result<Vec<Occurrence>> {
        if range.start >= range.end || limit == 0 {
            return Ok(Vec::new());
        }
        self.told(|| {
            let mut found = Vec::new();
            self.once(&range, viewer, &mut found)?;
            self.of_series(&range, viewer, limit, &mut found)?;
            // They are large: the keys are sorted, and each is moved once.
            found.sort_by_cached_key(|o| (o.during.start, o.during.end, o.record, o.component));
            found.truncate(limit);
            Ok(found)
        })
    }

    /// What the list tells of.
    pub(super) fn once(
        &self,
        range: &Range<Timestamp>,
        viewer: &Zone,
        found: &mut Vec<Occurrence>,
    ) -> Result<()> {
        let from = moment::place(range.start.seconds().saturating_sub(SHORT + REACH));
        let to = moment::place(range.end.seconds().saturating_add(REACH));
        let mut zones = Named::default();
        let first = list::place(&from, 0);
        list::walk(self.conn, self.collection, &first, false, |block| {
            let begin = block.before(&from, i64::MIN);
            let end = block.before(&to, i64::MIN);
            let entries = block.ids().zip(block.summaries());
            for (id, summary) in entries.take(end).skip(begin) {
                let stored = Stored::read(summary, &mut zones);
                if stored.in_series() {
                    continue;
                }
                let (Some(start), Some(last)) = (&stored.start, &stored.end) else {
                    continue;
                };
                let during = start.at(viewer)..last.at(viewer);
                if touches(&during, range) {
                    found.push(Occurrence {
                        record: RecordId(id),
                        kind: stored.kind(),
                        component: 0,
                        instance: None,
                        start: start.clone(),
                        end: last.clone(),
                        during,
                        title: stored.title(),
                        place: stored.place(),
                        status: stored.status,
                        transparent: stored.is_transparent(),
                    });
                }
            }
            Ok(match end < block.len() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        })
    }

    /// What recurs, or is long.
    fn of_series(
        &self,
        range: &Range<Timestamp>,
        viewer: &Zone,
        limit: usize,
        found: &mut Vec<Occurrence>,
    ) -> Result<()> {
        self.each_series(range, |record, known| {
            for instance in known.series.between(range.clone(), viewer).take(limit) {
                let Some(component) = known.components.get(instance.component) else {
                    continue;
                };
                found.push(Occurrence {
                    record: RecordId(record),
                    kind: component.kind,
                    component: component.place,
                    instance: known.recurs.then_some(instance.id),
                    start: instance.start,
                    end: instance.end,
                    during: instance.during,
                    title: component.title.clone(),
                    place: component.location.clone(),
                    status: component.status,
                    transparent: component.transparent,
                });
            }
        })
    }

    /// The series that may have to do with a range.
    pub(super) fn each_series(
        &self,
        range: &Range<Timestamp>,
        mut visit: impl FnMut(i64, &Known),
    ) -> Result<()> {
        let bounds = range.start.seconds()..range.end.seconds();
        times::within(self.conn, self.collection, bounds, |record, times| {
            if let Some(known) = self.store.known_series.get(record, times) {
                visit(record, &known);
            }
        })
    }
}

/// Whether something has to do with a range of time.
fn touches(during: &Range<Timestamp>, range: &Range<Timestamp>) -> bool {
    let Range { start, end } = *during;
    start < range.end && (end > range.start || (start >= end && start >= range.start))
}
