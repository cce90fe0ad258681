//! What a commit and a read cost the processor, by SQLite's own WAL and by etui's redo log: user
//! instructions, counted by valgrind's callgrind, and processor time, the kernel's included.
//!
//! `cargo bench -p etui --bench processor [CASE ...]`; without names, all cases. Each case and
//! each way has a process of its own, which does the work once under callgrind, and then by
//! turns as often as `ETUI_BENCH_ROUNDS` says (5), of which the medians are told. Without
//! valgrind only times are.
//!
//! ```text
//! --work CASE VFS FILE   what the processes are started with
//! ```

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(missing_docs)]

#[allow(dead_code)] // What the other benchmarks need of it.
mod support;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use etui::{Store, Vfs};
use rusqlite::{Connection, OpenFlags};
use support::{SIZE, cards, filled, options, scratch};

/// Rows of the tables that rows are inserted into.
const ROWS: u32 = 20_000;
/// Rows of the table that is read: 12 MB.
const READ_ROWS: u32 = 100_000;
/// Frames in a WAL that is full: where SQLite checkpoints.
const FRAMES: u32 = 1_000;
/// Frames that a row takes without and with indexes, rounded up.
const FRAMES_A_ROW: [u32; 2] = [2, 30];
/// Indexes of the table that has some.
const INDEXES: u32 = 20;

/// The kinds of work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Rows of 100 bytes, each a commit; in a table without an index, or with many.
    Rows { indexed: bool, checkpoints: bool },
    /// Contacts, each a commit, saved into a store.
    Contacts,
    /// Rows looked up, each in a transaction, or the whole table read, with ten pages of cache.
    Read { scan: bool, mapped: bool, wal: bool },
}

struct Case {
    name: &'static str,
    what: &'static str,
    kind: Kind,
    /// How often it is done for one measurement.
    times: u32,
}

const fn case(name: &'static str, what: &'static str, kind: Kind, times: u32) -> Case {
    Case {
        name,
        what,
        kind,
        times,
    }
}

const fn rows(indexed: bool, checkpoints: bool) -> Kind {
    Kind::Rows {
        indexed,
        checkpoints,
    }
}

const fn read(scan: bool, mapped: bool, wal: bool) -> Kind {
    Kind::Read { scan, mapped, wal }
}

const CASES: [Case; 13] = [
    case("row", "row of 100 bytes", rows(false, false), 1_800),
    case(
        "row-all",
        "row of 100 bytes, checkpoints included",
        rows(false, true),
        4_000,
    ),
    case("indexed", "row with 20 indexes", rows(true, false), 300),
    case(
        "indexed-all",
        "row with 20 indexes, checkpoints included",
        rows(true, true),
        1_000,
    ),
    case("contact", "contact, all included", Kind::Contacts, 600),
    case("point", "lookup", read(false, false, false), 10_000),
    case(
        "point-wal",
        "lookup, full WAL",
        read(false, false, true),
        10_000,
    ),
    case(
        "point-map",
        "lookup, mapped",
        read(false, true, false),
        10_000,
    ),
    case(
        "point-map-wal",
        "lookup, mapped, full WAL",
        read(false, true, true),
        10_000,
    ),
    case("scan", "scan", read(true, false, false), 3),
    case("scan-wal", "scan, full WAL", read(true, false, true), 3),
    case("scan-map", "scan, mapped", read(true, true, false), 3),
    case(
        "scan-map-wal",
        "scan, mapped, full WAL",
        read(true, true, true),
        3,
    ),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [work, case, vfs, file] = arguments.as_slice()
        && work == "--work"
    {
        let case = CASES.iter().find(|c| c.name == case).expect("a case");
        let time = case.run(Path::new(file), vfs == "etui");
        println!("{}", time.as_nanos());
        return;
    }
    let wanted = |case: &&Case| {
        let mut names = arguments.iter().filter(|a| !a.starts_with("--")).peekable();
        names.peek().is_none() || names.any(|name| name == case.name)
    };
    let dir = scratch();
    let sources = Sources::default();
    println!("| | instructions: WAL | redo log | ratio | µs: WAL | redo log | ratio |");
    println!("|---|---|---|---|---|---|---|");
    for case in CASES.iter().filter(wanted) {
        let source = sources.of(case.kind, dir.path());
        case.measure(&source, dir.path());
    }
}

