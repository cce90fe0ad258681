//! A program is killed at any moment: what it was told is saved is there, what it was not told of
//! is there as a whole or not at all, and the store opens at once.
//!
//! A child process writes and tells of each step on its standard output, before the call and
//! after it returned; the parent kills it and compares the store with what was told.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use etui::contacts::Card;
use etui::{Durability, Error, Options, Store, Vfs};
use etui_testkit::people::{Version, person};
use etui_testkit::rng::SplitMix64;

/// Contacts written about; few enough that most of them are met again.
const UIDS: u32 = 500;
/// Of which seed the people are.
const PEOPLE: u64 = 11;

const STORE: &str = "ETUI_TEST_KILL_STORE";
const SEED: &str = "ETUI_TEST_KILL_SEED";
/// Set if the child writes by etui's redo log.
const REDO: &str = "ETUI_TEST_KILL_REDO";

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// Saves these contacts, each in this version, in one transaction.
    Save(Vec<(u32, u64)>),
    Remove(Vec<u32>),
    Restore(Vec<u32>),
}

impl Step {
    /// One of them alone half of the time, else up to 300 in a batch. `versions` are numbers
    /// never used before.
    fn random(rng: &mut SplitMix64, versions: &mut impl Iterator<Item = u64>) -> Self {
        let many = match rng.below(4) {
            0 | 1 => 1,
            2 => 2 + rng.below(8),
            _ => 50 + rng.below(250),
        };
        let mut uids: Vec<u32> = (0..many).map(|_| rng.below(UIDS)).collect();
        match rng.below(10) {
            0..6 => Self::Save(uids.drain(..).zip(versions).collect()),
            6..8 => Self::Remove(uids),
            _ => Self::Restore(uids),
        }
    }

    fn run(&self, store: &Store) {
        let contacts = store.contacts().unwrap();
        // A batch of one goes by way of the calls for one.
        let done = match self {
            Self::Save(one) if let [(uid, version)] = one[..] => {
                contacts.save(&card(uid, version)).map(drop)
            }
            Self::Save(many) => {
                let cards: Vec<_> = many.iter().map(|&(u, v)| card(u, v)).collect();
                contacts.save_many(&cards).map(drop)
            }
            Self::Remove(one) if let [uid] = one[..] => contacts.remove(&name(uid)),
            Self::Remove(many) => contacts.remove_many(&names(many)).map(drop),
            Self::Restore(one) if let [uid] = one[..] => contacts.restore(&name(uid)).map(drop),
            Self::Restore(many) => contacts.restore_many(&names(many)).map(drop),
        };
        match done {
            Ok(()) | Err(Error::NoRecord { .. } | Error::NothingToUndo { .. }) => {}
            Err(e) => panic!("{self:?}: {e}"),
        }
    }

    /// `save 1=7 2=8`, `remove 1 2`, `restore 1`.
    fn write(&self) -> String {
        let join = |uids: &[u32]| uids.iter().map(|u| format!(" {u}")).collect::<String>();
        match self {
            Self::Save(all) => {
                "save".to_owned()
                    + &all
                        .iter()
                        .map(|(u, v)| format!(" {u}={v}"))
                        .collect::<String>()
            }
            Self::Remove(uids) => format!("remove{}", join(uids)),
            Self::Restore(uids) => format!("restore{}", join(uids)),
        }
    }

    fn read(line: &str) -> Self {
        let mut words = line.split(' ');
        let verb = words.next().unwrap();
        match verb {
            "save" => Self::Save(
                words
                    .map(|w| {
                        let (uid, version) = w.split_once('=').unwrap();
                        (uid.parse().unwrap(), version.parse().unwrap())
                    })
                    .collect(),
            ),
            "remove" => Self::Remove(words.map(|w| w.parse().unwrap()).collect()),
            "restore" => Self::Restore(words.map(|w| w.parse().unwrap()).collect()),
            _ => panic!("no such step: {line}"),
        }
    }
}

