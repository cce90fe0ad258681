//! The guarantees of a database opened with the VFS.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{crash, integrity, mode, number, open, plain, versions, vfs, wal};
use etui_testkit::own_process::in_own_process;
use etui_vfs::Options;
use rusqlite::{Connection, OpenFlags};

#[test]
fn a_closed_database_is_an_ordinary_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = wal(&path);
    db.execute_batch("CREATE TABLE t(k INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1, 'one')")
        .unwrap();
    assert!(versions(&path).0 > 2 && versions(&path).1 > 2);
    drop(db);
    assert_eq!(versions(&path), (2, 2));
    assert!(!dir.path().join("db-wal").exists());
    let db = plain(&path);
    integrity(&db);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 1);
    // It continues as a database of SQLite's own VFS, and then with this VFS again.
    db.execute_batch("INSERT INTO t VALUES(2, 'two')").unwrap();
    drop(db);
    let db = open(&path);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 2);
    db.execute_batch("INSERT INTO t VALUES(3, 'three')")
        .unwrap();
    drop(db);
    assert_eq!(number(&plain(&path), "SELECT count(*) FROM t"), 3);
}

#[test]
fn what_was_committed_is_in_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = wal(&path);
    db.execute_batch("CREATE TABLE t(k INTEGER PRIMARY KEY, v)")
        .unwrap();
    for k in 0..50 {
        db.execute("INSERT INTO t VALUES(?1, randomblob(300))", [k])
            .unwrap();
    }
    let crashed = crash(&path);
    let refused =
        plain(&crashed).query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0));
    assert!(refused.unwrap_err().to_string().contains("not a database"));
    let before = vfs().counters().recoveries;
    let again = open(&crashed);
    integrity(&again);
    assert_eq!(number(&again, "SELECT count(*) FROM t"), 50);
    assert!(vfs().counters().recoveries > before);
    drop(again);
    integrity(&plain(&crashed));
    assert_eq!(number(&plain(&crashed), "SELECT count(*) FROM t"), 50);
    drop(db);
}

#[test]
fn recover_makes_a_file_plain() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = wal(&path);
    db.execute_batch("CREATE TABLE t(k); INSERT INTO t VALUES(1)")
        .unwrap();
    let crashed = crash(&path);
    let recovered = etui_vfs::recover(&crashed).unwrap();
    assert_eq!(recovered.records, 2);
    assert_eq!(number(&plain(&crashed), "SELECT count(*) FROM t"), 1);
    assert_eq!(etui_vfs::recover(&crashed).unwrap().records, 0);

    // Without its log, or with that of another database, it is unchanged.
    let crashed = crash(&path);
    let bytes = std::fs::read(&crashed).unwrap();
    let log = format!("{}-redo", crashed.display());
    std::fs::remove_file(&log).unwrap();
    let error = etui_vfs::recover(&crashed).unwrap_err().to_string();
    assert!(error.contains("is not there"), "{error}");
    let other = dir.path().join("other");
    let another = wal(&other);
    another.execute_batch("CREATE TABLE t(k)").unwrap();
    std::fs::copy(dir.path().join("other-redo"), &log).unwrap();
    let error = etui_vfs::recover(&crashed).unwrap_err().to_string();
    assert!(error.contains("belongs to another database"), "{error}");
    assert!(std::fs::read(&crashed).unwrap() == bytes);
    drop(db);
}

#[test]
fn one_commit_is_one_write_and_one_flush() {
    let dir = tempfile::tempdir().unwrap();
    let vfs = etui_vfs::register("etui-counted", Options::default()).unwrap();
    let flags = OpenFlags::default();
    let path = dir.path().join("db");
    let db = Connection::open_with_flags_and_vfs(&path, flags, vfs.name()).unwrap();
    mode(&db, "WAL");
    db.execute_batch("PRAGMA synchronous = FULL; CREATE TABLE t(k INTEGER PRIMARY KEY, v)")
        .unwrap();
    let before = vfs.counters();
    db.execute("INSERT INTO t VALUES(1, randomblob(100))", [])
        .unwrap();
    let after = vfs.counters().since(&before);
    assert_eq!((after.commits, after.records, after.blocks), (1, 1, 1));
    assert_eq!(
        (after.redo_writes, after.redo_bytes, after.redo_flushes),
        (1, 4096, 1)
    );
    assert_eq!((after.database_writes, after.database_flushes), (0, 0));
    let stats: String = db
        .query_row("PRAGMA etui_stats", [], |row| row.get(0))
        .unwrap();
    assert!(stats.starts_with("commits 2\n"), "{stats}");
}

