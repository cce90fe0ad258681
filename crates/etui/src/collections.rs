//! The collections of a store: found, made, renamed, removed, brought back. What is an address
//! book's or a calendar's by name is the same of its kind.

use std::sync::atomic::Ordering;

use rusqlite::Connection;

use crate::calendar::{self, Calendar};
use crate::collection::names::{Keep, Removed};
use crate::collection::records::{Writing, remove_all, removed_at};
use crate::collection::write::bring_back;
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
        // Most programs ask for one, and no more.
        let keep = match self.collection_asked.swap(true, Ordering::Relaxed) {
            true => Keep::Statement,
            false => Keep::Nothing,
        };
        let (all, waits) = self.engine.read(|conn| names::look(conn, R::KIND, keep))?;
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

    /// Gives a collection another name. Handles, views and tokens of it stay good.
    ///
    /// # Errors
    /// [`Error::NoCollection`](crate::Error::NoCollection),
    /// [`Error::CollectionExists`](crate::Error::CollectionExists),
    /// [`Error::BadName`](crate::Error::BadName).
    pub fn rename_collection<R: Record>(&self, name: &str, to: &str) -> Result<Collection<'_, R>> {
        let renamed = self.after_inbox(|conn| names::rename(conn, R::KIND, name, to))?;
        Ok(Collection::new(self, renamed))
    }

    /// Removes a collection with all its records, in one transaction, and tells how many there
    /// were. For 30 days it can be brought back.
    ///
    /// Views of it tell of every record that is gone; who has a handle of it still, reads no records
    /// and cannot save any. If it was the default one, the next of its kind is that from now on.
    ///
    /// # Errors
    /// [`Error::NoCollection`](crate::Error::NoCollection);
    /// [`Error::LastCollection`](crate::Error::LastCollection): a store has one of each kind.
    pub fn remove_collection<R: Record>(&self, name: &str) -> Result<u64> {
        let order = self.order()?;
        self.after_inbox(|conn| {
            let Removed { id, at } = names::remove(conn, R::KIND, name)?;
            let removed = Writing::run(conn, order, |writing| remove_all(conn, writing, id, at))?;
            let first = names::one(conn, R::KIND, None)?.id;
            if id < first {
                names::meant_anew(conn, first)?;
            }
            Ok(removed)
        })
    }

    /// Brings back the collection of this name that was removed last, with the records that were
    /// removed with it, and tells how many those are.
    ///
    /// # Errors
    /// [`Error::NoRemovedCollection`](crate::Error::NoRemovedCollection);
    /// [`Error::CollectionExists`](crate::Error::CollectionExists): rename that one first.
    pub fn restore_collection<R: Record>(&self, name: &str) -> Result<u64> {
        let with = self.deriving()?;
        self.write(|conn| {
            let Removed { id, at } = names::restore(conn, R::KIND, name)?;
            let uids = removed_at(conn, id, at)?;
            Writing::run(conn, with.order, |writing| {
                uids.iter()
                    .try_for_each(|uid| bring_back::<R>(conn, writing, &with, id, uid).map(|_| ()))
            })?;
            names::meant_anew(conn, id)?;
            Ok(uids.len() as u64)
        })
    }

    /// A write transaction for which all is there that was saved by name before.
    fn after_inbox<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.settle();
        let with = self.deriving()?;
        self.write(|conn| {
            crate::inbox::drain(conn, &with)?;
            work(conn)
        })
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

    /// Gives an address book another name.
    ///
    /// # Errors
    /// As [`Store::rename_collection`].
    pub fn rename_address_book(&self, name: &str, to: &str) -> Result<Contacts<'_>> {
        self.rename_collection(name, to)
    }

    /// Removes an address book with all its contacts; see [`Store::remove_collection`].
    ///
    /// # Errors
    /// As [`Store::remove_collection`].
    pub fn remove_address_book(&self, name: &str) -> Result<u64> {
        self.remove_collection::<Card>(name)
    }

    /// Brings back an address book that was removed.
    ///
    /// # Errors
    /// As [`Store::restore_collection`].
    pub fn restore_address_book(&self, name: &str) -> Result<u64> {
        self.restore_collection::<Card>(name)
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

    /// Gives a calendar another name.
    ///
    /// # Errors
    /// As [`Store::rename_collection`].
    pub fn rename_calendar(&self, name: &str, to: &str) -> Result<Calendar<'_>> {
        self.rename_collection(name, to)
    }

    /// Removes a calendar with all its entries; see [`Store::remove_collection`].
    ///
    /// # Errors
    /// As [`Store::remove_collection`].
    pub fn remove_calendar(&self, name: &str) -> Result<u64> {
        self.remove_collection::<calendar::Record>(name)
    }

    /// Brings back a calendar that was removed.
    ///
    /// # Errors
    /// As [`Store::restore_collection`].
    pub fn restore_calendar(&self, name: &str) -> Result<u64> {
        self.restore_collection::<calendar::Record>(name)
    }

    /// The names of the calendars, the default one first.
    ///
    /// # Errors
    /// As [`Store::collections`].
    pub fn calendars(&self) -> Result<Vec<String>> {
        self.collections::<calendar::Record>()
    }
}
