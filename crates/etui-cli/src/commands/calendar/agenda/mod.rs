//! `etui calendar agenda`: the occurrences of a period, day by day.

mod days;
mod draw;

use etui::calendar::ics::ComponentKind;
use etui::calendar::time::{CalendarTime, TimeZone};
use etui::calendar::{CalendarObject, CutSeries, Occurrence, Status};
use etui::record::Reader;

use self::days::{AgendaDays, AgendaEntry, EntryMark};
use super::alarms::name_cut;
use super::span_args::{SpanArgs, local_now};
use super::todos::find_todos;
use crate::app::App;
use crate::commands::contacts::birthdays::{ContactDate, contact_dates};
use crate::commands::records::name_or_placeholder;
use crate::datetime::{LocalNow, TimeSpan, format_long_day, format_short};
use crate::errors::Result;
use crate::output::json::calendar::occurrence_json;
use crate::output::json::contact_date_occurrence_json;
use crate::output::{OutputWriter, Style, format_count, one_line};

const EXAMPLES: &str = "\
Examples:
  etui calendar agenda                       the next seven days
  etui calendar agenda today                 with the to-dos that are overdue
  etui calendar agenda tomorrow
  etui calendar agenda week                  this week, from Monday
  etui calendar agenda next month
  etui calendar agenda 2026-12               a month (2026: a year)
  etui calendar agenda --from monday --to friday
  etui calendar agenda --from -7d --to yesterday
  etui calendar agenda --calendar Work --zone America/New_York
  etui calendar agenda month --json | jq -r .title
  etui calendar agenda month --birthdays     with the birthdays of the contacts

  ↻ recurring   [ ] to do   [x] done   09:00-... continues the next day   #17 number

Times are shown in the display zone (--zone). All-day events and floating times have no zone.";

/// Occurrences that are shown without `--limit`. A rule can recur every second.
const DEFAULT_LIMIT: usize = 10_000;

/// Overdue to-dos that are shown before today.
const MAX_OVERDUE: usize = 10;

/// Show the agenda day by day
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct AgendaArgs {
    #[command(flatten)]
    span: SpanArgs,
    /// Show the first N occurrences [default: 10,000, and 100 a day of one entry]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Show the birthdays and anniversaries of the contacts too
    #[arg(long)]
    birthdays: bool,
}

pub fn show_agenda(app: &mut App, args: &AgendaArgs) -> Result<()> {
    let here = local_now(&app.out);
    let span = args.span.parse_span(&here)?;
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let calendars = app.readers_in::<CalendarObject>(&snapshot)?;
    let found = find_occurrences(&calendars, &span, &here, args.limit)?;
    let dates = match args.birthdays {
        true => contact_dates(app, &snapshot, span.first, span.last)?,
        false => Vec::new(),
    };
    if app.out.json {
        for date in &dates {
            app.out.write_json(&contact_date_occurrence_json(date))?;
        }
        for (calendar, occurrence) in &found.occurrences {
            let object = occurrence_json(calendar, occurrence, &here.zone);
            app.out.write_json(&object)?;
        }
    } else {
        let several = calendars.len() > 1;
        let entries = found.occurrences.iter();
        let entries = entries.map(|(of, o)| agenda_entry(o, several.then_some(of), &here.zone));
        let dates = dates.iter().map(contact_date_entry);
        let all: Vec<_> = dates.chain(entries).collect();
        let today = here.now.date();
        if (span.first, span.last) == (today, today) {
            write_overdue(&mut app.out, &calendars, &here)?;
        }
        write_days(&mut app.out, &all, &span, &here)?;
    }
    for note in &found.notes {
        app.out.write_note(note);
    }
    Ok(())
}

/// Occurrences of several calendars by start, and notes about omissions.
struct FoundOccurrences<'c> {
    occurrences: Vec<(&'c str, Occurrence)>,
    notes: Vec<String>,
}

/// Returns the first `limit` occurrences of a period. Without a limit, neither an entry that recurs all
/// the time nor a calendar with very many entries hides the others.
fn find_occurrences<'c>(
    calendars: &'c [(String, Reader<'_, CalendarObject>)],
    span: &TimeSpan,
    here: &LocalNow,
    limit: Option<usize>,
) -> Result<FoundOccurrences<'c>> {
    let mut notes = Vec::new();
    let mut parts: Vec<(&str, Vec<Occurrence>)> = Vec::new();
    for (name, reader) in calendars {
        let during = span.during.clone();
        let found = match limit {
            Some(limit) => reader.between_at_most(during, &here.zone, limit.saturating_add(1))?,
            None => {
                let found = reader.between_bounded(during, &here.zone, DEFAULT_LIMIT)?;
                notes.extend(note_of_cut(&found.cut, found.per_series));
                if found.has_more {
                    notes.push(note_of_calendar(found.occurrences.len(), name));
                }
                found.occurrences
            }
        };
        parts.push((name, found));
    }
    if limit.is_none() {
        let share = fair_share(parts.iter().map(|(_, found)| found.len()), DEFAULT_LIMIT);
        for (name, found) in parts.iter_mut().filter(|(_, found)| found.len() > share) {
            found.truncate(share);
            notes.push(note_of_calendar(share, name));
        }
    }
    let all = parts.into_iter();
    let all = all.flat_map(|(name, found)| found.into_iter().map(move |o| (name, o)));
    let mut occurrences: Vec<_> = all.collect();
    occurrences.sort_by_key(|(_, o)| (o.during.start, o.during.end));
    if let Some(limit) = limit.filter(|limit| occurrences.len() > *limit) {
        occurrences.truncate(limit);
        notes.push(format!(
            "Only the first {} are shown; use --limit for more",
            format_count(limit as u64)
        ));
    }
    Ok(FoundOccurrences { occurrences, notes })
}

