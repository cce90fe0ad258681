//! Rows in a table of plain SQLite: 100 bytes each, or thumbnails.

use std::path::Path;
use std::time::Duration;

use etui_lab_io::instrumented::{FileKind, InstrumentedOptions, SyncCall};
use rusqlite::Connection;

use super::super::common::{self, ArmVfs, count_phase};
use super::{DELETE, INSERT, SLOW, SLOW_FLUSH, THUMBNAILS, UPDATE, split};
use crate::{Error, Recorder, RunCase, redo};

/// Rows that are there beforehand.
pub(super) const THERE: u64 = 100;
/// Those of them that were inserted one by one.
const FIRST: u64 = 8;
pub(super) const ROW: usize = 100;
/// Thumbnails of a batch, and their mean size.
const BATCH: u64 = 60;
const THUMBNAIL: usize = 35_000;

fn register_vfs(case: &RunCase) -> Result<ArmVfs, Error> {
    let sync_delay = match case.work.as_str() {
        SLOW => SLOW_FLUSH,
        _ => Duration::ZERO,
    };
    if case.settings.is("redo") {
        let mut options = redo::options_of(&case.settings)?;
        // Room for the work and for the pages that the preparations log whole, as the recycled
        // log has.
        let bytes = make_filler(case) * 4096 + (1 << 20);
        options.log_size = options.log_size.max(bytes);
        return ArmVfs::register(None, Some(options), sync_delay);
    }
    let options = InstrumentedOptions {
        sync: match case.settings.is("fsync") {
            true => SyncCall::Fsync,
            false => SyncCall::Fdatasync,
        },
        sync_delay,
        ..InstrumentedOptions::default()
    };
    ArmVfs::register(Some(options), None, sync_delay)
}

/// Returns the flushes of all files so far.
fn count_flushes(vfs: &ArmVfs) -> u64 {
    if let Some(vfs) = &vfs.etui {
        let counters = vfs.counters();
        return counters.redo_flushes + counters.database_flushes + counters.journal_flushes;
    }
    let counters = vfs.counting.as_ref().map(|vfs| vfs.counters());
    let counters = counters.unwrap_or_default();
    FileKind::ALL
        .iter()
        .map(|kind| counters.of(*kind).syncs)
        .sum()
}

pub fn run_rows(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let vfs = register_vfs(case)?;
    let path = recorder.dir().join("rows.db");
    let mut db = open_database(&path, vfs.name(), case)?;
    prepare_rows(&mut db, case)?;

    let flushes = count_flushes(&vfs);
    count_phase(recorder, "work", vfs.etui.as_ref(), |recorder| {
        split::count_work(recorder, &path, || do_work(&mut db, case))
    })?;
    recorder.record("work/asked_flushes", (count_flushes(&vfs) - flushes) as f64);
    if case.settings.text("journal")? == "WAL" {
        count_phase(recorder, "checkpoint", vfs.etui.as_ref(), |recorder| {
            recorder.phase("checkpoint", || {
                Ok(db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
            })
        })?;
    }
    record_answer(&db, recorder)
}

fn open_database(path: &Path, vfs: Option<&str>, case: &RunCase) -> Result<Connection, Error> {
    let db = common::open_database(path, vfs)?;
    let journal = case.settings.text("journal")?;
    let set: String = db.query_row(&format!("PRAGMA journal_mode = {journal}"), [], |row| {
        row.get(0)
    })?;
    if !set.eq_ignore_ascii_case(journal) {
        return Err(Error::not_run(format!(
            "SQLite cannot use the journal mode {journal} here"
        )));
    }
    // Writing back is a phase of its own.
    let synchronous = case.settings.text("synchronous")?;
    db.execute_batch(&format!(
        "PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = {synchronous}"
    ))?;
    Ok(db)
}

/// Prepares rows, and, if the log is recycled, one as long as the work needs.
fn prepare_rows(db: &mut Connection, case: &RunCase) -> Result<(), Error> {
    db.execute_batch("CREATE TABLE item (id INTEGER PRIMARY KEY, content BLOB NOT NULL)")?;
    let rows = match case.work.as_str() {
        DELETE => THERE + case.size,
        _ => THERE,
    };
    // The first are durable one by one, so that the files are laid out as in daily use: a
    // journal that is written at once is contiguous, and its pages reach the device in one
    // request less.
    for id in 0..FIRST {
        insert_row(db, id, ROW)?;
    }
    db.execute_batch("PRAGMA synchronous = OFF")?;
    let change = db.transaction()?;
    for id in FIRST..rows {
        insert_row(&change, id, ROW)?;
    }
    change.commit()?;
    // Before the checkpoint: pages not flushed then are flushed by the redo log's next epoch.
    let synchronous = case.settings.text("synchronous")?;
    db.execute_batch(&format!("PRAGMA synchronous = {synchronous}"))?;
    if case.settings.is("recycled") {
        // Every page of this is a frame of the log; it stays, as free pages would be used.
        let pages = make_filler(case);
        db.execute_batch(&format!(
            "CREATE TABLE filler AS SELECT zeroblob({}) AS x",
            pages * 4096
        ))?;
        let (busy, frames, back): (i64, i64, i64) =
            db.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        if busy != 0 || frames != back {
            return Err(Error::other("the log could not be written back"));
        }
    }
    Ok(())
}

/// How many pages the work may need in a log.
fn make_filler(case: &RunCase) -> u64 {
    match case.work.as_str() {
        THUMBNAILS => case.size * (BATCH * 10 + 20),
        _ => case.size * 4 + 20,
    }
}

fn do_work(db: &mut Connection, case: &RunCase) -> Result<(), Error> {
    for at in 0..case.size {
        match case.work.as_str() {
            INSERT | SLOW => insert_row(db, THERE + at, ROW)?,
            UPDATE => {
                db.prepare_cached("UPDATE item SET content = ?2 WHERE id = ?1")?
                    .execute((id_of(at * 37 % THERE), row_content(THERE + at, ROW)))?;
            }
            DELETE => {
                db.prepare_cached("DELETE FROM item WHERE id = ?1")?
                    .execute([id_of(at * 2)])?;
            }
            THUMBNAILS => {
                let batch = db.transaction()?;
                for nth in 0..BATCH {
                    let id = at * BATCH + nth;
                    let size = THUMBNAIL - 5_000 + (id * 1_009 % 10_000) as usize;
                    insert_row(&batch, THERE + id, size)?;
                }
                batch.commit()?;
            }
            other => return Err(Error::other(format!("there is no work `{other}`"))),
        }
    }
    Ok(())
}

fn insert_row(db: &Connection, id: u64, size: usize) -> Result<(), Error> {
    db.prepare_cached("INSERT INTO item (id, content) VALUES (?1, ?2)")?
        .execute((id_of(id), row_content(id, size)))?;
    Ok(())
}

pub(super) fn id_of(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

/// Bytes without order, always the same.
pub(super) fn row_content(id: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    blake3::Hasher::new()
        .update(&id.to_le_bytes())
        .finalize_xof()
        .fill(&mut bytes);
    bytes
}

fn record_answer(db: &Connection, recorder: &mut Recorder) -> Result<(), Error> {
    let mut rows = db.prepare("SELECT id, content FROM item ORDER BY id")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let content: Vec<u8> = row.get(1)?;
        recorder.answer(id.to_le_bytes());
        recorder.answer(&content);
    }
    Ok(())
}
