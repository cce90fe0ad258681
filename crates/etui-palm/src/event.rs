//! Events: [`Appointment`] to `VEVENT`, and back.

use etui_ical::ics::ComponentKind;
use etui_ical::recurrence::EventEnd;
use etui_ical::time::{CalendarTime, Date, DateTime, Duration, TimeZone};
use etui_ical::{CalendarComponent, CalendarObject};

use crate::appointment::{AlarmAdvance, AlarmUnit, Appointment, Repeat, RepeatPeriod};
use crate::component::{ComponentLines, begin, end, note_zone, to_local};
use crate::contact::RecordContext;
use crate::date::TimeOfDay;
use crate::error::RecordError;
use crate::lines::{PropertyLine, push_raw, push_text};
use crate::outgoing::Outgoing;
use crate::repeat::{from_rule, starts_on_rule, to_rule};

/// The text of an alarm of an event without a title; RFC 5545 requires one.
const ALARM_TEXT: &str = "Alarm";

/// Properties of a `VEVENT` that [`CalendarComponent`] has read.
const TIMES: &[&str] = &[
    "DTSTART",
    "DTEND",
    "DURATION",
    "RRULE",
    "RDATE",
    "EXDATE",
    "EXRULE",
    "RECURRENCE-ID",
];

/// Returns an appointment as a `VEVENT` with floating times.
pub fn appointment_to_event(appointment: &Appointment, context: RecordContext<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    begin(&mut out, "VEVENT", context);
    let at = |date: Date, time: TimeOfDay| {
        let seconds = i64::from(time.hour) * 3_600 + i64::from(time.minute) * 60;
        date.midnight().plus_seconds(seconds).to_string()
    };
    let date = appointment.date;
    match appointment.times {
        Some((start, stop)) => {
            push_raw(&mut out, "DTSTART", &at(date, start));
            if stop > start {
                push_raw(&mut out, "DTEND", &at(date, stop));
            }
        }
        None => push_raw(&mut out, "DTSTART;VALUE=DATE", &date.to_string()),
    }
    if let Some(repeat) = &appointment.repeat {
        let rule = to_rule(repeat, appointment.times.is_some());
        push_raw(&mut out, "RRULE", &rule.to_string());
    }
    let exceptions = appointment.exceptions.iter();
    let exceptions: Vec<String> = match appointment.times {
        Some((start, _)) => exceptions.map(|day| at(*day, start)).collect(),
        None => exceptions.map(Date::to_string).collect(),
    };
    if !exceptions.is_empty() {
        let head = match appointment.times {
            Some(_) => "EXDATE",
            None => "EXDATE;VALUE=DATE",
        };
        push_raw(&mut out, head, &exceptions.join(","));
    }
    push_text(&mut out, "SUMMARY", &appointment.description);
    push_text(&mut out, "DESCRIPTION", &appointment.note);
    let mut alarm = Vec::new();
    if let Some(advance) = appointment.alarm {
        let amount = advance.amount;
        let trigger = match advance.unit {
            AlarmUnit::Minutes => format!("-PT{amount}M"),
            AlarmUnit::Hours => format!("-PT{amount}H"),
            AlarmUnit::Days => format!("-P{amount}D"),
        };
        let text = match appointment.description.is_empty() {
            true => ALARM_TEXT,
            false => &appointment.description,
        };
        push_raw(&mut alarm, "BEGIN", "VALARM");
        push_raw(&mut alarm, "ACTION", "DISPLAY");
        push_raw(&mut alarm, "TRIGGER", &trigger);
        push_text(&mut alarm, "DESCRIPTION", text);
        push_raw(&mut alarm, "END", "VALARM");
    }
    end(&mut out, "VEVENT", context, &alarm);
    out
}

/// The appointments of a calendar object, or the reasons why a component cannot be one.
pub type OutgoingAppointments = Vec<Result<Outgoing<Appointment>, RecordError>>;

/// Returns the appointments of the events of an object, with the local times of `zone`. Moved times
/// of a series, and additional dates, are appointments of their own.
pub fn object_to_appointments(object: &CalendarObject, zone: &TimeZone) -> OutgoingAppointments {
    let mut all = Vec::new();
    let mut moved = Vec::new();
    let components = object.components().zip(object.component_texts());
    for (component, text) in components.filter(|(c, _)| c.kind == ComponentKind::Event) {
        let timing = component.timing.as_ref();
        if let Some(id) = timing.and_then(|timing| timing.recurrence_id.as_ref()) {
            moved.push(to_local(&id.id, zone).date());
        }
        all.extend(component_to_appointments(component, text, zone));
    }
    let masters = all
        .iter_mut()
        .flatten()
        .filter(|one| one.record.repeat.is_some());
    for master in masters.take(1) {
        let exceptions = &mut master.record.exceptions;
        for day in &moved {
            if !exceptions.contains(day) {
                exceptions.push(*day);
            }
        }
    }
    all
}

