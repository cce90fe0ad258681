//! The VFS `etui` on the laboratory's disk: random histories, failing calls, slow flushes.

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use etui_testkit::disk::{CrashPlan, MountedDisks, RecordingDisk, crash};
use etui_vfs::device::{Platform, Role};
use etui_vfs::{Options, RedoLogUse, Vfs};

use crate::crash::check::{Budget, Subject, connect, look};
use crate::crash::faults::first_wrong;
use crate::crash::model::hash_in;
use crate::crash::plain::{self, Mistake};
use crate::crash::random::{self, Kind, variable};
use crate::crash::run::DATABASE;
use crate::crash::steps::Synchronous;

/// A log and a memory so small that histories outgrow them.
pub const SMALL: Options = Options {
    redo_log: RedoLogUse::Always,
    log_size: 32 << 10,
    growth_step: 8 << 10,
    wal_memory: 32 << 10,
    append_in_place: usize::MAX,
    gather: 0,
    write_back: 0,
    read_buffer: 0,
    database_step: 0,
    journal_rests: false,
    idle: None,
};

/// Minimum sizes, and no page of the WAL in memory.
pub const LEAST: Options = Options {
    redo_log: RedoLogUse::Always,
    log_size: 16 << 10,
    growth_step: 4 << 10,
    wal_memory: 0,
    append_in_place: usize::MAX,
    gather: 0,
    write_back: 0,
    read_buffer: 0,
    database_step: 0,
    journal_rests: false,
    idle: None,
};

/// Memory for a few pages, so that others are stored as deltas.
const DELTAS: Options = Options {
    wal_memory: 64 << 10,
    ..SMALL
};

/// The options above, with in-place append of two pages or more.
pub const IN_PLACE: [Options; 3] = [
    Options {
        append_in_place: 2 << 10,
        ..SMALL
    },
    Options {
        append_in_place: 4 << 10,
        ..LEAST
    },
    Options {
        append_in_place: 1,
        ..DELTAS
    },
];

/// All mitigations at once, with buffers that histories outgrow.
pub const MITIGATED: Options = Options {
    append_in_place: 8 << 10,
    gather: 10 << 10,
    write_back: 10 << 10,
    read_buffer: 2 << 10,
    database_step: 16 << 10,
    journal_rests: true,
    ..SMALL
};

/// Registers a VFS over a rack of its own, by `register`.
pub fn subject(register: impl FnOnce(&str, Arc<MountedDisks>) -> Vfs) -> Subject {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let rack = MountedDisks::new();
    let (vfs, plain) = (format!("etui-{number}"), format!("etui-plain-{number}"));
    let etui = Some(register(&vfs, Arc::new(rack.clone())));
    plain::register(&plain, Arc::new(rack.clone()), Mistake::None);
    Subject {
        vfs,
        etui,
        plain,
        rack,
        close_is_promised: true,
        guarded: true,
        torn: Some(Role::Redo),
    }
}

/// The VFS without a violated rule.
pub fn etui(options: Options) -> Subject {
    subject(|name, rack| etui_vfs::register_with(name, options, rack).unwrap())
}

fn survives(synchronous: Synchronous) {
    let images = variable("ETUI_CRASH_IMAGES", 3000) as usize / 3;
    random::survives(&etui(SMALL), synchronous, Kind::All, images * 3 / 4);
    random::survives(&etui(LEAST), synchronous, Kind::All, images / 4);
    random::survives(&etui(DELTAS), synchronous, Kind::Patient, images / 4);
}

fn survives_placing(synchronous: Synchronous) {
    let images = variable("ETUI_CRASH_IMAGES", 3000) as usize / 3;
    let [small, least, folding] = IN_PLACE;
    random::survives(&etui(small), synchronous, Kind::All, images * 3 / 4);
    random::survives(&etui(least), synchronous, Kind::All, images / 4);
    random::survives(&etui(folding), synchronous, Kind::Patient, images / 4);
}

#[test]
fn random_placing_full() {
    survives_placing(Synchronous::Full);
}

#[test]
fn random_placing_normal() {
    survives_placing(Synchronous::Normal);
}

