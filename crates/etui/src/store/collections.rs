//! The collections of a store: find, create, rename, remove, restore. The methods for address books
//! and calendars call those of their kind.

use std::marker::PhantomData;
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
use crate::store::served_collections::{
    CollectionChanges, NewCollection, find_segment, read_segment,
};
use crate::store::{Store, sharing};
use crate::types::{CollectionId, CollectionKind};

/// How a collection of a kind is found.
///
/// ```
/// use etui::contacts::Card;
/// use etui::store::{CollectionKey, NewCollection};
/// # let dir = tempfile::tempdir()?;
/// # let store = etui::Store::open(dir.path().join("personal.etui"))?;
/// let new = NewCollection {
///     external_id: Some("carddav-17"),
///     ..NewCollection::from("Work")
/// };
/// let work = store.collections::<Card>().create(new)?;
/// store.collections::<Card>().rename("Work", "Job")?;
/// for key in [
///     CollectionKey::Name("Job"),
///     CollectionKey::Id(work.id()),
///     CollectionKey::ExternalId("carddav-17"),
/// ] {
///     assert_eq!(store.collection::<Card>(key)?.id(), work.id());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectionKey<'k> {
    /// The default collection: the first of its kind.
    Default,
    /// By its name.
    Name(&'k str),
    /// By its id ([`Reader::id`](crate::record::Reader::id)), whatever its name is now.
    Id(CollectionId),
    /// By the identifier that another system has for it, such as a desktop or a sync service. It is beside the
    /// name, and survives renaming.
    ExternalId(&'k str),
    /// By the last segment of its URL, which the client of a sync server chose that made it. It never changes. A
    /// removed collection keeps it; if another one was made there meanwhile, the segment means the later one.
    Segment(&'k str),
    /// A collection of another person's store, by the id of the reference ([`Reference`](super::Reference)). Its handle
    /// has name, colour and properties; the records are in the other store.
    Reference(CollectionId),
}

impl CollectionKey<'_> {
    /// Finds the live collection.
    pub(super) fn find(self, conn: &Connection, kind: CollectionKind) -> Result<CollectionRef> {
        let (found, name) = match self {
            Self::Default => return collection_table::find_collection(conn, kind, None),
            Self::Name(name) => return collection_table::find_collection(conn, kind, Some(name)),
            Self::Id(id) => return collection_table::find_live(conn, kind, id.0),
            Self::Reference(id) => return sharing::find_reference(conn, kind, id),
            Self::ExternalId(id) => (external_id::find_collection(conn, kind, id)?, id),
            Self::Segment(segment) => (find_segment(conn, kind, segment)?, segment),
        };
        let Some(found) = found else {
            let known = collection_table::list_collections(conn, kind)?;
            return Err(Error::NoCollection {
                kind,
                name: name.to_owned(),
                known: known.into_iter().map(|c| c.name).collect(),
            });
        };
        Ok(found)
    }
}

impl<'k, N: AsRef<str> + ?Sized> From<&'k N> for CollectionKey<'k> {
    fn from(name: &'k N) -> Self {
        Self::Name(name.as_ref())
    }
}

impl<'k> From<Option<&'k str>> for CollectionKey<'k> {
    fn from(name: Option<&'k str>) -> Self {
        name.map_or(Self::Default, Self::Name)
    }
}

/// A removed collection that can be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemovedCollection {
    /// Its id in the store, which is not reused.
    pub id: CollectionId,
    /// Its name.
    pub name: String,
    /// The number of records that were removed with it, and are restored with it.
    pub records: u64,
    /// Its external id.
    pub external_id: Option<String>,
    /// The segment of its URL. See [`CollectionKey::Segment`].
    pub segment: Option<String>,
    /// The time of its removal. It can be restored while its records are in the trash.
    pub removed: SystemTime,
    /// The time until which it can be restored at least, 30 days after its removal.
    pub kept_until: SystemTime,
    /// The time of its removal in Unix ms.
    at: i64,
}

/// Returns the time at `ms` after 1970-01-01T00:00Z, or the epoch if the system cannot represent
/// it.
pub(super) fn system_time(ms: i64) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(ms).unwrap_or(0));
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

