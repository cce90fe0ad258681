//! [`Snapshot`]: many reads from one state.

use std::sync::Arc;

use crate::db::{Db, FixedState};
use crate::error::Result;
use crate::record::{Reader, RecordKind, collection_table};

use crate::store::CollectionKey;
use crate::{calendar, contacts};

/// One state of a store. Later writes, also of this process, are not seen in it.
///
/// It costs one read transaction. While a snapshot is kept, the WAL cannot be restarted, and grows;
/// drop it after reading.
///
/// After [`Store::close`](crate::Store::close) its reads fail, and the file stays open until its last reader is
/// dropped. Its readers share it: they, and clones of it, may be kept and move to threads, and read one after the other.
#[derive(Clone)]
pub struct Snapshot {
    state: Arc<FixedState>,
}

impl Snapshot {
    pub(crate) fn begin(db: &Arc<Db>) -> Result<Self> {
        let state = Arc::new(FixedState::begin(db)?);
        Ok(Self { state })
    }

    /// Returns a collection; see [`Store::collection`](crate::Store::collection).
    ///
    /// # Errors
    /// [`crate::Error::NoCollection`], with the existing names.
    pub fn collection<'k, R: RecordKind>(
        &self,
        key: impl Into<CollectionKey<'k>>,
    ) -> Result<Reader<R>> {
        let key = key.into();
        let found = self.state.read(|conn| key.find(conn, R::KIND))?;
        Ok(Reader::fixed(&self.state, found))
    }

    /// Returns the names of the collections of a kind, the default one first.
    ///
    /// # Errors
    /// Any read error.
    pub fn collections<R: RecordKind>(&self) -> Result<Vec<String>> {
        let all = self
            .state
            .read(|conn| collection_table::list_collections(conn, R::KIND))?;
        Ok(all.into_iter().map(|c| c.name).collect())
    }

    /// Returns the default address book.
    ///
    /// # Errors
    /// As [`Self::collection`].
    pub fn contacts(&self) -> Result<contacts::Reader> {
        self.collection(CollectionKey::Default)
    }

    /// Returns the default calendar.
    ///
    /// # Errors
    /// As [`Self::collection`].
    pub fn calendar(&self) -> Result<calendar::Reader> {
        self.collection(CollectionKey::Default)
    }
}
