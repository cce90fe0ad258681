//! Two processes write, others follow, and all but one reader are killed repeatedly. Every reader
//! continues from its last token: no change is lost or reported twice, and the order is kept. The
//! latencies are printed.
//!
//! 5 seconds; 10 minutes with `ETUI_TEST_LONG=1`. To see the latencies: `-- --nocapture`.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use etui::contacts::{Card, Filter, Summary, ViewChange};
use etui::{ChangeKind, Durability, Options, RecordId, Store, SyncToken};
use etui_testkit::own_process::{ProgramOfTest, in_own_process};
use etui_testkit::rng::SplitMix64;
use rustix::time::{ClockId, clock_gettime};

use super::{Follower, PATIENCE, clean, directory, german, since};

/// The child's role. Without it the children's tests return at once.
const ROLE: &str = "ETUI_TEST_STORM_ROLE";
const STORE: &str = "ETUI_TEST_STORM_STORE";
/// The reader's filter, and its last token.
const FILTER: &str = "ETUI_TEST_STORM_FILTER";
const SINCE: &str = "ETUI_TEST_STORM_SINCE";
/// The reader reads once and exits.
const ONCE: &str = "ETUI_TEST_STORM_ONCE";

/// Contacts of each writer below this number are never removed or restored.
const ONLY_SAVED: u32 = 20;

/// Returns CLOCK_MONOTONIC in nanoseconds, which all processes share.
fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    (now.tv_sec * 1_000_000_000 + now.tv_nsec).cast_unsigned()
}

fn role(wanted: &str) -> Option<(String, PathBuf)> {
    let role = std::env::var(ROLE).ok()?;
    let path = std::env::var_os(STORE).unwrap().into();
    role.starts_with(wanted).then_some((role, path))
}

fn child(test: impl Fn(), role: &str, store: &Path) -> Command {
    let mut command = ProgramOfTest::new(test).command().unwrap();
    command
        .env(ROLE, role)
        .env(STORE, store)
        .stdout(Stdio::piped());
    command
}

fn print_flushed(text: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Saves, removes and restores its own contacts. A contact's organisation is the time at which its
/// save began; the line `@START END` reports when the save returned.
#[test]
fn a_child_writes_until_killed() {
    let Some((role, path)) = role("writer") else {
        return;
    };
    let mut rng = SplitMix64::new(now());
    let mut options = Options::default();
    if role == "writer-1" {
        options.durability = Durability::Deferred;
    }
    let store = Store::open_with(path, &options).unwrap();
    let contacts = store.contacts().unwrap();
    print_flushed("\n");
    loop {
        for _ in 0..rng.below(20) {
            // Half of the contacts are never removed. Latencies are measured on these: a version
            // restored from the trash was saved long before.
            let number = rng.below(40);
            let uid = format!("{role}-{number}");
            match rng.below(8) {
                0 if number >= ONLY_SAVED => drop(contacts.remove(&uid)),
                1 if number >= ONLY_SAVED => drop(contacts.restore(&uid)),
                _ => {
                    let name = ["Anna", "Berta"][rng.below(2) as usize];
                    let begun = now();
                    let text = format!(
                        "BEGIN:VCARD\nVERSION:4.0\nUID:{uid}\nFN:{name}\nORG:{begun}\nEND:VCARD\n"
                    );
                    contacts.save(&Card::parse(text).unwrap()).unwrap();
                    print_flushed(&format!("@{begun} {}\n", now()));
                }
            }
        }
        std::thread::sleep(Duration::from_millis(rng.below(30).into()));
    }
}

/// Follows a view and prints each batch:
///
/// ```text
/// @open NANOSECONDS                     the view is open
/// @+ NUMBER ID UID NAME ORGANISATION    or @~ or @-
/// @token TOKEN NANOSECONDS              position, and time of receipt
/// ```
#[test]
fn a_child_follows_until_killed() {
    let Some((_, path)) = role("reader") else {
        return;
    };
    let store = Store::open(path).unwrap();
    let contacts = store.contacts().unwrap();
    let filter: Filter = std::env::var(FILTER).unwrap().parse().unwrap();
    let token = std::env::var(SINCE).unwrap().parse().unwrap();
    let mut view = contacts.view_since(&filter, token).unwrap();
    print_flushed(&format!("\n@open {}\n", now()));
    let once = std::env::var_os(ONCE).is_some();
    loop {
        let changes = match once {
            true => view.changes().unwrap(),
            false => view.wait(None).unwrap().unwrap(),
        };
        let received = now();
        let mut text = String::new();
        for c in since(changes) {
            let sign = match c.kind {
                ChangeKind::Added => '+',
                ChangeKind::Changed => '~',
                ChangeKind::Removed => '-',
            };
            let s = c.summary;
            text += &format!(
                "@{sign} {} {} {} {} {}\n",
                c.number, c.id, c.uid, s.name, s.organization
            );
        }
        print_flushed(&format!("{text}@token {} {received}\n", view.token()));
        if once {
            return;
        }
    }
}

/// Runs a child, kills it after `life` (`None`: waits for its end), and passes on its complete lines.
fn run(
    mut command: Command,
    life: Option<Duration>,
    over: &AtomicBool,
    mut line: impl FnMut(&str) + Send,
) {
    let mut child = command.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let kill = |child: &mut Child, life: Duration| {
        let end = Instant::now() + life;
        while Instant::now() < end && !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
    };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut text = String::new();
            while out.read_line(&mut text).unwrap() > 0 {
                if let Some(word) = text.strip_suffix('\n').and_then(|l| l.strip_prefix('@')) {
                    line(word);
                }
                text.clear();
            }
        });
        if let Some(life) = life {
            kill(&mut child, life);
        }
        let status = child.wait().unwrap();
        assert_eq!(
            status.success(),
            life.is_none(),
            "a child ended by itself: {status}"
        );
    });
}

