//! Several programs increment the records of one date book, and are killed and followed by others:
//! each continues from the synced values, an increment that another program overtook is reported,
//! and no acknowledged one is lost.

use std::collections::BTreeMap;

use etui::calendar::CalendarObject;
use etui::calendar::zones::TimeZoneResolver;
use etui::datebook::DateBook;
use etui::{Store, Vfs};
use etui_testkit::own_process::{ProgramOfTest, in_own_process};
use etui_testkit::rng::SplitMix64;

use super::child::{Lives, Running, Task, is_over, kills, seed, tell};
use super::kinds::{name, number};

/// Few, so that programs compete for them.
const RECORDS: u32 = 6;
/// Number of concurrent programs.
const PROGRAMS: usize = 2;

fn counter(uid: u32, count: u64) -> CalendarObject {
    let name = name(uid);
    let text = format!(
        "BEGIN:VEVENT\r\nUID:{name}\r\nSUMMARY:{count}\r\nDTSTART:2026112{uid}T090000Z\r\n\
         END:VEVENT\r\n"
    );
    CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap()
}

fn count(record: &CalendarObject) -> u64 {
    record.master().summary.as_deref().unwrap().parse().unwrap()
}

/// The child.
#[test]
fn a_date_book_is_counted_up_until_killed() {
    let Some(task) = Task::given() else {
        return;
    };
    let mut rng = SplitMix64::new(task.seed);
    let store = task.begin(&mut rng);
    let calendar = store.calendar().unwrap();
    let mut book = DateBook::open(&calendar);
    loop {
        let mut counted = String::new();
        for _ in 0..1 + rng.below(4) {
            let taken = book.take(u64::from(rng.below(RECORDS))).unwrap();
            let uid = number(&taken.stored().uid);
            let new = counter(uid, count(&taken.record().unwrap()) + 1);
            book.release_dirty(taken, new).unwrap();
            counted.push_str(&format!(" {uid}"));
        }
        tell(&format!("sync{counted}"));
        let synced = book.sync().unwrap();
        let overtaken = synced.conflicts.iter().map(|c| number(&c.uid));
        let overtaken: Vec<_> = overtaken.map(|uid| format!(" {uid}")).collect();
        tell(&format!("done{}", overtaken.concat()));
    }
}

/// The children's reports.
#[derive(Default)]
struct Told {
    acknowledged: BTreeMap<u32, u64>,
    /// Increments under way at the kill.
    doubtful: BTreeMap<u32, u64>,
    syncs: u64,
}

impl Told {
    fn hear(&mut self, lines: &[String]) {
        let uids = |words: &str| -> Vec<u32> {
            let each = words.split_whitespace();
            each.map(|uid| uid.parse().unwrap()).collect()
        };
        let mut begun: Vec<u32> = Vec::new();
        for line in lines {
            match line.strip_prefix("sync") {
                Some(words) => begun = uids(words),
                None => {
                    self.syncs += 1;
                    let overtaken = uids(line.strip_prefix("done").unwrap());
                    for uid in begun.drain(..).filter(|uid| !overtaken.contains(uid)) {
                        *self.acknowledged.entry(uid).or_default() += 1;
                    }
                }
            }
        }
        for uid in begun {
            *self.doubtful.entry(uid).or_default() += 1;
        }
    }
}

#[test]
fn programs_that_count_up_one_date_book_lose_nothing_when_some_are_killed() {
    // It starts many processes.
    if !in_own_process(programs_that_count_up_one_date_book_lose_nothing_when_some_are_killed) {
        return;
    }
    let seed = seed();
    let mut rng = SplitMix64::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let all: Vec<_> = (0..RECORDS).map(|uid| counter(uid, 0)).collect();
    calendar.save_many(&all).unwrap();

    let mut seeds = seed * 1_000..;
    let child = ProgramOfTest::new(a_date_book_is_counted_up_until_killed);
    let mut start = || Running::start(child, &path, Vfs::System, seeds.next().unwrap());
    let mut programs: Vec<_> = (0..PROGRAMS).map(|_| start()).collect();
    let mut told = Told::default();
    let mut lives = Lives::new();
    for round in 0.. {
        if is_over(round, told.syncs > round) {
            break;
        }
        std::thread::sleep(lives.draw(&mut rng));
        let at = rng.below(PROGRAMS as u32) as usize;
        let killed = std::mem::replace(&mut programs[at], start());
        let before = told.syncs;
        told.hear(&killed.kill());
        lives.learn(told.syncs > before);
    }
    for program in programs {
        told.hear(&program.kill());
    }
    let mut counted = 0;
    for uid in 0..RECORDS {
        let stored = calendar.get(&name(uid)).unwrap().unwrap();
        let found = count(&CalendarObject::parse(stored.text, &TimeZoneResolver::new()).unwrap());
        let least = told.acknowledged.get(&uid).copied().unwrap_or(0);
        let most = least + told.doubtful.get(&uid).copied().unwrap_or(0);
        assert!(
            (least..=most).contains(&found),
            "seed {seed}: {uid} is {found}, not {least} to {most}"
        );
        counted += found;
    }
    let report = store.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    println!(
        "{} kills, {} syncs acknowledged, counted to {counted}",
        kills(),
        told.syncs
    );
    assert!(told.syncs > kills(), "the kills came too early");
}
