//! The collections of a store: find, create, rename, remove, restore. The methods for address books
//! and calendars call those of their kind.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

use crate::calendar::Calendar;
use crate::contacts::Contacts;
use crate::db::TransactionSize;
use crate::error::{Error, Result};
use crate::record::changes::KEPT_MS;
use crate::record::collection_table::{CollectionRef, RemovedRef};
use crate::record::records::{RecordWriter, count_removed_at, remove_all_records, uids_removed_at};
use crate::record::steps::{self, CollectionChange};
use crate::record::write::undo_latest;
use crate::record::{Collection, RecordKind, collection_table, external_id};
use crate::store::Store;
use crate::types::CollectionKind;

/// A removed collection that can be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemovedCollection {
    /// Its id in the store, which is not reused.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// The number of records that were removed with it, and are restored with it.
    pub records: u64,
    /// Its external id.
    pub external_id: Option<String>,
    /// The time of its removal in Unix ms.
    at: i64,
}

impl RemovedCollection {
    /// Returns the time of its removal. It can be restored while its records are in the trash.
    pub fn removed(&self) -> SystemTime {
        system_time(self.at)
    }

    /// Returns the time until which it can be restored at least, 30 days after its removal.
    pub fn kept_until(&self) -> SystemTime {
        system_time(self.at.saturating_add(KEPT_MS))
    }
}

/// Returns the time at `ms` after 1970-01-01T00:00Z, or the epoch if the system cannot represent
/// it.
fn system_time(ms: i64) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(ms).unwrap_or(0));
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

impl Store {
    /// Returns the collection of this name; without a name the default one of its kind, which is
    /// the first.
    ///
    /// # Errors
    /// [`Error::NoCollection`], with the existing names.
    pub fn collection<R: RecordKind>(&self, name: Option<&str>) -> Result<Collection<R>> {
        self.drain_write_queue()?;
        let found = self
            .db
            .read(|conn| collection_table::find_collection(conn, R::KIND, name))?;
        Ok(Collection::new(&self.db, found))
    }

    /// Returns the collection with this id ([`Collection::id`]), whatever its name is now.
    ///
    /// # Errors
    /// [`Error::NoCollection`]: there is none, or it was removed.
    pub fn collection_by_id<R: RecordKind>(&self, id: i64) -> Result<Collection<R>> {
        self.drain_write_queue()?;
        let found = self
            .db
            .read(|conn| collection_table::find_live(conn, R::KIND, id))?;
        Ok(Collection::new(&self.db, found))
    }

    /// Creates a collection.
    ///
    /// # Errors
    /// [`Error::CollectionExists`],
    /// [`Error::BadName`].
    pub fn create_collection<R: RecordKind>(&self, name: &str) -> Result<Collection<R>> {
        let made = self.db.write_of(TransactionSize::Small, |conn| {
            let made = collection_table::create_collection(conn, R::KIND, name)?;
            let change = CollectionChange::Created;
            steps::record_collection(conn, made.id, change, None, Some(name))?;
            Ok(made)
        })?;
        Ok(Collection::new(&self.db, made))
    }

    /// Returns the names of the collections of a kind, the default one first.
    ///
    /// # Errors
    /// Any read error.
    pub fn collections<R: RecordKind>(&self) -> Result<Vec<String>> {
        let all = self
            .db
            .read(|conn| collection_table::list_collections(conn, R::KIND))?;
        Ok(all.into_iter().map(|c| c.name).collect())
    }

    /// Renames a collection. Handles, views and tokens of it stay valid.
    ///
    /// # Errors
    /// [`Error::NoCollection`],
    /// [`Error::CollectionExists`],
    /// [`Error::BadName`].
    pub fn rename_collection<R: RecordKind>(&self, name: &str, to: &str) -> Result<Collection<R>> {
        let find = |conn: &Connection| collection_table::find_collection(conn, R::KIND, Some(name));
        self.rename(find, to)
    }

    /// Renames the collection with this id, whatever its name is now. See
    /// [`Store::rename_collection`].
    ///
    /// # Errors
    /// As [`Store::rename_collection`].
    pub fn rename_collection_by_id<R: RecordKind>(
        &self,
        id: i64,
        to: &str,
    ) -> Result<Collection<R>> {
        let find = |conn: &Connection| collection_table::find_live(conn, R::KIND, id);
        self.rename(find, to)
    }

    /// Renames the collection that `find` returns.
    fn rename<R: RecordKind>(
        &self,
        find: impl FnOnce(&Connection) -> Result<CollectionRef>,
        to: &str,
    ) -> Result<Collection<R>> {
        let renamed = self.after_queue(|conn| {
            let CollectionRef { id, name } = find(conn)?;
            let renamed = collection_table::rename_collection(conn, R::KIND, id, to)?;
            let change = CollectionChange::Renamed;
            steps::record_collection(conn, id, change, Some(&name), Some(to))?;
            Ok(renamed)
        })?;
        Ok(Collection::new(&self.db, renamed))
    }

    /// Removes a collection and all its records in one transaction. It can be restored for at least
    /// 30 days.
    ///
    /// Views report every record as removed. A handle to a removed collection reads as empty; saves
    /// fail with [`Error::NoCollection`]. If it was the default one, the next of its kind becomes
    /// the default.
    ///
    /// # Errors
    /// [`Error::NoCollection`];
    /// [`Error::LastCollection`]: a store has one of each kind.
    pub fn remove_collection<R: RecordKind>(&self, name: &str) -> Result<RemovedCollection> {
        let find = |conn: &Connection| collection_table::find_collection(conn, R::KIND, Some(name));
        self.remove(R::KIND, find, |_| Ok(()))
    }