fn component_to_appointments(
    component: &CalendarComponent,
    text: &[u8],
    zone: &TimeZone,
) -> OutgoingAppointments {
    let Some(start) = &component.start else {
        let problem = "it has no start".to_owned();
        return vec![Err(RecordError::NotHeld(problem))];
    };
    let local = to_local(start, zone);
    let mut outgoing = Outgoing::new(Appointment::on(local.date()));
    let length = take_times(&mut outgoing, component, start, local, zone);
    let mut lines = ComponentLines::read(text);
    let alarms = std::mem::take(&mut lines.alarms);
    lines.read_into(&mut outgoing, read_line);
    take_alarms(&mut outgoing, alarms);
    note_zone(start, &mut outgoing.notes);
    if component.is_override() {
        // The id is that of the series.
        outgoing.uid = None;
        let written = "a moved time of a series (an appointment of its own)";
        outgoing.notes.push(written.to_owned());
        let id = component
            .timing
            .as_ref()
            .and_then(|t| t.recurrence_id.as_ref());
        if id.is_some_and(|id| id.this_and_future) {
            let problem = "RANGE=THISANDFUTURE (only this time is moved)";
            outgoing.notes.push(problem.to_owned());
        }
        return vec![Ok(outgoing)];
    }
    let dates = additional_dates(&mut outgoing, component, length, zone);
    take_recurrence(&mut outgoing, component, start, local, zone);
    std::iter::once(outgoing).chain(dates).map(Ok).collect()
}

/// Reads a line; returns false for one without a place.
fn read_line(line: &mut PropertyLine, outgoing: &mut Outgoing<Appointment>) -> bool {
    let record = &mut outgoing.record;
    match line.name.as_str() {
        "SUMMARY" if record.description.is_empty() => record.description = line.text(),
        "DESCRIPTION" if record.note.is_empty() => record.note = line.text(),
        "TRANSP" if line.value.eq_ignore_ascii_case("OPAQUE") => {}
        "STATUS" if line.value.eq_ignore_ascii_case("CONFIRMED") => {}
        name if TIMES.contains(&name) => {
            for param in ["TZID", "VALUE", "RANGE"] {
                line.take_param(param);
            }
        }
        _ => return false,
    }
    true
}

/// Takes start and end. Returns the length in minutes.
fn take_times(
    outgoing: &mut Outgoing<Appointment>,
    component: &CalendarComponent,
    start: &CalendarTime,
    local: DateTime,
    zone: &TimeZone,
) -> i64 {
    let end = match component.timing.as_ref().map(|timing| &timing.end) {
        Some(EventEnd::At(end)) => to_local(end, zone),
        Some(EventEnd::After(length)) => add(local, *length),
        Some(EventEnd::Unspecified) | None => local,
    };
    let date = local.date();
    if start.is_date() {
        let days = i64::from(end.date().days()) - i64::from(date.days());
        if days > 1 {
            let last = date.plus_days(days - 1);
            let notes = &mut outgoing.notes;
            if component.recurs() {
                notes.push(format!("lasts {days} days (written as the first day)"));
            } else {
                notes.push(format!("lasts {days} days (written as a daily repetition)"));
                outgoing.record.repeat = Some(Repeat {
                    period: RepeatPeriod::Daily,
                    every: 1,
                    end: Some(last),
                    week_start: 1,
                });
            }
        }
        return 0;
    }
    if local.hms().2 != 0 {
        outgoing
            .notes
            .push(format!("DTSTART: {local} (without seconds)"));
    }
    let end = end.max(local);
    let stop = match end.date() == date {
        true => time_of_day(end),
        false => {
            outgoing
                .notes
                .push(format!("ends {end} (written as 23:59 of the first day)"));
            TimeOfDay::LAST
        }
    };
    outgoing.record.times = Some((time_of_day(local), stop));
    (end.seconds() - local.seconds()) / 60
}

fn time_of_day(time: DateTime) -> TimeOfDay {
    let (hour, minute, _) = time.hms();
    TimeOfDay {
        hour: u8::try_from(hour).unwrap_or(0),
        minute: u8::try_from(minute).unwrap_or(0),
    }
}

