//! [`Resource`]: the kinds of records that a sync server serves.

use rusqlite::Connection;

use crate::error::Result;
use crate::record::RecordKind;
use crate::record::shared::SourceObject;

/// A resource that a client sent, parsed.
#[derive(Debug)]
pub struct ParsedResource<R> {
    pub(crate) record: R,
    /// The calendar object that it is.
    pub(crate) source: Option<SourceObject>,
    /// The stored record gives back exactly the bytes that came.
    pub(crate) is_verbatim: bool,
}

/// A kind of records that can be resources.
///
/// Implemented by [`Card`](crate::contacts::Card) and
/// [`CalendarObject`](crate::calendar::CalendarObject) only.
pub trait Resource: RecordKind {
    /// The end of the computed names: `.vcf` or `.ics`.
    const EXTENSION: &'static str;

    /// True if the records have source objects.
    #[doc(hidden)]
    const HAS_SOURCE: bool;

    /// The state that composing one resource after another shares.
    #[doc(hidden)]
    type Composer: Default;

    /// Returns true if an edit may have to be merged into the stored resource.
    #[doc(hidden)]
    fn may_merge(_edited: &Self) -> bool {
        false
    }

    /// Returns the record to keep for one that a client edited, if it is another: the client could not
    /// see all of the stored one.
    #[doc(hidden)]
    fn merge_edit(_edited: &Self, _stored: &[u8]) -> Result<Option<Self>> {
        Ok(None)
    }

    /// Parses the bytes of one resource.
    #[doc(hidden)]
    fn parse_resource(bytes: &[u8]) -> Result<ParsedResource<Self>>;

    /// Returns the bytes of the resource of a record with this text, source object and encoded
    /// positions in it.
    #[doc(hidden)]
    fn compose(
        composer: &mut Self::Composer,
        conn: &Connection,
        text: Vec<u8>,
        source: Option<i64>,
        positions: &[u8],
    ) -> Result<Vec<u8>>;
}
