//! Each rule of the redo log has a mutation of the VFS that violates it. The laboratory must catch
//! the mutation, and the unchanged VFS must pass the same trial.

use etui_redo::hash;
use etui_redo::record::RecordHeader;
use std::path::Path;
use std::time::Duration;

use etui_testkit::disk::{FaultKind, InjectedFailure, RecordingDisk};
use etui_vfs::{Mutation, Options};

use crate::crash::check::{Budget, Subject, Tally, connect, examine, look};
use crate::crash::etui::{
    IN_PLACE, LEAST, MITIGATED, SMALL, deleted_log_is_created_durably, etui, subject,
};
use crate::crash::faults::Trial;
use crate::crash::model::{Write, hash_in};
use crate::crash::random::{Kind, budget, hunt};
use crate::crash::run::DATABASE;
use crate::crash::steps::{Journal, Setup, Step, Synchronous};

fn broken(mutation: Mutation, options: Options) -> Subject {
    subject(|name, rack| etui_vfs::register_broken(name, options, rack, Some(mutation)).unwrap())
}

/// Random histories with power failures catch it.
fn caught_by_power_cuts(mutation: Mutation, synchronous: Synchronous, options: Options) {
    let subject = broken(mutation, options);
    let (tally, finding) = hunt(
        &subject,
        (synchronous, Kind::All),
        1,
        16_000,
        Duration::ZERO,
    );
    println!("{mutation:?}, {synchronous:?}: {tally:?}");
    let Some(finding) = finding else {
        panic!("{mutation:?} is not caught");
    };
    // The seed, the steps, the wrong result.
    let is_verdict = |line: &&str| !line.starts_with(' ') && !line.ends_with("steps:");
    let verdict = finding.lines().skip(1).find(is_verdict);
    println!("  {}", verdict.unwrap_or_default());
}

macro_rules! by_power_cuts {
    ($($name:ident: $mutation:ident, $synchronous:ident;)*) => {$(
        #[test]
        fn $name() {
            caught_by_power_cuts(Mutation::$mutation, Synchronous::$synchronous, SMALL);
        }
    )*};
}

by_power_cuts! {
    rule_1_record_before_last_page: RecordBeforeLastPage, Full;
    rule_3_skip_flush: SkipFlush, Full;
    rule_11_replay_without_flush: ReplayWithoutFlush, Full;
    rule_11_replay_unflushed_log: ReplayUnflushedLog, Normal;
    rule_12_restart_without_database_flush: RestartWithoutDatabaseFlush, Off;
    rule_12_restart_without_epoch: RestartWithoutEpoch, Full;
    rule_12_epoch_without_flush: EpochWithoutFlush, Full;
    rule_12_one_header_slot: OneHeaderSlot, Full;
    rule_13_truncate_rewinds_log: TruncateRewindsLog, Full;
    rule_14_checkpoint_without_log_flush: CheckpointWithoutLogFlush, Off;
    rule_15_end_without_database_flush: EndWithoutDatabaseFlush, Off;
    rule_23_marker_without_flush: MarkerWithoutFlush, Full;
    rule_24_checkpoint_erases_marker: CheckpointErasesMarker, Full;
    rule_25_clear_before_end: ClearBeforeEnd, Off;
    rule_27_skip_directory_sync: SkipDirectorySync, Full;
}

#[test]
fn rule_15_flush_without_deferred() {
    caught_by_power_cuts(Mutation::FlushWithoutDeferred, Synchronous::Full, MITIGATED);
}

#[test]
fn rule_15_read_past_deferred() {
    caught_by_power_cuts(Mutation::ReadPastDeferred, Synchronous::Full, MITIGATED);
}

#[test]
fn rule_30_appended_unflushed() {
    caught_by_power_cuts(Mutation::AppendedUnflushed, Synchronous::Full, IN_PLACE[0]);
}

#[test]
fn rule_30_append_after_shrink() {
    caught_by_power_cuts(
        Mutation::AppendAfterShrink,
        Synchronous::Normal,
        IN_PLACE[0],
    );
}

#[test]
fn rule_30_reuse_stale_in_place() {
    caught_by_power_cuts(Mutation::ReuseStaleInPlace, Synchronous::Full, IN_PLACE[0]);
}

