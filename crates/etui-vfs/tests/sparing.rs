//! SQLite's own VFS without the flushes that a new log does not need: which it spares, which it
//! must not, and what a power cut leaves before the one flush that is left.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use etui_testkit::rng::SplitMix64;
use etui_vfs::{Spared, spared, sparing};
use rusqlite::{Connection, OpenFlags};

/// What is spared is counted for the whole process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn directory() -> (tempfile::TempDir, PathBuf) {
    // Not in memory: there a file's birth and its first change may well be told alike, but it is
    // no place where a flush is needed.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = dir.path().join("some.db");
    (dir, path)
}

fn open(path: &Path, keep_log: bool) -> Connection {
    let name = sparing(keep_log).unwrap();
    let conn = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), name).unwrap();
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 100000",
    )
    .unwrap();
    conn
}

/// A database with so many rows.
fn made(path: &Path, rows: i64) {
    let conn = Connection::open(path).unwrap();
    conn.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER, filler BLOB)")
        .unwrap();
    for n in 0..rows {
        save(&conn, n);
    }
    conn.close().unwrap();
}

fn save(conn: &Connection, n: i64) {
    conn.execute("INSERT INTO t VALUES (?1, randomblob(1500))", [n])
        .unwrap();
}

fn rows(conn: &Connection) -> i64 {
    conn.query_row("SELECT count(*) FROM t", [], |r| r.get(0))
        .unwrap()
}

fn since(before: Spared) -> (u64, u64) {
    let now = spared();
    (now.headers - before.headers, now.names - before.names)
}

fn wal(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-wal", path.display()))
}

