//! Random operations on date books match a simple model: two date books of one program, one of
//! another program, and both calendars beside them.
//!
//! `ETUI_TEST_LONG=1` runs a hundred times as many steps; `ETUI_TEST_SEED` sets the seed. A failure
//! prints the seed.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

use etui::calendar::datebook::{CheckedOut, DateBook, SyncReport};
use etui::calendar::time::{DateTimeValue, TimeZone, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{Calendar, CalendarObject};
use etui::{Durability, ETag, Error, Options, RecordId, Store};
use etui_testkit::rng::SplitMix64;

use crate::support::{clean, directory};

/// A change by another program is visible after this time.
const SOON: Duration = Duration::from_millis(25);
/// Days on which events begin.
const DAYS: u32 = 300;

fn seed() -> u64 {
    match std::env::var("ETUI_TEST_SEED") {
        Ok(seed) => seed.parse().expect("ETUI_TEST_SEED is a number"),
        Err(_) => 4,
    }
}

fn start(day: u32) -> String {
    format!("2026{:02}{:02}T090000Z", day / 28 % 12 + 1, day % 28 + 1)
}

/// Returns an event that begins on `day`; mostly short, sometimes larger than a page.
fn event(uid: &str, day: u32, rng: &mut SplitMix64) -> CalendarObject {
    let length = match rng.below(400) {
        0 => 1 << 20,
        1..4 => 140_000,
        4..20 => 30_000,
        20..80 => 3_000,
        _ => 40,
    };
    let text = format!(
        "BEGIN:VEVENT\r\nUID:{uid}\r\nSUMMARY:{:x}\r\nDTSTART:{}\r\nDESCRIPTION:{}\r\nEND:VEVENT\r\n",
        rng.next_u64(),
        start(day),
        "x".repeat(length)
    );
    CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap()
}

/// A live record.
#[derive(Clone)]
struct Live {
    id: RecordId,
    day: u32,
    text: Vec<u8>,
}

/// A record that was released dirty.
struct Dirty {
    before: Vec<u8>,
    day: u32,
    text: Vec<u8>,
}

#[derive(Default)]
struct Model {
    live: BTreeMap<String, Live>,
    /// Dirty records of each program.
    dirty: [BTreeMap<String, Dirty>; 2],
    /// UIDs of conflicts that no sync has reported.
    conflicts: [Vec<String>; 2],
}

impl Model {
    /// Returns the UIDs in list order.
    fn order(&self) -> Vec<&String> {
        let mut all: Vec<_> = self.live.iter().collect();
        all.sort_by_key(|(_, live)| (live.day, live.id));
        all.into_iter().map(|(uid, _)| uid).collect()
    }

    /// Returns the text of a record as a program sees it.
    fn text(&self, who: usize, uid: &str) -> &[u8] {
        match self.dirty[who].get(uid) {
            Some(dirty) => &dirty.text,
            None => &self.live[uid].text,
        }
    }

    /// Commits the dirty records of a program.
    fn settle(&mut self, who: usize) {
        for (uid, dirty) in std::mem::take(&mut self.dirty[who]) {
            match self.live.get_mut(&uid).filter(|l| l.text == dirty.before) {
                Some(live) => (live.day, live.text) = (dirty.day, dirty.text),
                None => self.conflicts[who].push(uid),
            }
        }
    }
}

struct Held<'s> {
    uid: String,
    program: usize,
    book: usize,
    text: Vec<u8>,
    taken: CheckedOut<'s>,
}

/// The program of each date book.
const PROGRAM: [usize; 3] = [0, 0, 1];

