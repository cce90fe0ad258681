//! The mitigations for rollback journals, one by one: the I/O below the VFS, and the files it leaves.

use std::path::Path;

use crate::common::{integrity, mode, number, plain};
use etui_lab_io::instrumented::{
    FileKind, InstrumentedOptions, InstrumentedVfs, IoEvent, IoOperation,
};
use etui_vfs::{Counters, Options, Vfs};
use rusqlite::{Connection, OpenFlags};

fn vfs(name: &str, change: impl FnOnce(&mut Options)) -> Vfs {
    let mut options = Options {
        idle: None,
        ..Options::default()
    };
    change(&mut options);
    etui_vfs::register(name, options).unwrap()
}

fn connect(path: &Path, vfs: &Vfs) -> Connection {
    Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs.name()).unwrap()
}

/// A transaction that changes and appends many pages.
const LARGE: &str = "BEGIN; UPDATE t SET v = randomblob(300);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
    INSERT INTO t(v) SELECT randomblob(300) FROM n; COMMIT";

/// What such transactions take in a journal mode; the database is checked by plain SQLite.
fn work(vfs: &Vfs, journal: &str, then: impl Fn(&Path)) -> Counters {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = connect(&path, vfs);
    assert_eq!(mode(&db, journal), journal.to_lowercase());
    db.execute_batch("CREATE TABLE t(k INTEGER PRIMARY KEY, v)")
        .unwrap();
    let before = vfs.counters();
    for _ in 0..3 {
        db.execute_batch(LARGE).unwrap();
    }
    // One that is rolled back when it has written to the database.
    db.execute_batch("PRAGMA cache_size = 5; BEGIN; UPDATE t SET v = 1")
        .unwrap();
    assert_eq!(number(&db, "SELECT sum(v) FROM t"), 900);
    db.execute_batch("ROLLBACK").unwrap();
    let counted = vfs.counters().since(&before);
    integrity(&db);
    then(&path);
    drop(db);
    let db = plain(&path);
    integrity(&db);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 900);
    assert_eq!(number(&db, "SELECT max(length(v)) FROM t"), 300);
    counted
}

#[test]
fn write_back_takes_fewer_writes() {
    let each = vfs("each-by-itself", |options| options.write_back = 0);
    let later = vfs("written-back", |options| options.write_back = 256 << 10);
    for journal in ["DELETE", "TRUNCATE", "PERSIST"] {
        let (each, later) = (work(&each, journal, |_| ()), work(&later, journal, |_| ()));
        assert!(
            later.database_writes * 4 < each.database_writes,
            "{journal}"
        );
        assert!(later.journal_writes * 4 < each.journal_writes, "{journal}");
        assert!(later.database_bytes <= each.database_bytes, "{journal}");
        assert_eq!(later.journal_flushes, each.journal_flushes, "{journal}");
        assert_eq!(later.database_flushes, each.database_flushes, "{journal}");
    }
}

#[test]
fn checkpoints_take_fewer_writes() {
    let checkpoint = |vfs: &Vfs| {
        let dir = tempfile::tempdir().unwrap();
        let db = connect(&dir.path().join("db"), vfs);
        mode(&db, "WAL");
        db.execute_batch("PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(k INTEGER PRIMARY KEY, v)")
            .unwrap();
        db.execute_batch(LARGE).unwrap();
        let before = vfs.counters();
        db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
            .unwrap();
        let counted = vfs.counters().since(&before);
        integrity(&db);
        (counted.database_writes, counted.database_bytes)
    };
    let each = checkpoint(&vfs("page-by-page", |options| options.gather = 0));
    let gathered = checkpoint(&vfs("gathered", |options| options.gather = 256 << 10));
    assert_eq!(each.1, gathered.1);
    assert!(gathered.0 * 8 < each.0, "{gathered:?}, {each:?}");
}

