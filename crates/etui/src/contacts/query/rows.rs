//! [`Rows`]: what a query answers, the fields asked for, in one piece of memory.

use std::fmt;
use std::ops::BitOr;
use std::str::FromStr;

use crate::collection::RecordId;
use crate::text::varint;

/// One field of a contact that a query can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Column {
    /// The name to show.
    Name = 0,
    /// The first organisation.
    Organization = 1,
    /// The preferred phone number, else the first, as written.
    Phone = 2,
    /// The preferred e-mail address, else the first, as written.
    Email = 3,
    /// The UID.
    Uid = 4,
    /// The ETag, as 32 hexadecimal digits.
    ETag = 5,
    /// The family name.
    Family = 6,
    /// The given name and additional names.
    Given = 7,
    /// All nicknames.
    Nicknames = 8,
    /// All phone numbers, as written.
    Phones = 9,
    /// All e-mail addresses, as written.
    Emails = 10,
    /// All categories.
    Categories = 11,
    /// The notes.
    Note = 12,
    /// The vCard.
    Card = 13,
}

impl Column {
    /// Every column with its name in text, in the order in which rows show them.
    pub const NAMES: &'static [(&'static str, Column)] = &[
        ("name", Column::Name),
        ("org", Column::Organization),
        ("phone", Column::Phone),
        ("email", Column::Email),
        ("uid", Column::Uid),
        ("etag", Column::ETag),
        ("family", Column::Family),
        ("given", Column::Given),
        ("nick", Column::Nicknames),
        ("phones", Column::Phones),
        ("emails", Column::Emails),
        ("categories", Column::Categories),
        ("note", Column::Note),
        ("card", Column::Card),
    ];

    /// Its name in text.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// Whether it may have several values.
    #[must_use]
    pub fn is_many(self) -> bool {
        matches!(
            self,
            Self::Nicknames | Self::Phones | Self::Emails | Self::Categories
        )
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no such column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no field \"{0}\" to show; fields are {list}", list = known())]
pub struct BadColumn(String);

fn known() -> String {
    let names: Vec<_> = Column::NAMES.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

impl FromStr for Column {
    type Err = BadColumn;

    fn from_str(text: &str) -> Result<Self, BadColumn> {
        let found = Self::NAMES.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, column)| *column)
            .ok_or_else(|| BadColumn(text.to_owned()))
    }
}

/// Which columns a query shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Columns(u16);

impl Columns {
    /// None: only which contacts are meant.
    pub const NONE: Self = Self(0);
    /// Name, organisation, phone, e-mail: what is read without the record's card.
    pub const SUMMARY: Self = Self(0b1111);
    /// UID and ETag stand in the record.
    pub(super) const RECORD: Self = Self(0b11_0000);

    /// Whether `column` is among them.
    #[must_use]
    pub fn has(self, column: Column) -> bool {
        self.0 & 1 << column as u8 != 0
    }

    /// Whether any of `others` is among them.
    pub(super) fn any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// Those beyond [`Columns::SUMMARY`] and [`Columns::RECORD`]: they are read from the card.
    pub(super) fn of_card(self) -> Self {
        Self(self.0 & !(Self::SUMMARY.0 | Self::RECORD.0))
    }

    /// Each of them, in their order.
    pub fn iter(self) -> impl Iterator<Item = Column> {
        Column::NAMES
            .iter()
            .map(|(_, column)| *column)
            .filter(move |column| self.has(*column))
    }

    /// Which of a row's values `column` is.
    fn place(self, column: Column) -> Option<usize> {
        // A row that shows any of the summary has all of it.
        let stored = match self.any(Self::SUMMARY) {
            true => self.0 | Self::SUMMARY.0,
            false => self.0,
        };
        let below = stored & ((1 << column as u8) - 1);
        self.has(column).then_some(below.count_ones() as usize)
    }
}

impl From<Column> for Columns {
    fn from(column: Column) -> Self {
        Self(1 << column as u8)
    }
}

impl BitOr for Columns {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOr<Column> for Columns {
    type Output = Self;

    fn bitor(self, column: Column) -> Self {
        self | Self::from(column)
    }
}

impl BitOr for Column {
    type Output = Columns;