fn name(uid: u32) -> String {
    format!("contact-{uid}")
}

fn names(uids: &[u32]) -> Vec<String> {
    uids.iter().map(|&u| name(u)).collect()
}

/// Each version of a contact is another person.
fn text(uid: u32, version: u64) -> String {
    let mut person = person(PEOPLE, version);
    person.uid = name(uid);
    // In 4.0 it would be written as a URN.
    person.version = Version::V3;
    person.to_text()
}

fn card(uid: u32, version: u64) -> Card {
    Card::parse(text(uid, version)).unwrap()
}

/// What the store must hold.
#[derive(Debug, Clone, Default)]
struct Model(BTreeMap<u32, Record>);

#[derive(Debug, Clone)]
struct Record {
    version: u64,
    live: bool,
    former: Option<u64>,
}

impl Model {
    fn save(&mut self, uid: u32, version: u64) {
        let new = Record {
            version,
            live: true,
            former: None,
        };
        self.0
            .entry(uid)
            .and_modify(|r| {
                if !r.live || r.version != version {
                    *r = Record {
                        former: Some(r.version),
                        ..new.clone()
                    };
                }
            })
            .or_insert(new);
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Save(all) => all.iter().for_each(|&(u, v)| self.save(u, v)),
            Step::Remove(uids) => {
                for uid in uids {
                    if let Some(record) = self.0.get_mut(uid) {
                        record.live = false;
                    }
                }
            }
            Step::Restore(uids) => {
                for &uid in uids {
                    let back = self.0.get(&uid).and_then(|r| match r.live {
                        true => r.former,
                        false => Some(r.version),
                    });
                    if let Some(version) = back {
                        self.save(uid, version);
                    }
                }
            }
        }
    }

    /// UIDs and texts of the live contacts, and of the removed ones.
    fn contents(&self) -> [BTreeMap<String, Vec<u8>>; 2] {
        [true, false].map(|live| {
            self.0
                .iter()
                .filter(|(_, r)| r.live == live)
                .map(|(&uid, r)| (name(uid), text(uid, r.version).into_bytes()))
                .collect()
        })
    }
}

/// UIDs, live and removed, that are not the same in both.
fn differing(
    a: &[BTreeMap<String, Vec<u8>>; 2],
    b: &[BTreeMap<String, Vec<u8>>; 2],
) -> [Vec<String>; 2] {
    [0, 1].map(|i| {
        let all: BTreeSet<_> = a[i].keys().chain(b[i].keys()).collect();
        all.into_iter()
            .filter(|&k| a[i].get(k) != b[i].get(k))
            .cloned()
            .collect()
    })
}

fn contents(store: &Store) -> [BTreeMap<String, Vec<u8>>; 2] {
    let contacts = store.contacts().unwrap();
    let texts = contacts.all().unwrap();
    let live = texts
        .iter()
        .map(|(id, text)| {
            let found = contacts.by_id(id).unwrap().unwrap();
            assert_eq!(found.text, text);
            (found.uid, found.text)
        })
        .collect();
    let removed = contacts.trash().unwrap();
    [live, removed.into_iter().map(|c| (c.uid, c.text)).collect()]
}

/// The child: writes until it is killed.
#[test]
fn writes_until_killed() {
    let (Some(store), Ok(seed)) = (std::env::var_os(STORE), std::env::var(SEED)) else {
        return;
    };
    let seed: u64 = seed.parse().unwrap();
    let mut rng = SplitMix64::new(seed);
    let mut options = Options::default();
    if rng.chance(500) {
        options.durability = Durability::Deferred;
    }
    if std::env::var_os(REDO).is_some() {
        options.vfs = Vfs::Etui;
    }
    tell("start");
    let store = Store::open_with(store, &options).unwrap();
    let mut versions = seed * 1_000_000..;
    loop {
        let step = Step::random(&mut rng, &mut versions);
        tell(&step.write());
        step.run(&store);
        tell("done");
    }
}

