//! [`Collection`]: the handle to a collection. Its writes are in `write`; its reads use a
//! [`Reader`] of one state.

use std::marker::PhantomData;
use std::sync::Arc;

use super::collection_table::CollectionRef;
use super::kind::RecordKind;
use super::read::{Reader, RecordTexts, StoredRecord};
use crate::db::Db;
use crate::error::Result;
use crate::types::{Changes, RecordId, SyncToken};

/// A collection of a store, with records of the kind `R`: an address book, a calendar.
///
/// A handle shares the store: it may be in one struct with it, be cloned, and move to a thread. The store's
/// file stays open while there is a handle, unless [`Store::close`](crate::Store::close) closes it for
/// all.
///
/// ```
/// use etui::Store;
/// use etui::contacts::{Card, Contacts};
///
/// struct App {
///     contacts: Contacts,
///     store: Store,
/// }
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("personal.etui");
/// let store = Store::open(&path)?;
/// let app = App { contacts: store.contacts()?, store };
/// let contacts = app.contacts.clone();
/// let saving = std::thread::spawn(move || contacts.save(&Card::new("Ada Lovelace")?));
/// saving.join().expect("it does not panic")?;
/// assert_eq!(app.contacts.count()?, 1);
/// app.store.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Collection<R> {
    db: Arc<Db>,
    named: CollectionRef,
    records: PhantomData<fn() -> R>,
}

impl<R> Clone for Collection<R> {
    fn clone(&self) -> Self {
        Self {
            db: Arc::clone(&self.db),
            named: self.named.clone(),
            records: PhantomData,
        }
    }
}

impl<R: RecordKind> Collection<R> {
    pub(crate) fn new(db: &Arc<Db>, named: CollectionRef) -> Self {
        Self {
            db: Arc::clone(db),
            named,
            records: PhantomData,
        }
    }

    /// Returns the name it had when this handle was created.
    pub fn name(&self) -> &str {
        &self.named.name
    }

    /// Returns the database it is in.
    pub(crate) fn db(&self) -> &Arc<Db> {
        &self.db
    }

    /// Returns its id and name.
    pub(crate) fn collection_ref(&self) -> &CollectionRef {
        &self.named
    }

    /// Returns its id in the store. It is not reused, and stays when the collection is renamed.
    #[must_use]
    pub fn id(&self) -> i64 {
        self.named.id
    }

    /// Runs `work` with a reader of one state.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Reader<'_, R>) -> Result<T>) -> Result<T> {
        self.db
            .read_transaction(|conn| work(&Reader::new(&self.db, conn, self.named.id)))
    }

    /// Runs `work` with a reader of one state, after reindexing if necessary.
    pub(crate) fn read_ordered<T>(
        &self,
        work: impl FnOnce(&Reader<'_, R>) -> Result<T>,
    ) -> Result<T> {
        self.db.ensure_indexed()?;
        self.read(work)
    }

    /// Returns the record with this UID. See [`Reader::get`].
    ///
    /// # Errors
    /// Any read error.
    pub fn get(&self, uid: &str) -> Result<Option<StoredRecord<R>>> {
        // One statement sees one state; it needs no transaction around it.
        self.db
            .read(|conn| Reader::new(&self.db, conn, self.named.id).get(uid))
    }

    /// Returns the records with these UIDs, in their order. See [`Reader::get_many`].
    ///
    /// # Errors
    /// Any read error.
    pub fn get_many<U: AsRef<str>>(&self, uids: &[U]) -> Result<Vec<Option<StoredRecord<R>>>> {
        self.read(|r| r.get_many(uids))
    }

    /// Returns the record with this id. See [`Reader::by_id`].
    ///
    /// # Errors
    /// Any read error.
    pub fn by_id(&self, id: RecordId) -> Result<Option<StoredRecord<R>>> {
        // One statement, as for `get`.
        self.db
            .read(|conn| Reader::new(&self.db, conn, self.named.id).by_id(id))
    }

    /// Returns the texts of all records. See [`Reader::all`].
    ///
    /// # Errors
    /// Any read error.
    pub fn all(&self) -> Result<RecordTexts> {
        self.read(|r| r.all())
    }

    /// Calls `visit` with the text of every record. See [`Reader::for_each`].
    ///
    /// # Errors
    /// Any read error, and the errors of `visit`.
    pub fn for_each(&self, visit: impl FnMut(RecordId, &[u8]) -> Result<()>) -> Result<()> {
        self.read(|r| r.for_each(visit))
    }

    /// Returns the number of records.
    ///
    /// # Errors
    /// Any read error.
    pub fn count(&self) -> Result<u64> {
        self.db.ensure_indexed()?;
        // One statement sees one state.
        self.db
            .read(|conn| Reader::<R>::new(&self.db, conn, self.named.id).count())
    }

    /// Returns the position of a record in the list. See [`Reader::position`].
    ///
    /// # Errors
    /// Any read error.
    pub fn position(&self, id: RecordId) -> Result<Option<u64>> {
        self.read_ordered(|r| r.position(id))
    }

    /// Returns the removed records that can be restored, the latest first. See [`Reader::trash`].
    ///
    /// # Errors
    /// Any read error.
    pub fn trash(&self) -> Result<Vec<StoredRecord<R>>> {
        self.read(|r| r.trash())
    }

    /// Returns the changes in this collection since `token`.
    ///
    /// # Errors
    /// Any read error.
    pub fn changes_since(&self, token: &SyncToken) -> Result<Changes> {
        self.read(|r| r.changes_since(token))
    }
}
