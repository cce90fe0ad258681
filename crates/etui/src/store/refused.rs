//! Refused versions: texts that a client wrote and the store did not take, such as an edit of a
//! resource that was changed meanwhile. They are kept, so that the person can take one back.
//!
//! A version is kept for 30 days, as a replaced one is. Each device has room for [`MAX_REFUSED`] of them and
//! for [`MAX_REFUSED_BYTES`]; the oldest of the device go first. Of the texts above [`LARGE_REFUSED`] only its
//! latest stays, so that a few large ones do not push out its edits.

use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension, Row};

use crate::calendar::CalendarObject;
use crate::contacts::Card;
use crate::db::TransactionSize;
use crate::error::{Error, Result};
use crate::record::changes::KEPT_MS;
use crate::record::collection_table;
use crate::resource::{Resource, ResourceCondition, ResourceKey, SavedResource};
use crate::store::{CollectionKey, Store};
use crate::types::{CollectionId, CollectionKind, RecordId, RefusedId, now_ms};

const SCHEMA: &str = include_str!("refused.sql");

/// Maximum number of refused versions of a device that are kept.
pub const MAX_REFUSED: usize = 10_000;

/// Maximum size in bytes of the texts of a device's refused versions. The latest is kept in any case.
pub const MAX_REFUSED_BYTES: usize = 16 << 20;

/// The size in bytes above which only the latest text of a device is kept.
pub const LARGE_REFUSED: usize = 1 << 20;

/// A text that was refused.
#[derive(Debug, Clone, Copy)]
pub struct RefusedText<'t> {
    /// The id of the collection that it was for.
    pub collection: CollectionId,
    /// The name of the resource.
    pub name: &'t str,
    /// The record that it was to replace, if there is one.
    pub record: Option<RecordId>,
    /// Its UID, if it has one.
    pub uid: Option<&'t str>,
    /// The text, as the client sent it.
    pub text: &'t [u8],
    /// The client that sent it.
    pub device: &'t str,
    /// Why it was refused, in words for the person.
    pub reason: &'t str,
}

/// A refused version that is kept. Its text is read by [`RefusedVersions::text`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedVersion {
    /// Its number, which is not reused.
    pub id: RefusedId,
    /// The id of the collection that it was for.
    pub collection: CollectionId,
    /// The kind and the name of the collection; `None` if it is gone for good.
    pub collection_name: Option<(CollectionKind, String)>,
    /// The name of the resource.
    pub name: String,
    /// The record that it was to replace, if there was one.
    pub record: Option<RecordId>,
    /// Its UID, if it has one.
    pub uid: Option<String>,
    /// When it was refused, the last time if it came several times.
    pub at: SystemTime,
    /// The client that sent it.
    pub device: String,
    /// Why it was refused.
    pub reason: String,
    /// The size of the text in bytes.
    pub size: u64,
}

const COLUMNS: &str = "id, collection, name, record, uid, at, device, reason, size";

impl RefusedVersion {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let at: i64 = row.get(5)?;
        let size: i64 = row.get(8)?;
        Ok(Self {
            id: RefusedId(row.get(0)?),
            collection: CollectionId(row.get(1)?),
            collection_name: None,
            name: row.get(2)?,
            record: row.get::<_, Option<i64>>(3)?.map(RecordId),
            uid: row.get(4)?,
            // A clock before 1970 stores a negative time, which a Duration cannot have.
            at: SystemTime::UNIX_EPOCH + Duration::from_millis(at.max(0).unsigned_abs()),
            device: row.get(6)?,
            reason: row.get(7)?,
            size: size.unsigned_abs(),
        })
    }

    fn with_collection(mut self, conn: &Connection) -> Result<Self> {
        let found = collection_table::find_by_id(conn, self.collection.0)?;
        self.collection_name = found.map(|(kind, name, _)| (kind, name));
        Ok(self)
    }
}

fn has_table(conn: &Connection) -> Result<bool> {
    let mut found = conn.prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = 'refused'")?;
    Ok(found.exists([])?)
}

/// The refused versions that a store keeps.
pub struct RefusedVersions<'s>(&'s Store);

impl Store {
    /// Returns the refused versions of this store.
    pub fn refused(&self) -> RefusedVersions<'_> {
        RefusedVersions(self)
    }
}

