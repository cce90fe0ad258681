//! Random operations on date books match a simple model: two date books of one program, one of
//! another program, and both calendars beside them.
//!
//! `ETUI_TEST_LONG=1` runs a hundred times as many steps; `ETUI_TEST_SEED` sets the seed. A failure
//! prints the seed.

use std::collections::BTreeMap;

use etui::calendar::time::{DateTimeValue, TimeZone, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{Calendar, CalendarObject};
use etui::datebook::{CheckedOut, DateBook};
use etui::{Durability, ETag, Error, Options, RecordId, Store};
use etui_testkit::rng::SplitMix64;

use crate::support::{clean, directory};

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

/// Returns an event that begins on `day`; mostly short, sometimes large.
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

struct Held {
    uid: String,
    /// The text in the store when the record was taken first.
    before: Vec<u8>,
    taken: CheckedOut,
}

/// A date book, and what the model knows of it.
struct Book {
    book: DateBook,
    dirty: BTreeMap<String, Dirty>,
    held: Vec<Held>,
}

struct Run {
    rng: SplitMix64,
    calendars: [Calendar; 2],
    books: [Book; 3],
    live: BTreeMap<String, Live>,
    made: u32,
}

impl Run {
    /// Returns the UIDs in list order.
    fn order(&self) -> Vec<String> {
        let mut all: Vec<_> = self.live.iter().collect();
        all.sort_by_key(|(_, live)| (live.day, live.id));
        all.into_iter().map(|(uid, _)| uid.clone()).collect()
    }

    fn uid(&mut self) -> Option<String> {
        let at = self.rng.below(self.live.len() as u32) as usize;
        self.live.keys().nth(at).cloned()
    }

    /// Reads records sequentially or at random.
    fn look(&mut self, at: usize) {
        let order = self.order();
        let Book { book, dirty, .. } = &mut self.books[at];
        book.refresh();
        let count = order.len() as u32;
        let (mut index, times) = (self.rng.below(count + 2), self.rng.below(60));
        let way = self.rng.below(4);
        let whole = self.rng.below(3);
        for _ in 0..times {
            let expected = order.get(index as usize).map(|uid| {
                let live = &self.live[uid];
                (uid, live.id, dirty.get(uid).map_or(&live.text, |d| &d.text))
            });
            let position = u64::from(index);
            if whole == 1 || whole == 2 && self.rng.chance(200) {
                let seen = book.peek(position).unwrap();
                assert_eq!(seen.is_some(), expected.is_some(), "{index}");
                if let (Some(seen), Some((uid, id, text))) = (seen, expected) {
                    assert_eq!((&seen.uid, seen.id), (uid, id), "{index}");
                    assert_eq!(seen.etag, ETag::of(text), "{index}");
                    assert!(seen.text == *text, "{index}");
                }
            } else {
                let seen = book.look(position, |id, text| {
                    expected.is_some_and(|(_, i, t)| (i, t.as_slice()) == (id, text))
                });
                assert_eq!(seen.unwrap(), expected.is_some().then_some(true), "{index}");
            }
            index = match way {
                0 | 1 => index + 1,
                2 => index.saturating_sub(1),
                _ => self.rng.below(count + 2),
            };
        }
        assert_eq!(book.count().unwrap(), u64::from(count));
    }

    fn take(&mut self, at: usize) {
        let order = self.order();
        let index = self.rng.below(order.len() as u32 + 1);
        let Book { book, dirty, held } = &mut self.books[at];
        book.refresh();
        let taken = book.take(u64::from(index));
        let Some(uid) = order.get(index as usize) else {
            assert!(matches!(taken, Err(Error::NoIndex { .. })));
            return;
        };
        let live = &self.live[uid];
        if held.iter().any(|held| held.taken.stored().id == live.id) {
            assert!(matches!(taken, Err(Error::CheckedOut(id)) if id == live.id));
            return;
        }
        let taken = taken.unwrap();
        let dirty = dirty.get(uid);
        let text = dirty.map_or(&live.text, |dirty| &dirty.text);
        let stored = taken.stored();
        assert_eq!((&stored.uid, stored.id), (uid, live.id));
        assert_eq!(stored.etag, ETag::of(text));
        assert!(stored.text == *text, "{uid}");
        held.push(Held {
            uid: uid.clone(),
            before: dirty.map_or(&live.text, |dirty| &dirty.before).clone(),
            taken,
        });
    }

    fn release(&mut self, at: usize) {
        let Book { book, dirty, held } = &mut self.books[at];
        if held.is_empty() {
            return;
        }
        let held = held.swap_remove(self.rng.below(held.len() as u32) as usize);
        if self.rng.chance(300) {
            drop(held.taken);
            return;
        }
        let day = self.rng.below(DAYS);
        let record = event(&held.uid, day, &mut self.rng);
        let (before, text) = (held.before, record.text().to_vec());
        book.release_dirty(held.taken, record).unwrap();
        dirty.insert(held.uid, Dirty { before, day, text });
    }

    fn sync(&mut self, at: usize) {
        let Book { book, dirty, .. } = &mut self.books[at];
        let synced = book.sync().unwrap();
        let (mut saved, mut conflicts) = (0, Vec::new());
        for (uid, dirty) in std::mem::take(dirty) {
            match self.live.get_mut(&uid).filter(|l| l.text == dirty.before) {
                Some(live) => {
                    (live.day, live.text) = (dirty.day, dirty.text);
                    saved += 1;
                }
                None => conflicts.push((uid, dirty.text)),
            }
        }
        assert_eq!(synced.saved, saved);
        let told = synced.conflicts.into_iter().map(|c| (c.uid, c.text));
        let mut told: Vec<_> = told.collect();
        told.sort();
        assert!(told == conflicts, "{} conflicts", told.len());
    }

    fn save(&mut self, program: usize) {
        let uid = match self.uid() {
            Some(uid) if self.rng.chance(600) => uid,
            _ => {
                self.made += 1;
                format!("new {}", self.made)
            }
        };
        let day = self.rng.below(DAYS);
        let record = event(&uid, day, &mut self.rng);
        let id = self.calendars[program].save(&record).unwrap().id;
        let text = record.into_text();
        self.live.insert(uid, Live { id, day, text });
    }

    fn remove(&mut self, program: usize) {
        let mut uids = Vec::new();
        for _ in 0..=self.rng.below(4) {
            uids.extend(self.uid());
        }
        self.calendars[program].remove_many(&uids).unwrap();
        for uid in &uids {
            self.live.remove(uid);
        }
    }

    fn purge(&mut self, at: usize) {
        let day = self.rng.below(DAYS / 20);
        let before: DateTimeValue = start(day).parse().unwrap();
        let before: Timestamp = before.in_zone(None).at(&TimeZone::UTC);
        let Book { book, dirty, held } = &mut self.books[at];
        let purged = book.purge(before, &TimeZone::UTC).unwrap();
        let count = self.live.len();
        let held: Vec<_> = held.iter().map(|held| held.taken.stored().id).collect();
        self.live.retain(|uid, live| {
            live.day >= day || held.contains(&live.id) || dirty.contains_key(uid)
        });
        assert_eq!(purged, (count - self.live.len()) as u64);
    }

    fn step(&mut self) {
        let at = self.rng.below(3) as usize;
        let program = self.rng.below(2) as usize;
        match self.rng.below(100) {
            0..30 => self.look(at),
            30..54 => self.take(at),
            54..76 => self.release(at),
            76..84 => self.sync(at),
            84..94 => self.save(program),
            94..99 => self.remove(program),
            _ => self.purge(at),
        }
    }
}

fn run(seed: u64, steps: u32) {
    let (_dir, path) = directory();
    let mut options = Options::default();
    // Power loss is not tested here, and flushes would dominate the time.
    options.durability = Durability::Deferred;
    // Another store acts as another program.
    let stores = [(); 2].map(|()| Store::open_with(&path, &options).unwrap());
    let calendars = [0, 1].map(|n: usize| stores[n].calendar().unwrap());
    let books = [0, 0, 1].map(|n: usize| Book {
        book: DateBook::open(&calendars[n]),
        dirty: BTreeMap::new(),
        held: Vec::new(),
    });
    let mut run = Run {
        rng: SplitMix64::new(seed),
        calendars,
        books,
        live: BTreeMap::new(),
        made: 0,
    };
    // Ids in list order in parts, as after an import of years, and scattered in others.
    let count = 50 + run.rng.below(500);
    let scattered = run.rng.below(1_000);
    let mut all = Vec::new();
    for n in 0..count {
        let day = match run.rng.chance(scattered) {
            true => run.rng.below(DAYS),
            false => n * DAYS / count,
        };
        all.push((day, event(&n.to_string(), day, &mut run.rng)));
    }
    let saved = run.calendars[0]
        .save_many(all.iter().map(|(_, record)| record))
        .unwrap();
    for ((n, (day, record)), saved) in all.into_iter().enumerate().zip(saved) {
        let (id, text) = (saved.id, record.into_text());
        run.live.insert(n.to_string(), Live { id, day, text });
    }
    for _ in 0..steps {
        run.step();
    }
    for at in 0..3 {
        run.books[at].held.clear();
        run.sync(at);
        run.look(at);
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
