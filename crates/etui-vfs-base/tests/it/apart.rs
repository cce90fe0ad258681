//! Programs that are apart from each other: in containers, with limits of their own, and stopped.

use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command};

use etui_testkit::own_process::in_own_process;
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{
    check, child, child_under, insert, made, number, of_child, open, plain, rows, shell, wait_for,
};

/// Commits rows until its standard input ends, and prints how many.
#[test]
#[ignore = "run by other tests"]
fn commits_until_it_is_told() {
    let Some((path, seed)) = of_child() else {
        return;
    };
    let told = std::thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let mut saved = 0;
    while !told.is_finished() || saved < 20 {
        let db = match (seed + saved) % 4 {
            0 => plain(&path),
            _ => open(&path),
        };
        assert!(insert(&db, "child"));
        saved += 1;
        if saved == 20 {
            println!("begun");
        }
    }
    println!("saved {saved}");
}

/// Ends such a program. Returns the number of its rows.
fn told(program: &mut Child, said: &mut impl std::io::BufRead) -> i64 {
    drop(program.stdin.take());
    let saved = wait_for(said, "saved ");
    assert!(program.wait().unwrap().success());
    saved.strip_prefix("saved ").unwrap().parse().unwrap()
}

/// Programs that do not see each other's processes, users, mounts or networks share a database: nobody
/// waits for a lock that its holder has released, and nothing is lost.
#[test]
fn programs_in_containers_share_a_database() {
    // It starts many processes.
    if !in_own_process(programs_in_containers_share_a_database) {
        return;
    }
    let containers: [&[&str]; 6] = [
        &[],
        &["unshare", "--fork", "--pid"],
        &["unshare", "--fork", "--pid", "--user", "--map-root-user"],
        &["unshare", "--mount", "--ipc"],
        &["unshare", "--fork", "--pid", "--mount-proc", "--net"],
        &["unshare", "--user"],
    ];
    let dir = tempfile::tempdir().unwrap();
    // Users without a name here may write, too.
    let path = dir.path().join("db");
    let db = made(&path);
    assert!(
        Command::new("chmod")
            .args(["-R", "a+rwX"])
            .arg(dir.path())
            .status()
            .unwrap()
            .success()
    );
    let mut programs = Vec::new();
    for (seed, container) in (0..).zip(containers) {
        if let [starter, options @ ..] = container
            && !Command::new(starter)
                .args(options)
                .arg("true")
                .status()
                .unwrap()
                .success()
        {
            println!("skipped: {container:?}");
            continue;
        }
        let mut program = child_under(container, commits_until_it_is_told, &path, seed);
        let mut said = BufReader::new(program.stdout.take().unwrap());
        wait_for(&mut said, "begun");
        programs.push((program, said));
        // Beside all before it.
        assert!(insert(&db, "own"));
    }
    assert!(!programs.is_empty());
    // An idle connection keeps nobody out, whoever can see its process.
    let begun = rows(&db);
    let saved: i64 = programs
        .iter_mut()
        .map(|(program, said)| told(program, said))
        .sum();
    assert!(begun > 20);
    assert_eq!(
        number(&db, "SELECT count(*) FROM t WHERE v = 'child'"),
        saved
    );
    drop(db);
    check(&plain(&path));
}

/// Commits until it meets its limit, and says so; goes on when a checkpoint has made room.
#[test]
#[ignore = "run by other tests"]
fn commits_up_to_a_limit() {
    let Some((path, _)) = of_child() else {
        return;
    };
    let db = open(&path);
    db.execute_batch("PRAGMA wal_autocheckpoint = 0").unwrap();
    let mut saved = 0;
    let refused = loop {
        match db.execute("INSERT INTO t(v) VALUES(randomblob(3000))", []) {
            Ok(_) => saved += 1,
            Err(error) => break error,
        }
    };
    println!("refused {saved} {refused}");
    assert_eq!(rows(&db), saved);
    // The WAL restarts.
    db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    assert!(insert(&db, "after"));
    println!("went on {}", rows(&db));
}

