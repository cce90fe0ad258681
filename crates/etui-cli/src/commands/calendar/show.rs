//! `etui calendar show`: the full details of entries.

use etui::calendar::ics::ComponentKind;
use etui::calendar::recurrence::{EventEnd, Timing};
use etui::calendar::time::{CalendarTime, Duration, TimeZone};
use etui::calendar::{
    Alarm, AlarmTrigger, CalendarComponent, CalendarObject, CalendarUser, Classification, Status,
};
use etui::record::StoredRecord;

use super::record::{open_calendar_of, read_record};
use super::span_args::local_now;
use crate::app::{App, readers_in};
use crate::commands::records::details::RecordDetails;
use crate::commands::records::find::{find_single, lookup_all};
use crate::commands::records::{RecordCommands, name_or_placeholder};
use crate::datetime::{
    LocalNow, describe_duration, describe_rule, format_day, format_range, format_short,
};
use crate::errors::Result;
use crate::output::json::calendar::{EntryJson, status_name};
use crate::output::{format_size, pluralize};

const EXAMPLES: &str = "\
Examples:
  etui calendar show 17
  etui calendar show dentist                 if only one entry matches
  etui calendar show 17 --ics                print the iCalendar text, byte for byte
  etui calendar show 17 --json
  etui calendar show 17 --zone America/New_York

Times are shown in their own zone, and in the display zone (--zone) if that differs. All calendars
are searched, or the one given with --calendar. If several entries match, they are listed, and the
exit code is 2.";

/// Years in which the next occurrence is searched.
const NEXT_SEARCH_YEARS: i64 = 10;
/// Maximum number of overrides shown.
const MAX_OVERRIDES: usize = 10;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ShowEntryArgs {
    /// Numbers, UIDs, or a filter (see `etui calendar find --help`)
    #[arg(required = true, value_name = "ID|FILTER")]
    which: Vec<String>,
    /// Print the iCalendar text as it was imported
    #[arg(long, conflicts_with = "json")]
    ics: bool,
}

pub fn show_entries(app: &mut App, name: Option<&str>, args: &ShowEntryArgs) -> Result<()> {
    let here = local_now(&app.out);
    let store = app.open_to_read()?;
    let mut calendar = open_calendar_of(&store, name, &args.which)?;
    let all = match lookup_all(&calendar, &args.which)? {
        Some(all) => all,
        None => {
            let snapshot = store.snapshot()?;
            let readers = readers_in::<CalendarObject>(name, &snapshot)?;
            let (of, one) = find_single(&mut app.out, &readers, &args.which)?;
            let name = readers.get(of).map(|(name, _)| name.as_str());
            calendar = store.collection(name)?;
            calendar.by_id(one)?.into_iter().collect()
        }
    };
    if args.ics {
        return all
            .iter()
            .try_for_each(|stored| app.out.write_bytes(&stored.text));
    }
    let name = (store.calendars()?.len() > 1).then(|| calendar.name());
    let all = all.iter().map(|stored| read_record(&calendar, &stored.uid));
    for (i, (stored, record)) in all.collect::<Result<Vec<_>>>()?.iter().enumerate() {
        if app.out.json {
            app.out
                .write_json(&EntryJson::new(stored, record, &here.zone))?;
            continue;
        }
        if i > 0 {
            app.out.write_line("")?;
        }
        entry_details(stored, record, name, &here).write_to(&mut app.out)?;
    }
    Ok(())
}

