//! Changes the time of an entry.

use etui::calendar::recurrence::RecurrenceRule;
use etui::calendar::time::{CalendarTime, DateTimeValue, Duration, TimeZone};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{CalendarComponent, CalendarObject, MovedExceptions};

use super::show::shift_time;
use super::time_args::{EventEnd, StartTime, TimeArgs, check_due, note_of_move};
use crate::errors::{Failure, Result};
use crate::output::pluralize;
use etui_when::{LocalNow, describe_rule, format_day};

/// Error for an entry without a time.
pub const NO_START: &str = "the entry has no start; give --start or --due";

/// Applies the time options to the component at index `at`. Typed times are in the zone of `here`, and are
/// converted to that of the entry; a day keeps the time of day. The rule, excluded times and overrides of
/// a series follow its start ([`CalendarObject::move_start`]). Returns notes about what else changed.
pub fn reschedule(
    record: &mut CalendarObject,
    at: usize,
    args: &TimeArgs,
    here: &LocalNow,
    zones: &TimeZoneResolver,
) -> Result<Vec<String>> {
    let before = record.master().clone();
    let local_start = before
        .start
        .as_ref()
        .map(|start| in_local_zone(start, here));
    let local_due = before.due.as_ref().map(|due| in_local_zone(due, here));
    let day_of = |time: &Option<CalendarTime>| {
        let day = time.as_ref().map(|time| time.local().date());
        day.unwrap_or_else(|| here.now.date())
    };
    let given = args.parse_start(day_of(&local_start), here)?;
    let given = given
        .map(|given| keep_time_of_day(given, &local_start, args))
        .transpose()?;
    let mut start = match (&given, &before.start) {
        (Some(given), Some(old)) => Some(in_zone_of(old, &given.start, here)),
        (Some(given), None) => Some(given.start.clone()),
        (None, Some(_)) if args.all_day => Some(CalendarTime::Date(day_of(&local_start))),
        (None, start) => start.clone(),
    };
    let typed_start =
        given
            .as_ref()
            .map(|given| given.start.clone())
            .or_else(|| match args.all_day {
                true => start.clone(),
                false => local_start.clone(),
            });
    let mut end = given.and_then(|given| given.end);
    if let Some(start) = &typed_start {
        end = args.parse_end(start, here)?.or(end);
    }
    if let (Some(start), Some(EventEnd::At(at))) = (&start, &end) {
        end = Some(EventEnd::At(in_zone_of(start, at, here)));
    }
    let is_over = |how: &String| how.eq_ignore_ascii_case("never");
    let ends_series = args.repeat.as_ref().is_some_and(is_over);
    let mut notes = Vec::new();
    let mut new_rule = None;
    if let (Some(time), false) = (&start, ends_series) {
        let rules = before.timing.iter().flat_map(|timing| &timing.rules);
        let rules: Vec<_> = rules.collect();
        let aligned = args.parse_rule(time, here)?;
        match (aligned, rules.as_slice(), &before.start) {
            (Some(aligned), ..) => {
                new_rule = Some(aligned.rule);
                if aligned.first != *time {
                    notes.push(note_of_move(time, &aligned.first));
                    let by = aligned.first.local().seconds() - time.local().seconds();
                    if let Some(EventEnd::At(at)) = &end {
                        end = Some(EventEnd::At(shift_time(at, Duration::from_seconds(by))));
                    }
                    start = Some(aligned.first);
                }
            }
            (None, [rule], Some(old)) if old != time => {
                new_rule = Some(rule_for_start(rule, old, time)?);
            }
            _ => {}
        }
    }
    if let (Some(start), true) = (&start, start != before.start) {
        // The rule that is typed is set below, with its own end.
        let rule = new_rule.as_ref().filter(|_| args.repeat.is_none());
        let moved = record.move_start(start, rule, zones)?;
        notes.extend(note_of_exceptions(&moved));
        if args.repeat.is_none() {
            new_rule = None;
            check_has_start(record, start)?;
        }
    }
    let ends = match &start {
        Some(start) => end.or_else(|| end_of_same_duration(&before, start)),
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
    if let Some(due) = args.parse_due(day_of(&local_due), here)? {
        let due = match &before.due {
            Some(old) => in_zone_of(old, &due, here),
            None => due,
        };
        if let Some(start) = &start {
            check_due(start, &due, here)?;
        }
        record.remove(at, "DURATION", None, zones)?;
        record.set_time(at, "DUE", &due, zones)?;
    }
    let at = record.master_index();
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
    Ok(notes)
}

/// Returns a time in the zone of `here`; a floating time is there as it is.
fn in_local_zone(time: &CalendarTime, here: &LocalNow) -> CalendarTime {
    match time {
        CalendarTime::Date(_) => time.clone(),
        CalendarTime::Floating(local) => CalendarTime::Zoned(*local, here.zone.clone()),
        time => CalendarTime::Zoned(here.zone.to_local(time.at(&here.zone)), here.zone.clone()),
    }
}

/// Converts a typed time to the zone of the entry, or to a floating time if that is floating.
pub fn in_zone_of(entry: &CalendarTime, typed: &CalendarTime, here: &LocalNow) -> CalendarTime {
    match (entry, typed) {
        (_, CalendarTime::Date(_)) | (CalendarTime::Date(_), _) => typed.clone(),
        (CalendarTime::Floating(_), typed) => {
            CalendarTime::Floating(here.zone.to_local(typed.at(&here.zone)))
        }
        (CalendarTime::Utc(_), typed) => CalendarTime::Utc(typed.at(&here.zone)),
        (CalendarTime::Zoned(_, zone), typed) => {
            CalendarTime::Zoned(zone.to_local(typed.at(&here.zone)), zone.clone())
        }
    }
}

/// A day without a time keeps the time of day that the entry has, unless it becomes all-day.
fn keep_time_of_day(
    mut given: StartTime,
    before: &Option<CalendarTime>,
    args: &TimeArgs,
) -> Result<StartTime> {
    let (CalendarTime::Date(day), Some(before), false) = (&given.start, before, args.all_day)
    else {
        return Ok(given);
    };
    if before.is_date() {
        return Ok(given);
    }
    if given.end.is_some() {
        return Err(Failure::usage(
            "--start: the entry has a time of day; give times, or --all-day too",
        ));
    }
    let days = i64::from(day.days()) - i64::from(before.local().date().days());
    given.start = shift_time(before, Duration::from_days(days));
    Ok(given)
}

/// Returns the rule of a series whose start moves.
fn rule_for_start(
    rule: &RecurrenceRule,
    before: &CalendarTime,
    start: &CalendarTime,
) -> Result<RecurrenceRule> {
    let (from, to) = (before.local().date(), start.local().date());
    let zone = start.zone().cloned().unwrap_or(TimeZone::UTC);
    rule.for_start(from, to).ok_or_else(|| {
        let endless = RecurrenceRule {
            until: None,
            count: None,
            ..rule.clone()
        };
        Failure::usage(format!(
            "--start: {} is no day of the rule ({}); choose one of its days, or give --repeat too",
            format_day(to),
            describe_rule(&endless, &zone)
        ))
    })
}

/// Checks that a rule does not end before the start.
fn check_has_start(record: &CalendarObject, start: &CalendarTime) -> Result<()> {
    let rules = record
        .master()
        .timing
        .iter()
        .flat_map(|timing| &timing.rules);
    let zone = start.zone().cloned().unwrap_or(TimeZone::UTC);
    let is_over = rules
        .filter_map(|rule| rule.until)
        .any(|until| match until {
            DateTimeValue::Date(last) => start.local().date() > last,
            DateTimeValue::Local(last) => start.local() > last,
            DateTimeValue::Utc(last) => start.at(&zone) > TimeZone::UTC.to_utc(last),
        });
    match is_over {
        true => Err(Failure::usage(
            "--start: the rule ends before this start; give --repeat too",
        )),
        false => Ok(()),
    }
}

/// Says what became of the excluded and changed times of a series.
fn note_of_exceptions(moved: &MovedExceptions) -> Option<String> {
    let counted = |n: usize| {
        format!(
            "{} of the series",
            pluralize(n as u64, "skipped or changed time")
        )
    };
    let mut parts = Vec::new();
    if moved.moved > 0 {
        parts.push(format!(
            "{} moved to other days along with it",
            counted(moved.moved)
        ));
    }
    if moved.dropped > 0 {
        parts.push(format!(
            "{} dropped, as the series no longer has these days",
            counted(moved.dropped)
        ));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Returns the end that keeps the local duration of an entry with a new start.
fn end_of_same_duration(before: &CalendarComponent, start: &CalendarTime) -> Option<EventEnd> {
    let old = before.start.as_ref()?;
    if old == start {
        return None;
    }
    if old.is_date() != start.is_date() {
        let end = before.end.clone().or_else(|| {
            let length = before.duration?;
            Some(shift_time(old, length))
        });
        return Some(match (&end, start) {
            // The days that it had a part of.
            (Some(end), CalendarTime::Date(day)) => {
                let last = end.local().plus_seconds(-1).date().max(old.local().date());
                let days = i64::from(last.days()) - i64::from(old.local().date().days());
                EventEnd::At(CalendarTime::Date(day.plus_days(days + 1)))
            }
            _ => EventEnd::After(TimeArgs::default_duration(start)),
        });
    }
    let end = before.end.as_ref()?;
    let is_local = match (old, end) {
        (CalendarTime::Zoned(_, zone), CalendarTime::Zoned(_, other)) => zone == other,
        (old, _) => old.zone().is_none(),
    };
    let length = match is_local {
        true => end.local().seconds() - old.local().seconds(),
        false => {
            let zone = old.zone().cloned().unwrap_or(TimeZone::UTC);
            end.at(&zone).seconds() - old.at(&zone).seconds()
        }
    };
    let end = shift_time(start, Duration::from_seconds(length));
    Some(EventEnd::At(end))
}
