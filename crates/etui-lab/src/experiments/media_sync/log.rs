//! The arms with a write-ahead log: SQLite's own, and the VFS `etui`; and a rollback journal
//! through that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use etui_lab_io::instrumented::{FileKind, InstrumentedOptions, InstrumentedVfs};
use etui_vfs::Vfs;

use super::library::{BATCH, Track};
use super::sqlite::MusicLibrary;
use super::{BatchSource, SyncWork, record_room};
use crate::{Error, MeasurePass, Recorder, redo};

/// Bytes of a batch as a program gives them: pictures and metadata.
fn payload_bytes(batch: &[(Track, Vec<u8>)]) -> u64 {
    let bytes = |(track, picture): &(Track, Vec<u8>)| {
        let texts = [&track.title, &track.artist, &track.album, &track.path];
        picture.len() + texts.iter().map(|text| text.len()).sum::<usize>()
    };
    batch.iter().map(bytes).sum::<usize>() as u64
}

enum LogVfs {
    Instrumented(InstrumentedVfs),
    Redo(Vfs),
}

/// Bytes written to the database and to the log.
#[derive(Clone, Copy, Default)]
struct LogBytes {
    database_writes: u64,
    database_bytes: u64,
    database_flushes: u64,
    log_writes: u64,
    log_bytes: u64,
    log_flushes: u64,
}

impl LogVfs {
    fn of(work: &SyncWork<'_>) -> Result<Self, Error> {
        if work.settings.is("redo") {
            return Ok(Self::Redo(redo::register_vfs(
                redo::options_of(work.settings)?,
                Duration::ZERO,
            )?));
        }
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("media-sync-log-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let vfs = InstrumentedVfs::register(&name, InstrumentedOptions::default());
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

    fn written(&self) -> LogBytes {
        match self {
            Self::Instrumented(vfs) => {
                let counters = vfs.counters();
                let (database, log) = (counters.of(FileKind::Database), counters.of(FileKind::Wal));
                LogBytes {
                    database_writes: database.writes,
                    database_bytes: database.write_bytes,
                    database_flushes: database.syncs,
                    log_writes: log.writes,
                    log_bytes: log.write_bytes,
                    log_flushes: log.syncs,
                }
            }
            Self::Redo(vfs) => {
                let counters = vfs.counters();
                LogBytes {
                    database_writes: counters.database_writes,
                    database_bytes: counters.database_bytes,
                    database_flushes: counters.database_flushes,
                    log_writes: counters.redo_writes + counters.journal_writes,
                    log_bytes: counters.redo_bytes + counters.journal_bytes,
                    log_flushes: counters.redo_flushes + counters.journal_flushes,
                }
            }
        }
    }
}

/// Records bytes written since, under the names of the journal's arms.
fn record_bytes(recorder: &mut Recorder, phase: &str, before: LogBytes, now: LogBytes) {
    for (name, value) in [
        (
            "database_writes",
            now.database_writes - before.database_writes,
        ),
        (
            "database_write_bytes",
            now.database_bytes - before.database_bytes,
        ),
        (
            "database_syncs",
            now.database_flushes - before.database_flushes,
        ),
        ("journal_writes", now.log_writes - before.log_writes),
        ("journal_write_bytes", now.log_bytes - before.log_bytes),
        ("journal_syncs", now.log_flushes - before.log_flushes),
    ] {
        recorder.record(&format!("{phase}/{name}"), value as f64);
    }
}

/// Runs an arm.
pub(super) fn sync_log(work: &SyncWork<'_>, recorder: &mut Recorder) -> Result<(), Error> {
    // Refused if SQLite is in use already; then whether it counts is seen when it is opened.
    let _ = etui_lab_io::memory::enable_memory_statistics(true);
    let through = LogVfs::of(work)?;
    let path = recorder.dir().join("library.db");
    let apart = work.settings.is("checkpoints_apart");
    let pragmas = match work.settings.is("rollback") {
        true => super::sqlite::is_persisting(work.settings)?,
        false => format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = {};",
            if apart { 0 } else { 1_000 }
        ),
    };
    let open = || MusicLibrary::open_through(&path, through.name(), work.settings, &pragmas);
    let library = open()?;
    let write_back = || {
        let row = "PRAGMA wal_checkpoint(PASSIVE)";
        Ok::<_, Error>(library.db.query_row(row, [], |_| Ok(()))?)
    };
    library.scan()?;
    let mut batches = BatchSource::new(work);
    // Into the steady state: one batch that does not count; SQLite's own log is as long as a
    // batch needs then.
    library.add(&batches.next())?;
    write_back()?;

    let mut commits = Duration::ZERO;
    let counted = match &through {
        LogVfs::Redo(vfs) => Some((vfs, vfs.counters())),
        LogVfs::Instrumented(_) => None,
    };
    for _ in 0..work.batches {
        let batch = batches.next();
        recorder.record("sync/payload_bytes", payload_bytes(&batch) as f64);
        let before = through.written();
        commits += recorder.phase("sync", || library.add(&batch))?;
        let now = through.written();
        record_bytes(recorder, "sync", before, now);
        if apart {
            recorder.phase("checkpoint", write_back)?;
            record_bytes(recorder, "checkpoint", now, through.written());
        }
    }
    if let Some((vfs, before)) = counted {
        redo::record_counters(recorder, "all", &vfs.counters().since(&before));
    }
    if recorder.pass() == MeasurePass::Timed {
        recorder.record("commit/wall_ns", commits.as_nanos() as f64);
    }
    record_room(recorder)?;
    drop(library);

    open()?.read(work.tracks + BATCH * (work.batches + 1), recorder)
}
