//! [`Columns`]: the columns that a query shows, and how each is read.

use std::fmt;
use std::marker::PhantomData;
use std::ops::BitOr;

use super::SortOrder;
use super::rows::RowBuffer;
use crate::search::filter::FieldSet;

/// The columns of one kind of record.
///
/// Implemented by [`contacts::Column`](crate::contacts::Column),
/// [`calendar::Column`](crate::calendar::Column) and the columns of the media library.
pub trait ColumnSet: ColumnValues {
    /// Every column with its name in text, in the order of a row's values: the summary's columns,
    /// then UID and ETag, then the columns read from the record's text.
    const NAMES: &'static [(&'static str, Self)];
    /// Every order with its name in text.
    const SORTS: &'static [(&'static str, SortOrder)];
    /// The record's text, byte for byte.
    const TEXT: Self;
    /// The number of columns in the summary.
    const SUMMARY: u32;

    /// Returns the index in [`Self::NAMES`].
    fn ordinal(self) -> u8;

    /// Returns true if the column may have several values.
    fn is_many(self) -> bool;
}

/// How the values of a kind's columns are read.
pub trait ColumnValues: Copy + fmt::Debug + Eq + Send + Sync + 'static {
    /// The fields of the kind's filters.
    type Field: FieldSet;
    /// A parsed record, for the columns read from its text.
    #[doc(hidden)]
    type Parsed;

    /// Returns a function that appends the values of a stored summary to the last row. It may cache
    /// parts that the summaries of one answer share.
    #[doc(hidden)]
    fn summary_reader() -> SummaryReader {
        // Most summaries are stored as the values of a row.
        Box::new(|summary, rows| rows.push_encoded(summary))
    }

    /// Parses a record's text. A record that cannot be parsed has no values.
    #[doc(hidden)]
    fn parse_text(text: &[u8]) -> Option<Self::Parsed>;

    /// Appends the column's value to the last row.
    #[doc(hidden)]
    fn push_value(self, record: &Self::Parsed, rows: &mut RowBuffer);
}

/// Appends the values of a stored summary to a row.
pub type SummaryReader = Box<dyn FnMut(&[u8], &mut RowBuffer)>;

