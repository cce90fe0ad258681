//! Children of `fork`: they keep no lock of their parent, and have an idle thread of their own.

use std::io::{BufReader, Read};
use std::time::Duration;

use etui_testkit::wait::wait_until;
use etui_vfs::{Mutation, Options};
use rusqlite::{Connection, OpenFlags};

use super::{SEED, child, number, open, path_of_child, stay_until_killed, wait_for};

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

/// Commits, then forks a worker that lives as long as its input is open.
#[test]
#[ignore = "run by other tests"]
fn forks_a_worker() {
    let Some(path) = path_of_child() else { return };
    let broken = match std::env::var(SEED).as_deref() {
        Ok("0") => None,
        _ => Some(Mutation::ForkKeepsLocks),
    };
    let system = etui_vfs::device::system().unwrap();
    let vfs = "etui-forked";
    etui_vfs::register_broken(vfs, Options::default(), system, broken).unwrap();
    let db = Connection::open_with_flags_and_vfs(&path, OpenFlags::default(), vfs).unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(v); INSERT INTO t VALUES(1)")
        .unwrap();
    // SAFETY: the worker only reads, and exits.
    let worker = unsafe { fork() };
    if worker == 0 {
        let _ = std::io::stdin().read(&mut [0]);
        // SAFETY: it only ends the process.
        unsafe { _exit(0) };
    }
    println!("forked");
    stay_until_killed();
}

/// Kills the parent of a worker, and returns the rows that the next process reads.
fn rows_after_the_parents_death(broken: u64) -> rusqlite::Result<i64> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut program = child(forks_a_worker, &path, broken);
    let mut said = BufReader::new(program.stdout.take().unwrap());
    wait_for(&mut said, "forked");
    let input = program.stdin.take();
    program.kill().unwrap();
    program.wait().unwrap();
    let db = open(&path).unwrap();
    db.busy_timeout(Duration::ZERO).unwrap();
    let read = || db.query_row("SELECT count(*) FROM t", [], |row| row.get(0));
    if broken == 0 {
        // The worker closes what has locks when it begins to run, which may be later.
        wait_until("a worker without locks", || read().is_ok());
    }
    let rows = read();
    drop(input);
    rows
}

#[test]
fn a_worker_does_not_keep_the_locks_of_a_killed_parent() {
    let rows = rows_after_the_parents_death(0);
    assert_eq!(rows, Ok(1), "{:?}", etui_vfs::last_refusal());
}

#[test]
fn rule_32_fork_keeps_locks() {
    assert!(rows_after_the_parents_death(1).is_err());
}

/// Commits to two databases, one before a fork and one in the child, and waits in the child until
/// its own is an ordinary one.
#[test]
#[ignore = "run by other tests"]
fn forks_and_commits() {
    let Some(path) = path_of_child() else { return };
    let options = Options {
        idle: Some(Duration::from_millis(20)),
        ..Options::default()
    };
    etui_vfs::register("etui-idle", options).unwrap();
    let commit = |suffix: &str| {
        let path = path.with_extension(suffix);
        let flags = OpenFlags::default();
        let db = Connection::open_with_flags_and_vfs(&path, flags, "etui-idle").unwrap();
        db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(v); INSERT INTO t VALUES(1)")
            .unwrap();
        (db, path)
    };
    let becomes_ordinary = |path: &std::path::Path| {
        wait_until("an ordinary file", || std::fs::read(path).unwrap()[18] <= 2);
    };
    let (_parents, path) = commit("parent");
    becomes_ordinary(&path);
    // SAFETY: the child uses only a database of its own, and exits. Its parent has no other thread
    // than the idle one, which sleeps.
    let forked = unsafe { fork() };
    if forked == 0 {
        let (_childs, path) = commit("child");
        // A panic must not go on to the caller, which is the parent's.
        let waited = std::panic::catch_unwind(|| becomes_ordinary(&path));
        // SAFETY: it only ends the process.
        unsafe { _exit(i32::from(waited.is_err())) };
    }
    let mut status = 0;
    // SAFETY: it waits for the child that was just made.
    assert_eq!(unsafe { waitpid(forked, &raw mut status, 0) }, forked);
    println!("status {status}");
}

#[test]
fn a_database_of_a_child_becomes_ordinary_when_it_is_idle() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut program = child(forks_and_commits, &path, 0);
    let mut said = BufReader::new(program.stdout.take().unwrap());
    assert_eq!(wait_for(&mut said, "status"), "status 0");
    program.wait().unwrap();
    let plain = Connection::open(path.with_extension("child")).unwrap();
    assert_eq!(number(&plain, "SELECT count(*) FROM t"), 1);
}
