//! Random filters against a naive reference that reads every card, while other threads change the
//! data.
//!
//! `ETUI_TEST_LONG=1` compares 100,000 filters instead of a few thousand; `ETUI_TEST_SEED` selects
//! others. A failure prints the seed, the filter and the first difference.

mod changes;
mod random;
mod reference;
mod regressions;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use crate::support::clean;
use changes::{Changer, SECOND};
use etui::contacts::{Column, Filter, ListEntry, Paging, Query, Reader, Rows, SortOrder};
use etui::{Durability, Options, Store};
use etui_testkit::rng::SplitMix64;
use random::Filters;
use reference::{Reference, ReferenceContact};

fn is_long_run() -> bool {
    std::env::var_os("ETUI_TEST_LONG").is_some()
}

fn seed() -> u64 {
    match std::env::var("ETUI_TEST_SEED") {
        Ok(seed) => seed.parse().expect("ETUI_TEST_SEED is a number"),
        Err(_) => 4,
    }
}

/// Creates a store with both address books filled.
fn create_store(dir: &tempfile::TempDir, locale: &str, region: &str, seed: u64) -> Store {
    let mut options = Options::default();
    options.locale = Some(locale.into());
    options.region = (!region.is_empty()).then(|| region.into());
    // Durability is not tested here, and flushes would set the pace.
    options.durability = Durability::Deferred;
    let store = Store::open_with(dir.path().join("personal.etui"), &options).unwrap();
    Changer::new(seed).fill(&store);
    store
}

/// Compares filters with the reference in the one state that `reader` reads.
struct Comparison<'a> {
    reference: &'a mut Reference,
    reader: &'a Reader,
    all: Vec<Rc<ReferenceContact>>,
    store: &'a Store,
    /// Printed by a failure, to reproduce it.
    origin: String,
}

impl<'a> Comparison<'a> {
    fn new(
        reference: &'a mut Reference,
        reader: &'a Reader,
        store: &'a Store,
        origin: String,
    ) -> Self {
        let all = reference.read(reader);
        let comparison = Self {
            reference,
            reader,
            all,
            store,
            origin,
        };
        comparison.compare(&Filter::All, &mut SplitMix64::new(0));
        let listed = comparison.reader.list(Paging::ALL).unwrap();
        let expected = comparison.reference.find(&comparison.all, &Filter::All);
        comparison.assert_same("the list", &Filter::All, &expected, &listed);
        let count = comparison.reader.count().unwrap();
        assert_eq!(count, expected.len() as u64, "{}", comparison.origin);
        comparison
    }

    /// Returns a random filter.
    fn random_filter(&self, rng: &mut SplitMix64) -> Filter {
        let region = self.store.settings().region;
        let all = &self.all;
        Filters { rng, all, region }.next()
    }

    /// Compares the whole answer, and often a page of it. Returns the number of matches.
    fn compare(&self, filter: &Filter, rng: &mut SplitMix64) -> usize {
        let expected = self.reference.find(&self.all, filter);
        let found = self.reader.find(filter).unwrap();
        if expected != found {
            self.find_culprit(filter);
        }
        self.assert_same("find", filter, &expected, &found);
        let size = expected.len() as u32;
        if rng.chance(500) {
            return expected.len();
        }
        let offset = match rng.below(4) {
            0 => 0,
            _ => rng.below(size + 2),
        };
        let limit = match rng.below(4) {
            0 => 1,
            1 => 50,
            _ => rng.below(size + 2),
        };
        let page = Paging {
            offset: offset.into(),
            limit: limit.into(),
        };
        self.compare_order(filter, &expected, page, rng);
        let expected: Vec<ListEntry> = expected
            .into_iter()
            .skip(offset as usize)
            .take(limit as usize)
            .collect();
        let found = self.reader.find_page(filter, page).unwrap();
        self.assert_same(&format!("find_page {page:?}"), filter, &expected, &found);
        size as usize
    }

