//! [`Query`]: a filter, an order, a page and the columns to show, over one kind of record.
//!
//! A kind's [`ColumnSet`] defines its columns ([`contacts::Column`](crate::contacts::Column), where
//! there is an example). With the fields of its filters and its list summary it is a
//! [`SearchableRecord`]. The executor knows only keys, list positions and ids.

mod candidates;
mod collections;
mod columns;
mod executor;
mod given_records;
mod query_plan;
mod ranks;
pub(crate) mod record_reader;
mod row_sink;
mod rows;

use std::fmt;
use std::str::FromStr;

use crate::error::Result;
use crate::record::{Paging, ReadState, Reader, RecordKind, list};
use crate::search::filter::{FieldSet, Filter, Matcher};
use crate::types::RecordId;
use columns::RowShape;

pub use collections::{CollectionRows, query_collections};
pub use columns::{ColumnSet, ColumnValues, Columns, UnknownColumn};
pub(crate) use columns::{SummaryReader, columns};
pub use query_plan::{AccessPath, QueryPlan};
use ranks::Ranks;
pub(crate) use rows::RowBuffer;
pub use rows::{Row, Rows};

/// A kind of record that can be filtered, listed and watched.
///
/// Implemented by [`Card`](crate::contacts::Card), [`CalendarObject`](crate::calendar::CalendarObject)
/// and the kinds of the media library.
pub trait SearchableRecord: RecordKind {
    /// The fields of its filters.
    type Field: FieldSet;
    /// The columns of its queries.
    type Column: ColumnSet<Field = Self::Field>;
    /// What its lists show without reading the text.
    type Summary: Clone + fmt::Debug + PartialEq + Eq;

    /// Returns a decoder of stored summaries. It may cache parts that summaries share.
    #[doc(hidden)]
    fn summary_decoder() -> impl FnMut(&[u8]) -> Self::Summary;
}

/// A list entry: a record as lists show it, read without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListEntry<S> {
    /// The record's id in the store.
    pub id: RecordId,
    /// The columns that a list shows.
    pub summary: S,
}

/// The order of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SortOrder {
    /// List order: contacts by name, in the collation of the store's locale; calendar objects by
    /// start.
    #[default]
    List,
    /// Reverse list order.
    ListReversed,
    /// By id: the order in which records were added.
    Added,
    /// By id, latest first.
    AddedReversed,
    /// The cheapest order. It is stable while the store does not change.
    Unordered,
    /// The best matches first, those of one rank in list order: the order of [`Query::ranked`]. Other
    /// queries have one rank.
    Rank,
}

impl SortOrder {
    /// Returns the order of this name. The name of list order depends on the kind of record.
    ///
    /// # Errors
    /// [`UnknownSortOrder`] with the names there are.
    pub fn from_name<C: ColumnSet>(text: &str) -> std::result::Result<Self, UnknownSortOrder> {
        let found = C::SORTS.iter().find(|(name, _)| *name == text);
        found.map(|(_, sort)| *sort).ok_or_else(|| {
            let mut known: Vec<_> = C::SORTS.iter().map(|(name, _)| *name).collect();
            let last = known.pop().unwrap_or_default();
            UnknownSortOrder {
                name: text.to_owned(),
                known: format!("{} and {last}", known.join(", ")),
            }
        })
    }

    fn is_reversed(self) -> bool {
        matches!(self, Self::ListReversed | Self::AddedReversed)
    }

    fn is_list(self) -> bool {
        matches!(self, Self::List | Self::ListReversed | Self::Rank)
    }

    fn is_by_id(self) -> bool {
        matches!(self, Self::Added | Self::AddedReversed)
    }
}

/// No sort order has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no order \"{name}\"; orders are {known}")]
pub struct UnknownSortOrder {
    name: String,
    known: String,
}

/// A position in an ordered answer, after one record and before the next. It stays valid while
/// records are added and removed, its own record included.
///
/// In text: the record's id, its sort key in hexadecimal digits and its rank if there is more than
/// one, `42.2b2f01` or `42.2b2f01.3`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor {
    pub(crate) sort: Vec<u8>,
    pub(crate) id: i64,
    /// The index of its rank among [`Query::ranked`]'s.
    pub(crate) rank: u8,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.", self.id)?;
        self.sort.iter().try_for_each(|b| write!(f, "{b:02x}"))?;
        match self.rank {
            0 => Ok(()),
            rank => write!(f, ".{rank}"),
        }
    }
}

