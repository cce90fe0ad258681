//! Reading: by UID, by page, by filter, all at once.

use rusqlite::{Connection, OptionalExtension, Row};

use super::card::{Card, CardError};
use super::filter::Filter;
use super::keys::Summary;
use super::query::{self, Column, Plan, Query, Rows};
use crate::collection::{Changes, ETag, RecordId, Token, changes, list};
use crate::error::Result;
use crate::store::Store;

/// A contact as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// Its number in the store.
    pub id: RecordId,
    /// Its UID (or the identity that stands for one).
    pub uid: String,
    /// The version of its content.
    pub etag: ETag,
    /// The vCard, byte for byte as it came.
    pub text: Vec<u8>,
}

impl Contact {
    const COLUMNS: &'static str = "id, uid, etag, text";

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: RecordId(row.get(0)?),
            uid: row.get(1)?,
            etag: row.get(2)?,
            text: row.get(3)?,
        })
    }

    /// The vCard, parsed.
    ///
    /// # Errors
    /// [`CardError`] when another program put text into the store that is no vCard.
    pub fn card(&self) -> std::result::Result<Card, CardError> {
        Card::parse(self.text.clone())
    }
}

/// What a list shows of a contact, read without its vCard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number in the store.
    pub id: RecordId,
    /// Name, organisation, phone and e-mail.
    pub summary: Summary,
}

/// A letter under which names are found in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The letter, e.g. `A`.
    pub label: String,
    /// The position of the first name under it, or of the next letter's if there is none.
    pub position: u64,
}

/// Which part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Entries left out before it.
    pub offset: u64,
    /// Entries on it at the most.
    pub limit: u64,
}

impl Page {
    /// Everything.
    pub const ALL: Self = Self {
        offset: 0,
        limit: u64::MAX,
    };

    /// The first `limit` entries.
    #[must_use]
    pub fn first(limit: u64) -> Self {
        Self { offset: 0, limit }
    }
}

/// Many vCards in one piece of memory.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    bytes: Vec<u8>,
    /// Each record and where its text ends.
    ends: Vec<(RecordId, usize)>,
}

impl Texts {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All of them, one after the other.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Each record with its vCard.
    pub fn iter(&self) -> impl Iterator<Item = (RecordId, &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(id, end)| {
            let text = &self.bytes[start..end];
            start = end;
            (id, text)
        })
    }
}

/// An address book in one state of the store.
pub struct Reader<'c> {
    store: &'c Store,
    conn: &'c Connection,
    book: i64,
}

impl<'c> Reader<'c> {
    pub(crate) fn new(store: &'c Store, conn: &'c Connection, book: i64) -> Self {
        Self { store, conn, book }
    }

