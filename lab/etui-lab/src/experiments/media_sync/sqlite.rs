//! The arms that are SQLite. With a rollback journal the VFS `etui` makes the mitigations, and an
//! instrumented VFS below it counts file-system operations; a write-ahead log is SQLite's own or
//! that VFS's.

use std::path::Path;
use std::time::{Duration, Instant};

use etui_lab_io::instrumented::{FileKind, InstrumentedOptions, IoOperation};
use etui_lab_io::memory;
use etui_vfs::{Options, Vfs};
use rusqlite::{Connection, params};

use super::super::common::{ArmVfs, count_phase, open_database};
use super::library::{BATCH, Picture, Track};
use super::{SyncWork, record_room};
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
    let Track {
        title,
        artist,
        album,
        path,
        ..
    } = track;
    db.prepare_cached("INSERT INTO track VALUES(?1, ?2, ?3, ?4, ?5, 0)")?
        .execute(params![track.id as i64, title, artist, album, path])?;
    Ok(())
}

/// Registers the VFS of an arm.
fn register_vfs(settings: &ArmSettings) -> Result<ArmVfs, Error> {
    let counting = InstrumentedOptions {
        log: true,
        ..InstrumentedOptions::default()
    };
    let bytes = |name| {
        let bytes = usize::try_from(settings.number(name)?);
        bytes.map_err(|_| Error::other(format!("{name} is too large")))
    };
    let (counting, etui) = match settings.text("log") {
        Ok("wal") => (Some(counting), None),
        Ok(_) => (None, Some(redo::options_of(settings)?)),
        // `read_buffer` is the study's file layer: 8 kB of the file.
        Err(_) => (
            Some(counting),
            Some(Options {
                write_back: bytes("coalesce")?,
                read_buffer: bytes("buffer")?,
                database_step: settings.number("growth")?,
                ..redo::vfs_options()
            }),
        ),
    };
    ArmVfs::register(counting, etui, Duration::ZERO)
}

/// An open library of tracks.
struct MusicLibrary {
    db: Connection,
}

impl MusicLibrary {
    /// Opens it with an arm's journal and memory limit.
    fn open(path: &Path, vfs: &ArmVfs, settings: &ArmSettings) -> Result<Self, Error> {
        let db = open_database(path, vfs.name())?;
        if memory::memory_used() == 0 {
            return Err(Error::other(
                "SQLite does not count its memory, so the soft heap limit cannot bind",
            ));
        }
        let journal = match (settings.text("log").is_ok(), settings.is("apart")) {
            (true, true) => "WAL; PRAGMA wal_autocheckpoint = 0".to_owned(),
            (true, false) => "WAL; PRAGMA wal_autocheckpoint = 1000".to_owned(),
            (false, _) => match settings.number("resting")? {
                0 => "PERSIST; PRAGMA journal_size_limit = -1".to_owned(),
                bytes => format!("PERSIST; PRAGMA journal_size_limit = {bytes}"),
            },
        };
        // The cache itself has no bound, so that the soft heap limit alone binds.
        db.execute_batch(&format!(
            "PRAGMA journal_mode = {journal}; PRAGMA synchronous = FULL;
             PRAGMA cache_size = -1000000; PRAGMA soft_heap_limit = {};",
            settings.number("limit")?
        ))?;
        Ok(Self { db })
    }

    /// Rewrites the metadata of all tracks, as after a scan of the card.
    fn scan(&self) -> Result<(), Error> {
        Ok(self.db.execute_batch(
            "UPDATE track SET title = rtrim(title), artist = rtrim(artist), album = rtrim(album),
                              path = rtrim(path)",
        )?)
    }

    /// Adds tracks as they come: metadata, then the picture, then the metadata that refers to it.
    /// Returns the time of the commit.
    fn add(&self, batch: &[(Track, Picture)]) -> Result<Duration, Error> {
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

    /// Writes the log back into the database.
    fn write_back(&self) -> Result<(), Error> {
        let checkpoint = "PRAGMA wal_checkpoint(PASSIVE)";
        Ok(self.db.query_row(checkpoint, [], |_| Ok(()))?)
    }

    /// Reads all tracks and pictures, as the phase `read`, and answers with them; there must be
    /// `total`.
    fn read(&self, total: u64, recorder: &mut Recorder) -> Result<(), Error> {
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
                let picture = row.get_ref(4)?.as_blob_or_null().ok().flatten();
                hash.update(picture.unwrap_or_default());
                rows.push(hash.finalize());
            }
            Ok(())
        })?;
        if rows.len() as u64 != total {
            let found = rows.len();
            return Err(Error::other(format!("{found} of {total} tracks are there")));
        }
        let sound = "PRAGMA quick_check";
        let sound: String = self.db.query_row(sound, [], |row| row.get(0))?;
        if sound != "ok" {
            return Err(Error::other(format!("the database is damaged: {sound}")));
        }
        for row in rows {
            recorder.answer(row.as_bytes());
        }
        Ok(())
    }
}

