//! [`Rows`]: the answer of a query, in one allocation.

use std::fmt;

use super::Cursor;
use super::columns::{ColumnSet, Columns};
use crate::types::RecordId;
use etui_text::varint;

/// The encoded rows of an answer, independent of the kind of record.
///
/// ```text
/// bytes  := row*
/// row    := value*                     one per column; all of the summary's if any is shown
/// value  := length:varint bytes        UTF-8; the record's text is stored byte for byte
/// bytes  := (length:varint UTF-8)*     in the value of a column that may have several
/// ```
#[derive(Debug, Clone, Default)]
pub struct RowBuffer {
    ids: Vec<RecordId>,
    bytes: Vec<u8>,
    /// The offset of each row.
    starts: Vec<usize>,
}

impl RowBuffer {
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn ids(&self) -> &[RecordId] {
        &self.ids
    }

    /// Returns the encoded values of a row.
    pub(super) fn encoded_row(&self, index: usize) -> &[u8] {
        // The last row ends with the buffer.
        let offset = |at: usize| self.starts.get(at).copied().unwrap_or(self.bytes.len());
        &self.bytes[offset(index)..offset(index + 1)]
    }

    /// Begins a row. Its values follow, one per column in their order.
    pub(super) fn begin_row(&mut self, id: RecordId) {
        self.ids.push(id);
        self.starts.push(self.bytes.len());
    }

    /// Removes the rows from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        if let Some(&start) = self.starts.get(len) {
            self.ids.truncate(len);
            self.starts.truncate(len);
            self.bytes.truncate(start);
        }
    }

    /// Appends encoded values to the row.
    pub(crate) fn push_encoded(&mut self, values: &[u8]) {
        self.bytes.extend_from_slice(values);
    }

    /// Appends a value to the row.
    pub(crate) fn push(&mut self, value: &[u8]) {
        varint::push_bytes(&mut self.bytes, value);
    }

    /// Appends the value of a column that may have several.
    pub(crate) fn push_list(&mut self, values: impl IntoIterator<Item = impl AsRef<str>>) {
        let mut all = Vec::new();
        for value in values {
            varint::push_bytes(&mut all, value.as_ref().as_bytes());
        }
        self.push(&all);
    }
}

/// The records of an answer with the columns asked for, in one allocation.
#[derive(Debug, Clone)]
pub struct Rows<C> {
    columns: Columns<C>,
    buffer: RowBuffer,
    next: Option<Cursor>,
}

impl<C: ColumnSet> Rows<C> {
    pub(super) fn new(columns: Columns<C>, buffer: RowBuffer, next: Option<Cursor>) -> Self {
        Self {
            columns,
            buffer,
            next,
        }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.buffer.ids.is_empty()
    }

    /// Returns the columns of the rows.
    pub fn columns(&self) -> Columns<C> {
        self.columns
    }

    /// Returns the records' ids.
    pub fn ids(&self) -> &[RecordId] {
        self.buffer.ids()
    }

    /// Returns the row at `index`.
    pub fn get(&self, index: usize) -> Option<Row<'_, C>> {
        (index < self.len()).then_some(Row { rows: self, index })
    }

    /// Returns each row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_, C>> {
        (0..self.len()).map(|index| Row { rows: self, index })
    }

    /// Returns the start of the next page, for [`super::Query::after`]. `None`: this is the last page,
    /// or the order has no cursors ([`super::SortOrder::Unordered`]).
    pub fn next(&self) -> Option<&Cursor> {
        self.next.as_ref()
    }

    /// Returns the encoded values of a row.
    pub(super) fn encoded_row(&self, row: usize) -> &[u8] {
        self.buffer.encoded_row(row)
    }

    fn encoded_value(&self, row: usize, column: C) -> &[u8] {
        let mut rest = self.buffer.encoded_row(row);
        let Some(index) = self.columns.value_index(column) else {
            return &[];
        };
        for _ in 0..index {
            if varint::take_bytes(&mut rest).is_none() {
                return &[];
            }
        }
        varint::take_bytes(&mut rest).unwrap_or_default()
    }
}

/// One record of [`Rows`].
#[derive(Clone, Copy)]
pub struct Row<'r, C> {
    rows: &'r Rows<C>,
    index: usize,
}

impl<'r, C: ColumnSet> Row<'r, C> {
    /// Returns the record's id in the store.
    pub fn id(&self) -> RecordId {
        self.rows.buffer.ids[self.index]
    }

    /// Returns the value of `column`, or the first of several. It is empty if there is none, or if
    /// the column was not asked for.
    pub fn get(&self, column: C) -> &'r str {
        match column.is_many() {
            true => self.values(column).next().unwrap_or_default(),
            false => std::str::from_utf8(self.value_bytes(column)).unwrap_or_default(),
        }
    }

    /// Returns the record's text, byte for byte. It is empty if it was not asked for.
    pub fn text(&self) -> &'r [u8] {
        self.value_bytes(C::TEXT)
    }

    /// Returns the value of `column` as it is encoded in the row.
    pub(crate) fn value_bytes(&self, column: C) -> &'r [u8] {
        self.rows.encoded_value(self.index, column)
    }

    /// Returns all values of `column`.
    pub fn values(&self, column: C) -> impl Iterator<Item = &'r str> + use<'r, C> {
        let mut rest = self.value_bytes(column);
        std::iter::from_fn(move || {
            let value = match (column.is_many(), rest.is_empty()) {
                (_, true) => return None,
                (true, false) => varint::take_bytes(&mut rest)?,
                (false, false) => std::mem::take(&mut rest),
            };
            Some(std::str::from_utf8(value).unwrap_or_default())
        })
    }
}

impl<C: ColumnSet> fmt::Debug for Row<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Row");
        shown.field("id", &self.id());
        for column in self.rows.columns.iter() {
            let values: Vec<_> = self.values(column).collect();
            shown.field(C::NAMES[usize::from(column.ordinal())].0, &values);
        }
        shown.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contacts::Column;

    #[test]
    fn values_are_found_by_row_and_column() {
        let mut buffer = RowBuffer::default();
        for (id, name, email, phones) in [
            (7, "Al", "", vec!["1", ""]),
            (9, "", "bo@b", vec![]),
            (8, "Cy", "c@c", vec!["2"]),
        ] {
            buffer.begin_row(RecordId(id));
            let mut summary = Vec::new();
            for value in [name, "", "", email] {
                varint::push_bytes(&mut summary, value.as_bytes());
            }
            buffer.push_encoded(&summary);
            buffer.push_list(phones);
        }
        let rows = Rows::new(Column::Email | Column::Phones | Column::Name, buffer, None);
        let shown: Vec<_> = rows
            .iter()
            .map(|r| {
                let phones: Vec<_> = r.values(Column::Phones).collect();
                (
                    r.id().0,
                    r.name(),
                    r.get(Column::Email),
                    phones,
                    r.get(Column::Uid),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                (7, "Al", "", vec!["1", ""], ""),
                (9, "", "bo@b", vec![], ""),
                (8, "Cy", "c@c", vec!["2"], "")
            ]
        );
        assert_eq!(rows.get(3).map(|r| r.id()), None);
    }
}
