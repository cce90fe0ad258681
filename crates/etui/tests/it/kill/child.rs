//! Children that write, report each step, and are killed.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime};

use etui::{Durability, Options, Store, Vfs};
use etui_testkit::own_process::ProgramOfTest;
use etui_testkit::rng::SplitMix64;

const STORE: &str = "ETUI_TEST_KILL_STORE";
const SEED: &str = "ETUI_TEST_KILL_SEED";
/// Set if the child uses etui's redo log.
const REDO: &str = "ETUI_TEST_KILL_REDO";
/// The first word that a child prints.
const START: &str = "start";

/// Returns the number of kills per test.
pub fn kills() -> u64 {
    match std::env::var("ETUI_KILLS") {
        Ok(kills) => kills.parse().expect("ETUI_KILLS is a number"),
        Err(_) if std::env::var_os("ETUI_TEST_LONG").is_some() => 200,
        Err(_) => 20,
    }
}

/// Returns the seed of a test: random, or the requested one.
pub fn seed() -> u64 {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let seed = std::env::var(SEED).map_or(now.as_secs() % 1_000_000, |s| s.parse().unwrap());
    println!("seed {seed} ({SEED}={seed} repeats it)");
    seed
}

/// The task of a child.
pub struct Task {
    path: PathBuf,
    pub seed: u64,
    vfs: Vfs,
}

impl Task {
    /// Returns `None` in a process that is not a child.
    pub fn given() -> Option<Self> {
        let path = std::env::var_os(STORE)?.into();
        let seed = std::env::var(SEED).unwrap().parse().unwrap();
        let vfs = match std::env::var_os(REDO) {
            Some(_) => Vfs::RedoLog,
            None => Vfs::System,
        };
        Some(Self { path, seed, vfs })
    }

    /// Reports the start, and opens the store.
    pub fn begin(&self, rng: &mut SplitMix64) -> Store {
        let mut options = Options::default();
        if rng.chance(500) {
            options.durability = Durability::Deferred;
        }
        options.vfs = self.vfs;
        tell(START);
        Store::open_with(&self.path, &options).unwrap()
    }

    /// Returns numbers that no other child uses.
    pub fn versions(&self) -> impl Iterator<Item = u64> + use<> {
        self.seed * 1_000_000..
    }
}

/// Reports a message to the parent.
pub fn tell(what: &str) {
    // The test runner may have left an unfinished line.
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n@{what}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// A running child.
pub struct Running {
    child: Child,
    words: Receiver<String>,
}

impl Running {
    /// Runs the test `work` as a child, and returns once it has started.
    pub fn start(work: ProgramOfTest, store: &Path, vfs: Vfs, seed: u64) -> Self {
        let mut command = work.command().unwrap();
        if vfs == Vfs::RedoLog {
            command.env(REDO, "1");
        }
        let mut child = command
            .env(STORE, store)
            .env(SEED, seed.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, words) = channel();
        // A thread drains the pipe at all times: a full pipe would block the child.
        std::thread::spawn(move || {
            let mut out = out;
            let mut line = String::new();
            while out.read_line(&mut line).is_ok_and(|read| read > 0) {
                // An incomplete line was not reported.
                if let Some(word) = line.strip_suffix('\n').and_then(|l| l.strip_prefix('@')) {
                    let _ = sender.send(word.to_owned());
                }
                line.clear();
            }
        });
        let first = words.recv().expect("the child did not begin");
        assert_eq!(first, START);
        Self { child, words }
    }

    /// Kills the child, and returns its unread reports.
    pub fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        let told: Vec<_> = self.words.iter().collect();
        assert_eq!(status.code(), None, "the child ended by itself: {told:?}");
        told
    }
}

/// Random lifetimes, up to 150 ms; longer on a machine that is so slow that children do nothing in
/// that time.
pub struct Lives {
    most: u32,
    drawn: u32,
}

impl Lives {
    pub fn new() -> Self {
        Self {
            most: 150,
            drawn: 0,
        }
    }

    /// Returns the next child's.
    pub fn draw(&mut self, rng: &mut SplitMix64) -> Duration {
        self.drawn = rng.below(self.most + 1);
        Duration::from_millis(self.drawn.into())
    }

    /// Learns whether the child that lived so long has done what it is tested for.
    pub fn learn(&mut self, has_worked: bool) {
        if !has_worked && self.drawn > self.most / 2 && self.most < 20_000 {
            self.most *= 2;
        }
    }
}

/// Returns true after this many rounds: one for each kill, and on a slow machine more of them, until
/// there is enough to say something.
pub fn is_over(rounds: u64, is_enough: bool) -> bool {
    rounds >= kills() && (is_enough || rounds >= 20 * kills())
}
