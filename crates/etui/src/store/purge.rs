//! Erasing for good: removed records, earlier versions and refused texts, without a trace in the file.
//!
//! ```text
//! one transaction   texts and keys are deleted or blanked; lists, times and index are made again
//! checkpoint, VACUUM, checkpoint      the file is written again; freed pages are zeroed first
//! ```
//!
//! The change log keeps a row for each number, so that the sequence goes on; it says no more than that
//! something was removed. Clients that synchronise read the collection again.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension};

use super::Maintenance;
use super::Store;
use super::hooks::reindex;
use crate::db::metadata;
use crate::error::Result;
#[cfg(feature = "media")]
use crate::media::playlist::purge_entries;
use crate::record::changes::{self, KEPT_MS};
use crate::record::records::{self, RecordWriter};
use crate::record::{collection_table, steps};
use crate::sync;
use crate::types::{Condition, RecordId, now_ms};

/// The records that are erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PurgeScope<'p> {
    /// The trash, the earlier versions of all records, and all refused texts.
    Removed,
    /// These records, live or removed, with their versions and refused texts.
    Records(&'p [RecordId]),
}

/// What was erased.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PurgeReport {
    /// The UIDs of the erased records.
    pub uids: Vec<String>,
    /// The number of earlier versions, of these and other records.
    pub versions: u64,
    /// The number of refused texts.
    pub refused: u64,
    /// False if another program reads the store: the log still has the texts, until the last program has
    /// closed it.
    pub is_complete: bool,
}

impl Store {
    /// Erases records, their history and refused texts now and for good, not in 30 days: no file of the
    /// store has their texts afterwards. Copies elsewhere, such as backups, keep them.
    ///
    /// It takes as long as [`Maintenance::repair`]: lists and index are made again, and the file is written
    /// again (`VACUUM`), which needs free space of its size.
    ///
    /// # Errors
    /// [`Error::NoRecordId`](crate::Error::NoRecordId) if a record is not there; nothing is erased then. Any
    /// write error; if it is one of writing the file again, the records are erased and parts of their
    /// texts may still be in it, until [`Maintenance::complete_purge`] or another purge succeeds.
    pub fn purge(&self, scope: PurgeScope<'_>) -> Result<PurgeReport> {
        let order = self.db.order();
        let mut report = self.after_queue(|conn| {
            // Deleted content is overwritten with zeros, also in pages that stay in the file.
            set_secure_delete(conn)?;
            // By way of the trash: the removal updates lists, times and the change log.
            if let PurgeScope::Records(ids) = scope {
                RecordWriter::run_scan(conn, order, |writing| move_to_trash(conn, writing, ids))?;
            }
            let report = match scope {
                PurgeScope::Removed => purge_removed(conn)?,
                PurgeScope::Records(ids) => purge_records(conn, ids)?,
            };
            // After the records and changes that refer to templates.
            delete_unused_templates(conn)?;
            reindex(&self.db, conn)?;
            crate::search::index::rebuild_index(conn, self.path())?;
            // In this transaction, so that a purge that is killed now is completed later.
            metadata::set(conn, metadata::PURGE_PENDING, 1)?;
            Ok(report)
        })?;
        report.is_complete = self.write_file_again()?;
        Ok(report)
    }

    fn write_file_again(&self) -> Result<bool> {
        let is_complete = self.db.vacuum()?;
        if is_complete {
            self.db
                .write(|conn| metadata::remove(conn, metadata::PURGE_PENDING))?;
        }
        self.maintenance().release_memory();
        Ok(is_complete)
    }
}

impl Maintenance<'_> {
    /// Completes a purge that was killed, failed or met another reader after the records were erased: writes
    /// the file again. Returns `None` if there is none, and [`PurgeReport::is_complete`] otherwise.
    ///
    /// # Errors
    /// As [`Store::purge`].
    pub fn complete_purge(&self) -> Result<Option<bool>> {
        let is_pending = |conn: &Connection| metadata::get_number(conn, metadata::PURGE_PENDING);
        if self.0.db.read(is_pending)? == 0 {
            return Ok(None);
        }
        self.0.db.write(set_secure_delete)?;
        self.0.write_file_again().map(Some)
    }
}

fn set_secure_delete(conn: &Connection) -> Result<()> {
    Ok(conn.query_row("PRAGMA secure_delete = ON", [], |_| Ok(()))?)
}

fn move_to_trash(
    conn: &Connection,
    writing: &mut RecordWriter<'_>,
    ids: &[RecordId],
) -> Result<()> {
    for id in ids {
        let found: Option<(i64, String)> = conn
            .prepare_cached("SELECT collection, uid FROM record WHERE id = ?1")?
            .query_row([id.0], |r| Ok((r.get(0)?, r.get(1)?)))
            .optional()?;
        let Some((collection, uid)) = found else {
            return Err(crate::Error::NoRecordId(*id));
        };
        records::remove(conn, writing, collection, &uid, Condition::Always)?;
    }
    Ok(())
}