/// The text is not a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a cursor looks like 42.2b2f01; it comes from an earlier answer")]
pub struct InvalidCursor;

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> std::result::Result<Self, InvalidCursor> {
        let (id, sort) = text.split_once('.').ok_or(InvalidCursor)?;
        let (sort, rank) = sort.split_once('.').unwrap_or((sort, "0"));
        let digit = |b: u8| (b as char).to_digit(16).ok_or(InvalidCursor);
        let sort = sort.as_bytes().chunks(2).map(|pair| match pair {
            &[high, low] => Ok((digit(high)? << 4 | digit(low)?) as u8),
            _ => Err(InvalidCursor),
        });
        Ok(Self {
            id: id.parse().map_err(|_| InvalidCursor)?,
            sort: sort.collect::<std::result::Result<_, _>>()?,
            rank: rank.parse().map_err(|_| InvalidCursor)?,
        })
    }
}

/// A filter, an order, a page, and the columns to show.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query<C: ColumnSet> {
    filter: Filter<C::Field>,
    /// The filters of the ranks, the best first; the last is `filter`.
    ranks: Vec<Filter<C::Field>>,
    columns: Columns<C>,
    window: ResultWindow,
}

/// The order of an answer, and the part of it that is returned.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ResultWindow {
    sort: SortOrder,
    offset: u64,
    limit: u64,
    after: Option<Cursor>,
    /// The start of the next page is wanted: it is read from the last row's record.
    wants_cursor: bool,
}

impl<C: ColumnSet> Query<C> {
    /// Returns a query for all records that match `filter`, in list order, with the summary's
    /// columns.
    pub fn new(filter: Filter<C::Field>) -> Self {
        Self {
            filter,
            ranks: Vec::new(),
            columns: Columns::SUMMARY,
            window: ResultWindow {
                sort: SortOrder::List,
                offset: 0,
                limit: u64::MAX,
                after: None,
                wants_cursor: true,
            },
        }
    }

    /// Returns a query for the records that a person means by `filter`, the best matches first
    /// ([`SortOrder::Rank`]).
    ///
    /// Plain words of contacts, those without a field, are looked for in names, then in organisations,
    /// e-mail addresses and phone numbers, then in titles, postal addresses, notes, categories and
    /// e-mail domains; of one rank, people are before organisations. Calendar objects have one rank.
    ///
    /// ```
    /// # use etui::{Store, contacts::{Card, Query}};
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path().join("personal.etui"))?;
    /// # let contacts = store.contacts()?;
    /// for card in ["FN:Ada Baker\nN:Baker;Ada\nNOTE:drinks tea", "FN:Tea House\nORG:Tea House",
    ///     "FN:Tea Zimmer\nN:Zimmer;Tea"]
    /// {
    ///     contacts.save(&Card::parse(format!("BEGIN:VCARD\nVERSION:3.0\n{card}\nEND:VCARD\n"))?)?;
    /// }
    /// let found = contacts.query(&Query::ranked("tea".parse()?))?;
    /// let names: Vec<&str> = found.iter().map(|row| row.name()).collect();
    /// assert_eq!(names, ["Tea Zimmer", "Tea House", "Ada Baker"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ranked(filter: Filter<C::Field>) -> Self {
        let ranks = filter.ranks();
        match ranks.last() {
            Some(widest) if ranks.len() > 1 => Self {
                ranks: ranks.clone(),
                ..Self::new(widest.clone()).sort(SortOrder::Rank)
            },
            _ => Self::new(filter),
        }
    }

    /// Returns the filter. Of [`Query::ranked`] it is the widest.
    pub fn filter(&self) -> &Filter<C::Field> {
        &self.filter
    }

    /// Returns a query for all records.
    pub fn all() -> Self {
        Self::new(Filter::All)
    }

    /// Sets the order.
    pub fn sort(mut self, sort: SortOrder) -> Self {
        self.window.sort = sort;
        self
    }

    /// Sets the columns to show.
    pub fn columns(self, columns: impl Into<Columns<C>>) -> Self {
        Self {
            columns: columns.into(),
            ..self
        }
    }

    /// Returns at most `limit` records.
    pub fn limit(mut self, limit: u64) -> Self {
        self.window.limit = limit;
        self
    }

    /// Skips the first `offset` records.
    pub fn offset(mut self, offset: u64) -> Self {
        self.window.offset = offset;
        self
    }

    /// Starts after a cursor ([`Rows::next`]). The cursor must be of an answer in the same order;
    /// [`SortOrder::Unordered`] has none.
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.window.after = Some(cursor);
        self
    }
}

impl<R: SearchableRecord> Reader<R> {
    /// Answers `query`.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn query(&self, query: &Query<R::Column>) -> Result<Rows<R::Column>> {
        self.read_ordered(|r| r.query(query))
    }

    /// Answers `query` and returns its plan: the access path, and the number of records read.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn explain(&self, query: &Query<R::Column>) -> Result<QueryPlan> {
        self.read_ordered(|r| r.explain(query))
    }

    /// Returns a page of the list.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn list(&self, page: Paging) -> Result<Vec<ListEntry<R::Summary>>> {
        self.read_ordered(|r| r.list(page))
    }

    /// Returns the records that match `filter`, in list order.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn find(&self, filter: &Filter<R::Field>) -> Result<Vec<ListEntry<R::Summary>>> {
        self.find_page(filter, Paging::ALL)
    }

    /// Returns a page of the records that match `filter`, in list order.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn find_page(
        &self,
        filter: &Filter<R::Field>,
        page: Paging,
    ) -> Result<Vec<ListEntry<R::Summary>>> {
        self.read_ordered(|r| r.find_page(filter, page))
    }
}

