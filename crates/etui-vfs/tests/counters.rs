//! What the shim counts, checked by hand, and what its cures change of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::time::{Duration, Instant};

use etui_vfs::shim::{Event, FileKind, Operation, ReadBuffer, Shim, ShimOptions};
use rusqlite::{Connection, OpenFlags};

fn open(path: &Path, shim: &Shim) -> Connection {
    Connection::open_with_flags_and_vfs(path, OpenFlags::default(), shim.name()).unwrap()
}

fn table(db: &Connection, pragmas: &str) {
    db.execute_batch(&format!(
        "PRAGMA page_size = 4096; {pragmas}; CREATE TABLE t(k INTEGER PRIMARY KEY, v BLOB)"
    ))
    .unwrap();
}

#[test]
fn one_insert_with_a_rollback_journal() {
    let dir = tempfile::tempdir().unwrap();
    let options = ShimOptions {
        log: true,
        ..ShimOptions::default()
    };
    let shim = Shim::register("one-delete", options).unwrap();
    let db = open(&dir.path().join("db"), &shim);
    table(
        &db,
        "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL",
    );
    let before = shim.counters();
    shim.take_log();
    db.execute("INSERT INTO t VALUES(1, x'00')", []).unwrap();
    let counters = shim.counters().since(&before);
    let journal = counters.of(FileKind::Journal);
    // The header, then number, content and checksum of the two pages changed, then the count
    // of pages in the header once the pages are synced.
    assert_eq!(journal.writes, 1 + 2 * 3 + 1);
    assert_eq!(journal.write_bytes, 512 + 2 * (4 + 4096 + 4) + 12);
    assert_eq!((journal.opens, journal.deletes, journal.syncs), (1, 1, 2));
    // When the journal is new; when it is deleted only with synchronous=EXTRA.
    assert_eq!(journal.directory_syncs, 1);
    assert_eq!(journal.size_changes, 7);
    assert_eq!((journal.out_of_order, journal.rewritten_bytes), (1, 0));
    let database = counters.of(FileKind::Database);
    assert_eq!((database.writes, database.write_bytes), (2, 8192));
    assert_eq!((database.syncs, database.size_changes), (1, 0));
    // The first page does not follow what the transaction before wrote last.
    assert_eq!((database.rewritten_pages, database.out_of_order), (0, 1));
    assert_eq!(
        *counters.of(FileKind::Wal),
        etui_vfs::shim::FileCounters::default()
    );

    let log = shim.take_log();
    let at = |wanted: &dyn Fn(&Event) -> bool| log.iter().position(wanted).unwrap();
    let is = |kind, operation| move |e: &Event| e.kind == kind && e.operation == operation;
    let journal_sync = at(&is(FileKind::Journal, Operation::Sync));
    let database_write = at(&is(FileKind::Database, Operation::Write));
    let database_sync = at(&is(FileKind::Database, Operation::Sync));
    let delete = at(&is(FileKind::Journal, Operation::Delete));
    assert!(
        journal_sync < database_write && database_write < database_sync && database_sync < delete
    );
    assert!(shim.take_log().is_empty());
}

