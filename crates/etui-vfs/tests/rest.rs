//! The log that is kept at rest: what the first commit of a session flushes, and when it may.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[expect(dead_code, reason = "what other tests of the VFS need")]
mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{integrity, mode, number, plain};
use etui_vfs::shim::{Counters, FileKind, KeptLog, Shim, ShimOptions, is_at_rest};
use rusqlite::{Connection, OpenFlags};

/// A shim of its own that keeps logs of at most so many bytes.
fn keeping(name: &str, most: u64) -> Shim {
    let options = ShimOptions {
        keep_log: Some(KeptLog::of_at_most(most)),
        ..ShimOptions::default()
    };
    Shim::register(name, options).unwrap()
}

fn connect(path: &Path, shim: &Shim) -> Connection {
    Connection::open_with_flags_and_vfs(path, OpenFlags::default(), shim.name()).unwrap()
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// A database that was closed, with three rows.
fn closed(path: &Path, shim: &Shim) {
    let db = connect(path, shim);
    assert_eq!(mode(&db, "WAL"), "wal");
    db.execute_batch("CREATE TABLE t(v); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
        .unwrap();
    db.execute_batch("INSERT INTO t VALUES (3)").unwrap();
    db.close().unwrap();
}

fn insert(db: &Connection) {
    db.execute_batch("INSERT INTO t VALUES (4)").unwrap();
}

/// Flushes of the log and of its directory since then.
fn flushes(shim: &Shim, before: &Counters) -> (u64, u64) {
    let log = *shim.counters().since(before).of(FileKind::Wal);
    (log.syncs, log.directory_syncs)
}

/// What the first commit of a session flushes.
fn of_first_commit(path: &Path, shim: &Shim) -> (u64, u64) {
    let db = connect(path, shim);
    let before = shim.counters();
    insert(&db);
    let flushed = flushes(shim, &before);
    integrity(&db);
    db.close().unwrap();
    flushed
}

#[test]
fn the_first_commit_of_a_session_flushes_once() {
    let dir = tempfile::tempdir().unwrap();
    let (path, shim) = (dir.path().join("db"), keeping("rest-once", 1 << 20));
    let before = shim.counters();
    closed(&path, &shim);
    assert!(flushes(&shim, &before).1 >= 1, "the new name");
    let log = beside(&path, "-wal");
    assert!(is_at_rest(&log));
    assert!(!beside(&path, "-shm").exists());
    let length = fs::metadata(&log).unwrap().len();
    assert!(length > 4096);

    for session in 1..=3 {
        assert_eq!(of_first_commit(&path, &shim), (1, 0), "session {session}");
        assert!(is_at_rest(&log));
    }
    assert_eq!(fs::metadata(&log).unwrap().len(), length);
    // For plain SQLite there is nothing in it; whoever closes the database last there removes it.
    let db = plain(&path);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 6);
    integrity(&db);
    drop(db);
    assert!(!log.exists());
    // Who only reads makes none that would have to be flushed.
    let before = shim.counters();
    let db = connect(&path, &shim);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 6);
    db.close().unwrap();
    assert_eq!(flushes(&shim, &before), (0, 0));
    assert!(!log.exists());
    assert_eq!(of_first_commit(&path, &shim), (2, 1));
    assert_eq!(of_first_commit(&path, &shim), (1, 0));
}

#[test]
fn every_other_commit_flushes_as_ever() {
    let dir = tempfile::tempdir().unwrap();
    let (path, shim) = (dir.path().join("db"), keeping("rest-every", 1 << 20));
    closed(&path, &shim);
    let db = connect(&path, &shim);
    let count = |work: &str| {
        let before = shim.counters();
        db.execute_batch(work).unwrap();
        flushes(&shim, &before).0
    };
    let insert = "INSERT INTO t VALUES (4)";
    assert_eq!(count(insert), 1);
    assert_eq!(count(insert), 1);
    // A log that is begun anew within a session has a header that is valid before.
    assert_eq!(count("PRAGMA wal_checkpoint(RESTART)"), 1);
    assert_eq!(count(insert), 2);
    // One that was cut back lies at rest.
    assert_eq!(count("PRAGMA wal_checkpoint(TRUNCATE)"), 2);
    assert!(is_at_rest(&beside(&path, "-wal")));
    assert_eq!(count(insert), 1);
    // No flush is left out later because none was asked for first.
    assert_eq!(count("PRAGMA wal_checkpoint(TRUNCATE)"), 2);
    assert_eq!(count("PRAGMA synchronous = OFF"), 0);
    assert_eq!(count(insert), 0);
    assert_eq!(count("PRAGMA synchronous = FULL"), 0);
    assert_eq!(count(insert), 1);
    integrity(&db);
}

#[test]
fn a_log_that_was_copied_is_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let (path, shim) = (dir.path().join("db"), keeping("rest-copied", 1 << 20));
    closed(&path, &shim);
    let copy = dir.path().join("copy");
    for end in ["", "-wal"] {
        fs::copy(beside(&path, end), beside(&copy, end)).unwrap();
    }
    assert_eq!(of_first_commit(&copy, &shim), (2, 1));
    assert_eq!(of_first_commit(&copy, &shim), (1, 0));

    // Another file in the place of the log, with the same bytes.
    let log = beside(&path, "-wal");
    let bytes = fs::read(&log).unwrap();
    fs::write(dir.path().join("other"), &bytes).unwrap();
    fs::rename(dir.path().join("other"), &log).unwrap();
    assert_eq!(of_first_commit(&path, &shim), (2, 1));
}

