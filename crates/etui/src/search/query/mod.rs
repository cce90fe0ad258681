//! [`Query`]: which records, in which order, which of them, showing what; over the columns of a
//! kind of record.
//!
//! What a kind's columns are, and how each is had, its [`ColumnSet`] says
//! ([`contacts::Column`](crate::contacts::Column), where there is an example); that, the fields of
//! its filters and what its lists show make it [`Listed`]. Answering (`run`) knows records by
//! their keys, places in the list and numbers, whatever their kind.

mod across;
mod columns;
mod page;
mod plan;
pub(crate) mod records;
mod rows;
mod run;
mod sets;

use std::fmt;
use std::str::FromStr;

use crate::error::Result;
use crate::record::{Collection, Paging, Reader, RecordKind, list};
use crate::search::filter::{FieldSet, Filter, Matcher};
use crate::types::RecordId;
use columns::Shape;

pub use across::{Across, across};
pub use columns::{BadColumn, ColumnSet, Columns};
pub(crate) use columns::{OfSummary, ReadSummary, column_set_in_text};
pub use plan::{Plan, Way};
pub(crate) use rows::Table;
pub use rows::{Row, Rows};

/// A kind of record that can be filtered, listed and followed.
///
/// Implemented by [`Card`](crate::contacts::Card) and [`RecordKind`](crate::calendar::CalendarObject).
pub trait Listed: RecordKind {
    /// What its filters ask about.
    type Field: FieldSet;
    /// What its queries show.
    type Column: ColumnSet<Field = Self::Field>;
    /// What its lists show without reading the text.
    type Summary: Clone + fmt::Debug + PartialEq + Eq;

    /// Reads summaries as they are stored, and may remember what it met in one for the next.
    #[doc(hidden)]
    fn summaries() -> impl FnMut(&[u8]) -> Self::Summary;
}

/// What a list shows of a record, read without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<S> {
    /// Its number in the store.
    pub id: RecordId,
    /// What is shown of it.
    pub summary: S,
}

/// In which order records come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sort {
    /// The list's: contacts by name, as the store's locale orders names; what a calendar has by
    /// when it begins.
    #[default]
    List,
    /// The list's, from its end.
    ListReversed,
    /// As they were added.
    Added,
    /// The latest added first.
    AddedReversed,
    /// As they are found, which is the cheapest; the same in the same state of the store.
    Found,
}

impl Sort {
    /// The order of this name; the list's has its name from the kind of record.
    ///
    /// # Errors
    /// [`BadSort`]: there is none, with the names there are.
    pub fn named<C: ColumnSet>(text: &str) -> std::result::Result<Self, BadSort> {
        let found = C::SORTS.iter().find(|(name, _)| *name == text);
        found.map(|(_, sort)| *sort).ok_or_else(|| {
            let mut known: Vec<_> = C::SORTS.iter().map(|(name, _)| *name).collect();
            let last = known.pop().unwrap_or_default();
            BadSort {
                name: text.to_owned(),
                known: format!("{} and {last}", known.join(", ")),
            }
        })
    }

    fn is_reversed(self) -> bool {
        matches!(self, Self::ListReversed | Self::AddedReversed)
    }

    fn is_list(self) -> bool {
        matches!(self, Self::List | Self::ListReversed)
    }
}

/// There is no such order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no order \"{name}\"; orders are {known}")]
pub struct BadSort {
    name: String,
    known: String,
}

/// A place in an ordered answer: behind one record, before the next. It stays where it is while
/// others come and go, also when its record goes.
///
/// Written as the record's number and, in hexadecimal digits, its sort key: `42.2b2f01`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor {
    pub(crate) sort: Vec<u8>,
    pub(crate) id: i64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.", self.id)?;
        self.sort.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// The text is no place in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a place in a list looks like 42.2b2f01; it comes from an earlier answer")]
pub struct BadCursor;

impl FromStr for Cursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> std::result::Result<Self, BadCursor> {
        let (id, sort) = text.split_once('.').ok_or(BadCursor)?;
        let digit = |b: u8| (b as char).to_digit(16).ok_or(BadCursor);
        let sort = sort.as_bytes().chunks(2).map(|pair| match pair {
            &[high, low] => Ok((digit(high)? << 4 | digit(low)?) as u8),
            _ => Err(BadCursor),
        });
        Ok(Self {
            id: id.parse().map_err(|_| BadCursor)?,
            sort: sort.collect::<std::result::Result<_, _>>()?,
        })
    }
}

/// Which records, in which order, which of them, showing what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query<C: ColumnSet> {
    filter: Filter<C::Field>,
    columns: Columns<C>,
    part: Part,
}

/// Which part of an answer, and its order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    sort: Sort,
    offset: u64,
    limit: u64,
    after: Option<Cursor>,
}

impl<C: ColumnSet> Query<C> {
    /// The records that `filter` means: all of them in the list's order, with what a list shows.
    #[must_use]
    pub fn new(filter: Filter<C::Field>) -> Self {
        Self {
            filter,
            columns: Columns::SUMMARY,
            part: Part {
                sort: Sort::List,
                offset: 0,
                limit: u64::MAX,
                after: None,
            },
        }
    }

