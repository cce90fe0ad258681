//! The details of an entry.

use etui::calendar::ics::ComponentKind;
use etui::calendar::recurrence::{EventEnd, Timing};
use etui::calendar::time::{CalendarTime, DateTime, Duration, TimeZone};
use etui::calendar::{
    Alarm, AlarmTrigger, CalendarComponent, CalendarObject, CalendarUser, Classification, Status,
};
use etui::record::StoredRecord;
use etui_contentline::charset::to_plain_utf8;
use etui_contentline::edit::own_lines;
use etui_contentline::lines::ContentLine;
use etui_contentline::values::{param_value, property_value, unescape_text};
use etui_program::output::{format_size, pluralize};

use super::next_time::{SEARCH_YEARS, next_instance};
use crate::commands::records::details::RecordDetails;
use crate::commands::records::title_of;
use crate::json::calendar::status_name;
use etui_when::{
    LocalNow, describe_duration, describe_rule, format_day, format_range, format_short,
};

/// Maximum number of overrides shown.
const MAX_OVERRIDES: usize = 10;

/// Returns the details of an entry, with the name of its calendar if given.
pub(super) fn entry_details(
    stored: &StoredRecord<CalendarObject>,
    record: &CalendarObject,
    calendar: Option<&str>,
    here: &LocalNow,
) -> RecordDetails {
    let main = record.master();
    let mut details = RecordDetails::new(&title_of(record));
    add_times(main, here, &mut details);
    add_recurrence(record, here, &mut details);
    details.add_rows("Where", main.location.clone());
    let status = main
        .status
        .map(|state| status_name(state).replace('-', " "));
    details.add_rows("Status", status);
    details.add_rows(
        "Progress",
        main.percent.map(|percent| format!("{percent} %")),
    );
    let completed = main
        .completed
        .iter()
        .map(|time| format_short(time, &here.zone));
    details.add_rows("Completed", completed);
    let priority = main.priority.map(|n| format!("{n} of 9 (1 is highest)"));
    details.add_rows("Priority", priority);
    details.add_row(
        "Visible to",
        match main.class {
            Classification::Public => "",
            Classification::Private => "the owner (private)",
            Classification::Confidential => "selected people (confidential)",
        },
    );
    details.add_rows("Time", main.transparent.then_some("shown as free"));
    details.add_row("Categories", main.categories.join(", "));
    let alarms = main.alarms.iter().map(|alarm| describe_alarm(alarm, here));
    details.add_rows("Alarm", alarms);
    details.add_rows("Organiser", main.organizer.iter().map(describe_person));
    details.add_rows("Attendee", main.attendees.iter().map(describe_person));
    details.add_rows("Web", main.url.clone());
    add_links(record, &mut details);
    details.add_rows("Notes", main.description.clone());
    let components = record.components().len();
    let kind = match main.kind {
        ComponentKind::Event => "event",
        ComponentKind::Todo => "to-do",
        ComponentKind::Journal => "journal entry",
    };
    let mut size = format!("{kind}, {}", format_size(stored.text.len() as u64));
    if components > 1 {
        size.push_str(&format!(", {}", pluralize(components as u64, "component")));
    }
    details.add_row("Calendar", calendar.unwrap_or_default());
    details.add_row("iCalendar", size);
    details.add_row("UID", stored.uid.clone());
    details.add_row("ETag", stored.etag.to_string());
    details.add_row("#", stored.id.to_string());
    details
}

/// Returns a time of an entry in the user's time zone; days and floating times have none.
pub fn in_display_zone(time: &CalendarTime, here: &LocalNow) -> CalendarTime {
    match time {
        CalendarTime::Date(_) | CalendarTime::Floating(_) => time.clone(),
        time => CalendarTime::Zoned(here.zone.to_local(time.at(&here.zone)), here.zone.clone()),
    }
}