#[test]
fn a_log_that_was_moved_is_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let (path, shim) = (dir.path().join("db"), keeping("rest-moved", 1 << 20));
    closed(&path, &shim);
    let moved = dir.path().join("moved");
    for end in ["", "-wal"] {
        fs::rename(beside(&path, end), beside(&moved, end)).unwrap();
    }
    // Who only reads leaves it.
    let before = shim.counters();
    let db = connect(&moved, &shim);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 3);
    db.close().unwrap();
    let log = *shim.counters().since(&before).of(FileKind::Wal);
    assert_eq!((log.writes, log.syncs, log.truncates), (0, 0, 0));
    assert_eq!(of_first_commit(&moved, &shim), (2, 1));
    assert_eq!(of_first_commit(&moved, &shim), (1, 0));
}

#[test]
fn a_log_in_use_is_recovered_and_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let (path, shim) = (dir.path().join("db"), keeping("rest-killed", 1 << 20));
    closed(&path, &shim);
    let db = connect(&path, &shim);
    insert(&db);
    // As a program leaves it that is killed.
    let left = dir.path().join("left");
    for end in ["", "-wal"] {
        fs::copy(beside(&path, end), beside(&left, end)).unwrap();
    }
    drop(db);
    assert!(!is_at_rest(&beside(&left, "-wal")));
    let db = connect(&left, &shim);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 4);
    drop(db);
    assert!(is_at_rest(&beside(&left, "-wal")));
    assert_eq!(of_first_commit(&left, &shim), (1, 0));
}

#[test]
fn only_the_last_connection_lays_it_to_rest() {
    let dir = tempfile::tempdir().unwrap();
    let (path, shim) = (dir.path().join("db"), keeping("rest-last", 1 << 20));
    closed(&path, &shim);
    let (first, second) = (connect(&path, &shim), connect(&path, &shim));
    assert_eq!(number(&second, "SELECT count(*) FROM t"), 3);
    insert(&first);
    first.close().unwrap();
    assert!(!is_at_rest(&beside(&path, "-wal")));
    assert_eq!(number(&second, "SELECT count(*) FROM t"), 4);
    insert(&second);
    second.close().unwrap();
    assert!(is_at_rest(&beside(&path, "-wal")));
    assert_eq!(number(&plain(&path), "SELECT count(*) FROM t"), 5);
}

#[test]
fn a_large_log_is_cut_back() {
    let dir = tempfile::tempdir().unwrap();
    let (path, shim) = (dir.path().join("db"), keeping("rest-large", 1 << 16));
    closed(&path, &shim);
    let db = connect(&path, &shim);
    db.execute_batch(
        "BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO t SELECT randomblob(300) FROM n; COMMIT",
    )
    .unwrap();
    let log = beside(&path, "-wal");
    assert!(fs::metadata(&log).unwrap().len() > 900_000);
    db.close().unwrap();
    assert_eq!(fs::metadata(&log).unwrap().len(), 1 << 16);
    assert!(is_at_rest(&log));
    assert_eq!(of_first_commit(&path, &shim), (1, 0));
}

/// A file system that does not tell its files apart.
#[test]
fn a_log_that_cannot_be_told_is_emptied() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let options = ShimOptions {
        keep_log: Some(KeptLog {
            identity: |_| None,
            ..KeptLog::of_at_most(1 << 20)
        }),
        ..ShimOptions::default()
    };
    let shim = Shim::register("rest-untold", options).unwrap();
    closed(&path, &shim);
    let log = beside(&path, "-wal");
    assert_eq!(fs::metadata(&log).unwrap().len(), 0);
    assert_eq!(of_first_commit(&path, &shim), (2, 1));
    assert_eq!(number(&plain(&path), "SELECT count(*) FROM t"), 4);
}

/// What is in a log is for SQLite to read; bytes that are no mark of ours do not spare anything.
#[test]
fn a_damaged_mark_is_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let (path, shim) = (dir.path().join("db"), keeping("rest-damaged", 1 << 20));
    for at in 0..32 {
        closed(&path, &shim);
        let log = beside(&path, "-wal");
        let mut bytes = fs::read(&log).unwrap();
        bytes[at] ^= 1;
        fs::write(&log, &bytes).unwrap();
        assert_eq!(of_first_commit(&path, &shim), (2, 1), "byte {at}");
        drop(plain(&path));
        fs::remove_file(&path).unwrap();
        let _ = fs::remove_file(&log);
    }
}

