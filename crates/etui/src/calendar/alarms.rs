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

use super::bounded::CutSeries;
use super::ics::ComponentKind;
use super::object_zones::ObjectZones;
use super::recurrence::Instance;
use super::series_cache::{ParsedComponent, ParsedSeries, ParsedSnooze, SeriesCache};
use super::time::{CalendarTime, TimeZone, Timestamp};
use super::time_codec::MAX_UTC_OFFSET;
use super::{Alarm, AlarmAction, AlarmTrigger, CalendarComponent, CalendarObject, Status};
use crate::error::Result;
use crate::record::time_index::{self, SpanRow, SpanTable, TimeSpan};
use crate::record::{ReadState, Reader};
use crate::types::RecordId;

/// Length of the first window, in seconds. Each further one is [`WINDOW_GROWTH`] times as long.
const FIRST_WINDOW: i64 = 6 * 3_600;
const WINDOW_GROWTH: i64 = 4;

/// Alarms of instances that are examined for one record in one window. A rule that fires every
/// second, whose alarms were all acknowledged, would otherwise be expanded for years.
const MAX_STEPS_OF_RECORD: usize = 1 << 18;
/// Alarms of instances that are examined for one answer, until only
/// [`MIN_STEPS_OF_RECORD`] are examined for each further record.
const MAX_STEPS: usize = 1 << 20;
const MIN_STEPS_OF_RECORD: usize = 1 << 10;

/// An alarm that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueAlarm {
    /// CalendarObject of the alarm.
    pub record: RecordId,
    /// Position of the alarm's component in the record.
    pub component: usize,
    /// When it is due.
    pub at: Timestamp,
    /// Whether it is a repetition (`REPEAT`) of an alarm that was due before.
    pub is_repetition: bool,
    /// Kind of the component.
    pub kind: ComponentKind,
    /// Start of the instance that it announces; of a to-do without a start, when it is due.
    pub start: Option<CalendarTime>,
    /// End of the instance; of a to-do, when it is due.
    pub end: Option<CalendarTime>,
    /// Title of the component.
    pub title: String,
    /// Location of the component.
    pub location: String,
    /// What it does.
    pub action: AlarmAction,
}

/// The alarms that are due next, and the omissions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DueAlarms {
    /// The alarms in order.
    pub alarms: Vec<DueAlarm>,
    /// Series whose later alarms were not examined, each once.
    pub cut: Vec<CutSeries>,
}

impl Reader<CalendarObject> {
    /// Returns the first `limit` alarms that are due at `after` or later, in order. Acknowledged
    /// alarms are left out, as are those of cancelled and completed components, and repetitions of an
    /// alarm beyond the hundredth. Days and floating times are read in the zone `viewer`.
    ///
    /// The answer names the series that were not examined to the end: it examines about a million alarms of
    /// instances, at most 262,144 of one record, then 1,024 of each further record.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn alarms(&self, after: Timestamp, limit: usize, viewer: &TimeZone) -> Result<DueAlarms> {
        self.read_ordered(|r| r.alarms(after, limit, viewer))
    }
}

impl ReadState<'_, CalendarObject> {
    fn alarms(&self, after: Timestamp, limit: usize, viewer: &TimeZone) -> Result<DueAlarms> {
        if limit == 0 {
            return Ok(DueAlarms::default());
        }
        self.explain_errors(|| {
            let mut search = AlarmSearch {
                limit,
                viewer,
                steps_left: MAX_STEPS,
                found: DueAlarms::default(),
            };
            let (mut window, mut length) = (after..after.plus_seconds(FIRST_WINDOW), FIRST_WINDOW);
            loop {
                let has_candidates = self.alarms_within(&window, &mut search)?;
                if search.found.alarms.len() >= limit || window.end == Timestamp::MAX {
                    break;
                }
                let mut start = window.end;
                length = length.saturating_mul(WINDOW_GROWTH);
                // The windows up to the next span would be empty.
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
            let mut found = search.found;
            found.cut.sort_by_key(|cut| cut.record);
            found.cut.dedup();
            Ok(found)
        })
    }

    /// Adds the alarms that are due in a window to those found, which stay in order and at most
    /// `limit`. Returns true if the alarms of any record may be in the window or after it.
    fn alarms_within(
        &self,
        window: &Range<Timestamp>,
        search: &mut AlarmSearch<'_>,
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
        let mut full_at = None;
        for SpanRow {
            record,
            first,
            version,
        } in candidates
        {
            if search.found.alarms.len() >= search.limit.saturating_mul(2) {
                keep_first(&mut search.found.alarms, search.limit);
                full_at = search.found.alarms.last().map(|last| last.at);
            }
            // No alarm of the remaining candidates is due before their `first`.
            if full_at.is_some_and(|at| first > at.seconds()) {
                break;
            }
            let cache = self.db.cache::<SeriesCache>();
            if let Some(series) = cache.get_or_parse(self.conn, record, version, &mut zones)? {
                let most = search.steps_left;
                let most = most.clamp(MIN_STEPS_OF_RECORD, MAX_STEPS_OF_RECORD);
                let mut expansion = AlarmExpansion {
                    record: RecordId(record),
                    viewer: search.viewer,
                    window,
                    limit: search.limit,
                    steps_left: most,
                    full_at,
                    due: Vec::new(),
                };
                if !expansion.expand_record(&series) {
                    search.found.cut.push(CutSeries::new(record, &series));
                }
                let used = most - expansion.steps_left;
                // A record may take more steps than are left, up to the minimum of each.
                search.steps_left = search.steps_left.saturating_sub(used);
                search.found.alarms.append(&mut expansion.due);
            }
        }
        keep_first(&mut search.found.alarms, search.limit);
        Ok(has_candidates)
    }
}

