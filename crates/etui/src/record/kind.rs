//! [`RecordKind`]: the interface of a kind of records, such as contacts or calendar objects.

use std::borrow::Cow;

use etui_ical::{Method, ReceivedMessage};
use rusqlite::Connection;

use super::shared::SourceObject;
use super::time_index::TimeEntries;
use crate::db::IndexContext;
use crate::error::Result;
use crate::types::{CollectionKind, content_identity};

/// The data that is derived from a record's text and stored beside it.
#[derive(Debug, Clone, Default)]
pub struct IndexedColumns {
    /// Its search keys ([`super::keys`]).
    pub(crate) keys: Vec<u8>,
    /// Its sort key in the list.
    pub(crate) sort_key: Vec<u8>,
    /// The columns that the list shows.
    pub(crate) summary: Vec<u8>,
    /// Its entries in the time index.
    pub(crate) times: TimeEntries,
}

/// The calendar object that a record came in, and the positions of its components there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordOrigin {
    /// The id of the object in `shared_text`; `None`: it came in none.
    pub(crate) source: Option<i64>,
    /// The positions of the components (`calendar::ics`), each as a varint.
    pub(crate) positions: Vec<u8>,
}

/// A kind of records: texts with a UID, from which columns are derived.
///
/// Implemented by [`Card`](crate::contacts::Card), [`CalendarObject`](crate::calendar::CalendarObject)
/// and the kinds of [`media`](crate::media) only.
pub trait RecordKind: Sized + Send {
    /// The kind of collection that it belongs to.
    const KIND: CollectionKind;

    /// Parses a stored record; the text is kept byte for byte. `shared` is the id of its calendar
    /// object.
    #[doc(hidden)]
    fn stored(conn: &Connection, text: Vec<u8>, shared: Option<i64>) -> Result<Self>;

    /// Returns its text.
    #[doc(hidden)]
    fn text(&self) -> &[u8];

    /// Returns the UID in its text.
    #[doc(hidden)]
    fn uid(&self) -> Option<&str>;

    /// Returns its UID, or the identity that is computed from its content.
    #[doc(hidden)]
    fn identity(&self) -> Cow<'_, str> {
        match self.uid() {
            Some(uid) => Cow::Borrowed(uid),
            None => Cow::Owned(content_identity(self.text())),
        }
    }

    /// Returns the noun for this record.
    #[doc(hidden)]
    fn noun(&self) -> &'static str {
        Self::KIND.record_noun()
    }

    /// True if the records come from a scan of files: saving, removing and restoring them by hand is
    /// refused.
    #[doc(hidden)]
    const IS_SCANNED: bool = false;

    /// True if records of one UID can be merged: those of a calendar may each define other
    /// instances.
    #[doc(hidden)]
    const CAN_MERGE: bool = false;

    /// Merges a message with its UID ([`CalendarObject::receive`](etui_ical::CalendarObject::receive));
    /// `None` if the kind cannot be merged.
    #[doc(hidden)]
    fn receive(
        &mut self,
        message: Self,
        method: Method,
        keeps_first: bool,
    ) -> Option<ReceivedMessage> {
        let _ = (message, method, keeps_first);
        None
    }

    /// Returns true if another record with its UID is of another day and neither repeats: two entries
    /// rather than a change.
    #[doc(hidden)]
    fn is_unlike(&self, other: &Self) -> bool {
        let _ = other;
        false
    }

    /// Returns the record with its day added to its UID.
    #[doc(hidden)]
    fn with_uid_of_day(&self) -> Option<Self> {
        None
    }

    /// Returns true if it is a part of an entry only: times of a series without the series.
    #[doc(hidden)]
    fn is_partial(&self) -> bool {
        false
    }

    /// Returns the calendar object that the record needs for its time zones, if it came in none.
    #[doc(hidden)]
    fn required_source(&self) -> Option<SourceObject> {
        None
    }

    /// Returns the number of its components.
    #[doc(hidden)]
    fn component_count(&self) -> usize {
        1
    }

    /// Derives the columns that are stored beside the text.
    #[doc(hidden)]
    fn index(&self, context: &IndexContext<'_>) -> IndexedColumns;
}
