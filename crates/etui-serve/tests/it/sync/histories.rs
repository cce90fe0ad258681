//! Random histories on both sides, with a client that is cut off or killed anywhere: both are in step after the next
//! run, and no text that anybody wrote is nowhere.
//!
//! A store keeps all that was ever in it, other servers keep what is live. A mark that was written on a server is
//! therefore owed from the beginning of the run that must find it, unless the server's own editor took it away before;
//! and whatever was once in the store here is owed for ever.

use std::collections::BTreeSet;

use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui_testkit::rng::SplitMix64;

use super::place::{Edited, Place};
use super::products::{Product, cyrus, radicale, sogo, xandikos};
use super::vdirsyncer::Folder;
use super::world::World;

/// The number of histories; `scripts/sync-tests` sets another one.
pub(super) fn histories(otherwise: u64) -> u64 {
    let set = std::env::var("ETUI_SYNC_HISTORIES").ok();
    set.map_or(otherwise, |text| text.parse().unwrap())
}

/// The marks that were written in texts of one kind.
#[derive(Default)]
pub(super) struct Marks {
    count: usize,
    /// These have to be somewhere.
    pub(super) owed: BTreeSet<String>,
    /// These are live on the server, and nobody may have fetched them yet.
    unseen: BTreeSet<String>,
    /// All edits, for the message of a failure.
    edits: Vec<String>,
}

impl Marks {
    fn next(&mut self) -> String {
        self.count += 1;
        format!("mark{}end", self.count)
    }

    /// An editor has replaced a text by another, or by nothing.
    fn edited<P: Place>(&mut self, uid: &str, old: &str, new: &str) {
        let place = if P::KEEPS { "in a store" } else { "there" };
        let made = marks_in(new);
        let new_ones: Vec<_> = made.difference(&marks_in(old)).cloned().collect();
        let edit = format!("{uid} {place}: {new_ones:?} of {} marks", made.len());
        self.edits.push(edit);
        for mark in made {
            if !self.owed.contains(&mark) {
                match P::KEEPS {
                    true => self.owed.insert(mark),
                    false => self.unseen.insert(mark),
                };
            }
        }
        if !P::KEEPS {
            let kept = marks_in(new);
            for mark in marks_in(old).difference(&kept) {
                self.unseen.remove(mark);
            }
        }
    }

    /// What the store here has, it has for ever.
    fn seen<R: Edited>(&mut self, here: &impl Place) {
        let found = marks_in(&here.kept_texts::<R>());
        self.owed.extend(found);
        let owed = &self.owed;
        self.unseen.retain(|mark| !owed.contains(mark));
    }

    /// The next run finds all that is there.
    fn all_are_owed(&mut self) {
        self.owed.append(&mut self.unseen);
    }
}

fn marks_in(text: &str) -> BTreeSet<String> {
    let text = text.replace("\r\n ", "");
    let parts = text.split("mark").skip(1).filter_map(|part| {
        let number = part.split_once("end")?.0;
        number.parse::<u32>().ok()
    });
    parts.map(|number| format!("mark{number}end")).collect()
}

/// Makes one random edit on a side.
pub(super) fn edit<R: Edited, P: Place>(place: &P, rng: &mut SplitMix64, marks: &mut Marks) {
    let texts = place.texts::<R>();
    let uids: Vec<&String> = texts.keys().collect();
    let old = match rng.below(10) {
        0..3 => None,
        _ if uids.is_empty() => None,
        _ => uids.get(rng.below(uids.len() as u32) as usize),
    };
    let Some(uid) = old else {
        // The same people are entered on both sides now and then.
        let uid = format!("p{}", rng.below(40));
        if !texts.contains_key(&uid) {
            let mark = marks.next();
            let text = R::new_text(&uid, &mark, &mark);
            place.add::<R>(&uid, &text);
            marks.edited::<P>(&uid, "", &text);
        }
        return;
    };
    let text = &texts[*uid];
    if rng.below(6) == 0 {
        place.remove::<R>(uid);
        marks.edited::<P>(uid, text, "");
        return;
    }
    let mark = marks.next();
    let new = match rng.below(3) {
        // A new line.
        0 => text.replacen(R::END, &format!("X-MARK:{mark}\r\n{}", R::END), 1),
        // Another title, which both sides may change.
        _ => {
            let lines = text.split_inclusive("\r\n");
            let lines = lines.map(|line| match line.starts_with(R::TITLE) {
                true => format!("{}{mark}\r\n", R::TITLE),
                false => line.to_owned(),
            });
            lines.collect()
        }
    };
    place.change::<R>(uid, &new);
    marks.edited::<P>(uid, text, &new);
}

