//! Names that belong to another database by now, and the owner and mode of the log.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use crate::common::{crash, integrity, number, open, plain, versions, wal};
use etui_vfs::{Mutation, Options, device};
use rusqlite::{Connection, OpenFlags};

/// Opens a database by a VFS that violates a rule.
fn open_broken(path: &Path, mutation: Mutation) -> Connection {
    let (name, system) = (format!("{mutation:?}"), device::system().unwrap());
    let registered = etui_vfs::register_broken(&name, Options::default(), system, Some(mutation));
    if let Err(error) = registered {
        assert!(error.to_string().contains("already"), "{error}");
    }
    let flags = OpenFlags::default();
    Connection::open_with_flags_and_vfs(path, flags, name.as_str()).unwrap()
}

/// Returns a connection whose database was renamed while it was open and ordinary, and the name.
fn renamed_while_open(dir: &Path, broken: Option<Mutation>) -> (Connection, PathBuf) {
    let path = dir.join("db");
    let db = wal(&path);
    db.execute_batch("CREATE TABLE t(v)").unwrap();
    drop(db);
    let db = match broken {
        None => open(&path),
        Some(mutation) => open_broken(&path, mutation),
    };
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 0);
    assert_eq!(versions(&path), (2, 2));
    fs::rename(&path, dir.join("renamed")).unwrap();
    (db, path)
}

fn assert_moved(committed: rusqlite::Result<usize>) {
    let code = match committed {
        Err(rusqlite::Error::SqliteFailure(error, _)) => error.extended_code,
        other => unreachable!("{other:?}"),
    };
    assert_eq!(code, libsqlite3_sys::SQLITE_READONLY_DBMOVED);
}

/// Commits to a database whose name another one took, with a hot journal. Returns the number of
/// its rows that are as a transaction left them that was not committed.
fn half_written_rows(broken: Option<Mutation>) -> (rusqlite::Result<usize>, i64) {
    let dir = tempfile::tempdir().unwrap();
    let (db, path) = renamed_while_open(dir.path(), broken);
    // A program without the VFS is killed amid a transaction, after it wrote some pages.
    let origin = dir.path().join("origin");
    let other = plain(&origin);
    other
        .execute_batch(
            "PRAGMA cache_size = 5; CREATE TABLE u(k INTEGER PRIMARY KEY, v);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
             INSERT INTO u SELECT i, printf('old %.100c', 'x') FROM n;
             BEGIN; UPDATE u SET v = printf('new %.100c', 'x')",
        )
        .unwrap();
    for suffix in ["", "-journal"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        fs::copy(name(&origin), name(&path)).unwrap();
    }
    drop(other);
    let committed = db.execute("INSERT INTO t VALUES(1)", []);
    drop(db);
    let rows = "SELECT count(*) FROM u WHERE v LIKE 'new%'";
    (committed, number(&plain(&path), rows))
}

/// The hot journal of a database that took the name is not removed.
#[test]
fn the_journal_of_another_database_is_kept() {
    let (committed, rows) = half_written_rows(None);
    assert_moved(committed);
    assert_eq!(rows, 0);
}

#[test]
fn rule_34_trust_names() {
    let (_, rows) = half_written_rows(Some(Mutation::TrustNames));
    assert!(rows > 0);
}

/// The live log of a database that took the name is not overwritten.
#[test]
fn the_log_of_another_database_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (db, path) = renamed_while_open(dir.path(), None);
    let origin = dir.path().join("origin");
    let other = wal(&origin);
    other.execute_batch("CREATE TABLE u(v)").unwrap();
    for _ in 0..20 {
        other.execute("INSERT INTO u VALUES(1)", []).unwrap();
    }
    let crashed = crash(&origin);
    for suffix in ["", "-redo"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        fs::copy(name(&crashed), name(&path)).unwrap();
    }
    let committed = db.execute("INSERT INTO t VALUES(1)", []);
    drop(db);
    let killed = open(&path);
    assert_eq!(number(&killed, "SELECT count(*) FROM u"), 20);
    integrity(&killed);
    assert_moved(committed);
}

