//! The VFS with a persistent WAL: the flushes of the first commit of a session.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use crate::common::{integrity, mode, number, plain};
use etui_lab_io::instrumented::{FileKind, InstrumentedOptions, InstrumentedVfs, IoCounters};
use etui_testkit::own_process::ProgramOfTest;
use etui_vfs::persist_wal::{PersistWalOptions, PersistWalVfs, is_idle_wal};
use rusqlite::{Connection, OpenFlags};

/// A VFS with persistent WALs above one that counts.
struct Persisting {
    vfs: PersistWalVfs,
    counting: InstrumentedVfs,
}

impl Persisting {
    fn register(name: &str, options: PersistWalOptions) -> Self {
        let below = format!("{name}-counting");
        let counting = InstrumentedVfs::register(&below, InstrumentedOptions::default()).unwrap();
        let vfs = PersistWalVfs::register_above(name, &below, options).unwrap();
        Self { vfs, counting }
    }

    fn counters(&self) -> IoCounters {
        self.counting.counters()
    }
}

fn persisting(name: &str, max_bytes: u64) -> Persisting {
    Persisting::register(name, PersistWalOptions::with_max_bytes(max_bytes))
}

fn connect(path: &Path, persisting: &Persisting) -> Connection {
    let name = persisting.vfs.name();
    Connection::open_with_flags_and_vfs(path, OpenFlags::default(), name).unwrap()
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Creates a closed database with three rows.
fn create_closed(path: &Path, vfs: &Persisting) {
    let db = connect(path, vfs);
    assert_eq!(mode(&db, "WAL"), "wal");
    db.execute_batch("CREATE TABLE t(v); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
        .unwrap();
    db.execute_batch("INSERT INTO t VALUES (3)").unwrap();
    db.close().unwrap();
}

fn insert(db: &Connection) {
    db.execute_batch("INSERT INTO t VALUES (4)").unwrap();
}

/// Returns the flushes of the WAL and of its directory since `before`.
fn wal_flushes(vfs: &Persisting, before: &IoCounters) -> (u64, u64) {
    let log = *vfs.counters().since(before).of(FileKind::Wal);
    (log.syncs, log.directory_syncs)
}

/// Returns the flushes of the first commit of a session.
fn first_commit_flushes(path: &Path, vfs: &Persisting) -> (u64, u64) {
    let db = connect(path, vfs);
    let before = vfs.counters();
    insert(&db);
    let flushed = wal_flushes(vfs, &before);
    integrity(&db);
    db.close().unwrap();
    flushed
}

#[test]
fn first_commit_of_a_session_flushes_once() {
    let dir = tempfile::tempdir().unwrap();
    let (path, vfs) = (dir.path().join("db"), persisting("persist-once", 1 << 20));
    let before = vfs.counters();
    create_closed(&path, &vfs);
    assert!(wal_flushes(&vfs, &before).1 >= 1, "the new name");
    let log = beside(&path, "-wal");
    assert!(is_idle_wal(&log));
    assert!(!beside(&path, "-shm").exists());
    let length = fs::metadata(&log).unwrap().len();
    assert!(length > 4096);

    for session in 1..=3 {
        assert_eq!(
            first_commit_flushes(&path, &vfs),
            (1, 0),
            "session {session}"
        );
        assert!(is_idle_wal(&log));
    }
    assert_eq!(fs::metadata(&log).unwrap().len(), length);
    // Plain SQLite finds no frames; the last connection without this VFS deletes the file.
    let db = plain(&path);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 6);
    integrity(&db);
    drop(db);
    assert!(!log.exists());
    // A connection that only reads leaves no WAL that would need a flush.
    let before = vfs.counters();
    let db = connect(&path, &vfs);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 6);
    db.close().unwrap();
    assert_eq!(wal_flushes(&vfs, &before), (0, 0));
    assert!(!log.exists());
    assert_eq!(first_commit_flushes(&path, &vfs), (2, 1));
    assert_eq!(first_commit_flushes(&path, &vfs), (1, 0));
}

#[test]
fn all_other_commits_flush_as_usual() {
    let dir = tempfile::tempdir().unwrap();
    let (path, vfs) = (dir.path().join("db"), persisting("persist-every", 1 << 20));
    create_closed(&path, &vfs);
    let db = connect(&path, &vfs);
    let count = |work: &str| {
        let before = vfs.counters();
        db.execute_batch(work).unwrap();
        wal_flushes(&vfs, &before).0
    };
    let insert = "INSERT INTO t VALUES (4)";
    assert_eq!(count(insert), 1);
    assert_eq!(count(insert), 1);
    // A WAL that restarts within a session has a valid old header.
    assert_eq!(count("PRAGMA wal_checkpoint(RESTART)"), 1);
    assert_eq!(count(insert), 2);
    // A truncated one is idle.
    assert_eq!(count("PRAGMA wal_checkpoint(TRUNCATE)"), 2);
    assert!(is_idle_wal(&beside(&path, "-wal")));
    assert_eq!(count(insert), 1);
    // Only the sync directly after the header is skipped, not a later one.
    assert_eq!(count("PRAGMA wal_checkpoint(TRUNCATE)"), 2);
    assert_eq!(count("PRAGMA synchronous = OFF"), 0);
    assert_eq!(count(insert), 0);
    assert_eq!(count("PRAGMA synchronous = FULL"), 0);
    assert_eq!(count(insert), 1);
    integrity(&db);
}

