//! Stores, by default and on the redo log: contacts, calendars and date books, then power failures at
//! each moment. Acknowledged changes exist, the sync of a date book as a whole or not at all; the store
//! is clean, and every record can be checked out again. By default, plain SQLite reads them, too.
//!
//! ```text
//! ETUI_CRASH_IMAGES=40000 ETUI_CRASH_SEED=1 \
//!     cargo test --release -p etui-vfs --test it -- crash::store --nocapture
//! ```

mod mirror;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use ::etui::calendar::CalendarObject;
use ::etui::calendar::zones::TimeZoneResolver;
use ::etui::contacts::Card;
use ::etui::datebook::{CheckedOut, DateBook};
use ::etui::record::{self, Collection};
use ::etui::{Durability, Error, Store, Vfs};
use etui_testkit::calendars::{Span, entry};
use etui_testkit::disk::{CrashImage, CrashPlan, RecordingDisk, crash, hash_of};
use etui_testkit::people::{Version, person};
use etui_testkit::rng::{SplitMix64, mix64};
use etui_vfs::Options;
use etui_vfs::device::Role;
use rusqlite::{Connection, OpenFlags};

use crate::crash::commits::{Commits, Mark, Window};
use crate::crash::etui::SMALL;
use crate::crash::plain::{self, Mistake};
use crate::crash::random::variable;
use mirror::{Mirror, write_out};

const NAME: &str = "personal.etui";
/// The number of records of each kind in use.
const UIDS: u32 = 24;

/// Limits so small that a history of some saves outgrows them.
const LITTLE: Options = Options {
    append_in_place: 24 << 10,
    gather: 12 << 10,
    ..SMALL
};

/// The files of all stores of this process.
fn mirror() -> &'static Arc<Mirror> {
    static MIRROR: OnceLock<Arc<Mirror>> = OnceLock::new();
    MIRROR.get_or_init(|| {
        let mirror = Arc::new(Mirror::new());
        let vfs = etui_vfs::register_with("etui-store", LITTLE, mirror.clone()).unwrap();
        assert!(::etui::use_vfs(vfs));
        plain::register("mirrored", mirror.clone(), Mistake::None);
        let base = etui_vfs_base::vfs::register_above("etui-mirrored", "mirrored").unwrap();
        assert!(::etui::use_base(base));
        mirror
    })
}

fn open(path: &Path, vfs: Vfs, durability: Durability) -> Result<Store, Error> {
    mirror();
    let mut options = ::etui::Options::default();
    options.locale = Some("en".into());
    options.region = Some("GB".into());
    options.vfs = vfs;
    options.durability = durability;
    Store::open_with(path, &options)
}

fn name(uid: u32) -> String {
    format!("record-{uid}")
}

fn card(uid: u32, version: u64) -> Card {
    let mut person = person(5, version);
    person.uid = name(uid);
    // 4.0 would write it as a URN.
    person.version = Version::V3;
    Card::parse(person.to_text()).unwrap()
}

fn record(uid: u32, version: u64) -> CalendarObject {
    let entry = entry(5, Span::years(2), version);
    CalendarObject::parse(
        entry.text.replace(&entry.uid, &name(uid)),
        &TimeZoneResolver::new(),
    )
    .unwrap()
}

/// Returns a hash of all live and removed records.
fn state(store: &Store) -> Result<u64, Error> {
    let mut all = Vec::new();
    add(&store.contacts()?, &mut all)?;
    add(&store.calendar()?, &mut all)?;
    Ok(hash_of(&all))
}

fn add<R: record::RecordKind>(records: &Collection<R>, to: &mut Vec<u8>) -> Result<(), Error> {
    let mut live = BTreeMap::new();
    for (id, text) in records.all()?.iter() {
        let stored = records.get(id)?;
        live.insert(stored.map(|s| s.uid), text.to_vec());
    }
    let removed = records.trash()?;
    let removed: BTreeMap<_, _> = removed.into_iter().map(|r| (Some(r.uid), r.text)).collect();
    for all in [live, removed] {
        to.extend(all.len().to_le_bytes());
        for (uid, text) in all {
            to.extend(uid.unwrap_or_default().into_bytes());
            to.extend(text.len().to_le_bytes());
            to.extend(text);
        }
    }
    Ok(())
}