fn add(time: DateTime, length: Duration) -> DateTime {
    let seconds = time.seconds() - time.date().midnight().seconds() + length.seconds();
    let date = time.date().plus_days(length.days());
    date.midnight().plus_seconds(seconds)
}

/// Returns an appointment for each `RDATE`.
fn additional_dates(
    outgoing: &mut Outgoing<Appointment>,
    component: &CalendarComponent,
    minutes: i64,
    zone: &TimeZone,
) -> Vec<Outgoing<Appointment>> {
    let dates = component.timing.iter().flat_map(|timing| &timing.dates);
    let made = dates.map(|date| {
        let local = to_local(&date.start, zone);
        let mut one = Outgoing {
            uid: None,
            notes: Vec::new(),
            ..outgoing.clone()
        };
        one.record.date = local.date();
        if one.record.times.is_some() {
            let end = local.plus_seconds(minutes.saturating_mul(60));
            let stop = match end.date() == local.date() {
                true => time_of_day(end),
                false => TimeOfDay::LAST,
            };
            one.record.times = Some((time_of_day(local), stop));
        }
        one
    });
    let made: Vec<_> = made.collect();
    if !made.is_empty() {
        let count = made.len();
        outgoing.notes.push(format!(
            "RDATE: {count} (written as appointments of their own)"
        ));
    }
    made
}

/// Takes the recurrence rule and the exceptions.
fn take_recurrence(
    outgoing: &mut Outgoing<Appointment>,
    component: &CalendarComponent,
    start: &CalendarTime,
    local: DateTime,
    zone: &TimeZone,
) {
    let Some(timing) = &component.timing else {
        return;
    };
    let notes = &mut outgoing.notes;
    let record = &mut outgoing.record;
    let has_times = record.times.is_some();
    let is_same_day = start.local().date() == local.date();
    let repeat = match &timing.rules[..] {
        [] => None,
        [rule] if timing.exception_rules.is_empty() && is_same_day => {
            // The end of a rule is a time of its zone, as is the start.
            from_rule(rule, start.local(), has_times, start.zone())
        }
        _ => None,
    };
    if let Some(repeat) = repeat {
        record.repeat = Some(repeat);
        let is_on_rule = |rule| starts_on_rule(rule, start.local(), has_times);
        if !timing.rules.iter().all(is_on_rule) {
            notes.push("starts off its rule (a Palm may not show the first time)".to_owned());
        }
        if start.zone().is_some_and(|of_start| of_start != zone) {
            let written = "repeats in its time zone (written at the local time of the first)";
            notes.push(written.to_owned());
        }
    } else {
        for rule in &timing.rules {
            notes.push(format!("RRULE: {rule} (only the first time is written)"));
        }
    }
    for rule in &timing.exception_rules {
        notes.push(format!("EXRULE: {rule}"));
    }
    if timing.rules.is_empty() {
        return;
    }
    let days = timing
        .exception_dates
        .iter()
        .map(|day| to_local(day, zone).date());
    for day in days {
        if record.repeat.is_some() && !record.exceptions.contains(&day) {
            record.exceptions.push(day);
        }
    }
}

/// Takes the first alarm that a Palm can have; the others are noted.
fn take_alarms(outgoing: &mut Outgoing<Appointment>, alarms: Vec<Vec<PropertyLine>>) {
    for alarm in alarms {
        let find = |name: &str| alarm.iter().find(|line| line.name == name);
        let trigger = find("TRIGGER").map(|line| line.value.trim().to_owned());
        let trigger = trigger.unwrap_or_default();
        let at_end = find("TRIGGER").is_some_and(|line| {
            let related = line.clone().take_param("RELATED");
            related.is_some_and(|related| related.eq_ignore_ascii_case("END"))
        });
        let advance =
            parse_advance(&trigger).filter(|_| !at_end && outgoing.record.alarm.is_none());
        let Some(advance) = advance else {
            outgoing.notes.push(format!("VALARM: {trigger}"));
            continue;
        };
        outgoing.record.alarm = Some(advance);
        for line in &alarm {
            let is_held = match line.name.as_str() {
                "TRIGGER" | "UID" | "X-WR-ALARMUID" | "ACKNOWLEDGED" | "" => true,
                "ACTION" => line.value.trim().eq_ignore_ascii_case("DISPLAY"),
                "DESCRIPTION" => {
                    let title = &outgoing.record.description;
                    let text = line.text();
                    text == *title || (title.is_empty() && text == ALARM_TEXT)
                }
                _ => false,
            };
            if !is_held {
                outgoing.notes.push(format!("VALARM: {}", line.excerpt()));
            }
        }
    }
}

