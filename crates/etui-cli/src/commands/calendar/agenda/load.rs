//! Reads the occurrences of a period from calendars, bounded, and makes entries of them.

use std::collections::HashMap;

use etui::calendar::OccurrenceLimit;
use etui::calendar::ics::ComponentKind;
use etui::calendar::time::{CalendarTime, Date, TimeZone};
use etui::calendar::{CalendarObject, Color, CutSeries, Occurrence, Status};
use etui::record::Reader;
use etui::{RecordId, Snapshot};
use etui_program::output::{format_count, name_cut, object, one_line};
use etui_program::{App, Result};
use serde::Serialize;

use super::super::todos::find_overdue;
use super::days::{AgendaEntry, EntryMark, EntrySource};
use crate::commands::contacts::birthdays::{ContactDate, contact_dates};
use crate::commands::records::name_or_placeholder;
use crate::json::calendar::occurrence_json;
use etui_when::{LocalNow, TimeSpan, format_short, iso_day};

/// Occurrences that are shown without `--limit`. A rule can recur every second.
const DEFAULT_LIMIT: usize = 10_000;

/// The calendars and contacts of one state that an agenda is read from.
pub struct AgendaSource<'a> {
    pub snapshot: &'a Snapshot,
    pub calendars: &'a [(String, Reader<CalendarObject>)],
    /// The names of the calendars that can be changed; entries refer to them by position.
    pub names: &'a [String],
    /// The number of occurrences; without one they are bounded.
    pub limit: Option<usize>,
    /// Whether the birthdays and anniversaries of the contacts are read too.
    pub with_birthdays: bool,
}

impl AgendaSource<'_> {
    /// Returns the entries of a period, and notes about omissions.
    pub fn read_entries(
        &self,
        app: &App,
        span: &TimeSpan,
        here: &LocalNow,
    ) -> Result<(Vec<AgendaEntry>, Vec<String>)> {
        let found = find_occurrences(self.calendars, span, here, self.limit)?;
        let dates = self.contact_dates(app, span)?;
        let mut all: Vec<_> = dates.iter().map(contact_date_entry).collect();
        let mut entries = agenda_entries(&found, self, &here.zone);
        if app.out.colour {
            let colors = self.colors()?;
            for (entry, (name, _)) in entries.iter_mut().zip(&found.occurrences) {
                entry.color = colors.get(name).copied();
            }
        }
        all.extend(entries);
        Ok((all, found.notes))
    }

    /// Returns the open to-dos that were due before `first`, the first day that is shown, as entries of
    /// today that can be completed.
    pub fn overdue_entries(&self, here: &LocalNow, first: Date) -> Result<Vec<AgendaEntry>> {
        let today = here.now.date();
        let several = self.calendars.len() > 1;
        let entries = find_overdue(self.calendars, here, first)?
            .into_iter()
            .map(|todo| {
                let calendar = self.names.iter().position(|name| *name == todo.calendar);
                let due = todo.due.as_ref();
                let due = due.map_or_else(String::new, |due| format_short(due, &here.zone));
                let title = name_or_placeholder::<CalendarObject>(&todo.title);
                AgendaEntry {
                    id: Some(todo.id),
                    starts: today.midnight(),
                    ends: today.plus_days(1).midnight(),
                    all_day: true,
                    title: format!("{title} (due {due})"),
                    place: String::new(),
                    calendar: several.then(|| todo.calendar.clone()),
                    color: None,
                    is_recurring: false,
                    source: calendar.map(|calendar| EntrySource {
                        id: RecordId(todo.id),
                        calendar,
                        instance: None,
                    }),
                    mark: EntryMark::Confirmed,
                    done: Some(false),
                }
            });
        Ok(entries.collect())
    }

    /// Writes the occurrences of a period as JSON.
    pub fn write_json(&self, app: &mut App, span: &TimeSpan, here: &LocalNow) -> Result<()> {
        let found = find_occurrences(self.calendars, span, here, self.limit)?;
        for date in &self.contact_dates(app, span)? {
            app.out.write_json(&contact_date_occurrence_json(date))?;
        }
        let colors = self.colors()?;
        for (calendar, occurrence) in &found.occurrences {
            let calendar = (*calendar, colors.get(calendar).copied());
            let object = occurrence_json(calendar, occurrence, &here.zone);
            app.out.write_json(&object)?;
        }
        for note in &found.notes {
            app.out.write_note(note);
        }
        Ok(())
    }

    /// Returns the colours of the calendars that have one, by name.
    fn colors(&self) -> Result<HashMap<&str, Color>> {
        let mut colors = HashMap::new();
        for (name, reader) in self.calendars {
            colors.extend(reader.color()?.map(|color| (name.as_str(), color)));
        }
        Ok(colors)
    }

    fn contact_dates(&self, app: &App, span: &TimeSpan) -> Result<Vec<ContactDate>> {
        match self.with_birthdays {
            true => contact_dates(app, self.snapshot, span.first, span.last),
            false => Ok(Vec::new()),
        }
    }
}

