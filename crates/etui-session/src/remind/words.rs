//! The text of a reminder: title, time in words, place; its JSON object.

use etui::calendar::DueAlarm;
use etui::calendar::ics::ComponentKind;
use etui::calendar::time::{CalendarTime, Duration, TimeZone, Timestamp};
use etui_program::output::{kind_name, object, optional_time, title_or_placeholder};
use serde::Serialize;

use super::schedule::Reminder;

use etui_when::{describe_duration, format_clock, format_day, iso_instant};

/// A longer time before or after the start is shown as a day.
const MAX_IN_WORDS: i64 = 12 * 3_600;
const LEAST_IN_WORDS: i64 = -MAX_IN_WORDS;

/// The text of a reminder. It may have any characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReminderText {
    /// `Dentist`, `Missed: Dentist`.
    pub title: String,
    /// `in 10 minutes (14:30-15:00)`, `was due yesterday`; empty if there is no time.
    pub when: String,
    /// The location; empty if there is none.
    pub place: String,
    /// Of a missed reminder, when it was due: `14:20`, `Tue 24 Nov 2026, 14:20`.
    pub missed_at: Option<String>,
}

impl ReminderText {
    /// Returns the text of a reminder that is shown at `now`.
    pub fn new(reminder: &Reminder, now: Timestamp, zone: &TimeZone) -> Self {
        let alarm = &reminder.alarm;
        let title = title_or_placeholder(&alarm.title);
        Self {
            title: match reminder.is_missed {
                true => format!("Missed: {title}"),
                false => title.to_owned(),
            },
            when: describe_when(alarm, now, zone),
            place: alarm.location.trim().to_owned(),
            missed_at: reminder
                .is_missed
                .then(|| format_moment(alarm.at, now, zone)),
        }
    }
}

/// A line of `calendar remind`.
pub fn reminder_json(reminder: &Reminder, text: &ReminderText, zone: &TimeZone) -> impl Serialize {
    let alarm = &reminder.alarm;
    object! {
        calendar: &reminder.calendar,
        id: alarm.record.0,
        uid: &reminder.uid,
        kind: kind_name(alarm.kind),
        at: iso_instant(alarm.at, zone),
        start: optional_time(&alarm.start, zone),
        end: optional_time(&alarm.end, zone),
        title: &alarm.title,
        place: &alarm.location,
        // The time in words.
        when: &text.when,
        missed: reminder.is_missed,
    }
}

/// Describes the time of an entry as seen from `now`.
fn describe_when(alarm: &DueAlarm, now: Timestamp, zone: &TimeZone) -> String {
    let Some(start) = &alarm.start else {
        return String::new();
    };
    // A to-do is due at its end; one without a start, at its start.
    let is_todo = alarm.kind == ComponentKind::Todo;
    let end = alarm.end.as_ref().filter(|end| *end != start);
    match (is_todo, end) {
        (true, end) => describe_due(end.unwrap_or(start), now, zone),
        (false, _) if start.is_date() => describe_days(start, end, now, zone),
        (false, end) => describe_event(start, end, now, zone),
    }
}

fn describe_event(
    start: &CalendarTime,
    end: Option<&CalendarTime>,
    now: Timestamp,
    zone: &TimeZone,
) -> String {
    let (from, to) = (start.at(zone), end.map(|end| end.at(zone)));
    let local = zone.to_local(from);
    let clock = match to.map(|to| zone.to_local(to)) {
        Some(to) if to.date() == local.date() => {
            format!("{}-{}", format_clock(local), format_clock(to))
        }
        _ => format_clock(local),
    };
    let ahead = from.seconds().saturating_sub(now.seconds());
    let since_end = to.map(|to| now.seconds().saturating_sub(to.seconds()));
    match (ahead, since_end) {
        (_, Some(past @ 0..MAX_IN_WORDS)) if past >= 60 => {
            format!("ended {} ago ({clock})", minutes_in_words(past))
        }
        (-59..=59, _) => format!("now ({clock})"),
        (60..MAX_IN_WORDS, _) => format!("in {} ({clock})", minutes_in_words(ahead)),
        (LEAST_IN_WORDS..=-60, _) => format!("started {} ago ({clock})", minutes_in_words(-ahead)),
        _ => format!("{}, {clock}", day_in_words(local.date(), now, zone)),
    }
}

fn describe_days(
    start: &CalendarTime,
    end: Option<&CalendarTime>,
    now: Timestamp,
    zone: &TimeZone,
) -> String {
    let first = start.local().date();
    // DTEND of an all-day event is exclusive.
    let last = end
        .map_or(first, |end| end.local().date().plus_days(-1))
        .max(first);
    let first_words = day_in_words(first, now, zone);
    match first == last {
        true => format!("{first_words}, all day"),
        false => format!("{first_words} to {}, all day", format_day(last)),
    }
}

fn describe_due(due: &CalendarTime, now: Timestamp, zone: &TimeZone) -> String {
    let local = zone.to_local(due.at(zone));
    if due.is_date() {
        let day = due.local().date();
        let is_past = day < zone.to_local(now).date();
        let verb = if is_past { "was due" } else { "due" };
        return format!("{verb} {}", day_in_words(day, now, zone));
    }
    let clock = format_clock(local);
    let ahead = due.at(zone).seconds().saturating_sub(now.seconds());
    match ahead {
        -59..=59 => format!("due now ({clock})"),
        60..MAX_IN_WORDS => format!("due in {} ({clock})", minutes_in_words(ahead)),
        LEAST_IN_WORDS..=-60 => format!("was due {} ago ({clock})", minutes_in_words(-ahead)),
        _ => {
            let verb = if ahead < 0 { "was due" } else { "due" };
            format!("{verb} {}, {clock}", day_in_words(local.date(), now, zone))
        }
    }
}