#[test]
fn journal_modes_pass_through() {
    let dir = tempfile::tempdir().unwrap();
    for (n, name) in ["delete", "truncate", "persist", "memory", "off"]
        .iter()
        .enumerate()
    {
        let path = dir.path().join(name);
        let db = open(&path);
        assert_eq!(mode(&db, name), *name);
        db.execute_batch(
            "CREATE TABLE t(k); INSERT INTO t VALUES(1); BEGIN; INSERT INTO t VALUES(2); ROLLBACK",
        )
        .unwrap_or_else(|error| assert!(n == 4, "{error}"));
        assert!(versions(&path).0 <= 2);
        // To WAL mode and back again.
        assert_eq!(mode(&db, "WAL"), "wal");
        db.execute_batch("INSERT INTO t VALUES(3)").unwrap();
        assert!(versions(&path).0 > 2);
        assert_eq!(mode(&db, name), *name);
        assert_eq!(versions(&path), (1, 1));
        db.execute_batch("INSERT INTO t VALUES(4)").unwrap();
        drop(db);
        integrity(&plain(&path));
        assert!(number(&plain(&path), "SELECT count(*) FROM t") >= 3);
    }
}

/// A history with all of SQLite's operations on pages.
fn busy(db: &Connection, seed: i64) {
    db.execute_batch(&format!(
        "CREATE TABLE a(k INTEGER PRIMARY KEY, v BLOB, w TEXT);
         CREATE INDEX i ON a(w);
         CREATE TABLE b(k TEXT PRIMARY KEY, v) WITHOUT ROWID;
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
         INSERT INTO a SELECT i, zeroblob(i * {seed} % 700), 'w' || (i * 7919 % 1009) FROM n;
         BEGIN; DELETE FROM a WHERE k % 3 = 0; SAVEPOINT s;
         UPDATE a SET w = w || 'x' WHERE k % 5 = 0; ROLLBACK TO s;
         INSERT INTO b SELECT w, v FROM a WHERE k % 2 = 0; RELEASE s; COMMIT;
         BEGIN; DELETE FROM a; ROLLBACK;
         PRAGMA cache_size = 5;
         BEGIN; UPDATE a SET v = randomblob(900); INSERT INTO a SELECT k + 10000, v, w FROM a; COMMIT;
         BEGIN; UPDATE a SET v = randomblob(800); ROLLBACK;
         PRAGMA incremental_vacuum(5);
         DELETE FROM a WHERE k > 10100;
         VACUUM;
         PRAGMA wal_checkpoint(PASSIVE);
         INSERT INTO b VALUES('after', 1);
         PRAGMA wal_checkpoint(FULL);
         UPDATE b SET v = 2 WHERE k = 'after';
         PRAGMA wal_checkpoint(RESTART);
         INSERT INTO b VALUES('restarted', 1);
         PRAGMA wal_checkpoint(TRUNCATE);
         INSERT INTO b VALUES('truncated', 1);
         PRAGMA cache_size = -2000"
    ))
    .unwrap();
}

#[test]
fn all_page_sizes_and_vacuums() {
    let dir = tempfile::tempdir().unwrap();
    for size in [512, 1024, 4096, 16_384, 65_536] {
        for vacuum in 0..3 {
            let path = dir.path().join(format!("db{size}-{vacuum}"));
            let db = open(&path);
            db.execute_batch(&format!(
                "PRAGMA page_size = {size}; PRAGMA auto_vacuum = {vacuum}"
            ))
            .unwrap();
            mode(&db, "WAL");
            busy(&db, i64::from(size));
            let crashed = crash(&path);
            let sum = "SELECT sum(length(v)) + count(*) FROM a";
            let expected = number(&db, sum);
            drop(db);
            for path in [&path, &crashed] {
                let db = open(path);
                integrity(&db);
                assert_eq!(number(&db, sum), expected);
                assert_eq!(
                    number(&db, "SELECT count(*) FROM b WHERE k > 'a' AND v < 9"),
                    3
                );
                drop(db);
                integrity(&plain(path));
            }
        }
    }
}