/// A reader that is killed and continues from its last token.
struct Reader {
    filter: &'static str,
    follower: Follower,
    token: SyncToken,
    /// Changes of the incomplete batch.
    batch: Vec<ViewChange>,
    opened: u64,
    batches: u64,
    reported: u64,
    /// For each reported save: when it began, when it was received, when the view was opened.
    received: Vec<(u64, u64, u64)>,
}

impl Reader {
    fn new(filter: &'static str, token: SyncToken) -> Self {
        Self {
            filter,
            follower: Follower::default(),
            token,
            batch: Vec::new(),
            opened: 0,
            batches: 0,
            reported: 0,
            received: Vec::new(),
        }
    }

    fn run(&mut self, store: &Path, life: Option<Duration>, over: &AtomicBool) {
        let mut command = child(a_child_follows_until_killed, "reader", store);
        command.env(FILTER, self.filter);
        command.env(SINCE, self.token.to_string());
        if life.is_none() {
            command.env(ONCE, "1");
        }
        run(command, life, over, |line| self.line(line));
        // An incomplete batch is reported again.
        self.batch.clear();
    }

    fn line(&mut self, line: &str) {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["open", when] => self.opened = when.parse().unwrap(),
            ["token", token, when] => {
                let token: SyncToken = token.parse().unwrap();
                assert!(self.token.seq <= token.seq);
                assert!(self.batch.iter().all(|c| c.number <= token.seq));
                let when = when.parse().unwrap();
                let saves = self.batch.iter().filter(|c| {
                    let number: u32 = c.uid.rsplit('-').next().unwrap().parse().unwrap();
                    c.kind != ChangeKind::Removed && number < ONLY_SAVED
                });
                self.received.extend(
                    saves.map(|c| (c.summary.organization.parse().unwrap(), when, self.opened)),
                );
                self.reported += self.batch.len() as u64;
                self.batches += 1;
                self.follower.apply(std::mem::take(&mut self.batch));
                self.token = token;
            }
            [sign, number, id, uid, name, organization] => self.batch.push(ViewChange {
                number: number.parse().unwrap(),
                id: RecordId(id.parse().unwrap()),
                uid: uid.to_owned(),
                kind: match sign {
                    "+" => ChangeKind::Added,
                    "~" => ChangeKind::Changed,
                    "-" => ChangeKind::Removed,
                    _ => panic!("{line}"),
                },
                summary: Summary {
                    name: name.to_owned(),
                    organization: organization.to_owned(),
                    ..Summary::default()
                },
                fields: Vec::new(),
            }),
            _ => panic!("{line}"),
        }
    }
}