    /// Runs `work`, and tells of an error in this crate's terms.
    fn told<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        work().map_err(|e| self.store.engine.explain(e))
    }

    /// The contact with this UID; `None` when there is none (or it was removed).
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn get(&self, uid: &str) -> Result<Option<Contact>> {
        self.told(|| {
            Ok(self
                .conn
                .prepare_cached(
                    "SELECT id, uid, etag, text FROM record \
                 WHERE collection = ?1 AND uid = ?2 AND removed IS NULL",
                )?
                .query_row((self.book, uid), Contact::from_row)
                .optional()?)
        })
    }

    /// The contacts with these UIDs, in the order asked; `None` where there is none.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn get_many<U: AsRef<str>>(&self, uids: &[U]) -> Result<Vec<Option<Contact>>> {
        self.told(|| {
            let mut statement = self.conn.prepare_cached(
                "SELECT id, uid, etag, text FROM record \
             WHERE collection = ?1 AND uid = ?2 AND removed IS NULL",
            )?;
            uids.iter()
                .map(|uid| {
                    Ok(statement
                        .query_row((self.book, uid.as_ref()), Contact::from_row)
                        .optional()?)
                })
                .collect()
        })
    }

    /// The contact with this number; `None` when this address book has none.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn by_id(&self, id: RecordId) -> Result<Option<Contact>> {
        self.told(|| {
            Ok(self
                .conn
                .prepare_cached(
                    "SELECT id, uid, etag, text FROM record \
                 WHERE id = ?2 AND collection = ?1 AND removed IS NULL",
                )?
                .query_row((self.book, id.0), Contact::from_row)
                .optional()?)
        })
    }

    /// All vCards, in the order in which they were added.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn all(&self) -> Result<Texts> {
        let mut texts = Texts::default();
        self.for_each(|id, text| {
            texts.bytes.extend_from_slice(text);
            texts.ends.push((id, texts.bytes.len()));
            Ok(())
        })?;
        Ok(texts)
    }

    /// Calls `visit` with every vCard, in the order in which they were added, one in memory at
    /// a time. An error that `visit` returns ends it.
    ///
    /// # Errors
    /// Whatever reading reports, and what `visit` returns.
    pub fn for_each(&self, mut visit: impl FnMut(RecordId, &[u8]) -> Result<()>) -> Result<()> {
        self.told(|| {
            let mut statement = self.conn.prepare_cached(
                // In the order of the file; by way of `record_uid` they would have to be sorted.
                "SELECT id, text FROM record NOT INDEXED \
             WHERE collection = ?1 AND removed IS NULL ORDER BY id",
            )?;
            let mut rows = statement.query([self.book])?;
            while let Some(row) = rows.next()? {
                visit(
                    RecordId(row.get(0)?),
                    row.get_ref(1)?.as_blob().unwrap_or_default(),
                )?;
            }
            Ok(())
        })
    }

    /// How many contacts there are.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn count(&self) -> Result<u64> {
        self.told(|| list::count(self.conn, self.book))
    }

    /// Where in the list the names of each letter begin, in the locale's order of letters.
    /// What stands before the first (digits, contacts without a name) and behind the last (other
    /// scripts) is under none.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn letters(&self) -> Result<Vec<Letter>> {
        self.told(|| {
            let order = self.store.order()?;
            let begins = list::letters(self.conn, self.book, order.letter_bounds())?;
            let labels = order.letters().iter().cloned();
            Ok(labels
                .zip(begins)
                .map(|(label, position)| Letter { label, position })
                .collect())
        })
    }

    /// At which position of the list a contact stands, the first being 0. `None`: this address
    /// book has no such contact.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn position(&self, id: RecordId) -> Result<Option<u64>> {
        self.told(|| {
            let sort: Option<Vec<u8>> = self
                .conn
                .prepare_cached(
                    "SELECT sort FROM record \
                     WHERE id = ?1 AND collection = ?2 AND removed IS NULL",
                )?
                .query_row((id.0, self.book), |r| r.get(0))
                .optional()?;
            sort.map(|sort| list::position(self.conn, self.book, &sort, id.0))
                .transpose()
        })
    }

    /// The contacts that `query` means, showing what it asks for.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn query(&self, query: &Query) -> Result<Rows> {
        self.told(|| Ok(query::run(self.store, self.conn, self.book, query)?.0))
    }

    /// Answers `query` and tells how: what was looked up, read and compared.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn explain(&self, query: &Query) -> Result<Plan> {
        self.told(|| {
            let (_, plan) = query::run(self.store, self.conn, self.book, query)?;
            Ok(Plan {
                filter: query.filter.to_string(),
                contacts: list::count(self.conn, self.book)?,
                ..plan
            })
        })
    }

    /// A page of the list, in the store's locale order.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn list(&self, page: Page) -> Result<Vec<Entry>> {
        self.find_page(&Filter::All, page)
    }

    /// The contacts that `filter` means, in list order.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn find(&self, filter: &Filter) -> Result<Vec<Entry>> {
        self.find_page(filter, Page::ALL)
    }

    /// A page of the contacts that `filter` means, in list order.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn find_page(&self, filter: &Filter, page: Page) -> Result<Vec<Entry>> {
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

    /// Removed contacts that can be brought back, the latest first.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn trash(&self) -> Result<Vec<Contact>> {
        self.told(|| {
            let sql = format!(
                "SELECT {} FROM record WHERE collection = ?1 AND removed IS NOT NULL \
             ORDER BY changed DESC",
                Contact::COLUMNS
            );
            let mut statement = self.conn.prepare_cached(&sql)?;
            let found = statement.query_map([self.book], Contact::from_row)?;
            Ok(found.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// What was changed in this address book since `token`.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn changes_since(&self, token: &Token) -> Result<Changes> {
        self.told(|| changes::since(self.conn, self.book, token))
    }
}
