//! The agenda of a day.

use etui::calendar::OccurrenceLimit;
use etui::calendar::ics::ComponentKind;
use etui::calendar::time::{Date, DateTime, TimeZone, Weekday};
use etui::calendar::{CalendarObject, Color, Occurrence, Status, Todo};
use maud::{Markup, html};

use super::DeviceView;

/// Occurrences that are shown of each calendar.
const MAX_SHOWN: usize = 200;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// An occurrence of a day.
struct Entry<'a> {
    calendar: &'a str,
    color: Option<Color>,
    occurrence: Occurrence,
}

/// Returns the agenda of a day in a time zone.
pub fn show_day(view: &DeviceView<'_>, day: Date, zone: &TimeZone) -> etui::Result<Markup> {
    let calendars = view.collections::<CalendarObject>()?;
    let during = zone.to_utc(day.midnight())..zone.to_utc(day.plus_days(1).midnight());
    let (mut entries, mut has_more) = (Vec::new(), false);
    for (name, reader) in &calendars {
        let color = reader.color()?;
        let found =
            reader.between_bounded(during.clone(), zone, OccurrenceLimit::Fair(MAX_SHOWN))?;
        has_more |= found.has_more || !found.cut.is_empty();
        let found = found.occurrences.into_iter();
        entries.extend(found.map(|occurrence| Entry {
            calendar: name,
            color,
            occurrence,
        }));
    }
    // All-day entries first.
    entries.sort_by_key(|entry| {
        let occurrence = &entry.occurrence;
        (
            !occurrence.is_all_day(),
            occurrence.during.start,
            occurrence.during.end,
        )
    });
    let mut overdue = Vec::new();
    for (name, reader) in &calendars {
        let found = reader.overdue_todos(day, zone)?.into_iter();
        overdue.extend(found.map(|todo| (name.as_str(), todo)));
    }
    let due_of = |todo: &Todo| todo.due.as_ref().map(|due| due.at(zone));
    overdue.sort_by_key(|(_, todo)| due_of(todo));
    let has_several = calendars.len() > 1;
    has_more |= overdue.len() > MAX_SHOWN;
    Ok(html! {
        h1 { "Today" }
        p.date { (format_day(day)) " · " (zone.name()) }
        @if !overdue.is_empty() {
            h2 { "Overdue" }
            ul.agenda {
                @for (calendar, todo) in overdue.iter().take(MAX_SHOWN) {
                    (show_overdue(todo, calendar, zone, has_several))
                }
            }
        }
        @if entries.is_empty() {
            p.empty { "Nothing today." }
        } @else {
            ul.agenda {
                @for entry in &entries { (show_entry(entry, day, zone, calendars.len() > 1)) }
            }
        }
        @if has_more { p.empty { "Not all is shown: a calendar has very many entries today." } }
    })
}

fn show_overdue(todo: &Todo, calendar: &str, zone: &TimeZone, has_several: bool) -> Markup {
    let title = match todo.title.trim() {
        "" => "(no title)",
        title => title,
    };
    let due = todo.due.as_ref().map(|due| {
        let (year, month, day) = zone.to_local(due.at(zone)).date().ymd();
        format!("{year:04}-{month:02}-{day:02}")
    });
    html! {
        li {
            span.time { "due " (due.unwrap_or_default()) }
            div.what {
                span.box { "☐ " }
                (title)
                @if has_several { div.detail { (calendar) } }
            }
        }
    }
}

fn show_entry(entry: &Entry<'_>, day: Date, zone: &TimeZone, has_several: bool) -> Markup {
    let occurrence = &entry.occurrence;
    let is_cancelled = occurrence.status == Some(Status::Cancelled);
    let is_done = occurrence.status == Some(Status::Completed);
    let title = match occurrence.title.trim() {
        "" => "(no title)",
        title => title,
    };
    html! {
        li {
            span.time { (format_time(occurrence, day, zone)) }
            div.what {
                @if occurrence.kind == ComponentKind::Todo {
                    span.box { @if is_done { "☑ " } @else { "☐ " } }
                }
                @if is_cancelled { s { (title) } " (cancelled)" } @else { (title) }
                @if occurrence.status == Some(Status::Tentative) { " (tentative)" }
                @if !occurrence.location.trim().is_empty() {
                    div.detail { (occurrence.location) }
                }
                @if has_several {
                    div.detail { (dot(entry.color)) (entry.calendar) }
                }
            }
        }
    }
}

/// Returns a dot in the colour of a calendar. The page's policy forbids styles, not attributes of SVG.
fn dot(color: Option<Color>) -> Markup {
    html! {
        @if let Some(color) = color {
            svg.dot viewBox="0 0 8 8" aria-hidden="true" {
                circle cx="4" cy="4" r="4" fill=(color.to_string()) {}
            }
        }
    }
}

/// Returns the part of the day that an occurrence takes.
fn format_time(occurrence: &Occurrence, day: Date, zone: &TimeZone) -> String {
    if occurrence.is_all_day() {
        return "all day".to_owned();
    }
    let start = zone.to_local(occurrence.during.start);
    let end = zone.to_local(occurrence.during.end);
    let next = day.plus_days(1).midnight();
    match (start < day.midnight(), end > next) {
        (true, true) => "all day".to_owned(),
        (true, false) => format!("until {}", format_clock(end)),
        (false, true) => format!("from {}", format_clock(start)),
        (false, false) if start == end => format_clock(start),
        (false, false) => format!("{}–{}", format_clock(start), format_clock(end)),
    }
}

fn format_clock(time: DateTime) -> String {
    let (hour, minute, _) = time.hms();
    format!("{hour:02}:{minute:02}")
}

/// Formats `Monday, 23 November 2026`.
fn format_day(date: Date) -> String {
    let (year, month, day) = date.ymd();
    let weekday = match date.weekday() {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    };
    let month = usize::try_from(month)
        .ok()
        .and_then(|m| MONTHS.get(m.checked_sub(1)?));
    format!("{weekday}, {day} {} {year}", month.unwrap_or(&""))
}