#[test]
fn the_database_grows_in_steps_while_it_is_open() {
    let step = 1 << 20;
    let vfs = vfs("in-steps", |options| options.database_step = step);
    for journal in ["DELETE", "PERSIST", "WAL"] {
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("kept");
        work(&vfs, journal, |path| {
            let len = std::fs::metadata(path).unwrap().len();
            assert!(journal == "WAL" || len == step, "{journal}: {len}");
            std::fs::copy(path, &kept).unwrap();
        });
        // One that a killed program left so is as good.
        if journal != "WAL" {
            integrity(&plain(&kept));
        }
        let path = dir.path().join("db");
        let db = connect(&path, &vfs);
        mode(&db, journal);
        db.execute_batch("CREATE TABLE t(k INTEGER PRIMARY KEY, v)")
            .unwrap();
        db.execute_batch(LARGE).unwrap();
        let pages = number(&db, "PRAGMA page_count") as u64;
        drop(db);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), pages * 4096);
    }
}

#[test]
fn the_journal_rests() {
    let vfs = vfs("resting", |options| options.journal_rests = true);
    for journal in ["TRUNCATE", "PERSIST"] {
        work(&vfs, journal, |path| {
            let beside = path.with_file_name("db-journal");
            let bytes = std::fs::read(&beside).unwrap();
            assert_eq!(bytes.len(), 64 << 10, "{journal}");
            assert!(bytes[..28].iter().all(|byte| *byte == 0), "{journal}");
            // Nobody takes it for one that is to be rolled back.
            let copy = path.with_file_name("copy");
            std::fs::copy(path, &copy).unwrap();
            std::fs::copy(&beside, path.with_file_name("copy-journal")).unwrap();
            let copy = plain(&copy);
            integrity(&copy);
            assert_eq!(number(&copy, "SELECT count(*) FROM t"), 900);
        });
    }
}

#[test]
fn reading_ahead_sees_what_is_written() {
    let vfs = vfs("reading-ahead", |options| {
        options.read_buffer = 64 << 10;
        options.write_back = 16 << 10;
    });
    for journal in ["DELETE", "PERSIST", "WAL"] {
        work(&vfs, journal, |path| {
            let (one, two) = (connect(path, &vfs), connect(path, &vfs));
            for n in 0..20 {
                one.execute("UPDATE t SET v = ?1 WHERE k % 7 = 0", [n])
                    .unwrap();
                let seen = number(&two, "SELECT sum(v) FROM t WHERE k % 7 = 0");
                assert_eq!(seen, n * 128, "{journal}");
            }
            one.execute_batch("UPDATE t SET v = randomblob(300) WHERE k % 7 = 0")
                .unwrap();
            integrity(&two);
        });
    }
}

#[test]
fn a_uri_switches_each() {
    let vfs = vfs("by-uri", |_| ());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_URI;
    let open = |parameters: &str| {
        let uri = format!("file:{}?vfs={}&{parameters}", path.display(), vfs.name());
        let db = Connection::open_with_flags(uri, flags)?;
        db.execute_batch("CREATE TABLE IF NOT EXISTS t(x)")?;
        Ok::<_, rusqlite::Error>(())
    };
    open("etui_write_back=65536&etui_read_buffer=16384&etui_database_step=65536").unwrap();
    open("etui_append=1048576&etui_gather=0&etui_journal_rests=1").unwrap();
    assert!(open("etui_journal_rests=2").is_err());
    assert!(open("etui_gather=much").is_err());
    assert!(open("etui_database_step=99999999999").is_err());
}

/// A VFS with mitigations above one that counts and logs.
fn counted(name: &str, change: impl FnOnce(&mut Options)) -> (Vfs, InstrumentedVfs) {
    let below = InstrumentedOptions {
        log: true,
        ..InstrumentedOptions::default()
    };
    let below = InstrumentedVfs::register(&format!("{name}-below"), below).unwrap();
    let mut options = Options {
        idle: None,
        ..Options::default()
    };
    change(&mut options);
    let vfs = etui_vfs::register_above(name, below.name(), options).unwrap();
    (vfs, below)
}

