//! Locks that the process's own code cannot release, and those of SQLite's own VFS that it must not.

use std::fs;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use crate::common::{
    child, insert, made, number, of_child, open, plain, rows, shell, vfs, wait_for,
};

/// Commits 20 rows and closes the database.
#[test]
#[ignore = "run by other tests"]
fn commits_twenty_and_closes() {
    let Some((path, _)) = of_child() else { return };
    let db = plain(&path);
    println!("begins");
    let committed = (0..20).filter(|_| insert(&db, "other")).count();
    drop(db);
    println!("committed {committed}");
}

/// Copies the files as a killed process would leave them, and counts the rows.
fn rows_after_a_kill(path: &Path, value: &str) -> i64 {
    let copy = path.with_extension("copy");
    for suffix in ["", "-wal"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        fs::copy(name(path), name(&copy)).unwrap();
    }
    let db = Connection::open(&copy).unwrap();
    number(&db, &format!("SELECT count(*) FROM t WHERE v = '{value}'"))
}

/// A program reads its own files, which drops the locks of SQLite's own VFS. Another one opens and
/// closes the database, and would delete the WAL as the last.
#[test]
fn own_closes_leave_the_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = made(&path);
    assert!(insert(&db, "first"));
    for suffix in ["", "-shm", "-wal"] {
        fs::read(format!("{}{suffix}", path.display())).unwrap();
    }
    let mut program = child(commits_twenty_and_closes, &path, 0);
    let mut said = BufReader::new(program.stdout.take().unwrap());
    assert_eq!(wait_for(&mut said, "committed"), "committed 20");
    program.wait().unwrap();
    assert!(insert(&db, "own"));
    assert_eq!(rows_after_a_kill(&path, "own"), 1);
    drop(db);
    assert_eq!(rows(&plain(&path)), 22);
}

/// A program closes a descriptor of each file amid a transaction, and another program wants to write.
#[test]
fn the_write_lock_is_kept_over_own_closes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = made(&path);
    db.execute_batch("BEGIN IMMEDIATE; INSERT INTO t(v) VALUES('own')")
        .unwrap();
    for suffix in ["", "-shm", "-wal"] {
        drop(fs::File::open(format!("{}{suffix}", path.display())).unwrap());
    }
    let (said, is_ok) = shell(&path, 0, "INSERT INTO t(v) VALUES('other')");
    assert!(!is_ok && said.contains("locked"), "{said}");
    db.execute_batch("COMMIT").unwrap();
    assert!(shell(&path, 0, "INSERT INTO t(v) VALUES('other')").1);
    assert_eq!(rows(&db), 2);
}

/// Without a WAL: the levels of the lock of the database.
#[test]
fn rollback_journals_are_as_safe() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = open(&path);
    db.busy_timeout(Duration::ZERO).unwrap();
    db.execute_batch("CREATE TABLE t(k INTEGER PRIMARY KEY, v)")
        .unwrap();
    db.execute_batch("BEGIN IMMEDIATE; INSERT INTO t(v) VALUES('own')")
        .unwrap();
    drop(fs::File::open(&path).unwrap());
    let count = "SELECT count(*) FROM t";
    assert_eq!(shell(&path, 0, count), ("0".to_owned(), true));
    let (said, is_ok) = shell(&path, 0, "INSERT INTO t(v) VALUES('other')");
    assert!(!is_ok && said.contains("locked"), "{said}");
    // A reader of another connection keeps the writer from its file.
    let reader = open(&path);
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(number(&reader, count), 0);
    let busy = db.execute_batch("COMMIT").unwrap_err();
    assert_eq!(busy.sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
    // It waits with PENDING: nobody begins to read.
    let (said, is_ok) = shell(&path, 0, count);
    assert!(!is_ok && said.contains("locked"), "{said}");
    reader.execute_batch("COMMIT").unwrap();
    db.execute_batch("COMMIT").unwrap();
    assert_eq!(shell(&path, 0, count), ("1".to_owned(), true));
    assert!(shell(&path, 0, "INSERT INTO t(v) VALUES('other')").1);
    assert_eq!(number(&db, count), 2);
}

