//! The laboratory's own tests: stock SQLite survives every power failure, and stock SQLite on a
//! device that does not flush is caught.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use etui_testkit::disk::MountedDisks;
use etui_testkit::rng::SplitMix64;

use crate::crash::check::{Budget, Subject, Tally, examine};
use crate::crash::plain::{Mistake, register};
use crate::crash::random::{self, Kind, variable};
use crate::crash::steps::{Journal, Setup, Synchronous, draw};

/// Stock SQLite over a rack of its own.
pub fn stock(mistake: Mistake) -> Subject {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let rack = MountedDisks::new();
    let (vfs, plain) = (format!("stock-{number}"), format!("stock-plain-{number}"));
    register(&vfs, Arc::new(rack.clone()), mistake);
    register(&plain, Arc::new(rack.clone()), Mistake::None);
    Subject {
        vfs,
        etui: None,
        plain,
        rack,
        close_is_promised: false,
        guarded: false,
        torn: None,
    }
}

fn budget() -> Budget {
    Budget {
        per_point: 40,
        per_history: 400,
        of_recovery: 8,
        between: 30,
    }
}

/// Returns the first wrong result of several histories, if any.
fn first_wrong(
    subject: &Subject,
    synchronous: Synchronous,
    journal: Journal,
    seeds: std::ops::Range<u64>,
) -> (Tally, Option<String>) {
    let mut all = Tally::default();
    for seed in seeds {
        let mut rng = SplitMix64::stream(seed, 0);
        let setup = Setup {
            journal,
            page_size: 1024,
            ..Setup::draw(synchronous, &mut rng)
        };
        let steps = draw(&setup, 25, &mut rng);
        let (tally, done) = examine(subject, &setup, &steps, &budget(), seed);
        all += tally;
        if let Err(wrong) = done {
            return (all, Some(format!("seed {seed}, {setup:?}: {wrong}")));
        }
    }
    (all, None)
}

fn survives(synchronous: Synchronous, journal: Journal) {
    let (tally, wrong) = first_wrong(&stock(Mistake::None), synchronous, journal, 0..12);
    println!("{journal:?}, {synchronous:?}: {tally:?}");
    if let Some(wrong) = wrong {
        panic!("{wrong}");
    }
}

#[test]
fn stock_wal_survives() {
    let images = variable("ETUI_CRASH_IMAGES_STOCK", 600) as usize;
    random::survives(&stock(Mistake::None), Synchronous::Full, Kind::All, images);
    random::survives(
        &stock(Mistake::None),
        Synchronous::Normal,
        Kind::All,
        images,
    );
}

#[test]
fn stock_wal_survives_beside_another_program() {
    let images = variable("ETUI_CRASH_IMAGES_STOCK", 600) as usize;
    let stock = stock(Mistake::None);
    random::survives(&stock, Synchronous::Full, Kind::Shared, images);
}

#[test]
fn stock_rollback_journals_survive() {
    survives(Synchronous::Extra, Journal::Delete);
    survives(Synchronous::Full, Journal::Truncate);
    survives(Synchronous::Full, Journal::Persist);
}

/// Each mistake of the device is caught within some histories.
fn caught(mistake: Mistake, synchronous: Synchronous, journal: Journal) {
    let (tally, wrong) = first_wrong(&stock(mistake), synchronous, journal, 0..40);
    println!("{mistake:?}, {journal:?}: {tally:?}: {wrong:?}");
    assert!(
        wrong.is_some(),
        "{mistake:?} with {journal:?} is not caught"
    );
}

#[test]
fn a_wal_that_is_not_flushed_is_caught() {
    caught(Mistake::NoSync("-wal"), Synchronous::Full, Journal::Wal);
}

#[test]
fn a_database_that_is_not_flushed_is_caught() {
    caught(Mistake::NoSync("db"), Synchronous::Full, Journal::Wal);
    caught(Mistake::NoSync("db"), Synchronous::Extra, Journal::Delete);
}

#[test]
fn a_journal_that_is_not_flushed_is_caught() {
    caught(
        Mistake::NoSync("-journal"),
        Synchronous::Extra,
        Journal::Delete,
    );
}

#[test]
fn names_that_are_not_flushed_are_caught() {
    caught(
        Mistake::NoDirectorySync,
        Synchronous::Extra,
        Journal::Delete,
    );
}

#[test]
fn claims_that_are_not_true_are_caught() {
    caught(
        Mistake::ClaimsSequential,
        Synchronous::Extra,
        Journal::Delete,
    );
    caught(
        Mistake::ClaimsSequential,
        Synchronous::Full,
        Journal::Truncate,
    );
}