/// Formats a range in the user's time zone.
pub fn describe_span(start: &CalendarTime, end: &CalendarTime, here: &LocalNow) -> String {
    let text = format_range(&in_display_zone(start, here), &in_display_zone(end, here));
    text.trim_end_matches(", all day").to_owned()
}

/// Describes the time and the rule of an entry, a line each: in the user's time zone if it is given, else
/// in that of the entry. A zone other than the system's is named.
pub(super) fn describe_times(record: &CalendarObject, user: Option<&LocalNow>) -> Vec<String> {
    let main = record.master();
    let here = TimeZone::system();
    let format = |start: &CalendarTime, end: &CalendarTime| match user {
        Some(user) => {
            let [start, end] = [start, end].map(|time| in_display_zone(time, user));
            format_in_zone(&start, &end, &here)
        }
        None => format_in_zone(start, end, &here),
    };
    let start = main.start.as_ref();
    let when = start.map(|start| format(start, &end_of(main, start)));
    let due = main.due_time().map(|due| {
        let due = format(&due, &due);
        format!("due {}", due.trim_end_matches(", all day"))
    });
    let timing = main.timing.iter();
    let rules = timing.flat_map(|timing| {
        let zone = timing.start.zone().unwrap_or(&here);
        let rules = timing.rules.iter();
        rules
            .map(|rule| describe_rule(rule, zone))
            .collect::<Vec<_>>()
    });
    when.into_iter().chain(due).chain(rules).collect()
}

/// Adds the start, end and due time, in their own zone and in the display zone.
fn add_times(item: &CalendarComponent, here: &LocalNow, details: &mut RecordDetails) {
    if let Some(start) = &item.start {
        let end = end_of(item, start);
        details.add_row("When", format_in_zone(start, &end, &here.zone));
        let is_elsewhere = match start {
            CalendarTime::Zoned(_, zone) => zone.name() != here.zone.name(),
            CalendarTime::Utc(_) => here.zone != TimeZone::UTC,
            CalendarTime::Date(_) | CalendarTime::Floating(_) => false,
        };
        if is_elsewhere {
            details.add_row("Local time", format_local(start, &end, here));
        }
    }
    if let Some(due) = &item.due_time() {
        let text = format_in_zone(due, due, &here.zone);
        details.add_row("Due", text.trim_end_matches(", all day"));
    }
}

/// Formats a range in its own zone, and names the zone unless it is the display zone.
fn format_in_zone(start: &CalendarTime, end: &CalendarTime, here: &TimeZone) -> String {
    let text = format_range(start, end);
    match start {
        CalendarTime::Date(_) => text,
        CalendarTime::Floating(_) => format!("{text} (floating)"),
        CalendarTime::Utc(_) => format!("{text} (UTC)"),
        CalendarTime::Zoned(_, zone) if zone.name() == here.name() => text,
        CalendarTime::Zoned(_, zone) => format!("{text} ({})", zone.name()),
    }
}

/// Formats a range in the display zone.
fn format_local(start: &CalendarTime, end: &CalendarTime, here: &LocalNow) -> String {
    let local =
        |time: &CalendarTime| CalendarTime::Floating(here.zone.to_local(time.at(&here.zone)));
    let range = format_range(&local(start), &local(end));
    format!("{range} ({})", here.zone.name())
}

/// Returns the end of a component that starts at `start`.
pub(super) fn end_of(item: &CalendarComponent, start: &CalendarTime) -> CalendarTime {
    match item.timing.as_ref().map(|t| &t.end) {
        Some(EventEnd::At(end)) if item.kind != ComponentKind::Todo => to_zone_of(end, start),
        Some(EventEnd::After(length)) => shift_time(start, *length),
        _ if start.is_date() => shift_time(start, Duration::from_days(1)),
        _ => start.clone(),
    }
}

/// Converts an end to the zone of the start.
fn to_zone_of(end: &CalendarTime, start: &CalendarTime) -> CalendarTime {
    match (end.zone(), start.zone()) {
        (Some(_), Some(zone)) => in_form_of(start, zone.to_local(end.at(zone))),
        _ => end.clone(),
    }
}

