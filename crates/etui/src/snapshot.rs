//! [`Snapshot`]: many reads from one state.

use crate::collection::{Kind, names};
use crate::contacts::Reader;
use crate::engine::Lease;
use crate::error::Result;
use crate::store::Store;

/// One state of a store. Writes of others, and of this program, are not seen in it.
///
/// It costs one read transaction. A snapshot that is kept for long keeps the WAL from being
/// folded back, so the file grows meanwhile; drop it when the reading is done.
pub struct Snapshot<'s> {
    store: &'s Store,
    lease: Lease<'s>,
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

    /// The default address book.
    ///
    /// # Errors
    /// [`crate::Error::NoCollection`] when there is none.
    pub fn contacts(&self) -> Result<Reader<'_>> {
        let book =
            names::first(&self.lease, Kind::Contacts).map_err(|e| self.store.engine.explain(e))?;
        Ok(Reader::new(self.store, &self.lease, book.id))
    }

    /// The address book of this name.
    ///
    /// # Errors
    /// [`crate::Error::NoCollection`], with the names there are.
    pub fn address_book(&self, name: &str) -> Result<Reader<'_>> {
        let book = names::named(&self.lease, Kind::Contacts, name)
            .map_err(|e| self.store.engine.explain(e))?;
        Ok(Reader::new(self.store, &self.lease, book.id))
    }
}
