//! The lock that keeps other processes out, and processes that come and go meanwhile.

use std::io::BufReader;
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use etui_vfs::device;
use etui_vfs::{Mutation, Options};
use rusqlite::{Connection, OpenFlags};

use super::meanwhile::Meanwhile;
use super::{child, killed, number, open, path_of_child, stay_until_killed, wait_for};
use crate::common::vfs;

/// Inserts rows into `t` until the database refuses, at most 20, and prints their number.
fn commit_twenty(db: rusqlite::Result<Connection>) {
    let insert = |db: &Connection| {
        db.busy_timeout(Duration::ZERO)?;
        db.execute_batch("PRAGMA synchronous = FULL; INSERT INTO t VALUES('other')")
    };
    let mut committed = 0;
    if let Ok(db) = &db {
        while committed < 20 && insert(db).is_ok() {
            committed += 1;
        }
    }
    println!("committed {committed}");
    stay_until_killed();
}

#[test]
#[ignore = "run by other tests"]
pub fn commits_twenty() {
    if let Some(path) = path_of_child() {
        commit_twenty(open(&path));
    }
}

#[test]
#[ignore = "run by other tests"]
pub fn commits_twenty_without_the_vfs() {
    if let Some(path) = path_of_child() {
        commit_twenty(Connection::open(path));
    }
}

/// Runs one of the programs above until it has committed, kills it, and returns the number of
/// acknowledged commits.
fn acknowledged(mut program: Child) -> i64 {
    let mut said = BufReader::new(program.stdout.take().unwrap());
    let line = wait_for(&mut said, "committed");
    program.kill().unwrap();
    program.wait().unwrap();
    line["committed ".len()..].parse().unwrap()
}

/// Creates a database that a killed program without the VFS left in WAL mode.
fn with_leftover_wal(path: &Path) {
    let origin = path.with_extension("origin");
    let db = Connection::open(&origin).unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(v); INSERT INTO t VALUES('first')")
        .unwrap();
    let wal = |path: &Path| format!("{}-wal", path.display());
    std::fs::copy(&origin, path).unwrap();
    std::fs::copy(wal(&origin), wal(path)).unwrap();
}

/// Opens a database with a leftover WAL. Once SQLite has settled the WAL, another process opens the
/// database, commits, and is killed. Returns the rows that were lost in the end; `None`: the first
/// process could not commit.
fn lost_while_settling(vfs: &str, stale_journal: bool, broken: Option<Mutation>) -> Option<i64> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    with_leftover_wal(&path);
    if stale_journal {
        // Its header is void: SQLite neither plays it back nor removes it.
        std::fs::write(dir.path().join("db-journal"), [0; 512]).unwrap();
    }
    let committed = Arc::new(std::sync::atomic::AtomicI64::new(0));
    let counted = Arc::clone(&committed);
    let platform = Meanwhile::new(move |path: &Path| {
        let rows = acknowledged(child(commits_twenty, path, 0));
        counted.fetch_add(rows, std::sync::atomic::Ordering::Relaxed);
    });
    etui_vfs::register_broken(vfs, Options::default(), Arc::new(platform), broken).unwrap();
    let db = Connection::open_with_flags_and_vfs(&path, OpenFlags::default(), vfs).unwrap();
    db.execute_batch("INSERT INTO t VALUES('own')").ok()?;
    let rows = number(&db, "SELECT count(*) FROM t");
    drop(db);
    let plain = Connection::open(&path).unwrap();
    assert_eq!(number(&plain, "SELECT count(*) FROM t"), rows);
    assert_eq!(
        number(&plain, "SELECT count(*) FROM t WHERE v <> 'other'"),
        2
    );
    let committed = committed.load(std::sync::atomic::Ordering::Relaxed);
    Some(committed - number(&plain, "SELECT count(*) FROM t WHERE v = 'other'"))
}

/// Two programs open a database with a leftover WAL. One commits and is killed while the other one
/// is between SQLite's checkpoint and its own lock.
#[test]
fn commits_made_while_a_wal_is_settled_are_kept() {
    assert_eq!(lost_while_settling("etui-settling", false, None), Some(0));
}

/// With a journal beside the WAL, SQLite needs the database to itself to look at it.
#[test]
fn commits_made_while_a_wal_and_a_journal_are_settled_are_kept() {
    let lost = lost_while_settling("etui-settling-both", true, None);
    assert_eq!(lost, Some(0));
}

