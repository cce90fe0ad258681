//! Rows on the wire: columns by name, values as text, arrays and descriptors as targets.

use std::borrow::Cow;

use etui::calendar::CalendarObject;
use etui::calendar::zones::TimeZoneResolver;
use etui::contacts::Card;
use etui::import::{ImportEvent, ImportReport};
use etui::media::{self, Album, Artist, Day, Genre, Picture, Track};
use etui::record::Collection;
use etui::search::query::{ColumnSet, Columns, Row, SearchableRecord};
use etui_contentline::charset::to_utf8;
use std::io::Read;
use std::ops::ControlFlow;

use crate::descriptor::RowFile;
use crate::error::{ErrorKind, StoreError};

/// From this size on an answer has to go by descriptor: an array blocks the bus for everybody.
pub(crate) const MAX_ARRAY: usize = 1 << 20;

/// Separates the values of a column that may have several.
const VALUE_SEPARATOR: &str = "\u{1f}";

/// A record on the wire: id, ETag, values.
pub(crate) type WireRow = (u64, String, Vec<String>);

/// The kinds of records that this interface lists.
pub(crate) trait ListedRecord: SearchableRecord + 'static {
    /// The column of UIDs.
    const UID: Self::Column;
    /// The column of ETags.
    const ETAG: Self::Column;
}

/// Names the columns of a kind of records.
macro_rules! listed_records {
    ($($record:ty: $column:ty;)*) => {$(
        impl ListedRecord for $record {
            const UID: Self::Column = <$column>::Uid;
            const ETAG: Self::Column = <$column>::ETag;
        }
    )*};
}

listed_records! {
    Card: etui::contacts::Column;
    CalendarObject: etui::calendar::Column;
    Track: media::TrackColumn;
    Album: media::GroupColumn;
    Artist: media::GroupColumn;
    Genre: media::GroupColumn;
    Picture: media::PictureColumn;
    Day: media::GroupColumn;
}

/// The kinds of records that clients save.
pub(crate) trait ServedRecord: ListedRecord {
    /// Parses a record.
    fn parse_record(text: String) -> Result<Self, String>;

    /// Returns the UID in the record's text.
    fn own_uid(&self) -> Option<&str>;

    /// Imports a stream into a collection.
    fn import_stream(
        collection: &Collection<Self>,
        input: impl Read,
        on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
    ) -> etui::Result<ImportReport>;
}

impl ServedRecord for Card {
    fn parse_record(text: String) -> Result<Self, String> {
        Self::parse(text).map_err(|e| e.to_string())
    }

    fn own_uid(&self) -> Option<&str> {
        self.uid()
    }

    fn import_stream(
        collection: &Collection<Self>,
        input: impl Read,
        on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
    ) -> etui::Result<ImportReport> {
        collection.import(input, on_event)
    }
}

impl ServedRecord for CalendarObject {
    fn parse_record(text: String) -> Result<Self, String> {
        Self::parse(text, &TimeZoneResolver::new()).map_err(|e| e.to_string())
    }

    fn own_uid(&self) -> Option<&str> {
        self.uid()
    }

    fn import_stream(
        collection: &Collection<Self>,
        input: impl Read,
        on_event: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
    ) -> etui::Result<ImportReport> {
        collection.import(input, on_event)
    }
}

/// The columns of an answer, in the order asked for.
pub(crate) struct ColumnList<R: ListedRecord> {
    asked: Vec<R::Column>,
}

