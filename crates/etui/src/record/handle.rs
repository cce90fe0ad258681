//! [`Collection`]: one collection of a store. What changes it is in `write`; what reads it asks
//! a [`Reader`] of one state.

use std::marker::PhantomData;

use super::collection_table::CollectionRef;
use super::kind::RecordKind;
use super::read::{Reader, RecordTexts, StoredRecord};
use crate::db::Db;
use crate::error::Result;
use crate::types::{Changes, RecordId, SyncToken};

/// One collection of a store, whose records are `R`: an address book, a calendar.
pub struct Collection<'s, R> {
    db: &'s Db,
    named: CollectionRef,
    records: PhantomData<fn() -> R>,
}

impl<'s, R: RecordKind> Collection<'s, R> {
    pub(crate) fn new(db: &'s Db, named: CollectionRef) -> Self {
        Self {
            db,
            named,
            records: PhantomData,
        }
    }

    /// Its name, when this was made.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.named.name
    }

    /// Returns the database it is in.
    pub(crate) fn db(&self) -> &'s Db {
        self.db
    }

    /// Another handle of it.
    pub(crate) fn reopen(&self) -> Self {
        Self::new(self.db, self.named.clone())
    }

    /// What it is known by.
    pub(crate) fn collection_ref(&self) -> &CollectionRef {
        &self.named
    }

    /// Its number in the store.
    pub(crate) fn id(&self) -> i64 {
        self.named.id
    }

    /// Reads from one state.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Reader<'_, R>) -> Result<T>) -> Result<T> {
        R::commit_dirty(self.db);
        self.db
            .read_transaction(|conn| work(&Reader::new(self.db, conn, self.named.id)))
    }

    /// Reads from one state, whose lists are in this library's order.
    pub(crate) fn read_ordered<T>(
        &self,
        work: impl FnOnce(&Reader<'_, R>) -> Result<T>,
    ) -> Result<T> {
        self.db.ensure_indexed()?;
        self.read(work)
    }

    /// The record with this UID. See [`Reader::get`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn get(&self, uid: &str) -> Result<Option<StoredRecord<R>>> {
        R::commit_dirty(self.db);
        // One statement sees one state; it needs no transaction around it.
        self.db
            .read(|conn| Reader::new(self.db, conn, self.named.id).get(uid))
    }

    /// The records with these UIDs, in the order asked. See [`Reader::get_many`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn get_many<U: AsRef<str>>(&self, uids: &[U]) -> Result<Vec<Option<StoredRecord<R>>>> {
        self.read(|r| r.get_many(uids))
    }

    /// The record with this number. See [`Reader::by_id`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn by_id(&self, id: RecordId) -> Result<Option<StoredRecord<R>>> {
        R::commit_dirty(self.db);
        // One statement, as for `get`.
        self.db
            .read(|conn| Reader::new(self.db, conn, self.named.id).by_id(id))
    }

    /// The texts of all records. See [`Reader::all`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn all(&self) -> Result<RecordTexts> {
        self.read(|r| r.all())
    }

    /// Calls `visit` with the text of every record. See [`Reader::for_each`].
    ///
    /// # Errors
    /// Whatever reading reports, and what `visit` returns.
    pub fn for_each(&self, visit: impl FnMut(RecordId, &[u8]) -> Result<()>) -> Result<()> {
        self.read(|r| r.for_each(visit))
    }

    /// How many records there are.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn count(&self) -> Result<u64> {
        self.db.ensure_indexed()?;
        R::commit_dirty(self.db);
        // One statement sees one state.
        self.db
            .read(|conn| Reader::<R>::new(self.db, conn, self.named.id).count())
    }

    /// At which position of the list a record stands. See [`Reader::position`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn position(&self, id: RecordId) -> Result<Option<u64>> {
        self.read_ordered(|r| r.position(id))
    }

    /// Removed records that can be brought back, the latest first. See [`Reader::trash`].
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn trash(&self) -> Result<Vec<StoredRecord<R>>> {
        self.read(|r| r.trash())
    }

    /// What was changed in this collection since `token`.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn changes_since(&self, token: &SyncToken) -> Result<Changes> {
        self.read(|r| r.changes_since(token))
    }
}