#[test]
fn rule_33_attach_keeps_header() {
    let broken = Some(Mutation::AttachKeepsHeader);
    let lost = lost_while_settling("etui-keeps-header", true, broken);
    assert_ne!(lost, Some(0));
}

/// A program reads its own database file, as for a checksum or a copy. Closing it releases the
/// locks that SQLite itself takes. Another program without the VFS commits as often as it can.
/// Returns the rows that were lost in the end; `None`: the first program could not commit.
fn lost_after_own_close(vfs: &str, broken: Option<Mutation>) -> Option<i64> {
    let system = device::system().unwrap();
    etui_vfs::register_broken(vfs, Options::default(), system, broken).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let open = |path| Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs);
    let db = open(&path).unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(v)")
        .unwrap();
    drop(db);
    // Nothing is written yet: neither the header marker nor the log keeps anybody out.
    let db = open(&path).unwrap();
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 0);
    std::fs::read(&path).unwrap();
    let rows = acknowledged(child(commits_twenty_without_the_vfs, &path, 0));
    db.execute_batch("INSERT INTO t VALUES('own')").ok()?;
    drop(db);
    let plain = Connection::open(&path).unwrap();
    let lost = rows + 1 - number(&plain, "SELECT count(*) FROM t");
    // The lock is gone once the database is closed.
    plain
        .execute_batch("INSERT INTO t VALUES('plain')")
        .unwrap();
    Some(lost)
}

#[test]
fn the_lock_survives_another_close_of_the_file() {
    assert_eq!(lost_after_own_close("etui-closes", None), Some(0));
}

#[test]
fn rule_31_posix_gate() {
    let lost = lost_after_own_close("etui-posix", Some(Mutation::PosixGate));
    assert_ne!(lost, Some(0));
}

/// Closing the VFS's own descriptors does not release the lock of a connection without the VFS in
/// the same process.
#[test]
fn a_refused_open_keeps_the_locks_of_other_connections() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let plain = Connection::open(&path).unwrap();
    plain
        .execute_batch("CREATE TABLE t(v); BEGIN IMMEDIATE; INSERT INTO t VALUES('plain')")
        .unwrap();
    for _ in 0..2 {
        let refused = open(&path).unwrap();
        refused.busy_timeout(Duration::ZERO).unwrap();
        let read = refused.query_row("SELECT count(*) FROM t", [], |_| Ok(()));
        assert!(read.is_err());
    }
    let rows = acknowledged(child(commits_twenty_without_the_vfs, &path, 0));
    assert_eq!(rows, 0);
    plain.execute_batch("COMMIT").unwrap();
    drop(plain);
    let db = open(&path).unwrap();
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 1);
}

/// `immutable=1` reads without a lock, so it must not read a database whose commits are in a log.
#[test]
fn an_immutable_open_does_not_read_past_a_live_log() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut program = child(killed::holds_it, &path, 0);
    let mut said = BufReader::new(program.stdout.take().unwrap());
    wait_for(&mut said, "holds");
    let uri = format!("file:{}?vfs={}&immutable=1", path.display(), vfs().name());
    let db = Connection::open(&uri).unwrap();
    let read = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
        row.get::<_, i64>(0)
    });
    program.kill().unwrap();
    program.wait().unwrap();
    let code = read.err().and_then(|error| error.sqlite_error_code());
    assert_eq!(code, Some(rusqlite::ErrorCode::NotADatabase));
}

/// Threads that open, commit and close at any moment: one that opens while the last one closes finds its commits.
#[test]
fn threads_that_open_and_close_get_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    open(&path)
        .unwrap()
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(v)")
        .unwrap();
    let committed: i64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..5)
            .map(|_| {
                scope.spawn(|| {
                    let mut committed = 0;
                    for round in 0..150 {
                        let db = open(&path).unwrap();
                        db.busy_timeout(Duration::from_secs(100)).unwrap();
                        assert!(number(&db, "SELECT count(*) FROM t") >= committed);
                        for _ in 0..=round % 3 {
                            db.execute("INSERT INTO t VALUES(1)", []).unwrap();
                            committed += 1;
                        }
                    }
                    committed
                })
            })
            .collect();
        let threads = threads.into_iter();
        threads.map(|thread| thread.join().unwrap()).sum()
    });
    let plain = Connection::open(&path).unwrap();
    assert_eq!(number(&plain, "SELECT count(*) FROM t"), committed);
}
