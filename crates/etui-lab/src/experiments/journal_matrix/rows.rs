//! Rows in a table of plain SQLite: 100 bytes each, or thumbnails.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use etui_lab_io::instrumented::{FileKind, InstrumentedOptions, InstrumentedVfs, SyncCall};
use etui_vfs::{Options, Vfs};
use rusqlite::{Connection, OpenFlags};

use super::{DELETE, INSERT, SLOW, SLOW_FLUSH, THUMBNAILS, UPDATE, split};
use crate::measure::layout::Purpose;
use crate::{Error, Recorder, RunCase, redo};

/// Rows that are there beforehand.
pub(super) const THERE: u64 = 100;
/// Those of them that were inserted one by one.
const FIRST: u64 = 8;
pub(super) const ROW: usize = 100;
/// Thumbnails of a batch, and their mean size.
const BATCH: u64 = 60;
const THUMBNAIL: usize = 35_000;

/// The VFS of SQLite.
enum RowVfs {
    Instrumented(InstrumentedVfs),
    Redo(Vfs),
}

impl RowVfs {
    /// For an arm. A process can register a name once only.
    fn of(case: &RunCase) -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let sync_delay = if case.work == SLOW {
            SLOW_FLUSH
        } else {
            Duration::ZERO
        };
        if case.settings.is("redo") {
            let mut options = redo::options_of(&case.settings)?;
            options.log_size = log_size(case, &options);
            return Ok(Self::Redo(redo::register_vfs(options, sync_delay)?));
        }
        let name = format!("journal-matrix-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let options = InstrumentedOptions {
            sync: if case.settings.is("fsync") {
                SyncCall::Fsync
            } else {
                SyncCall::Fdatasync
            },
            sync_delay,
            ..InstrumentedOptions::default()
        };
        let vfs = InstrumentedVfs::register(&name, options);
        Ok(Self::Instrumented(
            vfs.map_err(|e| Error::other(e.to_string()))?,
        ))
    }

    fn name(&self) -> &str {
        match self {
            Self::Instrumented(vfs) => vfs.name(),
            Self::Redo(vfs) => vfs.name(),
        }
    }

    /// How many flushes were asked of the files below so far.
    fn flushes(&self) -> u64 {
        match self {
            Self::Instrumented(vfs) => {
                let counters = vfs.counters();
                FileKind::ALL
                    .map(|kind| counters.of(kind).syncs)
                    .iter()
                    .sum()
            }
            Self::Redo(vfs) => {
                let counters = vfs.counters();
                counters.redo_flushes + counters.database_flushes + counters.journal_flushes
            }
        }
    }
}

/// A redo log with room for the work and for the pages that the preparations log whole, as the recycled
/// log has.
fn log_size(case: &RunCase, options: &Options) -> u64 {
    let bytes = make_filler(case) * 4096 + (1 << 20);
    options.log_size.max(bytes)
}

pub fn run_rows(case: &RunCase, recorder: &mut Recorder) -> Result<(), Error> {
    let vfs_mode = RowVfs::of(case)?;
    let path = recorder.dir().join("rows.db");
    let mut db = open_database(&path, vfs_mode.name(), case)?;
    prepare_rows(&mut db, case)?;

    let [journal, log, record] =
        ["-journal", "-wal", "-redo"].map(|end| companion_path(&path, end));
    let files = [
        (Purpose::Database, path.as_path()),
        (Purpose::Journal, journal.as_path()),
        (Purpose::Journal, log.as_path()),
        (Purpose::Journal, record.as_path()),
    ];
    let flushes = vfs_mode.flushes();
    run_phase(recorder, "work", &vfs_mode, |recorder| {
        split::count_work(recorder, &files, || do_work(&mut db, case))
    })?;
    let flushes = vfs_mode.flushes() - flushes;
    recorder.record("work/asked_flushes", flushes as f64);
    if case.settings.text("journal")? == "WAL" {
        run_phase(recorder, "checkpoint", &vfs_mode, |recorder| {
            recorder.phase("checkpoint", || {
                Ok(db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
            })
        })?;
    }
    record_answer(&db, recorder)
}

/// Records the counters of the VFS `etui`, if the arm has it.
fn run_phase(
    recorder: &mut Recorder,
    name: &str,
    vfs_mode: &RowVfs,
    work: impl FnOnce(&mut Recorder) -> Result<(), Error>,
) -> Result<(), Error> {
    let RowVfs::Redo(vfs) = vfs_mode else {
        return work(recorder);
    };
    let before = vfs.counters();
    work(recorder)?;
    redo::record_counters(recorder, name, &vfs.counters().since(&before));
    Ok(())
}

/// The name of a file that SQLite keeps beside a database.
pub fn companion_path(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn open_database(path: &Path, vfs: &str, case: &RunCase) -> Result<Connection, Error> {
    let db = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs)?;
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