/// A search for alarms in one window after the other.
struct AlarmSearch<'v> {
    limit: usize,
    viewer: &'v TimeZone,
    steps_left: usize,
    found: DueAlarms,
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
    /// Alarms of instances that are still examined.
    steps_left: usize,
    /// No later alarm is among the first `limit`.
    full_at: Option<Timestamp>,
    due: Vec<DueAlarm>,
}

impl AlarmExpansion<'_> {
    /// Finds the alarms. Returns false if it was stopped by the limit of steps.
    fn expand_record(&mut self, series: &ParsedSeries) -> bool {
        for component in series.components.iter().chain(&series.undated) {
            if is_over(component) {
                continue;
            }
            let absolute = |alarm: &&Alarm| alarm.trigger.is_absolute();
            for alarm in component.alarms.iter().filter(absolute) {
                let start = component.start.as_ref();
                // An absolute trigger does not depend on the times.
                let nowhere = CalendarTime::Utc(self.window.start);
                let times = (start.unwrap_or(&nowhere), start.unwrap_or(&nowhere));
                self.push_due(component, alarm, (start, None), times);
            }
        }
        for snooze in &series.snoozes {
            self.expand_snooze(series, snooze);
        }
        let offsets = AlarmOffsets::new(series, self.viewer);
        let is_complete = offsets.is_none_or(|offsets| self.expand_instances(series, &offsets));
        keep_first(&mut self.due, self.limit);
        is_complete
    }

    /// Adds the alarm of an instance that was put off.
    fn expand_snooze(&mut self, series: &ParsedSeries, snooze: &ParsedSnooze) {
        let found = series
            .series
            .instance_with_id(&snooze.instance, self.viewer);
        let Some(instance) = found.filter(|_| self.steps_left > 0) else {
            return;
        };
        self.steps_left -= 1;
        let component = series.components.get(instance.component);
        let Some(component) = component.filter(|component| !is_over(component)) else {
            return;
        };
        if let Some(alarm) = component.alarms.first() {
            let alarm = Alarm {
                trigger: AlarmTrigger::At(snooze.until),
                repeat: 0,
                ..alarm.clone()
            };
            let times = (&instance.start, &instance.end);
            let shown = (Some(&instance.start), Some(&instance.end));
            self.push_due(component, &alarm, shown, times);
        }
    }

    /// Expands the instances that may have an alarm in the window, until no later one can have one
    /// of the first `limit`. Returns false if it was stopped by the limit of steps.
    fn expand_instances(&mut self, series: &ParsedSeries, offsets: &AlarmOffsets) -> bool {
        // Acknowledged instances need no expansion.
        // `None` is less than any time: all components must be acknowledged.
        let done = series.components.iter().map(|c| c.acknowledged).min();
        let since = done.flatten().unwrap_or(Timestamp::MIN);
        let since = since.max(self.window.start);
        // An alarm in the window is of an instance that is earlier by the offset.
        let since = since.plus_seconds(offsets.latest.saturating_neg());
        let until = self.window.end;
        let until = until.plus_seconds(offsets.earliest.saturating_neg());
        let range = since..until.min(offsets.until);
        for instance in series.series.between(range, self.viewer) {
            let earliest = instance.during.start.plus_seconds(offsets.earliest);
            if self.full_at.is_some_and(|at| earliest > at) {
                break;
            }
            let Some(component) = series.components.get(instance.component) else {
                continue;
            };
            // An instance without alarms is a step too.
            let Some(left) = self.steps_left.checked_sub(component.alarms.len().max(1)) else {
                return false;
            };
            self.steps_left = left;
            let is_snoozed = |snooze: &ParsedSnooze| snooze.instance == instance.id;
            if is_over(component) || series.snoozes.iter().any(is_snoozed) {
                continue;
            }
            for alarm in &component.alarms {
                if !alarm.trigger.is_absolute() {
                    let times = (&instance.start, &instance.end);
                    let shown = (Some(&instance.start), Some(&instance.end));
                    self.push_due(component, alarm, shown, times);
                }
            }
        }
        true
    }

    /// Adds the repetitions of an alarm that are due in the window and not acknowledged.
    fn push_due(
        &mut self,
        component: &ParsedComponent,
        alarm: &Alarm,
        (shown_start, shown_end): (Option<&CalendarTime>, Option<&CalendarTime>),
        (start, end): (&CalendarTime, &CalendarTime),
    ) {
        let done = component.acknowledged.max(alarm.acknowledged);
        let full_at = self.full_at.unwrap_or(Timestamp::MAX);
        let due = alarm.due_within(start, end, self.viewer, self.window);
        let first = alarm.due(start, end, self.viewer).next();
        for at in due.take_while(|at| *at <= full_at) {
            if done.is_none_or(|done| at > done) {
                self.due.push(DueAlarm {
                    record: self.record,
                    component: component.position,
                    at,
                    is_repetition: first.is_some_and(|first| at > first),
                    kind: component.kind,
                    start: shown_start.cloned(),
                    end: shown_end.cloned(),
                    title: component.title.to_string(),
                    location: component.location.to_string(),
                    action: alarm.action,
                });
            }
        }
        // Sorted at twice the limit, which costs O(log limit) for each alarm.
        if self.due.len() >= self.limit.saturating_mul(2) {
            keep_first(&mut self.due, self.limit);
            self.full_at = self.due.last().map(|last| last.at);
        }
    }
}

