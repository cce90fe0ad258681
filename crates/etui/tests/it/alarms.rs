//! The next alarms follow from the records, independent of earlier queries and changes; their rows
//! are removed with the records.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::calendar::uids;
use crate::support::{clean, directory};
use etui::calendar::time::{TimeZone, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{AlarmTrigger, Calendar, CalendarObject, Status};
use etui::{Options, RecordId, Store};
use etui_testkit::calendars::{self, Span};
use etui_testkit::rng::SplitMix64;

const DAY: i64 = 86_400;
/// Days that the reference looks ahead.
const AHEAD: i64 = 12;

fn zone(name: &str) -> TimeZone {
    TimeZone::named(name).expect(name)
}

fn event(uid: &str, lines: &str) -> CalendarObject {
    let text = format!("BEGIN:VEVENT\r\nUID:{uid}\r\nSUMMARY:The {uid}\r\n{lines}END:VEVENT\r\n");
    CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap()
}

type Due = (Timestamp, RecordId, String);

/// Returns every alarm from a moment on, from the text of each record.
fn naive(calendar: &Calendar, after: Timestamp, viewer: &TimeZone) -> Vec<Due> {
    let until = after.plus_seconds(AHEAD * DAY);
    let mut all = Vec::new();
    for (uid, id) in uids(calendar) {
        let (_, record) = calendar.record(&uid).unwrap().unwrap();
        let items: Vec<_> = record.components().filter(|i| i.timing.is_some()).collect();
        let is_over = |item: &etui::calendar::CalendarComponent| {
            matches!(item.status, Some(Status::Cancelled | Status::Completed))
        };
        let mut take = |item: &etui::calendar::CalendarComponent,
                        alarm: &etui::calendar::Alarm,
                        due| {
            let done = item.acknowledged.as_ref().map(|t| t.at(viewer));
            let done = done.max(alarm.acknowledged);
            if (after..until).contains(&due) && done.is_none_or(|done| due > done) && !is_over(item)
            {
                all.push((due, id, item.summary.clone().unwrap_or_default()));
            }
        };
        let wide = after.plus_seconds(-40 * DAY)..until.plus_seconds(40 * DAY);
        for instance in record.recurrence_set().between(wide, viewer) {
            let item = items[instance.component];
            for alarm in &item.alarms {
                if !matches!(alarm.trigger, AlarmTrigger::At(_)) {
                    for due in alarm.due(&instance.start, &instance.end, viewer) {
                        take(item, alarm, due);
                    }
                }
            }
        }
        for item in &items {
            for alarm in &item.alarms {
                if let AlarmTrigger::At(due) = alarm.trigger {
                    take(item, alarm, due);
                }
            }
        }
    }
    all.sort();
    all
}

fn compare(calendar: &Calendar, after: Timestamp, limit: usize, viewer: &TimeZone) {
    let mut expected = naive(calendar, after, viewer);
    let until = after.plus_seconds(AHEAD * DAY);
    let found = calendar.alarms(after, limit, viewer).unwrap().alarms;
    assert!(found.len() <= limit);
    let found: Vec<Due> = found
        .into_iter()
        .map(|due| (due.at, due.record, due.title))
        .filter(|(at, ..)| *at < until)
        .collect();
    // Alarms of one record at one moment are in the order of its components.
    let times = |all: &[Due]| all.iter().map(|d| (d.0, d.1)).collect::<Vec<_>>();
    let is_all = expected.len() <= limit;
    expected.truncate(limit);
    assert_eq!(
        times(&found),
        times(&expected),
        "{after} {limit} {viewer:?}"
    );
    let mut sorted = found.clone();
    sorted.sort();
    assert!(!is_all || sorted == expected, "{after} {limit} {viewer:?}");
}

/// Creates a store with records of all kinds, and series with frequent alarms at local times.
fn filled(path: &Path, seed: u64) -> Store {
    let store = Store::open(path).unwrap();
    let calendar = store.calendar().unwrap();
    let mut ics = Vec::new();
    calendars::write_ics(&mut ics, seed, Span::years(1), 100).unwrap();
    let go_on = &mut |_: etui::import::ImportEvent<'_>| ControlFlow::Continue(());
    calendar.import(&*ics, go_on).unwrap();
    for n in 0..45 {
        let start = match n % 3 {
            0 => format!(
                "DTSTART;TZID=Europe/Berlin:202301{:02}T{:02}3000",
                n % 28 + 1,
                n % 24
            ),
            1 => format!("DTSTART:202301{:02}T{:02}1500", n % 28 + 1, n % 24),
            _ => format!("DTSTART;VALUE=DATE:202301{:02}", n % 28 + 1),
        };
        let rule = ["DAILY", "WEEKLY", "MONTHLY", "DAILY;COUNT=400"][n % 4];
        let more = match n % 5 {
            0 => {
                "BEGIN:VALARM\r\nTRIGGER;RElate()D=END:PT26H\r\nREPEAT:2\r\nDURATION:PT5H\r\nEND:VALARM\r\n"
            }
            1 => "BEGIN:VALARM\r\nTRIGGER;VALUE=DATE-TIME:20240715T101500Z\r\nEND:VALARM\r\n",
            _ => "",
        };
        let lines = format!(
            "{start}\r\nRRULE:FREQ={rule}\r\nBEGIN:VALARM\r\nTRIGGER:-PT{}M\r\nEND:VALARM\r\n{more}",
            n * 7
        );
        calendar.save(&event(&format!("more {n}"), &lines)).unwrap();
    }
    store
}

#[test]
fn alarms_are_independent_of_earlier_queries_and_changes() {
    let zones = [
        "Europe/Berlin",
        "UTC",
        "Pacific/Auckland",
        "America/New_York",
    ]
    .map(zone);
    for seed in 1..=3 {
        let (_dir, path) = directory();
        let store = filled(&path, seed);
        let other = Store::open(&path).unwrap();
        let calendars = [&store, &other].map(|s| s.calendar().unwrap());
        let mut rng = SplitMix64::new(seed);
        // The range includes nights in which clocks change.
        let mut now = Timestamp::from_seconds(1_711_000_000 + i64::from(rng.below(100_000)));
        for _ in 0..45 {
            let calendar = &calendars[usize::from(rng.below(4) == 0)];
            let uid = format!("more {}", rng.below(45));
            match rng.below(12) {
                0 => {
                    let _ = calendar.remove(&uid);
                }
                1 => {
                    let _ = calendar.restore(&uid);
                }
                2 => {
                    let lines = format!(
                        "DTSTART:20240{}10T101500Z\r\nRRULE:FREQ=DAILY\r\n\
                         BEGIN:VALARM\r\nTRIGGER:-PT{}M\r\nEND:VALARM\r\n",
                        rng.below(8) + 1,
                        rng.below(90)
                    );
                    calendar.save(&event(&uid, &lines)).unwrap();
                }
                3 => now = now.plus_seconds(-i64::from(rng.below(40)) * DAY),
                4 => now = now.plus_seconds(i64::from(rng.below(40)) * DAY),
                _ => now = now.plus_seconds(i64::from(rng.below(9_000))),
            }
            let viewer = match rng.below(3) {
                0 => &zones[rng.below(4) as usize],
                _ => &zones[0],
            };
            let limit = [1, 3, 10, 60][rng.below(4) as usize];
            compare(calendar, now, limit, viewer);
        }
        clean(&store);
    }
}

#[test]
fn alarm_rows_are_removed_with_their_records() {
    let (_dir, path) = directory();
    let store = filled(&path, 9);
    let calendar = store.calendar().unwrap();
    let berlin = zone("Europe/Berlin");
    clean(&store);
    let count = |table: &str| -> i64 {
        let conn = rusqlite::Connection::open(&path).unwrap();
        conn.query_row(&format!("SELECT count(*) FROM {table}"), [], |r| r.get(0))
            .unwrap()
    };
    assert!(count("alarm WHERE last IS NULL") > 30);
    assert!(count("alarm WHERE last IS NOT NULL") > 30);
    let all = uids(&calendar);
    let (former, latter) = all.split_at(all.len() / 2);
    for (uid, _) in former {
        calendar
            .save(&event(uid, "DTSTART:20240510T101500Z\r\n"))
            .unwrap();
    }
    clean(&store);
    for (uid, _) in former.iter().chain(latter) {
        calendar.remove(uid).unwrap();
    }
    assert_eq!((count("series"), count("alarm")), (0, 0));
    clean(&store);
    for (uid, _) in latter {
        calendar.restore(uid).unwrap();
    }
    clean(&store);
    compare(
        &calendar,
        Timestamp::from_seconds(1_690_000_000),
        40,
        &berlin,
    );
}

#[test]
fn alarms_are_complete_after_a_repair() {
    let (_dir, path) = directory();
    let store = filled(&path, 11);
    let calendar = store.calendar().unwrap();
    let berlin = zone("Europe/Berlin");
    let after = Timestamp::from_seconds(1_690_000_000);
    compare(&calendar, after, 10, &berlin);
    let lose = |what: &str| {
        let conn = rusqlite::Connection::open(&path).unwrap();
        let lost = conn.execute(&format!("DELETE FROM alarm WHERE {what}"), ());
        assert!(lost.unwrap() > 5, "{what}");
    };
    for what in ["last IS NULL", "last IS NOT NULL"] {
        lose(what);
        store.maintenance().repair().unwrap();
        clean(&store);
        compare(&calendar, after, 10, &berlin);
        // Again after a query of the damaged table.
        lose(what);
        let _ = calendar.alarms(after.plus_seconds(-900_000), 10, &berlin);
        store.maintenance().repair().unwrap();
        compare(&calendar, after.plus_seconds(-900_000), 10, &berlin);
    }
}

/// Saves `count` daily series that began long before [`late`].
fn daily_series(calendar: &Calendar, count: usize) {
    for n in 0..count {
        let lines = format!(
            "DTSTART:20230101T09{:02}{:02}Z\r\nRRULE:FREQ=DAILY\r\n\
             BEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\n",
            n / 60,
            n % 60
        );
        calendar
            .save(&event(&format!("daily {n}"), &lines))
            .unwrap();
    }
}

fn late() -> Timestamp {
    Timestamp::from_seconds(1_715_000_000)
}

#[test]
fn queries_do_not_wait_for_a_writing_process() {
    let (_dir, path) = directory();
    let mut options = Options::default();
    options.busy_timeout = Duration::from_secs(1_000);
    let store = Store::open_with(&path, &options).unwrap();
    let calendar = store.calendar().unwrap();
    daily_series(&calendar, 120);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = Instant::now();
    for later in 0..3 {
        compare(&calendar, late().plus_seconds(later), 3, &TimeZone::UTC);
    }
    assert!(began.elapsed() < options.busy_timeout / 2);
    other.execute_batch("ROLLBACK").unwrap();
    compare(&calendar, late(), 3, &TimeZone::UTC);
    clean(&store);
}

#[test]
fn queries_are_answered_during_an_import() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    daily_series(&calendar, 20);
    let mut ics = String::from("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n");
    for n in 0..6_000 {
        ics +=
            &format!("BEGIN:VEVENT\r\nUID:new {n}\r\nDTSTART:20260101T090000Z\r\nEND:VEVENT\r\n");
    }
    ics += "END:VCALENDAR\r\n";
    let mut asked = 0;
    let mut ask = |_: etui::import::ImportEvent<'_>| {
        if asked < 5 {
            asked += 1;
            compare(&calendar, late().plus_seconds(asked), 3, &TimeZone::UTC);
            // From another thread, too.
            std::thread::scope(|scope| {
                let ask = || store.calendar().unwrap().alarms(late(), 3, &TimeZone::UTC);
                assert_eq!(scope.spawn(ask).join().unwrap().unwrap().alarms.len(), 3);
            });
        }
        ControlFlow::Continue(())
    };
    let report = calendar.import(ics.as_bytes(), &mut ask).unwrap();
    assert_eq!((report.added, asked), (6_000, 5));
    compare(&calendar, late(), 3, &TimeZone::UTC);
    clean(&store);
}