/// Moves a time by a nominal duration in its own zone.
pub(super) fn shift_time(time: &CalendarTime, by: Duration) -> CalendarTime {
    in_form_of(time, time.local().plus_seconds(by.nominal_seconds()))
}

/// Returns a local time as a date, floating, or in a zone, as `form` is.
pub fn in_form_of(form: &CalendarTime, local: DateTime) -> CalendarTime {
    match form {
        CalendarTime::Date(_) => CalendarTime::Date(local.date()),
        CalendarTime::Floating(_) => CalendarTime::Floating(local),
        CalendarTime::Zoned(_, zone) => CalendarTime::Zoned(local, zone.clone()),
        CalendarTime::Utc(_) => CalendarTime::Utc(TimeZone::UTC.to_utc(local)),
    }
}

/// Adds the recurrence rule, its exceptions and overrides, and the next occurrence.
fn add_recurrence(record: &CalendarObject, here: &LocalNow, details: &mut RecordDetails) {
    let Some(timing) = &record.master().timing else {
        return;
    };
    if record.master().recurs() {
        details.add_row("Repeats", describe_recurrence(record, timing, here));
        let next = match next_instance(record, here) {
            Some(next) => format_in_zone(&next.start, &next.end, &here.zone),
            None => format!("none in the next {SEARCH_YEARS} years"),
        };
        details.add_row("Next", next);
    }
    let changes = record.components().filter(|item| item.is_override());
    let changes = changes.take(MAX_OVERRIDES);
    details.add_rows("Changed", changes.map(|item| describe_override(item, here)));
}

fn describe_recurrence(record: &CalendarObject, timing: &Timing, here: &LocalNow) -> String {
    let zone = timing.start.zone().unwrap_or(&here.zone);
    let rules = timing.rules.iter().map(|rule| describe_rule(rule, zone));
    let mut text = rules.collect::<Vec<_>>().join("; and ");
    let mut part = |n: usize, noun: &str| {
        if n > 0 {
            let comma = if text.is_empty() { "" } else { ", " };
            text.push_str(&format!("{comma}{}", pluralize(n as u64, noun)));
        }
    };
    part(timing.dates.len(), "further date");
    part(timing.exception_rules.len(), "rule of exceptions");
    part(timing.exception_dates.len(), "exception");
    let changed = record.components().filter(|i| i.is_override()).count();
    if changed > 0 {
        text.push_str(&format!(", {changed} changed"));
    }
    text
}

/// Describes an override of one occurrence.
fn describe_override(item: &CalendarComponent, here: &LocalNow) -> String {
    let recurrence_id = item.timing.as_ref().and_then(|t| t.recurrence_id.as_ref());
    let Some(recurrence_id) = recurrence_id else {
        return String::new();
    };
    let mut text = format_day(recurrence_id.id.local().date());
    if let Some(start) = &item.start {
        let now = format_in_zone(start, &end_of(item, start), &here.zone);
        // Do not repeat the day.
        let now = now
            .strip_prefix(&format!("{text}, "))
            .unwrap_or(&now)
            .to_owned();
        text.push_str(&format!(": now {now}"));
    }
    if recurrence_id.this_and_future {
        text.push_str(", and all later ones");
    }
    if let Some(state) = item.status.filter(|state| *state != Status::Confirmed) {
        text.push_str(&format!(", {}", status_name(state).replace('-', " ")));
    }
    if let Some(summary) = &item.summary {
        text.push_str(&format!(": {summary}"));
    }
    text
}