    /// Compares a page of the answer in another order, the page after it, and positions in the list.
    fn compare_order(
        &self,
        filter: &Filter,
        by_name: &[ListEntry],
        page: Paging,
        rng: &mut SplitMix64,
    ) {
        let sort = Column::SORTS[rng.below(Column::SORTS.len() as u32) as usize].1;
        let mut expected: Vec<i64> = by_name.iter().map(|e| e.id.0).collect();
        match sort {
            SortOrder::List => {}
            SortOrder::ListReversed => expected.reverse(),
            _ => expected.sort_unstable(),
        }
        if sort == SortOrder::AddedReversed {
            expected.reverse();
        }
        let query = Query::new(filter.clone()).sort(sort).columns(Column::Uid);
        let ids = |rows: &Rows| rows.ids().iter().map(|id| id.0).collect::<Vec<_>>();
        let what = format!("{}: {sort:?} {page:?}", self.origin);
        if sort == SortOrder::Unordered {
            // The order is unspecified, but stable.
            let all = ids(&self.reader.query(&query).unwrap());
            let mut sorted = all.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, expected, "{what}: {filter}");
            expected = all;
        }
        let here = query.clone().offset(page.offset).limit(page.limit);
        let rows = self.reader.query(&here).unwrap();
        let (from, size) = (page.offset as usize, page.limit as usize);
        let rest = expected.get(from..).unwrap_or_default();
        assert_eq!(
            ids(&rows),
            &rest[..size.min(rest.len())],
            "{what}: {filter}"
        );
        if let Some(next) = rows.next() {
            let rows = self
                .reader
                .query(&query.limit(7).after(next.clone()))
                .unwrap();
            let rest = &rest[size..];
            assert_eq!(
                ids(&rows),
                &rest[..7.min(rest.len())],
                "{what}, after: {filter}"
            );
        }
        if matches!(filter, Filter::All)
            && let Some(entry) = by_name.get(from)
        {
            let position = self.reader.position(entry.id).unwrap();
            assert_eq!(position, Some(page.offset), "{what}");
        }
    }

    /// Fails with the first part of `filter` that differs on its own, if there is one.
    fn find_culprit(&self, filter: &Filter) {
        let parts = match filter {
            Filter::And(parts) | Filter::Or(parts) => parts.as_slice(),
            Filter::Not(inner) => std::slice::from_ref(&**inner),
            _ => &[],
        };
        for part in parts {
            let expected = self.reference.find(&self.all, part);
            let found = self.reader.find(part).unwrap();
            if expected != found {
                self.find_culprit(part);
                self.assert_same("find", part, &expected, &found);
            }
        }
    }

    /// Fails with the first difference.
    fn assert_same(
        &self,
        what: &str,
        filter: &Filter,
        expected: &[ListEntry],
        found: &[ListEntry],
    ) {
        if expected == found {
            return;
        }
        let at = expected
            .iter()
            .zip(found)
            .position(|(e, f)| e != f)
            .unwrap_or(expected.len().min(found.len()));
        let side = |entries: &[ListEntry]| match entries.get(at) {
            Some(entry) => {
                let contact = self.reader.get(entry.id).unwrap();
                let text = contact.map(|c| String::from_utf8_lossy(&c.text).into_owned());
                format!("{entry:?}\n{}", text.unwrap_or_default())
            }
            None => "nobody".to_owned(),
        };
        panic!(
            "{what} differs from the reference: {}\nfilter: {filter}\nas built: {filter:?}\n\
             {} expected, {} found; the first difference is at {at}:\n\
             expected {}\nfound {}",
            self.origin,
            expected.len(),
            found.len(),
            side(expected),
            side(found),
        );
    }
}