    fn bitor(self, other: Self) -> Columns {
        Columns::from(self) | Columns::from(other)
    }
}

impl FromIterator<Column> for Columns {
    fn from_iter<I: IntoIterator<Item = Column>>(columns: I) -> Self {
        columns.into_iter().fold(Self::NONE, |all, c| all | c)
    }
}

/// Contacts with the fields asked for: as many as they are, all in one piece of memory.
///
/// ```text
/// bytes  := row*
/// row    := value*                     column by column; of name, organisation, phone and e-mail
///                                      all if any is asked for, as they stand in the store
/// value  := length:varint bytes        UTF-8; of the card, as it came
/// bytes  := (length:varint UTF-8)*     inside the value of a column that may have several
/// ```
#[derive(Debug, Clone, Default)]
pub struct Rows {
    pub(super) columns: Columns,
    pub(super) ids: Vec<RecordId>,
    bytes: Vec<u8>,
    /// Where each row begins.
    begins: Vec<usize>,
    pub(super) next: Option<super::Cursor>,
}

impl Rows {
    pub(super) fn new(columns: Columns) -> Self {
        Self {
            columns,
            ..Self::default()
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The fields they show.
    #[must_use]
    pub fn columns(&self) -> Columns {
        self.columns
    }

    /// The contacts' numbers.
    #[must_use]
    pub fn ids(&self) -> &[RecordId] {
        &self.ids
    }

    /// The row at `index`.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Row<'_>> {
        (index < self.len()).then_some(Row { rows: self, index })
    }

    /// Each row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        (0..self.len()).map(|index| Row { rows: self, index })
    }

    /// Where the page after these begins, for [`super::Query::after`]. `None`: there is none, or
    /// the query's order has no places ([`super::Sort::Found`]).
    #[must_use]
    pub fn next(&self) -> Option<&super::Cursor> {
        self.next.as_ref()
    }

    /// Begins a row; its values follow, one per column in their order.
    pub(super) fn begin(&mut self, id: RecordId) {
        self.ids.push(id);
        self.begins.push(self.bytes.len());
    }

    /// The first four values of the row, as they stand in the store.
    pub(super) fn push_summary(&mut self, summary: &[u8]) {
        self.bytes.extend_from_slice(summary);
    }

    /// The next value of the row.
    pub(super) fn push(&mut self, value: &[u8]) {
        varint::push_bytes(&mut self.bytes, value);
    }

    /// The next value of the row, of a column that may have several.
    pub(super) fn push_many(&mut self, values: impl IntoIterator<Item = impl AsRef<str>>) {
        let mut all = Vec::new();
        for value in values {
            varint::push_bytes(&mut all, value.as_ref().as_bytes());
        }
        self.push(&all);
    }

    fn value(&self, row: usize, column: Column) -> &[u8] {
        let begin = self.begins.get(row).copied().unwrap_or(self.bytes.len());
        let end = self
            .begins
            .get(row + 1)
            .copied()
            .unwrap_or(self.bytes.len());
        let mut rest = &self.bytes[begin..end];
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

/// One contact of [`Rows`].
#[derive(Clone, Copy)]
pub struct Row<'r> {
    rows: &'r Rows,
    index: usize,
}

impl<'r> Row<'r> {
    /// Its number in the store.
    #[must_use]
    pub fn id(&self) -> RecordId {
        self.rows.ids[self.index]
    }

    /// The value of `column`, of several the first; empty when there is none, or it was not
    /// asked for.
    #[must_use]
    pub fn get(&self, column: Column) -> &'r str {
        match column.is_many() {
            true => self.all(column).next().unwrap_or_default(),
            false => std::str::from_utf8(self.rows.value(self.index, column)).unwrap_or_default(),
        }
    }

    /// The name to show.
    #[must_use]
    pub fn name(&self) -> &'r str {
        self.get(Column::Name)
    }

    /// The vCard, byte for byte as it came; empty when it was not asked for.
    #[must_use]
    pub fn card(&self) -> &'r [u8] {
        self.rows.value(self.index, Column::Card)
    }

    /// All values of `column`.
    pub fn all(&self, column: Column) -> impl Iterator<Item = &'r str> + use<'r> {
        let mut rest = self.rows.value(self.index, column);
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

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Row");
        shown.field("id", &self.id());
        for column in self.rows.columns.iter() {
            let values: Vec<_> = self.all(column).collect();
            shown.field(column.name(), &values);
        }
        shown.finish()
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
        assert!(
            "colour"
                .parse::<Column>()
                .unwrap_err()
                .to_string()
                .contains("note")
        );
    }

    #[test]
    fn values_are_found_by_row_and_column() {
        let mut rows = Rows::new(Column::Email | Column::Phones | Column::Name);
        for (id, name, email, phones) in [
            (7, "Al", "", vec!["1", ""]),
            (9, "", "bo@b", vec![]),
            (8, "Cy", "c@c", vec!["2"]),
        ] {
            rows.begin(RecordId(id));
            let mut summary = Vec::new();
            for value in [name, "", "", email] {
                varint::push_bytes(&mut summary, value.as_bytes());
            }
            rows.push_summary(&summary);
            rows.push_many(phones);
        }
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
