//! Ranges with unbounded series: cached series are those of the store, whichever process wrote them.

use std::ops::{ControlFlow, Range};

use etui::calendar::OccurrenceLimit;
use etui::calendar::ics::ComponentKind;
use etui::calendar::time::{Date, DateTime, TimeZone, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{BusyPeriod, Calendar, CalendarObject, Occurrence, Status};
use etui::{RecordId, Store};
use etui_testkit::rng::SplitMix64;

use crate::support::calendar::{naive, told};
use crate::support::directory;

const DAY: i64 = 86_400;
/// 2026-01-01.
const FIRST_DAY: i64 = 20_454;

fn series(uid: &str, day: i64, rule: &str) -> CalendarObject {
    let start = Date::from_days(day);
    let text = format!(
        "BEGIN:VEVENT\r\nUID:{uid}\r\nSUMMARY:{uid} {day} {rule}\r\n\
         DTSTART;TZID=Europe/Berlin:{start}T090000\r\nDURATION:PT1H\r\nRRULE:{rule}\r\n\
         END:VEVENT\r\n"
    );
    CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap()
}

fn week(day: i64) -> Range<Timestamp> {
    Timestamp::from_seconds(day * DAY)..Timestamp::from_seconds((day + 7) * DAY)
}

fn agrees(calendar: &Calendar, day: i64) {
    let viewer = TimeZone::UTC;
    let found = calendar.between(week(day), &viewer).unwrap();
    assert_eq!(told(&found), naive(calendar, &week(day), &viewer));
    let busy = calendar.free_busy(week(day), &viewer).unwrap();
    assert_eq!(busy.is_empty(), found.is_empty());
}

#[test]
fn cached_series_are_those_of_the_store() {
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
            told(&reader.between(week(day), &TimeZone::UTC).unwrap())
        });
        agrees(other, day);
        agrees(one, day);
        one.save(&series(&uid, day, "FREQ=DAILY")).unwrap();
        agrees(other, day);
        if let (Some(snapshot), Some(seen)) = (before, seen) {
            // A snapshot is unchanged.
            let reader = snapshot.calendar().unwrap();
            let again = reader.between(week(day), &TimeZone::UTC).unwrap();
            assert_eq!(told(&again), seen);
        }
        agrees(one, day);
    }
}

#[test]
fn many_unbounded_series_are_found() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    // Three begin on each day.
    let records: Vec<CalendarObject> = (0..8_400)
        .map(|n| series(&format!("series {n}"), FIRST_DAY + n / 3, "FREQ=YEARLY"))
        .collect();
    calendar.save_many(&records).unwrap();
    let count = |day: i64| calendar.between(week(day), &TimeZone::UTC).unwrap().len();
    // Ranges in the middle first.
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
fn the_first_of_a_range_are_the_first_of_all() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    // An instance that is moved to the start of another and ends before it; and two dates that are
    // one day, as the zone skips a day.
    let moved = "BEGIN:VEVENT\r\nUID:1\r\nDTSTART:20260105T090000Z\r\nDURATION:PT2H\r\n\
                 RRULE:FREQ=DAILY\r\nEND:VEVENT\r\n\
                 BEGIN:VEVENT\r\nUID:1\r\nRECURRENCE-ID:20260107T090000Z\r\n\
                 DTSTART:20260106T090000Z\r\nDURATION:PT1H\r\nEND:VEVENT\r\n";
    let days = "BEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:20111201\r\n\
                RRULE:FREQ=DAILY\r\nEND:VEVENT\r\n";
    for (text, viewer, day) in [
        (moved, "UTC", FIRST_DAY + 3),
        (days, "Pacific/Apia", 15_335),
    ] {
        let calendar = store
            .collections::<CalendarObject>()
            .create(viewer)
            .unwrap();
        let record = CalendarObject::parse(text.to_owned(), &TimeZoneResolver::new()).unwrap();
        calendar.save(&record).unwrap();
        let viewer = TimeZone::named(viewer).unwrap();
        let all = told(&calendar.between(week(day), &viewer).unwrap());
        assert!(all.len() > 5);
        for limit in 0..=all.len() {
            let first = calendar.between_bounded(week(day), &viewer, OccurrenceLimit::First(limit));
            assert_eq!(
                told(&first.unwrap().occurrences),
                all[..limit],
                "{viewer:?} {limit}"
            );
        }
    }
}

#[test]
fn a_repair_by_another_program_is_visible() {
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
    let lost = lost.between(week(FIRST_DAY + 5), &TimeZone::UTC).unwrap();
    assert_eq!(lost, []);
    Store::open(&path).unwrap().maintenance().repair().unwrap();
    for store in [&store, &other] {
        agrees(&store.calendar().unwrap(), FIRST_DAY + 5);
    }
}

#[test]
fn a_series_of_exceptions_has_no_occurrences() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let text = "BEGIN:VEVENT\r\nUID:1\r\nDTSTART:20260106T090000\r\nEXRULE:FREQ=DAILY\r\n\
        END:VEVENT\r\n";
    calendar
        .save(&CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap())
        .unwrap();
    agrees(&calendar, FIRST_DAY);
}