#[test]
fn kills_lose_and_repeat_no_change() {
    // It starts many processes.
    if !in_own_process(kills_lose_and_repeat_no_change) {
        return;
    }
    let long = std::env::var_os("ETUI_TEST_LONG").is_some();
    let time = Duration::from_secs(if long { 600 } else { 5 });
    let (_dir, path) = directory();
    let store = Store::open_with(&path, &german()).unwrap();
    let contacts = store.contacts().unwrap();
    let over = AtomicBool::new(false);
    // When each save began, and when it returned.
    let saves = Mutex::new(std::collections::HashMap::new());
    let kills = Mutex::new(0);
    let mut readers = ["*", "*", "name:anna", "-name:anna"]
        .map(|filter| Reader::new(filter, store.token().unwrap()));
    std::thread::scope(|scope| {
        for (number, reader) in readers.iter_mut().enumerate() {
            let (path, over, kills) = (&path, &over, &kills);
            scope.spawn(move || {
                let mut rng = SplitMix64::new(number as u64);
                while !over.load(Ordering::Relaxed) {
                    // The first reader is not killed.
                    let life = match number {
                        0 => Duration::from_secs(1 << 20),
                        _ => Duration::from_millis(rng.below(600).into()),
                    };
                    reader.run(path, Some(life), over);
                    *kills.lock().unwrap() += 1;
                }
            });
        }
        for writer in ["writer-0", "writer-1"] {
            let (path, over, saves, kills) = (&path, &over, &saves, &kills);
            scope.spawn(move || {
                let mut rng = SplitMix64::new(17);
                while !over.load(Ordering::Relaxed) {
                    let life = Duration::from_millis(500 + u64::from(rng.below(2_000)));
                    let command = child(a_child_writes_until_killed, writer, path);
                    run(command, Some(life), over, |line| {
                        let (begun, ended) = line.split_once(' ').unwrap();
                        let times: (u64, u64) = (begun.parse().unwrap(), ended.parse().unwrap());
                        saves.lock().unwrap().insert(times.0, times.1);
                    });
                    *kills.lock().unwrap() += 1;
                }
            });
        }
        std::thread::sleep(time);
        // On a slow machine, until there are some for each filter.
        let begun = Instant::now();
        while saves.lock().unwrap().len() < 100 && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        over.store(true, Ordering::Relaxed);
    });
    let saves = saves.into_inner().unwrap();
    println!(
        "{} saves acknowledged, {} kills",
        saves.len(),
        kills.into_inner().unwrap()
    );
    for reader in &mut readers {
        reader.run(&path, None, &over);
        reader
            .follower
            .check(&contacts, &reader.filter.parse().unwrap());
        println!(
            "{:12} {} changes in {} batches",
            reader.filter, reader.reported, reader.batches
        );
        assert!(reader.reported > 0);
    }
    latencies(&saves, &readers[0]);
    // The next view that is closed removes the watch file that killed processes left.
    drop(contacts.view(&Filter::All).unwrap());
    assert!(!path.with_file_name("personal.etui-watch").exists());
    clean(&store);
}

/// Prints the time from a save's return to its receipt by the reader that was never killed. A save
/// replaced before the reader read is reported by the later save.
fn latencies(saves: &std::collections::HashMap<u64, u64>, reader: &Reader) {
    let mut times: Vec<u64> = reader
        .received
        .iter()
        .filter_map(|(begun, received, opened)| {
            let ended = saves.get(begun).filter(|_| begun > opened)?;
            // The reader may receive it before the writer's call returns.
            Some(received.saturating_sub(*ended))
        })
        .collect();
    times.sort_unstable();
    let at = |share: f64| {
        let place = (times.len() as f64 * share) as usize;
        times
            .get(place.min(times.len() - 1))
            .map_or(0.0, |t| *t as f64 / 1e6)
    };
    println!(
        "{} saves met singly; reported after (ms): median {:.2}, 90 % {:.2}, 99 % {:.2}, \
         99.9 % {:.2}, longest {:.2}; over 20 ms: {}",
        times.len(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0),
        times.iter().filter(|t| **t > 20_000_000).count()
    );
}
