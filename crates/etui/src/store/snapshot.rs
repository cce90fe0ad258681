//! [`Snapshot`]: many reads from one state.

use crate::db::{Db, PooledConnection};
use crate::error::Result;
use crate::record::{Reader, RecordKind, collection_table};

use crate::{calendar, contacts};

/// One state of a store. Writes of others, and of this program, are not seen in it.
///
/// It costs one read transaction. A snapshot that is kept for long keeps the WAL from being
/// folded back, so the file grows meanwhile; drop it when the reading is done.
pub struct Snapshot<'s> {
    db: &'s Db,
    lease: PooledConnection<'s>,
}

impl<'s> Snapshot<'s> {
    pub(crate) fn begin(db: &'s Db) -> Result<Self> {
        let lease = db.checkout()?;
        // A deferred transaction takes its state at the first read; this one is it.
        lease
            .execute_batch("BEGIN; SELECT 1 FROM meta LIMIT 1")
            .map_err(|e| db.explain(e.into()))?;
        Ok(Self { db, lease })
    }

    /// A collection: that of this name, or, without a name, the default one of its kind.
    ///
    /// # Errors
    /// [`crate::Error::NoCollection`], with the names there are.
    pub fn collection<R: RecordKind>(&self, name: Option<&str>) -> Result<Reader<'_, R>> {
        let found = collection_table::find_collection(&self.lease, R::KIND, name)
            .map_err(|e| self.db.explain(e))?;
        Ok(Reader::new(self.db, &self.lease, found.id))
    }

    /// The names of the collections of a kind, the default one first.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn collections<R: RecordKind>(&self) -> Result<Vec<String>> {
        let all = collection_table::list_collections(&self.lease, R::KIND)
            .map_err(|e| self.db.explain(e))?;
        Ok(all.into_iter().map(|c| c.name).collect())
    }

    /// The default address book.
    ///
    /// # Errors
    /// As [`Self::collection`].
    pub fn contacts(&self) -> Result<contacts::Reader<'_>> {
        self.collection(None)
    }

    /// The address book of this name.
    ///
    /// # Errors
    /// As [`Self::collection`].
    pub fn address_book(&self, name: &str) -> Result<contacts::Reader<'_>> {
        self.collection(Some(name))
    }

    /// The default calendar.
    ///
    /// # Errors
    /// As [`Self::collection`].
    pub fn calendar(&self) -> Result<calendar::Reader<'_>> {
        self.collection(None)
    }

    /// The calendar of this name.
    ///
    /// # Errors
    /// As [`Self::collection`].
    pub fn calendar_named(&self, name: &str) -> Result<calendar::Reader<'_>> {
        self.collection(Some(name))
    }
}
