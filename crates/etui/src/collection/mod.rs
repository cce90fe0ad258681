//! What all collections share: the handle, identity, ETags, the change log, the trash.
//!
//! [`Collection`] is one of a store's, [`Reader`] the same in one state; what their records are is
//! a type parameter ([`Record`]). Finding in them (`query`) and following them (`view`) is built on
//! top.
//!
//! A collection is a set of records of one kind under one name (an address book, a calendar). What
//! a record is, and what is derived from it, is its kind's business (`contacts`, `calendar`); here
//! it is bytes with a UID, keys and a place in a list.

pub(crate) mod changes;
pub(crate) mod derive;
pub(crate) mod fill;
mod handle;
pub(crate) mod keys;
mod kind;
pub(crate) mod list;
pub(crate) mod meta;
pub(crate) mod names;
pub(crate) mod prepared;
mod read;
pub(crate) mod records;
pub(crate) mod shared;
pub(crate) mod times;
pub(crate) mod write;

use std::fmt;
use std::str::FromStr;

pub use changes::{Change, ChangeKind, Changes, Token};
pub use handle::Collection;
pub(crate) use kind::{Derived, Deriving, Origin};
pub use kind::{Joined, Kind, Record};
pub use read::{Page, Reader, Stored, Texts};

/// The version of a record's content: the first 16 bytes of BLAKE3 over its text.
///
/// Two records with the same ETag have the same bytes. It is written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ETag(pub(crate) [u8; 16]);

impl ETag {
    /// The ETag of a record's text.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        let mut tag = [0; 16];
        tag.copy_from_slice(&blake3::hash(text).as_bytes()[..16]);
        Self(tag)
    }
}

/// The identity of a record that has no UID: from its content, line ends at its end aside.
pub(crate) fn content_identity(text: &[u8]) -> String {
    let hash = blake3::hash(text.trim_ascii_end());
    format!("etui-{}", &hash.to_hex()[..32])
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ETag({self})")
    }
}

/// The text is no ETag: 32 hexadecimal digits were expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an ETag is 32 hexadecimal digits")]
pub struct BadETag;

impl FromStr for ETag {
    type Err = BadETag;

    fn from_str(s: &str) -> Result<Self, BadETag> {
        if s.len() != 32 || !s.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(BadETag);
        }
        let mut tag = [0; 16];
        for (i, byte) in tag.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&s[2 * i..2 * i + 2], 16).map_err(|_| BadETag)?;
        }
        Ok(Self(tag))
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

/// A record's number in its store: short, never used again, the same for the record's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId(pub i64);

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What must hold for a write to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Condition {
    /// Nothing.
    #[default]
    Always,
    /// The record is there and has this ETag.
    IfMatch(ETag),
    /// There is no live record with this UID.
    IfAbsent,
}

/// What a save did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// The record.
    pub id: RecordId,
    /// Its ETag now.
    pub etag: ETag,
    /// What happened.
    pub outcome: Outcome,
}

/// What happened to a record that was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It is new (or was in the trash and is there again).
    Added,
    /// It was there with other content, which can be brought back.
    Changed,
    /// It was there with this very content; nothing was written.
    Unchanged,
}

/// Milliseconds since 1970-01-01T00:00Z.
pub(crate) fn now_ms() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}