#[test]
fn one_insert_with_a_write_ahead_log() {
    let dir = tempfile::tempdir().unwrap();
    let shim = Shim::register("one-wal", ShimOptions::default()).unwrap();
    let db = open(&dir.path().join("db"), &shim);
    table(&db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    shim.reset();
    db.execute("INSERT INTO t VALUES(1, x'00')", []).unwrap();
    let counters = shim.counters();
    let wal = counters.of(FileKind::Wal);
    // One frame: a header of 24 bytes and a page. SQLite pads to the sector only where a torn
    // write could damage its neighbours.
    assert_eq!((wal.writes, wal.write_bytes), (2, 24 + 4096));
    assert_eq!(
        (wal.syncs, wal.directory_syncs, wal.size_changes),
        (1, 0, 2)
    );
    assert_eq!(counters.of(FileKind::Database).writes, 0);
    db.execute_batch("PRAGMA wal_checkpoint(FULL)").unwrap();
    let database = *shim.counters().of(FileKind::Database);
    assert_eq!((database.writes, database.syncs), (2, 1));
}

/// Inserts far more than five pages of cache hold.
fn spill(db: &Connection) {
    db.execute_batch(
        "PRAGMA cache_size = 5; BEGIN;
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
         INSERT INTO t SELECT i * 7919 % 1009, zeroblob(500 + i % 300) FROM n;
         COMMIT",
    )
    .unwrap();
}

#[test]
fn pages_written_twice_are_counted_and_a_larger_cache_cures_them() {
    let dir = tempfile::tempdir().unwrap();
    let shim = Shim::register("twice", ShimOptions::default()).unwrap();
    for (cache, rewritten) in [(5, true), (2_000, false)] {
        let db = open(&dir.path().join(format!("db{cache}")), &shim);
        table(&db, "PRAGMA journal_mode = PERSIST");
        shim.reset();
        db.execute_batch(&format!(
            "PRAGMA cache_size = {cache}; BEGIN;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
             INSERT INTO t SELECT i * 7919 % 1009, zeroblob(500 + i % 300) FROM n;
             COMMIT"
        ))
        .unwrap();
        let counters = shim.counters();
        let database = counters.of(FileKind::Database);
        assert_eq!(database.rewritten_pages > 0, rewritten, "{database:?}");
        assert_eq!(database.rewritten_bytes, database.rewritten_pages * 4096);
    }
}

#[test]
fn writing_back_together_saves_writes_and_changes_of_size() {
    let dir = tempfile::tempdir().unwrap();
    let plain = Shim::register("apart", ShimOptions::default()).unwrap();
    let options = ShimOptions {
        coalesce: Some(4 << 20),
        ..ShimOptions::default()
    };
    let together = Shim::register("together", options).unwrap();
    let mut counted = Vec::new();
    for shim in [&plain, &together] {
        let db = open(&dir.path().join(shim.name()), shim);
        table(&db, "PRAGMA journal_mode = PERSIST");
        shim.reset();
        spill(&db);
        counted.push(shim.counters());
    }
    let of = |n: usize, kind| *counted[n].of(kind);
    let (apart, together) = (of(0, FileKind::Database), of(1, FileKind::Database));
    assert!(apart.size_changes > 50 && apart.out_of_order > 10 && apart.rewritten_pages > 10);
    assert_eq!((together.size_changes, together.rewritten_pages), (1, 0));
    assert!(together.writes * 5 < apart.writes && together.write_bytes < apart.write_bytes);
    assert!(of(1, FileKind::Journal).writes * 2 < of(0, FileKind::Journal).writes);
    assert_eq!(together.syncs, apart.syncs);
}

#[test]
fn writing_back_keeps_the_order_of_syncs() {
    let dir = tempfile::tempdir().unwrap();
    for coalesce in [None, Some(20_000), Some(4 << 20)] {
        let options = ShimOptions {
            log: true,
            coalesce,
            ..ShimOptions::default()
        };
        let shim = Shim::register(&format!("order-{coalesce:?}"), options).unwrap();
        let db = open(&dir.path().join(shim.name()), &shim);
        table(&db, "PRAGMA journal_mode = PERSIST");
        spill(&db);
        shim.take_log();
        // Pages that are there already, so that all of them go through the journal.
        db.execute_batch("BEGIN; UPDATE t SET v = randomblob(length(v)); COMMIT")
            .unwrap();
        let log = shim.take_log();
        let first = |kind, operation| {
            let is = |e: &Event| e.kind == kind && e.operation == operation;
            log.iter().position(is).unwrap()
        };
        let last = |kind, operation| {
            let is = |e: &Event| e.kind == kind && e.operation == operation;
            log.iter().rposition(is).unwrap()
        };
        // The journal is on the disk before the database is touched, the database before the
        // journal's header is taken back.
        let (journal, database) = (FileKind::Journal, FileKind::Database);
        assert!(first(journal, Operation::Sync) < first(database, Operation::Write));
        assert!(last(database, Operation::Write) < last(database, Operation::Sync));
        let taken_back = last(journal, Operation::Write);
        assert_eq!((log[taken_back].offset, log[taken_back].length), (0, 28));
        assert!(last(database, Operation::Sync) < taken_back);
        assert!(taken_back < last(journal, Operation::Sync));
    }
}

#[test]
fn growth_goes_in_steps() {
    let dir = tempfile::tempdir().unwrap();
    let step = 1 << 20;
    let options = ShimOptions {
        growth_step: Some(step),
        ..ShimOptions::default()
    };
    let shim = Shim::register("steps", options).unwrap();
    let path = dir.path().join("db");
    let db = open(&path, &shim);
    table(&db, "PRAGMA journal_mode = PERSIST");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), step);
    shim.reset();
    spill(&db);
    assert_eq!(shim.counters().of(FileKind::Database).size_changes, 0);
    db.execute_batch("INSERT INTO t VALUES(5000, zeroblob(3000000)); DELETE FROM t; VACUUM")
        .unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), step);
    let answer: String = db
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(answer, "ok");
}