/// Runs a trial, which must pass without the mutation and fail with it.
fn caught_by(mutation: Mutation, options: Options, trial: impl Fn(&Subject) -> Result<(), String>) {
    if let Err(wrong) = trial(&etui(options)) {
        panic!("nothing is broken, but: {wrong}");
    }
    match trial(&broken(mutation, options)) {
        Ok(()) => panic!("{mutation:?} is not caught"),
        Err(wrong) => println!("{mutation:?}: {}", wrong.lines().next().unwrap_or_default()),
    }
}

fn setup(synchronous: Synchronous) -> Setup {
    Setup {
        page_size: 1024,
        auto_vacuum: 0,
        cache_pages: 200,
        autocheckpoint: 0,
        synchronous,
        journal: Journal::Wal,
        exclusive: false,
        keep_wal: false,
        sector: 512,
    }
}

/// Each call fails in turn, followed by power failures.
fn fail_each_call(
    subject: &Subject,
    setup: &Setup,
    steps: &[Step],
    fault: FaultKind,
    scratch: bool,
) -> Result<(), String> {
    let trial = Trial {
        subject,
        setup,
        steps,
        images: Some(Budget {
            per_point: 30,
            // Seeds are call numbers; a history with few calls needs more images of each.
            per_history: if scratch { 300 } else { 1200 },
            of_recovery: 0,
            between: 20,
        }),
        scratch,
    };
    for at in 0..trial.calls()? {
        let failure = InjectedFailure {
            at,
            fault,
            lasting: false,
        };
        trial
            .fail(failure, &mut Tally::default())
            .map_err(|wrong| format!("call {at} fails: {wrong}"))?;
    }
    Ok(())
}

fn insert(rows: u32, seed: u64) -> Step {
    Step::Write {
        on: 0,
        write: Write::Insert {
            table: 0,
            rows,
            len: 60,
            seed,
        },
    }
}

fn create() -> Step {
    let write = Write::Create { table: 0 };
    Step::Write { on: 0, write }
}

/// A COMMIT that fails after its record was written: the checksums of the WAL are rewritten, and
/// the file with its spilled pages cannot be read. `rows`: the rows that it adds.
fn commits_that_fail_late(
    subject: &Subject,
    synchronous: Synchronous,
    rows: u32,
) -> Result<(), String> {
    let update = |seed| Step::Write {
        on: 0,
        write: Write::Update {
            table: 0,
            modulus: 5,
            remainder: 1,
            len: 60,
            seed,
        },
    };
    let steps = [
        create(),
        insert(30, 1 << 20),
        Step::Begin { on: 0 },
        update(3),
        Step::Spill { on: 0 },
        update(5),
        Step::Spill { on: 0 },
        insert(rows, 7),
        Step::Commit { on: 0 },
        insert(1, 9),
        insert(2, 11),
    ];
    fail_each_call(subject, &setup(synchronous), &steps, FaultKind::Io, true)
}

#[test]
fn rule_5_tail_after_unpublished() {
    caught_by(Mutation::TailAfterUnpublished, LEAST, |subject| {
        commits_that_fail_late(subject, Synchronous::Full, 1)
    });
}

#[test]
fn rule_6_keep_unpublished() {
    caught_by(Mutation::KeepUnpublished, LEAST, |subject| {
        commits_that_fail_late(subject, Synchronous::Normal, 1)
    });
}

#[test]
fn rule_30_truncate_before_revoke() {
    caught_by(Mutation::TruncateBeforeRevoke, IN_PLACE[1], |subject| {
        commits_that_fail_late(subject, Synchronous::Normal, 200)
    });
}

/// A checkpoint truncates the file to the size that it saw, after another connection has appended
/// pages in place.
#[test]
fn rule_30_truncate_appended() {
    caught_by(Mutation::TruncateAppended, IN_PLACE[0], |subject| {
        let text = |error: rusqlite::Error| error.to_string();
        let disk = RecordingDisk::new();
        let mount = subject.rack.mount(&disk);
        let sql = connect(&mount.path(DATABASE), &subject.vfs).map_err(text)?;
        sql.execute_batch(
            "PRAGMA page_size = 1024; PRAGMA journal_mode = wal; PRAGMA synchronous = FULL;
             CREATE TABLE t0(id INTEGER PRIMARY KEY, k, body BLOB);
             PRAGMA wal_checkpoint(TRUNCATE)",
        )
        .map_err(text)?;
        let before = bytes(&disk, DATABASE).len() as i64;
        sql.execute_batch(ROWS).map_err(text)?;
        let held = hash_in(&sql).map_err(text)?;
        crate::crash::past::end_old_checkpoint(&sql, before);
        let mount = subject.rack.mount(&RecordingDisk::from_files(disk.files()));
        let (_, found) = look(&mount.path(DATABASE), &subject.vfs)?;
        match found == held {
            true => Ok(()),
            false => Err("not all rows are there".to_owned()),
        }
    });
}

