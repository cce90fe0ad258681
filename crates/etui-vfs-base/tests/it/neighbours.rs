//! A plain connection of the same SQLite in the process: it keeps its locks when one of the VFS closes,
//! as beside any other connection of its own.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use etui_testkit::own_process::in_own_process;

use crate::common::{check, made, open, plain, rows, shell};

/// The number of this process's POSIX locks of a file, as the kernel lists them. A listing may leave a lock
/// out, or have it twice, while other processes lock something: all of several listings count.
fn posix_locks(path: &Path) -> usize {
    use std::os::unix::fs::MetadataExt;
    let wanted = format!(":{} ", fs::metadata(path).unwrap().ino());
    let own = format!(" {} ", std::process::id());
    let mut found = BTreeSet::new();
    for _ in 0..20 {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        let locks = locks
            .lines()
            .filter(|lock| lock.contains("POSIX") && lock.contains(&wanted) && lock.contains(&own));
        // Without the number in the listing.
        found.extend(locks.filter_map(|lock| Some(lock.split_once(' ')?.1.to_owned())));
    }
    found.len()
}

/// A plain connection writes while connections of the VFS come, read and go: others wait for its commit.
#[test]
fn a_writer_keeps_its_locks_of_the_wal_index() {
    // Another test's child has copies of its descriptors for a moment.
    if !in_own_process(a_writer_keeps_its_locks_of_the_wal_index) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    drop(made(&path));
    let index = dir.path().join("db-shm");
    let db = plain(&path);
    db.execute_batch("BEGIN IMMEDIATE; INSERT INTO t(v) VALUES('P')")
        .unwrap();
    let before = posix_locks(&index);
    assert!(before >= 2, "{before}");
    for _ in 0..3 {
        let (one, two) = (open(&path), open(&path));
        assert_eq!((rows(&one), rows(&two)), (0, 0));
        drop(one);
        assert_eq!(posix_locks(&index), before);
        drop(two);
        assert_eq!(posix_locks(&index), before);
        assert!(posix_locks(&path) >= 1);
    }
    let (said, is_ok) = shell(&path, 100, "INSERT INTO t(v) VALUES('other')");
    assert!(!is_ok && said.contains("locked"), "{said}");
    db.execute_batch("INSERT INTO t(v) VALUES('P'); COMMIT")
        .unwrap();
    assert!(shell(&path, 100, "INSERT INTO t(v) VALUES('other')").1);
    assert_eq!(rows(&db), 3);
    check(&db);
}

/// A plain connection reads a long WAL, whose wal-index nobody may truncate below it.
#[test]
fn a_reader_keeps_its_wal_index() {
    if !in_own_process(a_reader_keeps_its_wal_index) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    drop(made(&path));
    let db = plain(&path);
    db.execute_batch(
        "PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = OFF; PRAGMA cache_size = 10;
         WITH n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
         INSERT INTO t(v) SELECT randomblob(3000) FROM n",
    )
    .unwrap();
    db.execute_batch("BEGIN").unwrap();
    assert_eq!(rows(&db), 6_000);
    let other = open(&path);
    assert_eq!(rows(&other), 6_000);
    drop(other);
    let (said, is_ok) = shell(
        &path,
        200,
        "PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t(v) VALUES('B'); SELECT count(*) FROM t",
    );
    assert!(
        is_ok && said.starts_with("1|") && said.ends_with("6001"),
        "{said}"
    );
    assert_eq!(rows(&db), 6_000);
    let bytes = "SELECT sum(length(v)) FROM t";
    assert_eq!(crate::common::number(&db, bytes), 18_000_000);
    db.execute_batch("COMMIT").unwrap();
    check(&db);
}

/// A plain connection in a rollback mode, amid a transaction.
#[test]
fn a_writer_keeps_its_locks_of_the_database() {
    if !in_own_process(a_writer_keeps_its_locks_of_the_database) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = plain(&path);
    db.execute_batch("CREATE TABLE t(k INTEGER PRIMARY KEY, v); BEGIN IMMEDIATE")
        .unwrap();
    db.execute_batch("INSERT INTO t(v) VALUES('P')").unwrap();
    let before = posix_locks(&path);
    for _ in 0..3 {
        let other = open(&path);
        assert_eq!(rows(&other), 0);
        drop(other);
        assert_eq!(posix_locks(&path), before);
    }
    let (said, is_ok) = shell(&path, 100, "INSERT INTO t(v) VALUES('other')");
    assert!(!is_ok && said.contains("locked"), "{said}");
    db.execute_batch("COMMIT").unwrap();
    assert_eq!(rows(&db), 1);
}

/// Threads open, read, write and close, some of them by SQLite's own VFS: no error but a lock.
#[test]
fn threads_that_open_and_close_get_no_error() {
    if !in_own_process(threads_that_open_and_close_get_no_error) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    drop(made(&path));
    let saved: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..5)
            .map(|thread| {
                let path = &path;
                scope.spawn(move || {
                    let mut saved = 0;
                    for round in 0..60 {
                        let db = match (thread + round) % 3 {
                            0 => plain(path),
                            _ => open(path),
                        };
                        rows(&db);
                        for _ in 0..=round % 3 {
                            db.execute("INSERT INTO t(v) VALUES(1)", []).unwrap();
                            saved += 1;
                        }
                    }
                    saved
                })
            })
            .collect();
        let threads = threads.into_iter();
        threads.map(|thread| thread.join().unwrap()).sum()
    });
    let db = plain(&path);
    check(&db);
    assert_eq!(rows(&db), i64::try_from(saved).unwrap());
}
