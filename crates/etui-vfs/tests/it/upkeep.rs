//! The VFS's memory limits and idle checkpoints.

use std::path::Path;
use std::time::Duration;

use crate::common::{crash, integrity, mode, number, open, plain, versions, wal};
use etui_testkit::wait::wait_until;
use etui_vfs::{Counters, Options, Vfs};
use rusqlite::{Connection, OpenFlags};

/// Writes ten megabytes in one transaction, through a VFS; `then` runs before the checkpoint.
/// Returns the counters up to the end of the checkpoint.
fn append_ten_megabytes(vfs: &Vfs, then: impl Fn(&Path, Counters)) -> Counters {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let connect = |path: &Path| {
        Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs.name()).unwrap()
    };
    let db = connect(&path);
    mode(&db, "WAL");
    db.execute_batch("CREATE TABLE t(k INTEGER PRIMARY KEY, v)")
        .unwrap();
    let before = vfs.counters();
    db.execute_batch(
        "BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
         INSERT INTO t SELECT i, randomblob(100000) FROM n; COMMIT",
    )
    .unwrap();
    let log = dir.path().join("db-redo");
    then(&log, vfs.counters().since(&before));
    let crashed = crash(&path);
    db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES(1000, 1)")
        .unwrap();
    let counted = vfs.counters().since(&before);
    let resting = Options::default().log_size;
    assert_eq!(std::fs::metadata(&log).unwrap().len(), resting);
    drop(db);
    for path in [crashed, path] {
        let db = connect(&path);
        integrity(&db);
        let sum = number(&db, "SELECT sum(length(v)) FROM t WHERE k <= 100");
        assert_eq!(sum, 10_000_000);
    }
    counted
}

#[test]
fn large_transactions_leave_memory_and_the_log_at_rest() {
    let options = Options {
        append_in_place: usize::MAX,
        ..Options::default()
    };
    let vfs = etui_vfs::register("etui-all-logged", options).unwrap();
    append_ten_megabytes(&vfs, |log, counted| {
        assert!(std::fs::metadata(log).unwrap().len() > 10_000_000);
        assert!(counted.temporary_bytes > 5_000_000);
    });
}

#[test]
fn appended_pages_are_written_once() {
    let vfs = etui_vfs::register("etui-in-place", Options::default()).unwrap();
    let counted = append_ten_megabytes(&vfs, |_, counted| {
        assert!(counted.redo_bytes < 100_000);
        assert_eq!(counted.temporary_bytes, 0);
    });
    assert!(counted.pages_in_place > 2400);
    assert!(counted.database_bytes + counted.redo_bytes < 10_500_000);
}

#[test]
fn new_pages_do_not_pass_the_temporary_file_when_earlier_commits_fill_the_memory() {
    let options = Options {
        wal_memory: 256 << 10,
        ..Options::default()
    };
    let vfs = etui_vfs::register("etui-full-memory", options).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let connect = |path: &Path| {
        Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs.name()).unwrap()
    };
    let db = connect(&path);
    mode(&db, "WAL");
    db.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;
         CREATE TABLE t(k INTEGER PRIMARY KEY, v);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
         INSERT INTO t SELECT i, randomblob(3000) FROM n;
         PRAGMA wal_checkpoint(TRUNCATE); UPDATE t SET v = randomblob(3000)",
    )
    .unwrap();
    assert!(vfs.counters().temporary_bytes > 400_000);
    let before = vfs.counters();
    // Less than is written in place otherwise.
    let appended = Options::default().append_in_place as i64 / 2;
    db.execute("INSERT INTO t VALUES(1000, randomblob(?1))", [appended])
        .unwrap();
    let counted = vfs.counters().since(&before);
    assert!(counted.temporary_bytes <= 65_536, "{counted:?}");
    assert!(counted.pages_in_place > 100, "{counted:?}");
    assert!(counted.redo_bytes < 50_000, "{counted:?}");
    let sum = "SELECT sum(length(v)) FROM t";
    assert_eq!(number(&db, sum), 600_000 + appended);
    let crashed = crash(&path);
    drop(db);
    for path in [crashed, path] {
        let db = connect(&path);
        integrity(&db);
        assert_eq!(number(&db, sum), 600_000 + appended);
    }
}