/// Queries of any moment change nothing in the file.
#[test]
fn queries_write_nothing() {
    let (_dir, path) = directory();
    let store = filled(&path, 5);
    daily_series(&store.calendar().unwrap(), 20);
    store.close().unwrap();
    let before = std::fs::read(&path).unwrap();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    for day in [0, 1, -400, 4_000] {
        compare(
            &calendar,
            late().plus_seconds(day * DAY),
            10,
            &TimeZone::UTC,
        );
    }
    store.close().unwrap();
    assert!(std::fs::read(&path).unwrap() == before);
}

/// A calendar with nothing but alarms far away is queried in a few windows.
#[test]
fn windows_reach_any_distance() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let alarm = "BEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\n";
    for (uid, lines) in [
        ("ancient", "DTSTART:04000101T000000Z\r\n"),
        ("far", "DTSTART:90000101T000000Z\r\n"),
        ("leap", "DTSTART:20240229T000000Z\r\nRRULE:FREQ=YEARLY\r\n"),
        (
            "never",
            "DTSTART:20240229T000000Z\r\nEXRULE:FREQ=YEARLY\r\nRRULE:FREQ=YEARLY\r\n",
        ),
    ] {
        calendar
            .save(&event(uid, &format!("{lines}{alarm}")))
            .unwrap();
    }
    let due = |after, limit| -> Vec<String> {
        let due = calendar
            .alarms(after, limit, &TimeZone::UTC)
            .unwrap()
            .alarms;
        due.iter().map(|due| due.at.to_string()).collect()
    };
    let all = due(Timestamp::MIN, 5);
    assert_eq!(
        all,
        [
            "03991231T235500Z",
            "20240228T235500Z",
            "20280228T235500Z",
            "20320228T235500Z",
            "20360228T235500Z",
        ]
    );
    assert_eq!(due(late(), 1), ["20280228T235500Z"]);
    assert_eq!(due(late(), 0), [""; 0]);
    let last = due(late(), 5_000);
    assert_eq!(last.len(), 1_934);
    assert_eq!(last[last.len() - 1], "99960228T235500Z");
    let after = Timestamp::from_seconds(253_400_000_000);
    assert_eq!(due(after, 3), [""; 0]);
}