fn describe_alarm(alarm: &Alarm, here: &LocalNow) -> String {
    let relative = |length: Duration, of: &str| match describe_duration(length) {
        _ if length == Duration::ZERO => format!("at the {of}"),
        text if length.is_negative() => format!("{text} before the {of}"),
        text => format!("{text} after the {of}"),
    };
    let mut text = match alarm.trigger {
        AlarmTrigger::Start(length) => relative(length, "start"),
        AlarmTrigger::End(length) => relative(length, "end"),
        AlarmTrigger::At(at) => format_short(&CalendarTime::Utc(at), &here.zone),
        AlarmTrigger::Local(local) => format_short(&CalendarTime::Floating(local), &here.zone),
    };
    if let (Some(every), true) = (alarm.every, alarm.repeat > 0) {
        let every = describe_duration(every);
        text.push_str(&format!(", then {} more every {every}", alarm.repeat));
    }
    if alarm.acknowledged.is_some() {
        text.push_str(", acknowledged");
    }
    text
}

/// Adds the conferences (RFC 7986 section 5.11, and Google's and Microsoft's property), the attachments
/// and the related entries (RELATED-TO, by default the parent) of the master component.
fn add_links(record: &CalendarObject, details: &mut RecordDetails) {
    let text = record.component_texts().nth(record.master_index());
    let text = to_plain_utf8(text.unwrap_or_default());
    let (mut conferences, mut attachments) = (Vec::new(), Vec::new());
    let mut related = Vec::new();
    for line in own_lines(text.as_bytes(), None).filter(|line| line.delimiter().is_none()) {
        let is_one = |names: &[&str]| names.iter().any(|name| line.name_is(name));
        if is_one(CONFERENCES) {
            let label = param_value(&line, "LABEL").map(|label| format!("  ({label})"));
            let link = unescape_text(&property_value(&line));
            conferences.push(format!("{link}{}", label.unwrap_or_default()));
        } else if line.name_is("ATTACH") {
            attachments.push(describe_attachment(&line));
        } else if line.name_is("RELATED-TO") {
            let kind = param_value(&line, "RELTYPE");
            let kind = kind.map_or("parent".to_owned(), |kind| kind.to_ascii_lowercase());
            let uid = unescape_text(&property_value(&line));
            related.push(format!("{uid}  ({kind})"));
        }
    }
    conferences.dedup();
    details.add_rows("Conference", conferences);
    details.add_rows("Attachment", attachments);
    details.add_rows("Related", related);
}

/// Properties with the link of a conference.
const CONFERENCES: &[&str] = &[
    "CONFERENCE",
    "X-GOOGLE-CONFERENCE",
    "X-MICROSOFT-SKYPETEAMSMEETINGURL",
];

/// Formats the link of an attachment, or the size of its content, with its name and type.
fn describe_attachment(line: &ContentLine<'_>) -> String {
    let value = property_value(line);
    let what = match line.is_base64() {
        true => format_size(value.trim_end_matches('=').len() as u64 * 3 / 4),
        false => value.into_owned(),
    };
    let names = ["FILENAME", "X-FILENAME", "X-APPLE-FILENAME", "LABEL"];
    let name = names.iter().find_map(|name| param_value(line, name));
    let about: Vec<_> = name
        .into_iter()
        .chain(param_value(line, "FMTTYPE"))
        .collect();
    match about.is_empty() {
        true => what,
        false => format!("{what}  ({})", about.join(", ")),
    }
}

fn describe_person(person: &CalendarUser) -> String {
    let mut text = match &person.name {
        Some(name) => format!("{name} <{}>", person.address),
        None => person.address.clone(),
    };
    let words = person.role.iter().chain(&person.answer);
    let words = words.filter_map(|word| match word.to_ascii_lowercase().as_str() {
        // The default of ROLE (RFC 5545 §3.2.16).
        "req-participant" => None,
        "opt-participant" => Some("optional".to_owned()),
        "non-participant" => Some("for information".to_owned()),
        "needs-action" => Some("no answer yet".to_owned()),
        word => Some(word.replace('-', " ")),
    });
    let words: Vec<_> = words.collect();
    if !words.is_empty() {
        text.push_str(&format!("  ({})", words.join(", ")));
    }
    text
}
