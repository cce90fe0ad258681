//! [`IndexedRecord`]: a record on its way into the store.

use std::borrow::Cow;

use rusqlite::Connection;

use super::kind::{IndexedColumns, RecordKind};
use super::records::{self, RecordRow, RecordWriter};
use super::shared::SourceObject;
use crate::db::IndexContext;
use crate::error::Result;
use crate::types::{Condition, SavedRecord};

/// A record with all that is stored of it.
pub(crate) struct IndexedRecord<'r> {
    uid: Cow<'r, str>,
    text: &'r [u8],
    derived: Cow<'r, IndexedColumns>,
    from: Option<&'r SourceObject>,
    /// Where it comes from by itself.
    made: Option<SourceObject>,
}

impl<'r> IndexedRecord<'r> {
    /// Derives what is stored of `record`.
    pub(crate) fn new(record: &'r impl RecordKind, with: &IndexContext<'_>) -> Self {
        Self::derived(record, record.index(with))
    }

    /// The same where it was derived already.
    pub(crate) fn derived(record: &'r impl RecordKind, derived: IndexedColumns) -> Self {
        Self {
            uid: record.identity(),
            text: record.text(),
            derived: Cow::Owned(derived),
            from: None,
            made: record.required_source(),
        }
    }

    /// The same of a record that is known as `uid`, by its text.
    pub(crate) fn stored(uid: &'r str, text: &'r [u8], derived: &'r IndexedColumns) -> Self {
        Self {
            uid: Cow::Borrowed(uid),
            text,
            derived: Cow::Borrowed(derived),
            from: None,
            made: None,
        }
    }

    /// What the store knows it by.
    pub(crate) fn uid(&self) -> &str {
        &self.uid
    }

    /// The bytes of its text.
    pub(crate) fn size(&self) -> usize {
        self.text.len()
    }

    /// The same as the record `uid`, for one that has no UID or this one.
    pub(crate) fn with_uid(self, uid: &'r str) -> Self {
        Self {
            uid: Cow::Borrowed(uid),
            ..self
        }
    }

    /// The same with where it came from.
    pub(crate) fn from(self, from: Option<&'r SourceObject>) -> Self {
        Self { from, ..self }
    }

    /// As what it goes in.
    pub(crate) fn to_row(&self) -> RecordRow<'_> {
        RecordRow {
            uid: &self.uid,
            text: self.text,
            keys: &self.derived.keys,
            sort: &self.derived.sort_key,
            summary: &self.derived.summary,
            times: &self.derived.times,
            from: self.from.or(self.made.as_ref()),
        }
    }

    /// Saves it.
    pub(crate) fn put(
        &self,
        conn: &Connection,
        writing: &mut RecordWriter<'_>,
        collection: i64,
        condition: Condition,
    ) -> Result<SavedRecord> {
        records::put_record(conn, writing, collection, &self.to_row(), condition)
    }
}
