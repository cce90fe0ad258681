//! Date books killed between taking and releasing, between releasing and syncing, and within a sync.
//! Synced records are saved, others are unchanged, and every record can be taken at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use etui::calendar::datebook::{CheckedOut, DateBook};
use etui::calendar::{Calendar, CalendarObject};
use etui::{Error, Options, Store, Vfs};
use etui_testkit::own_process::{ProgramOfTest, in_own_process};
use etui_testkit::rng::SplitMix64;

use super::child::{Lives, Running, Task, is_over, kills, seed, tell, wait};
use super::kinds::{Written, name, number};
use super::steps::contents;
use crate::support::names;

/// Records in the date book; none is added or removed.
const RECORDS: u32 = 40;
/// Records that a child holds at most.
const HELD: usize = 6;

/// A step of a child. `Clean` and `Dirty` are reported before the step, `Taken` after it; they write
/// nothing to the store. `Sync`, `Look` and `Save` do: they are reported before the step and are
/// followed by `Done`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Taken(u32),
    Clean(u32),
    Dirty(u32, u64),
    Sync,
    /// Reads the calendar by other means than the date book.
    Look,
    /// Saves a record by other means.
    Save(u32, u64),
    Done,
    /// Waits for the parent.
    Hold,
}

impl Word {
    fn write(self) -> String {
        match self {
            Self::Taken(uid) => format!("taken {uid}"),
            Self::Clean(uid) => format!("clean {uid}"),
            Self::Dirty(uid, version) => format!("dirty {uid} {version}"),
            Self::Sync => "sync".to_owned(),
            Self::Look => "look".to_owned(),
            Self::Save(uid, version) => format!("save {uid} {version}"),
            Self::Done => "done".to_owned(),
            Self::Hold => "hold".to_owned(),
        }
    }

    fn read(line: &str) -> Self {
        let words: Vec<_> = line.split(' ').collect();
        let uid = |text: &str| text.parse::<u32>().unwrap();
        let version = |text: &str| text.parse::<u64>().unwrap();
        match words[..] {
            ["taken", u] => Self::Taken(uid(u)),
            ["clean", u] => Self::Clean(uid(u)),
            ["dirty", u, v] => Self::Dirty(uid(u), version(v)),
            ["sync"] => Self::Sync,
            ["look"] => Self::Look,
            ["save", u, v] => Self::Save(uid(u), version(v)),
            ["done"] => Self::Done,
            ["hold"] => Self::Hold,
            _ => panic!("no such word: {line}"),
        }
    }
}

/// The records' versions.
type Versions = BTreeMap<u32, u64>;

/// Model of a store that a date book works on.
#[derive(Debug, Clone, Default)]
struct Model {
    /// Committed versions.
    committed: Versions,
    /// Versions released dirty since.
    dirty: Versions,
    held: BTreeSet<u32>,
    /// The step that may be in progress.
    begun: Option<Word>,
    /// Records that were committed since the last sync.
    saved: u64,
}

impl Model {
    fn hear(&mut self, word: Word) {
        match word {
            Word::Taken(uid) => assert!(self.held.insert(uid)),
            Word::Clean(uid) => assert!(self.held.remove(&uid)),
            Word::Dirty(uid, version) => {
                assert!(self.held.remove(&uid));
                self.dirty.insert(uid, version);
            }
            Word::Sync | Word::Look | Word::Save(..) => assert_eq!(self.begun.replace(word), None),
            Word::Done => self.done(),
            Word::Hold => {}
        }
    }

    /// Ends the step in progress.
    fn done(&mut self) {
        let begun = self.begun.take().unwrap();
        self.saved += self.dirty.len() as u64;
        self.committed.append(&mut self.dirty);
        match begun {
            Word::Sync => self.saved = 0,
            Word::Save(uid, version) => {
                self.committed.insert(uid, version);
            }
            _ => {}
        }
    }

    /// Returns the possible contents of the store after a kill: with or without each commit.
    fn possible(&self) -> Vec<Versions> {
        let mut all = vec![self.committed.clone()];
        if let Some(begun) = self.begun {
            let mut now = self.committed.clone();
            now.extend(&self.dirty);
            all.push(now.clone());
            if let Word::Save(uid, version) = begun {
                now.insert(uid, version);
                all.push(now);
            }
        }
        all
    }