/// Alarms of an event with these lines, each as its time.
fn alarms_of(lines: &str, viewer: &TimeZone) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("personal.etui")).unwrap();
    let calendar = store.calendar().unwrap();
    calendar.save(&event("snoozed", lines)).unwrap();
    let found = calendar
        .alarms(Timestamp::from_seconds(0), 10, viewer)
        .unwrap()
        .alarms;
    found.iter().map(|due| due.at.to_string()).collect()
}

#[test]
fn a_snoozed_alarm_is_due_when_the_snooze_ends() {
    let alarm = "BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT15M\r\nEND:VALARM\r\n";
    let twice = "DTSTART:20270114T150000Z\r\nRRULE:FREQ=DAILY;COUNT=2\r\n";
    for (lines, expected) in [
        (
            "DTSTART:20270114T150000Z\r\nX-MOZ-SNOOZE-TIME:20270114T145500Z\r\n",
            &["20270114T145500Z"][..],
        ),
        (
            "DTSTART:20270114T150000Z\r\nX-MOZ-LASTACK:20270114T144500Z\r\nX-MOZ-SNOOZE-TIME:20270116T145500Z\r\n",
            &["20270116T145500Z"],
        ),
        // The acknowledgement is later than the snooze.
        (
            "DTSTART:20270114T150000Z\r\nX-MOZ-LASTACK:20270114T150000Z\r\nX-MOZ-SNOOZE-TIME:20270114T145500Z\r\n",
            &[],
        ),
        (
            &format!(
                "{twice}X-MOZ-LASTACK:20270114T144500Z\r\nX-MOZ-SNOOZE-TIME-1799938800000000:20270114T145500Z\r\n"
            ),
            &["20270114T145500Z", "20270115T144500Z"],
        ),
        // It is of one instance of a series, and not of another time.
        (
            &format!("{twice}X-MOZ-SNOOZE-TIME:20270114T145500Z\r\n"),
            &["20270114T144500Z", "20270115T144500Z"],
        ),
        (
            &format!("{twice}X-MOZ-SNOOZE-TIME-1799938860000000:20270114T145500Z\r\n"),
            &["20270114T144500Z", "20270115T144500Z"],
        ),
        (
            "DTSTART:20270114T150000\r\nRRULE:FREQ=DAILY;COUNT=1\r\nX-MOZ-SNOOZE-TIME-1799938800000000:20270114T160000Z\r\n",
            &["20270114T160000Z"],
        ),
    ] {
        assert_eq!(
            alarms_of(&format!("{lines}{alarm}"), &TimeZone::UTC),
            expected,
            "{lines}"
        );
    }
}

