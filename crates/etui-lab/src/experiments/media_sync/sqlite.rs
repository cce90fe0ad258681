//! The arms that are SQLite with a rollback journal. The VFS `etui` makes the mitigations; the
//! instrumented VFS below it counts file-system operations.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use etui_lab_io::instrumented::{
    FileKind, InstrumentedOptions, InstrumentedVfs, IoCounters, IoEvent, IoOperation,
};
use etui_lab_io::memory;
use etui_vfs::{Options, Vfs};
use rusqlite::{Connection, OpenFlags, params};

use super::library::{BATCH, Track};
use super::{BatchSource, SyncWork, record_room};
use crate::{ArmSettings, Error, MeasurePass, Recorder, redo};

const SCHEMA: &str = "
    CREATE TABLE track(id INTEGER PRIMARY KEY, title TEXT, artist TEXT, album TEXT, path TEXT,
                       art_bytes INTEGER);
    CREATE INDEX track_title ON track(title);
    CREATE INDEX track_artist ON track(artist);
    CREATE INDEX track_album ON track(album);
    CREATE INDEX track_path ON track(path);
    CREATE TABLE art(track INTEGER PRIMARY KEY, picture BLOB);";

/// Makes a library of tracks without pictures.
pub(super) fn set_up(path: &Path, page_size: u64, tracks: u64) -> Result<(), Error> {
    let db = Connection::open(path)?;
    db.execute_batch(&format!("PRAGMA page_size = {page_size}; BEGIN; {SCHEMA}"))?;
    for id in 0..tracks {
        insert_track(&db, &Track::number(id))?;
    }
    // Corrected by the scan: otherwise SQLite sees that nothing changes.
    db.execute_batch(
        "UPDATE track SET title = title || ' ', artist = artist || ' ', album = album || ' ',
                          path = path || ' ';
         COMMIT",
    )?;
    Ok(())
}

fn insert_track(db: &Connection, track: &Track) -> Result<(), Error> {
    db.prepare_cached("INSERT INTO track VALUES(?1, ?2, ?3, ?4, ?5, 0)")?
        .execute(params![
            track.id as i64,
            track.title,
            track.artist,
            track.album,
            track.path
        ])?;
    Ok(())
}

/// The mitigations of an arm. `read_buffer` is the study's file layer: 8 kB of the file.
fn read_mitigations(settings: &ArmSettings) -> Result<Options, Error> {
    let bytes = |name| {
        let bytes = usize::try_from(settings.number(name)?);
        bytes.map_err(|_| Error::other(format!("{name} is too large")))
    };
    Ok(Options {
        write_back: bytes("coalesce")?,
        read_buffer: bytes("buffer")?,
        database_step: settings.number("growth")?,
        ..redo::vfs_options()
    })
}

/// The rollback journal of an arm.
pub(super) fn is_persisting(settings: &ArmSettings) -> Result<String, Error> {
    let resting = match settings.number("resting")? {
        0 => -1,
        bytes => i64::try_from(bytes).unwrap_or(i64::MAX),
    };
    Ok(format!(
        "PRAGMA journal_mode = PERSIST; PRAGMA synchronous = FULL;
         PRAGMA journal_size_limit = {resting};"
    ))
}

/// An open library of tracks.
pub(super) struct MusicLibrary {
    pub(super) db: Connection,
}

impl MusicLibrary {
    /// Opens it with the rollback journal of an arm.
    fn open(path: &Path, vfs: &Vfs, settings: &ArmSettings) -> Result<Self, Error> {
        Self::open_through(path, vfs.name(), settings, &is_persisting(settings)?)
    }

    /// Opens it through a VFS, with an arm's memory limit and settings.
    pub(super) fn open_through(
        path: &Path,
        vfs: &str,
        settings: &ArmSettings,
        pragmas: &str,
    ) -> Result<Self, Error> {
        let db = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs)?;
        if memory::memory_used() == 0 {
            return Err(Error::other(
                "SQLite does not count its memory, so the soft heap limit cannot bind",
            ));
        }
        // The cache itself has no bound, so that the soft heap limit alone binds.
        db.execute_batch(&format!(
            "{pragmas} PRAGMA cache_size = -1000000; PRAGMA soft_heap_limit = {};",
            settings.number("limit")?
        ))?;
        Ok(Self { db })
    }

    /// Rewrites the metadata of all tracks, as after a scan of the card.
    pub(super) fn scan(&self) -> Result<(), Error> {
        self.db.execute_batch(
            "UPDATE track SET title = rtrim(title), artist = rtrim(artist), album = rtrim(album),
                              path = rtrim(path)",
        )?;
        Ok(())
    }

    /// Adds tracks as they come: metadata, then the picture, then the metadata that refers to it.
    /// Answers how long the commit took.
    pub(super) fn add(&self, batch: &[(Track, Vec<u8>)]) -> Result<Duration, Error> {
        let db = &self.db;
        db.execute_batch("BEGIN IMMEDIATE")?;
        for (track, picture) in batch {
            insert_track(db, track)?;
            db.prepare_cached("INSERT INTO art VALUES(?1, ?2)")?
                .execute(params![track.id as i64, picture])?;
            db.prepare_cached("UPDATE track SET art_bytes = ?2 WHERE id = ?1")?
                .execute(params![track.id as i64, picture.len() as i64])?;
        }
        let begun = Instant::now();
        db.execute_batch("COMMIT")?;
        Ok(begun.elapsed())
    }

    /// Reads all tracks and pictures, as the phase `read`, and answers with them; `total`: how
    /// many there must be.
    pub(super) fn read(&self, total: u64, recorder: &mut Recorder) -> Result<(), Error> {
        let mut rows = Vec::new();
        recorder.phase("read", || {
            let mut all = self.db.prepare(
                "SELECT track.id, title, artist, album, picture FROM track
                 LEFT JOIN art ON art.track = track.id ORDER BY track.id",
            )?;
            let mut found = all.query([])?;
            while let Some(row) = found.next()? {
                let mut hash = blake3::Hasher::new();
                for column in 1..4 {
                    hash.update(row.get_ref(column)?.as_str().unwrap_or_default().as_bytes());
                    hash.update(&[0]);
                }
                hash.update(
                    row.get_ref(4)?
                        .as_blob_or_null()
                        .ok()
                        .flatten()
                        .unwrap_or_default(),
                );
                rows.push(hash.finalize());
            }
            Ok(())
        })?;
        if rows.len() as u64 != total {
            return Err(Error::other(format!(
                "{} of {total} tracks are there",
                rows.len()
            )));
        }
        let sound: String = self
            .db
            .query_row("PRAGMA quick_check", [], |row| row.get(0))?;
        if sound != "ok" {
            return Err(Error::other(format!("the database is damaged: {sound}")));
        }
        for row in rows {
            recorder.answer(row.as_bytes());
        }
        Ok(())
    }
}