    /// Returns the text of a record as the process itself sees it.
    fn seen(&self, uid: u32) -> Option<String> {
        let version = self.dirty.get(&uid).or(self.committed.get(&uid))?;
        Some(CalendarObject::content(uid, *version))
    }
}

fn texts(versions: &Versions) -> BTreeMap<String, Vec<u8>> {
    let text = |(&uid, &version)| {
        (
            name(uid),
            CalendarObject::content(uid, version).into_bytes(),
        )
    };
    versions.iter().map(text).collect()
}

/// Returns the texts of the calendar, whose trash is empty.
fn live(calendar: &Calendar<'_>) -> BTreeMap<String, Vec<u8>> {
    let [live, removed] = contents(calendar);
    assert!(removed.is_empty());
    live
}

/// A child at work.
struct Worker<'s> {
    rng: SplitMix64,
    calendar: Calendar<'s>,
    book: DateBook<'s>,
    held: Vec<CheckedOut<'s>>,
    model: Model,
}

impl Worker<'_> {
    fn tell(&mut self, word: Word) {
        self.model.hear(word);
        tell(&word.write());
    }

    /// Returns the index of a random held record.
    fn any_held(&mut self) -> usize {
        self.rng.below(self.held.len() as u32) as usize
    }

    /// Takes a record by position or by id.
    fn take(&mut self) {
        let place = u64::from(self.rng.below(RECORDS));
        let stored = self.book.peek(place).unwrap().unwrap();
        let taken = match self.rng.chance(500) {
            true => self.book.take(place),
            false => self.book.take_id(stored.id),
        };
        match taken {
            Ok(taken) => {
                let uid = number(&taken.stored().uid);
                if let Some(text) = self.model.seen(uid) {
                    assert_eq!(String::from_utf8_lossy(&taken.stored().text), text);
                }
                self.held.push(taken);
                self.tell(Word::Taken(uid));
            }
            Err(Error::CheckedOut(record)) => {
                assert!(self.held.iter().any(|t| t.stored().id == record));
            }
            Err(e) => panic!("{e}"),
        }
    }

    fn release(&mut self, version: Option<u64>) {
        let at = self.any_held();
        let taken = self.held.swap_remove(at);
        let uid = number(&taken.stored().uid);
        match version {
            None => {
                self.tell(Word::Clean(uid));
                self.book.release(taken);
            }
            Some(version) => {
                self.tell(Word::Dirty(uid, version));
                let record = CalendarObject::make(uid, version);
                self.book.release_dirty(taken, record).unwrap();
            }
        }
    }

    /// Syncs, or closes and reopens the date book.
    fn sync(&mut self) {
        let expected = self.model.saved + self.model.dirty.len() as u64;
        self.tell(Word::Sync);
        let synced = match self.rng.below(3) {
            0 => {
                let new = self.calendar.date_book().unwrap();
                let old = std::mem::replace(&mut self.book, new);
                old.close().unwrap()
            }
            _ => self.book.sync().unwrap(),
        };
        assert_eq!((synced.saved, synced.conflicts.len()), (expected, 0));
        self.tell(Word::Done);
    }

    fn look(&mut self) {
        let uid = self.rng.below(RECORDS);
        self.tell(Word::Look);
        let found = self.calendar.get(&name(uid)).unwrap().unwrap();
        if let Some(text) = self.model.seen(uid) {
            assert_eq!(String::from_utf8_lossy(&found.text), text);
        }
        self.tell(Word::Done);
    }

    fn save(&mut self, version: u64) {
        let uid = self.rng.below(RECORDS);
        // A record that is taken and also changed by other means is a conflict.
        if self.model.held.contains(&uid) {
            return;
        }
        self.tell(Word::Save(uid, version));
        self.calendar
            .save(&CalendarObject::make(uid, version))
            .unwrap();
        self.tell(Word::Done);
    }
}