fn beside(path: &Path) -> Vec<String> {
    let listed = fs::read_dir(path.parent().unwrap()).unwrap();
    let names = listed.map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_new_log_has_its_header_flushed_with_its_frames_and_is_gone_at_rest() {
    let _alone = alone();
    let (_dir, path) = directory();
    made(&path, 1);
    for session in 1..4 {
        let before = spared();
        let conn = open(&path, false);
        save(&conn, session);
        save(&conn, session);
        assert_eq!(since(before), (1, 0));
        // Others see it, by their own VFS.
        assert_eq!(rows(&Connection::open(&path).unwrap()), 1 + 2 * session);
        conn.close().unwrap();
        assert_eq!(beside(&path), ["some.db"]);
    }
}

#[test]
fn a_log_that_is_begun_anew_over_an_old_one_has_its_header_flushed() {
    let _alone = alone();
    let (_dir, path) = directory();
    made(&path, 1);
    let conn = open(&path, false);
    let before = spared();
    for n in 0..20 {
        save(&conn, n);
        let checkpoint = "PRAGMA wal_checkpoint(RESTART)";
        conn.query_row(checkpoint, [], |_| Ok(())).unwrap();
    }
    assert_eq!(since(before), (1, 0), "the first alone is over nothing");
}

#[test]
fn a_log_that_was_cut_has_its_header_flushed_unless_the_cut_was() {
    let _alone = alone();
    let (_dir, path) = directory();
    made(&path, 1);
    let cut = |conn: &Connection| {
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .unwrap();
        assert_eq!(fs::metadata(wal(&path)).unwrap().len(), 0);
    };
    let conn = open(&path, false);
    save(&conn, 1);
    cut(&conn);
    let before = spared();
    save(&conn, 2);
    assert_eq!(since(before), (0, 0), "the disk may have the old log still");
    conn.close().unwrap();

    let keeping = open(&path, true);
    save(&keeping, 3);
    cut(&keeping);
    let before = spared();
    save(&keeping, 4);
    assert_eq!(since(before), (1, 0), "it was flushed and marked");
    keeping.close().unwrap();

    // Another program cuts the log as well, but does not flush that. The clock must have ticked
    // since the log was made.
    std::thread::sleep(std::time::Duration::from_millis(30));
    let conn = Connection::open(&path).unwrap();
    save(&conn, 5);
    cut(&conn);
    let before = spared();
    let sparing = open(&path, true);
    save(&sparing, 6);
    assert_eq!(since(before), (0, 0));
    assert_eq!(rows(&sparing), 7);
}

#[test]
fn a_kept_log_rests_empty_and_needs_no_flush_of_its_name() {
    let _alone = alone();
    let (_dir, path) = directory();
    made(&path, 1);
    for session in 0..4 {
        let before = spared();
        let conn = open(&path, true);
        save(&conn, session);
        assert_eq!(since(before), (1, u64::from(session > 0)));
        conn.close().unwrap();
        assert_eq!(beside(&path), ["some.db", "some.db-wal"]);
        assert_eq!(fs::metadata(wal(&path)).unwrap().len(), 0);
    }
    // A session that only reads leaves it as it is.
    let conn = open(&path, true);
    assert_eq!(rows(&conn), 5);
    conn.close().unwrap();
    let before = spared();
    let conn = open(&path, true);
    save(&conn, 9);
    assert_eq!(since(before), (1, 1));
    // Two at once: the second opens a log that is written to.
    let other = open(&path, true);
    save(&other, 10);
    assert_eq!(since(before), (1, 1));
    other.close().unwrap();
    assert_eq!(beside(&path), ["some.db", "some.db-shm", "some.db-wal"]);
    conn.close().unwrap();
    // Who does not keep it removes it.
    let conn = Connection::open(&path).unwrap();
    assert_eq!(rows(&conn), 7);
    conn.close().unwrap();
    assert_eq!(beside(&path), ["some.db"]);
}

#[test]
fn a_log_with_the_mark_of_another_place_is_an_ordinary_one() {
    let _alone = alone();
    let (dir, path) = directory();
    made(&path, 1);
    let conn = open(&path, true);
    save(&conn, 1);
    conn.close().unwrap();
    let times = |log: &Path| {
        let found = fs::metadata(log).unwrap();
        (found.mtime(), found.mtime_nsec())
    };
    let marked = times(&wal(&path));

    // Moved: nobody flushed its new name.
    let elsewhere = dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let moved = elsewhere.join("some.db");
    fs::rename(&path, &moved).unwrap();
    fs::rename(wal(&path), wal(&moved)).unwrap();
    assert_eq!(times(&wal(&moved)), marked);
    let before = spared();
    let conn = open(&moved, true);
    save(&conn, 2);
    assert_eq!(since(before), (0, 0));
    conn.close().unwrap();

    // Copied with its times.
    let renamed = elsewhere.join("copy.db");
    fs::copy(&moved, &renamed).unwrap();
    fs::copy(wal(&moved), wal(&renamed)).unwrap();
    let (time, log) = (
        fs::metadata(wal(&moved)).unwrap().modified().unwrap(),
        fs::File::options().write(true).open(wal(&renamed)).unwrap(),
    );
    log.set_modified(time).unwrap();
    let before = spared();
    let conn = open(&renamed, true);
    save(&conn, 3);
    assert_eq!(since(before), (0, 0));
    assert_eq!(rows(&conn), 4);

    // Without the log it is complete as well.
    fs::remove_file(wal(&moved)).unwrap();
    assert_eq!(rows(&Connection::open(&moved).unwrap()), 3);
}

#[test]
fn a_log_that_a_killed_program_left_is_read() {
    let _alone = alone();
    let (dir, path) = directory();
    made(&path, 1);
    for keep_log in [false, true] {
        let conn = open(&path, keep_log);
        save(&conn, 1);
        let left = dir.path().join(format!("left-{keep_log}.db"));
        fs::copy(&path, &left).unwrap();
        fs::copy(wal(&path), wal(&left)).unwrap();
        let before = rows(&conn);
        let conn = open(&left, keep_log);
        assert_eq!(rows(&conn), before);
        let spares = spared();
        save(&conn, 2);
        assert_eq!(since(spares), (0, 0), "it goes on, or over what was there");
    }
}

/// What the flush is for that is not spared: parts of a new log over an old one, which was brought
/// to the database, take pages back to what they were.
#[test]
fn a_power_cut_amid_two_logs_would_do_harm() {
    let _alone = alone();
    let mut rng = SplitMix64::new(8);
    let (dir, path) = directory();
    made(&path, 40);
    let conn = open(&path, false);
    for _ in 0..4 {
        for row in 1..=40 {
            let sql = "UPDATE t SET n = n + 1 WHERE rowid = ?1";
            conn.execute(sql, [row]).unwrap();
        }
    }
    conn.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()))
        .unwrap();
    let (resting, old) = (fs::read(&path).unwrap(), fs::read(wal(&path)).unwrap());
    let before = spared();
    conn.execute("UPDATE t SET n = n + 1", []).unwrap();
    assert_eq!(since(before), (0, 0));
    let new = fs::read(wal(&path)).unwrap();
    let frame = 24 + 4096;
    let image = dir.path().join("image.db");
    let was: i64 = (0..40).sum::<i64>() + 4 * 40;
    let mut harmed = 0;
    for _ in 0..100 {
        let mut left = old.clone();
        for at in 0..(new.len() - 32) / frame {
            if rng.chance(100) {
                let range = 32 + at * frame..32 + (at + 1) * frame;
                left[range.clone()].copy_from_slice(&new[range]);
            }
        }
        fs::write(&image, &resting).unwrap();
        fs::write(wal(&image), &left).unwrap();
        let conn = Connection::open(&image).unwrap();
        let sum: Option<i64> = conn
            .query_row("SELECT sum(n) FROM t", [], |r| r.get(0))
            .ok();
        harmed += u32::from(sum.is_none_or(|sum| sum != was && sum != was + 40));
    }
    assert!(harmed > 10, "{harmed}");
}

