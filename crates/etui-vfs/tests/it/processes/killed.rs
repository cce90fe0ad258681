//! A killed process loses nothing that was acknowledged, and a second process is refused.

use std::io::{BufReader, Read};
use std::time::Duration;

use etui_testkit::own_process::in_own_process;
use rusqlite::Connection;

use super::{SEED, child, number, open, path_of_child, stay_until_killed, wait_for};

/// Commits numbers in a loop, and prints each one after its commit was acknowledged.
#[test]
#[ignore = "run by other tests"]
pub fn commits_for_ever() {
    let Some(path) = path_of_child() else { return };
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let db = open(&path).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 20;
         PRAGMA cache_size = 20;
         CREATE TABLE IF NOT EXISTS t(k INTEGER PRIMARY KEY, v BLOB, w TEXT UNIQUE)",
    )
    .unwrap();
    let begin = number(&db, "SELECT coalesce(max(k), 0) FROM t");
    println!("begins {begin}");
    for k in begin + 1.. {
        let size = (k as u64).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9) >> 20 & 0x1fff;
        db.execute_batch(&format!(
            "BEGIN; INSERT INTO t VALUES({k}, randomblob({size}), 'w' || {k});
             UPDATE t SET v = randomblob(100) WHERE k = {k} - 7;
             DELETE FROM t WHERE k = {k} - 50; COMMIT"
        ))
        .unwrap();
        println!("committed {k}");
        if k % 40 == 0 {
            db.execute_batch("VACUUM").unwrap();
        }
    }
}

/// Holds the database until it is killed.
#[test]
#[ignore = "run by other tests"]
pub fn holds_it() {
    let Some(path) = path_of_child() else { return };
    let db = open(&path).unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS t(k)")
        .unwrap();
    println!("holds");
    stay_until_killed();
}

#[test]
fn nothing_acknowledged_is_lost_when_it_is_killed() {
    // It starts many processes.
    if !in_own_process(nothing_acknowledged_is_lost_when_it_is_killed) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..12 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let mut program = child(commits_for_ever, &path, random);
        let mut said = BufReader::new(program.stdout.take().unwrap());
        wait_for(&mut said, "begins");
        std::thread::sleep(Duration::from_micros(random % 150_000));
        program.kill().unwrap();
        program.wait().unwrap();
        let mut rest = String::new();
        said.read_to_string(&mut rest).unwrap();
        let last = rest
            .lines()
            .rfind(|line| line.starts_with("committed ") && rest.contains(&format!("{line}\n")))
            .and_then(|line| line["committed ".len()..].parse::<i64>().ok());

        // SQLite without the VFS refuses a database with a commit in its log.
        if last.is_some() {
            let plain = Connection::open(&path).unwrap();
            let refused = plain.query_row("SELECT count(*) FROM t", [], |_| Ok(()));
            assert!(refused.is_err(), "round {round}");
        }
        let db = open(&path).unwrap();
        let answer: String = db
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(answer, "ok", "round {round}");
        let most = number(&db, "SELECT coalesce(max(k), 0) FROM t");
        if let Some(last) = last {
            assert!(
                most == last || most == last + 1,
                "round {round}: {most}, not {last}"
            );
        }
        drop(db);
        if round % 3 == 0 {
            let plain = Connection::open(&path).unwrap();
            assert_eq!(number(&plain, "SELECT coalesce(max(k), 0) FROM t"), most);
        }
    }
}

#[test]
fn a_second_process_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut program = child(holds_it, &path, 0);
    let mut said = BufReader::new(program.stdout.take().unwrap());
    wait_for(&mut said, "holds");
    let db = open(&path).unwrap();
    db.busy_timeout(Duration::ZERO).unwrap();
    let refused = db.query_row("SELECT count(*) FROM t", [], |_| Ok(()));
    assert!(refused.unwrap_err().to_string().contains("locked"));
    let why = etui_vfs::last_refusal().unwrap();
    assert!(
        why.contains(&format!("process {} (it", program.id())) && why.ends_with("has it open"),
        "{why}"
    );
    let error = etui_vfs::recover(&path).unwrap_err().to_string();
    assert!(error.contains(&program.id().to_string()), "{error}");
    // After it was killed, the next statement works.
    program.kill().unwrap();
    program.wait().unwrap();
    assert_eq!(number(&db, "SELECT count(*) FROM t"), 0);
}
