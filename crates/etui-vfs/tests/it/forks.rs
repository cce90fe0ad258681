//! A child of a fork has no access to its parent's databases.

use etui_testkit::own_process::in_own_process;
use etui_vfs::Options;
use rusqlite::{Connection, OpenFlags};

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

/// Returns the violations found by the child, one bit each.
fn in_child(db: &Connection, path: &std::path::Path) -> i32 {
    let mut wrong = 0;
    if db.execute("INSERT INTO t VALUES(2)", []).is_ok() {
        wrong |= 1;
    }
    if db
        .query_row("SELECT count(*) FROM t", [], |_| Ok(()))
        .is_ok()
    {
        wrong |= 2;
    }
    // The parent has it locked, so the child's own connection is refused.
    let own = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), "etui");
    if let Ok(own) = own {
        let _ = own.busy_timeout(std::time::Duration::ZERO);
        if own.execute("INSERT INTO t VALUES(3)", []).is_ok() {
            wrong |= 4;
        }
    }
    wrong
}

#[test]
fn a_child_cannot_use_what_its_parent_opened() {
    // The child of a program with threads may do little.
    if !in_own_process(a_child_cannot_use_what_its_parent_opened) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    etui_vfs::register("etui", Options::default()).unwrap();
    let db = Connection::open_with_flags_and_vfs(&path, OpenFlags::default(), "etui").unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(k); INSERT INTO t VALUES(1)")
        .unwrap();
    // SAFETY: the child runs only `in_child` and exits.
    let child = unsafe { fork() };
    if child == 0 {
        let wrong = in_child(&db, &path);
        // SAFETY: it only ends the process.
        unsafe { _exit(wrong) };
    }
    assert!(child > 0);
    let mut status = 0;
    // SAFETY: it waits for the child that was just made.
    assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    // The parent continues, and still has its lock.
    db.execute("INSERT INTO t VALUES(4)", []).unwrap();
    let plain = Connection::open(&path).unwrap();
    plain.busy_timeout(std::time::Duration::ZERO).unwrap();
    assert!(
        plain
            .query_row("SELECT count(*) FROM t", [], |_| Ok(()))
            .is_err()
    );
    drop(plain);
    drop(db);
    let plain = Connection::open(&path).unwrap();
    let count: i64 = plain
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 2);
}
