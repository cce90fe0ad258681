//! [`Reader`]: the reads of a collection, and [`ReadState`], on which they run.

use std::marker::PhantomData;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row};

use super::collection_table::CollectionRef;
use super::kind::RecordKind;
use super::{changes, list};
use crate::db::{Db, FixedState};
use crate::error::Result;
use crate::types::{Changes, CollectionId, ETag, RecordId, SyncToken};

/// A stored record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord<R> {
    /// Its id in the store.
    pub id: RecordId,
    /// Its UID (or the identity that stands for one).
    pub uid: String,
    /// The version of its content.
    pub etag: ETag,
    /// Its text, byte for byte as it came.
    pub text: Vec<u8>,
    kind: PhantomData<fn() -> R>,
}

impl<R: RecordKind> StoredRecord<R> {
    pub(crate) fn new(id: RecordId, uid: String, etag: ETag, text: Vec<u8>) -> Self {
        Self {
            id,
            uid,
            etag,
            text,
            kind: PhantomData,
        }
    }

    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: RecordId(row.get(0)?),
            uid: row.get(1)?,
            etag: row.get(2)?,
            text: row.get(3)?,
            kind: PhantomData,
        })
    }
}

/// How a record is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKey<'k> {
    /// By its UID, or the identity that stands for one.
    Uid(&'k str),
    /// By its id in the store.
    Id(RecordId),
}

impl<'k, U: AsRef<str> + ?Sized> From<&'k U> for RecordKey<'k> {
    fn from(uid: &'k U) -> Self {
        Self::Uid(uid.as_ref())
    }
}

impl From<RecordId> for RecordKey<'_> {
    fn from(id: RecordId) -> Self {
        Self::Id(id)
    }
}

/// A window of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paging {
    /// The number of entries to skip.
    pub offset: u64,
    /// The maximum number of entries.
    pub limit: u64,
}

impl Paging {
    /// All entries.
    pub const ALL: Self = Self {
        offset: 0,
        limit: u64::MAX,
    };

    /// The first `limit` entries.
    pub fn first(limit: u64) -> Self {
        Self { offset: 0, limit }
    }
}

/// The texts of many records in one piece of memory.
#[derive(Debug, Clone, Default)]
pub struct RecordTexts {
    bytes: Vec<u8>,
    /// Each record and the end of its text.
    ends: Vec<(RecordId, usize)>,
}

impl RecordTexts {
    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no records.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns all texts, one after the other.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns each record with its text.
    pub fn iter(&self) -> impl Iterator<Item = (RecordId, &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(id, end)| {
            let text = &self.bytes[start..end];
            start = end;
            (id, text)
        })
    }
}

/// The reads of a collection.
///
/// That of a [`Collection`](super::Collection) reads the state at each call, that of a
/// [`Snapshot`](crate::Snapshot) always the snapshot's.
pub struct Reader<R> {
    source: Source,
    named: CollectionRef,
    records: PhantomData<fn() -> R>,
}

/// What a reader reads.
#[derive(Clone)]
enum Source {
    /// The latest state at each call.
    Latest(Arc<Db>),
    /// One state.
    Fixed(Arc<FixedState>),
}

impl<R> Clone for Reader<R> {
    fn clone(&self) -> Self {
        Self {
            source: self.source.clone(),
            named: self.named.clone(),
            records: PhantomData,
        }
    }
}

impl<R: RecordKind> Reader<R> {
    /// Reads the latest state at each call.
    pub(crate) fn latest(db: &Arc<Db>, named: CollectionRef) -> Self {
        Self::new(Source::Latest(Arc::clone(db)), named)
    }

    /// Reads one state.
    pub(crate) fn fixed(state: &Arc<FixedState>, named: CollectionRef) -> Self {
        Self::new(Source::Fixed(Arc::clone(state)), named)
    }

    fn new(source: Source, named: CollectionRef) -> Self {
        Self {
            source,
            named,
            records: PhantomData,
        }
    }

    /// Returns the collection's name when this was created.
    pub fn name(&self) -> &str {
        &self.named.name
    }

    /// Returns the collection's id in the store. It is not reused, and stays when the collection is renamed.
    #[must_use]
    pub fn id(&self) -> CollectionId {
        CollectionId(self.named.id)
    }

    /// Returns the collection's id as the tables have it.
    pub(crate) fn number(&self) -> i64 {
        self.named.id
    }

    /// Returns the database it is in.
    pub(crate) fn db(&self) -> &Arc<Db> {
        match &self.source {
            Source::Latest(db) => db,
            Source::Fixed(state) => state.db(),
        }
    }

    /// Returns the collection's id and name.
    pub(crate) fn collection_ref(&self) -> &CollectionRef {
        &self.named
    }

