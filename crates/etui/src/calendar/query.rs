//! [`Query`]: which records of a calendar, in which order, which of them, showing what.
//!
//! ```
//! use etui::Store;
//! use etui::calendar::{Column, Query, CalendarObject, zones::TimeZoneResolver};
//!
//! # let dir = tempfile::tempdir()?;
//! # let store = Store::open(dir.path().join("personal.etui"))?;
//! let calendar = store.calendar()?;
//! # for (uid, start, title) in [("1", "20261122T190000Z", "Concert"), ("2", "20261121", "Fair")] {
//! #     let text = format!("BEGIN:VEVENT\r\nUID:{uid}\r\nDTSTART:{start}\r\n\
//! #         SUMMARY:{title}\r\nEND:VEVENT\r\n");
//! #     calendar.save(&CalendarObject::parse(text, &TimeZoneResolver::new())?)?;
//! # }
//! let query = Query::new("kind:event".parse()?).columns(Column::Start | Column::Title);
//! let found = calendar.query(&query)?;
//! let shown: Vec<_> = found.iter().map(|r| (r.get(Column::Start), r.title())).collect();
//! assert_eq!(shown, [("20261121", "Fair"), ("20261122T190000Z", "Concert")]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt::Write as _;

use super::CalendarObject;
use super::derive::name_of;
use super::filter::Field;
use super::moment::Named;
use super::summary::{Stored, Summary};
use super::time::{CalendarTime, TimeZone};
use super::zones::TimeZoneResolver;
use crate::search::query::{
    self, ColumnSet, Listed, OfSummary, ReadSummary, Sort, Table, column_set_in_text,
};

/// Which records of a calendar, in which order, which of them, showing what.
pub type Query = query::Query<Column>;

/// Which columns a query shows.
pub type Columns = query::Columns<Column>;

/// Records of a calendar with the fields asked for.
pub type Rows = query::Rows<Column>;

/// One record of [`Rows`].
pub type Row<'r> = query::Row<'r, Column>;

/// What a list shows of a record, read without its text.
pub type Entry = query::Entry<Summary>;

/// One field of a record that a query can show; of the component that stands for the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Column {
    /// The title.
    Title = 0,
    /// The place.
    Place = 1,
    /// When it starts, or starts first; of a to-do without start, when it is due. As iCalendar
    /// writes it, with the zone behind it: `20261121T190000 Europe/Berlin`.
    Start = 2,
    /// When that ends.
    End = 3,
    /// What it is: `event`, `todo` or `journal`.
    Kind = 4,
    /// How far it has come, as iCalendar writes it.
    Status = 5,
    /// The UID.
    Uid = 6,
    /// The ETag, as 32 hexadecimal digits.
    ETag = 7,
    /// The notes.
    Notes = 8,
    /// All categories.
    Categories = 9,
    /// The organiser's address.
    Organizer = 10,
    /// All attendees' addresses.
    Attendees = 11,
    /// The URL.
    Url = 12,
    /// The components.
    Record = 13,
}

impl Column {
    /// Every column with its name in text, in the order in which rows show them.
    pub const NAMES: &'static [(&'static str, Column)] = &[
        ("title", Column::Title),
        ("place", Column::Place),
        ("start", Column::Start),
        ("end", Column::End),
        ("kind", Column::Kind),
        ("status", Column::Status),
        ("uid", Column::Uid),
        ("etag", Column::ETag),
        ("notes", Column::Notes),
        ("categories", Column::Categories),
        ("organizer", Column::Organizer),
        ("attendees", Column::Attendees),
        ("url", Column::Url),
        ("record", Column::Record),
    ];

    /// Whether it may have several values.
    #[must_use]
    pub fn is_many(self) -> bool {
        matches!(self, Self::Categories | Self::Attendees)
    }
}

column_set_in_text!(Column, list: "start");

impl<'r> Row<'r> {
    /// The title.
    #[must_use]
    pub fn title(&self) -> &'r str {
        self.get(Column::Title)
    }

    /// The components, byte for byte as they came; empty when they were not asked for.
    #[must_use]
    pub fn record(&self) -> &'r [u8] {
        self.bytes(Column::Record)
    }
}

impl Listed for CalendarObject {
    type Field = Field;
    type Column = Column;
    type Summary = Summary;

    fn summaries() -> impl FnMut(&[u8]) -> Summary {
        let mut zones = Named::default();
        move |stored| Stored::read(stored, &mut zones).summary()
    }
}

impl ColumnSet for Column {
    type Field = Field;
    type Parsed = CalendarObject;
    const NAMES: &'static [(&'static str, Self)] = Self::NAMES;
    const SORTS: &'static [(&'static str, Sort)] = Self::SORTS;
    const TEXT: Self = Self::Record;
    const SUMMARY: u32 = 6;
    const OF_SUMMARY: OfSummary = OfSummary::Read(read_summary);

    fn number(self) -> u8 {
        self as u8
    }

    fn is_many(self) -> bool {
        self.is_many()
    }

    fn parse(text: &[u8]) -> Option<CalendarObject> {
        // Nothing of these columns is in a zone.
        CalendarObject::parse(text, &TimeZoneResolver::new()).ok()
    }

    fn push(self, record: &CalendarObject, table: &mut Table) {
        let main = record.master();
        let optional = |text: &Option<String>, table: &mut Table| {
            table.push(text.as_deref().unwrap_or_default().as_bytes());
        };
        match self {
            Self::Categories => table.push_many(&main.categories),
            Self::Attendees => table.push_many(main.attendees.iter().map(|p| &p.address)),
            Self::Organizer => {
                let organizer = main.organizer.as_ref().map(|p| &p.address);
                table.push(organizer.map_or(&[], |a| a.as_bytes()));
            }
            Self::Url => optional(&main.url, table),
            _ => optional(&main.description, table),
        }
    }
}

/// Puts the values of a summary to a row.
fn read_summary() -> ReadSummary {
    let mut zones = Named::default();
    let mut text = String::new();
    Box::new(move |stored, table| {
        let summary = Stored::read(stored, &mut zones);
        table.push(summary.title);
        table.push(summary.place);
        for time in [&summary.start, &summary.end] {
            text.clear();
            if let Some(time) = time {
                push_time(time, &mut text);
            }
            table.push(text.as_bytes());
        }
        table.push(name_of(summary.kind()).as_bytes());
        table.push(summary.status.map_or("", |s| s.name()).as_bytes());
    })
}

/// A time as iCalendar writes it, and its zone behind it, but for UTC.
fn push_time(time: &CalendarTime, text: &mut String) {
    let _ = write!(text, "{}", time.value());
    if let Some(zone) = time.zone().filter(|zone| **zone != TimeZone::UTC) {
        let _ = write!(text, " {}", zone.name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_in_their_order() {
        for (i, (name, column)) in Column::NAMES.iter().enumerate() {
            assert_eq!(*column as usize, i);
            assert_eq!(name.parse(), Ok(*column));
            assert_eq!(column.name(), *name);
        }
        assert_eq!(Sort::named::<Column>("-start"), Ok(Sort::ListReversed));
        assert_eq!(
            Sort::named::<Column>("name").unwrap_err().to_string(),
            "there is no order \"name\"; orders are start, -start, added, -added and found"
        );
    }
}
