//! Children of `fork`: they keep no lock of their parent.

use std::io::{BufReader, Read};
use std::time::Duration;

use etui_vfs::{Mutation, Options};

use super::{SEED, child, open, path_of_child, wait_for};

unsafe extern "C" {
    fn fork() -> i32;
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
    etui_vfs::register_broken("etui", Options::default(), system, broken).unwrap();
    let db = open(&path).unwrap();
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
    std::thread::sleep(Duration::from_secs(60));
}

/// Kills the parent of a worker, and returns the rows that the next process reads.
fn rows_after_the_parents_death(broken: u64) -> rusqlite::Result<i64> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut program = child("forked::forks_a_worker", &path, broken);
    let mut said = BufReader::new(program.stdout.take().unwrap());
    wait_for(&mut said, "forked");
    let input = program.stdin.take();
    program.kill().unwrap();
    program.wait().unwrap();
    let db = open(&path).unwrap();
    db.busy_timeout(Duration::ZERO).unwrap();
    let rows = db.query_row("SELECT count(*) FROM t", [], |row| row.get(0));
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
