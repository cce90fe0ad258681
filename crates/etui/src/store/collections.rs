//! The collections of a store: found, made, renamed, removed, brought back. What is an address
//! book's or a calendar's by name is the same of its kind.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

use crate::calendar::{self, Calendar};
use crate::contacts::{Card, Contacts};
use crate::db::TransactionSize;
use crate::error::{Error, Result};
use crate::record::changes::KEPT_MS;
use crate::record::collection_table::{CollectionRef, RemovedRef};
use crate::record::records::{RecordWriter, count_removed_at, remove_all_records, uids_removed_at};
use crate::record::write::bring_back;
use crate::record::{Collection, RecordKind, collection_table};
use crate::store::Store;
use crate::types::CollectionKind;

/// A collection that was removed, and can be brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemovedCollection {
    /// Its number in the store, which no other one gets.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Records that were removed with it, and come back with it.
    pub records: u64,
    /// When it was removed, in Unix ms.
    at: i64,
}

impl RemovedCollection {
    /// When it was removed. It can be brought back for as long as its records are in the trash.
    #[must_use]
    pub fn removed(&self) -> SystemTime {
        system_time(self.at)
    }

    /// Returns the time until which it can certainly be restored, 30 days after its removal. It may be
    /// kept longer: see the trash.
    #[must_use]
    pub fn kept_until(&self) -> SystemTime {
        system_time(self.at.saturating_add(KEPT_MS))
    }
}

/// The moment so many ms after 1970-01-01T00:00Z; what is before that, or beyond what the system
/// can tell, is that.
fn system_time(ms: i64) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(ms).unwrap_or(0));
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

