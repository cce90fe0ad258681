//! Covers and thumbnails: pictures stored once by their content.
//!
//! ```text
//! media_cover      id -> hash, width, height, colour, small, large
//! media_thumbnail  id -> bytes                        JPEG of at most 128 or 256 pixels
//! ```
//!
//! A cover's id is the first 63 bits of the hash of its original, so that a record's text, which
//! has the id, names the cover wherever it was scanned. The original itself is not stored: it is in
//! the file of a track.

use std::fmt;
use std::str::FromStr;

use rusqlite::{Connection, OptionalExtension};

use crate::error::Result;
use crate::types::{ThumbnailSize, picture_hash};

/// The id of a cover: the first 63 bits of BLAKE3 over the picture's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CoverId(pub(crate) i64);

impl CoverId {
    /// Returns the id of a picture.
    pub fn of(picture: &[u8]) -> Self {
        Self(picture_hash(picture))
    }
}

impl fmt::Display for CoverId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The text is not the id of a cover (16 hexadecimal digits).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a cover's id is 16 hexadecimal digits")]
pub struct InvalidCoverId;

impl FromStr for CoverId {
    type Err = InvalidCoverId;

    fn from_str(text: &str) -> std::result::Result<Self, InvalidCoverId> {
        if text.len() != 16 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(InvalidCoverId);
        }
        i64::from_str_radix(text, 16)
            .map(Self)
            .map_err(|_| InvalidCoverId)
    }
}

/// A cover as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cover {
    /// Its id.
    pub id: CoverId,
    /// Width of the original in pixels.
    pub width: u32,
    /// Height of the original in pixels.
    pub height: u32,
    /// Its average colour, `0xrrggbb`.
    pub color: u32,
}

/// A cover to be stored: the original's size and its thumbnails as JPEG.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NewCover {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) color: u32,
    pub(crate) small: Vec<u8>,
    pub(crate) large: Vec<u8>,
}

impl NewCover {
    /// Returns true if one thumbnail serves for both sizes: the original has at most 128 pixels, or
    /// a program gave one.
    fn has_one_thumbnail(&self) -> bool {
        self.large == self.small
    }

    /// Returns the bytes of its thumbnails as they are stored.
    pub(crate) fn stored_bytes(&self) -> usize {
        match self.has_one_thumbnail() {
            true => self.small.len(),
            false => self.small.len() + self.large.len(),
        }
    }
}

/// Returns true if a cover is stored.
pub(crate) fn is_stored(conn: &Connection, id: CoverId) -> Result<bool> {
    let mut statement = conn.prepare_cached("SELECT 1 FROM media_cover WHERE id = ?1")?;
    Ok(statement.exists([id.0])?)
}

/// Returns the ids of all covers.
pub(crate) fn all_ids(conn: &Connection) -> Result<Vec<CoverId>> {
    let mut statement = conn.prepare_cached("SELECT id FROM media_cover")?;
    let ids = statement.query_map([], |r| Ok(CoverId(r.get(0)?)))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

/// Stores a cover, unless it is stored.
pub(crate) fn insert(conn: &Connection, id: CoverId, new: &NewCover) -> Result<()> {
    if is_stored(conn, id)? {
        return Ok(());
    }
    let mut blob = conn.prepare_cached("INSERT INTO media_thumbnail (bytes) VALUES (?1)")?;
    let small = blob.insert([&new.small])?;
    let large = match new.has_one_thumbnail() {
        true => small,
        false => blob.insert([&new.large])?,
    };
    conn.prepare_cached(
        "INSERT INTO media_cover (id, width, height, color, small, large) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((id.0, new.width, new.height, new.color, small, large))?;
    Ok(())
}

/// Returns a cover.
pub(crate) fn read(conn: &Connection, id: CoverId) -> Result<Option<Cover>> {
    let mut statement =
        conn.prepare_cached("SELECT width, height, color FROM media_cover WHERE id = ?1")?;
    let found = statement.query_row([id.0], |r| {
        Ok(Cover {
            id,
            width: r.get(0)?,
            height: r.get(1)?,
            color: r.get(2)?,
        })
    });
    Ok(found.optional()?)
}

/// Calls `visit` with the thumbnail of each cover, a JPEG file; `None` where the cover is unknown.
pub(crate) fn each_thumbnail(
    conn: &Connection,
    size: ThumbnailSize,
    covers: impl IntoIterator<Item = Option<CoverId>>,
    mut visit: impl FnMut(Option<&[u8]>),
) -> Result<()> {
    let mut statement = conn.prepare_cached(match size {
        ThumbnailSize::Small => {
            "SELECT t.bytes FROM media_cover c JOIN media_thumbnail t ON t.id = c.small \
             WHERE c.id = ?1"
        }
        ThumbnailSize::Large => {
            "SELECT t.bytes FROM media_cover c JOIN media_thumbnail t ON t.id = c.large \
             WHERE c.id = ?1"
        }
    })?;
    for id in covers {
        let Some(id) = id else {
            visit(None);
            continue;
        };
        let mut rows = statement.query([id.0])?;
        match rows.next()? {
            Some(row) => visit(row.get_ref(0)?.as_blob().ok()),
            None => visit(None),
        }
    }
    Ok(())
}

/// Deletes a cover and its thumbnails.
pub(crate) fn delete(conn: &Connection, id: CoverId) -> Result<()> {
    let mut statement =
        conn.prepare_cached("DELETE FROM media_cover WHERE id = ?1 RETURNING small, large")?;
    let thumbnails: Option<(i64, i64)> = statement
        .query_row([id.0], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?;
    if let Some((small, large)) = thumbnails {
        conn.prepare_cached("DELETE FROM media_thumbnail WHERE id IN (?1, ?2)")?
            .execute((small, large))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip_as_text() {
        let id = CoverId::of(b"picture");
        assert!(id.0 >= 0);
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in ["", "12", "+123456789abcdef", "ffffffffffffffff"] {
            assert_eq!(bad.parse::<CoverId>(), Err(InvalidCoverId), "{bad}");
        }
    }
}
