//! Due alarms.
//!
//! The time index has the span of each record's alarms: the earliest and the latest instant at which
//! one can be due, widened by [`MAX_UTC_OFFSET`] as days and floating times depend on the time zone
//! of the display. A query expands the records whose span overlaps a window after the moment asked
//! for, and widens the window until it has found enough:
//!
//! ```text
//!    |----|  |---|      |--|            |---|     spans of single events
//!  |--------------------------------------- ...   an unbounded series
//!       [ 6 h )[ 24 h       )[ 96 h            )
//!     after
//! ```
//!
//! Reading writes nothing, and nothing is kept in memory but parsed series.

use std::ops::Range;

use super::Calendar;
use super::object_zones::ObjectZones;
use super::recurrence::Instance;
use super::series_cache::{ParsedComponent, ParsedSeries, SeriesCache};
use super::time::{CalendarTime, TimeZone, Timestamp};
use super::time_codec::MAX_UTC_OFFSET;
use super::{Alarm, AlarmAction, AlarmTrigger, CalendarComponent, CalendarObject};
use crate::error::Result;
use crate::record::Reader;
use crate::record::time_index::{self, SpanRow, SpanTable, TimeSpan};
use crate::types::RecordId;

/// Length of the first window, in seconds. Each further one is [`WINDOW_GROWTH`] times as long.
const FIRST_WINDOW: i64 = 6 * 3_600;
const WINDOW_GROWTH: i64 = 4;

/// Instances of one series that are expanded for one window. A rule that fires every second, whose
/// alarms were all acknowledged, would otherwise be expanded for years.
const MAX_INSTANCES: usize = 1 << 18;

/// An alarm that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueAlarm {
    /// CalendarObject of the alarm.
    pub record: RecordId,
    /// Position of the alarm's component in the record.
    pub component: usize,
    /// When it is due.
    pub at: Timestamp,
    /// Start of the instance that it announces.
    pub start: Option<CalendarTime>,
    /// Title of the component.
    pub title: String,
    /// What it does.
    pub action: AlarmAction,
}

impl Calendar<'_> {
    /// Returns the first `limit` alarms that are due at `after` or later. See [`Reader::alarms`].
    ///
    /// # Errors
    /// Any error of reading.
    pub fn alarms(
        &self,
        after: Timestamp,
        limit: usize,
        viewer: &TimeZone,
    ) -> Result<Vec<DueAlarm>> {
        self.read_ordered(|r| r.alarms(after, limit, viewer))
    }
}

impl Reader<'_, CalendarObject> {
    /// Returns the first `limit` alarms that are due at `after` or later, in order. Acknowledged
    /// alarms are left out, as are repetitions of an alarm beyond the hundredth, and alarms beyond
    /// the first 262,144 instances of a rule in one window. Days and floating times are read in the
    /// zone `viewer`.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn alarms(
        &self,
        after: Timestamp,
        limit: usize,
        viewer: &TimeZone,
    ) -> Result<Vec<DueAlarm>> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        self.explain_errors(|| {
            let mut due = Vec::new();
            let (mut window, mut length) = (after..after.plus_seconds(FIRST_WINDOW), FIRST_WINDOW);
            loop {
                let has_candidates = self.alarms_within(&window, limit, viewer, &mut due)?;
                if due.len() >= limit || window.end == Timestamp::MAX {
                    break;
                }
                let mut start = window.end;
                length = length.saturating_mul(WINDOW_GROWTH);
                if !has_candidates {
                    let (table, end) = (SpanTable::Alarm, window.end.seconds());
                    match time_index::next_first(self.conn, table, self.collection, end)? {
                        Some(first) => {
                            start = start.max(Timestamp::from_seconds(first));
                            length = FIRST_WINDOW;
                        }
                        None => break,
                    }
                }
                window = start..start.plus_seconds(length);
            }
            Ok(due)
        })
    }

    /// Adds the alarms that are due in a window to `due`, which stays in order and at most `limit`
    /// long. Returns true if the alarms of any record may be in the window or after it.
    fn alarms_within(
        &self,
        window: &Range<Timestamp>,
        limit: usize,
        viewer: &TimeZone,
        due: &mut Vec<DueAlarm>,
    ) -> Result<bool> {
        let mut candidates: Vec<SpanRow> = Vec::new();
        let range = window.start.seconds()..window.end.seconds();
        time_index::for_each_overlapping(
            self.conn,
            SpanTable::Alarm,
            self.collection,
            &range,
            |row| {
                candidates.push(row);
                Ok(())
            },
        )?;
        candidates.sort_by_key(|row| row.first);
        let has_candidates = !candidates.is_empty();
        let mut zones = ObjectZones::default();
        for SpanRow {
            record,
            first,
            version,
        } in candidates
        {
            if due.len() >= limit.saturating_mul(2) {
                keep_first(due, limit);
                // No alarm of the remaining candidates is due before their `first`.
                if due.last().is_some_and(|last| first > last.at.seconds()) {
                    break;
                }
            }
            let cache = self.db.cache::<SeriesCache>();
            if let Some(series) = cache.get_or_parse(self.conn, record, version, &mut zones)? {
                let mut expansion = AlarmExpansion {
                    record: RecordId(record),
                    viewer,
                    window,
                    limit,
                    due: Vec::new(),
                };
                expansion.expand_record(&series);
                due.append(&mut expansion.due);
            }
        }
        keep_first(due, limit);
        Ok(has_candidates)
    }
}

