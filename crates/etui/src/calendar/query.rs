//! [`Query`]: calendar objects by filter, order and page, with the columns to show.
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
use super::filter::Field;
use super::index_columns::name_of;
use super::summary::{StoredSummary, Summary};
use super::time::{CalendarTime, TimeZone};
use super::time_codec::ZoneInterner;
use super::zones::TimeZoneResolver;
use crate::search::query::{
    self, ColumnValues, RowBuffer, SearchableRecord, SummaryReader, columns,
};

/// A query for calendar objects.
pub type Query = query::Query<Column>;

/// The columns that a query shows.
pub type Columns = query::Columns<Column>;

/// Calendar objects with the columns asked for.
pub type Rows = query::Rows<Column>;

/// One calendar object of [`Rows`].
pub type Row<'r> = query::Row<'r, Column>;

/// A calendar object as lists show it, read without its text.
pub type ListEntry = query::ListEntry<Summary>;

columns! {
    /// A column of calendar objects. Its value is that of the master component.
    pub enum Column, list: "start", text: Record {
        /// The title.
        Title = "title",
        /// The location.
        Place = "place",
        /// The start of the first occurrence; of a to-do without start, its due time. In iCalendar form,
        /// followed by the zone: `20261121T190000 Europe/Berlin`.
        Start = "start",
        /// The end of that occurrence.
        End = "end",
        /// The kind: `event`, `todo` or `journal`.
        Kind = "kind",
        /// The status in iCalendar form.
        Status = "status",
        /// The UID.
        Uid = "uid",
        /// The ETag, as 32 hexadecimal digits.
        ETag = "etag",
        /// The notes.
        Notes = "notes",
        /// All categories.
        Categories = "categories" [many],
        /// The organiser's address.
        Organizer = "organizer",
        /// All attendees' addresses.
        Attendees = "attendees" [many],
        /// The URL.
        Url = "url",
        /// The components.
        Record = "record",
    }
}

impl<'r> Row<'r> {
    /// Returns the title.
    pub fn title(&self) -> &'r str {
        self.get(Column::Title)
    }

    /// Returns the components, byte for byte. It is empty if they were not asked for.
    pub fn record(&self) -> &'r [u8] {
        self.value_bytes(Column::Record)
    }
}

impl SearchableRecord for CalendarObject {
    type Field = Field;
    type Column = Column;
    type Summary = Summary;

    fn summary_decoder() -> impl FnMut(&[u8]) -> Summary {
        let mut zones = ZoneInterner::default();
        move |stored| StoredSummary::from_bytes(stored, &mut zones).summary()
    }
}

impl ColumnValues for Column {
    type Field = Field;
    type Parsed = CalendarObject;

    fn summary_reader() -> SummaryReader {
        let mut zones = ZoneInterner::default();
        let mut text = String::new();
        Box::new(move |stored, rows| {
            let summary = StoredSummary::from_bytes(stored, &mut zones);
            rows.push(summary.title);
            rows.push(summary.location);
            for time in [&summary.start, &summary.end] {
                text.clear();
                if let Some(time) = time {
                    push_time(time, &mut text);
                }
                rows.push(text.as_bytes());
            }
            rows.push(name_of(summary.kind()).as_bytes());
            rows.push(summary.status.map_or("", |s| s.name()).as_bytes());
        })
    }

    fn parse_text(text: &[u8]) -> Option<CalendarObject> {
        // Nothing of these columns is in a zone.
        CalendarObject::parse(text, &TimeZoneResolver::new()).ok()
    }

    fn push_value(self, record: &CalendarObject, rows: &mut RowBuffer) {
        let main = record.master();
        let optional = |text: &Option<String>, rows: &mut RowBuffer| {
            rows.push(text.as_deref().unwrap_or_default().as_bytes());
        };
        match self {
            Self::Categories => rows.push_list(&main.categories),
            Self::Attendees => rows.push_list(main.attendees.iter().map(|p| &p.address)),
            Self::Organizer => {
                let organizer = main.organizer.as_ref().map(|p| &p.address);
                rows.push(organizer.map_or(&[], |a| a.as_bytes()));
            }
            Self::Url => optional(&main.url, rows),
            Self::Notes => optional(&main.description, rows),
            // Those are read from the summary or the row, without the object.
            Self::Title
            | Self::Place
            | Self::Start
            | Self::End
            | Self::Kind
            | Self::Status
            | Self::Uid
            | Self::ETag
            | Self::Record => {}
        }
    }
}

/// Appends a time in iCalendar form, followed by its zone unless that is UTC.
fn push_time(time: &CalendarTime, text: &mut String) {
    // Writing to a String does not fail.
    let _ = write!(text, "{}", time.value());
    if let Some(zone) = time.zone().filter(|zone| **zone != TimeZone::UTC) {
        let _ = write!(text, " {}", zone.name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::query::SortOrder;

    #[test]
    fn columns_are_named_in_their_order() {
        for (i, (name, column)) in Column::NAMES.iter().enumerate() {
            assert_eq!(*column as usize, i);
            assert_eq!(name.parse(), Ok(*column));
            assert_eq!(column.name(), *name);
        }
        assert_eq!(
            SortOrder::from_name::<Column>("-start"),
            Ok(SortOrder::ListReversed)
        );
        assert_eq!(
            SortOrder::from_name::<Column>("name")
                .unwrap_err()
                .to_string(),
            "there is no order \"name\"; orders are start, -start, added, -added and none"
        );
    }
}