    /// Runs `work` in one state.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&ReadState<'_, R>) -> Result<T>) -> Result<T> {
        match &self.source {
            Source::Latest(db) => {
                db.read_transaction(|conn| work(&ReadState::new(db, conn, self.named.id)))
            }
            // The transaction of the snapshot is open already.
            Source::Fixed(_) => self.read_statement(work),
        }
    }

    /// Runs `work`, which is one statement: it sees one state without a transaction around it.
    fn read_statement<T>(&self, work: impl FnOnce(&ReadState<'_, R>) -> Result<T>) -> Result<T> {
        let id = self.named.id;
        match &self.source {
            Source::Latest(db) => db.read(|conn| work(&ReadState::new(db, conn, id))),
            Source::Fixed(state) => state.read(|conn| work(&ReadState::new(state.db(), conn, id))),
        }
    }

    /// Runs `work` in one state, after reindexing if necessary.
    pub(crate) fn read_ordered<T>(
        &self,
        work: impl FnOnce(&ReadState<'_, R>) -> Result<T>,
    ) -> Result<T> {
        if let Source::Latest(db) = &self.source {
            db.ensure_indexed()?;
        }
        self.read(work)
    }

    /// Returns the record with this UID or id; `None` if there is none or it was removed.
    ///
    /// # Errors
    /// Any read error.
    pub fn get<'k>(&self, key: impl Into<RecordKey<'k>>) -> Result<Option<StoredRecord<R>>> {
        let key = key.into();
        self.read_statement(|state| state.get(key))
    }

    /// Returns the records with these UIDs or ids, in their order; `None` where there is none.
    ///
    /// # Errors
    /// Any read error.
    pub fn get_many<'k, K: Into<RecordKey<'k>>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<StoredRecord<R>>>> {
        self.read(|state| keys.into_iter().map(|key| state.get(key.into())).collect())
    }

    /// Returns the texts of all records, in the order in which they were added.
    ///
    /// # Errors
    /// Any read error.
    pub fn all(&self) -> Result<RecordTexts> {
        let mut texts = RecordTexts::default();
        self.for_each(|id, text| {
            texts.bytes.extend_from_slice(text);
            texts.ends.push((id, texts.bytes.len()));
            Ok(())
        })?;
        Ok(texts)
    }

    /// Calls `visit` with the text of every record, in the order in which they were added, with one
    /// record in memory at a time. An error of `visit` ends the iteration.
    ///
    /// # Errors
    /// Any read error, and the errors of `visit`.
    pub fn for_each(&self, mut visit: impl FnMut(RecordId, &[u8]) -> Result<()>) -> Result<()> {
        self.read(|state| {
            let mut statement = state.conn.prepare_cached(
                // In the order of the file; by way of `record_uid` they would have to be sorted.
                "SELECT id, text FROM record NOT INDEXED \
                 WHERE collection = ?1 AND removed_at IS NULL ORDER BY id",
            )?;
            let mut rows = statement.query([state.collection])?;
            while let Some(row) = rows.next()? {
                visit(
                    RecordId(row.get(0)?),
                    row.get_ref(1)?.as_blob().unwrap_or_default(),
                )?;
            }
            Ok(())
        })
    }

    /// Returns the number of records.
    ///
    /// # Errors
    /// Any read error.
    pub fn count(&self) -> Result<u64> {
        // The count is that of the list, which reindexing rebuilds.
        if let Source::Latest(db) = &self.source {
            db.ensure_indexed()?;
        }
        self.read_statement(|state| list::count(state.conn, state.collection))
    }

    /// Returns the position of a record in the list, counted from 0; `None` if this collection has
    /// no such record.
    ///
    /// # Errors
    /// Any read error.
    pub fn position(&self, id: RecordId) -> Result<Option<u64>> {
        self.read_ordered(|state| {
            let sort: Option<Vec<u8>> = state
                .conn
                .prepare_cached(
                    "SELECT sort_key FROM record \
                     WHERE id = ?1 AND collection = ?2 AND removed_at IS NULL",
                )?
                .query_row((id.0, state.collection), |r| r.get(0))
                .optional()?;
            sort.map(|sort| list::position(state.conn, state.collection, &sort, id.0))
                .transpose()
        })
    }

    /// Returns the removed records that can be restored, the latest first.
    ///
    /// # Errors
    /// Any read error.
    pub fn trash(&self) -> Result<Vec<StoredRecord<R>>> {
        self.read(|state| {
            let mut statement = state.conn.prepare_cached(
                "SELECT id, uid, etag, text FROM record \
                 WHERE collection = ?1 AND removed_at IS NOT NULL ORDER BY changed DESC",
            )?;
            let found = statement.query_map([state.collection], StoredRecord::from_row)?;
            Ok(found.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Returns the changes in this collection since `token`.
    ///
    /// # Errors
    /// Any read error.
    pub fn changes_since(&self, token: &SyncToken) -> Result<Changes> {
        self.read(|state| changes::list_changes(state.conn, state.collection, token))
    }
}

/// A collection in one state of the store.
pub(crate) struct ReadState<'c, R> {
    pub(crate) db: &'c Db,
    pub(crate) conn: &'c Connection,
    pub(crate) collection: i64,
    records: PhantomData<fn() -> R>,
}

impl<'c, R: RecordKind> ReadState<'c, R> {
    pub(crate) fn new(db: &'c Db, conn: &'c Connection, collection: i64) -> Self {
        Self {
            db,
            conn,
            collection,
            records: PhantomData,
        }
    }

    /// Runs `work`, and translates its errors to this crate's.
    pub(crate) fn explain_errors<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        work().map_err(|e| self.db.explain(e))
    }

    /// See [`Reader::get`].
    pub(crate) fn get(&self, key: RecordKey<'_>) -> Result<Option<StoredRecord<R>>> {
        let found = match key {
            RecordKey::Uid(uid) => self
                .conn
                .prepare_cached(
                    "SELECT id, uid, etag, text FROM record \
                     WHERE collection = ?1 AND uid = ?2 AND removed_at IS NULL",
                )?
                .query_row((self.collection, uid), StoredRecord::from_row),
            RecordKey::Id(id) => self
                .conn
                .prepare_cached(
                    "SELECT id, uid, etag, text FROM record \
                     WHERE id = ?2 AND collection = ?1 AND removed_at IS NULL",
                )?
                .query_row((self.collection, id.0), StoredRecord::from_row),
        };
        Ok(found.optional()?)
    }
}