/// Journal activity of a batch.
#[derive(Debug, Default)]
struct JournalFile {
    /// The longest that it was, over all batches.
    peak: u64,
    /// Batches in which its size changed.
    unsteady: u64,
}

impl JournalFile {
    fn see(&mut self, log: &[IoEvent], changes: u64) {
        let end = log
            .iter()
            .filter(|event| {
                event.kind == FileKind::Journal && event.operation == IoOperation::Write
            })
            .map(|event| event.offset.saturating_add(event.length))
            .max();
        self.peak = self.peak.max(end.unwrap_or(0));
        self.unsteady += u64::from(changes > 0);
    }
}

/// Runs an arm.
pub(super) fn sync_sqlite(work: &SyncWork<'_>, recorder: &mut Recorder) -> Result<(), Error> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // Refused if SQLite is in use already; then whether it counts is seen when it is opened.
    let _ = memory::enable_memory_statistics(true);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("media-sync-counting-{number}");
    let options = InstrumentedOptions {
        log: true,
        ..InstrumentedOptions::default()
    };
    let counting =
        InstrumentedVfs::register(&name, options).map_err(|e| Error::other(e.to_string()))?;
    let name = format!("media-sync-{number}");
    let vfs = etui_vfs::register_above(&name, counting.name(), read_mitigations(work.settings)?)
        .map_err(|e| Error::other(e.to_string()))?;
    let path = recorder.dir().join("library.db");
    let library = MusicLibrary::open(&path, &vfs, work.settings)?;
    library.scan()?;
    let mut batches = BatchSource::new(work);
    // Into the steady state: one batch that does not count.
    library.add(&batches.next())?;

    let mut journal = JournalFile::default();
    let mut commits = Duration::ZERO;
    counting.take_log();
    let before = counting.counters();
    let mut last = before;
    let mut pending: Vec<Vec<(Track, Vec<u8>)>> =
        (0..work.batches).map(|_| batches.next()).collect();
    recorder.phase("sync", || {
        for batch in pending.drain(..) {
            commits += library.add(&batch)?;
            let now = counting.counters();
            journal.see(
                &counting.take_log(),
                now.since(&last).of(FileKind::Journal).size_changes,
            );
            last = now;
        }
        Ok(())
    })?;
    record_sync(recorder, &counting.counters().since(&before));
    if recorder.pass() == MeasurePass::Timed {
        recorder.record("commit/wall_ns", commits.as_nanos() as f64);
    }
    recorder.record("sync/journal_peak_bytes", journal.peak as f64);
    recorder.record("sync/journal_unsteady_batches", journal.unsteady as f64);
    record_room(recorder)?;
    drop(library);

    let before = counting.counters();
    let library = MusicLibrary::open(&path, &vfs, work.settings)?;
    let total = work.tracks + BATCH * (work.batches + 1);
    library.read(total, recorder)?;
    let reads = counting.counters().since(&before);
    let database = reads.of(FileKind::Database);
    recorder.record("read/database_reads", database.reads as f64);
    recorder.record("read/database_read_bytes", database.read_bytes as f64);
    Ok(())
}

fn record_sync(recorder: &mut Recorder, counted: &IoCounters) {
    let database = counted.of(FileKind::Database);
    let journal = counted.of(FileKind::Journal);
    for (name, value) in [
        ("rewritten_pages", database.rewritten_pages),
        ("database_size_changes", database.size_changes),
        ("database_writes", database.writes),
        ("database_write_bytes", database.write_bytes),
        ("database_out_of_order", database.out_of_order),
        ("database_reads", database.reads),
        ("database_read_bytes", database.read_bytes),
        ("database_syncs", database.syncs),
        ("journal_size_changes", journal.size_changes),
        ("journal_truncates", journal.truncates),
        ("journal_writes", journal.writes),
        ("journal_write_bytes", journal.write_bytes),
        ("journal_syncs", journal.syncs),
    ] {
        recorder.record(&format!("sync/{name}"), value as f64);
    }
}