fn create_table(db: &Connection) {
    assert_eq!(mode(db, "PERSIST"), "persist");
    db.execute_batch("CREATE TABLE t(k INTEGER PRIMARY KEY, v BLOB)")
        .unwrap();
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
fn write_back_saves_writes_and_size_changes() {
    let dir = tempfile::tempdir().unwrap();
    let plain = counted("below-apart", |_| ());
    let together = counted("below-together", |options| options.write_back = 4 << 20);
    let mut counters = Vec::new();
    for (vfs, below) in [&plain, &together] {
        let db = connect(&dir.path().join(vfs.name()), vfs);
        create_table(&db);
        below.reset_counters();
        spill(&db);
        counters.push(below.counters());
    }
    let of = |n: usize, kind| *counters[n].of(kind);
    let (apart, together) = (of(0, FileKind::Database), of(1, FileKind::Database));
    assert!(apart.size_changes > 50 && apart.out_of_order > 10 && apart.rewritten_pages > 10);
    assert_eq!((together.size_changes, together.rewritten_pages), (1, 0));
    assert!(together.writes * 5 < apart.writes && together.write_bytes < apart.write_bytes);
    assert!(of(1, FileKind::Journal).writes * 2 < of(0, FileKind::Journal).writes);
    assert_eq!(together.syncs, apart.syncs);
}

#[test]
fn write_back_keeps_the_order_of_syncs() {
    let dir = tempfile::tempdir().unwrap();
    for write_back in [0, 20_000, 4 << 20] {
        let name = format!("below-order-{write_back}");
        let (vfs, below) = counted(&name, |options| options.write_back = write_back);
        let db = connect(&dir.path().join(&name), &vfs);
        create_table(&db);
        spill(&db);
        below.take_log();
        // Existing pages, so that all of them go through the journal.
        db.execute_batch("BEGIN; UPDATE t SET v = randomblob(length(v)); COMMIT")
            .unwrap();
        let log = below.take_log();
        let is = |kind, operation| {
            move |event: &IoEvent| event.kind == kind && event.operation == operation
        };
        let first = |kind, operation| log.iter().position(is(kind, operation)).unwrap();
        let last = |kind, operation| log.iter().rposition(is(kind, operation)).unwrap();
        // The journal is durable before the database is written, the database before the journal's
        // header is zeroed.
        let (journal, database) = (FileKind::Journal, FileKind::Database);
        assert!(first(journal, IoOperation::Sync) < first(database, IoOperation::Write));
        assert!(last(database, IoOperation::Write) < last(database, IoOperation::Sync));
        let zeroed = last(journal, IoOperation::Write);
        assert_eq!((log[zeroed].offset, log[zeroed].length), (0, 28));
        assert!(last(database, IoOperation::Sync) < zeroed);
        assert!(zeroed < last(journal, IoOperation::Sync));
    }
}

#[test]
fn growth_in_steps_changes_the_size_once() {
    let dir = tempfile::tempdir().unwrap();
    let step = 1 << 20;
    let (vfs, below) = counted("below-steps", |options| options.database_step = step);
    let path = dir.path().join("db");
    let db = connect(&path, &vfs);
    create_table(&db);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), step);
    below.reset_counters();
    spill(&db);
    assert_eq!(below.counters().of(FileKind::Database).size_changes, 0);
    db.execute_batch("INSERT INTO t VALUES(5000, zeroblob(3000000)); DELETE FROM t; VACUUM")
        .unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), step);
    integrity(&db);
}

#[test]
fn read_ahead_saves_reads() {
    let dir = tempfile::tempdir().unwrap();
    let plain = counted("below-no-ahead", |_| ());
    let ahead = counted("below-ahead", |options| options.read_buffer = 64 << 10);
    let path = dir.path().join("db");
    let db = connect(&path, &plain.0);
    create_table(&db);
    spill(&db);
    db.execute_batch("VACUUM").unwrap();
    drop(db);
    let mut reads = Vec::new();
    for (vfs, below) in [&plain, &ahead] {
        let db = connect(&path, vfs);
        below.reset_counters();
        assert!(number(&db, "SELECT sum(length(v)) FROM t") > 100_000);
        reads.push(below.counters().of(FileKind::Database).reads);
    }
    assert!(reads[1] * 3 < reads[0], "{reads:?}");
}