/// Parses a trigger before the start in a unit that a Palm has.
fn parse_advance(trigger: &str) -> Option<AlarmAdvance> {
    let of = |amount: i64, unit| {
        let amount = u8::try_from(amount).ok()?;
        Some(AlarmAdvance { amount, unit })
    };
    for (prefix, suffix, unit) in [
        ("-PT", "M", AlarmUnit::Minutes),
        ("-PT", "H", AlarmUnit::Hours),
        ("-P", "D", AlarmUnit::Days),
    ] {
        let amount = trigger
            .strip_prefix(prefix)
            .and_then(|rest| rest.strip_suffix(suffix));
        if let Some(amount) = amount.and_then(|amount| amount.parse().ok()) {
            return Some(AlarmAdvance { amount, unit });
        }
    }
    let length: Duration = trigger.parse().ok()?;
    if length.days() > 0 || length.seconds() > 0 {
        return None;
    }
    let (days, seconds) = (-length.days(), -length.seconds());
    if days > 0 && seconds == 0 {
        return of(days, AlarmUnit::Days);
    }
    let minutes = days * 24 * 60 + seconds / 60;
    match () {
        () if seconds % 60 != 0 => None,
        () if minutes <= u8::MAX.into() => of(minutes, AlarmUnit::Minutes),
        () if minutes % 60 == 0 => of(minutes / 60, AlarmUnit::Hours),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use etui_ical::zones::TimeZoneResolver;

    fn appointments(text: &str) -> Vec<Outgoing<Appointment>> {
        let object = CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap();
        let berlin = TimeZone::named("Europe/Berlin").unwrap();
        let all = object_to_appointments(&object, &berlin);
        all.into_iter().map(Result::unwrap).collect()
    }

    fn event(body: &str) -> Outgoing<Appointment> {
        let mut all = appointments(&format!("BEGIN:VEVENT\r\nUID:1\r\n{body}END:VEVENT\r\n"));
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    #[test]
    fn an_appointment_is_an_event_and_back() {
        let time = |hour, minute| TimeOfDay { hour, minute };
        let appointment = Appointment {
            times: Some((time(9, 30), time(10, 0))),
            alarm: Some(AlarmAdvance {
                amount: 90,
                unit: AlarmUnit::Minutes,
            }),
            repeat: Some(Repeat {
                period: RepeatPeriod::Weekly(0b100),
                every: 2,
                end: Date::new(2004, 12, 31),
                week_start: 0,
            }),
            exceptions: vec![Date::new(2003, 4, 8).unwrap()],
            description: "Jour fixe, weekly".to_owned(),
            note: " Room 4\n".to_owned(),
            ..Appointment::on(Date::new(2003, 3, 25).unwrap())
        };
        let context = RecordContext {
            uid: "palm-date-000001-0123456789abcdef",
            category: Some("Work"),
            is_secret: true,
        };
        let text = String::from_utf8(appointment_to_event(&appointment, context)).unwrap();
        let expected = "BEGIN:VEVENT\r\nUID:palm-date-000001-0123456789abcdef\r\n\
            DTSTAMP:19700101T000000Z\r\nDTSTART:20030325T093000\r\nDTEND:20030325T100000\r\n\
            RRULE:FREQ=WEEKLY;UNTIL=20041231T235959;INTERVAL=2;BYDAY=TU;WKST=SU\r\n\
            EXDATE:20030408T093000\r\nSUMMARY:Jour fixe\\, weekly\r\nDESCRIPTION: Room 4\\n\r\n\
            CATEGORIES:Work\r\nCLASS:PRIVATE\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\n\
            TRIGGER:-PT90M\r\nDESCRIPTION:Jour fixe\\, weekly\r\nEND:VALARM\r\nEND:VEVENT\r\n";
        assert_eq!(text, expected);
        let [back] = &appointments(&text)[..] else {
            panic!("one event is one appointment");
        };
        assert_eq!(back.record, appointment);
        assert_eq!(back.notes, [""; 0]);
        assert_eq!(back.category.as_deref(), Some("Work"));
        assert!(back.is_secret);
        assert_eq!(back.uid.as_deref(), Some(context.uid));
    }

    #[test]
    fn times_are_local_and_end_on_their_day() {
        let found = event(
            "DTSTART;TZID=America/New_York:20030325T200000\r\nDURATION:PT3H\r\nSUMMARY:Call\r\n\
             RRULE:FREQ=DAILY\r\n",
        );
        assert_eq!(found.record.date, Date::new(2003, 3, 26).unwrap());
        let (start, stop) = found.record.times.unwrap();
        assert_eq!(
            ((start.hour, start.minute), (stop.hour, stop.minute)),
            ((2, 0), (5, 0))
        );
        assert_eq!(
            found.notes,
            [
                "time zone America/New_York (written in local time)",
                "RRULE: FREQ=DAILY (only the first time is written)",
            ]
        );
        let found = event("DTSTART:20030325T200000\r\nDTEND:20030326T013000\r\n");
        assert_eq!(found.record.times.unwrap().1, TimeOfDay::LAST);
        assert_eq!(
            found.notes,
            ["ends 20030326T013000 (written as 23:59 of the first day)"]
        );
        let found = event("DTSTART;VALUE=DATE:20030325\r\nDTEND;VALUE=DATE:20030328\r\n");
        assert_eq!(found.record.repeat.unwrap().end, Date::new(2003, 3, 27));
        assert_eq!(
            found.notes,
            ["lasts 3 days (written as a daily repetition)"]
        );
    }

    #[test]
    fn every_property_without_a_place_is_noted() {
        let found = event(
            "DTSTAMP:20030101T000000Z\r\nDTSTART:20030325T093000\r\nSUMMARY;LANGUAGE=en:Call\r\n\
             LOCATION:Room 4\r\nATTENDEE;CN=Bob:mailto:bob@example.org\r\nSTATUS:TENTATIVE\r\n\
             CLASS:CONFIDENTIAL\r\nCATEGORIES:a,b\r\nRRULE:FREQ=HOURLY\r\n\
             BEGIN:VALARM\r\nACTION:AUDIO\r\nTRIGGER:-P1W\r\nEND:VALARM\r\n\
             BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\n",
        );
        let expected = [
            "SUMMARY (LANGUAGE=en)",
            "LOCATION: Room 4",
            "ATTENDEE: mailto:bob@example.org",
            "STATUS: TENTATIVE",
            "CLASS: CONFIDENTIAL (written as private)",
            "CATEGORIES: b (a Palm has one for each record)",
            "VALARM: ACTION: AUDIO",
            "VALARM: -PT5M",
            "RRULE: FREQ=HOURLY (only the first time is written)",
        ];
        assert_eq!(found.notes, expected);
        let alarm = found.record.alarm.unwrap();
        assert_eq!((alarm.amount, alarm.unit), (7, AlarmUnit::Days));
    }

    #[test]
    fn moved_and_additional_times_are_appointments_of_their_own() {
        let all = appointments(
            "BEGIN:VEVENT\r\nUID:1\r\nDTSTART:20030325T093000\r\nDTEND:20030325T100000\r\n\
             RRULE:FREQ=WEEKLY\r\nRDATE:20030330T120000\r\nEXDATE:20030408T093000\r\n\
             SUMMARY:Club\r\nEND:VEVENT\r\n\
             BEGIN:VEVENT\r\nUID:1\r\nRECURRENCE-ID:20030401T093000\r\nDTSTART:20030402T110000\r\n\
             SUMMARY:Club, moved\r\nEND:VEVENT\r\n",
        );
        let date = |month, day| Date::new(2003, month, day).unwrap();
        let dates: Vec<Date> = all.iter().map(|one| one.record.date).collect();
        assert_eq!(dates, [date(3, 25), date(3, 30), date(4, 2)]);
        assert_eq!(all[0].record.exceptions, [date(4, 8), date(4, 1)]);
        assert_eq!(
            all[0].notes,
            ["RDATE: 1 (written as appointments of their own)"]
        );
        assert_eq!(all[1].record.repeat, None);
        assert_eq!(
            all[2].notes,
            ["a moved time of a series (an appointment of its own)"]
        );
        let uids: Vec<_> = all.iter().map(|one| one.uid.as_deref()).collect();
        assert_eq!(uids, [Some("1"), None, None]);
    }

    #[test]
    fn advances_have_the_unit_of_a_palm() {
        for (trigger, amount, unit) in [
            ("-PT60M", 60, AlarmUnit::Minutes),
            ("-PT1H", 1, AlarmUnit::Hours),
            ("-PT1H30M", 90, AlarmUnit::Minutes),
            ("PT0S", 0, AlarmUnit::Minutes),
            ("-P1W", 7, AlarmUnit::Days),
            ("-PT600M", 10, AlarmUnit::Hours),
        ] {
            assert_eq!(
                parse_advance(trigger),
                Some(AlarmAdvance { amount, unit }),
                "{trigger}"
            );
        }
        for trigger in ["PT5M", "-PT30S", "-P1DT1M", "20030325T093000Z", ""] {
            assert_eq!(parse_advance(trigger), None, "{trigger}");
        }
    }
}