#[test]
fn exclusive_locking_mode() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    for begin in [
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL",
        "PRAGMA journal_mode = WAL; PRAGMA locking_mode = EXCLUSIVE",
    ] {
        let db = open(&path);
        db.execute_batch(begin).ok();
        db.execute_batch("DROP TABLE IF EXISTS a; DROP TABLE IF EXISTS b")
            .unwrap();
        busy(&db, 77);
        let crashed = crash(&path);
        let other =
            Connection::open_with_flags_and_vfs(&path, OpenFlags::default(), vfs().name()).unwrap();
        other.busy_timeout(Duration::ZERO).unwrap();
        let refused = other.query_row("SELECT count(*) FROM a", [], |row| row.get::<_, i64>(0));
        assert!(refused.unwrap_err().to_string().contains("locked"));
        let expected = number(&db, "SELECT sum(length(v)) FROM a");
        drop(db);
        for path in [&path, &crashed] {
            let db = open(path);
            integrity(&db);
            assert_eq!(number(&db, "SELECT sum(length(v)) FROM a"), expected);
        }
        drop(other);
        assert_eq!(versions(&path), (2, 2));
    }
}

#[test]
fn readers_keep_their_snapshots_while_others_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let writer = wal(&path);
    writer
        .execute_batch("CREATE TABLE t(k INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1, 0)")
        .unwrap();
    let reader = open(&path);
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(number(&reader, "SELECT v FROM t"), 0);
    for n in 1..=2000 {
        writer.execute("UPDATE t SET v = ?1", [n]).unwrap();
    }
    assert_eq!(number(&reader, "SELECT v FROM t"), 0);
    writer
        .execute_batch("PRAGMA wal_checkpoint(PASSIVE)")
        .unwrap();
    assert_eq!(number(&reader, "SELECT v FROM t"), 0);
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(number(&reader, "SELECT v FROM t"), 2000);
    drop(writer);
    assert_eq!(number(&reader, "SELECT v FROM t"), 2000);
    drop(reader);
    assert_eq!(number(&plain(&path), "SELECT v FROM t"), 2000);
}

#[test]
fn threads_read_and_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = wal(&path);
    db.execute_batch(
        "PRAGMA wal_autocheckpoint = 50;
         CREATE TABLE t(k INTEGER PRIMARY KEY, v, w); CREATE TABLE s(n);
         INSERT INTO s VALUES(0)",
    )
    .unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|thread| {
                let path = &path;
                scope.spawn(move || {
                    let db = open(path);
                    db.execute_batch("PRAGMA wal_autocheckpoint = 50").unwrap();
                    for n in 0..100 {
                        db.execute_batch(&format!(
                            "BEGIN IMMEDIATE;
                             INSERT INTO t(v, w) VALUES({thread}, randomblob({n}));
                             UPDATE s SET n = n + 1;
                             COMMIT"
                        ))
                        .unwrap();
                    }
                })
            })
            .collect();
        for _ in 0..2 {
            scope.spawn(|| {
                let db = open(&path);
                assert_eq!(number(&db, "PRAGMA mmap_size = 10000000"), 10_000_000);
                while !done.load(Ordering::Relaxed) {
                    let both = "SELECT (SELECT count(*) FROM t) - (SELECT n FROM s)";
                    assert_eq!(number(&db, both), 0);
                }
            });
        }
        scope.spawn(|| {
            let db = open(&path);
            db.busy_timeout(Duration::ZERO).unwrap();
            for mode in ["PASSIVE", "FULL", "RESTART", "TRUNCATE"].iter().cycle() {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let sql = format!("PRAGMA wal_checkpoint({mode})");
                db.query_row(&sql, [], |_| Ok(())).unwrap();
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    let crashed = crash(&path);
    drop(db);
    for path in [&path, &crashed] {
        let db = open(path);
        integrity(&db);
        assert_eq!(number(&db, "SELECT n FROM s"), 300);
    }
    assert_eq!(number(&plain(&path), "SELECT count(*) FROM t"), 300);
}

#[test]
fn a_wal_of_before_is_recovered_by_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("from");
    let db = plain(&from);
    mode(&db, "WAL");
    db.execute_batch("CREATE TABLE t(k); INSERT INTO t VALUES(1), (2)")
        .unwrap();
    let path = dir.path().join("db");
    std::fs::copy(&from, &path).unwrap();
    std::fs::copy(dir.path().join("from-wal"), dir.path().join("db-wal")).unwrap();
    let db = open(&path);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 2);
    assert!(!dir.path().join("db-wal").exists());
    db.execute_batch("INSERT INTO t VALUES(3)").unwrap();
    drop(db);
    assert_eq!(number(&plain(&path), "SELECT count(*) FROM t"), 3);
}

