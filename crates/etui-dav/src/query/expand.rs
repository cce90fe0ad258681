//! Recurring components as their instances in a range, or with the overrides that concern it (RFC 4791
//! sections 9.6.5 and 9.6.6).
//!
//! ```text
//! DTSTART;TZID=US/Eastern:20060102T120000        DTSTART:20060103T170000Z
//! DURATION:PT1H                            ->    DURATION:PT1H
//! RRULE:FREQ=DAILY;COUNT=5                       RECURRENCE-ID:20060103T170000Z
//! SUMMARY:Event 2                                SUMMARY:Event 2              one for each instance
//! ```
//!
//! Times with a time zone are converted to UTC; dates and floating times stay as they are. Each instance
//! of a series has a `RECURRENCE-ID`, the first one too.

use etui::calendar::recurrence::{Instance, RecurrenceSet, Timing};
use etui::calendar::time::{CalendarTime, Duration, TimeZone, Timestamp};
use etui::calendar::zones::{TimeZoneDefinition, TimeZoneResolver};
use etui_contentline::charset::to_utf8;
use etui_contentline::edit::{fold_line, head_without, line_ending, remove_spans};
use etui_contentline::lines::ContentLine;
use etui_contentline::values::param_value;

use super::calendar_match::RECORD_COMPONENTS;
use super::component_tree::{Component, time_of};
use super::error::QueryError;
use super::time_range::TimeRange;
use super::times::{InstanceBudget, ObjectTimes};

/// Limits of one expanded object.
const MAX_INSTANCES: usize = 10_000;
const MAX_BYTES: usize = 16 << 20;

/// Properties that an instance does not have.
const RECURRENCE_PROPERTIES: [&str; 4] = ["RRULE", "RDATE", "EXRULE", "EXDATE"];

/// Returns a calendar object with one component for each instance in a range, in UTC.
pub(super) fn expand(text: &str, range: &TimeRange, zone: &TimeZone) -> Result<String, QueryError> {
    let roots = Component::read_all(text);
    let Some(calendar) = roots.iter().find(|root| root.is_named("VCALENDAR")) else {
        return Ok(text.to_owned());
    };
    let zones = defined_zones(calendar, text);
    let budget = InstanceBudget::default();
    let times = ObjectTimes::new(&calendar.children, text, &zones, zone, &budget);
    let mut writer = InstanceWriter {
        text,
        zones: &zones,
        times: &times,
        ending: line_ending(text.as_bytes()),
        recurs: times.recurs(),
        out: Vec::with_capacity(text.len()),
        instances: 0,
    };
    let first = calendar.children.first();
    let end = first.map_or(calendar.span.end, |first| first.span.start);
    writer.raw(text.get(calendar.span.start..end).unwrap_or_default())?;
    if first.is_none() {
        return Ok(writer.into_text());
    }
    // Properties between components.
    for line in calendar.lines.iter().filter(|line| line.span.start >= end) {
        writer.raw(text.get(line.span.clone()).unwrap_or_default())?;
    }
    for (at, component) in calendar.children.iter().enumerate() {
        let is_record = is_record(component);
        if component.is_named("VTIMEZONE") || (is_record && times.timing(at).is_some()) {
            continue;
        }
        if !is_record || times.overlaps(at, component, range) {
            writer.raw(text.get(component.span.clone()).unwrap_or_default())?;
        }
    }
    for instance in times.instances(range) {
        let Some(at) = times.component_of(&instance) else {
            continue;
        };
        let Some(component) = calendar.children.get(at) else {
            continue;
        };
        if times.instance_overlaps(at, component, &instance, range) {
            writer.instance(at, component, &instance)?;
        }
    }
    writer.line("END:VCALENDAR")?;
    Ok(writer.into_text())
}