/// A checkpoint cannot flush the log, and continues later as if nothing had failed.
#[test]
fn rule_7_forget_failure() {
    caught_by(Mutation::ForgetFailure, SMALL, |subject| {
        let checkpoint = |mode| Step::Checkpoint { on: 0, mode };
        let steps = [
            create(),
            insert(10, 1),
            insert(10, 2),
            checkpoint("PASSIVE"),
            checkpoint("FULL"),
            insert(1, 3),
        ];
        fail_each_call(
            subject,
            &setup(Synchronous::Normal),
            &steps,
            FaultKind::Flush,
            false,
        )
    });
}

/// Cuts the power at each point of the steps.
fn cut(subject: &Subject, setup: &Setup, steps: &[Step]) -> Result<(), String> {
    let budget = Budget {
        per_point: 200,
        per_history: 4000,
        ..budget()
    };
    examine(subject, setup, steps, &budget, 1).1
}

/// The last page of a transaction was spilled, and the commit writes it again.
#[test]
fn rule_2_first_frame_wins() {
    caught_by(Mutation::FirstFrameWins, SMALL, |subject| {
        let steps = [
            create(),
            Step::Begin { on: 0 },
            insert(2, 1),
            Step::Spill { on: 0 },
            insert(2, 5),
            Step::Commit { on: 0 },
        ];
        cut(subject, &setup(Synchronous::Full), &steps)
    });
}

/// Rows that change, are deleted, and return unchanged: their pages are equal to the file again,
/// but not to the log.
#[test]
fn rule_9_ranges_after_shrink() {
    let setup = Setup {
        auto_vacuum: 1,
        ..setup(Synchronous::Full)
    };
    caught_by(Mutation::RangesAfterShrink, SMALL, |subject| {
        let all = |write| Step::Write { on: 0, write };
        let (table, modulus, remainder) = (0, 1, 0);
        let steps = [
            create(),
            insert(100, 1),
            Step::Checkpoint {
                on: 0,
                mode: "TRUNCATE",
            },
            all(Write::Count {
                table,
                modulus,
                remainder,
            }),
            all(Write::Delete {
                table,
                modulus,
                remainder,
            }),
            insert(100, 1),
        ];
        cut(subject, &setup, &steps)
    });
}

#[test]
fn rule_15_end_without_backfill() {
    let setup = Setup {
        keep_wal: true,
        ..setup(Synchronous::Full)
    };
    caught_by(Mutation::EndWithoutBackfill, SMALL, |subject| {
        let steps = [create(), insert(10, 1), Step::Reopen, insert(10, 2)];
        cut(subject, &setup, &steps)
    });
}

/// Returns a disk with a header marker and a log of some commits, as after a kill.
fn live(subject: &Subject, text: &str) -> Result<RecordingDisk, String> {
    let disk = RecordingDisk::new();
    let mount = subject.rack.mount(&disk);
    let work = || -> rusqlite::Result<RecordingDisk> {
        let sql = connect(&mount.path(DATABASE), &subject.vfs)?;
        sql.execute_batch(
            "PRAGMA page_size = 1024; PRAGMA journal_mode = wal; PRAGMA synchronous = FULL;
             PRAGMA wal_autocheckpoint = 0;
             CREATE TABLE t0(id INTEGER PRIMARY KEY, k, body BLOB)",
        )?;
        sql.execute_batch(text)?;
        Ok(RecordingDisk::from_files(disk.files()))
    };
    let killed = work().map_err(|error| error.to_string())?;
    Ok(killed)
}

const ROWS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
    INSERT INTO t0 SELECT i, i, randomblob(100) FROM n";

fn bytes(disk: &RecordingDisk, path: &str) -> Vec<u8> {
    let files = disk.files();
    let content = files.get(Path::new(path));
    content.map(|content| content.to_vec()).unwrap_or_default()
}

/// Returns the disk with a file's bytes replaced.
fn with(disk: &RecordingDisk, path: &str, bytes: &[u8]) -> RecordingDisk {
    let mut files = disk.files();
    let file = files.names.get(Path::new(path)).copied();
    if let Some(content) = file.and_then(|file| files.contents.get_mut(&file)) {
        content.set_len(0);
        content.write_at(bytes, 0);
    }
    RecordingDisk::from_files(files)
}

