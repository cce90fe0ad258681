//! A program is killed during a large write: a large import is stored as
//! a whole or not at all, a store of an earlier version is migrated or unchanged; no other
//! file is left in the directory.
//!
//! A child process does the work, the parent kills it at a random moment. `ETUI_TEST_LONG=1` repeats
//! it often.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::NEXT_VERSION;
use etui::contacts::{Card, Paging};
use etui::record::Collection;
use etui::search::query::SearchableRecord;
use etui::{CollectionKind, Options, Store};
use etui_testkit::calendars::{Span, write_ics};
use etui_testkit::own_process::{ProgramOfTest, in_own_process};
use etui_testkit::people::People;
use etui_testkit::rng::SplitMix64;
use rusqlite::Connection;

const STORE: &str = "ETUI_TEST_KILL_LARGE_STORE";
const SEED: &str = "ETUI_TEST_KILL_SEED";
/// More than an import in batches.
const IMPORTED: usize = 6_000;
/// Records in the store before the import.
const BEFORE: usize = 300;
/// Contacts of the store that is migrated.
const MIGRATED: u64 = 4_000;

fn seed() -> u64 {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let seed = now.as_secs() % 1_000_000;
    let seed = std::env::var(SEED).map_or(seed, |s| s.parse().unwrap());
    println!("seed {seed} ({SEED}={seed} repeats it)");
    seed
}

fn rounds() -> u32 {
    match std::env::var_os("ETUI_TEST_LONG") {
        Some(_) => 60,
        None => 4,
    }
}

fn child_store() -> Option<PathBuf> {
    std::env::var_os(STORE).map(PathBuf::from)
}

/// Runs the child `work` on `store`, and kills it after `life` (`None`: lets it end). Returns
/// its running time.
fn run(work: ProgramOfTest, store: &Path, life: Option<Duration>) -> Duration {
    let begun = Instant::now();
    let mut child = work
        .command()
        .unwrap()
        .env(STORE, store)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    if let Some(life) = life {
        std::thread::sleep(life);
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    assert!(life.is_some() || status.success());
    begun.elapsed()
}

/// Only the store and its sidecar files are in the directory.
fn nothing_is_left(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let known = ["s.etui", "s.etui-wal", "s.etui-shm", "s.etui-watch"];
        assert!(known.contains(&&*name), "{name} is left");
    }
}

/// The store is sound; returns the number of its records.
fn whole(path: &Path, what: &str) -> u64 {
    whole_store(Store::open(path).unwrap(), what)
}

fn whole_store(store: Store, what: &str) -> u64 {
    let report = store.check().unwrap();
    assert!(report.is_clean(), "{what}: {:?}", report.problems);
    let (mut contacts, mut entries) = (0, 0);
    for name in store.collections::<Card>().names().unwrap() {
        contacts += counted(&store.collection::<Card>(&name).unwrap(), what);
    }
    for name in store
        .collections::<etui::calendar::CalendarObject>()
        .names()
        .unwrap()
    {
        entries += counted(
            &store
                .collection::<etui::calendar::CalendarObject>(&name)
                .unwrap(),
            what,
        );
    }
    assert_eq!((contacts, entries), (report.contacts, report.entries));
    store.close().unwrap();
    contacts + entries
}

fn counted<R: SearchableRecord>(records: &Collection<R>, what: &str) -> u64 {
    let count = records.count().unwrap();
    let listed = records.list(Paging::ALL).unwrap().len() as u64;
    assert_eq!(listed, count, "{what}: {}", records.name());
    count
}

fn import(kind: CollectionKind, store: &Store, count: usize, seed: u64) {
    let report = match kind {
        CollectionKind::Calendar => {
            let mut all = Vec::new();
            write_ics(&mut all, seed, Span::USUAL, count as u64).unwrap();
            store
                .calendar()
                .unwrap()
                .import(&all[..], &mut |_| ControlFlow::Continue(()))
        }
        _ => {
            let all: String = People::new(seed).take(count).collect();
            store
                .contacts()
                .unwrap()
                .import(all.as_bytes(), &mut |_| ControlFlow::Continue(()))
        }
    };
    assert_eq!(report.unwrap().refused, 0);
}

/// A child.
#[test]
fn imports_until_killed() {
    if let Some(path) = child_store() {
        import(
            CollectionKind::Contacts,
            &Store::open(path).unwrap(),
            IMPORTED,
            2,
        );
    }
}

/// A child.
#[test]
fn imports_a_calendar_until_killed() {
    if let Some(path) = child_store() {
        import(
            CollectionKind::Calendar,
            &Store::open(path).unwrap(),
            IMPORTED,
            2,
        );
    }
}

/// A child.
#[test]
fn migrates_until_killed() {
    if let Some(path) = child_store() {
        let store = open_next(&path);
        assert!(store.contacts().unwrap().count().unwrap() > 0);
    }
}

