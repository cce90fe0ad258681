//! [`Columns`]: which fields of a kind of record a query shows, and how they are had.

use std::fmt;
use std::marker::PhantomData;
use std::ops::BitOr;

use super::Sort;
use super::rows::Table;
use crate::search::filter::FieldSet;

/// What a query can show of one kind of record.
///
/// Implemented by [`contacts::Column`](crate::contacts::Column) and
/// [`calendar::Column`](crate::calendar::Column): what can be shown is what this crate reads.
pub trait ColumnSet: Copy + fmt::Debug + Eq + Send + Sync + 'static {
    /// The fields that the kind's filters ask about.
    type Field: FieldSet;
    /// Every column with its name in text, in the order in which rows show them: first those of
    /// the summary, then UID and ETag, then those that are read from the record's text.
    const NAMES: &'static [(&'static str, Self)];
    /// Every order with its name in text.
    const SORTS: &'static [(&'static str, Sort)];
    /// The record's text as it came.
    const TEXT: Self;
    /// How many of the columns are the summary's.
    const SUMMARY: u32;
    /// How they are had.
    #[doc(hidden)]
    const OF_SUMMARY: OfSummary;

    /// Its place in [`Self::NAMES`].
    fn number(self) -> u8;

    /// Whether it may have several values.
    fn is_many(self) -> bool;

    /// A record, read for the columns that need it.
    #[doc(hidden)]
    type Parsed;

    /// Reads a record's text; one that cannot be read has no values.
    #[doc(hidden)]
    fn parse(text: &[u8]) -> Option<Self::Parsed>;

    /// Puts the value that is read from a record to a row that was begun.
    #[doc(hidden)]
    fn push(self, record: &Self::Parsed, table: &mut Table);
}

/// What a kind's stored summary is to rows.
pub enum OfSummary {
    /// The values of the columns, as rows have them.
    Values,
    /// Something else. This makes, for one answer, what puts the values to a row; it may remember
    /// what it met.
    Read(fn() -> ReadSummary),
}

/// Puts the values of a stored summary to a row.
pub type ReadSummary = Box<dyn FnMut(&[u8], &mut Table)>;

/// What puts a summary's values to a row.
enum PushSummary {
    AsStored,
    Read(ReadSummary),
}

/// What every column set has in text; `list` is the name of the list's order.
macro_rules! column_set_in_text {
    ($column:ident, list: $list:literal) => {
        impl $column {
            /// Every order with its name in text.
            pub const SORTS: &'static [(&'static str, $crate::search::query::Sort)] = &[
                ($list, $crate::search::query::Sort::List),
                (
                    concat!("-", $list),
                    $crate::search::query::Sort::ListReversed,
                ),
                ("added", $crate::search::query::Sort::Added),
                ("-added", $crate::search::query::Sort::AddedReversed),
                ("found", $crate::search::query::Sort::Found),
            ];

            /// Its name in text.
            #[must_use]
            pub fn name(self) -> &'static str {
                Self::NAMES[self as usize].0
            }
        }

        impl std::fmt::Display for $column {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $column {
            type Err = $crate::search::query::BadColumn;

            fn from_str(text: &str) -> Result<Self, $crate::search::query::BadColumn> {
                $crate::search::query::BadColumn::or_column(text)
            }
        }

        impl std::ops::BitOr for $column {
            type Output = $crate::search::query::Columns<$column>;

            fn bitor(self, other: Self) -> Self::Output {
                $crate::search::query::Columns::from(self) | other
            }
        }
    };
}
pub(crate) use column_set_in_text;

/// There is no such column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no field \"{name}\" to show; fields are {known}")]
pub struct BadColumn {
    name: String,
    known: String,
}

impl BadColumn {
    /// The column of this name.
    pub(crate) fn or_column<C: ColumnSet>(text: &str) -> Result<C, Self> {
        let found = C::NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, column)| *column).ok_or_else(|| {
            let known: Vec<_> = C::NAMES.iter().map(|(name, _)| *name).collect();
            Self {
                name: text.to_owned(),
                known: known.join(", "),
            }
        })
    }
}

/// Which columns a query shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns<C> {
    /// A bit of each, by its number.
    bits: u16,
    columns: PhantomData<C>,
}

impl<C: ColumnSet> Columns<C> {
    /// None: only which records are meant.
    pub const NONE: Self = Self::of_bits(0);
    /// What is read without the record's text.
    pub const SUMMARY: Self = Self::of_bits((1 << C::SUMMARY) - 1);

