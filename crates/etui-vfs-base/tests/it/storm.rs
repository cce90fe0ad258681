//! Processes, some of them plain SQLite, that commit and are killed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use etui_testkit::own_process::in_own_process;
use etui_testkit::rng::SplitMix64;
use etui_testkit::small_disk::SmallDisk;
use etui_testkit::wait::wait_until;
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{
    check, child, insert, made, number, of_child, plain, try_open, try_plain, wait_for,
};

#[test]
#[ignore = "run by other tests"]
fn commits_for_ever() {
    let Some((path, seed)) = of_child() else {
        return;
    };
    commit_for_ever(try_open, &path, seed);
}

#[test]
#[ignore = "run by other tests"]
fn commits_for_ever_without_the_vfs() {
    let Some((path, seed)) = of_child() else {
        return;
    };
    commit_for_ever(try_plain, &path, seed);
}

/// Opens the database, reads and commits for a while, closes it, and sleeps, for ever. Prints each row
/// after it was acknowledged, how long each read took, and each failure. Readers never see less than
/// before. Now and then the program closes a descriptor of a file of the database.
fn commit_for_ever(
    open: impl Fn(&Path) -> rusqlite::Result<Connection>,
    path: &Path,
    seed: u64,
) -> ! {
    let mut random = SplitMix64::stream(seed, 0);
    let mut session = Session {
        seen: 0,
        row: 0,
        seed,
    };
    loop {
        if let Err(error) = session.run(&open, path, &mut random) {
            println!("failed {error}");
        }
        // SQLite's own VFS would lose its locks, but it has none now.
        drop(std::fs::File::open(path));
        std::thread::sleep(Duration::from_millis(u64::from(random.below(1500))));
    }
}

struct Session {
    seen: i64,
    row: u64,
    seed: u64,
}

impl Session {
    fn run(
        &mut self,
        open: impl Fn(&Path) -> rusqlite::Result<Connection>,
        path: &Path,
        random: &mut SplitMix64,
    ) -> rusqlite::Result<()> {
        let begun = Instant::now();
        let db = open(path)?;
        db.execute_batch("PRAGMA wal_autocheckpoint = 30")?;
        self.read(&db, begun)?;
        for _ in 0..random.below(60) {
            self.row += 1;
            let (size, name) = (random.below(400), format!("{}-{}", self.seed, self.row));
            let insert = "INSERT INTO t(v, w) VALUES(randomblob(?1), ?2)";
            match db.execute(insert, (size, &name)) {
                Ok(_) => println!("committed {name}"),
                Err(error) => println!("failed {error}"),
            }
            if self.row.is_multiple_of(5) {
                self.read(&db, Instant::now())?;
            }
            std::thread::sleep(Duration::from_millis(u64::from(random.below(4))));
        }
        Ok(())
    }

    fn read(&mut self, db: &Connection, begun: Instant) -> rusqlite::Result<()> {
        let read = "SELECT coalesce(max(k), 0) FROM t";
        let rows = db.query_row(read, [], |r| r.get::<_, i64>(0))?;
        println!("read {}", begun.elapsed().as_micros());
        assert!(rows >= self.seen, "{rows} rows after {}", self.seen);
        self.seen = rows;
        Ok(())
    }
}

/// The output of a program until it was killed.
type Said = std::thread::JoinHandle<String>;

/// A running program.
struct Program {
    child: Child,
    said: Said,
    is_plain: bool,
    /// It is stopped until then.
    stopped: Option<Instant>,
}

impl Program {
    fn start(path: &Path, number: u64, is_plain: bool, commits: &Arc<AtomicI64>) -> Self {
        let mut child = match is_plain {
            true => child(commits_for_ever_without_the_vfs, path, number),
            false => child(commits_for_ever, path, number),
        };
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let commits = Arc::clone(commits);
        let said = std::thread::spawn(move || {
            let mut all = String::new();
            let mut begin = 0;
            while output.read_line(&mut all).is_ok_and(|read| read > 0) {
                let is_commit = all[begin..].starts_with("committed ");
                commits.fetch_add(i64::from(is_commit), Ordering::Relaxed);
                begin = all.len();
            }
            all
        });
        Self {
            child,
            said,
            is_plain,
            stopped: None,
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn kill(mut self) -> (bool, Said) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        (self.is_plain, self.said)
    }
}

/// A database and the programs that use it.
struct Storm {
    path: PathBuf,
    of_plain: usize,
    running: Vec<Program>,
    said: Vec<(bool, Said)>,
    started: u64,
    commits: Arc<AtomicI64>,
}

impl Storm {
    fn begin(path: PathBuf, programs: usize, of_plain: usize) -> Self {
        drop(made(&path));
        let mut storm = Self {
            path,
            of_plain,
            running: Vec::new(),
            said: Vec::new(),
            started: 0,
            commits: Arc::default(),
        };
        (0..programs).for_each(|at| storm.start(at));
        storm
    }

