//! The memory of a store: anonymous memory (Anonymous of `/proc/self/smaps_rollup`) of a
//! process that uses one, minus that of a process that generates and parses the same cards without a store.
//! The mapped file is shared and not counted: the system can reclaim it at any time.
//!
//! Each figure comes from a process of its own.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use etui::contacts::{Card, Paging};
use etui::record::RecordKind;
use etui::{Durability, Options, Store};
use etui_testkit::own_process::ProgramOfTest;
use etui_testkit::people::{People, Version, person};

const CONTACTS: u64 = 12_800;
const PEOPLE: u64 = 21;
/// The size of a batch.
const BATCH: usize = 1_000;

const STORE: &str = "ETUI_TEST_MEMORY_STORE";
const ROLE: &str = "ETUI_TEST_MEMORY_ROLE";
const BYTES: &str = "ETUI_TEST_MEMORY_BYTES";

fn role(wanted: &str) -> Option<PathBuf> {
    (std::env::var(ROLE).ok()? == wanted).then(|| std::env::var_os(STORE).unwrap().into())
}

/// Runs a child with this role and returns its figures: name and kB.
fn run(test: impl Fn(), role: &str, store: &Path, bytes: u64) -> Vec<(String, i64)> {
    let output = ProgramOfTest::new(test)
        .command()
        .unwrap()
        .env(ROLE, role)
        .env(STORE, store)
        .env(BYTES, bytes.to_string())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{role}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text.lines()
        .filter_map(|l| l.strip_prefix('@')?.rsplit_once(' '))
        .map(|(name, kb)| (name.to_owned(), kb.parse().unwrap()))
        .collect()
}

fn tell(name: &str, kb: i64) {
    println!("\n@{name} {kb}");
}

