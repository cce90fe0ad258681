//! An entry gets another time.

use etui::calendar::CalendarObject;
use etui::calendar::time::{CalendarTime, DateTimeValue, Duration, TimeZone};
use etui::calendar::zones::TimeZoneResolver;

use super::show::moved;
use super::time_args::{EventEnd, TimeArgs, end_of_rule};
use crate::datetime::{LocalNow, is_end_of_day};
use crate::errors::{Failure, Result};

/// Of an entry that has no time, and needs one.
pub const NO_START: &str =
    "it has no start; give it one with --start, or say when it is due: --due";

/// Gives its component `at` the time that the options say; what names times of its recurrence goes
/// along.
pub fn retime(
    record: &mut CalendarObject,
    at: usize,
    args: &TimeArgs,
    here: &LocalNow,
    zones: &TimeZoneResolver,
) -> Result<()> {
    let before = record.master().clone();
    let day_of = |time: &Option<CalendarTime>| match time {
        Some(CalendarTime::Date(day)) => *day,
        Some(time) => here.zone.to_local(time.at(&here.zone)).date(),
        None => here.now.date(),
    };
    let start = match (args.starts(day_of(&before.start), here)?, &before.start) {
        (Some(start), _) => Some(start),
        (None, Some(CalendarTime::Zoned(wall, _))) if args.all_day => {
            Some(CalendarTime::Date(wall.date()))
        }
        (None, Some(start)) if args.all_day => Some(CalendarTime::Date(start.local().date())),
        (None, start) => start.clone(),
    };
    if let (Some(start), true) = (&start, start != before.start) {
        if let Some(before) = &before.start {
            carry(record, at, before, start, zones)?;
        }
        record.set_time(at, "DTSTART", start, zones)?;
    }
    let ends = match &start {
        Some(start) => match args.ends(start, here)? {
            None => kept_end(&before.start, &before.end, start),
            said => said,
        },
        None if args.end.is_some() || args.duration.is_some() => {
            return Err(Failure::usage(NO_START));
        }
        None => None,
    };
    match ends {
        Some(EventEnd::At(end)) => {
            record.remove(at, "DURATION", None, zones)?;
            record.set_time(at, "DTEND", &end, zones)?;
        }
        Some(EventEnd::After(length)) => {
            record.remove(at, "DTEND", None, zones)?;
            record.set(at, "DURATION", &length.to_string(), zones)?;
        }
        None => {}
    }
    if let Some(due) = args.due(day_of(&before.due), here)? {
        record.remove(at, "DURATION", None, zones)?;
        record.set_time(at, "DUE", &due, zones)?;
    }
    match (&args.repeat, &start) {
        (Some(never), _) if never.eq_ignore_ascii_case("never") => {
            // Without a recurrence there is nothing for other components to change.
            let text = record
                .component_texts()
                .nth(at)
                .unwrap_or_default()
                .to_vec();
            *record = CalendarObject::parse(text, zones)?;
            for name in ["RRULE", "RDATE", "EXDATE", "EXRULE"] {
                record.remove(0, name, None, zones)?;
            }
        }
        (Some(_), Some(start)) => {
            if let Some(rule) = args.rule(start, here)? {
                record.set(at, "RRULE", &rule.to_string(), zones)?;
            }
        }
        (Some(_), None) => return Err(Failure::usage("--repeat needs a --start")),
        (None, _) => {}
    }
    Ok(())
}