fn check_in_step<R: Edited, P: Place>(world: &World<P>, marks: &mut Marks, context: &str) {
    let (here, there) = (world.here.texts::<R>(), world.there.texts::<R>());
    let (ours, theirs): (Vec<_>, Vec<_>) = (here.keys().collect(), there.keys().collect());
    assert_eq!(ours, theirs, "{context}");
    for (uid, text) in &here {
        let (ours, theirs) = (P::essence::<R>(text), P::essence::<R>(&there[uid]));
        assert_eq!(ours, theirs, "{context}: {uid}: {text} {}", there[uid]);
    }
    marks.seen::<R>(&world.here);
    let all = world.here.kept_texts::<R>() + &world.there.kept_texts::<R>();
    let found = marks_in(&all);
    let lost: Vec<_> = marks.owed.difference(&found).collect();
    assert!(
        lost.is_empty(),
        "{context}: texts that are nowhere: {lost:?}, after {:#?}",
        marks.edits
    );
}

/// Runs one history; `folder` is one that vdirsyncer keeps in step with the server.
fn run<P: Place>(world: &World<P>, seed: u64, folder: Option<&Folder>) {
    let mut rng = SplitMix64::stream(0x51ac, seed);
    let (mut cards, mut events) = (Marks::default(), Marks::default());
    for round in 0..4 {
        let context = format!("history {seed}, round {round}");
        let edits = rng.below(12);
        for _ in 0..edits {
            edit::<Card, _>(&world.here, &mut rng, &mut cards);
            edit::<CalendarObject, _>(&world.here, &mut rng, &mut events);
        }
        match folder {
            Some(folder) if rng.chance(500) => {
                folder.sync();
                for _ in 0..edits {
                    edit::<Card, _>(folder, &mut rng, &mut cards);
                    edit::<CalendarObject, _>(folder, &mut rng, &mut events);
                }
                folder.sync();
            }
            _ => {
                for _ in 0..edits {
                    edit::<Card, _>(&world.there, &mut rng, &mut cards);
                    edit::<CalendarObject, _>(&world.there, &mut rng, &mut events);
                }
            }
        }
        let bytes = i64::from(rng.below(40_000));
        match rng.chance(500) {
            true => world.sync_and_cut(bytes),
            false => world.sync_and_kill(bytes),
        }
        cards.edits.push("a run that is cut off".to_owned());
        events.edits.push("a run that is cut off".to_owned());
        cards.seen::<Card>(&world.here);
        events.seen::<CalendarObject>(&world.here);
        if rng.chance(500) {
            edit::<Card, _>(&world.there, &mut rng, &mut cards);
            edit::<CalendarObject, _>(&world.here, &mut rng, &mut events);
        }
        cards.all_are_owed();
        events.all_are_owed();
        for report in world.sync(1_000).unwrap() {
            assert_eq!(report.problems, [], "{context}");
        }
        check_in_step::<Card, P>(world, &mut cards, &context);
        check_in_step::<CalendarObject, P>(world, &mut events, &context);
        // A further run has nothing to do.
        for report in world.sync(0).unwrap() {
            assert_eq!(report, etui_sync::PairReport::default(), "{context}");
        }
    }
}

fn run_with(product: &Product, histories: u64) {
    for seed in 0..histories {
        let there = product.make_collections(seed);
        // It takes longer than all else together.
        let is_third = product.has_vdirsyncer && seed % 3 == 0;
        let folder = is_third.then(|| Folder::of(&there));
        let world = World::with_server(there, &product.discovery);
        run(&world, seed, folder.as_ref());
        product.remove_collections(&world.there);
    }
}

#[test]
fn a_store_and_etui_are_in_step_after_a_cut_and_nothing_is_lost() {
    for seed in 0..histories(12) {
        run(&World::served(), seed, None);
    }
}

#[test]
fn two_computers_are_in_step_by_a_pipe_after_a_cut_and_nothing_is_lost() {
    for seed in 0..histories(4) {
        run(&World::piped(), seed, None);
    }
}

#[test]
fn a_store_and_radicale_are_in_step_after_a_cut_and_nothing_is_lost() {
    run_with(&radicale(), histories(3));
}

#[test]
#[ignore = "scripts/sync-tests installs Xandikos and runs it"]
fn a_store_and_xandikos_are_in_step_after_a_cut_and_nothing_is_lost() {
    run_with(&xandikos(), histories(3));
}

#[test]
#[ignore = "scripts/sync-tests installs Cyrus and runs it"]
fn a_store_and_cyrus_are_in_step_after_a_cut_and_nothing_is_lost() {
    run_with(&cyrus(), histories(3));
}

#[test]
#[ignore = "scripts/sync-tests installs SOGo and runs it"]
fn a_store_and_sogo_are_in_step_after_a_cut_and_nothing_is_lost() {
    run_with(&sogo(), histories(3));
}