#[test]
fn random_placing_off() {
    survives_placing(Synchronous::Off);
}

#[test]
fn random_full() {
    survives(Synchronous::Full);
}

#[test]
fn random_normal() {
    survives(Synchronous::Normal);
}

#[test]
fn random_off() {
    survives(Synchronous::Off);
}

fn survives_cured(synchronous: Synchronous) {
    let images = variable("ETUI_CRASH_IMAGES", 3000) as usize / 3;
    random::survives(&etui(MITIGATED), synchronous, Kind::All, images / 2);
    random::survives(&etui(MITIGATED), synchronous, Kind::Patient, images / 4);
    random::survives(&etui(MITIGATED), synchronous, Kind::Rollback, images / 2);
}

#[test]
fn random_cured_full() {
    survives_cured(Synchronous::Full);
}

#[test]
fn random_cured_normal() {
    survives_cured(Synchronous::Normal);
}

#[test]
fn random_cured_off() {
    survives_cured(Synchronous::Off);
}

/// A journal at its resting size keeps parts of longer transactions. SQLite overwrites their header
/// where it finds it, and would otherwise play them back.
#[test]
fn parts_of_older_journals_are_not_played_back() {
    let kind = (Synchronous::Off, Kind::Rollback);
    let (_, finding) = random::hunt(&etui(MITIGATED), kind, 333_008, 1, Duration::ZERO);
    assert_eq!(finding, None);
}

fn faults(scratch: bool, seeds: Range<u64>) {
    let first = variable("ETUI_CRASH_SEED", 1) - 1;
    let seeds = first + seeds.start..first + seeds.end * variable("ETUI_CRASH_FAULTS", 1);
    let images = Budget {
        per_point: 12,
        per_history: 40,
        of_recovery: 0,
        between: 5,
    };
    for synchronous in [Synchronous::Full, Synchronous::Normal, Synchronous::Off] {
        for options in [SMALL, IN_PLACE[0], MITIGATED] {
            let (images, seeds) = (Some(images.clone()), seeds.clone());
            let subject = etui(options);
            let (tally, wrong) = first_wrong(&subject, synchronous, images, scratch, seeds, 30);
            println!("failing calls (without a name: {scratch}), {synchronous:?}: {tally:?}");
            assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
        }
    }
}

#[test]
fn failing_calls() {
    faults(false, 0..2);
}

#[test]
fn failing_scratch_files() {
    faults(true, 0..2);
}

/// A commit waits for one flush, and nothing else.
#[test]
fn a_commit_is_one_slow_flush() {
    let subject = etui(Options {
        idle: None,
        ..Options::default()
    });
    let disk = RecordingDisk::new();
    let mount = subject.rack.mount(&disk);
    let sql = connect(&mount.path(DATABASE), &subject.vfs).unwrap();
    sql.execute_batch(
        "PRAGMA journal_mode = wal; PRAGMA synchronous = FULL;
         CREATE TABLE t0(id INTEGER PRIMARY KEY, k, body); INSERT INTO t0 VALUES (0, 0, 0)",
    )
    .unwrap();
    disk.flush_takes(Duration::from_millis(3));
    let (before, begun) = (disk.history(), Instant::now());
    for id in 1..=50 {
        sql.execute("INSERT INTO t0 VALUES (?1, 0, 'small')", (id,))
            .unwrap();
    }
    let took = begun.elapsed();
    let after = disk.history();
    assert_eq!(after.syncs() - before.syncs(), 50);
    let writes = after.events.len() - before.events.len() - 50;
    assert_eq!(writes, 50, "one write to a commit");
    println!("50 commits with flushes of 3 ms: {took:?}");
}

