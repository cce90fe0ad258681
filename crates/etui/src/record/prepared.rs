//! [`IndexedRecord`]: a record and its derived columns, ready to be stored.

use std::borrow::Cow;

use rusqlite::Connection;

use super::kind::{IndexedColumns, RecordKind};
use super::records::{self, RecordWriter};
use super::shared::SourceObject;
use crate::db::IndexContext;
use crate::error::Result;
use crate::types::{Condition, SavedRecord};

/// A record and its derived columns.
pub(crate) struct IndexedRecord<'r> {
    uid: Cow<'r, str>,
    pub(crate) text: &'r [u8],
    pub(crate) derived: Cow<'r, IndexedColumns>,
    from: Option<&'r SourceObject>,
    /// The source object that it needs for its time zones.
    made: Option<SourceObject>,
    /// An equal text in another source object, or at other positions there, is a change.
    has_exact_source: bool,
}

impl<'r> IndexedRecord<'r> {
    /// Derives the columns of `record`.
    pub(crate) fn new(record: &'r impl RecordKind, context: &IndexContext<'_>) -> Self {
        Self::derived(record, record.index(context))
    }

    /// Returns an indexed record with columns that are derived already.
    pub(crate) fn derived(record: &'r impl RecordKind, derived: IndexedColumns) -> Self {
        Self {
            uid: record.identity(),
            text: record.text(),
            derived: Cow::Owned(derived),
            from: None,
            made: record.required_source(),
            has_exact_source: false,
        }
    }

    /// Returns an indexed record from its UID, text and columns.
    #[cfg(feature = "media")]
    pub(crate) fn stored(uid: &'r str, text: &'r [u8], derived: &'r IndexedColumns) -> Self {
        Self {
            uid: Cow::Borrowed(uid),
            text,
            derived: Cow::Borrowed(derived),
            from: None,
            made: None,
            has_exact_source: false,
        }
    }

    /// Returns its UID, or the identity that stands for one.
    pub(crate) fn uid(&self) -> &str {
        &self.uid
    }

    /// Sets the UID, for a record that has none or this one.
    pub(crate) fn with_uid(self, uid: &'r str) -> Self {
        Self {
            uid: Cow::Borrowed(uid),
            ..self
        }
    }

    /// Sets the source object.
    pub(crate) fn from(self, from: Option<&'r SourceObject>) -> Self {
        Self { from, ..self }
    }

    /// Returns the source object; `None` keeps the stored one.
    pub(crate) fn source(&self) -> Option<&SourceObject> {
        self.from.or(self.made.as_ref())
    }

    /// Sets whether an equal text in another source object is a change.
    pub(crate) fn with_exact_source(self, has_exact_source: bool) -> Self {
        Self {
            has_exact_source,
            ..self
        }
    }

    /// Returns true if an equal text in another source object is a change.
    pub(crate) fn has_exact_source(&self) -> bool {
        self.has_exact_source
    }

    /// Saves it.
    pub(crate) fn put(
        &self,
        conn: &Connection,
        writing: &mut RecordWriter<'_>,
        collection: i64,
        condition: Condition,
    ) -> Result<SavedRecord> {
        records::put_record(conn, writing, collection, self, condition)
    }
}