/// Returns true if nobody waits for the component any more.
fn is_over(component: &ParsedComponent) -> bool {
    matches!(
        component.status,
        Some(Status::Cancelled | Status::Completed)
    )
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
                    AlarmTrigger::At(_) | AlarmTrigger::Local(_) => continue,
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
                // The span is widened by the offset of any time zone.
                AlarmTrigger::Local(at) => Some((at.seconds(), Some(at.seconds()))),
                _ => item.timing.as_ref().map(|_| {
                    *whole.get_or_insert_with(|| match single {
                        Some(one) => {
                            let Range { start, end } = &one.during;
                            (start.seconds(), Some(end.seconds()))
                        }
                        None => {
                            let bounds = record.recurrence_set().bounds();
                            // An unbounded set ends at `Timestamp::MAX`.
                            let end = Some(bounds.end).filter(|end| *end < Timestamp::MAX);
                            (bounds.start.seconds(), end.map(Timestamp::seconds))
                        }
                    })
                }),
            };
            let Some(alarm_span) = times.and_then(|times| span_of(item, alarm, times)) else {
                continue;
            };
            span = Some(joined_span(span, alarm_span));
        }
        // A snooze can be after all alarms, and an acknowledgement of them.
        for snooze in item.snoozes.iter().filter(|_| has_alarms(record)) {
            let at = snooze.until.seconds();
            let snoozed = TimeSpan {
                first: at,
                last: Some(at),
            };
            span = Some(joined_span(span, snoozed));
        }
    }
    span
}

fn has_alarms(record: &CalendarObject) -> bool {
    record.components().any(|item| !item.alarms.is_empty())
}

fn joined_span(span: Option<TimeSpan>, other: TimeSpan) -> TimeSpan {
    match span {
        None => other,
        Some(span) => TimeSpan {
            first: span.first.min(other.first),
            // An unbounded span makes the whole unbounded.
            last: span.last.zip(other.last).map(|(a, b)| a.max(b)),
        },
    }
}

/// Returns the span of an alarm whose instances are between `first` and `last`; `None` if all of
/// them were acknowledged.
fn span_of(
    item: &CalendarComponent,
    alarm: &Alarm,
    (first, last): (i64, Option<i64>),
) -> Option<TimeSpan> {
    let offset = match alarm.trigger {
        AlarmTrigger::At(_) | AlarmTrigger::Local(_) => 0,
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
        // Nothing is due up to an acknowledgement.
        first: done.map_or(first, |done| first.max(done)),
        last,
    })
}
