//! [`Rows`]: what a query answers, the fields asked for, in one piece of memory.

use std::fmt;

use super::Cursor;
use super::columns::{ColumnSet, Columns};
use crate::types::RecordId;
use etui_text::varint;

/// Rows as they are filled, of whatever kind of record.
///
/// ```text
/// bytes  := row*
/// row    := value*                     column by column; of the summary's all if any is asked for
/// value  := length:varint bytes        UTF-8; of the record's text, as it came
/// bytes  := (length:varint UTF-8)*     inside the value of a column that may have several
/// ```
#[derive(Debug, Clone, Default)]
pub struct Table {
    ids: Vec<RecordId>,
    bytes: Vec<u8>,
    /// Where each row begins.
    begins: Vec<usize>,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn ids(&self) -> &[RecordId] {
        &self.ids
    }

    /// The values of a row.
    pub(super) fn row(&self, index: usize) -> &[u8] {
        let place = |at: usize| self.begins.get(at).copied().unwrap_or(self.bytes.len());
        &self.bytes[place(index)..place(index + 1)]
    }

    /// Begins a row; its values follow, one per column in their order.
    pub(super) fn begin(&mut self, id: RecordId) {
        self.ids.push(id);
        self.begins.push(self.bytes.len());
    }

    /// Values of the row as they stand in the store.
    pub(super) fn push_stored(&mut self, values: &[u8]) {
        self.bytes.extend_from_slice(values);
    }

    /// The next value of the row.
    pub(crate) fn push(&mut self, value: &[u8]) {
        varint::push_bytes(&mut self.bytes, value);
    }

    /// The next value of the row, of a column that may have several.
    pub(crate) fn push_many(&mut self, values: impl IntoIterator<Item = impl AsRef<str>>) {
        let mut all = Vec::new();
        for value in values {
            varint::push_bytes(&mut all, value.as_ref().as_bytes());
        }
        self.push(&all);
    }
}

/// Records with the fields asked for: as many as they are, all in one piece of memory.
#[derive(Debug, Clone)]
pub struct Rows<C> {
    columns: Columns<C>,
    table: Table,
    next: Option<Cursor>,
}

impl<C: ColumnSet> Rows<C> {
    pub(super) fn new(columns: Columns<C>, table: Table, next: Option<Cursor>) -> Self {
        Self {
            columns,
            table,
            next,
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.ids.is_empty()
    }

    /// The fields they show.
    #[must_use]
    pub fn columns(&self) -> Columns<C> {
        self.columns
    }

    /// The records' numbers.
    #[must_use]
    pub fn ids(&self) -> &[RecordId] {
        self.table.ids()
    }

    /// The row at `index`.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Row<'_, C>> {
        (index < self.len()).then_some(Row { rows: self, index })
    }

    /// Each row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_, C>> {
        (0..self.len()).map(|index| Row { rows: self, index })
    }

    /// Where the page after these begins, for [`super::Query::after`]. `None`: there is none, or
    /// the query's order has no places ([`super::Sort::Found`]).
    #[must_use]
    pub fn next(&self) -> Option<&Cursor> {
        self.next.as_ref()
    }

    /// The values of a row, as they stand in it.
    pub(super) fn stored(&self, row: usize) -> &[u8] {
        self.table.row(row)
    }

    fn value(&self, row: usize, column: C) -> &[u8] {
        let mut rest = self.table.row(row);
        let Some(place) = self.columns.place(column) else {
            return &[];
        };
        for _ in 0..place {
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
    /// Its number in the store.
    #[must_use]
    pub fn id(&self) -> RecordId {
        self.rows.table.ids[self.index]
    }

    /// The value of `column`, of several the first; empty when there is none, or it was not
    /// asked for.
    #[must_use]
    pub fn get(&self, column: C) -> &'r str {
        match column.is_many() {
            true => self.all(column).next().unwrap_or_default(),
            false => std::str::from_utf8(self.bytes(column)).unwrap_or_default(),
        }
    }

    /// The record's text, byte for byte as it came; empty when it was not asked for.
    #[must_use]
    pub fn text(&self) -> &'r [u8] {
        self.bytes(C::TEXT)
    }

    /// The value of `column` as it stands in the row.
    pub(crate) fn bytes(&self, column: C) -> &'r [u8] {
        self.rows.value(self.index, column)
    }

    /// All values of `column`.
    pub fn all(&self, column: C) -> impl Iterator<Item = &'r str> + use<'r, C> {
        let mut rest = self.bytes(column);
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
            let values: Vec<_> = self.all(column).collect();
            shown.field(C::NAMES[usize::from(column.number())].0, &values);
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
        let mut table = Table::default();
        for (id, name, email, phones) in [
            (7, "Al", "", vec!["1", ""]),
            (9, "", "bo@b", vec![]),
            (8, "Cy", "c@c", vec!["2"]),
        ] {
            table.begin(RecordId(id));
            let mut summary = Vec::new();
            for value in [name, "", "", email] {
                varint::push_bytes(&mut summary, value.as_bytes());
            }
            table.push_stored(&summary);
            table.push_many(phones);
        }
        let rows = Rows::new(Column::Email | Column::Phones | Column::Name, table, None);
        let shown: Vec<_> = rows
            .iter()
            .map(|r| {
                let phones: Vec<_> = r.all(Column::Phones).collect();
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