/// Returns a hash of all live records, as plain SQLite reads them.
fn live_by_plain_sqlite(path: &Path) -> rusqlite::Result<u64> {
    let db = Connection::open_with_flags_and_vfs(path, OpenFlags::SQLITE_OPEN_READ_WRITE, "unix")?;
    let mut all = db.prepare("SELECT CAST(text AS BLOB) FROM item ORDER BY 1")?;
    let all = all.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
    Ok(hash_of(
        &all.collect::<rusqlite::Result<Vec<_>>>()?.concat(),
    ))
}

/// Returns the hash of a store's live records.
fn live(store: &Store) -> Result<u64, Error> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    let (contacts, calendar) = (store.contacts()?.all()?, store.calendar()?.all()?);
    all.extend(contacts.iter().map(|(_, text)| text.to_vec()));
    all.extend(calendar.iter().map(|(_, text)| text.to_vec()));
    all.sort_unstable();
    Ok(hash_of(&all.concat()))
}

/// A history in progress.
struct Run {
    vfs: Vfs,
    path: PathBuf,
    disk: RecordingDisk,
    durability: Durability,
    rng: SplitMix64,
    commits: Commits,
    version: u64,
    syncs: usize,
}

/// The state of a session.
struct Session<'s> {
    store: &'s Store,
    /// Sees committed changes only.
    observer: &'s Store,
    held: Vec<CheckedOut>,
    /// Records released dirty and not synced.
    dirty: BTreeMap<String, CalendarObject>,
}

impl Session<'_> {
    /// Returns true if the record can be changed elsewhere without a conflict.
    fn is_free(&self, uid: u32) -> bool {
        let uid = name(uid);
        self.held.iter().all(|t| t.stored().uid != uid) && !self.dirty.contains_key(&uid)
    }
}

impl Run {
    /// Creates a store, mirrored since it was closed.
    fn new(vfs: Vfs, path: PathBuf, seed: u64, unflushed: Option<Role>) -> Self {
        let mut rng = SplitMix64::new(seed);
        let durability = match rng.chance(250) {
            true => Durability::Deferred,
            false => Durability::Full,
        };
        let store = open(&path, vfs, durability).unwrap();
        let empty = state(&store).unwrap();
        store.close().unwrap();
        let disk = mirror().follow(path.parent().unwrap(), unflushed);
        Self {
            vfs,
            path,
            disk,
            durability,
            rng,
            commits: Commits {
                states: vec![empty],
                ..Commits::default()
            },
            version: seed << 20,
            syncs: 0,
        }
    }

    fn mark(&self, mark: Mark) {
        self.disk.mark(mark.encode());
    }

    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    /// Runs a commit; `flushed`: durable when it returns, at the store's level.
    fn commit(&mut self, observer: &Store, flushed: bool, work: impl FnOnce()) {
        let commit = self.commits.states.len();
        self.mark(Mark::Begun(commit));
        work();
        let now = state(observer).unwrap();
        // A commit without changes may write nothing, and shows nothing.
        if self.commits.states.last() != Some(&now) {
            self.commits.states.push(now);
        }
        let last = self.commits.states.len() - 1;
        self.mark(Mark::Acknowledged(last));
        if flushed && self.durability == Durability::Full && last == commit {
            self.mark(Mark::Durable(last));
        }
    }

    /// A program opens the store, uses it and closes it.
    fn session(&mut self) {
        let store = open(&self.path, self.vfs, self.durability).unwrap();
        let observer = open(&self.path, self.vfs, self.durability).unwrap();
        let mut session = Session {
            store: &store,
            observer: &observer,
            held: Vec::new(),
            dirty: BTreeMap::new(),
        };
        let calendar = store.calendar().unwrap();
        let mut book = DateBook::open(&calendar);
        for _ in 0..4 + self.rng.below(12) {
            match self.rng.below(12) {
                0 => self.write_contacts(&mut session),
                1 | 2 => self.write_calendar(&mut session),
                3..8 => {
                    let count = book.count().unwrap() as u32;
                    for _ in 0..1 + self.rng.below(4).min(count) {
                        let taken = book.take(u64::from(self.rng.below(count.max(1))));
                        session.held.extend(taken);
                    }
                    while !session.held.is_empty() && self.rng.chance(700) {
                        let at = self.rng.below(session.held.len() as u32) as usize;
                        let taken = session.held.swap_remove(at);
                        if self.rng.chance(200) {
                            drop(taken);
                            continue;
                        }
                        let uid = taken.stored().uid.clone();
                        let number = uid.strip_prefix("record-").unwrap().parse().unwrap();
                        let new = record(number, self.next_version());
                        session.dirty.insert(uid, new.clone());
                        book.release_dirty(taken, new).unwrap();
                    }
                }
                _ => {
                    let dirty = std::mem::take(&mut session.dirty);
                    self.sync(&observer, dirty, || {
                        assert_eq!(book.sync().unwrap().conflicts.len(), 0);
                    });
                }
            }
        }
        let dirty = std::mem::take(&mut session.dirty);
        drop(session);
        self.sync(&observer, dirty, || {
            assert_eq!(book.close().unwrap().conflicts.len(), 0);
        });
        store.close().unwrap();
        observer.close().unwrap();
        self.mark(Mark::Durable(self.commits.states.len() - 1));
    }

