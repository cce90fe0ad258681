//! [`Snapshot`]: many reads from one state.

use crate::db::PooledConnection;
use crate::error::Result;
use crate::record::{Reader, RecordKind, names};
use crate::store::Store;
use crate::{calendar, contacts};

/// One state of a store. Writes of others, and of this program, are not seen in it.
///
/// It costs one read transaction. A snapshot that is kept for long keeps the WAL from being
/// folded back, so the file grows meanwhile; drop it when the reading is done.
pub struct Snapshot<'s> {
    store: &'s Store,
    lease: PooledConnection<'s>,
}

impl<'s> Snapshot<'s> {
    pub(crate) fn begin(store: &'s Store) -> Result<Self> {
        let lease = store.engine.lend()?;
        // A deferred transaction takes its state at the first read; this one is it.
        lease
            .execute_batch("BEGIN; SELECT 1 FROM meta LIMIT 1")
            .map_err(|e| store.engine.explain(e.into()))?;
        Ok(Self { store, lease })
    }

    /// A collection: that of this name, or, without a name, the default one of its kind.
    ///
    /// # Errors
    /// [`crate::Error::NoCollection`], with the names there are.
    pub fn collection<R: RecordKind>(&self, name: Option<&str>) -> Result<Reader<'_, R>> {
        let found =
            names::one(&self.lease, R::KIND, name).map_err(|e| self.store.engine.explain(e))?;
        Ok(Reader::new(self.store, &self.lease, found.id))
    }

    /// The names of the collections of a kind, the default one first.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn collections<R: RecordKind>(&self) -> Result<Vec<String>> {
        let all = names::all(&self.lease, R::KIND).map_err(|e| self.store.engine.explain(e))?;
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
