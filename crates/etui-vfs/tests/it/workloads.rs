//! Random transactions through each VFS, with each mitigation, compared with SQLite's own VFS: equal
//! contents and a sound file in each journal mode.

use std::path::Path;

use etui_lab_io::instrumented::{InstrumentedOptions, InstrumentedVfs, SyncCall};
use etui_vfs::Options;
use rusqlite::{Connection, OpenFlags, params};

/// A registered VFS under test.
struct Variant {
    name: String,
    /// Connections of `unix` in this process may use the database at the same time.
    shares_with_unix: bool,
}

/// Registers the VFSes under test, each by a name of its own.
fn register_variants(test: &str) -> Vec<Variant> {
    let mut variants = Vec::new();
    let mut add = |name: String, shares_with_unix| {
        variants.push(Variant {
            name,
            shares_with_unix,
        });
    };
    for (what, sync) in [("counted", SyncCall::Fdatasync), ("fsync", SyncCall::Fsync)] {
        let options = InstrumentedOptions {
            log: true,
            sync,
            ..InstrumentedOptions::default()
        };
        let name = format!("{test}-{what}");
        InstrumentedVfs::register(&name, options).unwrap();
        add(name, true);
    }
    let none = Options {
        idle: None,
        ..Options::default()
    };
    for (what, options) in [
        ("etui", none),
        (
            "growth",
            Options {
                database_step: 256 << 10,
                ..none
            },
        ),
        (
            "write-back-small",
            Options {
                write_back: 10_000,
                ..none
            },
        ),
        (
            "write-back",
            Options {
                write_back: 1 << 20,
                ..none
            },
        ),
        (
            "read-ahead",
            Options {
                read_buffer: 64 << 10,
                ..none
            },
        ),
        (
            "read-ahead-tiny",
            Options {
                read_buffer: 1,
                ..none
            },
        ),
        (
            "all",
            Options {
                database_step: 256 << 10,
                write_back: 100_000,
                read_buffer: 64 << 10,
                journal_rests: true,
                ..none
            },
        ),
    ] {
        let name = format!("{test}-{what}");
        etui_vfs::register(&name, options).unwrap();
        add(name, false);
    }
    variants
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn open(path: &Path, vfs: Option<&str>) -> Connection {
    let flags = OpenFlags::default();
    let db = match vfs {
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs).unwrap(),
        None => Connection::open_with_flags(path, flags).unwrap(),
    };
    db.pragma_update(None, "cache_size", 5).unwrap();
    db
}

fn one(db: &Connection, random: &mut Random) {
    let key = random.below(300) as i64;
    match random.below(10) {
        0 => db.execute("DELETE FROM t WHERE k BETWEEN ?1 AND ?1 + 5", [key]),
        1 | 2 => db.execute(
            "UPDATE t SET v = zeroblob(?2) WHERE k = ?1",
            params![key, random.below(9_000) as i64],
        ),
        _ => {
            let data: Vec<u8> = (0..random.below(6_000))
                .map(|n| (n * 7 + key as u64) as u8)
                .collect();
            db.execute(
                "INSERT OR REPLACE INTO t VALUES(?1, ?2)",
                params![key, data],
            )
        }
    }
    .unwrap();
}

fn work(db: &Connection, steps: u32, random: &mut Random) {
    for _ in 0..steps {
        db.execute_batch("BEGIN IMMEDIATE").unwrap();
        for _ in 0..random.below(20) {
            one(db, random);
        }
        if random.below(3) == 0 {
            db.execute_batch("SAVEPOINT s").unwrap();
            for _ in 0..random.below(20) {
                one(db, random);
            }
            let end = if random.below(2) == 0 {
                "ROLLBACK TO s; RELEASE s"
            } else {
                "RELEASE s"
            };
            db.execute_batch(end).unwrap();
        }
        let end = if random.below(4) == 0 {
            "ROLLBACK"
        } else {
            "COMMIT"
        };
        db.execute_batch(end).unwrap();
        if random.below(25) == 0 {
            db.execute_batch("VACUUM").unwrap();
        }
    }
}

fn content(db: &Connection) -> Vec<(i64, Vec<u8>)> {
    let mut rows = db.prepare("SELECT k, v FROM t ORDER BY k").unwrap();
    let rows = rows
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    rows.map(Result::unwrap).collect()
}

fn sound(db: &Connection) {
    let answer: String = db
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(answer, "ok");
}

