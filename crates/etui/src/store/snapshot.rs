//! [`Snapshot`]: many reads from one state.

use crate::db::{Db, PooledConnection};
use crate::error::Result;
use crate::record::{Reader, RecordKind, collection_table};

use crate::{calendar, contacts};

/// One state of a store. Later writes, also of this process, are not seen in it.
///
/// It costs one read transaction. While a snapshot is kept, the WAL cannot be restarted, and grows;
/// drop it after reading.
pub struct Snapshot<'s> {
    db: &'s Db,
    lease: PooledConnection<'s>,
}

impl<'s> Snapshot<'s> {
    pub(crate) fn begin(db: &'s Db) -> Result<Self> {
        let lease = db.checkout()?;
        // A deferred transaction begins at its first read, which is this one.
        lease
            .execute_batch("BEGIN; SELECT 1 FROM meta LIMIT 1")
            .map_err(|e| db.explain(e.into()))?;
        Ok(Self { db, lease })
    }

    /// Returns the collection of this name; without a name the default one of its kind.
    ///
    /// # Errors
    /// [`crate::Error::NoCollection`], with the existing names.
    pub fn collection<R: RecordKind>(&self, name: Option<&str>) -> Result<Reader<'_, R>> {
        let found = collection_table::find_collection(&self.lease, R::KIND, name)
            .map_err(|e| self.db.explain(e))?;
        Ok(Reader::new(self.db, &self.lease, found.id))
    }

    /// Returns the collection with this id ([`Collection::id`](crate::record::Collection::id)).
    ///
    /// # Errors
    /// [`crate::Error::NoCollection`]: there is none, or it was removed.
    pub fn collection_by_id<R: RecordKind>(&self, id: i64) -> Result<Reader<'_, R>> {
        let found = collection_table::find_live(&self.lease, R::KIND, id)
            .map_err(|e| self.db.explain(e))?;
        Ok(Reader::new(self.db, &self.lease, found.id))
    }

    /// Returns the names of the collections of a kind, the default one first.
    ///
    /// # Errors
    /// Any read error.
    pub fn collections<R: RecordKind>(&self) -> Result<Vec<String>> {
        let all = collection_table::list_collections(&self.lease, R::KIND)
            .map_err(|e| self.db.explain(e))?;
        Ok(all.into_iter().map(|c| c.name).collect())
    }

    /// Returns the default address book.
    ///
    /// # Errors
    /// As [`Self::collection`].
    pub fn contacts(&self) -> Result<contacts::Reader<'_>> {
        self.collection(None)
    }

    /// Returns the default calendar.
    ///
    /// # Errors
    /// As [`Self::collection`].
    pub fn calendar(&self) -> Result<calendar::Reader<'_>> {
        self.collection(None)
    }
}
