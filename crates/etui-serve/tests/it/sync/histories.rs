//! Random histories on both sides, with a connection that is cut anywhere: both are in step after the next run,
//! and no text that anybody wrote is nowhere.

use std::fmt::Write;

use etui::Store;
use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::resource::{Resource, ResourceCondition, ResourceKey};
use etui::store::CollectionKey;
use etui_testkit::rng::SplitMix64;

use super::world::{World, all_texts, texts};

/// The number of histories; `scripts/sync-tests` sets another one.
pub(super) fn histories() -> u64 {
    let set = std::env::var("ETUI_SYNC_HISTORIES").ok();
    set.map_or(12, |text| text.parse().unwrap())
}

/// A kind of records in a history.
pub(super) trait Edited: Resource {
    fn new_text(uid: &str, title: &str, lines: &str) -> String;
    /// The lines before the end.
    const END: &'static str;
}

impl Edited for Card {
    const END: &'static str = "END:VCARD";

    fn new_text(uid: &str, title: &str, lines: &str) -> String {
        format!(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{title}\r\nN:{title};;;;\r\n{lines}END:VCARD\r\n"
        )
    }
}

impl Edited for CalendarObject {
    const END: &'static str = "END:VEVENT";

    fn new_text(uid: &str, title: &str, lines: &str) -> String {
        format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//t//EN\r\nBEGIN:VEVENT\r\nUID:{uid}\r\n\
             DTSTAMP:20261101T000000Z\r\nDTSTART:20261124T100000Z\r\nSUMMARY:{title}\r\n{lines}END:VEVENT\r\n\
             END:VCALENDAR\r\n"
        )
    }
}

/// Makes one random edit in a store, and returns the mark that it wrote.
pub(super) fn edit<R: Edited>(store: &Store, rng: &mut SplitMix64, marks: &mut Vec<String>) {
    let collection = store.collection::<R>(CollectionKey::Default).unwrap();
    let mark = format!("mark{}end", marks.len());
    let uids: Vec<String> = texts::<R>(store).into_keys().collect();
    let always = ResourceCondition::Always;
    let old = match rng.below(10) {
        0..3 => None,
        _ if uids.is_empty() => None,
        _ => uids.get(rng.below(uids.len() as u32) as usize),
    };
    let Some(uid) = old else {
        // The same people are entered on both sides now and then.
        let uid = format!("p{}", rng.below(40));
        if uids.contains(&uid) {
            return;
        }
        let text = R::new_text(&uid, &mark, &format!("NOTE;X-A=1:{mark}\r\n"));
        marks.push(mark);
        let name = format!("{uid}{}", R::EXTENSION);
        // Of one that was removed the name may be another's.
        let name = match collection.put_resource(&name, text.as_bytes(), &always) {
            Ok(_) => return,
            Err(_) => format!("n{}{}", marks.len(), R::EXTENSION),
        };
        collection
            .put_resource(&name, text.as_bytes(), &always)
            .unwrap();
        return;
    };
    let found = collection.resource(ResourceKey::Uid(uid)).unwrap().unwrap();
    if rng.below(6) == 0 {
        collection.remove_resource(&found.name, &always).unwrap();
        return;
    }
    let text = String::from_utf8(found.bytes).unwrap();
    let new = match rng.below(3) {
        // A new line.
        0 => text.replacen(R::END, &format!("X-MARK:{mark}\r\n{}", R::END), 1),
        // Another title, which both sides may change.
        _ => {
            let name = if R::EXTENSION == ".vcf" {
                "FN:"
            } else {
                "SUMMARY:"
            };
            let lines = text
                .split_inclusive("\r\n")
                .map(|line| match line.starts_with(name) {
                    true => format!("{name}{mark}\r\n"),
                    false => line.to_owned(),
                });
            lines.collect()
        }
    };
    marks.push(mark);
    collection
        .put_resource(&found.name, new.as_bytes(), &always)
        .unwrap();
}

/// Returns a text whose lines of equal rank have one order.
pub(super) fn sorted(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

fn check_in_step<R: Edited>(world: &World, marks: &[String], context: &str) {
    let (here, there) = (texts::<R>(&world.here), texts::<R>(&world.there));
    let uids = |all: &std::collections::BTreeMap<String, String>| -> Vec<String> {
        all.keys().cloned().collect()
    };
    assert_eq!(uids(&here), uids(&there), "{context}");
    for (uid, text) in &here {
        assert_eq!(sorted(text), sorted(&there[uid]), "{context}: {uid}");
    }
    let all = all_texts::<R>(&world.here) + &all_texts::<R>(&world.there);
    let mut lost = String::new();
    for mark in marks {
        if !all.contains(mark.as_str()) {
            write!(lost, " {mark}").unwrap();
        }
    }
    assert_eq!(lost, "", "{context}: texts that are nowhere");
}

#[test]
fn both_sides_are_in_step_after_a_cut_and_nothing_is_lost() {
    for seed in 0..histories() {
        let mut rng = SplitMix64::stream(0x51ac, seed);
        let world = World::new();
        let (mut cards, mut events) = (Vec::new(), Vec::new());
        for round in 0..4 {
            for _ in 0..rng.below(12) {
                edit::<Card>(&world.here, &mut rng, &mut cards);
                edit::<Card>(&world.there, &mut rng, &mut cards);
                edit::<CalendarObject>(&world.here, &mut rng, &mut events);
                edit::<CalendarObject>(&world.there, &mut rng, &mut events);
            }
            world.proxy.cut_after(i64::from(rng.below(40_000)));
            let _cut = world.sync();
            if rng.chance(500) {
                edit::<Card>(&world.there, &mut rng, &mut cards);
                edit::<CalendarObject>(&world.here, &mut rng, &mut events);
            }
            world.proxy.mend();
            let context = format!("history {seed}, round {round}");
            let reports = world.sync_with(1_000).unwrap();
            for report in &reports {
                assert_eq!(report.problems, [], "{context}");
            }
            check_in_step::<Card>(&world, &cards, &context);
            check_in_step::<CalendarObject>(&world, &events, &context);
            // A further run has nothing to do.
            for report in world.sync().unwrap() {
                assert_eq!(report, etui_sync::PairReport::default(), "{context}");
            }
        }
    }
}
