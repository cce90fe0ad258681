//! [`RecordCommands`] for calendar entries.

use etui::calendar::ics::{ComponentKind, ObjectPiece, ObjectReader};
use etui::calendar::time::{self, CalendarTime, Date, TimeZone};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{Calendar, CalendarObject, Color, Column, Filter, Row, Status, Summary};
use etui::record::{Paging, StoredRecord};
use etui::{RecordId, Store};
use etui_program::output::OutputWriter;
use etui_program::{App, Failure, Result};
use serde::Serialize;
use serde_json::Value;

use super::span_args::local_now;
use super::{add, edit, help, next, property, show};
use crate::commands::records::browser::{COLUMN_GAP, ListLandmark};
use crate::commands::records::change::find_line_without_colon;
use crate::commands::records::details::RecordDetails;
use crate::commands::records::property::PropertyWords;
use crate::commands::records::query::NamedReaders;
use crate::commands::records::{NoOptions, RecordCommands, RecordHelp, resolve_record};
use crate::json::calendar::{entry_json, entry_summary_json};
use etui_when::{format_short, iso_time};

/// Width of a start in the browser: `2026-11-23 09:00`.
const START_WIDTH: usize = 16;

// Flattened into the arguments of `find`.
#[derive(Debug, clap::Args)]
pub struct FindEntryOptions {
    /// Print only the next occurrence from now, in one line
    #[arg(
        long,
        conflicts_with_all = ["fields", "sort", "limit", "all", "at", "after", "count", "explain"]
    )]
    next: bool,
}