impl RefusedVersions<'_> {
    /// Keeps a text that was refused; returns its number. The same text of a device for the same resource
    /// is kept once.
    ///
    /// ```
    /// use etui::store::RefusedText;
    /// # let dir = tempfile::tempdir()?;
    /// # let store = etui::Store::open(dir.path().join("personal.etui"))?;
    /// let id = store.refused().keep(&RefusedText {
    ///     collection: store.contacts()?.id(),
    ///     name: "ada.vcf",
    ///     record: None,
    ///     uid: Some("ada"),
    ///     text: b"BEGIN:VCARD\r\nVERSION:3.0\r\nUID:ada\r\nFN:Ada\r\nEND:VCARD\r\n",
    ///     device: "Phone",
    ///     reason: "it was changed meanwhile",
    /// })?;
    /// assert_eq!(store.refused().list()?[0].id, id);
    /// store.refused().take(id)?;
    /// assert!(store.contacts()?.get("ada")?.is_some());
    /// assert!(store.refused().list()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Any write error.
    pub fn keep(&self, refused: &RefusedText<'_>) -> Result<RefusedId> {
        let size = TransactionSize::of(1, refused.text.len());
        self.0
            .db
            .write_of(size, |conn| keep(conn, refused, now_ms()))
    }

    /// Returns the refused versions, the latest first.
    ///
    /// # Errors
    /// Any read error.
    pub fn list(&self) -> Result<Vec<RefusedVersion>> {
        self.0.db.read_transaction(|conn| {
            if !has_table(conn)? {
                return Ok(Vec::new());
            }
            let sql = format!("SELECT {COLUMNS} FROM refused ORDER BY at DESC, id DESC");
            let mut statement = conn.prepare_cached(&sql)?;
            let found: Vec<RefusedVersion> = statement
                .query_map([], RefusedVersion::from_row)?
                .collect::<rusqlite::Result<_>>()?;
            found
                .into_iter()
                .map(|version| version.with_collection(conn))
                .collect()
        })
    }

    /// Returns the refused version with this number; `None` if it is not kept.
    ///
    /// # Errors
    /// Any read error.
    pub fn get(&self, id: RefusedId) -> Result<Option<RefusedVersion>> {
        self.0.db.read_transaction(|conn| {
            if !has_table(conn)? {
                return Ok(None);
            }
            let sql = format!("SELECT {COLUMNS} FROM refused WHERE id = ?1");
            let mut statement = conn.prepare_cached(&sql)?;
            let found = statement
                .query_row([id.0], RefusedVersion::from_row)
                .optional()?;
            found
                .map(|version| version.with_collection(conn))
                .transpose()
        })
    }

    /// Returns the text of a refused version, as the client sent it; `None` if it is not kept.
    ///
    /// # Errors
    /// Any read error.
    pub fn text(&self, id: RefusedId) -> Result<Option<Vec<u8>>> {
        self.0.db.read_transaction(|conn| {
            if !has_table(conn)? {
                return Ok(None);
            }
            Ok(conn
                .prepare_cached("SELECT text FROM refused WHERE id = ?1")?
                .query_row([id.0], |r| r.get(0))
                .optional()?)
        })
    }

    /// Deletes a refused version. Returns false if it is not kept.
    ///
    /// # Errors
    /// Any write error.
    pub fn forget(&self, id: RefusedId) -> Result<bool> {
        self.0.db.write_of(TransactionSize::Small, |conn| {
            if !has_table(conn)? {
                return Ok(false);
            }
            let deleted = conn
                .prepare_cached("DELETE FROM refused WHERE id = ?1")?
                .execute([id.0])?;
            Ok(deleted > 0)
        })
    }

    /// Saves a refused version as the present one of its record, and forgets it. The text that it
    /// replaces stays in the history of the record.
    ///
    /// It is saved under its UID, whatever the name of that resource is now; under its own name if
    /// there is no such record. A contact of version 3.0 is merged into a stored one of 4.0, as by
    /// [`put_resource`](crate::record::Collection::put_resource).
    ///
    /// # Errors
    /// [`Error::NoRefused`]; [`Error::NoCollection`] if the collection was removed; the errors of
    /// [`put_resource`](crate::record::Collection::put_resource). The version is kept then.
    pub fn take(&self, id: RefusedId) -> Result<SavedResource> {
        let (Some(version), Some(text)) = (self.get(id)?, self.text(id)?) else {
            return Err(Error::NoRefused(id));
        };
        let saved = match version.collection_name {
            Some((CollectionKind::Calendar, _)) => {
                self.put_refused::<CalendarObject>(&version, &text)?
            }
            _ => self.put_refused::<Card>(&version, &text)?,
        };
        // After the save: a failure in between keeps the version, and taking it again changes nothing.
        self.forget(id)?;
        Ok(saved)
    }

    fn put_refused<R: Resource>(
        &self,
        version: &RefusedVersion,
        text: &[u8],
    ) -> Result<SavedResource> {
        let collection = self
            .0
            .collection::<R>(CollectionKey::Id(version.collection))?;
        let put = |name: &str| collection.put_resource(name, text, &ResourceCondition::Always);
        match put(&version.name) {
            // The record has another name, or the name another record.
            Err(Error::UidTaken { .. }) => {}
            saved => return saved,
        }
        let uid = R::parse_resource(text)?.record.identity().into_owned();
        match collection.resource(ResourceKey::Uid(&uid))? {
            Some(present) => put(&present.name),
            None => collection.put_new(text),
        }
    }
}

