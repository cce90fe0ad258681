//! External ids of collections: set, read, found.

use crate::db::TransactionSize;
use crate::error::Result;
use crate::record::{Collection, RecordKind, collection_table, external_id};

impl<R: RecordKind> Collection<R> {
    /// Returns the external id that the collection has now.
    ///
    /// # Errors
    /// Any read error.
    pub fn external_id(&self) -> Result<Option<String>> {
        self.db()
            .read(|conn| external_id::read(conn, self.number()))
    }

    /// Sets the external id, or clears it. See [`CollectionKey::ExternalId`](crate::store::CollectionKey::ExternalId).
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
            external_id::set(conn, R::KIND, self.number(), external_id)
        })
    }
}