struct Run<'s> {
    rng: SplitMix64,
    calendars: [Calendar<'s>; 2],
    books: [DateBook<'s>; 3],
    model: Model,
    held: Vec<Held<'s>>,
    made: u32,
    /// The program that changed the store since the last wait.
    changed: [bool; 2],
}

impl<'s> Run<'s> {
    /// Waits until a program sees the changes of the other one.
    fn catch_up(&mut self, program: usize) {
        if std::mem::take(&mut self.changed[1 - program]) {
            sleep(SOON);
        }
    }

    fn settle(&mut self, program: usize) {
        self.changed[program] |= !self.model.dirty[program].is_empty();
        self.model.settle(program);
    }

    fn uid(&mut self) -> Option<String> {
        let all = self.model.live.len();
        let at = self.rng.below(all as u32) as usize;
        self.model.live.keys().nth(at).cloned()
    }

    /// Reads records sequentially or at random.
    fn look(&mut self, book: usize) {
        let program = PROGRAM[book];
        self.catch_up(program);
        let order: Vec<String> = self.model.order().into_iter().cloned().collect();
        let count = order.len() as u32;
        let (mut index, times) = (self.rng.below(count + 2), self.rng.below(60));
        let way = self.rng.below(4);
        let whole = self.rng.below(3);
        for _ in 0..times {
            let expected = order.get(index as usize);
            let at = u64::from(index);
            let is_whole = match whole {
                0 => false,
                1 => true,
                _ => self.rng.chance(200),
            };
            if is_whole {
                let seen = self.books[book].peek(at).unwrap();
                assert_eq!(seen.is_some(), expected.is_some(), "{index}");
                if let (Some(seen), Some(uid)) = (seen, expected) {
                    let text = self.model.text(program, uid);
                    assert_eq!(&seen.uid, uid, "{index}");
                    assert_eq!(seen.id, self.model.live[uid].id, "{index}");
                    assert_eq!(seen.etag, ETag::of(text), "{index}");
                    assert!(seen.text == text, "{index}");
                }
            } else {
                let expected =
                    expected.map(|uid| (self.model.live[uid].id, self.model.text(program, uid)));
                let seen = self.books[book]
                    .look(at, |id, text| expected == Some((id, text)))
                    .unwrap();
                assert_eq!(seen, expected.is_some().then_some(true), "{index}");
            }
            index = match way {
                0 | 1 => index + 1,
                2 => index.saturating_sub(1),
                _ => self.rng.below(count + 2),
            };
        }
        assert_eq!(self.books[book].count().unwrap(), u64::from(count));
    }

    fn take(&mut self, book: usize) {
        let program = PROGRAM[book];
        self.catch_up(program);
        let order: Vec<String> = self.model.order().into_iter().cloned().collect();
        let index = self.rng.below(order.len() as u32 + 1);
        let uid = order.get(index as usize);
        let taken = self.books[book].take(u64::from(index));
        let Some(uid) = uid else {
            assert!(matches!(taken, Err(Error::NoIndex { .. })));
            return;
        };
        let is_held = self
            .held
            .iter()
            .any(|h| h.taken.stored().id == self.model.live[uid].id)
            || self.model.dirty[1 - program].contains_key(uid);
        match taken {
            Err(Error::CheckedOut(record)) => {
                assert!(is_held, "{uid} is free");
                assert_eq!(record, self.model.live[uid].id);
            }
            Err(e) => panic!("{e}"),
            Ok(taken) => {
                assert!(!is_held, "{uid} is taken twice");
                let stored = taken.stored();
                let text = self.model.text(program, uid);
                assert_eq!((&stored.uid, stored.id), (uid, self.model.live[uid].id));
                assert_eq!(stored.etag, ETag::of(text));
                assert!(stored.text == text, "{uid}");
                let (uid, text) = (uid.clone(), text.to_vec());
                self.held.push(Held {
                    uid,
                    program,
                    book,
                    text,
                    taken,
                });
            }
        }
    }

    fn release(&mut self) {
        let count = self.held.len() as u32;
        if count == 0 {
            return;
        }
        let held = self.held.swap_remove(self.rng.below(count) as usize);
        if self.rng.chance(300) {
            self.books[held.book].release(held.taken);
            return;
        }
        let day = self.rng.below(DAYS);
        let record = event(&held.uid, day, &mut self.rng);
        let text = record.text().to_vec();
        self.books[held.book]
            .release_dirty(held.taken, record)
            .unwrap();
        let dirty = &mut self.model.dirty[held.program];
        let before = dirty.remove(&held.uid).map_or(held.text, |d| d.before);
        dirty.insert(held.uid, Dirty { before, day, text });
    }

    fn sync(&mut self, book: usize) {
        let program = PROGRAM[book];
        let watch = self.watch(program);
        let SyncReport { mut conflicts, .. } = self.books[book].sync().unwrap();
        self.settle(program);
        if let Some((book, index)) = watch {
            self.take_at_once(book, index);
        }
        conflicts.sort_by(|a, b| a.uid.cmp(&b.uid));
        let mut expected = std::mem::take(&mut self.model.conflicts[program]);
        expected.sort();
        let told: Vec<_> = conflicts.into_iter().map(|c| c.uid).collect();
        assert_eq!(told, expected);
    }

    /// Reads a record in the other program before this one syncs it.
    fn watch(&mut self, program: usize) -> Option<(usize, u64)> {
        let dirty = &self.model.dirty[program];
        let at = self.rng.below(dirty.len() as u32) as usize;
        let uid = dirty.keys().nth(at)?.clone();
        let book = match program {
            0 => 2,
            _ => self.rng.below(2) as usize,
        };
        self.catch_up(1 - program);
        let index = self.model.order().into_iter().position(|u| *u == uid)? as u64;
        let peeked = self.books[book].peek(index).unwrap().unwrap();
        assert!(peeked.text == self.model.text(1 - program, &uid));
        Some((book, index))
    }

    /// A checkout sees the last sync without waiting.
    fn take_at_once(&mut self, book: usize, index: u64) {
        match self.books[book].take(index) {
            Ok(taken) => {
                let stored = taken.stored();
                assert_eq!(stored.id, self.model.live[&stored.uid].id);
                assert!(stored.text == self.model.text(PROGRAM[book], &stored.uid));
            }
            Err(Error::CheckedOut { .. }) => {}
            Err(e) => panic!("{e}"),
        }
    }

    fn save(&mut self, program: usize) {
        let new = self.rng.chance(400);
        let uid = match self.uid() {
            Some(uid) if !new => uid,
            _ => {
                self.made += 1;
                format!("new {}", self.made)
            }
        };
        self.settle(program);
        let day = self.rng.below(DAYS);
        let record = event(&uid, day, &mut self.rng);
        let saved = self.calendars[program].save(&record).unwrap();
        let text = record.into_text();
        self.model.live.insert(
            uid,
            Live {
                id: saved.id,
                day,
                text,
            },
        );
        self.changed[program] = true;
    }

    fn remove(&mut self, program: usize) {
        let mut uids = Vec::new();
        for _ in 0..=self.rng.below(4) {
            uids.extend(self.uid());
        }
        self.settle(program);
        self.calendars[program].remove_many(&uids).unwrap();
        for uid in &uids {
            self.model.live.remove(uid);
        }
        self.changed[program] = true;
    }

    fn get(&mut self, program: usize) {
        let Some(uid) = self.uid() else { return };
        let stored = self.calendars[program].get(&uid).unwrap();
        self.settle(program);
        let live = &self.model.live[&uid];
        assert!(stored.is_some_and(|s| s.id == live.id && s.text == live.text));
    }

    fn purge(&mut self, book: usize) {
        let program = PROGRAM[book];
        let day = self.rng.below(DAYS / 20);
        let before: DateTimeValue = start(day).parse().unwrap();
        let before: Timestamp = before.in_zone(None).at(&TimeZone::UTC);
        let purged = self.books[book].purge(before, &TimeZone::UTC).unwrap();
        self.settle(program);
        let count = self.model.live.len();
        let held: Vec<_> = self.held.iter().map(|h| h.taken.stored().id).collect();
        let others = &self.model.dirty[1 - program];
        self.model.live.retain(|uid, live| {
            live.day > day || held.contains(&live.id) || others.contains_key(uid)
        });
        assert_eq!(purged, (count - self.model.live.len()) as u64);
        self.changed[program] = true;
    }

    fn step(&mut self) {
        let book = self.rng.below(3) as usize;
        let program = self.rng.below(2) as usize;
        match self.rng.below(100) {
            0..30 => self.look(book),
            30..52 => self.take(book),
            52..72 => self.release(),
            72..79 => self.sync(book),
            79..89 => self.save(program),
            89..93 => self.remove(program),
            93..99 => self.get(program),
            _ => self.purge(book),
        }
    }
}

fn run(seed: u64, steps: u32) {
    let (_dir, path) = directory();
    let mut options = Options::default();
    // Power loss is not tested here, and flushes would dominate the time.
    options.durability = Durability::Deferred;
    // Another store acts as another program: it has locks of its own.
    let stores = [(); 2].map(|()| Store::open_with(&path, &options).unwrap());
    let calendars = [0, 1].map(|n: usize| stores[n].calendar().unwrap());
    let books = PROGRAM.map(|n| calendars[n].date_book().unwrap());
    let mut run = Run {
        rng: SplitMix64::new(seed),
        calendars,
        books,
        model: Model::default(),
        held: Vec::new(),
        made: 0,
        changed: [false; 2],
    };
    // Ids in list order in parts, as after an import of years, and scattered in others.
    let count = 50 + run.rng.below(500);
    let scattered = run.rng.below(1_000);
    let all: Vec<_> = (0..count)
        .map(|n| {
            let day = match run.rng.chance(scattered) {
                true => run.rng.below(DAYS),
                false => n * DAYS / count,
            };
            (format!("{n}"), day)
        })
        .collect();
    let records: Vec<_> = all
        .iter()
        .map(|(uid, day)| event(uid, *day, &mut run.rng))
        .collect();
    let saved = run.calendars[0].save_many(&records).unwrap();
    for (((uid, day), record), saved) in all.into_iter().zip(records).zip(saved) {
        let live = Live {
            id: saved.id,
            day,
            text: record.into_text(),
        };
        run.model.live.insert(uid, live);
    }
    run.changed = [true; 2];
    for _ in 0..steps {
        run.step();
    }
    run.held.clear();
    for book in 0..3 {
        run.sync(book);
        run.look(book);
    }
    drop(run);
    clean(&stores[0]);
}

#[test]
fn date_books_match_the_model() {
    let long = std::env::var_os("ETUI_TEST_LONG").is_some();
    let rounds = if long { 400 } else { 4 };
    for round in 0..rounds {
        let seed = seed().wrapping_mul(1_000) + round;
        println!("ETUI_TEST_SEED: this round has seed {seed}");
        run(seed, 250);
    }
}