/// Returns the line of a time: a date, floating, in a zone or UTC.
fn line(name: &str, kind: u32, seconds: i64) -> String {
    let time = DateTime::from_seconds(seconds);
    match kind {
        0 => format!("{name};VALUE=DATE:{}\r\n", time.date()),
        1 => format!("{name}:{time}\r\n"),
        2 => format!("{name}:{time}Z\r\n"),
        3 => format!("{name};TZID=America/Havana:{time}\r\n"),
        _ => format!("{name};TZID=Europe/Berlin:{time}\r\n"),
    }
}

/// Returns a random recurring record with overrides, transparent or tentative at times.
fn anything(rng: &mut SplitMix64, uid: &str) -> String {
    // Contiguous hours, but for overrides.
    let unbroken = rng.chance(300);
    let kind = if unbroken { 2 } else { rng.below(5) };
    let start =
        (FIRST_DAY + 75 + i64::from(rng.below(15))) * DAY + i64::from(rng.below(48)) * 1_800;
    let more = |rng: &mut SplitMix64| {
        let mut lines = format!("SUMMARY:{}\r\n", rng.below(1_000));
        lines += rng.pick(&[
            "",
            "",
            "STATUS:TENTATIVE\r\n",
            "STATUS:CANCELLED\r\n",
            "STATUS:CONFIRMED\r\n",
        ]);
        lines += rng.pick(&["", "", "", "TRANSP:TRANSPARENT\r\n"]);
        let length = rng.pick(&[
            "PT0S", "PT30M", "PT1H", "PT7H", "P1D", "P1DT1H", "P9D", "P40D",
        ]);
        match rng.below(8) {
            _ if unbroken => lines += "DURATION:PT1H\r\n",
            0 => {}
            1 => lines += "DURATION:-PT1H\r\n",
            _ => lines += &format!("DURATION:{length}\r\n"),
        }
        lines
    };
    let rule = rng.pick(&[
        "DAILY",
        "DAILY;INTERVAL=3;COUNT=9",
        "WEEKLY;BYDAY=MO,WE,SU",
        "MONTHLY;BYDAY=-1SU",
        "HOURLY",
        "HOURLY;INTERVAL=7;COUNT=30",
        "MINUTELY;INTERVAL=90",
        "DAILY;UNTIL=20260329",
        "HOURLY;UNTIL=20260329T010000Z",
    ]);
    let rule = match rule {
        _ if unbroken => rng.pick(&["HOURLY", "HOURLY;COUNT=300", "MINUTELY;INTERVAL=60"]),
        rule if rule.ends_with('Z') && kind < 2 => &rule[..rule.len() - 1],
        rule => rule,
    };
    let type_of = if rng.chance(100) { "VTODO" } else { "VEVENT" };
    let mut text = format!(
        "BEGIN:{type_of}\r\nUID:{uid}\r\n{}",
        line("DTSTART", kind, start)
    );
    text += &more(rng);
    text += &format!("RRULE:FREQ={rule}\r\n");
    let near = |rng: &mut SplitMix64| start + i64::from(rng.below(12)) * DAY;
    let changed = rng.chance(500);
    if changed && rng.chance(500) {
        let at = near(rng);
        let kind = if rng.chance(300) { 0 } else { kind };
        text += &line("EXDATE", kind, at);
    }
    text += &format!("END:{type_of}\r\n");
    for _ in 0..if changed { rng.below(3) } else { 0 } {
        let at = near(rng);
        text += &format!("BEGIN:{type_of}\r\nUID:{uid}\r\n");
        text += &line("RECURRENCE-ID", kind, at);
        let moved = at + (i64::from(rng.below(5)) - 2) * 43_200;
        text += &line("DTSTART", kind, moved);
        text += &more(rng);
        text += &format!("END:{type_of}\r\n");
    }
    text
}

/// Computes busy periods by testing each interval between two starts or ends.
fn naive_busy(all: &[Occurrence], range: &Range<Timestamp>) -> Vec<BusyPeriod> {
    let within = |at: Timestamp| at.max(range.start).min(range.end);
    let mut edges = vec![range.start, range.end];
    edges.extend(
        all.iter()
            .flat_map(|o| [within(o.during.start), within(o.during.end)]),
    );
    edges.sort();
    edges.dedup();
    let mut busy: Vec<BusyPeriod> = Vec::new();
    for edges in edges.windows(2) {
        let during = edges[0]..edges[1];
        let taken = all
            .iter()
            .filter(|o| o.is_busy() && o.during.start < during.end && o.during.end > during.start);
        let mut tentative = None;
        for o in taken {
            let is_tentative = o.status == Some(Status::Tentative);
            tentative = Some(is_tentative && tentative != Some(false));
        }
        let Some(tentative) = tentative else {
            continue;
        };
        match busy.last_mut() {
            Some(last) if last.during.end == during.start && last.tentative == tentative => {
                last.during.end = during.end;
            }
            _ => busy.push(BusyPeriod { during, tentative }),
        }
    }
    busy
}

