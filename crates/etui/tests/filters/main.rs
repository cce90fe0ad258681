//! Searches answer as a naive reference does that reads every card, whatever the filter, and
//! while others change the data.
//!
//! `ETUI_TEST_LONG=1` compares 100,000 filters instead of a few thousand; `ETUI_TEST_SEED` takes
//! other ones. A failure tells the seed, the filter and the first difference.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod changes;
mod random;
mod reference;
mod settled;
#[path = "../support/mod.rs"]
mod support;

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use changes::{Changer, SECOND};
use etui::contacts::{Column, Filter, ListEntry, Paging, Query, Reader, Rows, SortOrder};
use etui::{Durability, Options, Store};
use etui_testkit::rng::SplitMix64;
use random::Filters;
use reference::{Known, Reference};
use support::clean;

fn long() -> bool {
    std::env::var_os("ETUI_TEST_LONG").is_some()
}

fn seed() -> u64 {
    match std::env::var("ETUI_TEST_SEED") {
        Ok(seed) => seed.parse().expect("ETUI_TEST_SEED is a number"),
        Err(_) => 4,
    }
}

/// A store with both address books filled.
fn store(dir: &tempfile::TempDir, locale: &str, region: &str, seed: u64) -> Store {
    let mut options = Options::default();
    options.locale = Some(locale.into());
    options.region = (!region.is_empty()).then(|| region.into());
    // What a power cut would take is not the question here, and the disk would set the pace.
    options.durability = Durability::Deferred;
    let store = Store::open_with(dir.path().join("personal.etui"), &options).unwrap();
    Changer::new(seed).fill(&store);
    store
}

/// Compares filters with the reference, all in the one state that `reader` reads.
struct Comparison<'a> {
    reference: &'a mut Reference,
    reader: &'a Reader<'a>,
    all: Vec<Rc<Known>>,
    store: &'a Store,
    /// What a failure tells, to be run again.
    origin: String,
}

impl<'a> Comparison<'a> {
    fn new(
        reference: &'a mut Reference,
        reader: &'a Reader<'a>,
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
        comparison.same("the list", &Filter::All, &expected, &listed);
        let count = comparison.reader.count().unwrap();
        assert_eq!(count, expected.len() as u64, "{}", comparison.origin);
        comparison
    }

    /// A random filter.
    fn filter(&self, rng: &mut SplitMix64) -> Filter {
        let region = self.store.region().unwrap();
        let all = &self.all;
        Filters { rng, all, region }.next()
    }

    /// The whole answer, and often a page of it. Tells how many are meant.
    fn compare(&self, filter: &Filter, rng: &mut SplitMix64) -> usize {
        let expected = self.reference.find(&self.all, filter);
        let found = self.reader.find(filter).unwrap();
        if expected != found {
            self.blame(filter);
        }
        self.same("find", filter, &expected, &found);
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
        self.same(&format!("find_page {page:?}"), filter, &expected, &found);
        size as usize
    }

    /// A page of the answer in another order, the page after it, and positions in the list.
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
            // Its order is its own, and the same each time.
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

    /// Fails with the first of the parts of `filter` that differs by itself, if there is one.
    fn blame(&self, filter: &Filter) {
        let parts = match filter {
            Filter::And(parts) | Filter::Or(parts) => parts.as_slice(),
            Filter::Not(inner) => std::slice::from_ref(&**inner),
            _ => &[],
        };
        for part in parts {
            let expected = self.reference.find(&self.all, part);
            let found = self.reader.find(part).unwrap();
            if expected != found {
                self.blame(part);
                self.same("find", part, &expected, &found);
            }
        }
    }

    /// Fails with the first difference.
    fn same(&self, what: &str, filter: &Filter, expected: &[ListEntry], found: &[ListEntry]) {
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
                let contact = self.reader.by_id(entry.id).unwrap();
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

/// Runs `compare` on one of the address books in a state of its own.
fn in_a_state(
    store: &Store,
    reference: &mut Reference,
    second: bool,
    origin: &str,
    compare: impl FnOnce(&Comparison<'_>),
) {
    let snapshot = store.snapshot().unwrap();
    let (reader, book) = if second {
        (snapshot.address_book(SECOND).unwrap(), "the second book")
    } else {
        (snapshot.contacts().unwrap(), "the first book")
    };
    let origin = format!("{origin}, {book}");
    compare(&Comparison::new(reference, &reader, store, origin));
}

/// Threads change the data without pause; each comparison is within one state of it.
#[test]
fn answers_equal_the_reference_while_others_change_the_data() {
    const WRITERS: u64 = 2;
    const READERS: u64 = 2;
    let seed = seed();
    let wanted = if long() { 100_000 } else { 1_800 };
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir, "de", "DE", seed);
    let (done, hits) = (AtomicU32::new(0), AtomicU32::new(0));
    let over = AtomicBool::new(false);
    /// Ends the others, whichever way one ends.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (store, over) = (&store, &over);
            scope.spawn(move || {
                let _over = Over(over);
                let mut changer = Changer::new(seed ^ (writer + 1) << 32);
                while !over.load(Ordering::Relaxed) {
                    changer.step(store);
                    // Every version is kept for a while: without a pause they would fill the disk.
                    std::thread::sleep(Duration::from_millis(2));
                }
            });
        }
        for reader in 0..READERS {
            let (store, over, done, hits) = (&store, &over, &done, &hits);
            scope.spawn(move || {
                let _over = Over(over);
                let mut rng = SplitMix64::new(seed ^ (reader + 1) << 48);
                let mut reference = Reference::new("de", store.region().unwrap());
                let origin = format!("seed {seed}, reader {reader}");
                while !over.load(Ordering::Relaxed) && done.load(Ordering::Relaxed) < wanted {
                    let second = rng.chance(100);
                    in_a_state(store, &mut reference, second, &origin, |comparison| {
                        for _ in 0..40 {
                            let filter = comparison.filter(&mut rng);
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
    // Or the filters would ask for nothing that is there.
    assert!(hits > done / 2, "{hits} of {done} filters found anybody");
    clean(&store);
}

/// The same with one thread, so that a seed gives the same changes, states and filters each time;
/// with other locales and regions too.
#[test]
fn answers_equal_the_reference_step_by_step() {
    let seed = seed();
    for (locale, region, share) in [("de", "DE", 2), ("sv", "SE", 4), ("en", "", 4)] {
        let wanted = if long() { 20_000 } else { 1_000 } / share;
        let dir = tempfile::tempdir().unwrap();
        let store = store(&dir, locale, region, seed);
        let mut reference = Reference::new(locale, store.region().unwrap());
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
            in_a_state(&store, &mut reference, second, &origin, |comparison| {
                for _ in 0..20 {
                    let filter = comparison.filter(&mut rng);
                    comparison.compare(&filter, &mut rng);
                    done += 1;
                }
            });
        }
        clean(&store);
    }
}
