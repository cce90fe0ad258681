//! Types that every module of the library shares: identifiers, versions, tokens and outcomes.
//!
//! This module imports no other module of the crate.

use std::fmt;
use std::str::FromStr;

/// The kind of records that a collection holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CollectionKind {
    /// An address book: contacts.
    Contacts,
    /// A calendar: events, to-dos and journal entries.
    Calendar,
    /// The tracks of a media library.
    Music,
    /// The albums of a media library.
    Albums,
    /// The artists of a media library.
    Artists,
    /// The genres of a media library.
    Genres,
    /// The pictures and videos of a media library.
    Pictures,
    /// The days with pictures of a media library.
    Days,
}

impl CollectionKind {
    /// All kinds.
    pub(crate) const ALL: [Self; 8] = [
        Self::Contacts,
        Self::Calendar,
        Self::Music,
        Self::Albums,
        Self::Artists,
        Self::Genres,
        Self::Pictures,
        Self::Days,
    ];
    /// The kinds of which every store has a collection.
    pub(crate) const INITIAL: [Self; 2] = [Self::Contacts, Self::Calendar];
    /// The kinds of a media library, which is created at its first use.
    pub(crate) const MEDIA: [Self; 6] = [
        Self::Music,
        Self::Albums,
        Self::Artists,
        Self::Genres,
        Self::Pictures,
        Self::Days,
    ];

    /// Returns the kind's name in the schema.
    pub(crate) fn schema_name(self) -> &'static str {
        match self {
            Self::Contacts => "contacts",
            Self::Calendar => "calendar",
            Self::Music => "music",
            Self::Albums => "albums",
            Self::Artists => "artists",
            Self::Genres => "genres",
            Self::Pictures => "pictures",
            Self::Days => "days",
        }
    }

    /// Returns the kind with this name in the schema.
    pub(crate) fn from_schema_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.schema_name() == name)
    }

    /// Returns the name of the collection of this kind in a new store.
    pub fn default_name(self) -> &'static str {
        match self {
            Self::Contacts => "Contacts",
            Self::Calendar => "Calendar",
            Self::Music => "Music",
            Self::Albums => "Albums",
            Self::Artists => "Artists",
            Self::Genres => "Genres",
            Self::Pictures => "Pictures",
            Self::Days => "Days",
        }
    }

    /// Returns the noun for a collection of this kind, with its article.
    pub(crate) fn with_article(self) -> &'static str {
        match self {
            Self::Contacts => "an address book",
            Self::Calendar => "a calendar",
            Self::Music => "a list of tracks",
            Self::Albums => "a list of albums",
            Self::Artists => "a list of artists",
            Self::Genres => "a list of genres",
            Self::Pictures => "a list of pictures",
            Self::Days => "a list of days",
        }
    }

    /// Returns the noun for a record of this kind.
    pub(crate) fn record_noun(self) -> &'static str {
        match self {
            Self::Contacts => "contact",
            Self::Calendar => "calendar record",
            Self::Music => "track",
            Self::Albums => "album",
            Self::Artists => "artist",
            Self::Genres => "genre",
            Self::Pictures => "picture",
            Self::Days => "day",
        }
    }
}

/// The size of a thumbnail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ThumbnailSize {
    /// At most 128 pixels wide and high.
    #[default]
    Small,
    /// At most 256 pixels wide and high.
    Large,
}

/// Returns the first 63 bits of BLAKE3 over a picture, its id.
#[cfg(feature = "media")]
pub(crate) fn picture_hash(bytes: &[u8]) -> i64 {
    let hash = blake3::hash(bytes);
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    i64::from_be_bytes(first) & i64::MAX
}

/// Writes the noun for a collection of this kind.
impl fmt::Display for CollectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Contacts => "address book",
            Self::Calendar => "calendar",
            Self::Music => "list of tracks",
            Self::Albums => "list of albums",
            Self::Artists => "list of artists",
            Self::Genres => "list of genres",
            Self::Pictures => "list of pictures",
            Self::Days => "list of days",
        })
    }
}

/// The version of a record's content: the first 16 bytes of BLAKE3 over its text.
///
/// Two records with the same ETag have the same bytes. It is written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ETag(pub(crate) [u8; 16]);

impl ETag {
    /// Computes the ETag of a record's text.
    pub fn of(text: &[u8]) -> Self {
        let mut tag = [0; 16];
        tag.copy_from_slice(&blake3::hash(text).as_bytes()[..16]);
        Self(tag)
    }
}

/// Computes the identity of a record without a UID from its content; line ends after the last
/// line do not count.
pub(crate) fn content_identity(text: &[u8]) -> String {
    let hash = blake3::hash(text.trim_ascii_end());
    format!("etui-{}", &hash.to_hex()[..32])
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ETag({self})")
    }
}

/// The text is not an ETag (32 hexadecimal digits).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an ETag is 32 hexadecimal digits")]
pub struct InvalidETag;

impl FromStr for ETag {
    type Err = InvalidETag;