impl Store {
    /// A collection: that of this name, or, without a name, the default one of its kind, which is
    /// the first.
    ///
    /// # Errors
    /// [`Error::NoCollection`], with the names there are.
    pub fn collection<R: RecordKind>(&self, name: Option<&str>) -> Result<Collection<'_, R>> {
        self.drain_write_queue()?;
        let found = self
            .db
            .read(|conn| collection_table::find_collection(conn, R::KIND, name))?;
        Ok(Collection::new(&self.db, found))
    }

    /// Creates a collection.
    ///
    /// # Errors
    /// [`Error::CollectionExists`],
    /// [`Error::BadName`].
    pub fn create_collection<R: RecordKind>(&self, name: &str) -> Result<Collection<'_, R>> {
        let made = self.db.write_of(TransactionSize::Small, |conn| {
            collection_table::create_collection(conn, R::KIND, name)
        })?;
        Ok(Collection::new(&self.db, made))
    }

    /// The names of the collections of a kind, the default one first.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn collections<R: RecordKind>(&self) -> Result<Vec<String>> {
        let all = self
            .db
            .read(|conn| collection_table::list_collections(conn, R::KIND))?;
        Ok(all.into_iter().map(|c| c.name).collect())
    }

    /// Gives a collection another name. Handles, views and tokens of it stay good.
    ///
    /// # Errors
    /// [`Error::NoCollection`],
    /// [`Error::CollectionExists`],
    /// [`Error::BadName`].
    pub fn rename_collection<R: RecordKind>(
        &self,
        name: &str,
        to: &str,
    ) -> Result<Collection<'_, R>> {
        let renamed =
            self.after_queue(|conn| collection_table::rename_collection(conn, R::KIND, name, to))?;
        Ok(Collection::new(&self.db, renamed))
    }

    /// Removes a collection with all its records, in one transaction, and returns a description of it. It can
    /// be restored for at least 30 days.
    ///
    /// Its views report every record as removed; a handle to it reads as empty, and saves fail.
    /// If it was the default, the next oldest of its kind becomes the default.
    ///
    /// # Errors
    /// [`Error::NoCollection`];
    /// [`Error::LastCollection`]: a store has one of each kind.
    pub fn remove_collection<R: RecordKind>(&self, name: &str) -> Result<RemovedCollection> {
        self.remove(R::KIND, name, |_| Ok(()))
    }

    /// Removes a collection if it still has so many records, and its name: what somebody was asked
    /// about is what goes.
    ///
    /// # Errors
    /// [`Error::CollectionChanged`]; as [`Store::remove_collection`]. Then nothing was removed.
    pub fn remove_collection_if<R: RecordKind>(
        &self,
        collection: &Collection<'_, R>,
        records: u64,
    ) -> Result<RemovedCollection> {
        let name = collection.name();
        self.remove(R::KIND, name, |removed| {
            match removed.id == collection.id() && removed.records == records {
                true => Ok(()),
                false => Err(Error::CollectionChanged {
                    kind: R::KIND,
                    name: name.to_owned(),
                    expected: records,
                    found: removed.records,
                }),
            }
        })
    }

    /// Removes what has this name, unless `check` objects to that.
    fn remove(
        &self,
        kind: CollectionKind,
        name: &str,
        check: impl FnOnce(&RemovedCollection) -> Result<()>,
    ) -> Result<RemovedCollection> {
        let order = self.db.order();
        self.after_queue(|conn| {
            let RemovedRef { id, removed_at: at } =
                collection_table::remove_collection(conn, kind, name)?;
            let removed = RemovedCollection {
                id,
                name: name.to_owned(),
                records: RecordWriter::run(conn, order, |writing| {
                    remove_all_records(conn, writing, id, at)
                })?,
                at,
            };
            check(&removed)?;
            let first = collection_table::find_collection(conn, kind, None)?.id;
            if id < first {
                collection_table::start_history(conn, first)?;
            }
            Ok(removed)
        })
    }

    /// The collections of a kind that were removed and can be brought back, the latest first. There
    /// may be several of one name.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn removed_collections<R: RecordKind>(&self) -> Result<Vec<RemovedCollection>> {
        self.db.read_transaction(|conn| {
            let all = collection_table::list_removed(conn, R::KIND)?;
            let removed = all.into_iter().map(|(CollectionRef { id, name }, at)| {
                Ok(RemovedCollection {
                    id,
                    name,
                    records: count_removed_at(conn, id, at)?,
                    at,
                })
            });
            removed.collect()
        })
    }

    /// Brings back the collection of this name that was removed last, with the records that were
    /// removed with it, and tells how many those are.
    ///
    /// # Errors
    /// [`Error::NoRemovedCollection`];
    /// [`Error::CollectionExists`]: rename that one first, or see
    /// [`Store::restore_collection_as`].
    pub fn restore_collection<R: RecordKind>(&self, name: &str) -> Result<u64> {
        self.bring_back::<R>(name, name, |named, _| named.name == name)
    }

    /// Brings back this collection that was removed, under this name, and tells how many records
    /// came with it.
    ///
    /// # Errors
    /// [`Error::NoRemovedCollection`]: it was brought back
    /// already, or is forgotten;
    /// [`Error::CollectionExists`],
    /// [`Error::BadName`].
    pub fn restore_collection_as<R: RecordKind>(
        &self,
        removed: &RemovedCollection,
        name: &str,
    ) -> Result<u64> {
        self.bring_back::<R>(&removed.name, name, |named, at| {
            (named.id, at) == (removed.id, removed.at)
        })
    }

    /// Brings back the latest of which `is_meant` is true, under the name `to`.
    fn bring_back<R: RecordKind>(
        &self,
        name: &str,
        to: &str,
        is_meant: impl Fn(&CollectionRef, i64) -> bool,
    ) -> Result<u64> {
        let with = self.db.index_context();
        self.db.write(|conn| {
            let RemovedRef { id, removed_at: at } =
                collection_table::find_removed(conn, R::KIND, name, is_meant)?;
            collection_table::restore_collection(conn, R::KIND, id, to)?;
            let uids = uids_removed_at(conn, id, at)?;
            RecordWriter::run(conn, with.order, |writing| {
                uids.iter()
                    .try_for_each(|uid| bring_back::<R>(conn, writing, &with, id, uid).map(|_| ()))
            })?;
            collection_table::start_history(conn, id)?;
            Ok(uids.len() as u64)
        })
    }

    /// A write transaction for which all is there that was saved by name before.
    fn after_queue<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.commit_dirty();
        let with = self.db.index_context();
        self.db.write(|conn| {
            crate::store::write_queue::drain(conn, &with)?;
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
    pub fn remove_address_book(&self, name: &str) -> Result<RemovedCollection> {
        self.remove_collection::<Card>(name)
    }

    /// The address books that were removed and can be brought back, the latest first.
    ///
    /// # Errors
    /// As [`Store::removed_collections`].
    pub fn removed_address_books(&self) -> Result<Vec<RemovedCollection>> {
        self.removed_collections::<Card>()
    }

    /// Brings back the address book of this name that was removed last.
    ///
    /// # Errors
    /// As [`Store::restore_collection`].
    pub fn restore_address_book(&self, name: &str) -> Result<u64> {
        self.restore_collection::<Card>(name)
    }

    /// Brings back this address book that was removed, under this name.
    ///
    /// # Errors
    /// As [`Store::restore_collection_as`].
    pub fn restore_address_book_as(&self, removed: &RemovedCollection, name: &str) -> Result<u64> {
        self.restore_collection_as::<Card>(removed, name)
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
    pub fn remove_calendar(&self, name: &str) -> Result<RemovedCollection> {
        self.remove_collection::<calendar::CalendarObject>(name)
    }

    /// The calendars that were removed and can be brought back, the latest first.
    ///
    /// # Errors
    /// As [`Store::removed_collections`].
    pub fn removed_calendars(&self) -> Result<Vec<RemovedCollection>> {
        self.removed_collections::<calendar::CalendarObject>()
    }

    /// Brings back the calendar of this name that was removed last.
    ///
    /// # Errors
    /// As [`Store::restore_collection`].
    pub fn restore_calendar(&self, name: &str) -> Result<u64> {
        self.restore_collection::<calendar::CalendarObject>(name)
    }

    /// Brings back this calendar that was removed, under this name.
    ///
    /// # Errors
    /// As [`Store::restore_collection_as`].
    pub fn restore_calendar_as(&self, removed: &RemovedCollection, name: &str) -> Result<u64> {
        self.restore_collection_as::<calendar::CalendarObject>(removed, name)
    }

    /// The names of the calendars, the default one first.
    ///
    /// # Errors
    /// As [`Store::collections`].
    pub fn calendars(&self) -> Result<Vec<String>> {
        self.collections::<calendar::CalendarObject>()
    }
}
