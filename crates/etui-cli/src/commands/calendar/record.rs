//! Calendar records, as the prompt speaks of them.

use etui::RecordId;
use etui::Store;
use etui::calendar::ics::{ComponentKind, ObjectPiece, ObjectReader};
use etui::calendar::time::{self, CalendarTime};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{Calendar, CalendarObject, Column, Row, Status, Summary};
use etui::record::StoredRecord;
use serde::Serialize;
use serde_json::Value;

use crate::app::calendar;
use crate::commands::records::change::line_without_colon;
use crate::commands::records::{RecordCommands, is_known, resolve};
use crate::datetime::{iso, short};
use crate::errors::{Failure, Result};
use crate::output::json::calendar::{CalendarListing, CalendarSummaryObject};
use crate::output::{OutputWriter, Table, one_line, shown};

impl RecordCommands for CalendarObject {
    const ONE: &'static str = "entry";
    const MANY: &'static str = "entries";
    const NOBODY: &'static str = "nothing";
    const COMMAND: &'static str = "calendar";
    const ANOTHER: &'static str = "etui import FILE";
    const FORMAT: &'static str = "iCalendar";
    const UNNAMED: &'static str = "(no title)";
    const SUFFIX: &'static str = ".ics";
    const HEADINGS: &'static [&'static str] = &["Start", "Title", "Place"];
    const BY_NUMBER: &'static str = "`etui calendar list` tells the numbers";
    const ORDERS: &'static str =
        "Order: by start, as they were added, or as they are found, the quickest; -: from the end";
    const HOLDER_OPTION: &'static str = "--calendar";
    const HOLDER_FIELD: Option<&'static str> = Some("calendar");
    const HOLDERS: &'static str = "calendars";
    const HOLDER_HEADINGS: [&'static str; 2] = ["Entries", "Calendar"];

    type Object<'a> = CalendarSummaryObject<'a>;

    fn parse(text: Vec<u8>) -> Result<Self> {
        Ok(CalendarObject::parse(
            components(text)?,
            &TimeZoneResolver::new(),
        )?)
    }

    fn parse_for(text: Vec<u8>, all: &Calendar<'_>, id: RecordId) -> Result<Self> {
        Ok(CalendarObject::parse(components(text)?, &all.zones(id)?)?)
    }

    fn bytes(&self) -> &[u8] {
        self.text()
    }

    fn own_uid(&self) -> Option<&str> {
        self.uid()
    }

    fn set_uid(&mut self, uid: &str) -> Result<()> {
        let at = self.master_index();
        Ok(self.set(at, "UID", uid, &TimeZoneResolver::new())?)
    }

    fn title(&self) -> String {
        self.master().summary.clone().unwrap_or_default()
    }

    fn odd_line(text: &[u8], before: &[u8]) -> Option<String> {
        line_without_colon("iCalendar", text, before).or_else(|| {
            let [text, before] =
                [text, before].map(|text| <Self as RecordCommands>::parse(text.to_vec()).ok());
            not_understood(&text?, before.as_ref())
        })
    }

    fn summary(&self) -> Summary {
        let main = self.master();
        let mut summary = Summary::default();
        summary.kind = main.kind;
        summary.title = main.summary.clone().unwrap_or_default();
        summary.place = main.location.clone().unwrap_or_default();
        summary.start = main.start.clone().or_else(|| main.due.clone());
        summary.end = main.end.clone().or_else(|| main.due.clone());
        summary.status = main.status;
        summary
    }

    fn summary_of(row: &Row<'_>) -> Summary {
        let mut summary = Summary::default();
        summary.kind = ComponentKind::named(format!("V{}", row.get(Column::Kind)).as_bytes())
            .unwrap_or(ComponentKind::Event);
        summary.title = row.title().to_owned();
        summary.place = row.get(Column::Place).to_owned();
        summary.start = time(row.get(Column::Start));
        summary.end = time(row.get(Column::End));
        summary.status = Status::named(row.get(Column::Status));
        summary
    }

    fn unreadable() -> Summary {
        Summary::default()
    }

    fn name(summary: &Summary) -> &str {
        &summary.title
    }

    fn object<'a>(summary: &'a Summary, out: &OutputWriter) -> CalendarSummaryObject<'a> {
        CalendarSummaryObject::of(summary, &out.zone())
    }

    fn holder(name: &str, count: u64) -> impl Serialize {
        CalendarListing {
            name,
            entries: count,
        }
    }

    fn row(id: RecordId, summary: &Summary, table: &mut Table, out: &OutputWriter) {
        let start = summary.start.as_ref();
        let start = start.map_or_else(String::new, |time| short(time, &out.zone()));
        let title = match summary.title.as_str() {
            "" => Self::UNNAMED,
            title => title,
        };
        table.row([id.to_string().as_str(), &start, title, &summary.place]);
    }

    fn heading(column: Column) -> &'static str {
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

    fn cell(column: Column, value: &str, out: &OutputWriter) -> String {
        match (column, time(value)) {
            // People mean the last day; iCalendar the one behind it.
            (Column::End, Some(CalendarTime::Date(day))) => {
                short(&CalendarTime::Date(day.plus_days(-1)), &out.zone())
            }
            (Column::Start | Column::End, Some(time)) => short(&time, &out.zone()),
            (Column::Status, _) => value.to_ascii_lowercase(),
            _ => value.to_owned(),
        }
    }

    fn value(column: Column, value: &str, out: &OutputWriter) -> Value {
        match (column, time(value)) {
            (Column::Start | Column::End, Some(time)) => iso(&time, &out.zone()).into(),
            (Column::Start | Column::End | Column::Status, _) if value.is_empty() => Value::Null,
            (Column::Status, _) => value.to_ascii_lowercase().into(),
            _ => value.into(),
        }
    }
}