/// Runs an arm.
pub(super) fn sync_tracks(work: &SyncWork<'_>, recorder: &mut Recorder) -> Result<(), Error> {
    // Refused if SQLite is in use already; then whether it counts is seen when it is opened.
    let _ = memory::enable_memory_statistics(true);
    let vfs = register_vfs(work.settings)?;
    let path = recorder.dir().join("library.db");
    let open = || MusicLibrary::open(&path, &vfs, work.settings);
    let library = open()?;
    library.scan()?;
    // Into the steady state: one batch that does not count; SQLite's own log is as long as a
    // batch needs then.
    library.add(&work.make_batch(0))?;
    library.write_back()?;

    // The longest that the journal was, and the batches in which its size changed.
    let (mut journal_peak, mut unsteady) = (0, 0);
    let mut commits = Duration::ZERO;
    take_journal_end(&vfs);
    // Of the mitigations above the instrumented VFS its counters alone are shown.
    let etui = vfs.etui.as_ref().filter(|_| vfs.counting.is_none());
    count_phase(recorder, "all", etui, |recorder| {
        for n in 1..=work.batches {
            let batch = work.make_batch(n);
            recorder.record("sync/payload_bytes", payload_bytes(&batch) as f64);
            let before = file_counters(&vfs);
            commits += recorder.phase("sync", || library.add(&batch))?;
            let now = file_counters(&vfs);
            unsteady += record_counters(recorder, "sync", &before, &now);
            journal_peak = take_journal_end(&vfs).max(journal_peak);
            if work.settings.is("apart") {
                recorder.phase("checkpoint", || library.write_back())?;
                record_counters(recorder, "checkpoint", &now, &file_counters(&vfs));
            }
        }
        Ok(())
    })?;
    if recorder.pass() == MeasurePass::Timed {
        recorder.record("commit/wall_ns", commits.as_nanos() as f64);
    }
    recorder.record("sync/journal_peak_bytes", journal_peak as f64);
    recorder.record("sync/journal_unsteady_batches", unsteady as f64);
    record_room(recorder)?;
    drop(library);

    let before = file_counters(&vfs);
    open()?.read(work.tracks + BATCH * (work.batches + 1), recorder)?;
    record_counters(recorder, "read", &before, &file_counters(&vfs));
    Ok(())
}

/// Bytes of a batch as a program gives them: pictures and metadata.
pub(super) fn payload_bytes(batch: &[(Track, Picture)]) -> usize {
    let bytes = |(track, picture): &(Track, Picture)| {
        let texts = [&track.title, &track.artist, &track.album, &track.path];
        picture.len() + texts.iter().map(|text| text.len()).sum::<usize>()
    };
    batch.iter().map(bytes).sum()
}

/// Returns the end of the writes to the rollback journal since the last call.
fn take_journal_end(vfs: &ArmVfs) -> u64 {
    let log = vfs.counting.as_ref().map(|counting| counting.take_log());
    let journal = log
        .unwrap_or_default()
        .into_iter()
        .filter(|event| event.kind == FileKind::Journal && event.operation == IoOperation::Write);
    let ends = journal.map(|event| event.offset.saturating_add(event.length));
    ends.max().unwrap_or(0)
}

const JOURNAL_SIZE_CHANGES: &str = "journal_size_changes";

/// Returns counters of operations on files by measure; a log counts as a journal.
fn file_counters(vfs: &ArmVfs) -> Vec<(&'static str, u64)> {
    if let Some(counting) = &vfs.counting {
        let counters = counting.counters();
        let kinds = [FileKind::Database, FileKind::Journal, FileKind::Wal];
        let [database, journal, log] = kinds.map(|kind| *counters.of(kind));
        return vec![
            ("rewritten_pages", database.rewritten_pages),
            ("database_size_changes", database.size_changes),
            ("database_writes", database.writes),
            ("database_write_bytes", database.write_bytes),
            ("database_out_of_order", database.out_of_order),
            ("database_reads", database.reads),
            ("database_read_bytes", database.read_bytes),
            ("database_syncs", database.syncs),
            (JOURNAL_SIZE_CHANGES, journal.size_changes),
            ("journal_truncates", journal.truncates),
            ("journal_writes", journal.writes + log.writes),
            ("journal_write_bytes", journal.write_bytes + log.write_bytes),
            ("journal_syncs", journal.syncs + log.syncs),
        ];
    }
    let counters = vfs.etui.as_ref().map(Vfs::counters).unwrap_or_default();
    vec![
        ("database_writes", counters.database_writes),
        ("database_write_bytes", counters.database_bytes),
        ("database_syncs", counters.database_flushes),
        ("journal_writes", counters.redo_writes),
        ("journal_write_bytes", counters.redo_bytes),
        ("journal_syncs", counters.redo_flushes),
    ]
}

/// Records the difference of two states of the counters; returns 1 if the journal's size changed.
fn record_counters(
    recorder: &mut Recorder,
    phase: &str,
    before: &[(&'static str, u64)],
    now: &[(&'static str, u64)],
) -> u64 {
    let mut unsteady = 0;
    for ((name, before), (_, now)) in before.iter().zip(now) {
        recorder.record(&format!("{phase}/{name}"), (now - before) as f64);
        unsteady += u64::from(*name == JOURNAL_SIZE_CHANGES && now > before);
    }
    unsteady
}