fn tell(what: &str) {
    // The test runner may have left a line unfinished.
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n@{what}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Runs the child, kills it after `life`, and gives back the whole lines it told.
fn run_and_kill(store: &Path, vfs: Vfs, seed: u64, life: Duration) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    if vfs == Vfs::Etui {
        command.env(REDO, "1");
    }
    let mut child = command
        .args(["--exact", "writes_until_killed", "--nocapture"])
        .env(STORE, store)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut told = Vec::new();
    let mut read = |told: &mut Vec<String>| {
        let mut line = String::new();
        let more = out.read_line(&mut line).unwrap() > 0;
        if let Some(word) = line.strip_suffix('\n').and_then(|l| l.strip_prefix('@')) {
            told.push(word.to_owned());
        }
        more
    };
    while told.is_empty() {
        assert!(read(&mut told), "the child did not begin");
    }
    // Read on meanwhile: a full pipe would hold the child.
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            while read(&mut told) {}
            told
        });
        std::thread::sleep(life);
        child.kill().unwrap();
        let status = child.wait().unwrap();
        let told = reader.join().unwrap();
        assert_eq!(status.code(), None, "the child ended by itself: {told:?}");
        told
    })
}

#[test]
fn what_was_acknowledged_survives_a_kill_at_any_moment() {
    survives_kills(Vfs::System);
}

/// What was killed is opened with etui's VFS or without it: either takes up what the log holds.
#[test]
fn what_was_acknowledged_in_a_redo_log_survives_a_kill_at_any_moment() {
    survives_kills(Vfs::Etui);
}

fn survives_kills(vfs: Vfs) {
    let long = std::env::var_os("ETUI_TEST_LONG").is_some();
    let rounds = if long { 200 } else { 20 };
    let seed = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .as_secs()
        % 1_000_000;
    let seed = std::env::var(SEED).map_or(seed, |s| s.parse().unwrap());
    println!("seed {seed} ({SEED}={seed} repeats it)");
    let mut rng = SplitMix64::new(seed);

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    let mut model = Model::default();
    let (mut acknowledged, mut kept) = (0, 0);
    for round in 0..rounds {
        let life = Duration::from_millis(rng.below(151).into());
        let told = run_and_kill(&path, vfs, seed * 1_000 + round, life);
        let mut begun: Option<Step> = None;
        for line in &told[1..] {
            if line == "done" {
                model.apply(&begun.take().unwrap());
                acknowledged += 1;
            } else {
                assert_eq!(begun, None);
                begun = Some(Step::read(line));
            }
        }

        // Whoever comes next may be a program that only reads.
        let mut options = Options::default();
        options.read_only = round % 2 == 1 && acknowledged > 0;
        if round % 4 < 2 {
            options.vfs = vfs;
        }
        let store = Store::open_with(&path, &options).unwrap();
        let found = contents(&store);
        let mut with_last = model.clone();
        if let Some(step) = &begun {
            with_last.apply(step);
        }
        if found != model.contents() {
            assert!(
                found == with_last.contents(),
                "round {round}, seed {seed}, killed after {life:?}: {:?} differ from what was \
                 acknowledged, {:?} from that and the last step, {begun:?}",
                differing(&found, &model.contents()),
                differing(&found, &with_last.contents()),
            );
            model = with_last;
            kept += 1;
        }
        let report = store.check().unwrap();
        assert!(
            report.is_clean(),
            "round {round}, seed {seed}: {:?}",
            report.problems
        );
        assert_eq!(report.contacts, found[0].len() as u64);
        assert_eq!(store.contacts().unwrap().count().unwrap(), report.contacts);
        store.close().unwrap();
    }
    println!("{acknowledged} steps acknowledged, {kept} kept that were not, {rounds} kills");
    assert!(
        acknowledged > rounds,
        "the kills came too early to say anything"
    );
}
