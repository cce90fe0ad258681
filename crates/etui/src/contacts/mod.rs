//! Contacts: address books of vCards, saved, found, listed.
//!
//! [`Contacts`] is one address book of a [`Store`]; [`Reader`] reads it from one state
//! ([`Store::snapshot`]). Records are [`Card`]s; what a list shows of them without reading them
//! is an [`Entry`]. [`Filter`] says which are meant.

mod card;
mod filter;
pub(crate) mod inbox;
pub(crate) mod keys;
pub(crate) mod query;
mod read;
mod view;
mod write;

pub use card::{
    Address, Card, CardError, Date, MAX_CARD, Name, NewProperty, Organization, Photo, Typed,
    Version,
};
pub use filter::{Field, Filter, FilterError, Match};
pub use keys::Summary;
pub use query::{
    BadColumn, BadCursor, BadSort, Column, Columns, Cursor, Plan, Query, Row, Rows, Sort, Way,
};
pub use read::{Contact, Entry, Letter, Page, Reader, Texts};
pub use view::{Loaded, View, ViewChange, ViewChanges};

use crate::collection::names::Named;
use crate::collection::shelf::Shelf;
use crate::collection::{Changes, RecordId, Token};
use crate::error::Result;
use crate::store::Store;

/// One address book of a store.
pub struct Contacts<'s> {
    store: &'s Store,
    shelf: Shelf<'s, Card>,
}

impl<'s> Contacts<'s> {
    pub(crate) fn new(store: &'s Store, book: Named) -> Self {
        Self {
            store,
            shelf: Shelf::new(store, book),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.shelf.name()
    }

    pub(crate) fn shelf(&self) -> &Shelf<'s, Card> {
        &self.shelf
    }

    /// The store it is in.
    #[must_use]
    pub fn store(&self) -> &'s Store {
        self.store
    }

    fn read<T>(&self, work: impl FnOnce(&Reader<'_>) -> Result<T>) -> Result<T> {
        self.store
            .engine
            .read_transaction(|conn| work(&Reader::new(self.store, conn, self.shelf.id())))
    }

    /// The contact with this UID. See [`Reader::get`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn get(&self, uid: &str) -> Result<Option<Contact>> {
        // One statement sees one state; it needs no transaction around it.
        self.store
            .engine
            .read(|conn| Reader::new(self.store, conn, self.shelf.id()).get(uid))
    }

    /// The contacts with these UIDs, in the order asked. See [`Reader::get_many`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn get_many<U: AsRef<str>>(&self, uids: &[U]) -> Result<Vec<Option<Contact>>> {
        self.read(|r| r.get_many(uids))
    }

    /// The contact with this number. See [`Reader::by_id`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn by_id(&self, id: RecordId) -> Result<Option<Contact>> {
        self.read(|r| r.by_id(id))
    }

    /// All vCards. See [`Reader::all`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn all(&self) -> Result<Texts> {
        self.read(|r| r.all())
    }

    /// How many contacts there are.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn count(&self) -> Result<u64> {
        self.store.ensure_order()?;
        self.read(|r| r.count())
    }

    /// Where in the list the names of each letter begin. See [`Reader::letters`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn letters(&self) -> Result<Vec<Letter>> {
        self.store.ensure_order()?;
        self.read(|r| r.letters())
    }

    /// At which position of the list a contact stands. See [`Reader::position`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn position(&self, id: RecordId) -> Result<Option<u64>> {
        self.store.ensure_order()?;
        self.read(|r| r.position(id))
    }

    /// The contacts that `query` means, showing what it asks for. See [`Query`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn query(&self, query: &Query) -> Result<Rows> {
        self.store.ensure_order()?;
        self.read(|r| r.query(query))
    }

    /// Answers `query` and tells how. See [`Reader::explain`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn explain(&self, query: &Query) -> Result<Plan> {
        self.store.ensure_order()?;
        self.read(|r| r.explain(query))
    }

    /// A page of the list. See [`Reader::list`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn list(&self, page: Page) -> Result<Vec<Entry>> {
        self.store.ensure_order()?;
        self.read(|r| r.list(page))
    }

    /// The contacts that `filter` means, in list order. See [`Reader::find`].
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
        self.store.ensure_order()?;
        self.read(|r| r.find_page(filter, page))
    }

    /// Removed contacts that can be brought back, the latest first. See [`Reader::trash`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn trash(&self) -> Result<Vec<Contact>> {
        self.read(|r| r.trash())
    }

    /// What was changed in this address book since `token`.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn changes_since(&self, token: &Token) -> Result<Changes> {
        self.read(|r| r.changes_since(token))
    }
}