/// The child.
#[test]
fn a_date_book_is_used_until_killed() {
    let Some(task) = Task::given() else {
        return;
    };
    let mut rng = SplitMix64::new(task.seed);
    let store = task.begin(&mut rng);
    let calendar = store.calendar().unwrap();
    let mut worker = Worker {
        rng,
        book: calendar.date_book().unwrap(),
        calendar,
        held: Vec::new(),
        model: Model::default(),
    };
    for version in task.versions() {
        match worker.rng.below(100) {
            0..45 if worker.held.len() < HELD => worker.take(),
            45..60 if !worker.held.is_empty() => worker.release(None),
            60..88 if !worker.held.is_empty() => worker.release(Some(version)),
            88..93 => worker.sync(),
            93..95 => worker.look(),
            95..97 => worker.save(version),
            97 => {
                worker.tell(Word::Hold);
                wait();
            }
            _ => {}
        }
    }
}

/// While the child holds a record or has not synced it, no one else can take it or see its dirty
/// text.
fn nobody_else_takes(path: &Path, vfs: Vfs, model: &Model) {
    let mut options = Options::default();
    options.vfs = vfs;
    let store = Store::open_with(path, &options);
    // A redo log belongs to one process.
    if vfs == Vfs::RedoLog {
        assert!(matches!(store, Err(Error::Refused { .. })));
        return;
    }
    let store = store.unwrap();
    let calendar = store.calendar().unwrap();
    assert_eq!(live(&calendar), texts(&model.committed));
    let mut book = calendar.date_book().unwrap();
    let mut free = Vec::new();
    for place in 0..u64::from(RECORDS) {
        let stored = book.peek(place).unwrap().unwrap();
        let uid = number(&stored.uid);
        let is_theirs = model.held.contains(&uid) || model.dirty.contains_key(&uid);
        match book.take(place) {
            Ok(taken) => {
                assert!(!is_theirs, "{uid} is the child's: {model:?}");
                free.push(taken);
            }
            Err(Error::CheckedOut(record)) => {
                assert!(is_theirs, "{uid} is nobody's: {model:?}");
                assert_eq!(record, stored.id);
            }
            Err(e) => panic!("{e}"),
        }
    }
    drop(free);
    assert_eq!(book.close().unwrap().saved, 0);
    store.close().unwrap();
}

/// Everything can be taken, changed and synced.
fn everything_is_free(store: &Store, model: &mut Model, version: u64) -> etui::Result<()> {
    let calendar = store.calendar()?;
    let mut book = calendar.date_book()?;
    assert_eq!(book.count()?, u64::from(RECORDS));
    let all: etui::Result<Vec<_>> = (0..u64::from(RECORDS))
        .map(|place| book.take(place))
        .collect();
    for (place, taken) in (0..).zip(all?) {
        let uid = number(&taken.stored().uid);
        match place == version % u64::from(RECORDS) {
            true => {
                let record = CalendarObject::make(uid, version);
                book.release_dirty(taken, record)?;
                model.committed.insert(uid, version);
            }
            false => book.release(taken),
        }
    }
    assert_eq!(book.close()?.saved, 1);
    Ok(())
}

#[test]
fn synced_records_survive_a_kill_and_locks_are_released() {
    // It starts many processes.
    if !in_own_process(synced_records_survive_a_kill_and_locks_are_released) {
        return;
    }
    survives_kills(Vfs::System);
}

#[test]
fn records_synced_to_a_redo_log_survive_a_kill_and_locks_are_released() {
    // It starts many processes.
    if !in_own_process(records_synced_to_a_redo_log_survive_a_kill_and_locks_are_released) {
        return;
    }
    survives_kills(Vfs::RedoLog);
}

