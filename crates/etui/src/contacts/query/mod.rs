//! [`Query`]: which contacts, in which order, which of them, showing what.
//!
//! ```
//! use etui::Store;
//! use etui::contacts::{Card, Column, Query};
//!
//! # let dir = tempfile::tempdir()?;
//! # let store = Store::open(dir.path().join("personal.etui"))?;
//! let contacts = store.contacts()?;
//! # for (n, name) in ["Ada Lovelace", "Alan Turing", "Grace Hopper"].iter().enumerate() {
//! #     contacts.save(&Card::parse(format!("BEGIN:VCARD\nUID:{n}\nFN:{name}\nEND:VCARD\n"))?)?;
//! # }
//! // A page of the list, as a screen shows it.
//! let page = contacts.query(&Query::all().limit(2).columns(Column::Name | Column::Email))?;
//! assert_eq!(page.iter().map(|row| row.name()).collect::<Vec<_>>(), ["Ada Lovelace", "Alan Turing"]);
//!
//! // The next one, from where that one ended, whatever was saved meanwhile.
//! let next = page.next().expect("there are more").clone();
//! let page = contacts.query(&Query::all().limit(2).after(next))?;
//! assert_eq!(page.iter().map(|row| row.name()).collect::<Vec<_>>(), ["Grace Hopper"]);
//!
//! // How a search is answered.
//! let search = Query::new("name:tur*".parse()?);
//! println!("{}", contacts.explain(&search)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod page;
mod plan;
mod records;
mod rows;
mod run;
mod sets;

use std::fmt;
use std::str::FromStr;

pub use plan::{Plan, Way};
pub use rows::{BadColumn, Column, Columns, Row, Rows};
pub(crate) use run::run;

use super::filter::Filter;
use super::{Contacts, Entry, Page, Reader, Summary};
use crate::collection::list;

/// In which order contacts come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sort {
    /// The list's: by name, as the store's locale orders names.
    #[default]
    Name,
    /// The list's, from its end.
    NameReversed,
    /// As they were added.
    Added,
    /// The latest added first.
    AddedReversed,
    /// As they are found, which is the cheapest; the same in the same state of the store.
    Found,
}

impl Sort {
    /// Every order with its name in text.
    pub const NAMES: &'static [(&'static str, Sort)] = &[
        ("name", Sort::Name),
        ("-name", Sort::NameReversed),
        ("added", Sort::Added),
        ("-added", Sort::AddedReversed),
        ("found", Sort::Found),
    ];

    pub(crate) fn is_reversed(self) -> bool {
        matches!(self, Self::NameReversed | Self::AddedReversed)
    }
}

/// There is no such order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no order \"{0}\"; orders are name, -name, added, -added and found")]
pub struct BadSort(String);

impl FromStr for Sort {
    type Err = BadSort;

    fn from_str(text: &str) -> Result<Self, BadSort> {
        let found = Self::NAMES.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, sort)| *sort)
            .ok_or_else(|| BadSort(text.to_owned()))
    }
}

/// A place in an ordered answer: behind one contact, before the next. It stays where it is while
/// others come and go, also when its contact goes.
///
/// Written as the contact's number and, in hexadecimal digits, its sort key: `42.2b2f01`.
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

    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let (id, sort) = text.split_once('.').ok_or(BadCursor)?;
        let digit = |b: u8| (b as char).to_digit(16).ok_or(BadCursor);
        let sort = sort.as_bytes().chunks(2).map(|pair| match pair {
            &[high, low] => Ok((digit(high)? << 4 | digit(low)?) as u8),
            _ => Err(BadCursor),
        });
        Ok(Self {
            id: id.parse().map_err(|_| BadCursor)?,
            sort: sort.collect::<Result<_, _>>()?,
        })
    }
}

/// Which contacts, in which order, which of them, showing what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub(crate) filter: Filter,
    pub(crate) sort: Sort,
    pub(crate) columns: Columns,
    pub(crate) offset: u64,
    pub(crate) limit: u64,
    pub(crate) after: Option<Cursor>,
}

