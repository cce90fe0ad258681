//! The counters and the log of the instrumented VFS, checked by hand.

use std::path::Path;
use std::time::{Duration, Instant};

use etui_lab_io::instrumented::{
    FileCounters, FileKind, InstrumentedOptions, InstrumentedVfs, IoEvent, IoOperation,
};
use etui_testkit::own_process::in_own_process;
use rusqlite::{Connection, OpenFlags};

fn open(path: &Path, vfs: &InstrumentedVfs) -> Connection {
    Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs.name()).unwrap()
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
    let options = InstrumentedOptions {
        log: true,
        ..InstrumentedOptions::default()
    };
    let vfs = InstrumentedVfs::register("one-delete", options).unwrap();
    let db = open(&dir.path().join("db"), &vfs);
    table(
        &db,
        "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL",
    );
    let before = vfs.counters();
    vfs.take_log();
    db.execute("INSERT INTO t VALUES(1, x'00')", []).unwrap();
    let counters = vfs.counters().since(&before);
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
    // The first page does not follow the last write of the previous transaction.
    assert_eq!((database.rewritten_pages, database.out_of_order), (0, 1));
    assert_eq!(*counters.of(FileKind::Wal), FileCounters::default());

    let log = vfs.take_log();
    let at = |wanted: &dyn Fn(&IoEvent) -> bool| log.iter().position(wanted).unwrap();
    let is = |kind, operation| move |e: &IoEvent| e.kind == kind && e.operation == operation;
    let journal_sync = at(&is(FileKind::Journal, IoOperation::Sync));
    let database_write = at(&is(FileKind::Database, IoOperation::Write));
    let database_sync = at(&is(FileKind::Database, IoOperation::Sync));
    let delete = at(&is(FileKind::Journal, IoOperation::Delete));
    assert!(
        journal_sync < database_write && database_write < database_sync && database_sync < delete
    );
    assert!(vfs.take_log().is_empty());
}

#[test]
fn one_insert_with_a_write_ahead_log() {
    let dir = tempfile::tempdir().unwrap();
    let vfs = InstrumentedVfs::register("one-wal", InstrumentedOptions::default()).unwrap();
    let db = open(&dir.path().join("db"), &vfs);
    table(&db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    vfs.reset_counters();
    db.execute("INSERT INTO t VALUES(1, x'00')", []).unwrap();
    let counters = vfs.counters();
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
    let database = *vfs.counters().of(FileKind::Database);
    assert_eq!((database.writes, database.syncs), (2, 1));
}

#[test]
fn rewritten_pages_are_counted_and_a_larger_cache_avoids_them() {
    let dir = tempfile::tempdir().unwrap();
    let vfs = InstrumentedVfs::register("twice", InstrumentedOptions::default()).unwrap();
    for (cache, rewritten) in [(5, true), (2_000, false)] {
        let db = open(&dir.path().join(format!("db{cache}")), &vfs);
        table(&db, "PRAGMA journal_mode = PERSIST");
        vfs.reset_counters();
        db.execute_batch(&format!(
            "PRAGMA cache_size = {cache}; BEGIN;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
             INSERT INTO t SELECT i * 7919 % 1009, zeroblob(500 + i % 300) FROM n;
             COMMIT"
        ))
        .unwrap();
        let counters = vfs.counters();
        let database = counters.of(FileKind::Database);
        assert_eq!(database.rewritten_pages > 0, rewritten, "{database:?}");
        assert_eq!(database.rewritten_bytes, database.rewritten_pages * 4096);
    }
}

#[test]
fn invalid_names_are_refused() {
    assert!(InstrumentedVfs::register("", InstrumentedOptions::default()).is_err());
    assert!(InstrumentedVfs::register("a\0b", InstrumentedOptions::default()).is_err());
    InstrumentedVfs::register("same", InstrumentedOptions::default()).unwrap();
    assert!(InstrumentedVfs::register("same", InstrumentedOptions::default()).is_err());
    assert!(InstrumentedVfs::register("unix", InstrumentedOptions::default()).is_err());
}

#[test]
fn sync_delay_applies_to_each_sync() {
    let dir = tempfile::tempdir().unwrap();
    let delay = Duration::from_millis(20);
    let options = InstrumentedOptions {
        sync_delay: delay,
        ..InstrumentedOptions::default()
    };
    let vfs = InstrumentedVfs::register("slow", options).unwrap();
    let db = open(&dir.path().join("db"), &vfs);
    table(&db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    vfs.reset_counters();
    let start = Instant::now();
    for _ in 0..5 {
        db.execute("INSERT INTO t(v) VALUES(x'00')", []).unwrap();
    }
    let took = start.elapsed();
    assert_eq!(vfs.counters().of(FileKind::Wal).syncs, 5);
    assert!(took >= 5 * delay, "{took:?}");
    // Nothing else is slower: one of many queries is faster than a delay, on a busy machine too.
    let query = || {
        let start = Instant::now();
        db.query_row("SELECT count(*) FROM t", [], |r| r.get::<_, i64>(0))
            .unwrap();
        start.elapsed()
    };
    let fastest = (0..100).map(|_| query()).min();
    assert!(fastest < Some(delay), "{fastest:?}");
}

#[test]
fn make_default_applies_to_connections_without_a_vfs() {
    if !in_own_process(make_default_applies_to_connections_without_a_vfs) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let vfs = InstrumentedVfs::register("preferred", InstrumentedOptions::default()).unwrap();
    let opened = || {
        drop(Connection::open(dir.path().join("db")).unwrap());
        vfs.counters().of(FileKind::Database).opens
    };
    assert_eq!(opened(), 0);
    vfs.make_default().unwrap();
    assert_eq!(opened(), 1);
}
