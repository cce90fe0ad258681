//! `etui calendar show`: all about an entry.

use etui::calendar::ics::ComponentKind;
use etui::calendar::recurrence::{EventEnd, Timing};
use etui::calendar::time::{CalendarTime, Duration, TimeZone};
use etui::calendar::{
    Alarm, AlarmTrigger, CalendarComponent, CalendarObject, CalendarUser, Classification, Status,
};
use etui::record::StoredRecord;

use super::record::{holding, read};
use super::span_args::here;
use crate::app::{App, all_in};
use crate::commands::records::details::RecordDetails;
use crate::commands::records::find::{known, the_one};
use crate::commands::records::{RecordCommands, named};
use crate::datetime::{LocalNow, day, range, short, spoken_length, spoken_rule};
use crate::errors::Result;
use crate::output::json::calendar::{RecordObject, status};
use crate::output::{plural, size};

const EXAMPLES: &str = "\
Examples:
  etui calendar show 17
  etui calendar show dentist                 if only one entry fits
  etui calendar show 17 --ics                the iCalendar text, byte for byte
  etui calendar show 17 --json
  etui calendar show 17 --zone America/New_York

Times are shown as they are written, and by the clock here (or in --zone) where that differs.
All calendars are looked at, or the one of --calendar. When several entries fit they are listed, and
the exit code is 2.";

/// Years ahead in which the next time of an entry is looked for.
const YEARS_AHEAD: i64 = 10;
/// Changed times that are shown.
const MOST_CHANGES: usize = 10;

/// Show all about an entry
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Numbers, UIDs, or a filter (see `etui calendar find --help`)
    #[arg(required = true, value_name = "ID|FILTER")]
    which: Vec<String>,
    /// Write the iCalendar text as it came
    #[arg(long, conflicts_with = "json")]
    ics: bool,
}

/// Shows it.
pub fn run(app: &mut App, name: Option<&str>, args: &Args) -> Result<()> {
    let here = here(&app.out);
    let store = app.open_to_read()?;
    let mut calendar = holding(&store, name, &args.which)?;
    let all = match known(&calendar, &args.which)? {
        Some(all) => all,
        None => {
            let snapshot = store.snapshot()?;
            let asked = all_in::<CalendarObject>(name, &snapshot)?;
            let (of, one) = the_one(&mut app.out, &asked, &args.which)?;
            let name = asked.get(of).map(|(name, _)| name.as_str());
            calendar = store.collection(name)?;
            calendar.by_id(one)?.into_iter().collect()
        }
    };
    if args.ics {
        return all
            .iter()
            .try_for_each(|stored| app.out.bytes(&stored.text));
    }
    let name = (store.calendars()?.len() > 1).then(|| calendar.name());
    let all = all.iter().map(|stored| read(&calendar, &stored.uid));
    for (i, (stored, record)) in all.collect::<Result<Vec<_>>>()?.iter().enumerate() {
        if app.out.json {
            app.out
                .object(&RecordObject::of(stored, record, &here.zone))?;
            continue;
        }
        if i > 0 {
            app.out.line("")?;
        }
        described(stored, record, name, &here).write(&mut app.out)?;
    }
    Ok(())
}