/// Keeps a refused text, and deletes those that are too old or too many.
pub(crate) fn keep(conn: &Connection, refused: &RefusedText<'_>, now: i64) -> Result<RefusedId> {
    if !has_table(conn)? {
        conn.execute_batch(SCHEMA)?;
    }
    let RefusedText {
        collection,
        name,
        record,
        uid,
        text,
        device,
        reason,
    } = refused;
    let size = i64::try_from(text.len()).unwrap_or(i64::MAX);
    // The sizes are compared first, so that texts are read only where they are equal.
    let same: Option<i64> = conn
        .prepare_cached(
            "SELECT id FROM refused WHERE collection = ?1 AND name = ?2 AND device = ?5 \
             AND size = ?3 AND text = ?4",
        )?
        .query_row((collection.0, name, size, text, device), |r| r.get(0))
        .optional()?;
    let id = match same {
        Some(id) => {
            conn.prepare_cached("UPDATE refused SET at = ?2, reason = ?3 WHERE id = ?1")?
                .execute((id, now, reason))?;
            id
        }
        None => {
            conn.prepare_cached(
                "INSERT INTO refused \
                 (collection, name, record, uid, at, device, reason, size, text) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute((
                collection.0,
                name,
                record.map(|id| id.0),
                uid,
                now,
                device,
                reason,
                size,
                text,
            ))?;
            conn.last_insert_rowid()
        }
    };
    delete_old(conn, id, device, now)?;
    Ok(RefusedId(id))
}

/// Deletes versions that are too old, and those of a device that are too many, but not `latest`.
fn delete_old(conn: &Connection, latest: i64, device: &str, now: i64) -> Result<()> {
    conn.prepare_cached("DELETE FROM refused WHERE at < ?1 AND id <> ?2")?
        .execute((now - KEPT_MS, latest))?;
    // The index has all that is read here.
    let mut statement = conn.prepare_cached(
        "SELECT id, size FROM refused WHERE device = ?1 ORDER BY at DESC, id DESC",
    )?;
    let mut rows = statement.query([device])?;
    let (mut count, mut bytes, mut has_large, mut deleted) = (0, 0_usize, false, Vec::new());
    while let Some(row) = rows.next()? {
        let (id, size): (i64, i64) = (row.get(0)?, row.get(1)?);
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let is_large = size > LARGE_REFUSED;
        if is_large && has_large && id != latest {
            deleted.push(id);
            continue;
        }
        has_large |= is_large;
        count += 1;
        bytes = bytes.saturating_add(size);
        if (count > MAX_REFUSED || bytes > MAX_REFUSED_BYTES) && id != latest {
            deleted.push(id);
        }
    }
    drop(rows);
    let mut delete = conn.prepare_cached("DELETE FROM refused WHERE id = ?1")?;
    for id in deleted {
        delete.execute([id])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Versions are forgotten after 30 days, and the oldest if there are too many.
    #[test]
    fn old_versions_are_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("s.etui")).unwrap();
        let contacts = store.contacts().unwrap();
        let keep_at = |name: &str, at| {
            let refused = RefusedText {
                collection: contacts.id(),
                name,
                record: None,
                uid: None,
                text: b"text",
                device: "Phone",
                reason: "changed",
            };
            store.db.write(|conn| keep(conn, &refused, at)).unwrap();
        };
        let names = || {
            let all = store.refused().list().unwrap();
            all.into_iter().map(|one| one.name).collect::<Vec<_>>()
        };
        let now = now_ms();
        keep_at("a", now);
        keep_at("b", now + 1_000);
        assert_eq!(names(), ["b", "a"]);
        keep_at("c", now + KEPT_MS + 500);
        assert_eq!(names(), ["c", "b"]);
        // A wrong clock does not forget the one that comes.
        keep_at("d", now - 10 * KEPT_MS);
        assert_eq!(names(), ["c", "b", "d"]);
    }
}
