//! What goes on for ever is kept in memory between ranges: it is what the store has, whoever wrote
//! it.

#![allow(clippy::unwrap_used, clippy::panic)]
#![allow(missing_docs)]

mod support;

use std::ops::Range;

use etui::Store;
use etui::calendar::time::{Date, Timestamp, Zone};
use etui::calendar::zones::Zones;
use etui::calendar::{Calendar, Record};
use etui_testkit::rng::SplitMix64;

use support::calendar::{naive, told};
use support::directory;

const DAY: i64 = 86_400;
/// 2026-01-01.
const FIRST_DAY: i64 = 20_454;

fn series(uid: &str, day: i64, rule: &str) -> Record {
    let start = Date::from_days(day);
    let text = format!(
        "BEGIN:VEVENT\r\nUID:{uid}\r\nSUMMARY:{uid} {day} {rule}\r\n\
         DTSTART;TZID=Europe/Berlin:{start}T090000\r\nDURATION:PT1H\r\nRRULE:{rule}\r\n\
         END:VEVENT\r\n"
    );
    Record::parse(text, &Zones::new()).unwrap()
}

fn week(day: i64) -> Range<Timestamp> {
    Timestamp::from_seconds(day * DAY)..Timestamp::from_seconds((day + 7) * DAY)
}

fn agrees(calendar: &Calendar<'_>, day: i64) {
    let viewer = Zone::UTC;
    let found = calendar.between(week(day), &viewer).unwrap();
    assert_eq!(told(&found), naive(calendar, &week(day), &viewer));
    let busy = calendar.free_busy(week(day), &viewer).unwrap();
    assert_eq!(busy.is_empty(), found.is_empty());
}

#[test]
fn what_goes_on_for_ever_is_as_the_store_has_it() {
    let (_dir, path) = directory();
    let stores = [Store::open(&path).unwrap(), Store::open(&path).unwrap()];
    let calendars = stores.each_ref().map(|store| store.calendar().unwrap());
    let rules = [
        "FREQ=WEEKLY",
        "FREQ=DAILY",
        "FREQ=MONTHLY",
        "FREQ=WEEKLY;COUNT=5",
    ];
    let mut rng = SplitMix64::new(11);
    for step in 0..120 {
        let [one, other] = match rng.chance(500) {
            true => [&calendars[0], &calendars[1]],
            false => [&calendars[1], &calendars[0]],
        };
        let uid = format!("series {}", rng.below(12));
        if rng.chance(250) {
            let _ = one.remove(&uid);
        } else {
            let day = FIRST_DAY + i64::from(rng.below(400));
            one.save(&series(&uid, day, rng.pick(&rules))).unwrap();
        }
        let day = FIRST_DAY - 10 + i64::from(rng.below(500));
        let before = (step % 10 == 0).then(|| stores[0].snapshot().unwrap());
        let seen = before.as_ref().map(|snapshot| {
            let reader = snapshot.calendar().unwrap();
            told(&reader.between(week(day), &Zone::UTC).unwrap())
        });
        agrees(other, day);
        agrees(one, day);
        one.save(&series(&uid, day, "FREQ=DAILY")).unwrap();
        agrees(other, day);
        if let (Some(snapshot), Some(seen)) = (before, seen) {
            // A state of before is still what it was.
            let reader = snapshot.calendar().unwrap();
            let again = reader.between(week(day), &Zone::UTC).unwrap();
            assert_eq!(told(&again), seen);
        }
        agrees(one, day);
    }
}

#[test]
fn more_go_on_for_ever_than_are_kept() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    // Three begin at a time.
    let records: Vec<Record> = (0..8_400)
        .map(|n| series(&format!("series {n}"), FIRST_DAY + n / 3, "FREQ=YEARLY"))
        .collect();
    calendar.save_many(&records).unwrap();
    let count = |day: i64| calendar.between(week(day), &Zone::UTC).unwrap().len();
    // Asked for in the middle first, so that they are read in two steps.
    for day in [
        FIRST_DAY + 1_000,
        FIRST_DAY + 2_793,
        FIRST_DAY + 2_700,
        FIRST_DAY + 1_000,
    ] {
        assert_eq!(count(day), count(day));
    }
    agrees(&calendar, FIRST_DAY + 2_793);
    agrees(&calendar, FIRST_DAY + 2_600);
}

#[test]
fn what_another_program_repairs_is_seen() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    calendar
        .save(&series("daily", FIRST_DAY, "FREQ=DAILY"))
        .unwrap();
    agrees(&calendar, FIRST_DAY + 5);
    let conn = rusqlite::Connection::open(&path).unwrap();
    assert_eq!(conn.execute("DELETE FROM series", ()).unwrap(), 1);
    let other = Store::open(&path).unwrap();
    let lost = other.calendar().unwrap();
    let lost = lost.between(week(FIRST_DAY + 5), &Zone::UTC).unwrap();
    assert_eq!(lost, []);
    Store::open(&path).unwrap().repair().unwrap();
    for store in [&store, &other] {
        agrees(&store.calendar().unwrap(), FIRST_DAY + 5);
    }
}

#[test]
fn what_has_only_exceptions_never_happens() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let text = "BEGIN:VEVENT\r\nUID:1\r\nDTSTART:20260106T090000\r\nEXRULE:FREQ=DAILY\r\n\
        END:VEVENT\r\n";
    calendar
        .save(&Record::parse(text, &Zones::new()).unwrap())
        .unwrap();
    agrees(&calendar, FIRST_DAY);
}