/// Connections of two VFS of one process, and of other processes, see each other's locks.
#[test]
fn both_vfs_of_a_process_exclude_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = made(&path);
    let other = plain(&path);
    for (writer, waiter) in [(&db, &other), (&other, &db)] {
        waiter.busy_timeout(Duration::ZERO).unwrap();
        writer
            .execute_batch("BEGIN IMMEDIATE; INSERT INTO t(v) VALUES('writer')")
            .unwrap();
        let before = rows(waiter);
        assert!(!insert(waiter, "waiter"));
        writer.execute_batch("COMMIT").unwrap();
        assert_eq!(rows(waiter), before + 1);
        assert!(insert(waiter, "waiter"));
    }
    assert_eq!((rows(&db), rows(&other)), (4, 4));
    drop(db);
    assert!(path.with_extension("").exists() && dir.path().join("db-wal").exists());
    assert!(insert(&other, "last"));
    drop(other);
    assert!(!dir.path().join("db-wal").exists());
    assert!(!dir.path().join("db-shm").exists());
}

/// A connection reads for the first time after all others have closed the database, and its WAL and
/// wal-index were deleted and made again.
#[test]
fn the_index_is_that_of_the_file_after_all_others_closed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let (first, late) = (made(&path), open(&path));
    assert!(insert(&first, "own"));
    drop(first);
    assert!(shell(&path, 0, "INSERT INTO t(v) VALUES('other')").1);
    let other = plain(&path);
    assert!(insert(&other, "other"));
    assert_eq!(rows(&late), 3);
    assert!(insert(&late, "own"));
    assert_eq!(rows(&other), 4);
}

/// The WAL of an open database is deleted, or another file takes its name: commits would be lost.
#[test]
fn a_commit_to_a_wal_without_its_name_is_refused() {
    for is_replaced in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let db = made(&path);
        assert!(insert(&db, "own"));
        let wal = dir.path().join("db-wal");
        let kept = fs::read(&wal).unwrap();
        fs::remove_file(&wal).unwrap();
        if is_replaced {
            // A new file may get the number of the old one, which is open: not here.
            fs::write(&wal, &kept).unwrap();
        }
        for _ in 0..2 {
            let refused = db.execute("INSERT INTO t(v) VALUES('lost')", []);
            let code = match refused {
                Err(rusqlite::Error::SqliteFailure(error, _)) => error.extended_code,
                other => panic!("{other:?}"),
            };
            assert_eq!(code, libsqlite3_sys::SQLITE_IOERR_VNODE);
        }
    }
}

/// Files that only are read, by a connection that may not write them, are those of SQLite's own VFS.
#[test]
fn a_file_that_may_not_be_written_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    drop(made(&path));
    let uri = format!(
        "file:{}?vfs={}&mode=ro",
        path.display(),
        crate::common::vfs().name()
    );
    let db = Connection::open(&uri).unwrap();
    assert_eq!(rows(&db), 0);
    assert!(!insert(&db, "own"));
    let uri = format!(
        "file:{}?vfs={}&immutable=1",
        path.display(),
        crate::common::vfs().name()
    );
    assert_eq!(rows(&Connection::open(&uri).unwrap()), 0);
}

/// Descriptors are not used up by connections that come and go beside one that stays.
#[test]
fn parked_files_are_used_again() {
    if !etui_testkit::own_process::in_own_process(parked_files_are_used_again) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let stays = plain(&path);
    stays
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(k INTEGER PRIMARY KEY, v)")
        .unwrap();
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    let mut before = 0;
    for round in 0..50 {
        let (one, two) = (open(&path), open(&path));
        assert!(insert(&one, "one") && insert(&two, "two"));
        drop((one, two));
        if round == 0 {
            before = descriptors();
        }
        assert!(
            descriptors() <= before,
            "{round}: {} of {before}",
            descriptors()
        );
    }
    assert_eq!(rows(&stays), 100);
    drop(stays);
    drop(open(&path));
    assert!(descriptors() < before);
}

/// `immutable` reads the file alone: not beside a WAL that has the last changes.
#[test]
fn an_immutable_open_does_not_pass_over_a_wal() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = made(&path);
    assert!(insert(&db, "own"));
    let uri = |value: &str| {
        let name = vfs().name();
        Connection::open(format!(
            "file:{}?vfs={name}&immutable={value}",
            path.display()
        ))
    };
    let refused = uri("1").err().and_then(|error| error.sqlite_error_code());
    assert_eq!(refused, Some(rusqlite::ErrorCode::CannotOpen));
    assert_eq!(rows(&uri("0").unwrap()), 1);
    drop(db);
    assert_eq!(rows(&uri("1").unwrap()), 1);
}