#[test]
fn a_large_import_that_is_killed_is_in_as_a_whole_or_not_at_all() {
    // It starts many processes.
    if !in_own_process(a_large_import_that_is_killed_is_in_as_a_whole_or_not_at_all) {
        return;
    }
    is_in_or_not(
        CollectionKind::Contacts,
        ProgramOfTest::new(imports_until_killed),
    );
}

#[test]
fn a_large_calendar_whose_import_is_killed_is_in_as_a_whole_or_not_at_all() {
    // It starts many processes.
    if !in_own_process(a_large_calendar_whose_import_is_killed_is_in_as_a_whole_or_not_at_all) {
        return;
    }
    is_in_or_not(
        CollectionKind::Calendar,
        ProgramOfTest::new(imports_a_calendar_until_killed),
    );
}

fn is_in_or_not(kind: CollectionKind, work: ProgramOfTest) {
    let mut rng = SplitMix64::new(seed());
    for before in [0, BEFORE] {
        let mut took = None;
        let mut complete = 0;
        for round in 0..rounds() {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("s.etui");
            let store = Store::open(&path).unwrap();
            import(kind, &store, before, 1);
            store.close().unwrap();
            let Some(took) = took else {
                took = Some(run(work, &path, None));
                assert_eq!(whole(&path, "not killed"), (before + IMPORTED) as u64);
                continue;
            };
            let life = took * rng.below(1_100) / 1_000;
            run(work, &path, Some(life));
            nothing_is_left(dir.path());
            let what = format!("round {round}, {before} before, killed after {life:?}");
            let count = whole(&path, &what) as usize;
            assert!(
                count == before || count == before + IMPORTED,
                "{what}: {count} records"
            );
            complete += u32::from(count > before);
            // Interrupted work can be repeated.
            if round == 1 {
                run(work, &path, None);
                assert_eq!(whole(&path, &what), (before + IMPORTED) as u64);
            }
        }
        println!("{before} before: {complete} of {} complete", rounds() - 1);
    }
}

/// Opens a store with the next version of the library, which migrates it.
fn open_next(path: &Path) -> Store {
    let mut options = Options::default();
    options.extra_migrations = NEXT_VERSION;
    Store::open_with(path, &options).unwrap()
}

fn version(path: &Path) -> i64 {
    let plain = Connection::open(path).unwrap();
    let version = plain.query_row("PRAGMA user_version", [], |row| row.get(0));
    version.unwrap()
}

/// Creates a store with many contacts in two address books.
fn large_store(path: &Path) {
    let store = Store::open(path).unwrap();
    let cards: Vec<_> = (1..=MIGRATED)
        .map(|n| {
            let text = format!(
                "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:more-{n}\r\nN:Schmidt {n};Jürgen;;;\r\n\
                 FN:Jürgen Schmidt {n}\r\nTEL:+49 30 23125 {n:04}\r\nEND:VCARD\r\n"
            );
            Card::parse(text).unwrap()
        })
        .collect();
    store.contacts().unwrap().save_many(&cards).unwrap();
    let work = store.collections::<Card>().create("Work").unwrap();
    work.save(&cards[0]).unwrap();
    store.close().unwrap();
}

#[test]
fn a_migration_that_is_killed_is_done_by_the_next() {
    // It starts many processes.
    if !in_own_process(a_migration_that_is_killed_is_done_by_the_next) {
        return;
    }
    let mut rng = SplitMix64::new(seed());
    let source = tempfile::tempdir().unwrap();
    let source = source.path().join("source.etui");
    large_store(&source);
    let expected = MIGRATED + 1;
    let work = ProgramOfTest::new(migrates_until_killed);
    let mut took = None;
    for round in 0..rounds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.etui");
        std::fs::copy(&source, &path).unwrap();
        let Some(took) = took else {
            let before = version(&path);
            took = Some(run(work, &path, None));
            assert_eq!(version(&path), before + 1, "the child migrates it");
            assert_eq!(whole_store(open_next(&path), "not killed"), expected);
            let stats = open_next(&path).maintenance().stats().unwrap();
            assert_eq!((stats.pending_terms, stats.pending_trigrams), (0, 0));
            continue;
        };
        let life = took * rng.below(1_050) / 1_000;
        run(work, &path, Some(life));
        // Two programs find the store in this state.
        if round % 2 == 0 {
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| run(work, &path, None));
                }
            });
        }
        nothing_is_left(dir.path());
        let what = format!("round {round}, killed after {life:?}");
        assert_eq!(whole_store(open_next(&path), &what), expected, "{what}");
        let store = open_next(&path);
        let found = store.contacts().unwrap();
        let found = found.find(&"family:\"schmidt 777\"".parse().unwrap());
        assert_eq!(found.unwrap().len(), 1, "{what}");
        assert_eq!(
            store.collections::<Card>().names().unwrap(),
            ["Contacts", "Work"]
        );
    }
}