/// The files that the work is done on copies of, made when they are first needed.
#[derive(Default)]
struct Sources {
    plain: std::cell::OnceCell<PathBuf>,
    indexed: std::cell::OnceCell<PathBuf>,
    store: std::cell::OnceCell<PathBuf>,
    read: std::cell::OnceCell<PathBuf>,
}

impl Sources {
    fn of(&self, kind: Kind, dir: &Path) -> PathBuf {
        let made = match kind {
            Kind::Rows { indexed: false, .. } => self
                .plain
                .get_or_init(|| table(&dir.join("plain"), ROWS, 0)),
            Kind::Rows { indexed: true, .. } => {
                let indexed = || table(&dir.join("indexed"), ROWS, INDEXES);
                self.indexed.get_or_init(indexed)
            }
            Kind::Contacts => self.store.get_or_init(|| filled(dir, "store", SIZE)),
            Kind::Read { .. } => {
                let read = || table(&dir.join("read"), READ_ROWS, 0);
                self.read.get_or_init(read)
            }
        };
        made.clone()
    }
}

/// Columns of numbers in no order, as many as there are indexes, each with its own.
fn columns(indexes: u32) -> Vec<String> {
    (1..=indexes).map(|n| format!("c{n}")).collect()
}

/// The statement that inserts a row.
fn insert(indexes: u32) -> String {
    let values: String = (1..=indexes)
        .map(|n| {
            let step = (48_271 + 7_919 * u64::from(n)) * 69_621;
            format!(", ?1 * {step} % 2147483647")
        })
        .collect();
    format!("INSERT INTO t VALUES (?1, randomblob(100){values})")
}

/// A closed database of one table.
fn table(path: &Path, rows: u32, indexes: u32) -> PathBuf {
    let db = Connection::open(path).expect("a new database");
    let columns = columns(indexes);
    let all: String = columns.iter().map(|c| format!(", {c} INTEGER")).collect();
    db.execute_batch(&format!(
        "PRAGMA journal_mode = WAL; CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB{all})"
    ))
    .expect("the table");
    for c in columns {
        db.execute_batch(&format!("CREATE INDEX i{c} ON t ({c})"))
            .expect("an index");
    }
    db.execute_batch("BEGIN").expect("a transaction");
    let mut statement = db.prepare(&insert(indexes)).expect("a statement");
    for k in 1..=rows {
        // With gaps for the rows to come.
        statement.execute([k * 8]).expect("a row");
    }
    drop(statement);
    db.execute_batch("COMMIT").expect("a commit");
    db.close().expect("closing");
    path.to_owned()
}

impl Case {
    /// Does the work; answers how much processor time it took.
    fn run(&self, file: &Path, etui: bool) -> Duration {
        match self.kind {
            Kind::Contacts => self.save(file, etui),
            Kind::Rows {
                indexed,
                checkpoints,
            } => self.commit(&open(file, etui), indexed, checkpoints),
            Kind::Read { scan, mapped, wal } => self.read(&open(file, etui), scan, mapped, wal),
        }
    }