    /// Syncs a date book: changes committed before become durable, too.
    fn sync(
        &mut self,
        observer: &Store,
        dirty: BTreeMap<String, CalendarObject>,
        work: impl FnOnce(),
    ) {
        self.syncs += usize::from(!dirty.is_empty());
        self.commit(observer, true, work);
        if self.durability == Durability::Full {
            self.mark(Mark::Durable(self.commits.states.len() - 1));
        }
        let calendar = observer.calendar().unwrap();
        for (uid, record) in dirty {
            assert_eq!(calendar.get(&uid).unwrap().unwrap().text, record.text());
        }
    }

    fn write_contacts(&mut self, session: &mut Session<'_>) {
        let contacts = session.store.contacts().unwrap();
        let many = 1 + self.rng.below(6);
        let cards: Vec<_> = (0..many)
            .map(|_| card(self.rng.below(UIDS), self.next_version()))
            .collect();
        let uid = name(self.rng.below(UIDS));
        let removes = self.rng.chance(200);
        self.commit(session.observer, true, || match removes {
            true => drop(contacts.remove(&uid)),
            false => drop(contacts.save_many(&cards).unwrap()),
        });
    }

    fn write_calendar(&mut self, session: &mut Session<'_>) {
        let calendar = session.store.calendar().unwrap();
        let many = 1 + self.rng.below(6);
        let uids: Vec<u32> = (0..many)
            .map(|_| self.rng.below(UIDS))
            .filter(|uid| session.is_free(*uid))
            .collect();
        let names: Vec<_> = uids.iter().map(|uid| name(*uid)).collect();
        let records: Vec<_> = uids
            .iter()
            .map(|uid| record(*uid, self.next_version()))
            .collect();
        let what = self.rng.below(8);
        self.commit(session.observer, true, || match what {
            0 => drop(calendar.remove_many(&names).unwrap()),
            1 => drop(calendar.restore_many(&names).unwrap()),
            _ => drop(calendar.save_many(&records).unwrap()),
        });
    }
}

/// Opens an image as the next program does. Returns its state.
fn look(vfs: Vfs, image: &CrashImage<'_>, draw: u64) -> Result<u64, String> {
    let text = |e: Error| e.to_string();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(NAME);
    write_out(image, dir.path());
    let store = open(&path, vfs, Durability::Full).map_err(text)?;
    let found = state(&store).map_err(text)?;
    if vfs == Vfs::System {
        let copy = tempfile::tempdir().unwrap();
        write_out(image, copy.path());
        let plain = live_by_plain_sqlite(&copy.path().join(NAME)).map_err(|e| e.to_string())?;
        if plain != live(&store).map_err(text)? {
            return Err("plain SQLite reads other records beside the WAL".to_owned());
        }
    }
    let report = store.check().map_err(text)?;
    if !report.is_clean() {
        return Err(format!("check: {:?}", report.problems));
    }
    let calendar = store.calendar().map_err(text)?;
    let mut book = DateBook::open(&calendar);
    let count = book.count().map_err(text)?;
    let all: Result<Vec<_>, _> = (0..count).map(|place| book.take(place)).collect();
    let mut all = all.map_err(|e| format!("taking all {count}: {e}"))?;
    let mut after = found;
    if let Some(taken) = all.pop() {
        let uid = taken.stored().uid.strip_prefix("record-").unwrap();
        let record = record(uid.parse().unwrap(), mix64(draw));
        book.release_dirty(taken, record).map_err(text)?;
        drop(all);
        book.close().map_err(text)?;
        after = state(&store).map_err(text)?;
        if after == found {
            return Err("what was synced after recovery is not there".to_owned());
        }
    } else {
        drop((all, book));
    }
    store.close().map_err(text)?;
    // The contents are equal without the VFS.
    let plain = open(&path, Vfs::System, Durability::Full).map_err(text)?;
    if state(&plain).map_err(text)? != after {
        return Err("after a clean close plain SQLite sees other records".to_owned());
    }
    if !plain.check().map_err(text)?.is_clean() {
        return Err("after what was done next the store is not clean".to_owned());
    }
    plain.close().map_err(text)?;
    Ok(found)
}