    fn from_str(s: &str) -> Result<Self, InvalidETag> {
        if s.len() != 32 || !s.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(InvalidETag);
        }
        let tag = u128::from_str_radix(s, 16).map_err(|_| InvalidETag)?;
        Ok(Self(tag.to_be_bytes()))
    }
}

impl rusqlite::types::FromSql for ETag {
    fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
        <[u8; 16]>::column_result(value).map(Self)
    }
}

impl rusqlite::types::ToSql for ETag {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(rusqlite::types::ToSqlOutput::from(&self.0[..]))
    }
}

/// The id of a record in its store: a small integer, stable for the record's life, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId(pub i64);

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of a collection in its store: it is not reused, and stays when the collection is renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollectionId(pub i64);

/// The id of a device in its store, which is not reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub i64);

/// The number of a refused version, which is not reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RefusedId(pub i64);

impl fmt::Display for RefusedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for CollectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The precondition of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Condition {
    /// None.
    #[default]
    Always,
    /// The record exists and has this ETag.
    IfMatch(ETag),
    /// There is no live record with this UID.
    IfAbsent,
}

/// The result of saving one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedRecord {
    /// The record.
    pub id: RecordId,
    /// Its ETag now.
    pub etag: ETag,
    /// The effect of the save.
    pub outcome: SaveOutcome,
}

/// The effect of saving a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SaveOutcome {
    /// The record is new, or came back from the trash.
    Added,
    /// The record had other content, which can be restored.
    Changed,
    /// The record had this content already; nothing was written.
    Unchanged,
}

/// A point in a store's history from which changes can be listed (RFC 6578).
///
/// Written `STORE.INCARNATION.SEQ`, with `-LISTING` after it in a token that continues a listing. A
/// copy or a restored backup is another incarnation: its
/// sequence numbers are not comparable, and an older token gives [`Changes::Resynchronise`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SyncToken {
    /// The store, shared by all its copies.
    pub store: u64,
    /// This copy of the store.
    pub incarnation: u64,
    /// The sequence number of the latest change.
    pub seq: i64,
    /// In a token that continues a listing of resources
    /// ([`resource_changes`](crate::record::Reader::resource_changes)): the sequence number of the
    /// latest change when it began.
    pub listing: Option<i64>,
}

impl fmt::Display for SyncToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:016x}.{:016x}.{}",
            self.store, self.incarnation, self.seq
        )?;
        match self.listing {
            Some(listing) => write!(f, "-{listing}"),
            None => Ok(()),
        }
    }
}

/// The text is not a sync token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a sync token looks like 0123456789abcdef.0123456789abcdef.42")]
pub struct InvalidSyncToken;

impl FromStr for SyncToken {
    type Err = InvalidSyncToken;

    fn from_str(s: &str) -> std::result::Result<Self, InvalidSyncToken> {
        let mut parts = s.splitn(3, '.');
        let mut next = || parts.next().ok_or(InvalidSyncToken);
        let hex = |s: &str| match s.bytes().all(|b| b.is_ascii_hexdigit()) {
            true => u64::from_str_radix(s, 16).map_err(|_| InvalidSyncToken),
            false => Err(InvalidSyncToken),
        };
        let number = |s: &str| s.parse().map_err(|_| InvalidSyncToken);
        let (store, incarnation, last) = (hex(next()?)?, hex(next()?)?, next()?);
        let (seq, listing) = match last.split_once('-') {
            Some((seq, listing)) if !seq.is_empty() => (seq, Some(number(listing)?)),
            _ => (last, None),
        };
        Ok(Self {
            store,
            incarnation,
            seq: number(seq)?,
            listing,
        })
    }
}

/// The net effect on a record since a sync token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// The record is new, or came back from the trash.
    Added,
    /// The record has other content.
    Changed,
    /// The record was removed.
    Removed,
}

/// The latest change of one record since a sync token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordChange {
    /// The sequence number of its latest change.
    pub seq: i64,
    /// The record.
    pub id: RecordId,
    /// Its UID.
    pub uid: String,
    /// The net effect since the token.
    pub kind: ChangeKind,
}

/// The changes of a collection since a sync token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// Every record changed since the token, once each, in the order of their latest changes.
    Since(Vec<RecordChange>),
    /// The token is of another store or incarnation, older than the change log, or older than
    /// this collection's creation, its restoration or its becoming the default: read all records.
    Resynchronise,
}

/// Returns the current time in milliseconds since 1970-01-01T00:00Z.
pub(crate) fn now_ms() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sync_tokens_round_trip_as_text() {
        let token = SyncToken {
            store: 0xfeed_0000_0000_0001,
            incarnation: 7,
            seq: 42,
            listing: None,
        };
        assert_eq!(token.to_string().parse(), Ok(token));
        let listing = SyncToken {
            listing: Some(99),
            ..token
        };
        assert_eq!(listing.to_string().parse(), Ok(listing));
        for bad in [
            "", "1", "1.2", "x.y.z", "+1.2.3", "1.2.z", "1.2.3.4", "1.2.3-", "1.2.3-x",
        ] {
            assert_eq!(bad.parse::<SyncToken>(), Err(InvalidSyncToken), "{bad}");
        }
    }
}