/// Formats whole minutes: `1 hour 30 minutes`.
fn minutes_in_words(seconds: i64) -> String {
    let minutes = seconds.saturating_add(30) / 60;
    describe_duration(Duration::from_seconds(minutes * 60))
}

fn day_in_words(day: etui::calendar::time::Date, now: Timestamp, zone: &TimeZone) -> String {
    let today = zone.to_local(now).date();
    match day.days().saturating_sub(today.days()) {
        0 => "today".to_owned(),
        1 => "tomorrow".to_owned(),
        -1 => "yesterday".to_owned(),
        _ => format_day(day),
    }
}

/// Formats a time of today as `14:20`, another one with its day.
fn format_moment(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let local = zone.to_local(at);
    match local.date() == zone.to_local(now).date() {
        true => format_clock(local),
        false => format!("{}, {}", format_day(local.date()), format_clock(local)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use etui::RecordId;
    use etui::calendar::AlarmAction;
    use etui::calendar::time::{Date, DateTimeValue};

    use super::*;

    /// Describes an entry from `start` to `end` at `now`, all in Berlin.
    fn when(kind: ComponentKind, start: &str, end: &str, now: &str) -> String {
        let berlin = TimeZone::named("Europe/Berlin").unwrap();
        let time = |text: &str| {
            let value: DateTimeValue = text.parse().unwrap();
            value.in_zone(Some(&berlin))
        };
        let alarm = DueAlarm {
            record: RecordId(1),
            component: 0,
            at: Timestamp::MIN,
            is_repetition: false,
            kind,
            start: (!start.is_empty()).then(|| time(start)),
            end: (!end.is_empty()).then(|| time(end)),
            title: String::new(),
            location: String::new(),
            action: AlarmAction::Display,
        };
        let now: DateTimeValue = now.parse().unwrap();
        describe_when(&alarm, berlin.to_utc(now.local()), &berlin)
    }

    #[test]
    fn times_of_events_in_words() {
        for (start, end, now, words) in [
            (
                "20261125T143000",
                "20261125T150000",
                "20261125T142000",
                "in 10 minutes (14:30-15:00)",
            ),
            (
                "20261125T143000",
                "20261125T150000",
                "20261125T142003",
                "in 10 minutes (14:30-15:00)",
            ),
            (
                "20261125T143000",
                "",
                "20261125T142900",
                "in 1 minute (14:30)",
            ),
            (
                "20261125T143000",
                "20261125T143000",
                "20261125T130000",
                "in 1 hour 30 minutes (14:30)",
            ),
            (
                "20261125T143000",
                "20261125T150000",
                "20261125T143000",
                "now (14:30-15:00)",
            ),
            (
                "20261125T143000",
                "20261125T150000",
                "20261125T144500",
                "started 15 minutes ago (14:30-15:00)",
            ),
            (
                "20261125T143000",
                "20261125T150000",
                "20261125T160000",
                "ended 1 hour ago (14:30-15:00)",
            ),
            (
                "20261125T223000",
                "20261126T013000",
                "20261125T220000",
                "in 30 minutes (22:30)",
            ),
            (
                "20261126T090000",
                "20261126T093000",
                "20261125T143000",
                "tomorrow, 09:00-09:30",
            ),
            (
                "20261126T013000",
                "20261126T023000",
                "20261125T233000",
                "in 2 hours (01:30-02:30)",
            ),
            (
                "20261128T090000",
                "20261128T093000",
                "20261125T143000",
                "Sat 28 Nov 2026, 09:00-09:30",
            ),
            (
                "20261124T090000",
                "20261124T093000",
                "20261125T143000",
                "yesterday, 09:00-09:30",
            ),
            ("20261125", "20261126", "20261125T080000", "today, all day"),
            (
                "20261126",
                "20261127",
                "20261125T080000",
                "tomorrow, all day",
            ),
            (
                "20261126",
                "20261129",
                "20261125T080000",
                "tomorrow to Sat 28 Nov 2026, all day",
            ),
            ("", "", "20261125T080000", ""),
            // The clocks are set back at 3:00.
            (
                "20261025T040000",
                "20261025T050000",
                "20261025T010000",
                "in 4 hours (04:00-05:00)",
            ),
        ] {
            assert_eq!(when(ComponentKind::Event, start, end, now), words);
        }
    }

    #[test]
    fn times_of_todos_in_words() {
        for (start, end, now, words) in [
            (
                "20261125T143000",
                "20261125T143000",
                "20261125T142000",
                "due in 10 minutes (14:30)",
            ),
            (
                "20261120T090000",
                "20261125T143000",
                "20261125T142000",
                "due in 10 minutes (14:30)",
            ),
            ("20261125T143000", "", "20261125T143010", "due now (14:30)"),
            (
                "20261125T143000",
                "",
                "20261125T150000",
                "was due 30 minutes ago (14:30)",
            ),
            (
                "20261124T143000",
                "",
                "20261125T150000",
                "was due yesterday, 14:30",
            ),
            (
                "20261126T143000",
                "",
                "20261125T130000",
                "due tomorrow, 14:30",
            ),
            ("20261125", "", "20261125T150000", "due today"),
            ("20261123", "", "20261125T150000", "was due Mon 23 Nov 2026"),
        ] {
            assert_eq!(when(ComponentKind::Todo, start, end, now), words);
        }
    }

    #[test]
    fn extreme_times_are_described() {
        for start in [Date::MIN, Date::MAX] {
            let start = format!("{start}");
            let day = when(ComponentKind::Event, &start, "", "20261125T150000");
            assert!(day.ends_with("all day"), "{day}");
        }
    }
}