/// Returns a calendar object without the overrides that do not concern a range: neither their instance
/// nor the one that they replace is in it.
pub(super) fn limit(text: &str, range: &TimeRange, zone: &TimeZone) -> String {
    let roots = Component::read_all(text);
    let Some(calendar) = roots.iter().find(|root| root.is_named("VCALENDAR")) else {
        return text.to_owned();
    };
    let zones = defined_zones(calendar, text);
    let budget = InstanceBudget::default();
    let times = ObjectTimes::new(&calendar.children, text, &zones, zone, &budget);
    let length = (0..calendar.children.len())
        .filter_map(|at| times.timing(at))
        .find(|timing| timing.recurrence_id.is_none())
        .map_or(0, |master| length_of(master, zone));
    let is_kept = |at: usize, component: &Component<'_>| {
        let Some(id) = times
            .timing(at)
            .and_then(|timing| timing.recurrence_id.as_ref())
        else {
            return true;
        };
        let from = id.id.at(zone);
        let to = from.plus_seconds(length);
        let was_in_range = match length > 0 {
            true => range.start < to && range.end > from,
            false => range.contains(from),
        };
        let goes_on = id.this_and_future && from < range.end;
        was_in_range || goes_on || times.overlaps(at, component, range)
    };
    let removed: Vec<_> = calendar
        .children
        .iter()
        .enumerate()
        .filter(|(at, component)| !is_kept(*at, component))
        .map(|(_, component)| component.span.clone())
        .collect();
    String::from_utf8_lossy(&remove_spans(text.as_bytes(), &removed)).into_owned()
}

/// Returns the length of the first instance in seconds.
fn length_of(master: &Timing, zone: &TimeZone) -> i64 {
    let alone = Timing {
        end: master.end.clone(),
        ..Timing::once(master.start.clone())
    };
    let set = RecurrenceSet::new(&[alone]);
    let only = set.between(Timestamp::MIN..Timestamp::MAX, zone).next();
    only.map_or(0, |only| {
        only.during.end.seconds() - only.during.start.seconds()
    })
}

fn is_record(component: &Component<'_>) -> bool {
    RECORD_COMPONENTS
        .iter()
        .any(|name| component.is_named(name))
}

/// Returns the time zones that an object defines, whichever charset it is in.
pub(super) fn zones_of_object(object: &[u8]) -> TimeZoneResolver {
    let text = to_utf8(object);
    let roots = Component::read_all(&text);
    let calendar = roots.iter().find(|root| root.is_named("VCALENDAR"));
    calendar.map_or_else(TimeZoneResolver::new, |calendar| {
        defined_zones(calendar, &text)
    })
}

/// Returns the time zones that an object defines.
pub(super) fn defined_zones(calendar: &Component<'_>, text: &str) -> TimeZoneResolver {
    let mut zones = TimeZoneResolver::new();
    for zone in calendar.children.iter().filter(|c| c.is_named("VTIMEZONE")) {
        let definition = text.get(zone.span.clone()).unwrap_or_default();
        zones.define(&TimeZoneDefinition::parse(definition.as_bytes()));
    }
    zones
}

/// Writes instances as components of their own.
struct InstanceWriter<'o> {
    text: &'o str,
    zones: &'o TimeZoneResolver,
    times: &'o ObjectTimes<'o>,
    ending: &'static [u8],
    recurs: bool,
    out: Vec<u8>,
    instances: usize,
}