    const fn of_bits(bits: u16) -> Self {
        Self {
            bits,
            columns: PhantomData,
        }
    }

    /// Whether `column` is among them.
    #[must_use]
    pub fn has(self, column: C) -> bool {
        self.bits & 1 << column.number() != 0
    }

    /// Each of them, in their order.
    pub fn iter(self) -> impl Iterator<Item = C> {
        C::NAMES
            .iter()
            .map(|(_, column)| *column)
            .filter(move |column| self.has(*column))
    }

    /// Which of a row's values `column` is.
    pub(super) fn place(self, column: C) -> Option<usize> {
        // A row that shows any of the summary has all of it.
        let stored = match self.bits & Self::SUMMARY.bits {
            0 => self.bits,
            _ => self.bits | Self::SUMMARY.bits,
        };
        let below = stored & ((1 << column.number()) - 1);
        self.has(column).then_some(below.count_ones() as usize)
    }
}

impl<C: ColumnSet> Default for Columns<C> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<C: ColumnSet> From<C> for Columns<C> {
    fn from(column: C) -> Self {
        Self::of_bits(1 << column.number())
    }
}

impl<C: ColumnSet> BitOr for Columns<C> {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self::of_bits(self.bits | other.bits)
    }
}

impl<C: ColumnSet> BitOr<C> for Columns<C> {
    type Output = Self;

    fn bitor(self, column: C) -> Self {
        self | Self::from(column)
    }
}

impl<C: ColumnSet> FromIterator<C> for Columns<C> {
    fn from_iter<I: IntoIterator<Item = C>>(columns: I) -> Self {
        columns.into_iter().fold(Self::NONE, |all, c| all | c)
    }
}

/// Puts the values of some columns, a bit each, that are read from a record's text to a row.
type PushText = fn(u16, &[u8], &mut Table);

/// The values of these columns, each from a record's text.
fn of_text<C: ColumnSet>(bits: u16, text: &[u8], table: &mut Table) {
    let columns = Columns::<C>::of_bits(bits);
    if columns == Columns::from(C::TEXT) {
        return table.push(text);
    }
    let record = C::parse(text);
    for column in columns.iter() {
        match &record {
            _ if column == C::TEXT => table.push(text),
            Some(record) => column.push(record, table),
            None => table.push(&[]),
        }
    }
}

/// What rows show, for what fills them whatever the kind of record.
pub(super) struct Shape {
    /// If anything of the summary is shown.
    summary: Option<PushSummary>,
    pub(super) uid: bool,
    pub(super) etag: bool,
    /// If anything of the text is shown, and which columns that are.
    of_text: Option<(PushText, u16)>,
}

impl Shape {
    /// Of rows that show these columns.
    pub(super) fn of<C: ColumnSet>(columns: Columns<C>) -> Self {
        let (uid, etag) = (1 << C::SUMMARY, 1 << (C::SUMMARY + 1));
        let summary = Columns::<C>::SUMMARY.bits;
        let text = columns.bits & !(summary | uid | etag);
        Self {
            summary: (columns.bits & summary != 0).then(|| match C::OF_SUMMARY {
                OfSummary::Values => PushSummary::AsStored,
                OfSummary::Read(read) => PushSummary::Read(read()),
            }),
            uid: columns.bits & uid != 0,
            etag: columns.bits & etag != 0,
            of_text: (text != 0).then_some((of_text::<C>, text)),
        }
    }

    /// Of rows that are the stored summaries, to be read by whoever knows them.
    pub(super) fn of_summaries() -> Self {
        Self {
            summary: Some(PushSummary::AsStored),
            uid: false,
            etag: false,
            of_text: None,
        }
    }

    /// Whether anything of the summary is shown.
    pub(super) fn has_summary(&self) -> bool {
        self.summary.is_some()
    }

    /// Whether anything of the text is shown.
    pub(super) fn has_text(&self) -> bool {
        self.of_text.is_some()
    }

    /// Puts a summary's values to the row that was begun, if they are shown.
    pub(super) fn push_summary(&mut self, summary: &[u8], table: &mut Table) {
        match &mut self.summary {
            None => {}
            Some(PushSummary::AsStored) => table.push_stored(summary),
            Some(PushSummary::Read(read)) => read(summary, table),
        }
    }

    /// Puts a text's values to the row that was begun, if any are shown.
    pub(super) fn push_text(&self, text: &[u8], table: &mut Table) {
        if let Some((push, columns)) = self.of_text {
            push(columns, text, table);
        }
    }
}
