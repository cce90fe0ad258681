//! [`ObjectTimes`]: which components of a calendar object overlap a range of time (RFC 4791 section
//! 9.9).
//!
//! A component overlaps a range if one of its instances does. An override is a component of its own;
//! the instance that it replaces is none of the master component.
//!
//! ```text
//! VEVENT    start < end of instance, end > start of instance    without length: start <= it < end
//! VTODO     by the table of section 9.9: DTSTART, DURATION, DUE, COMPLETED, CREATED
//! VJOURNAL  start <= DTSTART < end; a day for a date
//! VFREEBUSY DTSTART and DTEND, else its periods
//! VALARM    start <= trigger < end, of any instance of its component and any repetition
//! ```
//!
//! Only `DTEND` after `DTSTART` is valid; another one counts as an event without length.

use std::cell::Cell;
use std::ops::Range;

use etui::calendar::recurrence::{EventEnd, Instance, RecurrenceSet, Timing};
use etui::calendar::time::{CalendarTime, DateTimeValue, Duration, TimeZone, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{Alarm, AlarmAction, AlarmTrigger};
use etui_contentline::lines::ContentLine;
use etui_contentline::values::{param_value, property_value};

use super::calendar_match::RECORD_COMPONENTS;
use super::component_tree::{Component, time_of};
use super::time_range::TimeRange;

/// Instances that are examined for one query, until only [`MIN_EXAMINED`] are examined of each further
/// component. Rules can fire every second; a component with more instances counts as one that overlaps
/// the range.
const MAX_EXAMINED: usize = 1 << 20;
const MIN_EXAMINED: usize = 1 << 10;
/// Instances that are examined of one component at most.
const MAX_EXAMINED_OF_COMPONENT: usize = 10_000;

/// Margin of ranges in which alarms are looked for, in seconds: days of a calendar are longer or
/// shorter where the clocks change.
const ALARM_MARGIN: i64 = 2 * 86_400;

/// Periods of a `VFREEBUSY` that are read.
const MAX_PERIODS: usize = 100_000;

/// The instances that one query may still examine.
#[derive(Debug)]
pub(super) struct InstanceBudget(Cell<usize>);

impl Default for InstanceBudget {
    fn default() -> Self {
        Self(Cell::new(MAX_EXAMINED))
    }
}

/// The times of the components of one calendar object.
pub(super) struct ObjectTimes<'z> {
    budget: &'z InstanceBudget,
    zones: &'z TimeZoneResolver,
    display_zone: &'z TimeZone,
    set: RecurrenceSet,
    /// The times of the components that have some.
    timings: Vec<Timing>,
    /// Index in `timings` of each component, by its index among its siblings, and the inverse.
    timing_of: Vec<Option<usize>>,
    components: Vec<usize>,
    /// Index in `timings` of the component whose rules make instances.
    master: Option<usize>,
}

/// Properties of a to-do that decide by which rule it overlaps a range.
#[derive(Debug, Clone, Copy)]
struct TodoShape {
    has_start: bool,
    has_due: bool,
    has_duration: bool,
}

