//! [`Snapshot`]: many reads from one state.

use crate::calendar::Record;
use crate::collection::{Kind, Reader, names};
use crate::contacts;
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
    pub fn contacts(&self) -> Result<contacts::Reader<'_>> {
        let book =
            names::first(&self.lease, Kind::Contacts).map_err(|e| self.store.engine.explain(e))?;
        Ok(Reader::new(self.store, &self.lease, book.id))
    }

    /// The default calendar.
    ///
    /// # Errors
    /// [`crate::Error::NoCollection`] when there is none.
    pub fn calendar(&self) -> Result<Reader<'_, Record>> {
        let calendar =
            names::first(&self.lease, Kind::Calendar).map_err(|e| self.store.engine.explain(e))?;
        Ok(Reader::new(self.store, &self.lease, calendar.id))
    }

    /// The calendar of this name.
    ///
    /// # Errors
    /// [`crate::Error::NoCollection`], with the names there are.
    pub fn calendar_named(&self, name: &str) -> Result<Reader<'_, Record>> {
        let calendar = names::named(&self.lease, Kind::Calendar, name)
            .map_err(|e| self.store.engine.explain(e))?;
        Ok(Reader::new(self.store, &self.lease, calendar.id))
    }

    /// The address book of this name.
    ///
    /// # Errors
    /// [`crate::Error::NoCollection`], with the names there are.
    pub fn address_book(&self, name: &str) -> Result<contacts::Reader<'_>> {
        let book = names::named(&self.lease, Kind::Contacts, name)
            .map_err(|e| self.store.engine.explain(e))?;
        Ok(Reader::new(self.store, &self.lease, book.id))
    }
}
