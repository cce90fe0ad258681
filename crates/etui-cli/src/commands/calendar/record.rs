//! [`RecordCommands`] for calendar entries, and the lookup of their calendar.

use etui::RecordId;
use etui::Store;
use etui::calendar::ics::{ComponentKind, ObjectPiece, ObjectReader};
use etui::calendar::time::{self, CalendarTime};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{Calendar, CalendarObject, Column, Row, Status, Summary};
use etui::record::StoredRecord;
use serde::Serialize;
use serde_json::Value;

use crate::app::open_calendar;
use crate::commands::records::change::find_line_without_colon;
use crate::commands::records::{RecordCommands, is_known, resolve_record};
use crate::datetime::{format_short, iso_time};
use crate::errors::{Failure, Result};
use crate::output::json::calendar::{CalendarJson, CalendarSummaryJson};
use crate::output::{OutputWriter, Table, escape_text, one_line};

impl RecordCommands for CalendarObject {
    const ONE: &'static str = "entry";
    const MANY: &'static str = "entries";
    const COMMAND: &'static str = "calendar";
    const ADD_COMMAND: &'static str = "etui import FILE";
    const FORMAT: &'static str = "iCalendar";
    const UNNAMED: &'static str = "(no title)";
    const SUFFIX: &'static str = ".ics";
    const HEADINGS: &'static [&'static str] = &["Start", "Title", "Place"];
    const UNKNOWN_NUMBER_HINT: &'static str = "`etui calendar list` lists the numbers";
    const SORT_HELP: &'static str =
        "Order: by start, by time of addition, or unordered (none, the fastest); -: descending";
    const COLLECTION_OPTION: &'static str = "--calendar";
    const COLLECTION_FIELD: Option<&'static str> = Some("calendar");
    const COLLECTIONS_COMMAND: &'static str = "calendars";
    const COLLECTION_HEADINGS: [&'static str; 2] = ["Entries", "Calendar"];

    type JsonSummary<'a> = CalendarSummaryJson<'a>;

    fn parse_text(text: Vec<u8>) -> Result<Self> {
        Ok(CalendarObject::parse(
            extract_components(text)?,
            &TimeZoneResolver::new(),
        )?)
    }

    fn parse_replacement(text: Vec<u8>, all: &Calendar<'_>, id: RecordId) -> Result<Self> {
        Ok(CalendarObject::parse(
            extract_components(text)?,
            &all.zones(id)?,
        )?)
    }

    fn text_bytes(&self) -> &[u8] {
        self.text()
    }

    fn written_uid(&self) -> Option<&str> {
        self.uid()
    }

    fn set_uid(&mut self, uid: &str) -> Result<()> {
        let at = self.master_index();
        Ok(self.set(at, "UID", uid, &TimeZoneResolver::new())?)
    }

    fn display_title(&self) -> String {
        self.master().summary.clone().unwrap_or_default()
    }

    fn find_typing_error(text: &[u8], before: &[u8]) -> Option<String> {
        find_line_without_colon("iCalendar", text, before).or_else(|| {
            let [text, before] = [text, before].map(|text| Self::parse_text(text.to_vec()).ok());
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

    fn unreadable_summary() -> Summary {
        Summary::default()
    }

    fn summary_name(summary: &Summary) -> &str {
        &summary.title
    }

    fn json_summary<'a>(summary: &'a Summary, out: &OutputWriter) -> CalendarSummaryJson<'a> {
        CalendarSummaryJson::new(summary, &out.time_zone())
    }

    fn collection_json(name: &str, entries: u64) -> impl Serialize {
        CalendarJson { name, entries }
    }

    fn add_row(id: RecordId, summary: &Summary, table: &mut Table, out: &OutputWriter) {
        let start = summary.start.as_ref();
        let start = start.map_or_else(String::new, |time| format_short(time, &out.time_zone()));
        let title = match summary.title.as_str() {
            "" => Self::UNNAMED,
            title => title,
        };
        table.add_row([id.to_string().as_str(), &start, title, &summary.location]);
    }

    fn column_heading(column: Column) -> &'static str {
        match column {
            Column::Title => "Title",
            Column::Place => "Place",
            Column::Start => "Start",
            Column::End => "End",
            Column::Kind => "Kind",
            Column::Status => "Status",
            Column::Uid => "UID",
            Column::ETag => "ETag",
            Column::Notes => "Notes",
            Column::Categories => "Categories",
            Column::Organizer => "Organiser",
            Column::Attendees => "Attendees",
            Column::Url => "Web",
            Column::Record => "iCalendar",
        }
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

/// Returns the record with this number or UID, stored and parsed.
pub fn read_record(
    calendar: &Calendar<'_>,
    id: &str,
) -> Result<(StoredRecord<CalendarObject>, CalendarObject)> {
    let stored = resolve_record(calendar, id)?;
    let uid = stored.uid.clone();
    calendar
        .record(&uid)?
        .ok_or_else(|| Failure::NotFound(format!("entry {id} was removed")))
}

/// Returns the calendar with this name, or the one that has the first of `ids`, or the first one.
/// Entries of several calendars at once are an error.
pub fn open_calendar_of<'s>(
    store: &'s Store,
    name: Option<&str>,
    ids: &[String],
) -> Result<Calendar<'s>> {
    let (None, Some((first, others))) = (name, ids.split_first()) else {
        return open_calendar(store, name);
    };
    let Some(calendar) = find_calendar_of(store, first)? else {
        return open_calendar(store, name);
    };
    for id in others {
        if !is_known(&calendar, id)?
            && let Some(other) = find_calendar_of(store, id)?
        {
            return Err(Failure::usage(format!(
                "{} is in {}, and {} in {}; give entries of one calendar at a time",
                escape_text(first),
                one_line(calendar.name()),
                escape_text(id),
                one_line(other.name())
            )));
        }
    }
    Ok(calendar)
}

/// Returns the first calendar with an entry of this number or UID.
fn find_calendar_of<'s>(store: &'s Store, id: &str) -> Result<Option<Calendar<'s>>> {
    for name in store.calendars()? {
        let calendar = store.calendar_named(&name)?;
        if is_known(&calendar, id)? {
            return Ok(Some(calendar));
        }
    }
    Ok(None)
}

/// Returns the start of the master component, or its due time.
pub fn start_or_due(record: &CalendarObject) -> Option<&CalendarTime> {
    let main = record.master();
    main.start.as_ref().or(main.due.as_ref())
}