impl<R: ListedRecord> ColumnList<R> {
    /// Finds the columns of these names.
    pub(crate) fn parse(names: &[String]) -> Result<Self, StoreError> {
        let asked = names.iter().map(|name| {
            let found = R::Column::NAMES.iter().find(|(known, _)| known == name);
            found.map(|(_, column)| *column).ok_or_else(|| {
                let known: Vec<&str> = R::Column::NAMES.iter().map(|(name, _)| *name).collect();
                StoreError::new(
                    ErrorKind::BadColumn,
                    format!(
                        "no column is named \"{name}\"; columns are {}",
                        known.join(", ")
                    ),
                )
            })
        });
        Ok(Self {
            asked: asked.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the columns to query, with `more`.
    pub(crate) fn set_with(&self, more: &[R::Column]) -> Columns<R::Column> {
        self.asked.iter().chain(more).copied().collect()
    }

    /// Returns true if a column is read from the records' texts.
    pub(crate) fn reads_texts(&self) -> bool {
        let first_of_text = R::ETAG.ordinal() + 1;
        self.asked.iter().any(|c| c.ordinal() >= first_of_text)
    }

    /// Returns the values of a row in the order asked for.
    pub(crate) fn values<'r>(
        &self,
        row: Row<'r, R::Column>,
    ) -> impl ExactSizeIterator<Item = Cow<'r, str>> {
        self.asked.iter().map(move |&column| value_of(row, column))
    }

    /// Returns a row as it is sent in an array. Its query had the column of ETags.
    pub(crate) fn wire_row(&self, row: Row<'_, R::Column>) -> WireRow {
        let values = self.values(row).map(Cow::into_owned).collect();
        (wire_id(row.id()), row.get(R::ETAG).to_owned(), values)
    }

    /// Returns the row of a record that was removed: only its UID is known.
    pub(crate) fn removed_row(&self, id: etui::RecordId, uid: &str) -> WireRow {
        let values = self.asked.iter().map(|&column| match column == R::UID {
            true => uid.to_owned(),
            false => String::new(),
        });
        (wire_id(id), String::new(), values.collect())
    }
}

/// Returns a record's id as it is sent.
pub(crate) fn wire_id(id: etui::RecordId) -> u64 {
    id.0.cast_unsigned()
}

/// Returns a value as text that D-Bus accepts.
fn value_of<C: ColumnSet>(row: Row<'_, C>, column: C) -> Cow<'_, str> {
    if column == C::TEXT {
        return without_nul(to_utf8(row.text()));
    }
    if !column.is_many() {
        return without_nul(Cow::Borrowed(row.get(column)));
    }
    let mut values = row.values(column);
    let first = values.next().unwrap_or_default();
    match values.next() {
        None => without_nul(Cow::Borrowed(first)),
        Some(second) => {
            let mut text = [first, second].join(VALUE_SEPARATOR);
            for value in values {
                text.push_str(VALUE_SEPARATOR);
                text.push_str(value);
            }
            without_nul(Cow::Owned(text))
        }
    }
}

/// Replaces NUL characters, which a D-Bus string cannot have.
pub(crate) fn without_nul(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.contains('\0') {
        true => Cow::Owned(text.replace('\0', "\u{fffd}")),
        false => text,
    }
}

/// The rows of an answer by array. More than 1 MiB is refused.
#[derive(Default)]
pub(crate) struct ArrayRows {
    pub(crate) rows: Vec<WireRow>,
    bytes: usize,
}

impl ArrayRows {
    pub(crate) fn push(&mut self, row: WireRow) -> Result<(), StoreError> {
        self.bytes += row_size(&row);
        if self.bytes > MAX_ARRAY {
            return Err(StoreError::too_large());
        }
        self.rows.push(row);
        Ok(())
    }
}

/// Returns about the size of a row in a message.
pub(crate) fn row_size(row: &WireRow) -> usize {
    let values: usize = row.2.iter().map(|value| value.len() + 8).sum();
    24 + row.1.len() + values
}

/// The target of an answer's rows.
pub(crate) enum RowTarget {
    /// An array in the reply.
    Array(ArrayRows),
    /// A descriptor.
    File(RowFile),
}

impl RowTarget {
    /// Appends a row.
    pub(crate) fn push<R: ListedRecord>(
        &mut self,
        columns: &ColumnList<R>,
        row: Row<'_, R::Column>,
    ) -> Result<(), StoreError> {
        match self {
            Self::Array(array) => array.push(columns.wire_row(row)),
            Self::File(file) => {
                let values = columns.values(row).map(|value| match value {
                    Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                    Cow::Owned(text) => Cow::Owned(text.into_bytes()),
                });
                Ok(file.push_row(wire_id(row.id()), values)?)
            }
        }
    }
}