/// Returns the greatest length for which lists of these lengths, cut to it, have at most `limit` items
/// together.
fn fair_share(lengths: impl Iterator<Item = usize>, limit: usize) -> usize {
    let mut lengths: Vec<usize> = lengths.collect();
    lengths.sort_unstable();
    let (mut left, mut lists) = (limit, lengths.len());
    for length in lengths {
        let share = left / lists;
        if length > share {
            return share;
        }
        left -= length;
        lists -= 1;
    }
    usize::MAX
}

fn note_of_calendar(shown: usize, name: &str) -> String {
    format!(
        "Only the first {} of the calendar {} are shown; use --limit for more",
        format_count(shown as u64),
        one_line(name)
    )
}

/// Names the entries with more occurrences than are shown.
fn note_of_cut(cut: &[CutSeries], shown: usize) -> Option<String> {
    let first = match shown {
        1 => "first occurrence".to_owned(),
        several => format!("first {} occurrences", format_count(several as u64)),
    };
    let names = name_cut(cut)?;
    Some(format!(
        "Only the {first} of {names} {} shown; use --limit for more",
        if shown == 1 { "is" } else { "are" }
    ))
}

/// Converts an occurrence to local time.
fn agenda_entry(occurrence: &Occurrence, calendar: Option<&str>, zone: &TimeZone) -> AgendaEntry {
    let all_day = occurrence.start.is_date();
    let to_local = |time: &CalendarTime, at| match all_day {
        // A date has no zone.
        true => time.local(),
        false => zone.to_local(at),
    };
    AgendaEntry {
        id: Some(occurrence.record.0),
        starts: to_local(&occurrence.start, occurrence.during.start),
        ends: to_local(&occurrence.end, occurrence.during.end),
        all_day,
        title: occurrence.title.to_string(),
        place: occurrence.location.to_string(),
        calendar: calendar.map(str::to_owned),
        is_recurring: occurrence.instance.is_some(),
        mark: match occurrence.status {
            Some(Status::Tentative) => EntryMark::Tentative,
            Some(Status::Cancelled) => EntryMark::Cancelled,
            _ => EntryMark::Confirmed,
        },
        done: (occurrence.kind == ComponentKind::Todo)
            .then_some(occurrence.status == Some(Status::Completed)),
    }
}

/// Writes the open to-dos that were due before today, the latest ones.
fn write_overdue(
    out: &mut OutputWriter,
    calendars: &[(String, Reader<'_, CalendarObject>)],
    here: &LocalNow,
) -> Result<()> {
    let mut all = find_todos(calendars, here, false)?;
    let today = here.zone.to_utc(here.now.date().midnight());
    all.retain(|todo| {
        todo.due
            .as_ref()
            .is_some_and(|due| due.at(&here.zone) < today)
    });
    if all.is_empty() {
        return Ok(());
    }
    let heading = out.with_style(Style::Bold, "Overdue").into_owned();
    out.write_line(heading)?;
    let earlier = all.len().saturating_sub(MAX_OVERDUE);
    if earlier > 0 {
        let earlier = format_count(earlier as u64);
        out.write_line(format!(
            "  {earlier} earlier: etui calendar todos --overdue"
        ))?;
    }
    for todo in all.iter().skip(all.len().saturating_sub(MAX_OVERDUE)) {
        let due = todo.due.as_ref();
        let due = due.map_or_else(String::new, |due| format_short(due, &here.zone));
        let title = name_or_placeholder::<CalendarObject>(&todo.title);
        let number = format!("  #{}", todo.id);
        let line = out.fit_width(&format!("  {due}  [ ] {}{number}", one_line(title)));
        out.write_line(line)?;
    }
    out.write_line("")
}

/// Returns the line of a birthday or an anniversary.
fn contact_date_entry(date: &ContactDate) -> AgendaEntry {
    AgendaEntry {
        id: None,
        starts: date.day.midnight(),
        ends: date.day.plus_days(1).midnight(),
        all_day: true,
        title: format!("{}, {}", date.name, date.describe()),
        place: String::new(),
        calendar: None,
        is_recurring: false,
        mark: EntryMark::Confirmed,
        done: None,
    }
}

fn write_days(
    out: &mut OutputWriter,
    entries: &[AgendaEntry],
    span: &TimeSpan,
    here: &LocalNow,
) -> Result<()> {
    let mut days = AgendaDays::new(entries, span.first, span.last).peekable();
    if days.peek().is_none() {
        return out.status(format!("Nothing {}.", span.describe_days()));
    }
    let room = out.width();
    for (i, (date, lines)) in days.enumerate() {
        if i > 0 {
            out.write_line("")?;
        }
        let relative = match date.days() - here.now.date().days() {
            0 => ", today",
            1 => ", tomorrow",
            _ => "",
        };
        let heading = format!("{}{relative}", format_long_day(date));
        let heading = out.with_style(Style::Bold, &heading).into_owned();
        out.write_line(heading)?;
        for (part, entry) in lines {
            let mut line = String::new();
            for (text, style) in draw::format_line(part, entry, room) {
                match style {
                    Some(style) => line.push_str(&out.with_style(style, &text)),
                    None => line.push_str(&text),
                }
            }
            out.write_line(line)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_lists_are_cut() {
        for (lengths, limit, share) in [
            (&[][..], 10, usize::MAX),
            (&[3, 7], 10, usize::MAX),
            (&[3, 8], 10, 7),
            (&[8, 2, 8], 10, 4),
            (&[5, 5, 5], 10, 3),
            (&[5, 5], 1, 0),
        ] {
            let found = fair_share(lengths.iter().copied(), limit);
            assert_eq!(found, share, "{lengths:?}");
        }
    }
}