/// Checks whether an image may have this state.
fn judge(commits: &Commits, window: Window, found: u64) -> Result<(), String> {
    if commits.allows(window, found) {
        return Ok(());
    }
    let known = commits.find(found);
    let (low, high) = (window.durable, window.begun);
    Err(format!(
        "the records are as commits {known:?} left them; wanted {low} to {high}"
    ))
}

/// The results of a run.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    histories: usize,
    commits: usize,
    /// Syncs of date books with changes.
    syncs: usize,
    images: usize,
    /// Distinct images that were opened.
    distinct: usize,
}

/// Runs histories of seeds from `first`, until this number of distinct images was opened, or one is
/// wrong.
fn hunt(
    vfs: Vfs,
    first: u64,
    images: usize,
    unflushed: Option<Role>,
) -> (Tally, Result<(), String>) {
    let mut tally = Tally::default();
    for seed in first.. {
        if tally.distinct >= images {
            break;
        }
        let dir = tempfile::tempdir().unwrap();
        let directory = dir.path().canonicalize().unwrap();
        let mut run = Run::new(vfs, directory.join(NAME), seed, unflushed);
        for _ in 0..1 + run.rng.below(3) {
            run.session();
        }
        tally.histories += 1;
        tally.commits += run.commits.states.len();
        tally.syncs += run.syncs;
        let history = run.disk.history();
        let windows = run.commits.windows(&history);
        let plan = CrashPlan {
            sector: if seed % 4 == 0 { 4096 } else { 512 },
            per_point: 5,
            between: 5,
            // Two frames of SQLite's WAL share a sector: it relies on a device that leaves the rest of it.
            torn: (vfs == Vfs::RedoLog).then_some(Role::Redo),
            seed,
        };
        let mut known = BTreeMap::new();
        let mut result = Ok(());
        let _ = crash(&history, &plan, |image| {
            tally.images += 1;
            let window = windows.get(image.after).copied().unwrap_or_default();
            let hash = image.files.hash();
            let found = match known.get(&hash) {
                Some(found) => Ok(*found),
                None => {
                    tally.distinct += 1;
                    look(vfs, image, mix64(seed.wrapping_add(tally.images as u64)))
                }
            };
            result = found.and_then(|found| {
                known.insert(hash, found);
                judge(&run.commits, window, found)
            });
            result = result
                .clone()
                .map_err(|wrong| format!("seed {seed}: {wrong}\nimage {image}"));
            match result.is_ok() && tally.distinct < images {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        if result.is_err() {
            return (tally, result);
        }
    }
    (tally, Ok(()))
}

fn survive(vfs: Vfs) {
    let images = variable("ETUI_CRASH_IMAGES", 3000) as usize / 10;
    let first = variable("ETUI_CRASH_SEED", 1);
    let begun = Instant::now();
    let (tally, result) = hunt(vfs, first, images, None);
    println!(
        "{vfs:?}, seeds from {first}: {tally:?}, {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    if let Err(wrong) = result {
        panic!("{wrong}");
    }
    assert!(tally.syncs > 0, "too few images to say anything");
}

#[test]
fn stores_survive() {
    survive(Vfs::System);
}

#[test]
fn stores_on_the_redo_log_survive() {
    survive(Vfs::RedoLog);
}

/// A store on a device that ignores a flush is caught.
#[test]
fn stores_whose_files_are_not_flushed_are_caught() {
    for (vfs, unflushed) in [
        (Vfs::System, Role::Journal),
        (Vfs::System, Role::Database),
        (Vfs::RedoLog, Role::Redo),
        (Vfs::RedoLog, Role::Database),
    ] {
        let (tally, result) = hunt(vfs, 1, 2_000, Some(unflushed));
        println!("{vfs:?}, {unflushed:?} not flushed: {tally:?}: {result:?}");
        assert!(result.is_err(), "{vfs:?}, {unflushed:?} is not caught");
    }
}