/// Moves what names times of a recurrence by as much as its start is moved: times left out, times
/// changed, and the rule's end, if that is a time.
fn carry(
    record: &mut CalendarObject,
    at: usize,
    before: &CalendarTime,
    start: &CalendarTime,
    zones: &TimeZoneResolver,
) -> Result<()> {
    let Some(timing) = record.master().timing.clone() else {
        return Ok(());
    };
    let out: Vec<CalendarTime> = timing
        .exception_dates
        .iter()
        .map(|time| carried(time, before, start))
        .collect();
    if let Some(first) = out.first() {
        record.remove(at, "EXDATE", None, zones)?;
        record.set_time(at, "EXDATE", first, zones)?;
        let values: Vec<String> = out.iter().map(|time| value_like(first, time)).collect();
        record.set(at, "EXDATE", &values.join(","), zones)?;
    }
    let changes: Vec<(usize, CalendarTime)> = record
        .components()
        .enumerate()
        .filter_map(|(i, item)| {
            let replaces = item.timing.as_ref()?.replaces.as_ref()?;
            Some((i, carried(&replaces.id, before, start)))
        })
        .collect();
    for (i, id) in changes {
        record.set_time(i, "RECURRENCE-ID", &id, zones)?;
    }
    if let [rule] = timing.rules.as_slice()
        && let Some(until) = rule.until
    {
        let mut rule = rule.clone();
        rule.until = Some(carried_end(until, before, start));
        record.set(at, "RRULE", &rule.to_string(), zones)?;
    }
    Ok(())
}

/// A time of what started at `before`, now that it starts at `start`.
fn carried(time: &CalendarTime, before: &CalendarTime, start: &CalendarTime) -> CalendarTime {
    let wall = match (time, before.zone()) {
        (CalendarTime::Zoned(..) | CalendarTime::Utc(_), Some(zone)) => {
            zone.to_local(time.at(zone))
        }
        _ => time.local(),
    };
    let by = start.local().seconds() - before.local().seconds();
    let wall = match time.is_date() && !start.is_date() {
        // A day left out is the time on that day.
        true => wall
            .date()
            .midnight()
            .plus_seconds(start.local().seconds() - start.local().date().midnight().seconds()),
        false => wall.plus_seconds(by),
    };
    match start {
        CalendarTime::Date(_) => CalendarTime::Date(wall.date()),
        CalendarTime::Floating(_) => CalendarTime::Floating(wall),
        CalendarTime::Zoned(_, zone) => CalendarTime::Zoned(wall, zone.clone()),
        CalendarTime::Utc(_) => CalendarTime::Utc(TimeZone::UTC.to_utc(wall)),
    }
}

/// The value of a time beside `first` in one property.
fn value_like(first: &CalendarTime, time: &CalendarTime) -> String {
    match first {
        // In UTC also where the zone's name is not written.
        CalendarTime::Zoned(_, zone) if *zone == TimeZone::UTC => time.at(zone).to_string(),
        _ => time.value().to_string(),
    }
}

/// The end of a rule: the end of a day stays, a time goes along.
fn carried_end(until: DateTimeValue, before: &CalendarTime, start: &CalendarTime) -> DateTimeValue {
    let zone = before.zone().cloned().unwrap_or(TimeZone::UTC);
    let local = match until {
        DateTimeValue::Utc(time) => zone.to_local(TimeZone::UTC.to_utc(time)),
        DateTimeValue::Local(time) => time,
        DateTimeValue::Date(_) => return end_of_rule(until, start),
    };
    if before.is_date() || is_end_of_day(local) {
        return end_of_rule(DateTimeValue::Date(local.date()), start);
    }
    let by = start.local().seconds() - before.local().seconds();
    end_of_rule(DateTimeValue::Local(local.plus_seconds(by)), start)
}

/// The end that leaves an entry as long as it was, by the clock, when it starts at another time.
fn kept_end(
    before: &Option<CalendarTime>,
    end: &Option<CalendarTime>,
    start: &CalendarTime,
) -> Option<EventEnd> {
    let (before, end) = (before.as_ref()?, end.as_ref()?);
    if before == start {
        return None;
    }
    if before.is_date() != start.is_date() {
        return Some(EventEnd::After(TimeArgs::usual_length(start)));
    }
    let length = match (before, end) {
        (CalendarTime::Zoned(wall, zone), CalendarTime::Zoned(other, its)) if zone == its => {
            other.seconds() - wall.seconds()
        }
        (CalendarTime::Date(_) | CalendarTime::Floating(_), end) => {
            end.local().seconds() - before.local().seconds()
        }
        (before, end) => {
            let zone = before
                .zone()
                .cloned()
                .unwrap_or(etui::calendar::time::TimeZone::UTC);
            end.at(&zone).seconds() - before.at(&zone).seconds()
        }
    };
    let end = moved(start, Duration::from_seconds(length));
    Some(EventEnd::At(end))
}