impl Query {
    /// The contacts that `filter` means: all of them in the list's order, with what a list shows.
    #[must_use]
    pub fn new(filter: Filter) -> Self {
        Self {
            filter,
            sort: Sort::Name,
            columns: Columns::SUMMARY,
            offset: 0,
            limit: u64::MAX,
            after: None,
        }
    }

    /// All contacts.
    #[must_use]
    pub fn all() -> Self {
        Self::new(Filter::All)
    }

    /// In this order.
    #[must_use]
    pub fn sort(self, sort: Sort) -> Self {
        Self { sort, ..self }
    }

    /// Showing these fields.
    #[must_use]
    pub fn columns(self, columns: impl Into<Columns>) -> Self {
        Self {
            columns: columns.into(),
            ..self
        }
    }

    /// So many at the most.
    #[must_use]
    pub fn limit(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    /// From the one at this position on, the first being 0.
    #[must_use]
    pub fn offset(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// From the one behind this place on ([`Rows::next`]). Of an answer in another order, or
    /// with [`Sort::Found`], it says nothing.
    #[must_use]
    pub fn after(self, cursor: Cursor) -> Self {
        Self {
            after: Some(cursor),
            ..self
        }
    }
}

impl Contacts<'_> {
    /// The contacts that `query` means, showing what it asks for. See [`Query`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn query(&self, query: &Query) -> crate::Result<Rows> {
        self.read_ordered(|r| r.query(query))
    }

    /// Answers `query` and tells how. See [`Reader::explain`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn explain(&self, query: &Query) -> crate::Result<Plan> {
        self.read_ordered(|r| r.explain(query))
    }

    /// A page of the list. See [`Reader::list`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn list(&self, page: Page) -> crate::Result<Vec<Entry>> {
        self.read_ordered(|r| r.list(page))
    }

    /// The contacts that `filter` means, in list order. See [`Reader::find`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn find(&self, filter: &Filter) -> crate::Result<Vec<Entry>> {
        self.find_page(filter, Page::ALL)
    }

    /// A page of the contacts that `filter` means, in list order.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn find_page(&self, filter: &Filter, page: Page) -> crate::Result<Vec<Entry>> {
        self.read_ordered(|r| r.find_page(filter, page))
    }
}

impl Reader<'_> {
    /// The contacts that `query` means, showing what it asks for.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn query(&self, query: &Query) -> crate::Result<Rows> {
        self.told(|| Ok(run(self.store, self.conn, self.collection, query)?.0))
    }

    /// Answers `query` and tells how: what was looked up, read and compared.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn explain(&self, query: &Query) -> crate::Result<Plan> {
        self.told(|| {
            let (_, plan) = run(self.store, self.conn, self.collection, query)?;
            Ok(Plan {
                filter: query.filter.to_string(),
                contacts: list::count(self.conn, self.collection)?,
                ..plan
            })
        })
    }

    /// A page of the list, in the store's locale order.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn list(&self, page: Page) -> crate::Result<Vec<Entry>> {
        self.find_page(&Filter::All, page)
    }

    /// The contacts that `filter` means, in list order.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn find(&self, filter: &Filter) -> crate::Result<Vec<Entry>> {
        self.find_page(filter, Page::ALL)
    }

    /// A page of the contacts that `filter` means, in list order.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn find_page(&self, filter: &Filter, page: Page) -> crate::Result<Vec<Entry>> {
        let query = Query::new(filter.clone())
            .offset(page.offset)
            .limit(page.limit);
        let rows = self.query(&query)?;
        let entries = rows.iter().map(|row| Entry {
            id: row.id(),
            summary: Summary {
                name: row.get(Column::Name).to_owned(),
                organization: row.get(Column::Organization).to_owned(),
                phone: row.get(Column::Phone).to_owned(),
                email: row.get(Column::Email).to_owned(),
            },
        });
        Ok(entries.collect())
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