impl<'z> ObjectTimes<'z> {
    /// Reads the times of components, which are all those of an object in `text`. Dates and floating
    /// times are in `display_zone`.
    pub(super) fn new(
        components: &[Component<'_>],
        text: &str,
        zones: &'z TimeZoneResolver,
        display_zone: &'z TimeZone,
        budget: &'z InstanceBudget,
    ) -> Self {
        let (mut timings, mut timed) = (Vec::new(), Vec::new());
        let mut timing_of = Vec::with_capacity(components.len());
        for (at, component) in components.iter().enumerate() {
            let is_timed = RECORD_COMPONENTS
                .iter()
                .any(|name| component.is_named(name));
            let own = text.get(component.span.clone()).filter(|_| is_timed);
            let timing = own.and_then(|own| Timing::from_component(own.as_bytes(), zones).0);
            timing_of.push(timing.is_some().then_some(timings.len()));
            timed.extend(timing.is_some().then_some(at));
            timings.extend(timing);
        }
        Self {
            budget,
            zones,
            display_zone,
            set: RecurrenceSet::new(&timings),
            master: timings.iter().position(|t| t.recurrence_id.is_none()),
            timings,
            timing_of,
            components: timed,
        }
    }

    /// Returns true if a component has more than one instance, or overrides one.
    pub(super) fn recurs(&self) -> bool {
        let mut all = self.timings.iter();
        all.any(|t| t.recurrence_id.is_some() || !t.rules.is_empty() || !t.dates.is_empty())
    }

    /// Returns the times of the component with this index.
    pub(super) fn timing(&self, at: usize) -> Option<&Timing> {
        self.timings.get((*self.timing_of.get(at)?)?)
    }

    /// Returns the index of the component that an instance is of.
    pub(super) fn component_of(&self, instance: &Instance) -> Option<usize> {
        self.components.get(instance.component).copied()
    }

    /// Returns the instances of all components that may overlap a range, by start.
    pub(super) fn instances(&self, range: &TimeRange) -> impl Iterator<Item = Instance> {
        self.set.between(range.widened(), self.display_zone)
    }

    /// Returns true if a component overlaps a range. `at` is its index.
    pub(super) fn overlaps(&self, at: usize, component: &Component<'_>, range: &TimeRange) -> bool {
        if component.is_named("VFREEBUSY") {
            return self.free_busy_overlaps(component, range);
        }
        if self.timing(at).is_none() {
            return component.is_named("VTODO") && self.undated_overlaps(component, range);
        }
        self.any_instance(at, range.widened(), |instance| {
            self.instance_overlaps(at, component, instance, range)
        })
    }

    /// Returns true if an instance of a component overlaps a range.
    pub(super) fn instance_overlaps(
        &self,
        at: usize,
        component: &Component<'_>,
        instance: &Instance,
        range: &TimeRange,
    ) -> bool {
        let TimeRange { start, end } = *range;
        let Range {
            start: from,
            end: to,
        } = instance.during;
        if component.is_named("VTODO") {
            let shape = TodoShape::of(component);
            let to = self.due_of(at, component, instance).at(self.display_zone);
            return match shape {
                _ if !shape.has_start && shape.has_due => start < to && end >= to,
                _ if shape.has_due => (start < to || start <= from) && (end > from || end >= to),
                _ if shape.has_duration => start <= to && (end > from || end >= to),
                _ => start <= from && end > from,
            };
        }
        if component.is_named("VJOURNAL") {
            let to = match &instance.start {
                CalendarTime::Date(date) => self
                    .display_zone
                    .to_utc(date.plus_days(1).midnight())
                    .max(from),
                _ => from,
            };
            return overlaps(&(from..to), range);
        }
        overlaps(&(from..to), range)
    }

    /// Returns the end of an instance as its component gives it: `DTEND`, or `DUE` of a to-do, which
    /// may be the day of its start.
    pub(super) fn due_of(
        &self,
        at: usize,
        component: &Component<'_>,
        instance: &Instance,
    ) -> CalendarTime {
        let is_todo = component.is_named("VTODO");
        let is_at_start = is_todo
            && self.timing(at).is_some_and(|timing| match &timing.end {
                EventEnd::At(due) => due.is_date() && due.local() <= timing.start.local(),
                _ => false,
            });
        match is_at_start {
            true => instance.start.clone(),
            false => instance.end.clone(),
        }
    }

    /// Applies the rules for a to-do without `DTSTART` and `DUE`.
    fn undated_overlaps(&self, component: &Component<'_>, range: &TimeRange) -> bool {
        let TimeRange { start, end } = *range;
        let time = |name| {
            let time = component.time(name, self.zones);
            time.map(|time| time.at(self.display_zone))
        };
        match (time("COMPLETED"), time("CREATED")) {
            (Some(completed), Some(created)) => {
                (start <= created || start <= completed) && (end >= created || end >= completed)
            }
            (Some(completed), None) => start <= completed && end >= completed,
            (None, Some(created)) => end > created,
            (None, None) => true,
        }
    }

    fn free_busy_overlaps(&self, component: &Component<'_>, range: &TimeRange) -> bool {
        let time = |name| {
            let time = component.time(name, self.zones);
            time.map(|time| time.at(self.display_zone))
        };
        if let (Some(from), Some(to)) = (time("DTSTART"), time("DTEND")) {
            return range.start <= to && range.end > from;
        }
        let lines = component.properties("FREEBUSY");
        let periods = lines.flat_map(|line| free_busy_periods(line).into_iter().map(|(_, p)| p));
        let mut periods = periods.flatten().take(MAX_PERIODS);
        periods.any(|period| range.start < period.end && range.end > period.start)
    }

    /// Returns true if an alarm of a component is due in a range. `at` is the index of the component.
    pub(super) fn alarm_overlaps(
        &self,
        at: usize,
        alarm: &Component<'_>,
        range: &TimeRange,
    ) -> bool {
        let Some(alarm) = read_alarm(alarm, self.zones) else {
            return false;
        };
        let instants = range.instants();
        let is_due = |start: &CalendarTime, end: &CalendarTime| {
            let mut due = alarm.due_within(start, end, self.display_zone, &instants);
            due.next().is_some()
        };
        let offset = match alarm.trigger {
            AlarmTrigger::At(_) | AlarmTrigger::Local(_) => {
                // The trigger does not depend on the instance.
                let now = CalendarTime::Utc(range.start);
                return is_due(&now, &now);
            }
            AlarmTrigger::Start(offset) | AlarmTrigger::End(offset) => offset.nominal_seconds(),
        };
        let last = alarm.repeat_offsets().last().unwrap_or(0);
        let latest = offset.saturating_add(last).saturating_add(ALARM_MARGIN);
        // An alarm in the range is of an instance that is earlier by its offset.
        let around = range.start.plus_seconds(latest.saturating_neg())
            ..range.end.plus_seconds(ALARM_MARGIN.saturating_sub(offset));
        self.any_instance(at, around, |instance| {
            is_due(&instance.start, &instance.end)
        })
    }

    /// Returns true if the time of a property is in a range.
    pub(super) fn property_overlaps(&self, line: &ContentLine<'_>, range: &TimeRange) -> bool {
        let time = time_of(line, self.zones);
        time.is_some_and(|time| range.contains(time.at(self.display_zone)))
    }

    /// Returns true if the end that follows from `DTSTART` and `DURATION` is in a range. `at` is the
    /// index of the component.
    pub(super) fn effective_end_overlaps(&self, at: usize, range: &TimeRange) -> bool {
        let Some(timing) = self.timing(at) else {
            return false;
        };
        let set = RecurrenceSet::new(&[once(timing)]);
        let mut all = set.between(Timestamp::MIN..Timestamp::MAX, self.display_zone);
        matches!(timing.end, EventEnd::After(_))
            && all
                .next()
                .is_some_and(|only| range.contains(only.during.end))
    }

    /// Returns true if a condition holds for an instance of a component, of those that overlap
    /// `range`.
    fn any_instance(
        &self,
        at: usize,
        range: Range<Timestamp>,
        mut holds: impl FnMut(&Instance) -> bool,
    ) -> bool {
        let Some(place) = self.timing_of.get(at).copied().flatten() else {
            return false;
        };
        let Some(timing) = self.timings.get(place) else {
            return false;
        };
        let later = timing.recurrence_id.as_ref();
        let makes_instances =
            Some(place) == self.master || later.is_some_and(|id| id.this_and_future);
        if !makes_instances {
            let set = RecurrenceSet::new(&[once(timing)]);
            return set
                .between(range, self.display_zone)
                .any(|only| holds(&only));
        }
        let left = self.budget.0.get();
        let most = left.clamp(MIN_EXAMINED, MAX_EXAMINED_OF_COMPONENT);
        let mut examined = 0;
        let found = self.set.between(range, self.display_zone).any(|instance| {
            examined += 1;
            // A series that is not examined to its end counts as one that matches.
            examined > most || (instance.component == place && holds(&instance))
        });
        self.budget.0.set(left.saturating_sub(examined));
        found
    }
}

impl TodoShape {
    fn of(component: &Component<'_>) -> Self {
        Self {
            // An override without any time is where its instance was.
            has_start: component.has("DTSTART")
                || (component.has("RECURRENCE-ID") && !component.has("DUE")),
            has_due: component.has("DUE"),
            has_duration: component.has("DURATION"),
        }
    }
}

/// Returns the times of one instance that is where its component is.
fn once(timing: &Timing) -> Timing {
    Timing {
        end: timing.end.clone(),
        ..Timing::once(timing.start.clone())
    }
}

/// Returns true if the time of an instance overlaps a range; one without length if it starts there.
fn overlaps(during: &Range<Timestamp>, range: &TimeRange) -> bool {
    match during.start < during.end {
        true => range.start < during.end && range.end > during.start,
        false => range.contains(during.start),
    }
}

/// Returns the periods of a `FREEBUSY` property, each with its text; `None` for one that cannot be
/// read.
pub(super) fn free_busy_periods(line: &ContentLine<'_>) -> Vec<(String, Option<Range<Timestamp>>)> {
    let utc = |text: &str| match text.trim().parse::<DateTimeValue>() {
        Ok(time) => Some(TimeZone::UTC.to_utc(time.local())),
        Err(_) => None,
    };
    let period = |text: &str| {
        let (start, end) = text.split_once('/')?;
        let start = utc(start)?;
        let end = match end.trim().parse::<Duration>() {
            Ok(duration) => start.plus_seconds(duration.nominal_seconds()),
            Err(_) => utc(end)?,
        };
        Some(start..end)
    };
    let value = property_value(line);
    let all = value.split(',');
    all.map(|text| (text.to_owned(), period(text))).collect()
}

/// Reads a `VALARM`; `None` without a valid trigger.
fn read_alarm(alarm: &Component<'_>, zones: &TimeZoneResolver) -> Option<Alarm> {
    let line = alarm.properties("TRIGGER").next()?;
    let trigger = match property_value(line).parse::<Duration>() {
        Ok(offset) => {
            let related = param_value(line, "RELATED");
            match related.is_some_and(|related| related.eq_ignore_ascii_case("END")) {
                true => AlarmTrigger::End(offset),
                false => AlarmTrigger::Start(offset),
            }
        }
        Err(_) => AlarmTrigger::of_time(time_of(line, zones)?),
    };
    Some(Alarm {
        action: AlarmAction::Other,
        trigger,
        repeat: alarm
            .value("REPEAT")
            .and_then(|repeat| repeat.parse().ok())
            .unwrap_or(0),
        every: alarm.value("DURATION").and_then(|every| every.parse().ok()),
        description: None,
        acknowledged: None,
    })
}
