//! Changes the time of an entry.

use etui::calendar::CalendarObject;
use etui::calendar::recurrence::RecurrenceRule;
use etui::calendar::time::{CalendarTime, DateTimeValue, Duration, TimeZone};
use etui::calendar::zones::TimeZoneResolver;

use super::show::{in_form_of, shift_time};
use super::time_args::{EventEnd, TimeArgs, align_rule, check_due, normalize_until, note_of_move};
use crate::errors::{Failure, Result};
use etui_when::{LocalNow, is_end_of_day};

/// Error for an entry without a time.
pub const NO_START: &str = "the entry has no start; give --start or --due";

/// Applies the time options to the component at index `at`. EXDATE, RECURRENCE-ID and UNTIL move by the
/// same amount as the start. Returns a note if the start was moved to the first occurrence of its rule.
pub fn reschedule(
    record: &mut CalendarObject,
    at: usize,
    args: &TimeArgs,
    here: &LocalNow,
    zones: &TimeZoneResolver,
) -> Result<Option<String>> {
    let before = record.master().clone();
    let day_of = |time: &Option<CalendarTime>| match time {
        Some(CalendarTime::Date(day)) => *day,
        Some(time) => here.zone.to_local(time.at(&here.zone)).date(),
        None => here.now.date(),
    };
    let given = args.parse_start(day_of(&before.start), here)?;
    let mut start = match (&given, &before.start) {
        (Some(given), _) => Some(given.start.clone()),
        (None, Some(start)) if args.all_day => Some(CalendarTime::Date(start.local().date())),
        (None, start) => start.clone(),
    };
    let mut end = given.and_then(|given| given.end);
    if let Some(start) = &start {
        end = args.parse_end(start, here)?.or(end);
    }
    let is_over = |how: &String| how.eq_ignore_ascii_case("never");
    let ends_series = args.repeat.as_ref().is_some_and(is_over);
    let mut new_rule = None;
    let mut note = None;
    if let (Some(time), false) = (&start, ends_series) {
        let rules = before.timing.iter().flat_map(|timing| &timing.rules);
        let rules: Vec<_> = rules.collect();
        let first = match (args.parse_rule(time, here)?, rules.as_slice()) {
            (Some(aligned), _) => {
                new_rule = Some(aligned.rule);
                Some(aligned.first)
            }
            // Without an end, as that moves with the start.
            (None, [rule]) if before.start.as_ref() != Some(time) => {
                let rule = RecurrenceRule {
                    until: None,
                    count: None,
                    ..(*rule).clone()
                };
                Some(align_rule(rule, time, here)?.first)
            }
            _ => None,
        };
        if let Some(first) = first.filter(|first| first != time) {
            note = Some(note_of_move(time, &first));
            let by = first.local().seconds() - time.local().seconds();
            if let Some(EventEnd::At(at)) = &end {
                end = Some(EventEnd::At(shift_time(at, Duration::from_seconds(by))));
            }
            start = Some(first);
        }
    }
    if let (Some(start), true) = (&start, start != before.start) {
        if let Some(before) = &before.start {
            shift_recurrence(record, at, before, start, zones)?;
        }
        record.set_time(at, "DTSTART", start, zones)?;
    }
    let ends = match &start {
        Some(start) => end.or_else(|| end_of_same_duration(&before.start, &before.end, start)),
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
    if let Some(due) = args.parse_due(day_of(&before.due), here)? {
        if let Some(start) = &start {
            check_due(start, &due, here)?;
        }
        record.remove(at, "DURATION", None, zones)?;
        record.set_time(at, "DUE", &due, zones)?;
    }
    match (&args.repeat, new_rule) {
        _ if ends_series => {
            // Without a recurrence set, overrides have no meaning and are dropped.
            let text = record.component_texts().nth(at).unwrap_or_default();
            *record = CalendarObject::parse(text.to_vec(), zones)?;
            for name in ["RRULE", "RDATE", "EXDATE", "EXRULE"] {
                record.remove(0, name, None, zones)?;
            }
        }
        (_, Some(rule)) => record.set(at, "RRULE", &rule.to_string(), zones)?,
        (Some(_), None) => return Err(Failure::usage("--repeat needs a --start")),
        (None, None) => {}
    }
    Ok(note)
}

/// Moves EXDATE, RECURRENCE-ID and UNTIL by the difference of the starts.
fn shift_recurrence(
    record: &mut CalendarObject,
    at: usize,
    before: &CalendarTime,
    start: &CalendarTime,
    zones: &TimeZoneResolver,
) -> Result<()> {
    let Some(timing) = record.master().timing.clone() else {
        return Ok(());
    };
    let excluded = timing.exception_dates.iter();
    let excluded = excluded.map(|time| shift_with_start(time, before, start));
    let excluded: Vec<CalendarTime> = excluded.collect();
    if let Some(first) = excluded.first() {
        record.remove(at, "EXDATE", None, zones)?;
        record.set_time(at, "EXDATE", first, zones)?;
        let values = excluded.iter().map(|time| format_like(first, time));
        let values: Vec<String> = values.collect();
        record.set(at, "EXDATE", &values.join(","), zones)?;
    }
    let overrides: Vec<(usize, CalendarTime)> = record
        .components()
        .enumerate()
        .filter_map(|(i, item)| {
            let recurrence_id = item.timing.as_ref()?.recurrence_id.as_ref()?;
            Some((i, shift_with_start(&recurrence_id.id, before, start)))
        })
        .collect();
    for (i, id) in overrides {
        record.set_time(i, "RECURRENCE-ID", &id, zones)?;
    }
    if let [rule] = timing.rules.as_slice()
        && let Some(until) = rule.until
    {
        let mut rule = rule.clone();
        rule.until = Some(shift_until(until, before, start));
        record.set(at, "RRULE", &rule.to_string(), zones)?;
    }
    Ok(())
}

/// Moves a time by the difference between two starts, and converts it to the form of the new one.
fn shift_with_start(
    time: &CalendarTime,
    before: &CalendarTime,
    start: &CalendarTime,
) -> CalendarTime {
    let wall = match (time, before.zone()) {
        (CalendarTime::Zoned(..) | CalendarTime::Utc(_), Some(zone)) => {
            zone.to_local(time.at(zone))
        }
        _ => time.local(),
    };
    let by = start.local().seconds() - before.local().seconds();
    let wall = match time.is_date() && !start.is_date() {
        // An excluded day becomes the new time of day on that day.
        true => wall
            .date()
            .midnight()
            .plus_seconds(start.local().seconds() - start.local().date().midnight().seconds()),
        false => wall.plus_seconds(by),
    };
    in_form_of(start, wall)
}

/// Formats a time for a property whose first value is `first`.
fn format_like(first: &CalendarTime, time: &CalendarTime) -> String {
    match first {
        // UTC values are written without a TZID.
        CalendarTime::Zoned(_, zone) if *zone == TimeZone::UTC => time.at(zone).to_string(),
        _ => time.value().to_string(),
    }
}

/// Moves UNTIL: an end of day stays, a time moves with the start.
fn shift_until(until: DateTimeValue, before: &CalendarTime, start: &CalendarTime) -> DateTimeValue {
    let zone = before.zone().cloned().unwrap_or(TimeZone::UTC);
    let local = match until {
        DateTimeValue::Utc(time) => zone.to_local(TimeZone::UTC.to_utc(time)),
        DateTimeValue::Local(time) => time,
        DateTimeValue::Date(_) => return normalize_until(until, start),
    };
    if before.is_date() || is_end_of_day(local) {
        return normalize_until(DateTimeValue::Date(local.date()), start);
    }
    let by = start.local().seconds() - before.local().seconds();
    normalize_until(DateTimeValue::Local(local.plus_seconds(by)), start)
}

/// Returns the end that keeps the local duration of an entry with a new start.
fn end_of_same_duration(
    before: &Option<CalendarTime>,
    end: &Option<CalendarTime>,
    start: &CalendarTime,
) -> Option<EventEnd> {
    let (before, end) = (before.as_ref()?, end.as_ref()?);
    if before == start {
        return None;
    }
    if before.is_date() != start.is_date() {
        return Some(EventEnd::After(TimeArgs::default_duration(start)));
    }
    let is_local = match (before, end) {
        (CalendarTime::Zoned(_, zone), CalendarTime::Zoned(_, other)) => zone == other,
        (before, _) => before.zone().is_none(),
    };
    let length = match is_local {
        true => end.local().seconds() - before.local().seconds(),
        false => {
            let zone = before.zone().cloned().unwrap_or(TimeZone::UTC);
            end.at(&zone).seconds() - before.at(&zone).seconds()
        }
    };
    let end = shift_time(start, Duration::from_seconds(length));
    Some(EventEnd::At(end))
}