#[test]
fn an_idle_database_is_an_ordinary_one_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        idle: None,
        ..Options::default()
    };
    let vfs = etui_vfs::register("etui-settled", options).unwrap();
    let path = dir.path().join("db");
    let connect = || {
        let flags = OpenFlags::default();
        Connection::open_with_flags_and_vfs(&path, flags, vfs.name()).unwrap()
    };
    let db = connect();
    let other = connect();
    db.execute_batch(
        "PRAGMA auto_vacuum = 1; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE t(k INTEGER PRIMARY KEY, v)",
    )
    .unwrap();
    for round in 0..20 {
        for n in 0..10 {
            let db = if n % 2 == 0 { &db } else { &other };
            db.execute(
                "INSERT INTO t VALUES(?1, randomblob(2000))",
                [round * 10 + n],
            )
            .unwrap();
            db.execute("DELETE FROM t WHERE k < ?1 - 40", [round * 10 + n])
                .unwrap();
        }
        // A reader is active: the database stays as it is.
        other.execute_batch("BEGIN").unwrap();
        let count = number(&other, "SELECT count(*) FROM t");
        if round % 2 == 0 {
            vfs.checkpoint_idle();
            assert!(versions(&path).0 > 2);
            db.execute("UPDATE t SET v = 1 WHERE k % 7 = 0", [])
                .unwrap();
        }
        assert_eq!(number(&other, "SELECT count(*) FROM t"), count);
        other.execute_batch("COMMIT").unwrap();
        vfs.checkpoint_idle();
        assert_eq!(versions(&path), (2, 2));
        let copy = dir.path().join(format!("copy{round}"));
        std::fs::copy(&path, &copy).unwrap();
        let plain = plain(&copy);
        integrity(&plain);
        let sum = "SELECT sum(k) + count(*) FROM t";
        assert_eq!(number(&plain, sum), number(&db, sum));
        if round % 3 == 0 {
            db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        }
    }
    db.execute("INSERT INTO t VALUES(1000, 1)", []).unwrap();
    let crashed = crash(&path);
    let expected = number(&other, "SELECT sum(k) FROM t");
    drop((db, other));
    let again = open(&crashed);
    integrity(&again);
    assert_eq!(number(&again, "SELECT sum(k) FROM t"), expected);
    drop(again);
    integrity(&plain(&path));
}

#[test]
fn a_thread_settles_what_is_idle() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        idle: Some(Duration::from_millis(20)),
        ..Options::default()
    };
    let vfs = etui_vfs::register("etui-idle", options).unwrap();
    let path = dir.path().join("db");
    let flags = OpenFlags::default();
    let db = Connection::open_with_flags_and_vfs(&path, flags, vfs.name()).unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(k)")
        .unwrap();
    for k in 0..50 {
        // Without a busy timeout: a statement waits for an idle checkpoint.
        db.execute("INSERT INTO t VALUES(?1)", [k]).unwrap();
        std::thread::sleep(Duration::from_millis(k as u64 % 30));
    }
    wait_until("an ordinary file", || versions(&path).0 <= 2);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 50);
}