#[test]
fn ranges_of_random_records_match_the_reference() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let mut rng = SplitMix64::new(5);
    let (mut found, mut taken) = (0, 0);
    for n in 0..40 {
        let calendar = store
            .collections::<CalendarObject>()
            .create(&n.to_string())
            .unwrap();
        let texts: Vec<String> = (0..1 + rng.below(4))
            .map(|n| anything(&mut rng, &n.to_string()))
            .collect();
        let read =
            |text: &String| CalendarObject::parse(text.clone(), &TimeZoneResolver::new()).unwrap();
        let records: Vec<CalendarObject> = texts.iter().map(read).collect();
        calendar.save_many(&records).unwrap();
        for _ in 0..15 {
            let viewer = rng.pick(&[
                "UTC",
                "Europe/Berlin",
                "America/Havana",
                "Pacific/Kiritimati",
            ]);
            let viewer = TimeZone::named(viewer).unwrap();
            let from = (FIRST_DAY + 70 + i64::from(rng.below(40))) * DAY;
            let from = Timestamp::from_seconds(from + i64::from(rng.below(48)) * 1_800);
            let length = if rng.chance(200) {
                1
            } else {
                i64::from(rng.below(200)) * 1_800
            };
            let range = from..from.plus_seconds(length);
            let all = calendar.between(range.clone(), &viewer).unwrap();
            let naive = naive(&calendar, &range, &viewer);
            let mut sorted = naive.clone();
            sorted.sort();
            let mut seen = told(&all);
            seen.sort();
            assert_eq!(seen, sorted, "{range:?} {viewer:?}");
            for limit in [1, 2, 5, rng.below(100) as usize] {
                let first =
                    calendar.between_bounded(range.clone(), &viewer, OccurrenceLimit::First(limit));
                assert_eq!(
                    first.unwrap().occurrences,
                    all[..limit.min(all.len())],
                    "{range:?} {limit}"
                );
            }
            let busy = calendar.free_busy(range.clone(), &viewer).unwrap();
            assert_eq!(
                busy,
                naive_busy(&all, &range),
                "{range:?} {viewer:?} {texts:#?}"
            );
            found += all.len();
            taken += busy.len();
        }
    }
    assert!(found > 2_000 && taken > 200, "{found} {taken}");
}

#[test]
fn records_of_a_kind_are_found_and_read_with_their_zones() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let file = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VTIMEZONE\r\nTZID:Ship\r\nBEGIN:STANDARD\r\n\
        DTSTART:19700101T000000\r\nTZOFFSETFROM:+0300\r\nTZOFFSETTO:+0300\r\nEND:STANDARD\r\n\
        END:VTIMEZONE\r\n\
        BEGIN:VEVENT\r\nUID:once\r\nDTSTART;TZID=Ship:20260102T010000\r\nEND:VEVENT\r\n\
        BEGIN:VTODO\r\nUID:due\r\nDUE;TZID=Ship:20260102T010000\r\nEND:VTODO\r\n\
        BEGIN:VEVENT\r\nUID:daily\r\nDTSTART;TZID=Ship:20260101T010000\r\nRRULE:FREQ=DAILY\r\n\
        END:VEVENT\r\nEND:VCALENDAR\r\n";
    calendar
        .import(file.as_bytes(), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let snapshot = store.snapshot().unwrap();
    let reader = snapshot.calendar().unwrap();
    let uid = |id| reader.get(id).unwrap().unwrap().uid;
    // 2026-01-01 in UTC: 01:00 of the next day on the ship is 22:00.
    let day =
        Timestamp::from_seconds(FIRST_DAY * DAY)..Timestamp::from_seconds((FIRST_DAY + 1) * DAY);
    let found = |kind| {
        let ids = reader
            .records_between(day.clone(), &TimeZone::UTC, kind)
            .unwrap();
        let mut uids: Vec<String> = ids.into_iter().map(uid).collect();
        uids.sort();
        uids
    };
    assert_eq!(found(Some(ComponentKind::Event)), ["daily", "once"]);
    assert_eq!(found(Some(ComponentKind::Todo)), ["due"]);
    assert_eq!(found(Some(ComponentKind::Journal)), [""; 0]);

    let read = |records: Option<&[RecordId]>| {
        let mut starts = Vec::new();
        reader
            .for_each_with_zones(records, |id, text, zones| {
                let object = CalendarObject::parse(text, &*zones.resolver()?)?;
                let timing = object.master().timing.clone().unwrap();
                starts.push((id, timing.start.at(&TimeZone::UTC)));
                Ok(())
            })
            .unwrap();
        starts
    };
    let all = read(None);
    let late = Timestamp::from_seconds(FIRST_DAY * DAY + 22 * 3_600);
    let starts: Vec<Timestamp> = all.iter().map(|(_, at)| *at).collect();
    assert_eq!(starts, [late, late, late.plus_seconds(-DAY)]);
    let some = [all[2].0, RecordId(9_999), all[0].0];
    assert_eq!(read(Some(&some)), [all[2], all[0]]);
}