/// While one process has the database open, no other one can open it. After it is killed, the next
/// one has all acknowledged commits at once.
#[test]
fn one_process_at_a_time() {
    let subject = etui(SMALL);
    let disk = RecordingDisk::new();
    let (one, two) = (disk.clone(), disk.another_process());
    let (at_one, at_two) = (subject.rack.mount(&one), subject.rack.mount(&two));
    let sql = connect(&at_one.path(DATABASE), &subject.vfs).unwrap();
    sql.execute_batch(
        "PRAGMA journal_mode = wal; PRAGMA synchronous = OFF;
         CREATE TABLE t0(id INTEGER PRIMARY KEY, k, body); INSERT INTO t0 VALUES (1, 2, 'three')",
    )
    .unwrap();
    let held = hash_in(&sql).unwrap();
    let refused = look(&at_two.path(DATABASE), &subject.vfs).unwrap_err();
    assert!(refused.contains("locked"), "{refused}");
    one.kill();
    let (_, found) = look(&at_two.path(DATABASE), &subject.vfs).unwrap();
    assert_eq!(found, held);
    assert!(
        sql.execute_batch("INSERT INTO t0 VALUES (2, 2, 2)")
            .is_err()
    );
}

/// A log that is deleted while its database is ordinary is created again. Its name must be durable
/// before a commit is acknowledged.
pub fn deleted_log_is_created_durably(subject: &Subject) -> Result<(), String> {
    let text = |error: rusqlite::Error| error.to_string();
    let disk = RecordingDisk::new();
    let mount = subject.rack.mount(&disk);
    let sql = connect(&mount.path(DATABASE), &subject.vfs).map_err(text)?;
    sql.execute_batch(
        "PRAGMA journal_mode = wal; PRAGMA synchronous = FULL;
         CREATE TABLE t0(id INTEGER PRIMARY KEY, k, body); INSERT INTO t0 VALUES (0, 0, 0)",
    )
    .map_err(text)?;
    let vfs = subject
        .etui
        .as_ref()
        .ok_or("the VFS etui is not under test")?;
    vfs.checkpoint_idle();
    disk.remove(Path::new("/db-redo"), true)
        .map_err(|error| error.to_string())?;
    sql.execute("INSERT INTO t0 VALUES (1, 0, 0)", ())
        .map_err(text)?;
    let (history, held) = (disk.history(), hash_in(&sql).map_err(text)?);
    let plan = CrashPlan {
        sector: 512,
        per_point: 64,
        between: 0,
        torn: None,
        seed: 1,
    };
    let mut wrong = Ok(());
    let _ = crash(&history, &plan, |image| {
        // Only power failures after the acknowledged commit.
        if image.after < history.events.len() {
            return ControlFlow::Continue(());
        }
        let mount = subject.rack.mount(&image.disk());
        let found = look(&mount.path(DATABASE), &subject.vfs).map(|(_, found)| found);
        wrong = match found {
            Ok(found) if found == held => Ok(()),
            Ok(_) => Err(format!("the commit is lost in {image}")),
            Err(why) => Err(format!("{why} in {image}")),
        };
        match wrong {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    });
    wrong
}

#[test]
fn a_log_that_is_deleted_when_idle_is_created_durably() {
    assert_eq!(deleted_log_is_created_durably(&etui(SMALL)), Ok(()));
}

/// A checkpoint with an outdated wal-index requests frames beyond the end of the WAL. It must fail
/// instead of writing zeros to the database. Shorter reads, of checksums, are tolerated.
#[test]
fn a_page_beyond_the_end_of_the_wal_is_an_error() {
    use rusqlite::ffi;
    let subject = etui(SMALL);
    let disk = RecordingDisk::new();
    let mount = subject.rack.mount(&disk);
    let sql = connect(&mount.path(DATABASE), &subject.vfs).unwrap();
    sql.execute_batch(
        "PRAGMA page_size = 1024; PRAGMA journal_mode = wal;
         CREATE TABLE t0(id INTEGER PRIMARY KEY, k, body)",
    )
    .unwrap();
    let (mut page, mut checksum) = ([1; 1024], [1; 8]);
    let end = 1 << 20;
    let code = crate::crash::past::read_wal(&sql, &mut page, end);
    assert_eq!(code, ffi::SQLITE_IOERR_SHORT_READ);
    assert_eq!(
        crate::crash::past::read_wal(&sql, &mut checksum, end),
        ffi::SQLITE_OK
    );
    assert_eq!(checksum, [0; 8]);
}