    /// All records.
    #[must_use]
    pub fn all() -> Self {
        Self::new(Filter::All)
    }

    /// In this order.
    #[must_use]
    pub fn sort(mut self, sort: Sort) -> Self {
        self.part.sort = sort;
        self
    }

    /// Showing these fields.
    #[must_use]
    pub fn columns(self, columns: impl Into<Columns<C>>) -> Self {
        Self {
            columns: columns.into(),
            ..self
        }
    }

    /// So many at the most.
    #[must_use]
    pub fn limit(mut self, limit: u64) -> Self {
        self.part.limit = limit;
        self
    }

    /// From the one at this position on, the first being 0.
    #[must_use]
    pub fn offset(mut self, offset: u64) -> Self {
        self.part.offset = offset;
        self
    }

    /// From the one behind this place on ([`Rows::next`]). Of an answer in another order, or
    /// with [`Sort::Found`], it says nothing.
    #[must_use]
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.part.after = Some(cursor);
        self
    }
}

impl<R: Listed> Collection<'_, R> {
    /// The records that `query` means, showing what it asks for. See [`Query`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn query(&self, query: &Query<R::Column>) -> Result<Rows<R::Column>> {
        self.read_ordered(|r| r.query(query))
    }

    /// Answers `query` and tells how. See [`Reader::explain`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn explain(&self, query: &Query<R::Column>) -> Result<Plan> {
        self.read_ordered(|r| r.explain(query))
    }

    /// A page of the list. See [`Reader::list`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn list(&self, page: Paging) -> Result<Vec<Entry<R::Summary>>> {
        self.read_ordered(|r| r.list(page))
    }

    /// The records that `filter` means, in list order. See [`Reader::find`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn find(&self, filter: &Filter<R::Field>) -> Result<Vec<Entry<R::Summary>>> {
        self.find_page(filter, Paging::ALL)
    }

    /// A page of the records that `filter` means, in list order.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn find_page(
        &self,
        filter: &Filter<R::Field>,
        page: Paging,
    ) -> Result<Vec<Entry<R::Summary>>> {
        self.read_ordered(|r| r.find_page(filter, page))
    }
}

impl<R: Listed> Reader<'_, R> {
    /// The records that `query` means, showing what it asks for.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn query(&self, query: &Query<R::Column>) -> Result<Rows<R::Column>> {
        self.told(|| Ok(self.answer(query)?.0))
    }

    /// Answers `query` and tells how: what was looked up, read and compared.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn explain(&self, query: &Query<R::Column>) -> Result<Plan> {
        self.told(|| {
            let (_, plan) = self.answer(query)?;
            Ok(Plan {
                filter: query.filter.to_string(),
                records: list::count(self.conn, self.collection)?,
                ..plan
            })
        })
    }

    /// A page of the list.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn list(&self, page: Paging) -> Result<Vec<Entry<R::Summary>>> {
        self.find_page(&Filter::All, page)
    }

    /// The records that `filter` means, in list order.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn find(&self, filter: &Filter<R::Field>) -> Result<Vec<Entry<R::Summary>>> {
        self.find_page(filter, Paging::ALL)
    }

    /// A page of the records that `filter` means, in list order.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn find_page(
        &self,
        filter: &Filter<R::Field>,
        page: Paging,
    ) -> Result<Vec<Entry<R::Summary>>> {
        self.told(|| {
            let part = Part {
                sort: Sort::List,
                offset: page.offset,
                limit: page.limit,
                after: None,
            };
            let found = self.run(filter, &part, Shape::of_summaries())?;
            let mut read = R::summaries();
            let ids = found.table.ids().iter().enumerate();
            let entries = ids.map(|(at, &id)| Entry {
                id,
                summary: read(found.table.row(at)),
            });
            Ok(entries.collect())
        })
    }

    fn answer(&self, query: &Query<R::Column>) -> Result<(Rows<R::Column>, Plan)> {
        let shape = Shape::of(query.columns);
        let found = self.run(&query.filter, &query.part, shape)?;
        let rows = Rows::new(query.columns, found.table, found.next);
        Ok((rows, found.plan))
    }

    fn run(&self, filter: &Filter<R::Field>, part: &Part, shape: Shape) -> Result<run::Answer> {
        let matcher = Matcher::new(filter, self.store.region()?);
        run::run(
            self.store,
            self.conn,
            self.collection,
            &matcher,
            part,
            shape,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_read_back_as_written() {
        let cursor = Cursor {
            sort: vec![0x2b, 0x00, 0xff],
            id: 42,
        };
        assert_eq!(cursor.to_string(), "42.2b00ff");
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for bad in ["", "42", "x.00", "42.0", "42.0g", "42.é"] {
            assert_eq!(bad.parse::<Cursor>(), Err(BadCursor), "{bad}");
        }
    }
}