    fn commit(&self, db: &Connection, indexed: bool, checkpoints: bool) -> Duration {
        db.execute_batch("PRAGMA synchronous = FULL; PRAGMA cache_size = -16384")
            .expect("pragmas");
        if !checkpoints {
            db.execute_batch("PRAGMA wal_autocheckpoint = 0")
                .expect("pragmas");
        }
        let indexes = if indexed { INDEXES } else { 0 };
        let mut statement = db.prepare(&insert(indexes)).expect("a statement");
        let mut next = 0;
        let mut some = |times: u32| {
            for _ in 0..times {
                // Far apart, so that commits do not all change the same page.
                next += 1;
                let k = (next * 7_919 % ROWS) * 8 + 1 + next / ROWS;
                statement.execute([k]).expect("a row");
            }
        };
        // The WAL gets its length, and is recycled.
        let restart = || {
            let mut checkpoint = db.prepare("PRAGMA wal_checkpoint(RESTART)").expect("SQL");
            checkpoint.query_row([], |_| Ok(())).expect("a checkpoint");
        };
        some(100);
        if checkpoints {
            return counted(|| some(self.times));
        }
        some(900 / FRAMES_A_ROW[usize::from(indexed)]);
        let mut sum = Duration::ZERO;
        let mut left = self.times;
        while left > 0 {
            // As many as SQLite would have before a checkpoint.
            let now = left.min(900 / FRAMES_A_ROW[usize::from(indexed)]);
            restart();
            some(1);
            sum += counted(|| some(now));
            left -= now;
        }
        sum
    }

    fn save(&self, file: &Path, etui: bool) -> Duration {
        let mut options = options();
        if etui {
            options.vfs = Vfs::Etui;
        }
        let store = Store::open_with(file, &options).expect("a store");
        let contacts = store.contacts().expect("the book");
        let all = cards(2, 300 + self.times as usize);
        let (before, after) = all.split_at(300);
        let save = |cards: &[etui::contacts::Card]| {
            for card in cards {
                contacts.save(card).expect("saving");
            }
        };
        save(before);
        let time = counted(|| save(after));
        store.close().expect("closing");
        time
    }

    fn read(&self, db: &Connection, scan: bool, mapped: bool, wal: bool) -> Duration {
        let map = if mapped { 1 << 30 } else { 0 };
        db.execute_batch(&format!(
            "PRAGMA cache_size = 10; PRAGMA mmap_size = {map}; PRAGMA wal_autocheckpoint = 0"
        ))
        .expect("pragmas");
        if wal {
            // One row of each page, or nearly.
            let step = 8 * 34;
            let sql = format!(
                "UPDATE t SET v = randomblob(100) WHERE k % {step} = 0 AND k < {step} * {FRAMES}"
            );
            db.execute_batch(&sql).expect("an update");
        } else {
            // Something, so that a log is there, and then nothing.
            db.execute_batch("UPDATE t SET v = randomblob(100) WHERE k = 8")
                .expect("an update");
            db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
                .expect("a checkpoint");
        }
        let sql = match scan {
            true => "SELECT sum(length(v)) FROM t",
            false => "SELECT length(v) FROM t WHERE k = ?1 * 8",
        };
        let mut statement = db.prepare(sql).expect("a statement");
        let mut look = |times: u32| {
            for n in 0..times {
                let k = (n * 7_919) % READ_ROWS + 1;
                let found: i64 = match scan {
                    true => statement.query_row([], |row| row.get(0)),
                    false => statement.query_row([k], |row| row.get(0)),
                }
                .expect("a row");
                black_box(found);
            }
        };
        look(1);
        counted(|| look(self.times))
    }

