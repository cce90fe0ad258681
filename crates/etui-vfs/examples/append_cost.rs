//! The size from which in-place appends pay: transactions that append one value, with everything in
//! the log and with all new pages in place, in turn.
//!
//! ```text
//! cargo run --profile dist -p etui-vfs --example append_cost [DIRECTORY]
//! ```

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use etui_vfs::{Options, Vfs};
use rusqlite::{Connection, OpenFlags};

type Failure = Box<dyn std::error::Error>;

/// The bytes appended between two checkpoints, and in all, for each size.
const BETWEEN: usize = 4 << 20;
const IN_ALL: usize = 32 << 20;

struct Subject {
    vfs: Vfs,
    db: Connection,
    commits: Vec<Duration>,
    checkpoints: Duration,
    bytes: u64,
}

impl Subject {
    fn new(directory: &Path, name: &str, append_in_place: usize) -> Result<Self, Failure> {
        let options = Options {
            append_in_place,
            // The log has room for everything between two checkpoints.
            log_size: 8 << 20,
            idle: None,
            ..Options::default()
        };
        let vfs = etui_vfs::register(name, options)?;
        let flags = OpenFlags::default();
        let db = Connection::open_with_flags_and_vfs(directory.join(name), flags, vfs.name())?;
        db.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;
             CREATE TABLE t(k INTEGER PRIMARY KEY, v)",
        )?;
        Ok(Self {
            vfs,
            db,
            commits: Vec::new(),
            checkpoints: Duration::ZERO,
            bytes: 0,
        })
    }

    fn written(&self) -> u64 {
        let counters = self.vfs.counters();
        counters.database_bytes + counters.redo_bytes + counters.temporary_bytes
    }

    fn append(&mut self, value: &[u8]) -> Result<(), Failure> {
        let before = self.written();
        let begun = Instant::now();
        self.db.execute("INSERT INTO t(v) VALUES(?1)", [value])?;
        self.commits.push(begun.elapsed());
        self.bytes += self.written() - before;
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), Failure> {
        let before = self.written();
        let begun = Instant::now();
        let row = "PRAGMA wal_checkpoint(PASSIVE)";
        self.db.query_row(row, [], |_| Ok(()))?;
        self.checkpoints += begun.elapsed();
        self.bytes += self.written() - before;
        Ok(())
    }
}

fn main() -> Result<(), Failure> {
    let directory = std::env::args_os().nth(1).map_or_else(
        || Ok::<_, Failure>(tempfile::tempdir()?.keep()),
        |path| Ok(PathBuf::from(path)),
    )?;
    println!("appended      commit, median       and written back      bytes of the payload");
    println!("              log      in place    log      in place     log      in place");
    for kib in [32, 64, 128, 256, 512, 1024, 2048] {
        let size = kib << 10;
        let mut subjects = [
            Subject::new(&directory, &format!("logged-{kib}"), usize::MAX)?,
            Subject::new(&directory, &format!("in-place-{kib}"), 1)?,
        ];
        let mut value = vec![0; size - 200];
        let mut state = 7_u64;
        for at in 0..IN_ALL / size {
            for byte in &mut value {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                *byte = (state >> 56) as u8;
            }
            // In turns, as each one finds the device in the state that the other one left.
            let (first, second) = (at % 2, 1 - at % 2);
            for subject in [first, second] {
                subjects[subject].append(&value)?;
            }
            if (at + 1) % (BETWEEN / size) == 0 {
                for subject in &mut subjects {
                    subject.checkpoint()?;
                }
            }
        }
        let cells = subjects.each_mut().map(|subject| {
            subject.commits.sort_unstable();
            let median = subject.commits[subject.commits.len() / 2];
            let number = subject.commits.len() as u32;
            let sum: Duration = subject.commits.iter().sum();
            let all = (sum + subject.checkpoints) / number;
            let ratio = subject.bytes as f64 / IN_ALL as f64;
            (median.as_secs_f64() * 1e3, all.as_secs_f64() * 1e3, ratio)
        });
        let [log, place] = cells;
        println!(
            "{kib:5} KiB  {:6.2} ms  {:6.2} ms   {:6.2} ms  {:6.2} ms   {:6.2}x  {:6.2}x",
            log.0, place.0, log.1, place.1, log.2, place.2
        );
    }
    Ok(())
}