/// Runs `compare` on a snapshot of one of the address books.
fn in_snapshot(
    store: &Store,
    reference: &mut Reference,
    second: bool,
    origin: &str,
    compare: impl FnOnce(&Comparison<'_>),
) {
    let snapshot = store.snapshot().unwrap();
    let (reader, book) = if second {
        (
            snapshot
                .collection::<etui::contacts::Card>(Some(SECOND))
                .unwrap(),
            "the second book",
        )
    } else {
        (snapshot.contacts().unwrap(), "the first book")
    };
    let origin = format!("{origin}, {book}");
    compare(&Comparison::new(reference, &reader, store, origin));
}

/// Threads change the data without pause; each comparison reads one snapshot.
#[test]
fn answers_equal_the_reference_under_concurrent_changes() {
    const WRITERS: u64 = 2;
    const READERS: u64 = 2;
    let seed = seed();
    let wanted = if is_long_run() { 100_000 } else { 1_800 };
    let dir = tempfile::tempdir().unwrap();
    let store = create_store(&dir, "de", "DE", seed);
    let (done, hits) = (AtomicU32::new(0), AtomicU32::new(0));
    let over = AtomicBool::new(false);
    /// Stops the other threads when one returns or panics.
    struct StopOnDrop<'a>(&'a AtomicBool);
    impl Drop for StopOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (store, over) = (&store, &over);
            scope.spawn(move || {
                let _over = StopOnDrop(over);
                let mut changer = Changer::new(seed ^ (writer + 1) << 32);
                while !over.load(Ordering::Relaxed) {
                    changer.step(store);
                    // The change log keeps every version for a while: without a pause it fills the disk.
                    std::thread::sleep(Duration::from_millis(2));
                }
            });
        }
        for reader in 0..READERS {
            let (store, over, done, hits) = (&store, &over, &done, &hits);
            scope.spawn(move || {
                let _over = StopOnDrop(over);
                let mut rng = SplitMix64::new(seed ^ (reader + 1) << 48);
                let mut reference = Reference::new("de", store.settings().region);
                let origin = format!("seed {seed}, reader {reader}");
                while !over.load(Ordering::Relaxed) && done.load(Ordering::Relaxed) < wanted {
                    let second = rng.chance(100);
                    in_snapshot(store, &mut reference, second, &origin, |comparison| {
                        for _ in 0..40 {
                            let filter = comparison.random_filter(&mut rng);
                            let found = comparison.compare(&filter, &mut rng);
                            done.fetch_add(1, Ordering::Relaxed);
                            hits.fetch_add(u32::from(found > 0), Ordering::Relaxed);
                        }
                    });
                }
            });
        }
    });
    let (done, hits) = (done.into_inner(), hits.into_inner());
    assert!(done >= wanted, "{done} of {wanted} filters");
    // Most filters must match something.
    assert!(hits > done / 2, "{hits} of {done} filters found anybody");
    clean(&store);
}

/// One thread: a seed reproduces all changes, states and filters. Several locales and regions.
#[test]
fn answers_equal_the_reference_step_by_step() {
    let seed = seed();
    for (locale, region, share) in [("de", "DE", 2), ("sv", "SE", 4), ("en", "", 4)] {
        let wanted = if is_long_run() { 20_000 } else { 1_000 } / share;
        let dir = tempfile::tempdir().unwrap();
        let store = create_store(&dir, locale, region, seed);
        let mut reference = Reference::new(locale, store.settings().region);
        let mut changer = Changer::new(seed + 1);
        let mut rng = SplitMix64::new(seed);
        let mut done = 0;
        while done < wanted {
            let changes = match rng.below(10) {
                0..3 => 0,
                3..9 => rng.below(60),
                _ => rng.below(1_500),
            };
            (0..changes).for_each(|_| changer.step(&store));
            let second = rng.chance(150);
            let origin = format!("seed {seed}, locale {locale}, from filter {done}");
            in_snapshot(&store, &mut reference, second, &origin, |comparison| {
                for _ in 0..20 {
                    let filter = comparison.random_filter(&mut rng);
                    comparison.compare(&filter, &mut rng);
                    done += 1;
                }
            });
        }
        clean(&store);
    }
}
