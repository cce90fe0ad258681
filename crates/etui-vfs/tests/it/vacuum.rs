//! VACUUM of a large database takes no more memory than that of a small one.

use std::time::{Duration, Instant};

use etui_testkit::own_process::in_own_process;
use etui_vfs::Options;
use rusqlite::{Connection, OpenFlags};

/// Returns a number of bytes from the process's status.
fn told(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(what)).unwrap();
    let kilobytes: u64 = line
        .split_ascii_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    kilobytes << 10
}

fn number(db: &Connection, sql: &str) -> u64 {
    let number: i64 = db.query_row(sql, [], |row| row.get(0)).unwrap();
    number.try_into().unwrap()
}

/// 16 MB; 1 GB with `ETUI_TEST_LONG=1`, which takes 4 GB of disk for a while.
#[test]
fn vacuum_stays_within_the_memory_that_the_wal_may_take() {
    // The memory of the process is measured.
    if !in_own_process(vacuum_stays_within_the_memory_that_the_wal_may_take) {
        return;
    }
    let long = std::env::var_os("ETUI_TEST_LONG").is_some();
    let rows: u64 = if long { 1_000_000 } else { 16_000 };
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = dir.path().join("db");
    let options = Options::default();
    etui_vfs::register("vacuum", options).unwrap();
    let db = Connection::open_with_flags_and_vfs(&path, OpenFlags::default(), "vacuum").unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = FILE;
         CREATE TABLE t(n INTEGER PRIMARY KEY, x)",
    )
    .unwrap();
    let batch = 8_000;
    for from in (0..rows).step_by(batch) {
        db.execute_batch(&format!(
            "WITH RECURSIVE some(n) AS (VALUES({from}) UNION ALL SELECT n + 1 FROM some
               LIMIT {batch}) INSERT INTO t SELECT n, randomblob(1000) FROM some"
        ))
        .unwrap();
    }
    db.execute_batch("DELETE FROM t WHERE n % 10 = 0; PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let pages = number(&db, "PRAGMA page_count");

    // Resets the peak.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = told("VmRSS");
    let begun = Instant::now();
    db.execute_batch("VACUUM").unwrap();
    let took = begun.elapsed();
    let peak = told("VmHWM").saturating_sub(before);

    // The pages of the WAL, SQLite's caches of both databases, the log's parts; for each page its
    // position in the WAL, in SQLite's wal-index and in the record.
    let cache = 2 * (2000 << 10);
    let allowed = options.wal_memory as u64 + cache + (4 << 20) + 128 * pages;
    println!(
        "VACUUM of {} MB: at most {} kB more than before, {took:.1?}",
        pages * 4096 / 1_000_000,
        peak / 1000
    );
    assert!(peak <= allowed, "{peak} bytes, not {allowed}");
    assert!(took < Duration::from_secs(600));
    drop(db);
    let plain = Connection::open(&path).unwrap();
    assert_eq!(number(&plain, "SELECT count(*) FROM t"), rows - rows / 10);
}
