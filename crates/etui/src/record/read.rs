//! [`Reader`]: records by UID, by id or all at once, from one state of the store.

use std::marker::PhantomData;

use rusqlite::{Connection, OptionalExtension, Row};

use super::kind::RecordKind;
use super::{changes, list};
use crate::db::Db;
use crate::error::Result;
use crate::types::{Changes, ETag, RecordId, SyncToken};

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

/// A collection in one state of the store.
pub struct Reader<'c, R> {
    pub(crate) db: &'c Db,
    pub(crate) conn: &'c Connection,
    pub(crate) collection: i64,
    records: PhantomData<fn() -> R>,
}

impl<'c, R: RecordKind> Reader<'c, R> {
    pub(crate) fn new(db: &'c Db, conn: &'c Connection, collection: i64) -> Self {
        Self {
            db,
            conn,
            collection,
            records: PhantomData,
        }
    }

    /// Returns the collection's id in the store, as
    /// [`Collection::id`](crate::record::Collection::id).
    #[must_use]
    pub fn id(&self) -> i64 {
        self.collection
    }

    /// Runs `work`, and translates its errors to this crate's.
    pub(crate) fn explain_errors<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        work().map_err(|e| self.db.explain(e))
    }

    /// Returns the record with this UID; `None` if there is none or it was removed.
    ///
    /// # Errors
    /// Any read error.
    pub fn get(&self, uid: &str) -> Result<Option<StoredRecord<R>>> {
        Ok(self.get_many(&[uid])?.pop().flatten())
    }

    /// Returns the records with these UIDs, in their order; `None` where there is none.
    ///
    /// # Errors
    /// Any read error.
    pub fn get_many<U: AsRef<str>>(&self, uids: &[U]) -> Result<Vec<Option<StoredRecord<R>>>> {
        self.explain_errors(|| {
            let mut statement = self.conn.prepare_cached(
                "SELECT id, uid, etag, text FROM record \
             WHERE collection = ?1 AND uid = ?2 AND removed_at IS NULL",
            )?;
            uids.iter()
                .map(|uid| {
                    Ok(statement
                        .query_row((self.collection, uid.as_ref()), StoredRecord::from_row)
                        .optional()?)
                })
                .collect()
        })
    }

    /// Returns the record with this id; `None` if this collection has none.
    ///
    /// # Errors
    /// Any read error.
    pub fn by_id(&self, id: RecordId) -> Result<Option<StoredRecord<R>>> {
        self.explain_errors(|| {
            Ok(self
                .conn
                .prepare_cached(
                    "SELECT id, uid, etag, text FROM record \
                 WHERE id = ?2 AND collection = ?1 AND removed_at IS NULL",
                )?
                .query_row((self.collection, id.0), StoredRecord::from_row)
                .optional()?)
        })
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
        self.explain_errors(|| {
            let mut statement = self.conn.prepare_cached(
                // In the order of the file; by way of `record_uid` they would have to be sorted.
                "SELECT id, text FROM record NOT INDEXED \
             WHERE collection = ?1 AND removed_at IS NULL ORDER BY id",
            )?;
            let mut rows = statement.query([self.collection])?;
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
        self.explain_errors(|| list::count(self.conn, self.collection))
    }

    /// Returns the position of a record in the list, counted from 0; `None` if this collection has
    /// no such record.
    ///
    /// # Errors
    /// Any read error.
    pub fn position(&self, id: RecordId) -> Result<Option<u64>> {
        self.explain_errors(|| {
            let sort: Option<Vec<u8>> = self
                .conn
                .prepare_cached(
                    "SELECT sort_key FROM record \
                     WHERE id = ?1 AND collection = ?2 AND removed_at IS NULL",
                )?
                .query_row((id.0, self.collection), |r| r.get(0))
                .optional()?;
            sort.map(|sort| list::position(self.conn, self.collection, &sort, id.0))
                .transpose()
        })
    }

    /// Returns the removed records that can be restored, the latest first.
    ///
    /// # Errors
    /// Any read error.
    pub fn trash(&self) -> Result<Vec<StoredRecord<R>>> {
        self.explain_errors(|| {
            let mut statement = self.conn.prepare_cached(
                "SELECT id, uid, etag, text FROM record \
                 WHERE collection = ?1 AND removed_at IS NOT NULL ORDER BY changed DESC",
            )?;
            let found = statement.query_map([self.collection], StoredRecord::from_row)?;
            Ok(found.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Returns the changes in this collection since `token`.
    ///
    /// # Errors
    /// Any read error.
    pub fn changes_since(&self, token: &SyncToken) -> Result<Changes> {
        self.explain_errors(|| changes::list_changes(self.conn, self.collection, token))
    }
}