#[test]
fn all_journal_modes_match_stock_sqlite() {
    for variant in register_variants("work") {
        let vfs = &variant.name;
        for (n, mode) in ["DELETE", "TRUNCATE", "PERSIST", "WAL"].iter().enumerate() {
            for (synchronous, page_size) in [("FULL", 4096), ("OFF", 1024)] {
                let dir = tempfile::tempdir().unwrap();
                let (ours, theirs) = (dir.path().join("ours"), dir.path().join("theirs"));
                let mut contents = Vec::new();
                for (path, tested) in [(&ours, Some(vfs.as_str())), (&theirs, None)] {
                    let db = open(path, tested);
                    db.execute_batch(&format!(
                        "PRAGMA page_size = {page_size}; PRAGMA journal_mode = {mode};
                         PRAGMA journal_size_limit = 20000; PRAGMA synchronous = {synchronous};
                         CREATE TABLE t(k INTEGER PRIMARY KEY, v BLOB)"
                    ))
                    .unwrap();
                    let mut random = Random(n as u64 + page_size);
                    work(&db, if synchronous == "OFF" { 40 } else { 8 }, &mut random);
                    // Another connection, through the stock VFS where it may, reads the commits.
                    let other = open(path, tested.filter(|_| !variant.shares_with_unix));
                    assert_eq!(content(&other), content(&db), "{vfs} {mode} {synchronous}");
                    other
                        .execute("INSERT INTO t VALUES(1000, x'01')", [])
                        .unwrap();
                    assert!(content(&db).iter().any(|(k, _)| *k == 1000));
                    work(&db, 5, &mut random);
                    sound(&db);
                    contents.push(content(&db));
                }
                assert!(!contents[0].is_empty());
                assert!(contents[0] == contents[1], "{vfs} {mode} {synchronous}");
                let reopened = open(&ours, None);
                sound(&reopened);
                assert!(content(&reopened) == contents[0], "{vfs} {mode} reopened");
            }
        }
    }
}

#[test]
fn two_connections_take_turns() {
    for variant in register_variants("turns") {
        let vfs = &variant.name;
        for mode in ["DELETE", "PERSIST", "WAL"] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("db");
            let first = open(&path, Some(vfs));
            first
                .execute_batch(&format!(
                    "PRAGMA journal_mode = {mode}; CREATE TABLE t(k INTEGER PRIMARY KEY, v BLOB)"
                ))
                .unwrap();
            let second = open(&path, Some(vfs));
            second
                .pragma_update(None, "wal_autocheckpoint", 10)
                .unwrap();
            let mut random = Random(5);
            for _ in 0..6 {
                work(&first, 2, &mut random);
                let seen = content(&second);
                assert!(seen == content(&first), "{vfs} {mode}");
                work(&second, 2, &mut random);
                assert!(content(&first) == content(&second), "{vfs} {mode}");
            }
            if mode == "WAL" {
                // A reader keeps its snapshot while the other writes and checkpoints.
                first.execute_batch("BEGIN").unwrap();
                let before = content(&first);
                work_without_vacuum(&second, &mut random);
                second
                    .execute_batch("PRAGMA wal_checkpoint(PASSIVE)")
                    .unwrap();
                assert!(content(&first) == before, "{vfs}: the reader's view");
                first.execute_batch("COMMIT").unwrap();
                assert!(content(&first) == content(&second));
            }
            sound(&first);
        }
    }
}

fn work_without_vacuum(db: &Connection, random: &mut Random) {
    for _ in 0..50 {
        one(db, random);
    }
}

#[test]
fn hot_journal_is_rolled_back() {
    for variant in register_variants("hot") {
        let vfs = &variant.name;
        for mode in ["DELETE", "PERSIST"] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("db");
            let db = open(&path, Some(vfs));
            db.execute_batch(&format!(
                "PRAGMA journal_mode = {mode}; CREATE TABLE t(k INTEGER PRIMARY KEY, v BLOB)"
            ))
            .unwrap();
            work(&db, 10, &mut Random(3));
            let before = content(&db);
            db.execute_batch("BEGIN IMMEDIATE").unwrap();
            // Five pages of cache spill, so the database is being written.
            for k in 0..200 {
                db.execute("INSERT OR REPLACE INTO t VALUES(?1, randomblob(3000))", [k])
                    .unwrap();
            }
            // Both files as after a crash.
            let crashed = dir.path().join("crashed");
            std::fs::copy(&path, &crashed).unwrap();
            std::fs::copy(
                dir.path().join("db-journal"),
                dir.path().join("crashed-journal"),
            )
            .unwrap();
            let after = open(&crashed, Some(vfs));
            sound(&after);
            assert!(content(&after) == before, "{vfs} {mode}");
            drop(after);
            db.execute_batch("COMMIT").unwrap();
            sound(&db);
        }
    }
}