/// Returns the details of an entry, with the name of its calendar if given.
pub(super) fn entry_details(
    stored: &StoredRecord<CalendarObject>,
    record: &CalendarObject,
    calendar: Option<&str>,
    here: &LocalNow,
) -> RecordDetails {
    let main = record.master();
    let mut details = RecordDetails::new(&name_or_placeholder::<CalendarObject>(
        record.display_title(),
    ));
    add_times(main, here, &mut details);
    add_recurrence(record, here, &mut details);
    details.add_row("Where", main.location.clone().unwrap_or_default());
    if let Some(state) = main.status {
        details.add_row("Status", status_name(state).replace('-', " "));
    }
    if let Some(percent) = main.percent {
        details.add_row("Progress", format!("{percent} %"));
    }
    if let Some(time) = &main.completed {
        details.add_row("Completed", format_short(time, &here.zone));
    }
    if let Some(priority) = main.priority {
        details.add_row("Priority", format!("{priority} of 9 (1 is highest)"));
    }
    details.add_row(
        "Visible to",
        match main.class {
            Classification::Public => "",
            Classification::Private => "the owner (private)",
            Classification::Confidential => "selected people (confidential)",
        },
    );
    if main.transparent {
        details.add_row("Time", "shown as free");
    }
    details.add_row("Categories", main.categories.join(", "));
    for alarm in &main.alarms {
        details.add_row("Alarm", describe_alarm(alarm, here));
    }
    if let Some(person) = &main.organizer {
        details.add_row("Organiser", describe_person(person));
    }
    for person in &main.attendees {
        details.add_row("Attendee", describe_person(person));
    }
    details.add_row("Web", main.url.clone().unwrap_or_default());
    details.add_row("Notes", main.description.clone().unwrap_or_default());
    let components = record.components().len();
    let kind = match main.kind {
        ComponentKind::Event => "event",
        ComponentKind::Todo => "to-do",
        ComponentKind::Journal => "journal entry",
    };
    let mut text = format!("{kind}, {}", format_size(stored.text.len() as u64));
    if components > 1 {
        text.push_str(&format!(", {}", pluralize(components as u64, "component")));
    }
    details.add_row("Calendar", calendar.unwrap_or_default());
    details.add_row("iCalendar", text);
    details.add_row("UID", stored.uid.clone());
    details.add_row("ETag", stored.etag.to_string());
    details.add_row("#", stored.id.to_string());
    details
}