/// Asks whether the log is to stay, or says so, as any program may.
fn persist(db: &Connection, mut value: std::os::raw::c_int) -> std::os::raw::c_int {
    // SAFETY: the connection is open, and the argument of this operation is an int.
    let code = unsafe {
        rusqlite::ffi::sqlite3_file_control(
            db.handle(),
            c"main".as_ptr(),
            rusqlite::ffi::SQLITE_FCNTL_PERSIST_WAL,
            (&raw mut value).cast(),
        )
    };
    assert_eq!(code, rusqlite::ffi::SQLITE_OK);
    value
}

/// A connection with the database's exclusive lock that goes on is not one that closes.
#[test]
fn a_log_in_use_is_not_laid_to_rest_by_who_asks() {
    let dir = tempfile::tempdir().unwrap();
    let (path, shim) = (dir.path().join("db"), keeping("rest-asked", 1 << 20));
    let log = beside(&path, "-wal");
    for exclusive_first in [true, false] {
        closed(&path, &shim);
        let db = connect(&path, &shim);
        if !exclusive_first {
            insert(&db);
        }
        db.execute_batch("PRAGMA locking_mode = EXCLUSIVE").unwrap();
        insert(&db);
        insert(&db);
        let before = fs::read(&log).unwrap();
        assert_eq!(persist(&db, -1), 0);
        assert!(fs::read(&log).unwrap() == before);
        insert(&db);
        // As a program leaves it that is killed.
        let left = dir.path().join("left");
        for end in ["", "-wal"] {
            fs::copy(beside(&path, end), beside(&left, end)).unwrap();
        }
        let count = "SELECT count(*) FROM t";
        assert_eq!(number(&plain(&left), count), number(&db, count));
        drop(db);
        for name in [&path, &left] {
            drop(plain(name));
            fs::remove_file(name).unwrap();
        }
        let _ = fs::remove_file(&log);
    }
}

/// What SQLite was told of the log is asked of it.
#[test]
fn a_log_that_is_to_stay_anyway_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (path, shim) = (dir.path().join("db"), keeping("rest-persist", 1 << 20));
    closed(&path, &shim);
    drop(plain(&path));
    let db = connect(&path, &shim);
    assert_eq!(persist(&db, -1), 0);
    assert_eq!(persist(&db, 1), 1);
    assert_eq!(persist(&db, -1), 1);
    insert(&db);
    drop(db);
    assert!(is_at_rest(&beside(&path, "-wal")));
    assert_eq!(of_first_commit(&path, &shim), (1, 0));
}

/// A log beside a database would have it opened in WAL mode again.
#[test]
fn leaving_the_wal_mode_removes_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let (path, shim) = (dir.path().join("db"), keeping("rest-leaving", 1 << 20));
    let log = beside(&path, "-wal");
    closed(&path, &shim);
    let db = connect(&path, &shim);
    for exclusive in ["NORMAL", "EXCLUSIVE"] {
        db.execute_batch(&format!("PRAGMA locking_mode = {exclusive}"))
            .unwrap();
        insert(&db);
        assert!(log.exists());
        assert_eq!(mode(&db, "PERSIST"), "persist");
        assert!(!log.exists());
        insert(&db);
        assert!(!log.exists());
        assert_eq!(fs::read(&path).unwrap()[18..20], [1, 1]);
        assert_eq!(mode(&db, "WAL"), "wal");
        insert(&db);
    }
    integrity(&db);
    drop(db);
    assert_eq!(of_first_commit(&path, &shim).0, 2);

    // Who came back to it keeps the log again.
    let db = connect(&path, &shim);
    assert_eq!(mode(&db, "DELETE"), "delete");
    assert_eq!(mode(&db, "WAL"), "wal");
    insert(&db);
    drop(db);
    assert!(is_at_rest(&log));
    assert_eq!(of_first_commit(&path, &shim), (1, 0));
}

const DATABASE: &str = "ETUI_VFS_TEST_DATABASE";

/// Has read the database and keeps it open until its input ends.
#[test]
#[ignore = "run by other tests"]
fn holds_it() {
    let Some(path) = std::env::var_os(DATABASE) else {
        return;
    };
    let db = plain(path.as_ref());
    println!("holds {}", number(&db, "SELECT count(*) FROM t"));
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// Another process that holds the database, once it does, and what it says.
fn holder(path: &Path) -> (Child, impl Iterator<Item = String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "holds_it", "--nocapture", "--ignored"])
        .env(DATABASE, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    assert!(lines.any(|line| line.contains("holds ")));
    (child, lines)
}

/// Whoever left the WAL mode and came back does not take the wal-index from others later.
#[test]
fn the_wal_index_stays_while_another_process_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let (path, shim) = (dir.path().join("db"), keeping("rest-index", 1 << 20));
    closed(&path, &shim);
    let db = connect(&path, &shim);
    insert(&db);
    assert_eq!(mode(&db, "DELETE"), "delete");
    assert_eq!(mode(&db, "WAL"), "wal");
    insert(&db);
    let (mut other, said) = holder(&path);
    drop(db);
    assert!(beside(&path, "-shm").exists());
    assert!(!is_at_rest(&beside(&path, "-wal")));
    drop(other.stdin.take());
    assert!(said.count() > 0);
    assert!(other.wait().unwrap().success());
    assert!(!beside(&path, "-shm").exists());
    assert_eq!(of_first_commit(&path, &shim), (2, 1));
}