#[test]
fn copied_wal_is_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let (path, vfs) = (dir.path().join("db"), persisting("persist-copied", 1 << 20));
    create_closed(&path, &vfs);
    let copy = dir.path().join("copy");
    for end in ["", "-wal"] {
        fs::copy(beside(&path, end), beside(&copy, end)).unwrap();
    }
    assert_eq!(first_commit_flushes(&copy, &vfs), (2, 1));
    assert_eq!(first_commit_flushes(&copy, &vfs), (1, 0));

    // Another file with the same bytes replaces the WAL.
    let log = beside(&path, "-wal");
    let bytes = fs::read(&log).unwrap();
    fs::write(dir.path().join("other"), &bytes).unwrap();
    fs::rename(dir.path().join("other"), &log).unwrap();
    assert_eq!(first_commit_flushes(&path, &vfs), (2, 1));
}

#[test]
fn moved_wal_is_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let (path, vfs) = (dir.path().join("db"), persisting("persist-moved", 1 << 20));
    create_closed(&path, &vfs);
    let moved = dir.path().join("moved");
    for end in ["", "-wal"] {
        fs::rename(beside(&path, end), beside(&moved, end)).unwrap();
    }
    // A connection that only reads leaves it unchanged.
    let before = vfs.counters();
    let db = connect(&moved, &vfs);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 3);
    db.close().unwrap();
    let log = *vfs.counters().since(&before).of(FileKind::Wal);
    assert_eq!((log.writes, log.syncs, log.truncates), (0, 0, 0));
    assert_eq!(first_commit_flushes(&moved, &vfs), (2, 1));
    assert_eq!(first_commit_flushes(&moved, &vfs), (1, 0));
}

#[test]
fn active_wal_is_recovered_and_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let (path, vfs) = (dir.path().join("db"), persisting("persist-killed", 1 << 20));
    create_closed(&path, &vfs);
    let db = connect(&path, &vfs);
    insert(&db);
    // The files as after a kill.
    let left = dir.path().join("left");
    for end in ["", "-wal"] {
        fs::copy(beside(&path, end), beside(&left, end)).unwrap();
    }
    drop(db);
    assert!(!is_idle_wal(&beside(&left, "-wal")));
    let db = connect(&left, &vfs);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 4);
    drop(db);
    assert!(is_idle_wal(&beside(&left, "-wal")));
    assert_eq!(first_commit_flushes(&left, &vfs), (1, 0));
}

#[test]
fn only_the_last_connection_makes_it_idle() {
    let dir = tempfile::tempdir().unwrap();
    let (path, vfs) = (dir.path().join("db"), persisting("persist-last", 1 << 20));
    create_closed(&path, &vfs);
    let (first, second) = (connect(&path, &vfs), connect(&path, &vfs));
    assert_eq!(number(&second, "SELECT count(*) FROM t"), 3);
    insert(&first);
    first.close().unwrap();
    assert!(!is_idle_wal(&beside(&path, "-wal")));
    assert_eq!(number(&second, "SELECT count(*) FROM t"), 4);
    insert(&second);
    second.close().unwrap();
    assert!(is_idle_wal(&beside(&path, "-wal")));
    assert_eq!(number(&plain(&path), "SELECT count(*) FROM t"), 5);
}

#[test]
fn large_wal_is_truncated() {
    let dir = tempfile::tempdir().unwrap();
    let (path, vfs) = (dir.path().join("db"), persisting("persist-large", 1 << 16));
    create_closed(&path, &vfs);
    let db = connect(&path, &vfs);
    db.execute_batch(
        "BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO t SELECT randomblob(300) FROM n; COMMIT",
    )
    .unwrap();
    let log = beside(&path, "-wal");
    assert!(fs::metadata(&log).unwrap().len() > 900_000);
    db.close().unwrap();
    assert_eq!(fs::metadata(&log).unwrap().len(), 1 << 16);
    assert!(is_idle_wal(&log));
    assert_eq!(first_commit_flushes(&path, &vfs), (1, 0));
}

/// A file system without birth times.
#[test]
fn wal_without_identity_is_truncated_to_zero() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let options = PersistWalOptions {
        identity: |_| None,
        ..PersistWalOptions::with_max_bytes(1 << 20)
    };
    let vfs = Persisting::register("persist-no-identity", options);
    create_closed(&path, &vfs);
    let log = beside(&path, "-wal");
    assert_eq!(fs::metadata(&log).unwrap().len(), 0);
    assert_eq!(first_commit_flushes(&path, &vfs), (2, 1));
    assert_eq!(number(&plain(&path), "SELECT count(*) FROM t"), 4);
}