/// The collections of one kind in a store.
///
/// ```
/// use etui::contacts::Card;
/// # let dir = tempfile::tempdir()?;
/// # let store = etui::Store::open(dir.path().join("personal.etui"))?;
/// let books = store.collections::<Card>();
/// books.create("Work")?;
/// books.rename("Work", "Job")?;
/// assert_eq!(books.names()?, ["Contacts", "Job"]);
/// let removed = books.remove("Job")?;
/// books.restore_as(&removed, "Work")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Collections<'s, R> {
    store: &'s Store,
    records: PhantomData<fn() -> R>,
}

impl<R: RecordKind> Collections<'_, R> {
    /// Creates a collection: by its name, or by [`NewCollection`] with more than that.
    ///
    /// # Errors
    /// [`Error::CollectionExists`], [`Error::BadName`]; [`Error::ExternalIdExists`], [`Error::BadExternalId`];
    /// [`Error::SegmentExists`], [`Error::BadResourceName`]: the segment cannot be the name of a resource;
    /// [`Error::TooManyProperties`]; any write error. Nothing is created then.
    pub fn create<'n>(&self, new: impl Into<NewCollection<'n>>) -> Result<Collection<R>> {
        let new = new.into();
        let made = self
            .store
            .db
            .write_of(TransactionSize::Small, |conn| new.create(conn, R::KIND))?;
        Ok(Collection::new(&self.store.db, made))
    }

    /// Renames a collection. Handles, views and tokens of it stay valid.
    ///
    /// # Errors
    /// [`Error::NoCollection`],
    /// [`Error::CollectionExists`],
    /// [`Error::BadName`].
    pub fn rename<'k>(&self, key: impl Into<CollectionKey<'k>>, to: &str) -> Result<Collection<R>> {
        let key = key.into();
        let renamed = self.store.after_queue(|conn| {
            let CollectionRef { id, name } = key.find(conn, R::KIND)?;
            let renamed = collection_table::rename_collection(conn, R::KIND, id, to)?;
            let change = CollectionChange::Renamed;
            steps::record_collection(conn, id, change, Some(&name), Some(to))?;
            Ok(renamed)
        })?;
        Ok(Collection::new(&self.store.db, renamed))
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
    pub fn remove<'k>(&self, key: impl Into<CollectionKey<'k>>) -> Result<RemovedCollection> {
        self.remove_checked(key.into(), |_| Ok(()))
    }

    /// Removes a collection if it still has its name and this number of records: what the user
    /// confirmed is what is removed.
    ///
    /// # Errors
    /// [`Error::CollectionChanged`], and the errors of [`Self::remove`]; nothing is
    /// removed then.
    pub fn remove_if(&self, collection: &Collection<R>, records: u64) -> Result<RemovedCollection> {
        let name = collection.name();
        self.remove_checked(CollectionKey::Name(name), |removed| {
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

    /// Removes a collection, unless `check` fails.
    fn remove_checked(
        &self,
        key: CollectionKey<'_>,
        check: impl FnOnce(&RemovedCollection) -> Result<()>,
    ) -> Result<RemovedCollection> {
        let order = self.store.db.order();
        // The removal of the collection and that of its records are one step.
        let _step = steps::group_step();
        self.store.after_queue(|conn| {
            let found = key.find(conn, R::KIND)?;
            let RemovedRef { id, removed_at: at } =
                collection_table::remove_collection(conn, R::KIND, &found)?;
            let removed = RemovedCollection {
                id: CollectionId(id),
                name: found.name,
                records: RecordWriter::run(conn, order, |writing| {
                    remove_all_records(conn, writing, id, at)
                })?,
                external_id: external_id::read(conn, id)?,
                segment: read_segment(conn, id)?,
                removed: system_time(at),
                kept_until: system_time(at.saturating_add(KEPT_MS)),
                at,
            };
            // After the removal, which counts the records; an error rolls it back.
            check(&removed)?;
            let (change, name) = (CollectionChange::Removed, removed.name.as_str());
            steps::record_collection(conn, id, change, Some(name), None)?;
            let first = collection_table::find_collection(conn, R::KIND, None)?.id;
            // It was the default one: a token of the former default must not go on in the next.
            if id < first {
                collection_table::start_history(conn, first)?;
            }
            Ok(removed)
        })
    }

    /// Returns the names of the collections of a kind, the default one first.
    ///
    /// # Errors
    /// Any read error.
    pub fn names(&self) -> Result<Vec<String>> {
        let all = self
            .store
            .db
            .read(|conn| collection_table::list_collections(conn, R::KIND))?;
        Ok(all.into_iter().map(|c| c.name).collect())
    }

    /// Returns the removed collections of a kind that can be restored, the latest first. Several
    /// may have one name.
    ///
    /// # Errors
    /// Any read error.
    pub fn removed(&self) -> Result<Vec<RemovedCollection>> {
        self.store.db.read_transaction(|conn| {
            let all = collection_table::list_removed(conn, R::KIND)?;
            let removed = all.into_iter().map(|(CollectionRef { id, name }, at)| {
                Ok(RemovedCollection {
                    id: CollectionId(id),
                    name,
                    records: count_removed_at(conn, id, at)?,
                    external_id: external_id::read(conn, id)?,
                    segment: read_segment(conn, id)?,
                    removed: system_time(at),
                    kept_until: system_time(at.saturating_add(KEPT_MS)),
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
    /// [`Self::restore_as`];
    /// [`Error::ExternalIdExists`]: another collection has its external id now.
    pub fn restore(&self, name: &str) -> Result<u64> {
        self.bring_back(name, name, |named, _| named.name == name)
    }

    /// Restores this removed collection under this name; returns the number of its records.
    ///
    /// # Errors
    /// [`Error::NoRemovedCollection`]: it was restored already, or its removal is too old;
    /// [`Error::CollectionExists`], [`Error::BadName`], [`Error::ExternalIdExists`].
    pub fn restore_as(&self, removed: &RemovedCollection, name: &str) -> Result<u64> {
        self.bring_back(&removed.name, name, |named, at| {
            (named.id, at) == (removed.id.0, removed.at)
        })
    }

    /// Restores the latest removed collection that matches, under the name `to`.
    fn bring_back(
        &self,
        name: &str,
        to: &str,
        is_meant: impl Fn(&CollectionRef, i64) -> bool,
    ) -> Result<u64> {
        let context = self.store.db.index_context();
        let _step = steps::group_step();
        self.store.db.write(|conn| {
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

    /// Changes name, colour and properties of a collection: all of them, or none.
    ///
    /// # Errors
    /// [`Error::NoCollection`]; [`Error::CollectionExists`], [`Error::BadName`];
    /// [`Error::TooManyProperties`]; any write error. Nothing is changed then.
    pub fn change<'k>(
        &self,
        key: impl Into<CollectionKey<'k>>,
        changes: &CollectionChanges,
    ) -> Result<()> {
        let key = key.into();
        self.store.after_queue(|conn| {
            let found = key.find(conn, R::KIND)?;
            let id = found.id;
            if let Some(name) = changes.name.as_ref().filter(|name| **name != found.name) {
                collection_table::rename_collection(conn, R::KIND, id, name)?;
            }
            changes.write(conn, R::KIND, id)
        })
    }
}

impl Store {
    /// Returns the collections of a kind.
    pub fn collections<R: RecordKind>(&self) -> Collections<'_, R> {
        Collections {
            store: self,
            records: PhantomData,
        }
    }

    /// Returns a collection: the default one of its kind, which is the first, by `None`; one by its name, or by
    /// another [`CollectionKey`].
    ///
    /// # Errors
    /// [`Error::NoCollection`], with the existing names.
    pub fn collection<'k, R: RecordKind>(
        &self,
        key: impl Into<CollectionKey<'k>>,
    ) -> Result<Collection<R>> {
        self.drain_write_queue()?;
        let key = key.into();
        let found = self.db.read(|conn| key.find(conn, R::KIND))?;
        Ok(Collection::new(&self.db, found))
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
        self.collection(CollectionKey::Default)
    }

    /// Returns the default calendar: the first one.
    ///
    /// # Errors
    /// As [`Store::collection`].
    pub fn calendar(&self) -> Result<Calendar> {
        self.collection(CollectionKey::Default)
    }
}