impl InstanceWriter<'_> {
    fn into_text(self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// Writes whole lines of the object; a last line without line end gets one.
    fn raw(&mut self, lines: &str) -> Result<(), QueryError> {
        self.out.extend_from_slice(lines.as_bytes());
        if !matches!(lines.as_bytes().last(), None | Some(b'\n' | b'\r')) {
            self.out.extend_from_slice(self.ending);
        }
        match self.out.len() > MAX_BYTES {
            true => Err(too_many()),
            false => Ok(()),
        }
    }

    /// Writes a line, folded.
    fn line(&mut self, line: &str) -> Result<(), QueryError> {
        let folded = fold_line(line, self.ending);
        self.raw(&String::from_utf8_lossy(&folded))
    }

    fn instance(
        &mut self,
        at: usize,
        component: &Component<'_>,
        instance: &Instance,
    ) -> Result<(), QueryError> {
        self.instances += 1;
        if self.instances > MAX_INSTANCES {
            return Err(too_many());
        }
        let name = RECORD_COMPONENTS
            .into_iter()
            .find(|name| component.is_named(name))
            .unwrap_or_default();
        self.line(&format!("BEGIN:{name}"))?;
        let has_start = component.has("DTSTART");
        if self.recurs {
            self.line(&format_time("RECURRENCE-ID", &instance.id))?;
        }
        let length = instance.during.end.seconds() - instance.during.start.seconds();
        for line in &component.lines {
            let is = |name: &str| line.group.is_none() && line.name_is(name);
            if is("DURATION") && has_start && !lasts(line, length) {
                // A day over a change of the clock, or a period of RDATE with a length of its own.
                let name = if name == "VTODO" { "DUE" } else { "DTEND" };
                self.line(&format_time(name, &instance.end))?;
                continue;
            }
            let time = match () {
                () if RECURRENCE_PROPERTIES.into_iter().any(is) => continue,
                () if is("RECURRENCE-ID") => continue,
                () if is("DTSTART") => Some(instance.start.clone()),
                () if is("DUE") && !has_start => Some(instance.start.clone()),
                () if is("DTEND") || is("DUE") => Some(self.times.due_of(at, component, instance)),
                () => None,
            };
            self.property(line, time)?;
        }
        for child in &component.children {
            self.nested(child)?;
        }
        self.line(&format!("END:{name}"))
    }

    /// Writes a property, with another time if one is given.
    fn property(
        &mut self,
        line: &ContentLine<'_>,
        time: Option<CalendarTime>,
    ) -> Result<(), QueryError> {
        let time = match time {
            Some(time) => time,
            None if param_value(line, "TZID").is_none() => {
                let raw = self.text.get(line.span.clone()).unwrap_or_default();
                return self.raw(raw);
            }
            None => match time_of(line, self.zones) {
                Some(time) => time,
                None => {
                    let value = line.unfolded_value();
                    let value = String::from_utf8_lossy(&value);
                    let head = head_without(line, &["TZID"]);
                    return self.line(&format!("{head}:{value}"));
                }
            },
        };
        let head = head_without(line, &["TZID"]);
        self.line(&format!("{head}:{}", utc_value(&time)))
    }

    /// Writes a component within another one: an alarm.
    fn nested(&mut self, component: &Component<'_>) -> Result<(), QueryError> {
        let has_zone = |line: &ContentLine<'_>| param_value(line, "TZID").is_some();
        let is_plain = component.children.is_empty() && !component.lines.iter().any(has_zone);
        let raw = self.text.get(component.span.clone()).unwrap_or_default();
        if is_plain {
            return self.raw(raw);
        }
        let (first, last) = (raw.lines().next(), raw.lines().next_back());
        self.raw(first.unwrap_or_default())?;
        for line in &component.lines {
            self.property(line, None)?;
        }
        for child in &component.children {
            self.nested(child)?;
        }
        self.raw(last.unwrap_or_default())
    }
}

/// Returns true if a `DURATION` is this number of seconds where every day has 24 hours, as in UTC.
fn lasts(line: &ContentLine<'_>, seconds: i64) -> bool {
    let value = line.unfolded_value();
    let value = String::from_utf8_lossy(&value);
    let duration = value.trim().parse::<Duration>();
    // One that cannot be read stays as it is.
    duration.map_or(true, |duration| duration.nominal_seconds() == seconds)
}

fn too_many() -> QueryError {
    QueryError::caldav(
        "max-instances",
        format!(
            "an expansion has at most {MAX_INSTANCES} instances and {} MiB; ask for a shorter range",
            MAX_BYTES >> 20
        ),
    )
}

/// Returns a time without time zone: in UTC, or a date or floating time as it is.
fn utc_value(time: &CalendarTime) -> String {
    match time {
        CalendarTime::Zoned(..) => time.at(&TimeZone::UTC).to_string(),
        _ => time.value().to_string(),
    }
}

fn format_time(name: &str, time: &CalendarTime) -> String {
    let params = if time.is_date() { ";VALUE=DATE" } else { "" };
    format!("{name}{params}:{}", utc_value(time))
}