#[test]
fn backups_are_ordinary_databases() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = wal(&path);
    busy(&db, 3);
    let expected = number(&db, "SELECT sum(length(v)) FROM a");
    let copy = dir.path().join("copy");
    db.backup("main", &copy, None::<fn(rusqlite::backup::Progress)>)
        .unwrap();
    assert_eq!(
        number(&plain(&copy), "SELECT sum(length(v)) FROM a"),
        expected
    );
    let into = dir.path().join("into");
    db.execute("VACUUM INTO ?1", [into.to_str().unwrap()])
        .unwrap();
    assert_eq!(
        number(&plain(&into), "SELECT sum(length(v)) FROM a"),
        expected
    );
    // In the other direction: into a database of this VFS, over its contents.
    let target = dir.path().join("target");
    let mut other = wal(&target);
    other.execute_batch("CREATE TABLE x(y)").unwrap();
    other
        .restore("main", &copy, None::<fn(rusqlite::backup::Progress)>)
        .unwrap();
    assert_eq!(number(&other, "SELECT sum(length(v)) FROM a"), expected);
    let crashed = crash(&target);
    drop(other);
    integrity(&open(&crashed));
    assert_eq!(
        number(&plain(&target), "SELECT sum(length(v)) FROM a"),
        expected
    );
}

#[test]
fn closing_without_a_checkpoint_leaves_log_and_guard() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = wal(&path);
    db.set_db_config(
        rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
        true,
    )
    .unwrap();
    db.execute_batch("CREATE TABLE t(k); INSERT INTO t VALUES(1)")
        .unwrap();
    drop(db);
    assert!(versions(&path).0 > 2);
    let db = open(&path);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 1);
    drop(db);
    assert_eq!(versions(&path), (2, 2));
    assert_eq!(number(&plain(&path), "SELECT count(*) FROM t"), 1);
}

#[test]
fn sqlite_without_the_vfs_waits_meanwhile() {
    // What is closed has no locks: a child that another test starts would have them for a moment.
    if !in_own_process(sqlite_without_the_vfs_waits_meanwhile) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = wal(&path);
    db.execute_batch("CREATE TABLE t(k)").unwrap();
    let other = plain(&path);
    other.busy_timeout(Duration::ZERO).unwrap();
    let refused = other.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0));
    assert!(refused.unwrap_err().to_string().contains("locked"));
    db.execute_batch("INSERT INTO t VALUES(1)").unwrap();
    drop(db);
    assert_eq!(number(&other, "SELECT count(*) FROM t"), 1);
}

#[test]
fn a_reserved_name_or_a_small_log_is_refused() {
    assert!(etui_vfs::register("unix", Options::default()).is_err());
    let options = Options {
        log_size: 4096,
        ..Options::default()
    };
    assert!(etui_vfs::register("small", options).is_err());
}

#[test]
fn a_wal_that_is_kept_leaves_wal_mode_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = wal(&path);
    let mut keep = 1;
    // SAFETY: the operation takes an int, and the connection is open.
    let code = unsafe {
        rusqlite::ffi::sqlite3_file_control(
            db.handle(),
            c"main".as_ptr(),
            rusqlite::ffi::SQLITE_FCNTL_PERSIST_WAL,
            (&raw mut keep).cast(),
        )
    };
    assert_eq!((code, keep), (0, 1));
    db.execute_batch("CREATE TABLE t(k); INSERT INTO t VALUES(1)")
        .unwrap();
    assert_eq!(mode(&db, "DELETE"), "delete");
    db.execute_batch("INSERT INTO t VALUES(2)").unwrap();
    assert_eq!(versions(&path), (1, 1));
    assert_eq!(mode(&db, "WAL"), "wal");
    db.execute_batch("INSERT INTO t VALUES(3)").unwrap();
    drop(db);
    assert_eq!(number(&plain(&path), "SELECT count(*) FROM t"), 3);
}