/// Occurrences of several calendars by start, and notes about omissions.
pub struct FoundOccurrences<'c> {
    pub occurrences: Vec<(&'c str, Occurrence)>,
    pub notes: Vec<String>,
}

/// Returns the first `limit` occurrences of a period. Without a limit, neither an entry that recurs all
/// the time nor a calendar with very many entries hides the others.
pub fn find_occurrences<'c>(
    calendars: &'c [(String, Reader<CalendarObject>)],
    span: &TimeSpan,
    here: &LocalNow,
    limit: Option<usize>,
) -> Result<FoundOccurrences<'c>> {
    let mut notes = Vec::new();
    let mut parts: Vec<(&str, Vec<Occurrence>)> = Vec::new();
    for (name, reader) in calendars {
        let during = span.during.clone();
        // One more than the limit shows that there are more.
        let first = |limit: usize| OccurrenceLimit::First(limit.saturating_add(1));
        let most = limit.map_or(OccurrenceLimit::Fair(DEFAULT_LIMIT), first);
        let found = reader.between_bounded(during, &here.zone, most)?;
        if limit.is_none() {
            notes.extend(note_of_cut(&found.cut, found.per_series));
            if found.has_more {
                notes.push(note_of_calendar(found.occurrences.len(), name));
            }
        }
        let found = found.occurrences;
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

/// Returns an entry for each occurrence, in local time. If several calendars are shown, each has the name of
/// its own.
fn agenda_entries(
    found: &FoundOccurrences<'_>,
    source: &AgendaSource<'_>,
    zone: &TimeZone,
) -> Vec<AgendaEntry> {
    let several = source.calendars.len() > 1;
    let entries = found.occurrences.iter().map(|(name, occurrence)| {
        let calendar = source.names.iter().position(|known| known == name);
        let source = calendar.map(|calendar| EntrySource {
            id: occurrence.record,
            calendar,
            instance: occurrence.instance.clone(),
        });
        let name = several.then(|| (*name).to_owned());
        agenda_entry(occurrence, name, source, zone)
    });
    entries.collect()
}

fn agenda_entry(
    occurrence: &Occurrence,
    calendar: Option<String>,
    source: Option<EntrySource>,
    zone: &TimeZone,
) -> AgendaEntry {
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
        calendar,
        color: None,
        source,
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
        color: None,
        is_recurring: false,
        source: None,
        mark: EntryMark::Confirmed,
        done: None,
    }
}

/// A birthday or an anniversary as a line of `calendar agenda --birthdays`.
fn contact_date_occurrence_json(date: &ContactDate) -> impl Serialize {
    object! {
        calendar: None::<&str>,
        // The contact's.
        id: date.id,
        kind: date.kind.name(),
        title: &date.name,
        place: "",
        start: iso_day(date.day),
        end: iso_day(date.day.plus_days(1)),
        all_day: true,
        zone: None::<&str>,
        instance: None::<&str>,
        status: None::<&str>,
        transparent: true,
        color: None::<&str>,
    }
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