/// Declares the columns of a kind, in the order of [`ColumnSet::NAMES`], each with its name in text
/// and `[many]` if it may have several values. `list`: the name of list order; `text`: the column
/// of the record's text. Those before `Uid` are the summary's.
macro_rules! columns {
    (@is_many) => { false };
    (@is_many many) => { true };
    (
        $(#[$attribute:meta])*
        pub enum $column:ident, list: $list:literal, text: $record:ident {
            $($(#[$doc:meta])* $name:ident = $text:literal $([$many:ident])?,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $column {
            $($(#[$doc])* $name,)*
        }

        impl $column {
            /// Every column with its name in text, in the order of a row's values.
            pub const NAMES: &'static [(&'static str, $column)] = &[$(($text, Self::$name)),*];

            /// Every order with its name in text.
            pub const SORTS: &'static [(&'static str, $crate::search::query::SortOrder)] = &[
                ($list, $crate::search::query::SortOrder::List),
                (
                    concat!("-", $list),
                    $crate::search::query::SortOrder::ListReversed,
                ),
                ("added", $crate::search::query::SortOrder::Added),
                ("-added", $crate::search::query::SortOrder::AddedReversed),
                ("none", $crate::search::query::SortOrder::Unordered),
            ];

            /// Returns the name in text.
            pub(crate) fn name(self) -> &'static str {
                Self::NAMES[self as usize].0
            }
        }

        impl $crate::search::query::ColumnSet for $column {
            const NAMES: &'static [(&'static str, Self)] = Self::NAMES;
            const SORTS: &'static [(&'static str, $crate::search::query::SortOrder)] = Self::SORTS;
            const TEXT: Self = Self::$record;
            const SUMMARY: u32 = Self::Uid as u32;

            fn ordinal(self) -> u8 {
                self as u8
            }

            fn is_many(self) -> bool {
                [$($crate::search::query::columns!(@is_many $($many)?)),*][self as usize]
            }
        }

        impl std::fmt::Display for $column {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $column {
            type Err = $crate::search::query::UnknownColumn;

            fn from_str(text: &str) -> Result<Self, $crate::search::query::UnknownColumn> {
                $crate::search::query::UnknownColumn::find_column(text)
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
pub(crate) use columns;

/// No column has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no field \"{name}\" to show; fields are {known}")]
pub struct UnknownColumn {
    name: String,
    known: String,
}

impl UnknownColumn {
    /// Returns the column of this name.
    pub(crate) fn find_column<C: ColumnSet>(text: &str) -> Result<C, Self> {
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

/// The columns that a query shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns<C> {
    /// A bit per column, by its ordinal.
    bits: u32,
    columns: PhantomData<C>,
}

impl<C: ColumnSet> Columns<C> {
    /// No column: the answer has only ids.
    pub const NONE: Self = Self::from_bits(0);
    /// The summary's columns, which are read without the record's text.
    pub const SUMMARY: Self = Self::from_bits((1 << C::SUMMARY) - 1);

    const fn from_bits(bits: u32) -> Self {
        Self {
            bits,
            columns: PhantomData,
        }
    }

    /// Returns true if the set has `column`.
    pub fn contains(self, column: C) -> bool {
        self.bits & 1 << column.ordinal() != 0
    }

    /// Returns the columns in the order of a row's values.
    pub(crate) fn iter(self) -> impl Iterator<Item = C> {
        C::NAMES
            .iter()
            .map(|(_, column)| *column)
            .filter(move |column| self.contains(*column))
    }

    /// Returns the index of the column's value in a row.
    pub(super) fn value_index(self, column: C) -> Option<usize> {
        // A row with any column of the summary has all of them.
        let stored = match self.bits & Self::SUMMARY.bits {
            0 => self.bits,
            _ => self.bits | Self::SUMMARY.bits,
        };
        let below = stored & ((1 << column.ordinal()) - 1);
        self.contains(column).then_some(below.count_ones() as usize)
    }
}

impl<C: ColumnSet> Default for Columns<C> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<C: ColumnSet> From<C> for Columns<C> {
    fn from(column: C) -> Self {
        Self::from_bits(1 << column.ordinal())
    }
}

impl<C: ColumnSet> BitOr for Columns<C> {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self::from_bits(self.bits | other.bits)
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

/// Appends the values of some columns, a bit each, that are read from a record's text.
type PushText = fn(u32, &[u8], &mut RowBuffer);

fn push_text_columns<C: ColumnSet>(bits: u32, text: &[u8], rows: &mut RowBuffer) {
    let columns = Columns::<C>::from_bits(bits);
    // The text alone needs no parsing.
    if columns == Columns::from(C::TEXT) {
        return rows.push(text);
    }
    let record = C::parse_text(text);
    for column in columns.iter() {
        match &record {
            _ if column == C::TEXT => rows.push(text),
            Some(record) => column.push_value(record, rows),
            None => rows.push(&[]),
        }
    }
}

/// The columns of a row, independent of the kind of record.
pub(super) struct RowShape {
    /// Present if any column of the summary is shown.
    summary: Option<SummaryReader>,
    pub(super) uid: bool,
    pub(super) etag: bool,
    /// The columns read from the text, if any is shown.
    text_columns: Option<(PushText, u32)>,
}

impl RowShape {
    pub(super) fn new<C: ColumnSet>(columns: Columns<C>) -> Self {
        let (uid, etag) = (1 << C::SUMMARY, 1 << (C::SUMMARY + 1));
        let summary = Columns::<C>::SUMMARY.bits;
        let text = columns.bits & !(summary | uid | etag);
        Self {
            summary: (columns.bits & summary != 0).then(C::summary_reader),
            uid: columns.bits & uid != 0,
            etag: columns.bits & etag != 0,
            text_columns: (text != 0).then_some((push_text_columns::<C>, text)),
        }
    }

    /// Returns the shape of rows that are stored summaries, for the caller to decode.
    pub(super) fn encoded_summaries() -> Self {
        Self {
            summary: Some(Box::new(|summary, rows| rows.push_encoded(summary))),
            uid: false,
            etag: false,
            text_columns: None,
        }
    }

    /// Returns true if any column of the summary is shown.
    pub(super) fn has_summary(&self) -> bool {
        self.summary.is_some()
    }

    /// Returns true if any column is read from the text.
    pub(super) fn has_text(&self) -> bool {
        self.text_columns.is_some()
    }

    /// Appends a summary's values to the last row, if they are shown.
    pub(super) fn push_summary(&mut self, summary: &[u8], rows: &mut RowBuffer) {
        if let Some(read) = &mut self.summary {
            read(summary, rows);
        }
    }

    /// Appends the values read from a text to the last row, if any are shown.
    pub(super) fn push_text(&self, text: &[u8], rows: &mut RowBuffer) {
        if let Some((push, columns)) = self.text_columns {
            push(columns, text, rows);
        }
    }
}
