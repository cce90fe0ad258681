//! [`Collection`]: the handle to a collection. Its writes are in `write`; its reads are those of
//! [`Reader`].

use std::ops::Deref;
use std::sync::Arc;

use super::collection_table::CollectionRef;
use super::kind::RecordKind;
use super::read::Reader;
use crate::db::Db;

/// A collection of a store, with records of the kind `R`: an address book, a calendar.
///
/// What it reads is in [`Reader`], to which it dereferences; a [`Snapshot`](crate::Snapshot) has the same
/// reads of one state.
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
    reader: Reader<R>,
}

impl<R> Clone for Collection<R> {
    fn clone(&self) -> Self {
        Self {
            reader: self.reader.clone(),
        }
    }
}

/// A collection has all reads of [`Reader`].
impl<R> Deref for Collection<R> {
    type Target = Reader<R>;

    fn deref(&self) -> &Reader<R> {
        &self.reader
    }
}

impl<R: RecordKind> Collection<R> {
    pub(crate) fn new(db: &Arc<Db>, named: CollectionRef) -> Self {
        Self {
            reader: Reader::latest(db, named),
        }
    }
}