/// Checks that the disk is refused and unchanged.
fn refused(subject: &Subject, disk: &RecordingDisk) -> Result<(), String> {
    let before = disk.files().hash();
    let mount = subject.rack.mount(disk);
    match look(&mount.path(DATABASE), &subject.vfs) {
        Ok(_) => Err("it is opened".to_owned()),
        Err(_) if disk.files().hash() != before => Err("it is refused, but changed".to_owned()),
        Err(_) => Ok(()),
    }
}

#[test]
fn rule_10_skip_image_hash() {
    caught_by(Mutation::SkipImageHash, SMALL, |subject| {
        let text = format!("{ROWS}; PRAGMA wal_checkpoint(TRUNCATE); UPDATE t0 SET k = k + 1");
        let disk = live(subject, &text)?;
        let mut database = bytes(&disk, DATABASE);
        // In the fifth page, among the rows, of which the log has one byte each.
        database[4 * 1024 + 700] ^= 0x55;
        refused(subject, &with(&disk, DATABASE, &database))
    });
}

#[test]
fn rule_11_replay_without_size() {
    caught_by(Mutation::ReplayWithoutSize, SMALL, |subject| {
        let text = format!("{ROWS}; PRAGMA wal_checkpoint(TRUNCATE); DELETE FROM t0; VACUUM");
        let disk = live(subject, &text)?;
        let mount = subject.rack.mount(&disk);
        let (sql, _) = look(&mount.path(DATABASE), &subject.vfs)?;
        let pages: u32 = sql
            .query_row("PRAGMA page_count", (), |row| row.get(0))
            .map_err(|error| error.to_string())?;
        match bytes(&disk, DATABASE).len() {
            len if len == pages as usize * 1024 => Ok(()),
            len => Err(format!("{pages} pages in a file of {len} bytes")),
        }
    });
}

#[test]
fn rule_16_allow_any_write() {
    caught_by(Mutation::AllowAnyWrite, SMALL, |subject| {
        let mount = subject.rack.mount(&live(subject, ROWS)?);
        let (sql, _) = look(&mount.path(DATABASE), &subject.vfs)?;
        sql.execute_batch("INSERT INTO t0 VALUES (1000, 1, 1)")
            .map_err(|error| error.to_string())?;
        match crate::crash::past::write_past_sqlite(&sql, &[7; 1024], 1024) {
            rusqlite::ffi::SQLITE_OK => Err("a write past SQLite is let through".to_owned()),
            _ => Ok(()),
        }
    });
}

#[test]
fn rule_23_marker_keeps_counters() {
    caught_by(Mutation::MarkerKeepsCounters, SMALL, |subject| {
        let closed = live(subject, ROWS)?;
        let mount = subject.rack.mount(&closed);
        let path = mount.path(DATABASE);
        let text = |error: rusqlite::Error| error.to_string();
        look(&path, &subject.vfs)?;
        // The change counters that a plain idle connection remembers.
        let counters = |disk: &RecordingDisk| {
            let header = bytes(disk, DATABASE);
            [header[24..28].to_vec(), header[92..96].to_vec()]
        };
        let before = counters(&mount.disk);
        let sql = connect(&path, &subject.vfs).map_err(text)?;
        sql.execute_batch("UPDATE t0 SET body = 1 WHERE id = 3")
            .map_err(text)?;
        let after = counters(&mount.disk);
        match before
            .iter()
            .zip(&after)
            .all(|(before, after)| before != after)
        {
            true => Ok(()),
            false => Err("the header marker is set, but the counters are as before".to_owned()),
        }
    });
}

#[test]
fn rule_25_replay_any_lineage() {
    caught_by(Mutation::ReplayAnyLineage, SMALL, |subject| {
        let one = live(subject, ROWS)?;
        let two = live(subject, ROWS)?;
        refused(subject, &with(&one, "/db-redo", &bytes(&two, "/db-redo")))
    });
}

#[test]
fn rule_25_clear_without_log() {
    caught_by(Mutation::ClearWithoutLog, SMALL, |subject| {
        let disk = live(subject, ROWS)?;
        let mut files = disk.files();
        files.names.remove(Path::new("/db-redo"));
        refused(subject, &RecordingDisk::from_files(files))
    });
}