/// A time as rows have it: as iCalendar writes it, and its zone behind it.
fn time(text: &str) -> Option<CalendarTime> {
    let (value, zone) = match text.split_once(' ') {
        Some((value, zone)) => (value, TimeZoneResolver::new().resolve(zone)),
        None => (text, None),
    };
    let value: time::DateTimeValue = value.parse().ok()?;
    Some(value.in_zone(zone.as_ref()))
}

/// The components of a text: it, or those of the calendar object that it is.
fn components(text: Vec<u8>) -> Result<Vec<u8>> {
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

/// What a record says of its times that is not understood, and that it did not say before.
fn not_understood(record: &CalendarObject, before: Option<&CalendarObject>) -> Option<String> {
    let known: Vec<_> = before
        .into_iter()
        .flat_map(CalendarObject::components)
        .flat_map(|item| &item.warnings)
        .collect();
    let mut all = record.components().flat_map(|item| &item.warnings);
    let text = all.find(|warning| !known.contains(warning))?.to_string();
    // Behind it stands what reading makes of it.
    Some(
        text.rsplit_once("; ")
            .map_or(&*text, |(what, _)| what)
            .to_owned(),
    )
}

/// Makes sure that what was typed is understood.
pub fn understood(record: &CalendarObject, before: Option<&CalendarObject>) -> Result<()> {
    match not_understood(record, before) {
        Some(what) => Err(Failure::usage(what)),
        None => Ok(()),
    }
}

/// The record with this number or UID, read.
pub fn read(
    calendar: &Calendar<'_>,
    id: &str,
) -> Result<(StoredRecord<CalendarObject>, CalendarObject)> {
    let stored = resolve(calendar, id)?;
    let uid = stored.uid.clone();
    calendar
        .record(&uid)?
        .ok_or_else(|| Failure::NotFound(format!("entry {id} was removed meanwhile")))
}

/// The calendar of this name, or else the one that knows the first of these, or the first. Lists
/// show several together; what is in several cannot be meant at once.
pub fn holding<'s>(store: &'s Store, name: Option<&str>, ids: &[String]) -> Result<Calendar<'s>> {
    let (None, Some((first, others))) = (name, ids.split_first()) else {
        return calendar(store, name);
    };
    let Some(holding) = knowing(store, first)? else {
        return calendar(store, name);
    };
    for id in others {
        if !is_known(&holding, id)?
            && let Some(other) = knowing(store, id)?
        {
            return Err(Failure::usage(format!(
                "{} is in {}, and {} in {}; name those of one calendar at a time",
                shown(first),
                one_line(holding.name()),
                shown(id),
                one_line(other.name())
            )));
        }
    }
    Ok(holding)
}

/// The first calendar that knows this number or UID.
fn knowing<'s>(store: &'s Store, id: &str) -> Result<Option<Calendar<'s>>> {
    for name in store.calendars()? {
        let calendar = store.calendar_named(&name)?;
        if is_known(&calendar, id)? {
            return Ok(Some(calendar));
        }
    }
    Ok(None)
}

/// When a record's main component is, for a line about it.
pub fn start_of(record: &CalendarObject) -> Option<&CalendarTime> {
    let main = record.master();
    main.start.as_ref().or(main.due.as_ref())
}
