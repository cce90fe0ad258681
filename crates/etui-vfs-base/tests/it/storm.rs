//! Processes, some of them plain SQLite, that commit and are killed.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use etui_testkit::own_process::in_own_process;
use etui_testkit::rng::SplitMix64;
use etui_testkit::wait::wait_until;
use rusqlite::Connection;

use crate::common::{check, child, insert, made, number, of_child, open, plain, wait_for};

#[test]
#[ignore = "run by other tests"]
fn commits_for_ever() {
    let Some((path, seed)) = of_child() else {
        return;
    };
    commit_for_ever(|| open(&path), &path, seed);
}

#[test]
#[ignore = "run by other tests"]
fn commits_for_ever_without_the_vfs() {
    let Some((path, seed)) = of_child() else {
        return;
    };
    commit_for_ever(|| plain(&path), &path, seed);
}

/// Opens the database, commits for a while, closes it, and sleeps, for ever. Prints each row after it was
/// acknowledged. Readers never see less than before. Now and then the program closes a descriptor of a
/// file of the database.
fn commit_for_ever(open: impl Fn() -> Connection, path: &Path, seed: u64) {
    let mut random = SplitMix64::stream(seed, 0);
    let (mut seen, mut row) = (0, 0);
    loop {
        let db = open();
        db.execute_batch("PRAGMA wal_autocheckpoint = 30").unwrap();
        for _ in 0..random.below(60) {
            row += 1;
            let size = random.below(2000);
            let insert = format!("INSERT INTO t(v, w) VALUES(randomblob({size}), '{seed}-{row}')");
            match db.execute_batch(&insert) {
                Ok(()) => println!("committed {seed}-{row}"),
                Err(error) => println!("failed {error}"),
            }
            if row % 5 == 0
                && let Ok(rows) = db.query_row("SELECT count(*) FROM t", [], |r| r.get::<_, i64>(0))
            {
                assert!(rows >= seen, "{rows} rows after {seen}");
                seen = rows;
            }
        }
        drop(db);
        // SQLite's own VFS would lose its locks, but it has none now.
        drop(std::fs::File::open(path));
        std::thread::sleep(Duration::from_millis(u64::from(random.below(1500))));
    }
}

/// Nothing acknowledged is lost.
fn storm(processes: u64, of_plain: u64, lasts: Duration) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    drop(made(&path));
    let commits = Arc::new(AtomicI64::new(0));
    let start = |number: u64| {
        let mut program = match number % processes < of_plain {
            true => child(commits_for_ever_without_the_vfs, &path, number),
            false => child(commits_for_ever, &path, number),
        };
        let mut said = BufReader::new(program.stdout.take().unwrap());
        let commits = Arc::clone(&commits);
        let listener = std::thread::spawn(move || {
            let mut all = String::new();
            let mut begin = 0;
            while said.read_line(&mut all).is_ok_and(|read| read > 0) {
                let is_commit = all[begin..].starts_with("committed ");
                commits.fetch_add(i64::from(is_commit), Ordering::Relaxed);
                begin = all.len();
            }
            all
        });
        (program, listener)
    };
    let mut running: Vec<_> = (0..processes).map(&start).collect();
    let mut said = Vec::new();
    let (began, mut started) = (Instant::now(), processes);
    let mut random = SplitMix64::stream(7, 0);
    loop {
        std::thread::sleep(Duration::from_millis(u64::from(20 + random.below(60))));
        if began.elapsed() >= lasts {
            // On a slow machine some of them have to live longer.
            wait_until("commits", || commits.load(Ordering::Relaxed) > 200);
            break;
        }
        let at = random.below(processes as u32) as usize;
        let (mut program, listener) = running.swap_remove(at);
        program.kill().unwrap();
        program.wait().unwrap();
        said.push(listener);
        running.push(start(started));
        started += 1;
    }
    for (mut program, listener) in running {
        program.kill().unwrap();
        program.wait().unwrap();
        said.push(listener);
    }
    // At every moment plain SQLite opens the file.
    let db = plain(&path);
    check(&db);
    let (mut acknowledged, mut failed) = (0, Vec::new());
    for listener in said {
        let all = listener.join().unwrap();
        assert!(!all.contains("panicked"), "{all}");
        // The last line may be cut off.
        let whole = all.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for line in whole.lines() {
            if let Some(row) = line.strip_prefix("committed ") {
                acknowledged += 1;
                let found = number(&db, &format!("SELECT count(*) FROM t WHERE w = '{row}'"));
                assert_eq!(found, 1, "{row} is lost");
            } else if let Some(why) = line.strip_prefix("failed ") {
                failed.push(why.to_owned());
            }
        }
    }
    println!("{started} processes, {acknowledged} acknowledged");
    assert_eq!(failed, Vec::<String>::new());
    assert!(acknowledged > 100);
}

#[test]
fn nothing_acknowledged_is_lost_in_a_storm() {
    // It starts many processes.
    if !in_own_process(nothing_acknowledged_is_lost_in_a_storm) {
        return;
    }
    match std::env::var_os("ETUI_TEST_LONG").is_some() {
        true => storm(8, 3, Duration::from_secs(600)),
        false => storm(5, 2, Duration::from_secs(8)),
    }
}

/// A program commits beside another one that is killed amid its commits, and goes on. The time that it
/// waits for the dead is printed (`--nocapture`).
#[test]
fn a_survivor_goes_on_after_a_kill() {
    // It starts many processes.
    if !in_own_process(a_survivor_goes_on_after_a_kill) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = made(&path);
    db.execute_batch("PRAGMA wal_autocheckpoint = 30").unwrap();
    let rounds = match std::env::var_os("ETUI_TEST_LONG").is_some() {
        true => 200,
        false => 10,
    };
    let mut random = SplitMix64::stream(8, 0);
    let mut waited = Vec::new();
    for round in 0..rounds {
        let mut program = child(commits_for_ever, &path, round);
        let mut said = BufReader::new(program.stdout.take().unwrap());
        wait_for(&mut said, "committed");
        let end = Instant::now() + Duration::from_millis(u64::from(random.below(60)));
        while Instant::now() < end {
            assert!(insert(&db, "own"));
        }
        program.kill().unwrap();
        let killed = Instant::now();
        assert!(insert(&db, "own"));
        waited.push(killed.elapsed());
        program.wait().unwrap();
        let mut rest = String::new();
        said.read_to_string(&mut rest).unwrap();
        let whole = rest.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for row in whole
            .lines()
            .filter_map(|line| line.strip_prefix("committed "))
        {
            let found = number(&db, &format!("SELECT count(*) FROM t WHERE w = '{row}'"));
            assert_eq!(found, 1, "{row} is lost");
        }
    }
    check(&db);
    waited.sort_unstable();
    let (middle, longest) = (waited[waited.len() / 2], waited[waited.len() - 1]);
    println!("from a kill to the next commit: median {middle:?}, longest {longest:?}");
}
