//! The collections of a store: found, made, named. What is an address book's or a calendar's by
//! name is the same of its kind.

use crate::calendar::{self, Calendar};
use crate::collection::{Collection, Record, names};
use crate::contacts::{Card, Contacts};
use crate::engine::Size;
use crate::error::Result;
use crate::store::Store;

impl Store {
    /// A collection: that of this name, or, without a name, the default one of its kind, which is
    /// the first.
    ///
    /// # Errors
    /// [`Error::NoCollection`](crate::Error::NoCollection), with the names there are.
    pub fn collection<R: Record>(&self, name: Option<&str>) -> Result<Collection<'_, R>> {
        let (all, waits) = self.engine.read(|conn| names::look(conn, R::KIND))?;
        if waits {
            self.take_inbox_in()?;
        }
        Ok(Collection::new(self, names::of(all, R::KIND, name)?))
    }

    /// Creates a collection.
    ///
    /// # Errors
    /// [`Error::CollectionExists`](crate::Error::CollectionExists),
    /// [`Error::BadName`](crate::Error::BadName).
    pub fn create_collection<R: Record>(&self, name: &str) -> Result<Collection<'_, R>> {
        let made = self.write_of(Size::Small, |conn| names::create(conn, R::KIND, name))?;
        Ok(Collection::new(self, made))
    }

    /// The names of the collections of a kind, the default one first.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn collections<R: Record>(&self) -> Result<Vec<String>> {
        let all = self.engine.read(|conn| names::all(conn, R::KIND))?;
        Ok(all.into_iter().map(|c| c.name).collect())
    }

    /// The default address book: the first one.
    ///
    /// # Errors
    /// As [`Store::collection`].
    pub fn contacts(&self) -> Result<Contacts<'_>> {
        self.collection(None)
    }

    /// The address book of this name.
    ///
    /// # Errors
    /// As [`Store::collection`].
    pub fn address_book(&self, name: &str) -> Result<Contacts<'_>> {
        self.collection(Some(name))
    }

    /// Creates an address book.
    ///
    /// # Errors
    /// As [`Store::create_collection`].
    pub fn create_address_book(&self, name: &str) -> Result<Contacts<'_>> {
        self.create_collection(name)
    }

    /// The names of the address books, the default one first.
    ///
    /// # Errors
    /// As [`Store::collections`].
    pub fn address_books(&self) -> Result<Vec<String>> {
        self.collections::<Card>()
    }

    /// The default calendar: the first one.
    ///
    /// # Errors
    /// As [`Store::collection`].
    pub fn calendar(&self) -> Result<Calendar<'_>> {
        self.collection(None)
    }

    /// The calendar of this name.
    ///
    /// # Errors
    /// As [`Store::collection`].
    pub fn calendar_named(&self, name: &str) -> Result<Calendar<'_>> {
        self.collection(Some(name))
    }

    /// Creates a calendar.
    ///
    /// # Errors
    /// As [`Store::create_collection`].
    pub fn create_calendar(&self, name: &str) -> Result<Calendar<'_>> {
        self.create_collection(name)
    }

    /// The names of the calendars, the default one first.
    ///
    /// # Errors
    /// As [`Store::collections`].
    pub fn calendars(&self) -> Result<Vec<String>> {
        self.collections::<calendar::Record>()
    }
}