/// Erases the trash and all earlier versions. The latest row of the change log stays, without content: it
/// carries the sequence.
fn purge_removed(conn: &Connection) -> Result<PurgeReport> {
    let mut uids =
        conn.prepare("SELECT uid FROM record WHERE removed_at IS NOT NULL ORDER BY id")?;
    let uids = uids.query_map([], |r| r.get(0))?;
    let mut report = PurgeReport {
        uids: uids.collect::<rusqlite::Result<_>>()?,
        versions: count(conn, "SELECT count(*) FROM change WHERE text IS NOT NULL")?,
        ..PurgeReport::default()
    };
    let latest = changes::latest_seq(conn)?;
    #[cfg(feature = "media")]
    purge_entries(conn, &report.uids)?;
    conn.execute("DELETE FROM record WHERE removed_at IS NOT NULL", [])?;
    conn.execute(
        "DELETE FROM change WHERE seq < (SELECT max(seq) FROM change)",
        [],
    )?;
    blank_changes(conn, "1")?;
    conn.execute("UPDATE collection SET history_start = ?1", [latest])?;
    metadata::set(conn, metadata::LOG_FLOOR, latest)?;
    if has_table(conn, "refused")? {
        report.refused = conn.execute("DELETE FROM refused", [])? as u64;
    }
    sync::erase_bases(conn)?;
    if steps::has_table(conn)? {
        conn.execute_batch("DELETE FROM step; DELETE FROM step_collection")?;
    }
    // As if the retention period were over.
    collection_table::purge_removed(conn, now_ms() + KEPT_MS + 1)?;
    blank_removed_collections(conn)?;
    Ok(report)
}

/// Erases what the rows of removed collections say. They stay for their ids, which are not used again.
fn blank_removed_collections(conn: &Connection) -> Result<()> {
    const REMOVED: &str = "SELECT id FROM collection WHERE removed_at IS NOT NULL";
    conn.execute(
        "UPDATE collection SET name = 'Erased', external_id = NULL WHERE removed_at IS NOT NULL",
        [],
    )?;
    if has_table(conn, "collection_property")? {
        let sql = format!("DELETE FROM collection_property WHERE collection IN ({REMOVED})");
        conn.execute(&sql, [])?;
    }
    for prefix in [metadata::SEGMENT_PREFIX, metadata::COLOR_PREFIX] {
        let sql = format!("DELETE FROM meta WHERE key IN (SELECT ?1 || id FROM ({REMOVED}))");
        conn.execute(&sql, [prefix])?;
    }
    Ok(())
}

/// Erases removed records. Each number that they have in the sequence keeps a row of the change log,
/// without content.
fn purge_records(conn: &Connection, ids: &[RecordId]) -> Result<PurgeReport> {
    let latest = changes::latest_seq(conn)?;
    let floor = metadata::get_number(conn, metadata::LOG_FLOOR)?;
    let mut report = PurgeReport::default();
    let mut collections = BTreeSet::new();
    // The change log has no index by record: all are found in one pass.
    let list: Vec<String> = ids.iter().map(|id| id.0.to_string()).collect();
    let erased = format!(
        "record IN (SELECT value FROM json_each('[{}]'))",
        list.join(",")
    );
    let versions = format!("SELECT count(*) FROM change WHERE text IS NOT NULL AND {erased}");
    report.versions = count(conn, &versions)?;
    blank_changes(conn, &erased)?;
    for RecordId(id) in ids {
        let found: Option<(i64, String)> = conn
            .prepare_cached("SELECT collection, uid FROM record WHERE id = ?1")?
            .query_row([id], |r| Ok((r.get(0)?, r.get(1)?)))
            .optional()?;
        // It was given twice.
        let Some((collection, uid)) = found else {
            continue;
        };
        collections.insert(collection);
        #[cfg(feature = "media")]
        purge_entries(conn, std::slice::from_ref(&uid))?;
        conn.prepare_cached("DELETE FROM record WHERE id = ?1")?
            .execute([id])?;
        // Its addition has this number in the sequence; the log has no rows up to the floor.
        if *id > floor {
            conn.prepare_cached(
                "INSERT INTO change (seq, record, at, kind) VALUES (?1, ?1, ?2, ?3)",
            )?
            .execute((id, now_ms(), changes::REMOVED))?;
        }
        if has_table(conn, "refused")? {
            report.refused += conn
                .prepare_cached("DELETE FROM refused WHERE record = ?1 OR uid = ?2")?
                .execute((id, &uid))? as u64;
        }
        sync::erase_bases(conn)?;
        // Writes of other programs that wait or failed.
        conn.prepare_cached(
            "DELETE FROM write_queue WHERE record = ?1 OR instr(text, CAST(?2 AS BLOB)) > 0",
        )?
        .execute((id, &uid))?;
        report.uids.push(uid);
    }
    for collection in collections {
        conn.prepare_cached("UPDATE collection SET history_start = ?2 WHERE id = ?1")?
            .execute((collection, latest))?;
    }
    Ok(report)
}

/// Removes the content of rows of the change log.
fn blank_changes(conn: &Connection, condition: &str) -> Result<()> {
    conn.execute(
        &format!(
            "UPDATE change SET keys = NULL, text = NULL, source = NULL, positions = NULL \
             WHERE {condition}"
        ),
        [],
    )?;
    Ok(())
}

/// Deletes the templates of calendar objects that no record and no earlier version has. They begin with the
/// byte 1; zones stay.
fn delete_unused_templates(conn: &Connection) -> Result<()> {
    conn.execute(
        "DELETE FROM shared_text WHERE substr(text, 1, 1) = x'01' \
         AND id NOT IN (SELECT source FROM record WHERE source IS NOT NULL) \
         AND id NOT IN (SELECT source FROM change WHERE source IS NOT NULL)",
        [],
    )?;
    Ok(())
}

fn has_table(conn: &Connection, name: &str) -> Result<bool> {
    let mut found = conn.prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = ?1")?;
    Ok(found.exists([name])?)
}

fn count(conn: &Connection, sql: &str) -> Result<u64> {
    let count: i64 = conn.query_row(sql, [], |r| r.get(0))?;
    Ok(count.unsigned_abs())
}