#[test]
fn a_trigger_without_a_zone_is_the_viewers() {
    let lines = "DTSTART:20270114T220000Z\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\n\
                 TRIGGER;VALUE=DATE-TIME:20270114T223000\r\nEND:VALARM\r\n";
    for (zone, expected) in [
        ("Europe/Berlin", "20270114T213000Z"),
        ("UTC", "20270114T223000Z"),
        ("America/New_York", "20270115T033000Z"),
    ] {
        assert_eq!(
            alarms_of(lines, &TimeZone::named(zone).unwrap()),
            [expected],
            "{zone}"
        );
    }
}

#[test]
fn completed_to_dos_have_no_alarms() {
    for mark in [
        "COMPLETED:20261101T090000Z",
        "PERCENT-COMPLETE:100",
        "STATUS:COMPLETED",
        "STATUS:CANCELED",
    ] {
        let text = format!(
            "BEGIN:VTODO\r\nUID:t\r\nDUE:20270114T150000Z\r\n{mark}\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\n\
             TRIGGER;RELATED=END:-PT15M\r\nEND:VALARM\r\nEND:VTODO\r\n"
        );
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("personal.etui")).unwrap();
        let calendar = store.calendar().unwrap();
        let zones = etui::calendar::zones::TimeZoneResolver::new();
        calendar
            .save(&CalendarObject::parse(text, &zones).unwrap())
            .unwrap();
        assert_eq!(
            calendar
                .alarms(Timestamp::from_seconds(0), 10, &TimeZone::UTC)
                .unwrap()
                .alarms,
            [],
            "{mark}"
        );
    }
}