/// A limit of the size of files refuses a commit, which can be made again; others are not affected.
#[test]
fn a_limit_of_sizes_takes_nothing_back() {
    if !in_own_process(a_limit_of_sizes_takes_nothing_back) {
        return;
    }
    // In units of 512 bytes, as POSIX's ulimit has them.
    for blocks in [700, 1_100, 2_100, 3_100, 4_100] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let other = made(&path);
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let starter = ["sh", "-c", &limited, "sh"];
        let mut program = child_under(&starter, commits_up_to_a_limit, &path, 0);
        let mut said = BufReader::new(program.stdout.take().unwrap());
        let refused = wait_for(&mut said, "refused ");
        let saved: i64 = refused.split(' ').nth(1).unwrap().parse().unwrap();
        assert!(
            saved > 20 && (refused.ends_with("I/O error") || refused.ends_with("full")),
            "{refused}"
        );
        let went_on = wait_for(&mut said, "went on ");
        assert_eq!(went_on, format!("went on {}", saved + 1));
        assert!(program.wait().unwrap().success());
        assert!(insert(&other, "other"));
        assert_eq!(rows(&other), saved + 2);
        check(&other);
    }
}

/// Uses the database as its seed selects, prints that it has, and sleeps.
#[test]
#[ignore = "run by other tests"]
fn uses_it_and_sleeps() {
    let Some((path, seed)) = of_child() else {
        return;
    };
    let db = open(&path);
    let work = match seed {
        // It has the file open, and no lock.
        0 => "SELECT count(*) FROM t",
        1 => "BEGIN; SELECT count(*) FROM t",
        2 => "BEGIN IMMEDIATE; INSERT INTO t(v) VALUES('stopped')",
        // A part of it is in the WAL.
        3 => {
            "PRAGMA cache_size = 5; BEGIN;
             WITH n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 500)
             INSERT INTO t(v) SELECT randomblob(3000) FROM n"
        }
        _ => "PRAGMA wal_autocheckpoint = 0; INSERT INTO t(v) VALUES('stopped')",
    };
    db.execute_batch(work).unwrap();
    let _kept = (seed < 4).then_some(db);
    println!("done");
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read(&mut [0]);
}

/// Reads without waiting for anybody.
fn reads_at_once(db: &Connection) -> i64 {
    db.busy_timeout(std::time::Duration::ZERO).unwrap();
    rows(db)
}

/// Whatever a stopped program was doing, others read at once, and write unless it is writing.
#[test]
fn a_stopped_program_keeps_no_reader_out() {
    if !in_own_process(a_stopped_program_keeps_no_reader_out) {
        return;
    }
    for seed in 0..5 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let db = made(&path);
        assert!(insert(&db, "own"));
        let stopped = stop_at(&path, seed);
        let had = 1 + i64::from(seed == 4);
        for reader in [&db, &open(&path), &plain(&path)] {
            assert_eq!(reads_at_once(reader), had, "{seed}");
        }
        let (said, is_ok) = shell(&path, 0, "SELECT count(*) FROM t");
        assert!(is_ok && said == had.to_string(), "{seed}: {said}");
        let is_writing = seed == 2 || seed == 3;
        db.busy_timeout(std::time::Duration::from_millis(1))
            .unwrap();
        assert_eq!(insert(&db, "own"), !is_writing, "{seed}");
        let mut stopped = stopped;
        stopped.kill().unwrap();
        stopped.wait().unwrap();
        // Its locks are gone with it.
        assert!(insert(&db, "own"));
        assert_eq!(reads_at_once(&db), had + 1 + i64::from(!is_writing));
        check(&db);
    }
}

fn stop_at(path: &Path, seed: u64) -> Child {
    let mut program = child(uses_it_and_sleeps, path, seed);
    let mut said = BufReader::new(program.stdout.take().unwrap());
    wait_for(&mut said, "done");
    kill_process(Pid::from_child(&program), Signal::STOP).unwrap();
    program
}