/// All about an entry; with the calendar it is in, if that is to be told.
pub(super) fn described(
    stored: &StoredRecord<CalendarObject>,
    record: &CalendarObject,
    calendar: Option<&str>,
    here: &LocalNow,
) -> RecordDetails {
    let main = record.master();
    let mut about = RecordDetails::new(&named::<CalendarObject>(record.title()));
    when(main, here, &mut about);
    recurrence(record, here, &mut about);
    about.row("Where", main.location.clone().unwrap_or_default());
    if let Some(state) = main.status {
        about.row("Status", status(state).replace('-', " "));
    }
    if let Some(percent) = main.percent {
        about.row("Progress", format!("{percent} %"));
    }
    if let Some(time) = &main.completed {
        about.row("Completed", short(time, &here.zone));
    }
    if let Some(priority) = main.priority {
        about.row("Priority", format!("{priority} of 9, 1 being the highest"));
    }
    about.row(
        "Visible to",
        match main.class {
            Classification::Public => "",
            Classification::Private => "the owner",
            Classification::Confidential => "a few",
        },
    );
    if main.transparent {
        about.row("Time", "not taken: shown as free");
    }
    about.row("Categories", main.categories.join(", "));
    for alarm in &main.alarms {
        about.row("Alarm", alarm_in_words(alarm, here));
    }
    if let Some(person) = &main.organizer {
        about.row("Organiser", person_in_words(person));
    }
    for person in &main.attendees {
        about.row("Attendee", person_in_words(person));
    }
    about.row("Web", main.url.clone().unwrap_or_default());
    about.row("Notes", main.description.clone().unwrap_or_default());
    let components = record.components().len();
    let kind = match main.kind {
        ComponentKind::Event => "event",
        ComponentKind::Todo => "to-do",
        ComponentKind::Journal => "journal entry",
    };
    let mut text = format!("{kind}, {}", size(stored.text.len() as u64));
    if components > 1 {
        text.push_str(&format!(", {}", plural(components as u64, "component")));
    }
    about.row("Calendar", calendar.unwrap_or_default());
    about.row("iCalendar", text);
    about.row("UID", stored.uid.clone());
    about.row("ETag", stored.etag.to_string());
    about.row("#", stored.id.to_string());
    about
}

/// When it is, on its own clock and on the one here.
fn when(item: &CalendarComponent, here: &LocalNow, about: &mut RecordDetails) {
    if let Some(start) = &item.start {
        let end = end_of(item, start);
        about.row("When", in_zone(start, &end, &here.zone));
        if let CalendarTime::Zoned(_, zone) = start
            && *zone != here.zone
            && zone.name() != here.zone.name()
        {
            about.row("LocalNow", here_of(start, &end, here));
        } else if matches!(start, CalendarTime::Utc(_)) && here.zone != TimeZone::UTC {
            about.row("LocalNow", here_of(start, &end, here));
        }
    }
    if let Some(due) = &item.due {
        let text = in_zone(due, due, &here.zone);
        about.row("Due", text.trim_end_matches(", all day"));
    }
}

/// From when to when, and in which zone, if that is not the one here.
fn in_zone(start: &CalendarTime, end: &CalendarTime, here: &TimeZone) -> String {
    let text = range(start, end);
    match start {
        CalendarTime::Date(_) => text,
        CalendarTime::Floating(_) => format!("{text} (wherever one is)"),
        CalendarTime::Utc(_) => format!("{text} (UTC)"),
        CalendarTime::Zoned(_, zone) if zone.name() == here.name() => text,
        CalendarTime::Zoned(_, zone) => format!("{text} ({})", zone.name()),
    }
}

fn here_of(start: &CalendarTime, end: &CalendarTime, here: &LocalNow) -> String {
    let local =
        |time: &CalendarTime| CalendarTime::Floating(here.zone.to_local(time.at(&here.zone)));
    format!(
        "{} ({})",
        range(&local(start), &local(end)),
        here.zone.name()
    )
}

/// When a component ends that starts then.
fn end_of(item: &CalendarComponent, start: &CalendarTime) -> CalendarTime {
    match item.timing.as_ref().map(|t| &t.end) {
        Some(EventEnd::At(end)) if item.kind != ComponentKind::Todo => in_same_zone(end, start),
        Some(EventEnd::After(length)) => moved(start, *length),
        _ if start.is_date() => moved(start, Duration::from_days(1)),
        _ => start.clone(),
    }
}

/// An end on the clock of the start.
fn in_same_zone(end: &CalendarTime, start: &CalendarTime) -> CalendarTime {
    match (end, start) {
        (CalendarTime::Date(_) | CalendarTime::Floating(_), _)
        | (_, CalendarTime::Date(_) | CalendarTime::Floating(_)) => end.clone(),
        (end, CalendarTime::Utc(_)) => CalendarTime::Utc(end.at(&TimeZone::UTC)),
        (end, CalendarTime::Zoned(_, zone)) => {
            CalendarTime::Zoned(zone.to_local(end.at(zone)), zone.clone())
        }
    }
}