/// A database that was deleted while it was open has no name to make a log beside.
#[test]
fn a_deleted_database_gets_no_log() {
    let dir = tempfile::tempdir().unwrap();
    let (db, path) = renamed_while_open(dir.path(), None);
    fs::remove_file(dir.path().join("renamed")).unwrap();
    fs::remove_file(dir.path().join("db-redo")).unwrap();
    assert_moved(db.execute("INSERT INTO t VALUES(1)", []));
    assert!(!path.exists() && !dir.path().join("db-redo").exists());
}

/// Commits to an ordinary database beside a live log of another one. Returns the rows of the other
/// one, with the log that was put aside.
fn rows_of_log_put_aside(broken: Option<Mutation>) -> Option<i64> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = wal(&path);
    db.execute_batch("CREATE TABLE t(v); INSERT INTO t VALUES('lives')")
        .unwrap();
    let crashed = crash(&path);
    drop(db);
    // An older copy takes the place of the database that was killed; its log stays.
    let kept = dir.path().join("kept");
    fs::rename(&crashed, &kept).unwrap();
    fs::copy(&path, &crashed).unwrap();
    let db = match broken {
        None => open(&crashed),
        Some(mutation) => open_broken(&crashed, mutation),
    };
    db.execute("INSERT INTO t VALUES('copy')", []).unwrap();
    drop(db);
    let aside: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("crashed-redo-"))
        .collect();
    let [aside] = aside.as_slice() else {
        return None;
    };
    fs::rename(aside, dir.path().join("kept-redo")).unwrap();
    let db = open(&kept);
    integrity(&db);
    Some(number(&db, "SELECT count(*) FROM t"))
}

#[test]
fn a_live_log_of_another_lineage_is_put_aside() {
    assert_eq!(rows_of_log_put_aside(None), Some(1));
}

#[test]
fn rule_35_overwrite_foreign_log() {
    let broken = Some(Mutation::OverwriteForeignLog);
    assert_eq!(rows_of_log_put_aside(broken), None);
}

/// A backup takes the name of a database that is open, with commits in its log: the log is put aside, and the
/// new one has a log of its own.
#[test]
fn a_database_that_replaced_an_open_one_gets_a_log() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let old = wal(&path);
    old.execute_batch("CREATE TABLE t(v); INSERT INTO t VALUES('old')")
        .unwrap();
    let backup = dir.path().join("backup");
    plain(&backup)
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(v)")
        .unwrap();
    fs::rename(&backup, &path).unwrap();
    let new = open(&path);
    for _ in 0..20 {
        new.execute("INSERT INTO t VALUES('new')", []).unwrap();
        old.execute("INSERT INTO t VALUES('old')", []).unwrap();
    }
    assert_eq!(number(&old, "SELECT count(*) FROM t WHERE v = 'old'"), 21);
    drop((old, new));
    let db = plain(&path);
    integrity(&db);
    assert_eq!(number(&db, "SELECT count(*) FROM t WHERE v = 'new'"), 20);
}

/// The log has the owner and the mode of its database, also if another user creates it, under another umask.
#[test]
fn the_log_has_the_owner_and_mode_of_its_database() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    plain(&path).execute_batch("CREATE TABLE t(v)").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o662)).unwrap();
    let is_root = chown(&path, Some(65_534), Some(65_534)).is_ok();
    let db = wal(&path);
    db.execute("INSERT INTO t VALUES(1)", []).unwrap();
    let (database, log) = (
        fs::metadata(&path).unwrap(),
        fs::metadata(dir.path().join("db-redo")).unwrap(),
    );
    assert_eq!(log.mode() & 0o777, 0o662);
    if is_root {
        assert_eq!((log.uid(), log.gid()), (65_534, 65_534));
        assert_eq!((database.uid(), database.gid()), (65_534, 65_534));
    }
}
