//! The table `meta`: settings and counters of the store.

use rusqlite::types::{FromSql, ToSql};
use rusqlite::{Connection, OptionalExtension};

use crate::error::{Error, Result, SqliteError};

/// Keys of `meta`.
pub(crate) const STORE_ID: &str = "store_id";
pub(crate) const INCARNATION: &str = "incarnation";
pub(crate) const INODE: &str = "inode";
pub(crate) const LOCALE: &str = "locale";
pub(crate) const REGION: &str = "region";
/// The version of the derived data.
pub(crate) const INDEX_VERSION: &str = "index_version";
/// The terms of changes up to this sequence number are in `term_posting`.
pub(crate) const TERM_WATERMARK: &str = "term_watermark";
/// The trigrams of changes up to this sequence number are in `trigram_posting`.
pub(crate) const TRIGRAM_WATERMARK: &str = "trigram_watermark";
/// Changes up to this sequence number may be missing from `change`.
pub(crate) const LOG_FLOOR: &str = "log_floor";
/// Records were erased, and the file has not been written again since.
pub(crate) const PURGE_PENDING: &str = "purge_pending";

/// Before the id of a calendar: its color.
pub(crate) const COLOR_PREFIX: &str = "color.";

/// Before the id of a collection: its segment in URLs.
pub(crate) const SEGMENT_PREFIX: &str = "segment.";

/// The settings of a store.
#[derive(Debug, Default)]
pub(crate) struct StoreMetadata {
    /// The locale of its lists.
    pub(crate) locale: Option<String>,
    /// The region that completes national phone numbers.
    pub(crate) region: Option<String>,
    /// The version of the library's index and collator that wrote the derived data.
    pub(crate) index_version: Option<String>,
}

/// Reads the settings. A value of another type counts as absent.
pub(crate) fn read(conn: &Connection) -> Result<StoreMetadata> {
    let text = |key| match get_value::<String>(conn, key) {
        Err(Error::Sqlite(SqliteError(rusqlite::Error::InvalidColumnType(..)))) => Ok(None),
        value => value,
    };
    Ok(StoreMetadata {
        locale: text(LOCALE)?,
        region: text(REGION)?,
        index_version: text(INDEX_VERSION)?,
    })
}

/// Returns true if locale and region are still those in `settings`.
pub(crate) fn are_current(conn: &Connection, settings: &StoreMetadata) -> Result<bool> {
    let mut same = conn.prepare_cached(
        "SELECT (SELECT value FROM meta WHERE key = 'locale' AND typeof(value) = 'text') IS ?1 \
           AND (SELECT value FROM meta WHERE key = 'region' AND typeof(value) = 'text') IS ?2",
    )?;
    let settings = (&settings.locale, &settings.region);
    Ok(same.query_row(settings, |r| r.get(0))?)
}

pub(crate) fn get_value<T: FromSql>(conn: &Connection, key: &str) -> Result<Option<T>> {
    Ok(conn
        .prepare_cached("SELECT value FROM meta WHERE key = ?1")?
        .query_row([key], |r| r.get(0))
        .optional()?)
}

pub(crate) fn set(conn: &Connection, key: &str, value: impl ToSql) -> Result<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?
        .execute((key, value))?;
    Ok(())
}

pub(crate) fn remove(conn: &Connection, key: &str) -> Result<()> {
    conn.prepare_cached("DELETE FROM meta WHERE key = ?1")?
        .execute([key])?;
    Ok(())
}

/// Returns a number; 0 if it was never written.
pub(crate) fn get_number(conn: &Connection, key: &str) -> Result<i64> {
    Ok(get_value(conn, key)?.unwrap_or(0))
}
