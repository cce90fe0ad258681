//! The cost of a small commit: writes, bytes and flushes, with the VFS `etui` and with SQLite's own
//! WAL under equal work. The WAL is recycled before the measurement.
//!
//! ```text
//! cargo run -p etui-vfs --example commit_cost [DIRECTORY]
//! ```

use std::path::PathBuf;
use std::time::{Duration, Instant};

use etui_lab_io::instrumented::{FileKind, InstrumentedOptions, InstrumentedVfs};
use etui_vfs::{Counters, Options, Vfs};
use rusqlite::{Connection, OpenFlags};

const COMMITS: u32 = 500;

type Failure = Box<dyn std::error::Error>;

/// The I/O of all commits of one kind, with checkpoints counted separately.
#[derive(Default)]
struct Cost {
    writes: u64,
    bytes: u64,
    flushes: u64,
    checkpoint_bytes: u64,
    took: Duration,
}

/// A VFS with counters.
enum Counted {
    Etui(Vfs),
    Stock(InstrumentedVfs),
}

impl Counted {
    fn name(&self) -> &str {
        match self {
            Self::Etui(vfs) => vfs.name(),
            Self::Stock(vfs) => vfs.name(),
        }
    }

    fn now(&self) -> Cost {
        match self {
            Self::Etui(vfs) => {
                let Counters {
                    redo_writes,
                    redo_bytes,
                    redo_flushes,
                    database_bytes,
                    ..
                } = vfs.counters();
                Cost {
                    writes: redo_writes,
                    bytes: redo_bytes,
                    flushes: redo_flushes,
                    checkpoint_bytes: database_bytes,
                    took: Duration::ZERO,
                }
            }
            Self::Stock(vfs) => {
                let counters = vfs.counters();
                let wal = counters.of(FileKind::Wal);
                Cost {
                    writes: wal.writes,
                    bytes: wal.write_bytes,
                    flushes: wal.syncs,
                    checkpoint_bytes: counters.of(FileKind::Database).write_bytes,
                    took: Duration::ZERO,
                }
            }
        }
    }
}

fn each(db: &Connection, sql: &str) -> Result<(), Failure> {
    let mut statement = db.prepare(sql)?;
    for k in 1..=COMMITS {
        // Rows far apart, so that the commits change different pages.
        statement.execute([k * 7919 % 100_003])?;
    }
    Ok(())
}

fn measure(counted: &Counted, directory: PathBuf) -> Result<(), Failure> {
    std::fs::create_dir_all(&directory)?;
    let path = directory.join("db");
    let flags = OpenFlags::default();
    let db = Connection::open_with_flags_and_vfs(path, flags, counted.name())?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;
         CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT);
         WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
         INSERT INTO t SELECT i * 5, hex(randomblob(50)) FROM n",
    )?;
    let work = [
        (
            "insert",
            "INSERT OR REPLACE INTO t VALUES(?1 * 5 + 1, hex(randomblob(50)))",
        ),
        (
            "update",
            "UPDATE t SET v = hex(randomblob(50)) WHERE k = ?1 - ?1 % 5",
        ),
        ("delete", "DELETE FROM t WHERE k = ?1 * 5 + 1"),
    ];
    for (name, sql) in work {
        db.execute_batch("PRAGMA wal_checkpoint(RESTART)")?;
        let before = counted.now();
        let start = Instant::now();
        each(&db, sql)?;
        let took = start.elapsed();
        let after = counted.now();
        db.execute_batch("PRAGMA wal_checkpoint(RESTART)")?;
        let cost = Cost {
            writes: after.writes - before.writes,
            bytes: after.bytes - before.bytes,
            flushes: after.flushes - before.flushes,
            checkpoint_bytes: counted.now().checkpoint_bytes - before.checkpoint_bytes,
            took,
        };
        let per = |number: u64| number as f64 / f64::from(COMMITS);
        println!(
            "{:<14} {name:<7} {:>7.2} {:>9.0} {:>8.2} {:>12.0} {:>9.0}",
            counted.name(),
            per(cost.writes),
            per(cost.bytes),
            per(cost.flushes),
            per(cost.checkpoint_bytes),
            cost.took.as_secs_f64() * 1e6 / f64::from(COMMITS),
        );
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let temporary = tempfile::tempdir()?;
    let directory = match std::env::args_os().nth(1) {
        Some(directory) => PathBuf::from(directory),
        None => temporary.path().to_owned(),
    };
    println!("per commit             writes     bytes  flushes  checkpoint B        µs");
    let etui = Counted::Etui(etui_vfs::register("etui", Options::default())?);
    measure(&etui, directory.join("etui"))?;
    let stock = Counted::Stock(InstrumentedVfs::register(
        "stock-wal",
        InstrumentedOptions::default(),
    )?);
    measure(&stock, directory.join("stock"))?;
    Ok(())
}