fn keep_first(due: &mut Vec<DueAlarm>, limit: usize) {
    due.sort_by_key(|due| (due.at, due.record));
    due.truncate(limit);
}

/// The alarms of one record in a window, as they are found.
struct AlarmExpansion<'w> {
    record: RecordId,
    viewer: &'w TimeZone,
    window: &'w Range<Timestamp>,
    limit: usize,
    due: Vec<DueAlarm>,
}

impl AlarmExpansion<'_> {
    fn expand_record(&mut self, series: &ParsedSeries) {
        for component in series.components.iter().chain(&series.undated) {
            let absolute = |alarm: &&Alarm| matches!(alarm.trigger, AlarmTrigger::At(_));
            for alarm in component.alarms.iter().filter(absolute) {
                let start = component.start.as_ref();
                let nowhere = CalendarTime::Utc(self.window.start);
                let times = (start.unwrap_or(&nowhere), start.unwrap_or(&nowhere));
                self.push_due(component, alarm, start, times);
            }
        }
        if let Some(offsets) = AlarmOffsets::new(series, self.viewer) {
            self.expand_instances(series, &offsets);
        }
        self.due.sort_by_key(|due| due.at);
        self.due.truncate(self.limit);
    }

    /// Expands the instances that may have an alarm in the window, until no later one can have one
    /// of the first `limit`.
    fn expand_instances(&mut self, series: &ParsedSeries, offsets: &AlarmOffsets) {
        // Acknowledged instances need no expansion.
        let done = series.components.iter().map(|c| c.acknowledged).min();
        let since = done.flatten().unwrap_or(Timestamp::MIN);
        let since = since.max(self.window.start);
        let since = since.plus_seconds(offsets.latest.saturating_neg());
        let until = self.window.end;
        let until = until.plus_seconds(offsets.earliest.saturating_neg());
        let mut full_at = None;
        let range = since..until.min(offsets.until);
        for instance in series
            .series
            .between(range, self.viewer)
            .take(MAX_INSTANCES)
        {
            let earliest = instance.during.start.plus_seconds(offsets.earliest);
            if full_at.is_some_and(|at| earliest > at) {
                break;
            }
            let Some(component) = series.components.get(instance.component) else {
                continue;
            };
            for alarm in &component.alarms {
                if !matches!(alarm.trigger, AlarmTrigger::At(_)) {
                    let times = (&instance.start, &instance.end);
                    self.push_due(component, alarm, Some(&instance.start), times);
                }
            }
            let enough = match full_at {
                None => self.limit,
                Some(_) => self.limit.saturating_mul(2),
            };
            if self.due.len() >= enough {
                self.due.sort_by_key(|due| due.at);
                self.due.truncate(self.limit);
                full_at = self.due.last().map(|last| last.at);
            }
        }
    }

    /// Adds the repetitions of an alarm that are due in the window and not acknowledged.
    fn push_due(
        &mut self,
        component: &ParsedComponent,
        alarm: &Alarm,
        shown_start: Option<&CalendarTime>,
        (start, end): (&CalendarTime, &CalendarTime),
    ) {
        let done = component.acknowledged.max(alarm.acknowledged);
        for at in alarm.due(start, end, self.viewer) {
            if self.window.contains(&at) && done.is_none_or(|done| at > done) {
                self.due.push(DueAlarm {
                    record: self.record,
                    component: component.position,
                    at,
                    start: shown_start.cloned(),
                    title: component.title.to_string(),
                    action: alarm.action,
                });
            }
        }
    }
}