/// A record forged in a row: epoch and sequence match, the predecessor does not. Its database has
/// one page.
fn forged(epoch: u64, sequence: u64) -> [u8; 64] {
    let record = RecordHeader {
        compressed: false,
        pages: 0,
        epoch,
        sequence,
        predecessor: u64::from_le_bytes([0xab; 8]),
        payload: 0,
        database_pages: 1,
        unflushed: 65_536,
        payload_hash: hash(&[]),
    };
    record.encode().0
}

/// Bytes of a row that look like a record are at the log's tail, left there by an earlier epoch.
fn forged_record(subject: &Subject) -> Result<(), String> {
    let text = |error: rusqlite::Error| error.to_string();
    let (blocks, block) = (4_u32, 4096);
    // First finds the row's offset in a block, then aligns the record with the block.
    let mut shift = 0;
    for round in 0..2 {
        let disk = RecordingDisk::new();
        let mount = subject.rack.mount(&disk);
        let path = mount.path(DATABASE);
        let sql = connect(&path, &subject.vfs).map_err(text)?;
        let update = |record: [u8; 64]| {
            let mut row = vec![0xff; 60_000];
            // Incompressible, so that the log has it unchanged, with the record in each block.
            let mut noise = 1_u64;
            for (at, byte) in row.iter_mut().take(24_000).enumerate() {
                noise = noise
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let of_record = record.get((at + block - shift) % block);
                *byte = of_record.copied().unwrap_or((noise >> 56) as u8);
            }
            sql.execute("UPDATE t0 SET body = ?1", (row,)).map(drop)
        };
        sql.execute_batch(
            "PRAGMA page_size = 65536; PRAGMA journal_mode = wal; PRAGMA synchronous = FULL;
             PRAGMA wal_autocheckpoint = 0;
             CREATE TABLE t0(id INTEGER PRIMARY KEY, k, body BLOB);
             CREATE TABLE t1(id INTEGER PRIMARY KEY, k, body BLOB);
             INSERT INTO t0 VALUES (1, 1, NULL)",
        )
        .map_err(text)?;
        sql.execute("UPDATE t0 SET body = ?1", (vec![0xff_u8; 60_000],))
            .map_err(text)?;
        sql.execute_batch("PRAGMA wal_checkpoint(RESTART)")
            .map_err(text)?;
        let epoch = |log: &[u8]| {
            let slot = |at: usize| u64::from_le_bytes(log[at + 16..at + 24].try_into().unwrap());
            slot(0).max(slot(block))
        };
        // The update opens an epoch, and the next checkpoint another one.
        let record = forged(epoch(&bytes(&disk, "/db-redo")) + 2, u64::from(blocks));
        update(record).map_err(text)?;
        let log = bytes(&disk, "/db-redo");
        let tail = (2 + blocks as usize) * block;
        if round == 0 {
            let found = log[tail..tail + block]
                .windows(64)
                .position(|at| *at == record);
            shift = block - found.ok_or("the row is not in the log as it is")?;
            continue;
        }
        if log[tail..tail + 64] != record {
            return Err("the row does not begin with the block".to_owned());
        }
        sql.execute_batch("PRAGMA wal_checkpoint(RESTART)")
            .map_err(text)?;
        for id in 0..blocks {
            sql.execute("INSERT INTO t1 VALUES (?1, 1, 1)", (id,))
                .map_err(text)?;
        }
        let killed = RecordingDisk::from_files(disk.files());
        let log = bytes(&killed, "/db-redo");
        if log[tail..tail + 64] != record {
            return Err("the row is not at the log's tail".to_owned());
        }
        let mount = subject.rack.mount(&killed);
        let (sql, _) = look(&mount.path(DATABASE), &subject.vfs)?;
        let rows: u32 = sql
            .query_row("SELECT count(*) FROM t1", (), |row| row.get(0))
            .map_err(text)?;
        if rows != blocks {
            return Err(format!("{rows} rows of {blocks}"));
        }
    }
    Ok(())
}

#[test]
fn rule_5_chain_by_sequence() {
    let options = Options {
        log_size: 256 << 10,
        ..SMALL
    };
    caught_by(Mutation::ChainBySequence, options, forged_record);
}

#[test]
fn rule_36_directory_synced_for_ever() {
    let mutation = Mutation::DirectorySyncedForEver;
    caught_by(mutation, SMALL, deleted_log_is_created_durably);
}