fn anonymous_kb() -> i64 {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = rollup
        .lines()
        .find_map(|l| l.strip_prefix("Anonymous:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Returns a UID in the form that every version writes alike.
fn new_card(index: u64) -> Card {
    let mut someone = person(PEOPLE + 1, index);
    someone.version = Version::V3;
    Card::parse(someone.to_text()).unwrap()
}

fn uids() -> Vec<String> {
    People::new(PEOPLE)
        .take(BATCH)
        .map(|text| Card::parse(text).unwrap().identity().into_owned())
        .collect()
}

#[test]
fn child_fill() {
    let Some(path) = role("fill") else {
        return;
    };
    let mut options = Options::default();
    options.durability = Durability::Deferred;
    let store = Store::open_with(path, &options).unwrap();
    let mut people = People::new(PEOPLE);
    for _ in 0..CONTACTS / 640 {
        let cards: Vec<_> = people
            .by_ref()
            .take(640)
            .map(|t| Card::parse(t).unwrap())
            .collect();
        store.contacts().unwrap().save_many(&cards).unwrap();
    }
    store.maintenance().merge_index().unwrap();
    store.close().unwrap();
}

#[test]
fn child_use() {
    let Some(path) = role("use") else {
        return;
    };
    let uids = uids();
    tell("begin", anonymous_kb());
    let store = Store::open(path).unwrap();
    tell("open", anonymous_kb());
    let contacts = store.contacts().unwrap();
    for uid in &uids {
        assert!(contacts.get(uid).unwrap().is_some());
    }
    tell("get", anonymous_kb());
    assert_eq!(
        contacts.get_many(&uids).unwrap().iter().flatten().count(),
        BATCH
    );
    tell("get_many", anonymous_kb());
    assert_eq!(contacts.all().unwrap().len() as u64, CONTACTS);
    tell("all", anonymous_kb());
    assert_eq!(contacts.list(Paging::ALL).unwrap().len() as u64, CONTACTS);
    assert_eq!(
        contacts
            .list(Paging {
                offset: 9_000,
                limit: 50
            })
            .unwrap()
            .len(),
        50
    );
    tell("list", anonymous_kb());
    for filter in [
        "name:a*",
        "phone:*1",
        "email:*@example.org",
        "org:*a*",
        "*er*",
        "note:*",
    ] {
        assert!(
            !contacts.find(&filter.parse().unwrap()).unwrap().is_empty(),
            "{filter}"
        );
    }
    tell("find", anonymous_kb());
    {
        let cards: Vec<_> = (0..BATCH as u64).map(new_card).collect();
        contacts.save_many(&cards).unwrap();
    }
    tell("save_many", anonymous_kb());
    for i in 0..200 {
        contacts.save(&new_card(BATCH as u64 + i)).unwrap();
    }
    tell("save", anonymous_kb());
    store.maintenance().merge_index().unwrap();
    tell("merge", anonymous_kb());
    store.close().unwrap();
    tell("close", anonymous_kb());
}

/// Generates and parses the same cards, and holds as many at a time.
#[test]
fn child_without() {
    if role("without").is_none() {
        return;
    }
    let uids = uids();
    tell("begin", anonymous_kb());
    {
        let cards: Vec<_> = (0..BATCH as u64).map(new_card).collect();
        assert_eq!(cards.len(), uids.len());
    }
    for i in 0..200 {
        new_card(BATCH as u64 + i);
    }
    tell("end", anonymous_kb());
}

#[test]
fn a_store_of_12_800_contacts_costs_at_most_12_mb() {
    const LIMIT_KB: i64 = 12 << 10;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    run(child_fill, "fill", &path, 0);
    let without = run(child_without, "without", &path, 0);
    println!("without a store: {without:?} kB");
    let (begin, end) = (without[0].1, without[1].1);
    let figures = run(child_use, "use", &path, 0);
    assert_eq!(figures.len(), 11);
    let mut worst = 0;
    for (step, kb) in &figures {
        // Until the save, the process without a store has only started.
        let base = if step.starts_with("save") || matches!(step.as_str(), "merge" | "close") {
            end
        } else {
            begin
        };
        println!(
            "{step:>10}: {kb:>6} kB, {:>6} more than without a store",
            kb - base
        );
        worst = worst.max(kb - base);
    }
    assert!(
        worst <= LIMIT_KB,
        "{worst} kB; at most {LIMIT_KB} are allowed"
    );
}

/// Generated vCards as a stream: about `left` bytes, one or two of each hundred with a large
/// photo.
struct Stream {
    people: People,
    number: u64,
    rest: Vec<u8>,
    at: usize,
    left: u64,
}

impl Stream {
    fn new(left: u64) -> Self {
        Self {
            people: People::new(PEOPLE),
            number: 0,
            rest: Vec::new(),
            at: 0,
            left,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.rest.len() {
            if self.left == 0 {
                return Ok(0);
            }
            let mut text = self.people.next().unwrap();
            self.number += 1;
            if self.number.is_multiple_of(64) {
                let photo =
                    "\r\n QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5"
                        .repeat(6_000);
                let photo = format!("PHOTO;ENCODING=b;TYPE=JPEG:{photo}\r\nEND:VCARD");
                text = text.replace("END:VCARD", &photo);
            }
            self.left = self.left.saturating_sub(text.len() as u64);
            self.rest = text.into_bytes();
            self.at = 0;
        }
        let n = buffer.len().min(self.rest.len() - self.at);
        buffer[..n].copy_from_slice(&self.rest[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

/// Runs `work` and returns the peak of memory in use.
fn peak_kb(work: impl FnOnce()) -> i64 {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut peak = 0;
            while !over.load(Ordering::Relaxed) {
                peak = peak.max(anonymous_kb());
                std::thread::sleep(Duration::from_millis(2));
            }
            peak
        });
        work();
        over.store(true, Ordering::Relaxed);
        sampler.join().unwrap()
    })
}

fn bytes() -> u64 {
    std::env::var(BYTES).unwrap().parse().unwrap()
}

#[test]
fn child_import() {
    let Some(path) = role("import") else {
        return;
    };
    let mut options = Options::default();
    options.durability = Durability::Deferred;
    let store = Store::open_with(path, &options).unwrap();
    let mut good = 0;
    let peak = peak_kb(|| {
        let contacts = store.contacts().unwrap();
        let report = contacts
            .import(Stream::new(bytes()), &mut |_| ControlFlow::Continue(()))
            .unwrap();
        assert_eq!(report.refused, 0, "{:?}", report.refusals);
        good = report.added;
    });
    tell("peak", peak);
    tell("cards", i64::try_from(good).unwrap());
    assert_eq!(store.contacts().unwrap().count().unwrap(), good);
    store.close().unwrap();
}

#[test]
fn child_parse() {
    if role("parse").is_none() {
        return;
    }
    let peak = peak_kb(|| {
        let mut stream = Stream::new(bytes());
        while stream.left > 0 {
            let mut first = [0];
            stream.read_exact(&mut first).unwrap();
            stream.at = 0;
            Card::parse(std::mem::take(&mut stream.rest)).unwrap();
        }
    });
    tell("peak", peak);
}

#[test]
fn an_import_of_any_size_takes_at_most_64_mb() {
    const LIMIT_KB: i64 = 64 << 10;
    let long = std::env::var_os("ETUI_TEST_LONG").is_some();
    let bytes = if long { 1 << 30 } else { 50 << 20 };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    let without = run(child_parse, "parse", &path, bytes.min(50 << 20))[0].1;
    let figures = run(child_import, "import", &path, bytes);
    let [(_, peak), (_, cards)] = &figures[..] else {
        panic!("{figures:?}");
    };
    println!(
        "import of {bytes} bytes, {cards} cards: at most {peak} kB, {} more than without a store",
        peak - without
    );
    assert!(
        peak - without <= LIMIT_KB,
        "at most {LIMIT_KB} kB are allowed"
    );
}