#[test]
fn little_memory_is_enough_for_many_commits() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        wal_memory: 128 << 10,
        idle: None,
        ..Options::default()
    };
    let vfs = etui_vfs::register("etui-folded", options).unwrap();
    let path = dir.path().join("db");
    let connect = || {
        let flags = OpenFlags::default();
        let db = Connection::open_with_flags_and_vfs(&path, flags, vfs.name()).unwrap();
        db.execute_batch("PRAGMA cache_size = 5; PRAGMA wal_autocheckpoint = 0")
            .unwrap();
        db
    };
    let db = connect();
    mode(&db, "WAL");
    db.execute_batch(
        "CREATE TABLE t(k INTEGER PRIMARY KEY, n INTEGER, v BLOB);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
         INSERT INTO t SELECT i, 0, randomblob(400) FROM n;
         PRAGMA wal_checkpoint(RESTART)",
    )
    .unwrap();
    let (reader, checker) = (connect(), connect());
    let mut expected = 0;
    let mut random = 88_172_645_463_325_252_u64;
    for round in 0..40_u64 {
        reader.execute_batch("BEGIN").unwrap();
        let sum = "SELECT sum(n) FROM t";
        assert_eq!(number(&reader, sum), expected);
        let held = expected;
        for _ in 0..30 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let (k, n) = (random % 1900 + 1, random % 100);
            db.execute("UPDATE t SET n = n + ?2 WHERE k = ?1", [k as i64, n as i64])
                .unwrap();
            expected += n as i64;
        }
        assert_eq!(number(&reader, sum), held);
        assert_eq!(number(&checker, sum), expected);
        if round % 3 == 0 {
            checker
                .execute_batch("PRAGMA wal_checkpoint(PASSIVE)")
                .unwrap();
            assert_eq!(number(&reader, sum), held);
        }
        if round % 7 == 0 {
            db.execute("DELETE FROM t WHERE k > 2000 - ?1", [round as i64])
                .unwrap();
            expected = number(&db, sum);
            db.execute_batch("VACUUM").unwrap();
        }
        assert_eq!(number(&reader, sum), held);
        reader.execute_batch("COMMIT").unwrap();
        integrity(&checker);
        if round % 9 == 0 {
            db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        }
    }
    assert!(vfs.counters().pages_folded > 100, "{}", vfs.counters());
    let crashed = crash(&path);
    drop((db, reader, checker));
    for path in [&crashed, &path] {
        let db = open(path);
        integrity(&db);
        assert_eq!(number(&db, "SELECT sum(n) FROM t"), expected);
    }
}

/// Clears the wal-index, like `sqlite3demo_superlock` or damage to shared memory.
fn forget_index(db: &Connection) {
    let mut file: *mut rusqlite::ffi::sqlite3_file = std::ptr::null_mut();
    let mut index = std::ptr::null_mut();
    // SAFETY: the connection is open and has its wal-index mapped; no other thread uses it.
    unsafe {
        let (main, operation) = (c"main".as_ptr(), rusqlite::ffi::SQLITE_FCNTL_FILE_POINTER);
        let to = (&raw mut file).cast();
        assert_eq!(
            rusqlite::ffi::sqlite3_file_control(db.handle(), main, operation, to),
            0
        );
        let map = (*(*file).pMethods).xShmMap.unwrap();
        assert_eq!(map(file, 0, 32_768, 0, &raw mut index), 0);
        std::ptr::write_bytes(index.cast::<u8>(), 0, 96);
    }
}

#[test]
fn an_index_that_is_lost_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = wal(&path);
    let other = open(&path);
    db.execute_batch("CREATE TABLE t(k INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1, 0)")
        .unwrap();
    for round in 1..=3 {
        // The earlier frames are released: nobody needs them.
        for n in 0..10 {
            db.execute("UPDATE t SET v = ?1 * 10 + ?2", [round, n])
                .unwrap();
        }
        forget_index(&db);
        assert_eq!(number(&other, "SELECT v FROM t"), round * 10 + 9);
        assert_eq!(number(&db, "SELECT v FROM t"), round * 10 + 9);
    }
    db.execute("UPDATE t SET v = 77", []).unwrap();
    let crashed = crash(&path);
    drop((db, other));
    for path in [&crashed, &path] {
        let db = open(path);
        integrity(&db);
        assert_eq!(number(&db, "SELECT v FROM t"), 77);
    }
}