impl RecordCommands for CalendarObject {
    const ONE: &'static str = "entry";
    const MANY: &'static str = "entries";
    const COMMAND: &'static str = "calendar";
    const ADD_COMMAND: &'static str = "etui import FILE";
    const FORMAT: &'static str = "iCalendar";
    const UNNAMED: &'static str = etui_program::output::NO_TITLE;
    const SUFFIX: &'static str = ".ics";
    const HEADINGS: &'static [&'static str] = &["Start", "Title", "Place"];
    const NAME_CELL: usize = 1;
    const COLUMN_HEADINGS: &'static str = "Title,Place,Start,End,Kind,Status,UID,ETag,Notes,\
        Categories,Organiser,Attendees,Web,iCalendar";
    const UNKNOWN_NUMBER_HINT: &'static str = "`etui calendar list` lists the numbers";
    const SORT_HELP: &'static str = "Order: by start, by time of addition, or unordered (none, the fastest); -: descending \
         [default: start]";
    const TEXT_OPTION: [&'static str; 2] = ["ics", "Print the iCalendar text as it was imported"];
    const COLLECTION_OPTION: &'static str = "--calendar";
    const COLLECTION_FIELD: &'static str = "calendar";
    const COLLECTIONS_COMMAND: &'static str = "calendars";
    const COLLECTION_HEADINGS: [&'static str; 2] = ["Entries", "Calendar"];

    const HAS_COLORS: bool = true;
    const LANDMARK: &'static str = "year";
    const PROPERTY_WORDS: PropertyWords = property::WORDS;
    const KNOWN_PROPERTIES: &'static [&'static str] = property::KNOWN;
    const HELP: RecordHelp = help::ENTRIES;

    type ListOptions = NoOptions;
    type FindOptions = FindEntryOptions;
    type AddArgs = add::AddEntryArgs;
    type EditArgs = edit::EditEntryArgs;

    fn add_record(app: &mut App, args: &Self::AddArgs) -> Result<()> {
        add::add_entry(app, args)
    }

    fn edit_record(app: &mut App, args: &Self::EditArgs) -> Result<()> {
        edit::edit_entry(app, args)
    }

    fn collection_color(calendar: &Calendar) -> Result<Option<Color>> {
        Ok(calendar.color()?)
    }

    fn set_collection_color(calendar: &Calendar, color: Option<Color>) -> Result<()> {
        Ok(calendar.set_color(color)?)
    }

    fn lists_landmarks(_: &NoOptions) -> bool {
        false
    }

    fn finds_otherwise(options: &FindEntryOptions) -> bool {
        options.next
    }

    fn find_otherwise(
        app: &mut App,
        readers: &NamedReaders<'_, Self>,
        filter: &Filter,
    ) -> Result<bool> {
        next::show_next(app, readers, filter)
    }

    fn parse_text(text: Vec<u8>, replaces: Option<(&Calendar, RecordId)>) -> Result<Self> {
        let zones = match replaces {
            Some((all, id)) => all.zones(id)?,
            None => TimeZoneResolver::new(),
        };
        Ok(CalendarObject::parse(extract_components(text)?, &zones)?)
    }

    fn set_uid(&mut self, uid: &str) -> Result<()> {
        let at = self.master_index();
        Ok(self.set(at, "UID", uid, &TimeZoneResolver::new())?)
    }

    fn find_typing_error(text: &[u8], before: &[u8]) -> Option<String> {
        find_line_without_colon("iCalendar", text, before).or_else(|| {
            let [text, before] =
                [text, before].map(|text| Self::parse_text(text.to_vec(), None).ok());
            first_new_warning(&text?, before.as_ref())
        })
    }

    fn summary(&self) -> Summary {
        let main = self.master();
        let mut summary = Summary::default();
        summary.kind = main.kind;
        summary.title = main.summary.clone().unwrap_or_default();
        summary.location = main.location.clone().unwrap_or_default();
        summary.start = main.start.clone().or_else(|| main.due.clone());
        summary.end = main.end.clone().or_else(|| main.due.clone());
        summary.status = main.status;
        summary
    }

    fn row_summary(row: &Row<'_>) -> Summary {
        let mut summary = Summary::default();
        summary.kind = ComponentKind::named(format!("V{}", row.get(Column::Kind)).as_bytes())
            .unwrap_or(ComponentKind::Event);
        summary.title = row.title().to_owned();
        summary.location = row.get(Column::Place).to_owned();
        summary.start = parse_row_time(row.get(Column::Start));
        summary.end = parse_row_time(row.get(Column::End));
        summary.status = Status::named(row.get(Column::Status));
        summary
    }

    fn summary_name(summary: &Summary) -> &str {
        &summary.title
    }

    fn json_summary<'a>(summary: &'a Summary, out: &OutputWriter) -> impl Serialize + use<'a> {
        entry_summary_json(summary, &out.time_zone())
    }

    fn write_json(
        out: &mut OutputWriter,
        _: &Store,
        calendar: &Calendar,
        stored: &StoredRecord<Self>,
    ) -> Result<()> {
        let record = parse_stored(calendar, stored)?;
        out.write_json(&entry_json(stored, &record, &out.time_zone()))
    }

    fn cells(summary: &Summary, out: &OutputWriter) -> Vec<String> {
        let start = summary.start.as_ref();
        let start = start.map_or_else(String::new, |time| format_short(time, &out.time_zone()));
        let title = match summary.status {
            Some(Status::Cancelled) if !summary.title.is_empty() => {
                format!("{} (cancelled)", summary.title)
            }
            _ => summary.title.clone(),
        };
        vec![start, title, summary.location.clone()]
    }

    fn layout_columns(room: usize) -> Vec<(usize, usize)> {
        let [start, title, place] = [0, 1, 2];
        let left = room.saturating_sub(START_WIDTH + COLUMN_GAP);
        match room {
            0..30 => vec![(title, room)],
            30..60 => vec![(start, START_WIDTH), (title, left)],
            _ => {
                let width = (left - COLUMN_GAP) * 3 / 5;
                let place = (place, left - COLUMN_GAP - width);
                vec![(start, START_WIDTH), (title, width), place]
            }
        }
    }

    /// Returns the years in which entries start.
    fn landmarks(calendar: &Calendar, out: &OutputWriter) -> Result<Vec<ListLandmark>> {
        let zone = out.time_zone();
        let count = calendar.count()?;
        let mut marks = Vec::new();
        let mut position = 0;
        while position < count {
            let Some(day) = start_day_at(calendar, position, &zone)? else {
                break;
            };
            let (year, _, _) = day.ymd();
            marks.push(ListLandmark {
                label: year.to_string(),
                position,
            });
            let Some(next) = Date::new(year + 1, 1, 1) else {
                break;
            };
            position = first_position_from(calendar, next, (position + 1, count), &zone)?;
        }
        Ok(marks)
    }

    /// Returns the position of the first entry that starts today or later.
    fn opening_position(calendar: &Calendar, out: &OutputWriter) -> Result<u64> {
        let here = local_now(out);
        let count = calendar.count()?;
        let today = first_position_from(calendar, here.now.date(), (0, count), &here.zone)?;
        // If there is none, the end of the list is shown.
        Ok(today.min(count.saturating_sub(1)))
    }

    fn record_details(
        calendar: &Calendar,
        stored: &StoredRecord<Self>,
        name: Option<&str>,
        out: &OutputWriter,
    ) -> std::result::Result<RecordDetails, String> {
        let record = parse_stored(calendar, stored)
            .map_err(|error| format!("Entry {} cannot be read: {error}", stored.id))?;
        Ok(show::entry_details(stored, &record, name, &local_now(out)))
    }

    fn cell_text(column: Column, value: &str, out: &OutputWriter) -> String {
        match (column, parse_row_time(value)) {
            // DTEND of an all-day event is exclusive; people expect the last day.
            (Column::End, Some(CalendarTime::Date(day))) => {
                format_short(&CalendarTime::Date(day.plus_days(-1)), &out.time_zone())
            }
            (Column::Start | Column::End, Some(time)) => format_short(&time, &out.time_zone()),
            (Column::Status, _) => value.to_ascii_lowercase(),
            _ => value.to_owned(),
        }
    }

    fn json_value(column: Column, value: &str, out: &OutputWriter) -> Value {
        match (column, parse_row_time(value)) {
            (Column::Start | Column::End, Some(time)) => iso_time(&time, &out.time_zone()).into(),
            (Column::Start | Column::End | Column::Status, _) if value.is_empty() => Value::Null,
            (Column::Status, _) => value.to_ascii_lowercase().into(),
            _ => value.into(),
        }
    }
}