/// A time so much later, on its own clock.
pub(super) fn moved(time: &CalendarTime, by: Duration) -> CalendarTime {
    let wall = time.local().plus_seconds(by.nominal_seconds());
    match time {
        CalendarTime::Date(_) => CalendarTime::Date(wall.date()),
        CalendarTime::Floating(_) => CalendarTime::Floating(wall),
        CalendarTime::Zoned(_, zone) => CalendarTime::Zoned(wall, zone.clone()),
        CalendarTime::Utc(at) => CalendarTime::Utc(at.plus_seconds(by.nominal_seconds())),
    }
}

/// How it recurs, with its exceptions, and when it is next.
fn recurrence(record: &CalendarObject, here: &LocalNow, about: &mut RecordDetails) {
    let Some(timing) = &record.master().timing else {
        return;
    };
    if record.master().recurs() {
        about.row("Repeats", repeats(record, timing, here));
        let now = here.zone.to_utc(here.now);
        let ahead = now..now.plus_seconds(YEARS_AHEAD * 366 * 86_400);
        let series = record.recurrence_set();
        let next = series
            .between(ahead, &here.zone)
            .find(|i| i.during.start >= now);
        about.row(
            "Next",
            match next {
                Some(next) => in_zone(&next.start, &next.end, &here.zone),
                None => format!("none in the next {YEARS_AHEAD} years"),
            },
        );
    }
    let changes = record.components().filter(|item| item.is_override());
    for item in changes.take(MOST_CHANGES) {
        about.row("Changed", changed(item, here));
    }
}

fn repeats(record: &CalendarObject, timing: &Timing, here: &LocalNow) -> String {
    let zone = timing.start.zone().unwrap_or(&here.zone);
    let rules: Vec<_> = timing.rules.iter().map(|r| spoken_rule(r, zone)).collect();
    let mut text = rules.join("; and ");
    let mut part = |n: usize, one: &str| {
        if n > 0 {
            let comma = if text.is_empty() { "" } else { ", " };
            text.push_str(&format!("{comma}{}", plural(n as u64, one)));
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

/// An instance that is not as the rule has it.
fn changed(item: &CalendarComponent, here: &LocalNow) -> String {
    let replaces = item.timing.as_ref().and_then(|t| t.replaces.as_ref());
    let Some(replaces) = replaces else {
        return String::new();
    };
    let place = day(replaces.id.local().date());
    let mut text = match &item.start {
        Some(start) => {
            let end = end_of(item, start);
            let now = in_zone(start, &end, &here.zone);
            // The day once is enough.
            let same = format!("{place}, ");
            format!("{place}: now {}", now.strip_prefix(&same).unwrap_or(&now))
        }
        None => place,
    };
    if replaces.this_and_future {
        text.push_str(", and all behind it");
    }
    if let Some(state) = item.status.filter(|state| *state != Status::Confirmed) {
        text.push_str(&format!(", {}", status(state).replace('-', " ")));
    }
    if let Some(summary) = &item.summary {
        text.push_str(&format!(": {summary}"));
    }
    text
}

fn alarm_in_words(alarm: &Alarm, here: &LocalNow) -> String {
    let relative =
        |length: Duration, of: &str| match (length == Duration::ZERO, length.is_negative()) {
            (true, _) => format!("at the {of}"),
            (_, true) => format!("{} before the {of}", spoken_length(length)),
            (_, false) => format!("{} after the {of}", spoken_length(length)),
        };
    let mut text = match alarm.trigger {
        AlarmTrigger::Start(length) => relative(length, "start"),
        AlarmTrigger::End(length) => relative(length, "end"),
        AlarmTrigger::At(at) => short(&CalendarTime::Utc(at), &here.zone),
    };
    if let (Some(every), true) = (alarm.every, alarm.repeat > 0) {
        text.push_str(&format!(
            ", then {} more every {}",
            alarm.repeat,
            spoken_length(every)
        ));
    }
    if alarm.acknowledged.is_some() {
        text.push_str(", seen");
    }
    text
}

fn person_in_words(person: &CalendarUser) -> String {
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
            // What nothing is said of, too (RFC 5545 §3.2.16).
            "req-participant" => None,
            "opt-participant" => Some("optional".to_owned()),
            "non-participant" => Some("to know of it".to_owned()),
            "needs-action" => Some("no answer yet".to_owned()),
            _ => Some(word.replace('-', " ")),
        })
        .collect();
    if !words.is_empty() {
        text.push_str(&format!("  ({})", words.join(", ")));
    }
    text
}
