//! Logs that are damaged, or that belong to another copy of the database.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{crash, integrity, number, open, plain, versions, wal};

fn log_of(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-redo", path.display()))
}

/// The files of a database with fifty flushed commits in its log, as a killed process leaves them.
fn fifty_commits(dir: &Path) -> (Vec<u8>, Vec<u8>) {
    let path = dir.join("db");
    let db = wal(&path);
    db.execute_batch("CREATE TABLE t(v)").unwrap();
    drop(db);
    let db = open(&path);
    db.execute_batch("PRAGMA synchronous = FULL").unwrap();
    for n in 0..50 {
        db.execute("INSERT INTO t VALUES(?1)", [n]).unwrap();
    }
    let crashed = crash(&path);
    (
        fs::read(&crashed).unwrap(),
        fs::read(log_of(&crashed)).unwrap(),
    )
}

const BLOCK: usize = 4096;
const RECORDS: usize = 2 * BLOCK;

/// Each record of a small commit has one block. A later record proves that an earlier one was
/// flushed, so damage of it is no torn write of a power failure.
#[test]
fn a_log_damaged_among_flushed_records_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (database, log) = fifty_commits(dir.path());
    for (record, byte) in [
        (0, 0),
        (0, 40),
        (0, 80),
        (1, 20),
        (24, 70),
        (47, 64),
        (48, 64),
    ] {
        let path = dir.path().join("damaged");
        let mut damaged = log.clone();
        damaged[RECORDS + record * BLOCK + byte] ^= 1;
        fs::write(&path, &database).unwrap();
        fs::write(log_of(&path), &damaged).unwrap();
        let opened = rusqlite::Connection::open_with_flags_and_vfs(
            &path,
            rusqlite::OpenFlags::default(),
            crate::common::vfs().name(),
        );
        assert!(opened.is_err(), "record {record}, byte {byte}");
        let why = etui_vfs::last_refusal().unwrap();
        assert!(why.contains("damaged"), "{why}");
        assert!(fs::read(&path).unwrap() == database);
        assert!(fs::read(log_of(&path)).unwrap() == damaged);
    }
}

/// Damage of the last record cannot be distinguished from a commit that a power failure
/// interrupted.
#[test]
fn a_log_whose_last_record_is_damaged_loses_only_that_one() {
    let dir = tempfile::tempdir().unwrap();
    let (database, mut log) = fifty_commits(dir.path());
    log[RECORDS + 49 * BLOCK + 70] ^= 1;
    let path = dir.path().join("damaged");
    fs::write(&path, &database).unwrap();
    fs::write(log_of(&path), &log).unwrap();
    assert!(versions(&path).0 > 2);
    let db = open(&path);
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 49);
    integrity(&db);
    drop(db);
    assert_eq!(number(&plain(&path), "SELECT count(*) FROM t"), 49);
}

/// Two copies of a killed database go on separately. The log of one is not replayed over the other.
#[test]
fn the_log_of_another_copy_is_refused_after_a_recovery() {
    let dir = tempfile::tempdir().unwrap();
    let (database, log) = fifty_commits(dir.path());
    let goes_on = |name: &str, value: i64| {
        let path = dir.path().join(name);
        fs::write(&path, &database).unwrap();
        fs::write(log_of(&path), &log).unwrap();
        let db = open(&path);
        assert_eq!(number(&db, "SELECT count(*) FROM t"), 50);
        db.execute("INSERT INTO t VALUES(?1)", [value]).unwrap();
        crash(&path)
    };
    let (one, two) = (goes_on("one", 1001), goes_on("two", 1002));
    fs::copy(log_of(&one), log_of(&two)).unwrap();
    let opened = rusqlite::Connection::open_with_flags_and_vfs(
        &two,
        rusqlite::OpenFlags::default(),
        crate::common::vfs().name(),
    );
    assert!(opened.is_err(), "the log of another copy is replayed");
    let why = etui_vfs::last_refusal().unwrap();
    assert!(why.contains("another"), "{why}");
    let db = open(&one);
    assert_eq!(number(&db, "SELECT max(v) FROM t"), 1001);
}