/// A header that is not exactly the file's own mark saves no flush.
#[test]
fn damaged_mark_is_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let (path, vfs) = (
        dir.path().join("db"),
        persisting("persist-damaged", 1 << 20),
    );
    for at in 0..32 {
        create_closed(&path, &vfs);
        let log = beside(&path, "-wal");
        let mut bytes = fs::read(&log).unwrap();
        bytes[at] ^= 1;
        fs::write(&log, &bytes).unwrap();
        assert_eq!(first_commit_flushes(&path, &vfs), (2, 1), "byte {at}");
        drop(plain(&path));
        fs::remove_file(&path).unwrap();
        let _ = fs::remove_file(&log);
    }
}

/// Gets or sets `SQLITE_FCNTL_PERSIST_WAL`, as any program may.
fn file_control_persist_wal(
    db: &Connection,
    mut value: std::os::raw::c_int,
) -> std::os::raw::c_int {
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

/// A connection may hold the exclusive lock without closing the database.
#[test]
fn a_query_of_persist_wal_leaves_an_active_wal() {
    let dir = tempfile::tempdir().unwrap();
    let (path, vfs) = (dir.path().join("db"), persisting("persist-asked", 1 << 20));
    let log = beside(&path, "-wal");
    for exclusive_first in [true, false] {
        create_closed(&path, &vfs);
        let db = connect(&path, &vfs);
        if !exclusive_first {
            insert(&db);
        }
        db.execute_batch("PRAGMA locking_mode = EXCLUSIVE").unwrap();
        insert(&db);
        insert(&db);
        let before = fs::read(&log).unwrap();
        assert_eq!(file_control_persist_wal(&db, -1), 0);
        assert!(fs::read(&log).unwrap() == before);
        insert(&db);
        // The files as after a kill.
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

/// The setting of a program is kept by the base VFS.
#[test]
fn persist_wal_set_by_a_program_is_respected() {
    let dir = tempfile::tempdir().unwrap();
    let (path, vfs) = (
        dir.path().join("db"),
        persisting("persist-persist", 1 << 20),
    );
    create_closed(&path, &vfs);
    drop(plain(&path));
    let db = connect(&path, &vfs);
    assert_eq!(file_control_persist_wal(&db, -1), 0);
    assert_eq!(file_control_persist_wal(&db, 1), 1);
    assert_eq!(file_control_persist_wal(&db, -1), 1);
    insert(&db);
    drop(db);
    assert!(is_idle_wal(&beside(&path, "-wal")));
    assert_eq!(first_commit_flushes(&path, &vfs), (1, 0));
}

/// A WAL beside a database would make SQLite open it in WAL mode again.
#[test]
fn leaving_wal_mode_deletes_the_wal() {
    let dir = tempfile::tempdir().unwrap();
    let (path, vfs) = (
        dir.path().join("db"),
        persisting("persist-leaving", 1 << 20),
    );
    let log = beside(&path, "-wal");
    create_closed(&path, &vfs);
    let db = connect(&path, &vfs);
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
    assert_eq!(first_commit_flushes(&path, &vfs).0, 2);

    // After a return to WAL mode the WAL persists again.
    let db = connect(&path, &vfs);
    assert_eq!(mode(&db, "DELETE"), "delete");
    assert_eq!(mode(&db, "WAL"), "wal");
    insert(&db);
    drop(db);
    assert!(is_idle_wal(&log));
    assert_eq!(first_commit_flushes(&path, &vfs), (1, 0));
}

const DATABASE: &str = "ETUI_VFS_TEST_DATABASE";

/// Reads the database and keeps it open until the end of the input.
#[test]
#[ignore = "run by other tests"]
fn hold_database() {
    let Some(path) = std::env::var_os(DATABASE) else {
        return;
    };
    let db = plain(path.as_ref());
    println!("holds {}", number(&db, "SELECT count(*) FROM t"));
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// Starts a process that holds the database open. Returns it, and its further output.
fn spawn_holder(path: &Path) -> (Child, impl Iterator<Item = String>) {
    let mut child = ProgramOfTest::new(hold_database)
        .command()
        .unwrap()
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

/// A connection that left WAL mode and came back does not delete the wal-index of others.
#[test]
fn wal_index_stays_while_another_process_uses_it() {
    let dir = tempfile::tempdir().unwrap();
    let (path, vfs) = (dir.path().join("db"), persisting("persist-index", 1 << 20));
    create_closed(&path, &vfs);
    let db = connect(&path, &vfs);
    insert(&db);
    assert_eq!(mode(&db, "DELETE"), "delete");
    assert_eq!(mode(&db, "WAL"), "wal");
    insert(&db);
    let (mut other, said) = spawn_holder(&path);
    drop(db);
    assert!(beside(&path, "-shm").exists());
    assert!(!is_idle_wal(&beside(&path, "-wal")));
    drop(other.stdin.take());
    assert!(said.count() > 0);
    assert!(other.wait().unwrap().success());
    assert!(!beside(&path, "-shm").exists());
    assert_eq!(first_commit_flushes(&path, &vfs), (2, 1));
}