impl<R: SearchableRecord> ReadState<'_, R> {
    /// See [`Reader::query`].
    pub(crate) fn query(&self, query: &Query<R::Column>) -> Result<Rows<R::Column>> {
        self.explain_errors(|| Ok(self.run_query(query)?.0))
    }

    /// See [`Reader::explain`].
    pub(crate) fn explain(&self, query: &Query<R::Column>) -> Result<QueryPlan> {
        self.explain_errors(|| {
            let (_, plan) = self.run_query(query)?;
            Ok(QueryPlan {
                filter: query.filter.to_string(),
                records: list::count(self.conn, self.collection)?,
                ..plan
            })
        })
    }

    /// See [`Reader::list`].
    pub(crate) fn list(&self, page: Paging) -> Result<Vec<ListEntry<R::Summary>>> {
        self.find_page(&Filter::All, page)
    }

    /// See [`Reader::find_page`].
    pub(crate) fn find_page(
        &self,
        filter: &Filter<R::Field>,
        page: Paging,
    ) -> Result<Vec<ListEntry<R::Summary>>> {
        self.explain_errors(|| {
            let window = ResultWindow {
                sort: SortOrder::List,
                offset: page.offset,
                limit: page.limit,
                after: None,
                wants_cursor: false,
            };
            let found = self.execute_filter(filter, &[], &window, RowShape::encoded_summaries())?;
            let mut decode = R::summary_decoder();
            let ids = found.rows.ids().iter().enumerate();
            let entries = ids.map(|(at, &id)| ListEntry {
                id,
                summary: decode(found.rows.encoded_row(at)),
            });
            Ok(entries.collect())
        })
    }

    fn run_query(&self, query: &Query<R::Column>) -> Result<(Rows<R::Column>, QueryPlan)> {
        let shape = RowShape::new(query.columns);
        let found = self.execute_filter(&query.filter, &query.ranks, &query.window, shape)?;
        let rows = Rows::new(query.columns, found.rows, found.next);
        Ok((rows, found.plan))
    }

    fn execute_filter(
        &self,
        filter: &Filter<R::Field>,
        ranks: &[Filter<R::Field>],
        window: &ResultWindow,
        shape: RowShape,
    ) -> Result<executor::QueryResult> {
        let matcher = Matcher::new(filter, self.db.region());
        let ranks = match window.sort {
            SortOrder::Rank => self.ranks(ranks),
            _ => self.ranks(&[]),
        };
        executor::execute_query(self.conn, self.collection, &matcher, &ranks, window, shape)
    }

    /// Compiles the filters of the ranks.
    fn ranks(&self, ranks: &[Filter<R::Field>]) -> Ranks {
        let ranks = ranks
            .iter()
            .map(|rank| Matcher::new(rank, self.db.region()));
        Ranks(ranks.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use crate::contacts::Card;

    /// The first screen of a cold store reads the pages of the list, and none of the records.
    #[test]
    fn a_page_of_the_list_reads_no_record() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("s.etui")).unwrap();
        let contacts = store.contacts().unwrap();
        for name in ["Ada", "Bert"] {
            contacts.save(&Card::new(name).unwrap()).unwrap();
        }
        let rename = "ALTER TABLE record RENAME TO elsewhere";
        store
            .db
            .write_unhooked(|conn| Ok(conn.execute_batch(rename)?))
            .unwrap();
        let page = contacts.list(Paging::first(1)).unwrap();
        assert_eq!(page[0].summary.name, "Ada");
        // A query does, for the start of its next page.
        let query = Query::new(Filter::All).limit(1);
        assert!(contacts.query(&query).is_err());
    }

    #[test]
    fn cursors_read_back_as_written() {
        let cursor = Cursor {
            sort: vec![0x2b, 0x00, 0xff],
            id: 42,
            rank: 0,
        };
        assert_eq!(cursor.to_string(), "42.2b00ff");
        let ranked = Cursor {
            rank: 3,
            ..cursor.clone()
        };
        assert_eq!(ranked.to_string(), "42.2b00ff.3");
        for cursor in [cursor, ranked] {
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        for bad in [
            "",
            "42",
            "x.00",
            "42.0",
            "42.0g",
            "42.é",
            "42.00.",
            "42.00.x",
            "42.00.300",
        ] {
            assert_eq!(bad.parse::<Cursor>(), Err(InvalidCursor), "{bad}");
        }
    }
}