/// Parses a time of a row: the iCalendar value, then a space and the zone.
fn parse_row_time(text: &str) -> Option<CalendarTime> {
    let (value, zone) = match text.split_once(' ') {
        Some((value, zone)) => (value, TimeZoneResolver::new().resolve(zone)),
        None => (text, None),
    };
    let value: time::DateTimeValue = value.parse().ok()?;
    Some(value.in_zone(zone.as_ref()))
}

/// Returns the components of a calendar object, or a text without a VCALENDAR as it is.
fn extract_components(text: Vec<u8>) -> Result<Vec<u8>> {
    let mut components = Vec::new();
    let mut is_object = false;
    for piece in ObjectReader::new(text.as_slice()) {
        match piece.map_err(|e| Failure::named_io("the entry", e))? {
            ObjectPiece::Component(component) => components.extend(component.bytes),
            ObjectPiece::Text(_) => is_object = true,
            ObjectPiece::Refused(refusal) if is_object => {
                return Err(Failure::Refused(format!(
                    "line {}: {}",
                    refusal.line, refusal.reason
                )));
            }
            ObjectPiece::Zone(_) | ObjectPiece::Refused(_) => {}
        }
    }
    Ok(if is_object { components } else { text })
}

/// Returns the first parse warning of a record that `before` does not have.
fn first_new_warning(record: &CalendarObject, before: Option<&CalendarObject>) -> Option<String> {
    let known: Vec<_> = before
        .into_iter()
        .flat_map(CalendarObject::components)
        .flat_map(|item| &item.warnings)
        .collect();
    let mut all = record.components().flat_map(|item| &item.warnings);
    let text = all.find(|warning| !known.contains(warning))?.to_string();
    // The part after the semicolon describes how the parser went on.
    Some(
        text.rsplit_once("; ")
            .map_or(&*text, |(what, _)| what)
            .to_owned(),
    )
}

/// Returns an error if a change introduced a parse warning.
pub fn check_understood(record: &CalendarObject, before: Option<&CalendarObject>) -> Result<()> {
    match first_new_warning(record, before) {
        Some(what) => Err(Failure::usage(what)),
        None => Ok(()),
    }
}

/// Parses a record, or an earlier version of it, with the zones that it can name.
fn parse_stored(
    calendar: &Calendar,
    stored: &StoredRecord<CalendarObject>,
) -> Result<CalendarObject> {
    let zones = calendar.zones(stored.id)?;
    Ok(CalendarObject::parse(stored.text.clone(), &zones)?)
}

/// Returns the record with this number or UID, stored and parsed.
pub fn read_record(
    calendar: &Calendar,
    id: &str,
) -> Result<(StoredRecord<CalendarObject>, CalendarObject)> {
    let stored = resolve_record(calendar, id)?;
    let uid = stored.uid.clone();
    calendar
        .record(&uid)?
        .ok_or_else(|| Failure::NotFound(format!("entry {id} was removed")))
}

/// Returns the day on which the entry at a position starts, or `None` without a time.
fn start_day_at(calendar: &Calendar, position: u64, zone: &TimeZone) -> Result<Option<Date>> {
    let page = Paging {
        offset: position,
        limit: 1,
    };
    let entry = calendar.list(page)?.into_iter().next();
    Ok(entry
        .and_then(|e| e.summary.start)
        .map(|start| match start {
            CalendarTime::Date(day) => day,
            start => zone.to_local(start.at(zone)).date(),
        }))
}

/// Returns the first position in the range with an entry that starts on `day` or later. Undated entries
/// are at the end.
fn first_position_from(
    calendar: &Calendar,
    day: Date,
    (mut from, mut to): (u64, u64),
    zone: &TimeZone,
) -> Result<u64> {
    while from < to {
        let middle = from + (to - from) / 2;
        match start_day_at(calendar, middle, zone)? {
            Some(start) if start < day => from = middle + 1,
            _ => to = middle,
        }
    }
    Ok(from)
}