#[test]
fn reading_ahead_saves_reads() {
    let dir = tempfile::tempdir().unwrap();
    let plain = Shim::register("no-ahead", ShimOptions::default()).unwrap();
    let buffer = Some(ReadBuffer {
        bytes: 64 << 10,
        read_ahead: 64 << 10,
    });
    let ahead = Shim::register(
        "ahead",
        ShimOptions {
            buffer,
            ..ShimOptions::default()
        },
    )
    .unwrap();
    let path = dir.path().join("db");
    let db = open(&path, &plain);
    table(&db, "PRAGMA journal_mode = PERSIST");
    spill(&db);
    db.execute_batch("VACUUM").unwrap();
    drop(db);
    let mut reads = Vec::new();
    for shim in [&plain, &ahead] {
        let db = open(&path, shim);
        shim.reset();
        let sum: i64 = db
            .query_row("SELECT sum(length(v)) FROM t", [], |row| row.get(0))
            .unwrap();
        assert!(sum > 100_000);
        reads.push(shim.counters().of(FileKind::Database).reads);
    }
    assert!(reads[1] * 3 < reads[0], "{reads:?}");
}

#[test]
fn names_are_checked() {
    assert!(Shim::register("", ShimOptions::default()).is_err());
    assert!(Shim::register("a\0b", ShimOptions::default()).is_err());
    Shim::register("same", ShimOptions::default()).unwrap();
    assert!(Shim::register("same", ShimOptions::default()).is_err());
    assert!(Shim::register("unix", ShimOptions::default()).is_err());
}

#[test]
fn a_delayed_sync_takes_as_long_as_asked() {
    let dir = tempfile::tempdir().unwrap();
    let delay = Duration::from_millis(20);
    let options = ShimOptions {
        sync_delay: delay,
        ..ShimOptions::default()
    };
    let shim = Shim::register("slow", options).unwrap();
    let db = open(&dir.path().join("db"), &shim);
    table(&db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    shim.reset();
    let start = Instant::now();
    for _ in 0..5 {
        db.execute("INSERT INTO t(v) VALUES(x'00')", []).unwrap();
    }
    let took = start.elapsed();
    assert_eq!(shim.counters().of(FileKind::Wal).syncs, 5);
    assert!(took >= 5 * delay, "{took:?}");
    // Nothing else is slower.
    let start = Instant::now();
    db.query_row("SELECT count(*) FROM t", [], |r| r.get::<_, i64>(0))
        .unwrap();
    assert!(start.elapsed() < delay);
}

#[test]
fn a_shim_becomes_the_default_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    let shim = Shim::register("preferred", ShimOptions::default()).unwrap();
    let opened = || {
        drop(Connection::open(dir.path().join("db")).unwrap());
        shim.counters().of(FileKind::Database).opens
    };
    assert_eq!(opened(), 0);
    shim.make_default().unwrap();
    assert_eq!(opened(), 1);
}