    /// Measures it on copies of a file, and prints what came of it.
    fn measure(&self, source: &Path, dir: &Path) {
        let vfses = ["stock", "etui"];
        let instructions = vfses.map(|vfs| self.process(vfs, source, dir, true));
        let rounds = std::env::var("ETUI_BENCH_ROUNDS").ok();
        let rounds: usize = rounds.and_then(|n| n.parse().ok()).unwrap_or(5);
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (vfs, times) in vfses.iter().zip(&mut times) {
                times.extend(self.process(vfs, source, dir, false));
            }
        }
        let medians = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times.get(times.len() / 2).map(|ns| ns / 1e3)
        });
        println!(
            "| {} | {} | {} |",
            self.what,
            pair(instructions, 0),
            pair(medians, 2)
        );
    }

    /// What one time of it costs: instructions, or nanoseconds.
    fn process(&self, vfs: &str, source: &Path, dir: &Path, instructions: bool) -> Option<f64> {
        let dir = tempfile::tempdir_in(dir).expect("a directory");
        let file = dir.path().join("db");
        std::fs::copy(source, &file).expect("copying");
        let this = std::env::current_exe().expect("this program");
        let profile = dir.path().join("callgrind");
        let mut command = Command::new(if instructions {
            Path::new("valgrind")
        } else {
            &this
        });
        if instructions {
            let mut to = std::ffi::OsString::from("--callgrind-out-file=");
            to.push(&profile);
            command
                .args(["-q", "--tool=callgrind", "--combine-dumps=yes"])
                .args(["begins", "ends"].map(|at| format!("--dump-before=*counting_{at}*")))
                .arg(to)
                .arg(&this)
                .env(COUNTED, "1");
        }
        command.args(["--work", self.name, vfs]).arg(&file);
        let output = match command.stderr(Stdio::inherit()).output() {
            Ok(output) => output,
            Err(error) if instructions && error.kind() == std::io::ErrorKind::NotFound => {
                return None;
            }
            Err(error) => panic!("{command:?}: {error}"),
        };
        assert!(output.status.success(), "{command:?}: {}", output.status);
        let all = if instructions {
            if let Some(kept) = std::env::var_os("ETUI_BENCH_PROFILES") {
                let name = format!("{}-{vfs}.callgrind", self.name);
                std::fs::copy(&profile, Path::new(&kept).join(name)).expect("keeping the profile");
            }
            total(&std::fs::read_to_string(&profile).expect("callgrind's profile"))
        } else {
            let text = String::from_utf8(output.stdout).expect("a number");
            text.trim().parse().expect("a number")
        };
        Some(all / f64::from(self.times))
    }
}

fn pair(costs: [Option<f64>; 2], digits: usize) -> String {
    match costs {
        [Some(stock), Some(etui)] => {
            format!("{stock:.digits$} | {etui:.digits$} | {:.2}", etui / stock)
        }
        _ => "- | - | -".to_owned(),
    }
}

fn open(file: &Path, etui: bool) -> Connection {
    if !etui {
        return Connection::open(file).expect("opening");
    }
    let options = etui_vfs::Options::default();
    let vfs = etui_vfs::register("etui", options).expect("the VFS");
    let flags = OpenFlags::default();
    Connection::open_with_flags_and_vfs(file, flags, vfs.name()).expect("opening")
}

/// Set for a process that runs under callgrind.
const COUNTED: &str = "ETUI_BENCH_COUNTED";

/// Does what is counted; answers how much processor time it took, all threads, the kernel's
/// part included.
fn counted(work: impl FnOnce()) -> Duration {
    let clock = std::env::var_os(COUNTED).is_none();
    let now = || {
        if !clock {
            // The way that rustix asks the kernel is not there under valgrind.
            return Duration::ZERO;
        }
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let before = now();
    counting_begins();
    work();
    counting_ends();
    now().saturating_sub(before)
}

// Callgrind finds the two by their names, writes what it counted and begins anew. They must
// differ, or the compiler makes them one.

#[inline(never)]
fn counting_begins() {
    black_box("begins");
}

#[inline(never)]
fn counting_ends() {
    black_box("ends");
}

/// The instructions that callgrind wrote when the counting ended, as often as it did.
fn total(profile: &str) -> f64 {
    let (mut sum, mut ends) = (0.0, false);
    for line in profile.lines() {
        if let Some(trigger) = line.strip_prefix("desc: Trigger: ") {
            ends = trigger.ends_with("counting_ends");
        } else if let Some(total) = line.strip_prefix("totals: ")
            && ends
        {
            sum += total.trim().parse::<f64>().expect("a number");
        }
    }
    assert!(sum > 0.0, "callgrind did not find where counting ends");
    sum
}