    /// Starts the program of a place: the first ones are plain.
    fn start(&mut self, at: usize) {
        let is_plain = at < self.of_plain;
        let program = Program::start(&self.path, self.started, is_plain, &self.commits);
        self.running.insert(at, program);
        self.started += 1;
    }

    /// Kills a program and starts another one, or stops one for a while.
    fn strike(&mut self, random: &mut SplitMix64) {
        for program in &mut self.running {
            if program.stopped.is_some_and(|until| until <= Instant::now()) {
                program.signal(Signal::CONT);
                program.stopped = None;
            }
        }
        let at = random.below(self.running.len() as u32) as usize;
        if random.chance(300) {
            let lasts = Duration::from_millis(u64::from(random.below(1500)));
            self.running[at].signal(Signal::STOP);
            self.running[at].stopped = Some(Instant::now() + lasts);
        } else {
            let killed = self.running.remove(at).kill();
            self.said.push(killed);
            self.start(at);
        }
    }

    /// Ends it: everything acknowledged is there, and programs failed only for want of space.
    fn end(mut self, was_full: bool) {
        let programs = self.running.drain(..).map(Program::kill);
        self.said.extend(programs.collect::<Vec<_>>());
        // At every moment plain SQLite opens the file.
        let db = plain(&self.path);
        check(&db);
        let (mut acknowledged, mut failed) = (0, BTreeMap::new());
        let mut reads = [Vec::new(), Vec::new()];
        for (is_plain, said) in self.said {
            let all = said.join().unwrap();
            assert!(!all.contains("panicked"), "{all}");
            // The last line may be cut off.
            let whole = all.rsplit_once('\n').map_or("", |(whole, _)| whole);
            for line in whole.lines() {
                if let Some(row) = line.strip_prefix("committed ") {
                    acknowledged += 1;
                    let found = number(&db, &format!("SELECT count(*) FROM t WHERE w = '{row}'"));
                    assert_eq!(found, 1, "{row} is lost");
                } else if let Some(why) = line.strip_prefix("failed ") {
                    *failed.entry(why.to_owned()).or_insert(0) += 1;
                } else if let Some(took) = line.strip_prefix("read ") {
                    reads[usize::from(is_plain)].push(took.parse::<u64>().unwrap());
                }
            }
        }
        let started = self.started;
        println!("{started} programs, {acknowledged} acknowledged, failed: {failed:?}");
        for (kind, mut reads) in ["of the VFS", "plain"].into_iter().zip(reads) {
            reads.sort_unstable();
            if let Some(last) = reads.last() {
                let part = |of: usize| reads[reads.len() * of / 1000];
                let (half, most, nearly) = (part(500), part(990), part(999));
                let count = reads.len();
                println!(
                    "{count} reads {kind}: median {half} us, 99 % {most}, 99.9 % {nearly}, longest {last}"
                );
            }
        }
        failed.retain(|why, _| {
            let of_space = ["disk is full", "disk I/O error", "unable to open"];
            !(was_full && of_space.iter().any(|part| why.contains(part)))
        });
        assert_eq!(failed, BTreeMap::new());
        assert!(acknowledged > 100);
    }
}

/// Programs commit on a disk that is full now and then, and are killed and stopped; those of another
/// database are all plain. Nothing acknowledged is lost. The times of reads are printed (`--nocapture`).
fn storm(programs: usize, of_plain: usize, lasts: Duration) {
    const SPACE: &str = "size=8g";
    let disk = SmallDisk::mount("8g");
    let dir = tempfile::tempdir().unwrap();
    let dir = disk.as_ref().map_or(dir.path(), SmallDisk::path);
    let mut storms = [
        Storm::begin(dir.join("db"), programs, of_plain),
        Storm::begin(dir.join("stock"), programs, programs),
    ];
    let began = Instant::now();
    let mut random = SplitMix64::stream(7, 0);
    let mut full_until: Option<Instant> = None;
    while began.elapsed() < lasts {
        std::thread::sleep(Duration::from_millis(u64::from(20 + random.below(60))));
        storms
            .iter_mut()
            .for_each(|storm| storm.strike(&mut random));
        if let Some(disk) = &disk {
            match full_until {
                Some(until) if until <= Instant::now() => {
                    disk.remount(SPACE).unwrap();
                    full_until = None;
                }
                None if random.chance(50) && disk.fill().is_ok() => {
                    full_until = Some(Instant::now() + Duration::from_millis(300));
                }
                _ => {}
            }
        }
    }
    if let Some(disk) = &disk {
        disk.remount(SPACE).unwrap();
    }
    for mut storm in storms {
        // On a slow machine some of them have to live longer.
        storm.running.iter_mut().for_each(|program| {
            program.signal(Signal::CONT);
        });
        wait_until("commits", || storm.commits.load(Ordering::Relaxed) > 200);
        storm.end(disk.is_some());
    }
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