/// Adds the start, end and due time, in their own zone and in the display zone.
fn add_times(item: &CalendarComponent, here: &LocalNow, details: &mut RecordDetails) {
    if let Some(start) = &item.start {
        let end = end_of(item, start);
        details.add_row("When", format_in_zone(start, &end, &here.zone));
        if let CalendarTime::Zoned(_, zone) = start
            && *zone != here.zone
            && zone.name() != here.zone.name()
        {
            details.add_row("Local time", format_local(start, &end, here));
        } else if matches!(start, CalendarTime::Utc(_)) && here.zone != TimeZone::UTC {
            details.add_row("Local time", format_local(start, &end, here));
        }
    }
    if let Some(due) = &item.due {
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
    format!(
        "{} ({})",
        format_range(&local(start), &local(end)),
        here.zone.name()
    )
}

/// Returns the end of a component that starts at `start`.
fn end_of(item: &CalendarComponent, start: &CalendarTime) -> CalendarTime {
    match item.timing.as_ref().map(|t| &t.end) {
        Some(EventEnd::At(end)) if item.kind != ComponentKind::Todo => to_zone_of(end, start),
        Some(EventEnd::After(length)) => shift_time(start, *length),
        _ if start.is_date() => shift_time(start, Duration::from_days(1)),
        _ => start.clone(),
    }
}

/// Converts an end to the zone of the start.
fn to_zone_of(end: &CalendarTime, start: &CalendarTime) -> CalendarTime {
    match (end, start) {
        (CalendarTime::Date(_) | CalendarTime::Floating(_), _)
        | (_, CalendarTime::Date(_) | CalendarTime::Floating(_)) => end.clone(),
        (end, CalendarTime::Utc(_)) => CalendarTime::Utc(end.at(&TimeZone::UTC)),
        (end, CalendarTime::Zoned(_, zone)) => {
            CalendarTime::Zoned(zone.to_local(end.at(zone)), zone.clone())
        }
    }
}

/// Moves a time by a nominal duration in its own zone.
pub(super) fn shift_time(time: &CalendarTime, by: Duration) -> CalendarTime {
    let wall = time.local().plus_seconds(by.nominal_seconds());
    match time {
        CalendarTime::Date(_) => CalendarTime::Date(wall.date()),
        CalendarTime::Floating(_) => CalendarTime::Floating(wall),
        CalendarTime::Zoned(_, zone) => CalendarTime::Zoned(wall, zone.clone()),
        CalendarTime::Utc(at) => CalendarTime::Utc(at.plus_seconds(by.nominal_seconds())),
    }
}

/// Adds the recurrence rule, its exceptions and overrides, and the next occurrence.
fn add_recurrence(record: &CalendarObject, here: &LocalNow, details: &mut RecordDetails) {
    let Some(timing) = &record.master().timing else {
        return;
    };
    if record.master().recurs() {
        details.add_row("Repeats", describe_recurrence(record, timing, here));
        let now = here.zone.to_utc(here.now);
        let ahead = now..now.plus_seconds(NEXT_SEARCH_YEARS * 366 * 86_400);
        let series = record.recurrence_set();
        let next = series
            .between(ahead, &here.zone)
            .find(|i| i.during.start >= now);
        details.add_row(
            "Next",
            match next {
                Some(next) => format_in_zone(&next.start, &next.end, &here.zone),
                None => format!("none in the next {NEXT_SEARCH_YEARS} years"),
            },
        );
    }
    let changes = record.components().filter(|item| item.is_override());
    for item in changes.take(MAX_OVERRIDES) {
        details.add_row("Changed", describe_override(item, here));
    }
}

fn describe_recurrence(record: &CalendarObject, timing: &Timing, here: &LocalNow) -> String {
    let zone = timing.start.zone().unwrap_or(&here.zone);
    let rules: Vec<_> = timing
        .rules
        .iter()
        .map(|r| describe_rule(r, zone))
        .collect();
    let mut text = rules.join("; and ");
    let mut part = |n: usize, one: &str| {
        if n > 0 {
            let comma = if text.is_empty() { "" } else { ", " };
            text.push_str(&format!("{comma}{}", pluralize(n as u64, one)));
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
    let original = format_day(recurrence_id.id.local().date());
    let mut text = match &item.start {
        Some(start) => {
            let end = end_of(item, start);
            let now = format_in_zone(start, &end, &here.zone);
            // Do not repeat the day.
            let same = format!("{original}, ");
            format!(
                "{original}: now {}",
                now.strip_prefix(&same).unwrap_or(&now)
            )
        }
        None => original,
    };
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
    let relative =
        |length: Duration, of: &str| match (length == Duration::ZERO, length.is_negative()) {
            (true, _) => format!("at the {of}"),
            (_, true) => format!("{} before the {of}", describe_duration(length)),
            (_, false) => format!("{} after the {of}", describe_duration(length)),
        };
    let mut text = match alarm.trigger {
        AlarmTrigger::Start(length) => relative(length, "start"),
        AlarmTrigger::End(length) => relative(length, "end"),
        AlarmTrigger::At(at) => format_short(&CalendarTime::Utc(at), &here.zone),
    };
    if let (Some(every), true) = (alarm.every, alarm.repeat > 0) {
        text.push_str(&format!(
            ", then {} more every {}",
            alarm.repeat,
            describe_duration(every)
        ));
    }
    if alarm.acknowledged.is_some() {
        text.push_str(", acknowledged");
    }
    text
}

fn describe_person(person: &CalendarUser) -> String {
    let mut text = match &person.name {
        Some(name) => format!("{name} <{}>", person.address),
        None => person.address.clone(),
    };
    let words = [&person.role, &person.answer];
    let words: Vec<_> = words
        .into_iter()
        .flatten()
        .map(|word| word.to_ascii_lowercase())
        .filter_map(|word| match word.as_str() {
            // The default of ROLE (RFC 5545 §3.2.16).
            "req-participant" => None,
            "opt-participant" => Some("optional".to_owned()),
            "non-participant" => Some("for information".to_owned()),
            "needs-action" => Some("no answer yet".to_owned()),
            _ => Some(word.replace('-', " ")),
        })
        .collect();
    if !words.is_empty() {
        text.push_str(&format!("  ({})", words.join(", ")));
    }
    text
}