fn survives_kills(vfs: Vfs) {
    let seed = seed();
    let mut rng = SplitMix64::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    let beside = dir.path().join("personal.etui-locks");
    let mut model = Model {
        committed: (0..RECORDS).map(|uid| (uid, u64::from(uid))).collect(),
        ..Model::default()
    };
    let store = Store::open(&path).unwrap();
    let all = model.committed.iter();
    let all: Vec<_> = all.map(|(&u, &v)| CalendarObject::make(u, v)).collect();
    store.calendar().unwrap().save_many(&all).unwrap();
    store.close().unwrap();

    let child = ProgramOfTest::new(a_date_book_is_used_until_killed);
    let mut seen = Seen::default();
    let mut lives = Lives::new();
    for round in 0.. {
        if is_over(round, seen.is_enough(round)) {
            break;
        }
        let life = lives.draw(&mut rng);
        let syncs_before = seen.syncs;
        let mut running = Running::start(child, &path, vfs, seed * 1_000 + round);
        let mut end = Instant::now() + life;
        // Some children are killed while they wait with locks held.
        let waits = rng.chance(300);
        let mut looks = 0;
        while let Some(line) = running.hear(end) {
            let word = Word::read(&line);
            model.hear(word);
            seen.syncs += u64::from(word == Word::Sync);
            if word == Word::Hold {
                let asked = Instant::now();
                // A refused lock takes long.
                if vfs == Vfs::System || looks == 0 {
                    nobody_else_takes(&path, vfs, &model);
                    looks += 1;
                }
                if waits {
                    break;
                }
                end += asked.elapsed();
                running.go_on();
            }
        }
        seen.looks += looks;
        for line in running.kill() {
            let word = Word::read(&line);
            model.hear(word);
            seen.syncs += u64::from(word == Word::Sync);
        }
        lives.learn(seen.syncs > syncs_before);
        let what = format!("round {round}, seed {seed}, killed after {life:?}");
        seen.held += model.held.len();
        seen.dirty += model.dirty.len();
        seen.under_way += u64::from(model.begun.is_some());

        // Arbitrary contents of the lock file do no harm.
        match rng.below(4) {
            0 => std::fs::write(&beside, rng.next_u64().to_le_bytes()).unwrap(),
            1 => std::fs::write(&beside, [7; 3]).unwrap(),
            _ => {}
        }
        let mut options = Options::default();
        options.read_only = round % 2 == 1;
        options.vfs = vfs;
        let asked = Instant::now();
        let mut store = Store::open_with(&path, &options).unwrap();
        let found = live(&store.calendar().unwrap());
        seen.slowest = seen.slowest.max(asked.elapsed());
        let possible = model.possible();
        let is = possible.iter().position(|state| texts(state) == found);
        let Some(is) = is else {
            let committed = texts(&model.committed);
            let other = found
                .iter()
                .filter(|(uid, text)| committed.get(*uid) != Some(text));
            let other: Vec<_> = other.map(|(uid, _)| uid).collect();
            panic!("{what}: {other:?} are as they may not be: {model:?}");
        };
        seen.kept += u64::from(is > 0);
        model = Model {
            committed: possible[is].clone(),
            ..Model::default()
        };
        let report = store.check().unwrap();
        assert!(report.is_clean(), "{what}: {:?}", report.problems);
        seen.compared += CalendarObject::compare(&store.calendar().unwrap(), seed + round);
        if options.read_only {
            store.close().unwrap();
            options.read_only = false;
            store = Store::open_with(&path, &options).unwrap();
        }
        let asked = Instant::now();
        if let Err(e) = everything_is_free(&store, &mut model, (1 << 60) + round) {
            panic!(
                "{what}, on {:?}, after {:?}: {e:?}",
                options.vfs,
                asked.elapsed()
            );
        }
        store.close().unwrap();
        assert!(!beside.exists(), "{what}: {:?}", names(dir.path()));
    }
    println!("{} kills: {seen:?}", kills());
    assert!(
        seen.is_enough(kills()),
        "the kills came too early to say anything: {seen:?}"
    );
}

/// Counts of the situations that occurred.
#[derive(Debug, Default)]
struct Seen {
    syncs: u64,
    /// Checks of a child that was waiting.
    looks: u64,
    /// Records that were locked, and that were dirty, when their program was killed.
    held: usize,
    dirty: usize,
    /// Kills during a write, and those after which the write was kept.
    under_way: u64,
    kept: u64,
    /// Occurrences and alarms compared with the records.
    compared: usize,
    /// Longest time to open and read a store.
    slowest: Duration,
}

impl Seen {
    fn is_enough(&self, kills: u64) -> bool {
        self.syncs > kills && self.looks > 0 && self.held > 0 && self.dirty > 0
    }
}