/// Bounds of the time between the start of an instance and its alarms.
struct AlarmOffsets {
    /// Least offset in seconds; negative for most.
    earliest: i64,
    latest: i64,
    /// No instance from here on has an alarm.
    until: Timestamp,
}

impl AlarmOffsets {
    /// Returns `None` if no alarm is relative to an instance.
    fn new(series: &ParsedSeries, viewer: &TimeZone) -> Option<Self> {
        let (mut earliest, mut latest, mut margin) = (i64::MAX, i64::MIN, 0);
        let mut until = None;
        for component in &series.components {
            for alarm in &component.alarms {
                let (offset, length) = match alarm.trigger {
                    AlarmTrigger::At(_) => continue,
                    AlarmTrigger::Start(offset) => (offset, 0),
                    AlarmTrigger::End(offset) => (offset, series.series.longest()),
                };
                // Days of the calendar are longer or shorter where the clocks change.
                if offset.days() != 0 {
                    margin = MAX_UTC_OFFSET;
                }
                let offset = offset.nominal_seconds();
                let last = alarm.repeat_offsets().last().unwrap_or(0);
                earliest = earliest.min(offset);
                latest = latest.max(offset.saturating_add(last).saturating_add(length));
                let is_single = component
                    .recurrence_id
                    .as_ref()
                    .is_some_and(|r| !r.this_and_future);
                let start = component.start.as_ref().filter(|_| is_single);
                let end = start.map_or(Timestamp::MAX, |start| {
                    start.at(viewer).plus_seconds(2 * MAX_UTC_OFFSET)
                });
                until = until.max(Some(end));
            }
        }
        Some(Self {
            until: until?,
            earliest: earliest.saturating_sub(margin),
            latest: latest.saturating_add(margin),
        })
    }
}

/// Returns the span of a record's alarms; `None` if none can be due. `single` is its instance if it
/// has only one.
pub(super) fn alarm_span(record: &CalendarObject, single: Option<&Instance>) -> Option<TimeSpan> {
    let mut whole = None;
    let mut span: Option<TimeSpan> = None;
    for item in record.components() {
        for alarm in &item.alarms {
            let times = match alarm.trigger {
                AlarmTrigger::At(at) => Some((at.seconds(), Some(at.seconds()))),
                _ => item.timing.as_ref().map(|_| {
                    *whole.get_or_insert_with(|| match single {
                        Some(one) => {
                            let Range { start, end } = &one.during;
                            (start.seconds(), Some(end.seconds()))
                        }
                        None => {
                            let bounds = record.recurrence_set().bounds();
                            let end = Some(bounds.end).filter(|end| *end < Timestamp::MAX);
                            (bounds.start.seconds(), end.map(Timestamp::seconds))
                        }
                    })
                }),
            };
            let Some(alarm_span) = times.and_then(|times| span_of(item, alarm, times)) else {
                continue;
            };
            span = Some(match span {
                None => alarm_span,
                Some(span) => TimeSpan {
                    first: span.first.min(alarm_span.first),
                    last: span.last.zip(alarm_span.last).map(|(a, b)| a.max(b)),
                },
            });
        }
    }
    span
}

/// Returns the span of an alarm whose instances are between `first` and `last`; `None` if all of
/// them were acknowledged.
fn span_of(
    item: &CalendarComponent,
    alarm: &Alarm,
    (first, last): (i64, Option<i64>),
) -> Option<TimeSpan> {
    let offset = match alarm.trigger {
        AlarmTrigger::At(_) => 0,
        AlarmTrigger::Start(offset) | AlarmTrigger::End(offset) => offset.nominal_seconds(),
    };
    let repeated = alarm.repeat_offsets().last().unwrap_or(0);
    let first = first
        .saturating_add(offset.min(0))
        .saturating_sub(MAX_UTC_OFFSET);
    let last = last.map(|last| {
        last.saturating_add(offset.saturating_add(repeated).max(0))
            .saturating_add(MAX_UTC_OFFSET)
    });
    let done = item.acknowledged.as_ref().map(|t| t.at(&TimeZone::UTC));
    let done = done.max(alarm.acknowledged).map(Timestamp::seconds);
    if done.is_some_and(|done| last.is_some_and(|last| last <= done)) {
        return None;
    }
    Some(TimeSpan {
        first: done.map_or(first, |done| first.max(done)),
        last,
    })
}
