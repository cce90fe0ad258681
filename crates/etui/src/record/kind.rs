//! What kinds of collections there are, and what a record of one has to tell of itself.

use std::borrow::Cow;

use rusqlite::Connection;

use super::shared::SourceObject;
use super::time_index::TimeEntries;
use crate::db::{Db, IndexContext};
use crate::error::Result;
use crate::types::CollectionKind;

/// What is derived from a record's text, and stored beside it.
#[derive(Debug, Clone, Default)]
pub struct IndexedColumns {
    /// Its search keys ([`super::keys`]).
    pub(crate) keys: Vec<u8>,
    /// Its sort key in the list.
    pub(crate) sort_key: Vec<u8>,
    /// What the list shows of it.
    pub(crate) summary: Vec<u8>,
    /// Its entries in the time index.
    pub(crate) times: TimeEntries,
}

/// Where a record came from: the calendar object it stood in, and where its components did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordOrigin {
    /// The object's row in `shared`; `None`: it came in none.
    pub(crate) source: Option<i64>,
    /// The components' numbers in it (`calendar::ics`), each as a varint.
    pub(crate) positions: Vec<u8>,
}

/// A record of some kind: a text with a UID, from which the rest is derived.
///
/// Implemented by [`Card`](crate::contacts::Card) and [`RecordKind`](crate::calendar::CalendarObject) alone:
/// what a store keeps is this crate's business.
pub trait RecordKind: Sized + Send {
    /// The kind of collection that it belongs to.
    const KIND: CollectionKind;

    /// Reads one as it is stored; the text is kept byte for byte. `shared` is the row of what it
    /// shares with others.
    #[doc(hidden)]
    fn stored(conn: &Connection, text: Vec<u8>, shared: Option<i64>) -> Result<Self>;

    /// Its text.
    #[doc(hidden)]
    fn text(&self) -> &[u8];

    /// The UID that it has itself.
    #[doc(hidden)]
    fn uid(&self) -> Option<&str>;

    /// Its UID, or the identity that its content gives it.
    #[doc(hidden)]
    fn identity(&self) -> Cow<'_, str>;

    /// What one is called in a sentence.
    #[doc(hidden)]
    fn noun(&self) -> &'static str {
        Self::KIND.record_noun()
    }

    /// Whether several records of one UID can be one: a calendar's, of which each says something
    /// of another instance.
    #[doc(hidden)]
    const CAN_MERGE: bool = false;

    /// Takes in what another one with its UID says, and tells of each part of that what became of
    /// it.
    #[doc(hidden)]
    fn merge(&mut self, other: Self) -> Vec<MergeOutcome> {
        let _ = other;
        vec![MergeOutcome::Refused]
    }

    /// What of it is shared with others, if it came from nowhere.
    #[doc(hidden)]
    fn required_source(&self) -> Option<SourceObject> {
        None
    }

    /// Of how many parts it is.
    #[doc(hidden)]
    fn component_count(&self) -> usize {
        1
    }

    /// Commits the records of this kind that the process holds changed in memory, so that the
    /// reads that follow see them.
    #[doc(hidden)]
    fn commit_dirty(db: &Db) {
        let _ = db;
    }

    /// Derives what is stored beside the text.
    #[doc(hidden)]
    fn index(&self, with: &IndexContext<'_>) -> IndexedColumns;
}

/// What became of a part of a record that was joined to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeOutcome {
    /// It is a part of that one now, behind the others.
    Taken,
    /// That one had it already.
    Known,
    /// That one has another one in its place, and keeps it.
    Refused,
}
