//! External ids of collections: set, read, found.

use crate::db::TransactionSize;
use crate::error::Result;
use crate::record::{Collection, RecordKind, collection_table, external_id};
use crate::store::Store;

impl Store {
    /// Returns the collection with this external id; `None` if there is none, or it was removed.
    ///
    /// An external id is the identifier that another system has for a collection, such as a
    /// desktop or a sync service. It is beside the name, and survives renaming.
    ///
    /// ```
    /// # use etui::{Store, contacts::Card};
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path().join("personal.etui"))?;
    /// store.create_collection_with_external_id::<Card>("Work", "carddav-17")?;
    /// store.rename_collection::<Card>("Work", "Job")?;
    /// let job = store.collection_by_external_id::<Card>("carddav-17")?;
    /// assert_eq!(job.expect("it was renamed").name(), "Job");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Any read error.
    pub fn collection_by_external_id<R: RecordKind>(
        &self,
        external_id: &str,
    ) -> Result<Option<Collection<R>>> {
        self.drain_write_queue()?;
        let found = self
            .db
            .read(|conn| external_id::find_collection(conn, R::KIND, external_id))?;
        Ok(found.map(|found| Collection::new(&self.db, found)))
    }

    /// Creates a collection with an external id: 1 to 255 bytes without control characters, unique
    /// within its kind.
    ///
    /// # Errors
    /// [`Error::CollectionExists`](crate::Error::CollectionExists),
    /// [`Error::BadName`](crate::Error::BadName),
    /// [`Error::ExternalIdExists`](crate::Error::ExternalIdExists),
    /// [`Error::BadExternalId`](crate::Error::BadExternalId); nothing is created then.
    pub fn create_collection_with_external_id<R: RecordKind>(
        &self,
        name: &str,
        external_id: &str,
    ) -> Result<Collection<R>> {
        let made = self.db.write_of(TransactionSize::Small, |conn| {
            let made = collection_table::create_collection(conn, R::KIND, name)?;
            external_id::set(conn, R::KIND, made.id, Some(external_id))?;
            Ok(made)
        })?;
        Ok(Collection::new(&self.db, made))
    }
}

impl<R: RecordKind> Collection<R> {
    /// Returns the external id that the collection has now.
    ///
    /// # Errors
    /// Any read error.
    pub fn external_id(&self) -> Result<Option<String>> {
        self.db().read(|conn| external_id::read(conn, self.id()))
    }

    /// Sets the external id, or clears it. See [`Store::collection_by_external_id`].
    ///
    /// A removed collection keeps its external id; another one may take it meanwhile.
    ///
    /// # Errors
    /// [`Error::ExternalIdExists`](crate::Error::ExternalIdExists),
    /// [`Error::BadExternalId`](crate::Error::BadExternalId),
    /// [`Error::NoCollection`](crate::Error::NoCollection) if it was removed.
    pub fn set_external_id(&self, external_id: Option<&str>) -> Result<()> {
        self.db().write_of(TransactionSize::Small, |conn| {
            collection_table::expect_exists(conn, R::KIND, self.collection_ref())?;
            external_id::set(conn, R::KIND, self.id(), external_id)
        })
    }
}
