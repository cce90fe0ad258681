//! [`Step`]: one write of a child, and [`Model`]: the expected content of the store.

use std::collections::{BTreeMap, BTreeSet};

use etui::Error;
use etui::record::Collection;
use etui_testkit::rng::SplitMix64;

use super::kinds::{Written, name};

/// Number of records; small, so that most are written several times.
const UIDS: u32 = 500;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Saves these records in these versions, in one transaction.
    Save(Vec<(u32, u64)>),
    Remove(Vec<u32>),
    Restore(Vec<u32>),
}

impl Step {
    /// Draws a step: half of the time one record, else a batch of up to 300. `versions` are numbers
    /// never used before.
    pub fn random(rng: &mut SplitMix64, versions: &mut impl Iterator<Item = u64>) -> Self {
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

    pub fn run<R: Written>(&self, records: &Collection<R>) {
        // A batch of one uses the calls for a single record.
        let done = match self {
            Self::Save(one) if let [(uid, version)] = one[..] => {
                records.save(&R::make(uid, version)).map(drop)
            }
            Self::Save(many) => {
                let many: Vec<_> = many.iter().map(|&(u, v)| R::make(u, v)).collect();
                records.save_many(&many).map(drop)
            }
            Self::Remove(one) if let [uid] = one[..] => records.remove(&name(uid)),
            Self::Remove(many) => records.remove_many(&names(many)).map(drop),
            Self::Restore(one) if let [uid] = one[..] => records.restore(&name(uid)).map(drop),
            Self::Restore(many) => records.restore_many(&names(many)).map(drop),
        };
        match done {
            Ok(()) | Err(Error::NoRecord { .. } | Error::NothingToUndo { .. }) => {}
            Err(e) => panic!("{self:?}: {e}"),
        }
    }

    /// `save 1=7 2=8`, `remove 1 2`, `restore 1`.
    pub fn write(&self) -> String {
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

    pub fn read(line: &str) -> Self {
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

fn names(uids: &[u32]) -> Vec<String> {
    uids.iter().map(|&u| name(u)).collect()
}

/// Texts by UID of the live records, and of the removed ones.
pub type Contents = [BTreeMap<String, Vec<u8>>; 2];

/// The expected content of the store.
#[derive(Debug, Clone, Default)]
pub struct Model(BTreeMap<u32, State>);

#[derive(Debug, Clone)]
struct State {
    version: u64,
    live: bool,
    former: Option<u64>,
}

impl Model {
    fn save(&mut self, uid: u32, version: u64) {
        let new = State {
            version,
            live: true,
            former: None,
        };
        self.0
            .entry(uid)
            .and_modify(|r| {
                if !r.live || r.version != version {
                    *r = State {
                        former: Some(r.version),
                        ..new.clone()
                    };
                }
            })
            .or_insert(new);
    }

    pub fn apply(&mut self, step: &Step) {
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

    /// Returns UIDs and texts of the live records, and of the removed ones.
    pub fn contents<R: Written>(&self) -> Contents {
        [true, false].map(|live| {
            self.0
                .iter()
                .filter(|(_, r)| r.live == live)
                .map(|(&uid, r)| (name(uid), R::content(uid, r.version).into_bytes()))
                .collect()
        })
    }
}

/// Returns the UIDs, live and removed, that differ.
pub fn differing(a: &Contents, b: &Contents) -> [Vec<String>; 2] {
    [0, 1].map(|i| {
        let all: BTreeSet<_> = a[i].keys().chain(b[i].keys()).collect();
        all.into_iter()
            .filter(|&k| a[i].get(k) != b[i].get(k))
            .cloned()
            .collect()
    })
}

/// Returns the content of a collection.
pub fn contents<R: Written>(records: &Collection<R>) -> Contents {
    let texts = records.all().unwrap();
    let live = texts
        .iter()
        .map(|(id, text)| {
            let found = records.get(id).unwrap().unwrap();
            assert_eq!(found.text, text);
            (found.uid, found.text)
        })
        .collect();
    let removed = records.trash().unwrap();
    [live, removed.into_iter().map(|r| (r.uid, r.text)).collect()]
}