/// The power is cut while the first commit of a session is about to be flushed, with all of it or
/// any part of it on the disk, in any order: the database is as it was, or has the commit.
#[test]
fn a_power_cut_before_the_one_flush_leaves_the_commit_or_none_of_it() {
    let _alone = alone();
    let mut rng = SplitMix64::new(7);
    let mut outcomes = [0; 2];
    for keep_log in [false, true] {
        let (dir, path) = directory();
        made(&path, 40);
        if keep_log {
            let conn = open(&path, true);
            save(&conn, 0);
            conn.close().unwrap();
        }
        let resting = fs::read(&path).unwrap();
        let before = spared();
        let conn = open(&path, keep_log);
        let first = rows(&conn);
        // Several pages in one commit, so that they may reach the disk in any order.
        conn.execute_batch(
            "BEGIN; UPDATE t SET n = n + 1; INSERT INTO t VALUES (-1, zeroblob(9000)); COMMIT",
        )
        .unwrap();
        assert_eq!(since(before), (1, u64::from(keep_log)));
        // All that was written so far is in the log, and there was one flush of it.
        assert_eq!(fs::read(&path).unwrap(), resting);
        let log = fs::read(wal(&path)).unwrap();
        let sector = 512;
        let image = dir.path().join("image.db");
        let sectors = log.len().div_ceil(sector);
        assert!(sectors > 100, "{sectors}");
        for round in 0..600_usize {
            // Nearly all, nearly nothing, half; the file as long as it was to be, or shorter.
            let permille = [0, 20, 500, 950, 995, 1000][round % 6];
            let mut left = vec![0; log.len()];
            for at in 0..sectors {
                if rng.chance(permille) {
                    let range = at * sector..((at + 1) * sector).min(log.len());
                    left[range.clone()].copy_from_slice(&log[range]);
                }
            }
            if rng.chance(300) {
                left.truncate(rng.below(log.len() as u32 + 1) as usize);
            }
            fs::write(&image, &resting).unwrap();
            fs::write(wal(&image), &left).unwrap();
            let conn = Connection::open(&image).unwrap();
            let check: String = conn
                .query_row("PRAGMA integrity_check", [], |r| r.get(0))
                .unwrap();
            assert_eq!(check, "ok");
            let seen = rows(&conn);
            let sum: i64 = conn
                .query_row("SELECT sum(n) FROM t WHERE n >= 0", [], |r| r.get(0))
                .unwrap();
            let has_it = seen == first + 1;
            assert!(has_it || seen == first, "{seen}");
            let was: i64 = (0..40).sum();
            assert_eq!(sum, was + if has_it { first } else { 0 });
            if left == log {
                assert!(has_it);
            }
            outcomes[usize::from(has_it)] += 1;
            conn.close().unwrap();
        }
    }
    assert!(outcomes.iter().all(|&n| n > 100), "{outcomes:?}");
}
