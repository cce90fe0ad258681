//! The time to recover from a log of 64 MiB: `cargo run --profile dist -p etui-vfs --example recovery
//! [DIRECTORY]`.

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use etui_vfs::Options;
use rusqlite::{Connection, OpenFlags};

const LOG: u64 = 64 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from);
    let directory = tempfile::tempdir_in(directory.unwrap_or_else(std::env::temp_dir))?;
    let path = directory.path().join("db");
    let options = Options {
        log_size: LOG,
        ..Options::default()
    };
    etui_vfs::register("etui", options)?;
    for (what, sql, rows) in [
        (
            "small rows, changed again and again",
            "INSERT INTO t VALUES(?1 % 20000, randomblob(100))
               ON CONFLICT DO UPDATE SET x = excluded.x",
            100,
        ),
        (
            "rows of 1 kB, each new",
            "INSERT INTO t VALUES(?1, randomblob(1000))",
            10,
        ),
    ] {
        let db = Connection::open_with_flags_and_vfs(&path, OpenFlags::default(), "etui")?;
        db.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0;
             DROP TABLE IF EXISTS t; CREATE TABLE t(n INTEGER PRIMARY KEY, x);
             PRAGMA wal_checkpoint(TRUNCATE)",
        )?;
        let logged = || -> Result<u64, rusqlite::Error> {
            let told: String = db.query_row("PRAGMA etui_stats", [], |row| row.get(0))?;
            let blocks = told.lines().find_map(|line| line.strip_prefix("blocks "));
            Ok(blocks.and_then(|n| n.trim().parse().ok()).unwrap_or(0))
        };
        let begin = logged()?;
        let mut row = 0_i64;
        while (logged()? - begin) * 4096 < LOG - (1 << 20) {
            db.execute_batch("BEGIN")?;
            for _ in 0..rows {
                // Spread over the table.
                row += 1;
                db.execute(sql, [row * 7919])?;
            }
            db.execute_batch("COMMIT")?;
        }
        // As a killed process leaves them.
        let left = directory.path().join("left");
        std::fs::copy(&path, &left)?;
        std::fs::copy(
            directory.path().join("db-redo"),
            directory.path().join("left-redo"),
        )?;
        drop(db);
        let begun = Instant::now();
        let recovered = etui_vfs::recover(&left)?;
        println!(
            "{what}: {} transactions, {} pages: {:.0?}",
            recovered.records,
            recovered.pages,
            begun.elapsed()
        );
    }
    Ok(())
}