    /// Removes the collection with this id, whatever its name is now. See
    /// [`Store::remove_collection`].
    ///
    /// # Errors
    /// As [`Store::remove_collection`].
    pub fn remove_collection_by_id<R: RecordKind>(&self, id: i64) -> Result<RemovedCollection> {
        let find = |conn: &Connection| collection_table::find_live(conn, R::KIND, id);
        self.remove(R::KIND, find, |_| Ok(()))
    }

    /// Removes a collection if it still has its name and this number of records: what the user
    /// confirmed is what is removed.
    ///
    /// # Errors
    /// [`Error::CollectionChanged`], and the errors of [`Store::remove_collection`]; nothing is
    /// removed then.
    pub fn remove_collection_if<R: RecordKind>(
        &self,
        collection: &Collection<R>,
        records: u64,
    ) -> Result<RemovedCollection> {
        let name = collection.name();
        let find = |conn: &Connection| collection_table::find_collection(conn, R::KIND, Some(name));
        self.remove(R::KIND, find, |removed| {
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

    /// Removes the collection that `find` returns, unless `check` fails.
    fn remove(
        &self,
        kind: CollectionKind,
        find: impl FnOnce(&Connection) -> Result<CollectionRef>,
        check: impl FnOnce(&RemovedCollection) -> Result<()>,
    ) -> Result<RemovedCollection> {
        let order = self.db.order();
        let _step = steps::group_step();
        self.after_queue(|conn| {
            let found = find(conn)?;
            let RemovedRef { id, removed_at: at } =
                collection_table::remove_collection(conn, kind, &found)?;
            let removed = RemovedCollection {
                id,
                name: found.name,
                records: RecordWriter::run(conn, order, |writing| {
                    remove_all_records(conn, writing, id, at)
                })?,
                external_id: external_id::read(conn, id)?,
                at,
            };
            check(&removed)?;
            let (change, name) = (CollectionChange::Removed, removed.name.as_str());
            steps::record_collection(conn, id, change, Some(name), None)?;
            let first = collection_table::find_collection(conn, kind, None)?.id;
            if id < first {
                collection_table::start_history(conn, first)?;
            }
            Ok(removed)
        })
    }

    /// Returns the removed collections of a kind that can be restored, the latest first. Several
    /// may have one name.
    ///
    /// # Errors
    /// Any read error.
    pub fn removed_collections<R: RecordKind>(&self) -> Result<Vec<RemovedCollection>> {
        self.db.read_transaction(|conn| {
            let all = collection_table::list_removed(conn, R::KIND)?;
            let removed = all.into_iter().map(|(CollectionRef { id, name }, at)| {
                Ok(RemovedCollection {
                    id,
                    name,
                    records: count_removed_at(conn, id, at)?,
                    external_id: external_id::read(conn, id)?,
                    at,
                })
            });
            removed.collect()
        })
    }

    /// Restores the collection of this name that was removed last, with the records that were
    /// removed with it; returns their number.
    ///
    /// # Errors
    /// [`Error::NoRemovedCollection`];
    /// [`Error::CollectionExists`]: rename that one first, or see
    /// [`Store::restore_collection_as`];
    /// [`Error::ExternalIdExists`]: another collection has its external id now.
    pub fn restore_collection<R: RecordKind>(&self, name: &str) -> Result<u64> {
        self.bring_back::<R>(name, name, |named, _| named.name == name)
    }

    /// Restores this removed collection under this name; returns the number of its records.
    ///
    /// # Errors
    /// [`Error::NoRemovedCollection`]: it was restored already, or its removal is too old;
    /// [`Error::CollectionExists`], [`Error::BadName`], [`Error::ExternalIdExists`].
    pub fn restore_collection_as<R: RecordKind>(
        &self,
        removed: &RemovedCollection,
        name: &str,
    ) -> Result<u64> {
        self.bring_back::<R>(&removed.name, name, |named, at| {
            (named.id, at) == (removed.id, removed.at)
        })
    }

    /// Restores the latest removed collection that matches, under the name `to`.
    fn bring_back<R: RecordKind>(
        &self,
        name: &str,
        to: &str,
        is_meant: impl Fn(&CollectionRef, i64) -> bool,
    ) -> Result<u64> {
        let context = self.db.index_context();
        let _step = steps::group_step();
        self.db.write(|conn| {
            let RemovedRef { id, removed_at: at } =
                collection_table::find_removed(conn, R::KIND, name, is_meant)?;
            collection_table::restore_collection(conn, R::KIND, id, to)?;
            let uids = uids_removed_at(conn, id, at)?;
            RecordWriter::run(conn, context.order, |writing| {
                uids.iter().try_for_each(|uid| {
                    undo_latest::<R>(conn, writing, &context, id, uid).map(|_| ())
                })
            })?;
            collection_table::start_history(conn, id)?;
            steps::record_collection(conn, id, CollectionChange::Restored, None, Some(to))?;
            Ok(uids.len() as u64)
        })
    }

    /// Runs `work` in a write transaction, after the write queue is applied.
    pub(crate) fn after_queue<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let context = self.db.index_context();
        self.db.write(|conn| {
            crate::store::write_queue::drain(conn, &context)?;
            work(conn)
        })
    }

    /// Returns the default address book: the first one.
    ///
    /// # Errors
    /// As [`Store::collection`].
    pub fn contacts(&self) -> Result<Contacts> {
        self.collection(None)
    }

    /// Returns the default calendar: the first one.
    ///
    /// # Errors
    /// As [`Store::collection`].
    pub fn calendar(&self) -> Result<Calendar> {
        self.collection(None)
    }
}
