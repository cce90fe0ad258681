//! The statements of `docs/src/times-and-numbers.md` about zones: names, changed rules, skipped and repeated hours,
//! dates and floating times in other display zones. The tests of rules alone are in `etui-ical`.

use std::fs;
use std::path::{Path, PathBuf};

use etui::calendar::CalendarObject;
use etui::calendar::recurrence::Instance;
use etui::calendar::time::{DateTimeValue, TimeZone, Timestamp};
use etui::calendar::zones::{TimeZoneDefinition, TimeZoneResolver};
use etui::{Options, Store};
use etui_testkit::own_process::ProgramOfTest;

fn zone(name: &str) -> TimeZone {
    TimeZone::named(name).expect(name)
}

/// Returns the instant of a time in UTC.
fn at(text: &str) -> Timestamp {
    let value: DateTimeValue = text.parse().expect(text);
    TimeZone::UTC.to_utc(value.local())
}

fn event(lines: &str, zones: &TimeZoneResolver) -> CalendarObject {
    let text = format!("BEGIN:VEVENT\r\nUID:1\r\nSUMMARY:A\r\n{lines}\r\nEND:VEVENT\r\n");
    CalendarObject::parse(text, zones).unwrap()
}

fn instances(record: &CalendarObject, viewer: &TimeZone) -> Vec<Instance> {
    let all = Timestamp::MIN..Timestamp::MAX;
    record
        .recurrence_set()
        .between(all, viewer)
        .take(20)
        .collect()
}

/// Returns start and end of an event, in UTC.
fn during(lines: &str, viewer: &str) -> String {
    let first = &instances(&event(lines, &TimeZoneResolver::new()), &zone(viewer))[0];
    format!("{} {}", first.during.start, first.during.end)
}

/// Returns a zone with one offset, as a file defines it.
fn definition(name: &str, offset: &str) -> TimeZoneDefinition {
    let text = format!(
        "BEGIN:VTIMEZONE\r\nTZID:{name}\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n\
         TZOFFSETFROM:{offset}\r\nTZOFFSETTO:{offset}\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"
    );
    TimeZoneDefinition::parse(text.as_bytes())
}

#[test]
fn times_of_a_zone_that_nobody_knows_are_floating_and_that_is_told() {
    let record = event(
        "DTSTART;TZID=Our Town:20260701T100000",
        &TimeZoneResolver::new(),
    );
    let told: Vec<String> = record
        .master()
        .warnings
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        told,
        [
            "the time zone \"Our Town\" is not known and not defined; its times are taken as floating"
        ]
    );
    for (viewer, start) in [
        ("Europe/Berlin", "20260701T080000"),
        ("Asia/Tokyo", "20260701T010000"),
    ] {
        assert_eq!(instances(&record, &zone(viewer))[0].during.start, at(start));
    }
}

#[test]
fn of_two_definitions_with_one_name_the_first_counts() {
    let mut zones = TimeZoneResolver::new();
    zones.define(&definition("Our Town", "+0300"));
    zones.define(&definition("Our Town", "+0900"));
    let record = event("DTSTART;TZID=Our Town:20260701T100000", &zones);
    assert_eq!(
        instances(&record, &TimeZone::UTC)[0].during.start,
        at("20260701T070000")
    );
}

/// The same bytes, read under other rules of the zone.
#[test]
fn an_event_stays_at_its_time_of_the_clock_when_the_rules_of_its_zone_change() {
    let lines = "DTSTART;TZID=Our Town:20260701T100000\r\nDURATION:PT1H\r\nRRULE:FREQ=DAILY;COUNT=3\r\n\
                 EXDATE;TZID=Our Town:20260702T100000";
    let mut starts = Vec::new();
    for offset in ["+0300", "+0400"] {
        let mut zones = TimeZoneResolver::new();
        zones.define(&definition("Our Town", offset));
        let all = instances(&event(lines, &zones), &TimeZone::UTC);
        let walls: Vec<_> = all.iter().map(|i| i.start.value().to_string()).collect();
        assert_eq!(walls, ["20260701T100000", "20260703T100000"]);
        starts.push(all[0].during.start);
    }
    assert_eq!(starts, [at("20260701T070000"), at("20260701T060000")]);
}

/// A time written in UTC is an instant: its local time moves.
#[test]
fn an_event_in_utc_stays_at_its_instant() {
    let mut zones = TimeZoneResolver::new();
    zones.define(&definition("Our Town", "+0300"));
    let record = event("DTSTART:20260701T070000Z", &zones);
    let start = instances(&record, &zone("Asia/Tokyo"))[0].during.start;
    assert_eq!(start, at("20260701T070000"));
    assert_eq!(
        zone("Europe/Berlin").to_local(start).to_string(),
        "20260701T090000"
    );
}

/// An exception written in UTC identifies an instant: after a change of the rules it matches none.
#[test]
fn exceptions_in_utc_are_instants_too() {
    let lines = "DTSTART;TZID=Our Town:20260701T100000\r\nRRULE:FREQ=DAILY;COUNT=2\r\n\
                 EXDATE:20260702T070000Z";
    for (offset, left) in [("+0300", 1), ("+0400", 2)] {
        let mut zones = TimeZoneResolver::new();
        zones.define(&definition("Our Town", offset));
        assert_eq!(
            instances(&event(lines, &zones), &TimeZone::UTC).len(),
            left,
            "{offset}"
        );
    }
}

/// Where midnight is skipped, the day begins at one o'clock.
#[test]
fn a_day_without_midnight_begins_later() {
    // Brazil's clocks went from 0:00 to 1:00 on 4 November 2018, and back at the end of 17
    // February 2018.
    let day = |date| during(&format!("DTSTART;VALUE=DATE:{date}"), "America/Sao_Paulo");
    assert_eq!(day("20181103"), "20181103T030000Z 20181104T030000Z");
    assert_eq!(day("20181104"), "20181104T030000Z 20181105T020000Z");
    assert_eq!(day("20180217"), "20180217T020000Z 20180218T030000Z");
}

/// Samoa had no 30 December 2011.
#[test]
fn a_day_that_a_zone_left_out_has_no_length_there() {
    let lines = "DTSTART;VALUE=DATE:20111230";
    assert_eq!(
        during(lines, "Pacific/Apia"),
        "20111230T100000Z 20111230T100000Z"
    );
    assert_eq!(
        during(lines, "Europe/Berlin"),
        "20111229T230000Z 20111230T230000Z"
    );
    // A daily occurrence exists once where two days map to one instant.
    let daily = event(
        "DTSTART;TZID=Pacific/Apia:20111229T090000\r\nRRULE:FREQ=DAILY;COUNT=4",
        &TimeZoneResolver::new(),
    );
    let starts: Vec<_> = instances(&daily, &TimeZone::UTC)
        .iter()
        .map(|i| i.during.start.to_string())
        .collect();
    assert_eq!(
        starts,
        ["20111229T190000Z", "20111230T190000Z", "20111231T190000Z"]
    );
}

/// A date in another display zone is another period.
#[test]
fn a_day_is_the_viewers() {
    let lines = "DTSTART;VALUE=DATE:20260101\r\nDTEND;VALUE=DATE:20260103";
    for (viewer, expected) in [
        ("Pacific/Kiritimati", "20251231T100000Z 20260102T100000Z"),
        ("Asia/Kathmandu", "20251231T181500Z 20260102T181500Z"),
        ("UTC", "20260101T000000Z 20260103T000000Z"),
        ("Pacific/Pago_Pago", "20260101T110000Z 20260103T110000Z"),
    ] {
        assert_eq!(during(lines, viewer), expected, "{viewer}");
    }
}

#[test]
fn a_floating_time_is_the_viewers_and_is_skipped_and_doubled_there() {
    let lines = "DTSTART:20260329T023000\r\nDURATION:PT1H";
    // Berlin's clocks skip 2:30 that night.
    assert_eq!(
        during(lines, "Europe/Berlin"),
        "20260329T013000Z 20260329T023000Z"
    );
    assert_eq!(
        during(lines, "America/New_York"),
        "20260329T063000Z 20260329T073000Z"
    );
    let doubled = "DTSTART:20261025T023000\r\nDURATION:PT1H";
    assert_eq!(
        during(doubled, "Europe/Berlin"),
        "20261025T003000Z 20261025T013000Z"
    );
}

/// Returns a zone file (RFC 8536) without transitions, the given number of hours ahead of UTC.
fn zone_file(hours: i32) -> Vec<u8> {
    let mut file = Vec::new();
    for _ in 0..2 {
        file.extend_from_slice(b"TZif2");
        file.extend_from_slice(&[0; 15]);
        for count in [0u32, 0, 0, 0, 1, 4] {
            file.extend_from_slice(&count.to_be_bytes());
        }
        file.extend_from_slice(&(hours * 3_600).to_be_bytes());
        file.extend_from_slice(b"\0\0ABC\0");
    }
    file.extend_from_slice(format!("\n<ABC>{}\n", -hours).as_bytes());
    file
}

const ROLE: &str = "ETUI_TEST_ROLE";
const STORE: &str = "ETUI_TEST_STORE";

/// Creates a time zone database in which Berlin is the given number of hours ahead of UTC.
fn database(hours: i32) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("Europe")).unwrap();
    fs::write(dir.path().join("Europe/Berlin"), zone_file(hours)).unwrap();
    dir
}

/// Runs this program again with another database, and returns its output.
fn with_database(hours: i32, role: &str, store: &Path) -> Vec<String> {
    let database = database(hours);
    let output = ProgramOfTest::new(with_another_database)
        .command()
        .unwrap()
        .env("TZDIR", database.path())
        .env(ROLE, role)
        .env(STORE, store)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    let told = text.lines().filter_map(|l| l.strip_prefix('@'));
    told.map(str::to_owned).collect()
}

const IN_BERLIN: &str = "DTSTART;TZID=Europe/Berlin:20260701T100000";

/// Records; the list finds one of them, the others are series.
const STORED: [(&str, &str); 4] = [
    ("once", "DURATION:PT1H"),
    ("alarm", "BEGIN:VALARM\r\nTRIGGER:-PT30M\r\nEND:VALARM"),
    ("yearly", "RRULE:FREQ=YEARLY;COUNT=3"),
    ("long", "DURATION:P3D"),
];

fn open(path: &Path) -> Store {
    let mut options = Options::default();
    options.locale = Some("en".into());
    Store::open_with(path, &options).unwrap()
}

#[test]
fn with_another_database() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let path = PathBuf::from(std::env::var_os(STORE).unwrap());
    if role == "start" {
        let record = event(IN_BERLIN, &TimeZoneResolver::new());
        println!("\n@{}", instances(&record, &TimeZone::UTC)[0].during.start);
        return;
    }
    let store = open(&path);
    let calendar = store.calendar().unwrap();
    if role == "save alarms" {
        for hour in 0..24 {
            for (uid, rule) in [("once", ""), ("daily", "RRULE:FREQ=DAILY\r\n")] {
                let text = format!(
                    "BEGIN:VEVENT\r\nUID:{uid} {hour}\r\n\
                     DTSTART;TZID=Europe/Berlin:20240401T{hour:02}3000\r\n{rule}\
                     BEGIN:VALARM\r\nTRIGGER:-PT30M\r\nEND:VALARM\r\nEND:VEVENT\r\n"
                );
                calendar
                    .save(&CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap())
                    .unwrap();
            }
        }
        return;
    }
    if role == "save parts" {
        // Instances at instants, one of them moved to a time in Berlin.
        for n in 0..20 {
            let alarm = "BEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\nEND:VEVENT\r\n";
            let text = format!(
                "BEGIN:VEVENT\r\nUID:series {n}\r\nSUMMARY:Series\r\nDTSTART:20230101T100000Z\r\n\
                 RRULE:FREQ=DAILY\r\n{alarm}\
                 BEGIN:VEVENT\r\nUID:series {n}\r\nSUMMARY:Moved\r\nRECURRENCE-ID:20240601T100000Z\r\n\
                 DTSTART;TZID=Europe/Berlin:20240510T113000\r\n{alarm}"
            );
            calendar
                .save(&CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap())
                .unwrap();
        }
        let other = "DTSTART:20240510T094500Z\r\nBEGIN:VALARM\r\nTRIGGER:PT0S\r\nEND:VALARM";
        calendar
            .save(&event(other, &TimeZoneResolver::new()))
            .unwrap();
        // The next alarms of the series are at instants.
        let due = calendar.alarms(at("20240509T110000"), 1, &TimeZone::UTC);
        assert_eq!(due.unwrap().alarms[0].at, at("20240510T094500"));
        return;
    }
    if role == "save ended" {
        for n in 0..20 {
            let text = format!(
                "BEGIN:VEVENT\r\nUID:{n}\r\nDTSTART;TZID=Europe/Berlin:20240501T100000\r\n\
                 RRULE:FREQ=DAILY;COUNT=3\r\n\
                 BEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\nEND:VEVENT\r\n"
            );
            calendar
                .save(&CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap())
                .unwrap();
        }
        let due = calendar.alarms(at("20240502T090000"), 1, &TimeZone::UTC);
        assert_eq!(due.unwrap().alarms[0].at, at("20240503T085500"));
        return;
    }
    if role == "ended" {
        let due = calendar.alarms(at("20240503T090000"), 20, &TimeZone::UTC);
        let due = due.unwrap();
        let first = due.alarms.first().map(|due| due.at.to_string());
        println!("\n@{} {}", due.alarms.len(), first.unwrap_or_default());
        assert!(store.check().unwrap().is_clean());
        return;
    }
    if role == "alarms of parts" {
        let due = calendar
            .alarms(at("20240510T090000"), 41, &TimeZone::UTC)
            .unwrap()
            .alarms;
        for n in [0, 20, 40] {
            println!("\n@{} {}", due[n].at, due[n].title);
        }
        return;
    }
    if role == "alarms" {
        // Hour by hour, and the first day again.
        for hour in (0..72).chain(0..24) {
            let after = at("20240331T000000").plus_seconds(hour * 3_600 - 900);
            let told = calendar.alarms(after, 3, &TimeZone::UTC).unwrap().alarms;
            let told: Vec<_> = told.iter().map(|due| due.at.to_string()).collect();
            println!("\n@{after} {}", told.join(" "));
        }
        let report = store.check().unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
        return;
    }
    if role == "save" {
        for (uid, lines) in STORED {
            let text =
                format!("BEGIN:VEVENT\r\nUID:{uid}\r\n{IN_BERLIN}\r\n{lines}\r\nEND:VEVENT\r\n");
            calendar
                .save(&CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap())
                .unwrap();
        }
        return;
    }
    // Hour by hour: the starts.
    let mut at = at("20260629T000000");
    let until = at.plus_seconds(5 * 86_400);
    let mut told = String::new();
    while at < until {
        let hour = at..at.plus_seconds(3_600);
        for found in calendar.between(hour.clone(), &TimeZone::UTC).unwrap() {
            if hour.contains(&found.during.start) {
                let uid = calendar.get(found.record).unwrap().unwrap().uid;
                told.push_str(&format!("\n@{uid} {}", found.during.start));
            }
        }
        at = hour.end;
    }
    let due = calendar
        .alarms(start_of_year(), 1, &TimeZone::UTC)
        .unwrap()
        .alarms;
    println!("{told}\n@due {}", due[0].at);
    let report = store.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

fn start_of_year() -> Timestamp {
    at("20260101T000000")
}

#[test]
fn the_systems_database_says_when_an_event_is() {
    let none = Path::new("");
    assert_eq!(with_database(1, "start", none), ["20260701T090000Z"]);
    assert_eq!(with_database(9, "start", none), ["20260701T010000Z"]);
    // The file's own definition is ignored.
    let mut zones = TimeZoneResolver::new();
    zones.define(&definition("Europe/Berlin", "+0900"));
    let start = instances(&event(IN_BERLIN, &zones), &TimeZone::UTC)[0]
        .during
        .start;
    assert_eq!(start, at("20260701T080000"));
}

/// An event saved under the rules of one database is found under those of another, at its new instant
/// and nowhere else.
#[test]
fn a_store_follows_the_database() {
    for (before, after) in [(1, 2), (2, 1), (0, 14), (12, -12), (-12, 12)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("personal.etui");
        with_database(before, "save", &path);
        for hours in [before, after, before] {
            let start = at("20260701T100000").plus_seconds(-3_600 * i64::from(hours));
            let mut expected: Vec<String> = STORED
                .iter()
                .map(|(uid, _)| format!("{uid} {start}"))
                .collect();
            expected.push(format!("due {}", start.plus_seconds(-1_800)));
            let mut told = with_database(hours, "ask", &path);
            told.sort();
            expected.sort();
            assert_eq!(told, expected, "{before} {hours}");
        }
    }
}

/// Alarms computed under the rules of one database are due under those of another.
#[test]
fn alarms_follow_the_database() {
    for (before, after) in [(1, 2), (2, 1), (12, -12), (-12, 12)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("personal.etui");
        with_database(before, "save alarms", &path);
        for hours in [before, after, before, after] {
            // One at every full hour for a day; in the first day twice as many.
            let first = at("20240401T000000").plus_seconds(-3_600 * i64::from(hours));
            let due = |n: i64| {
                let n = if n < 48 { n / 2 } else { n - 24 };
                first.plus_seconds(n * 3_600)
            };
            let expected: Vec<String> = (0..72)
                .chain(0..24)
                .map(|hour| {
                    let since = at("20240331T000000").plus_seconds(hour * 3_600 - 900);
                    let next = (0..).map(due).filter(|at| *at >= since).take(3);
                    let next: Vec<_> = next.map(|at| at.to_string()).collect();
                    format!("{since} {}", next.join(" "))
                })
                .collect();
            let told = with_database(hours, "alarms", &path);
            assert_eq!(told, expected, "{before} {after} {hours}");
        }
    }
}

/// Under other rules the next alarm of a series may belong to another component.
#[test]
fn alarms_of_one_component_follow_the_database_before_anothers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    with_database(1, "save parts", &path);
    let moved_first = [
        "20240510T092500Z Moved",
        "20240510T094500Z A",
        "20240510T095500Z Series",
    ];
    let moved_last = [
        "20240510T094500Z A",
        "20240510T095500Z Series",
        "20240510T102500Z Moved",
    ];
    assert_eq!(with_database(2, "alarms of parts", &path), moved_first);
    assert_eq!(with_database(1, "alarms of parts", &path), moved_last);
    assert_eq!(with_database(2, "alarms of parts", &path), moved_first);
}

/// An event that has ended under one database has not ended yet under another.
#[test]
fn alarms_of_what_ended_follow_the_database() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("personal.etui");
    with_database(1, "save ended", &path);
    assert_eq!(with_database(1, "ended", &path), ["0 "]);
    let late = ["20 20240503T095500Z"];
    assert_eq!(with_database(0, "ended", &path), late);
    assert_eq!(with_database(1, "ended", &path), ["0 "]);
}

/// Ranges with dates, floating times and transitions, in several display zones.
#[test]
fn a_range_has_what_happens_in_it_for_who_asks() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("personal.etui"));
    let calendar = store.calendar().unwrap();
    for (uid, lines) in [
        ("day", "DTSTART;VALUE=DATE:20260329"),
        (
            "days",
            "DTSTART;VALUE=DATE:20260301\r\nDTEND;VALUE=DATE:20260401",
        ),
        (
            "birthday",
            "DTSTART;VALUE=DATE:19800329\r\nRRULE:FREQ=YEARLY",
        ),
        ("floating", "DTSTART:20260329T023000\r\nDURATION:PT1H"),
        (
            "zoned",
            "DTSTART;TZID=America/New_York:20260328T233000\r\nDURATION:PT1H",
        ),
    ] {
        let text = format!("BEGIN:VEVENT\r\nUID:{uid}\r\n{lines}\r\nEND:VEVENT\r\n");
        calendar
            .save(&CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap())
            .unwrap();
    }
    let uids = |from: &str, to: &str, viewer: &str| {
        let found = calendar.between(at(from)..at(to), &zone(viewer)).unwrap();
        let uid = |o: &etui::calendar::Occurrence| calendar.get(o.record).unwrap().unwrap().uid;
        let mut uids: Vec<String> = found.iter().map(uid).collect();
        uids.sort();
        uids.join(" ")
    };
    let all = "birthday day days floating zoned";
    // Berlin's day of 23 hours, to the second.
    assert_eq!(
        uids("20260328T230000", "20260329T220000", "Europe/Berlin"),
        all
    );
    assert_eq!(
        uids("20260328T220000", "20260328T230000", "Europe/Berlin"),
        "days"
    );
    assert_eq!(
        uids("20260329T220000", "20260329T230000", "Europe/Berlin"),
        "days"
    );
    // The skipped half past two is 1:30 in UTC.
    assert_eq!(
        uids("20260329T013000", "20260329T013001", "Europe/Berlin"),
        "birthday day days floating"
    );
    // The date in another display zone.
    let in_auckland = "birthday day days floating";
    assert_eq!(
        uids("20260328T110000", "20260329T033000", "Pacific/Auckland"),
        in_auckland
    );
    assert_eq!(
        uids("20260329T110000", "20260329T120000", "Pacific/Auckland"),
        "days"
    );
    assert_eq!(
        uids("20260329T100000", "20260330T100000", "Pacific/Pago_Pago"),
        "birthday day days floating"
    );
}

/// Returns the times of a store's only event.
fn stored(calendar: &etui::calendar::Calendar) -> String {
    let all = calendar
        .between(Timestamp::MIN..Timestamp::MAX, &TimeZone::UTC)
        .unwrap();
    let all: Vec<_> = all.iter().map(|o| o.during.start.to_string()).collect();
    all.join(" ")
}

/// Returns a file with an event in a zone of its own.
fn file(offset: &str, title: &str) -> Vec<u8> {
    let zone = definition("Our Town", offset).to_text();
    let mut text = b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n".to_vec();
    text.extend_from_slice(&zone);
    text.extend_from_slice(
        format!(
            "BEGIN:VEVENT\r\nUID:1\r\nSUMMARY:{title}\r\n\
             DTSTART;TZID=Our Town:20260701T100000\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        )
        .as_bytes(),
    );
    text
}

#[test]
fn what_is_undone_is_in_the_zone_it_was_in() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("personal.etui"));
    let calendar = store.calendar().unwrap();
    let go_on = &mut |_: etui::import::ImportEvent<'_>| std::ops::ControlFlow::Continue(());
    calendar.import(&*file("+0100", "A"), go_on).unwrap();
    assert_eq!(stored(&calendar), "20260701T090000Z");
    calendar.import(&*file("+0500", "B"), go_on).unwrap();
    assert_eq!(stored(&calendar), "20260701T050000Z");
    for expected in ["20260701T090000Z", "20260701T050000Z", "20260701T090000Z"] {
        calendar.restore("1").unwrap();
        assert_eq!(stored(&calendar), expected);
        assert!(store.check().unwrap().is_clean());
    }
    let mut out = Vec::new();
    calendar.export(&mut out, None).unwrap();
    assert_eq!(
        String::from_utf8_lossy(&out),
        String::from_utf8_lossy(&file("+0100", "A"))
    );
}

#[test]
fn an_edit_in_a_zone_that_its_object_has_not_brings_that_zone_along() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("personal.etui"));
    let calendar = store.calendar().unwrap();
    let go_on = &mut |_: etui::import::ImportEvent<'_>| std::ops::ControlFlow::Continue(());
    calendar.import(&*file("+0100", "A"), go_on).unwrap();

    // In the zone of its object it stays in that object.
    let (found, mut record) = calendar.record("1").unwrap().unwrap();
    let zones = calendar.zones(found.id).unwrap();
    record.set(0, "LOCATION", "Hall", &zones).unwrap();
    calendar.save(&record).unwrap();
    let mut out = Vec::new();
    calendar.export(&mut out, None).unwrap();
    assert!(String::from_utf8_lossy(&out).contains("PRODID:-//test//EN"));
    assert_eq!(stored(&calendar), "20260701T090000Z");

    // A zone of that name with other rules, and one that the object lacks.
    for (name, offset, expected) in [
        ("Our Town", "+0500", "20260701T050000Z"),
        ("Your Town", "+0300", "20260701T070000Z"),
    ] {
        let mut zones = TimeZoneResolver::new();
        zones.define(&definition(name, offset));
        let edited = event(&format!("DTSTART;TZID={name}:20260701T100000"), &zones);
        calendar.save(&edited).unwrap();
        assert_eq!(stored(&calendar), expected);
        let report = store.check().unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
        let mut out = Vec::new();
        calendar.export(&mut out, None).unwrap();
        let other = open(&dir.path().join(format!("{name}.etui")));
        other.calendar().unwrap().import(&*out, go_on).unwrap();
        assert_eq!(stored(&other.calendar().unwrap()), expected);
    }
    // Undo: back to the first town's later rules.
    calendar.restore("1").unwrap();
    assert_eq!(stored(&calendar), "20260701T050000Z");
}

#[test]
fn components_of_two_objects_keep_the_zones_of_both() {
    let object = |town: &str, offset: &str, lines: &str| {
        let zone = definition(town, offset).to_text();
        let zone = String::from_utf8(zone).unwrap();
        format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n{zone}BEGIN:VEVENT\r\n\
             UID:1\r\n{lines}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        )
    };
    let first = object(
        "Our Town",
        "+0100",
        "DTSTART;TZID=Our Town:20260701T100000\r\nRRULE:FREQ=DAILY;COUNT=2",
    );
    let moved = |town: &str, offset: &str| {
        object(
            town,
            offset,
            &format!("RECURRENCE-ID:20260702T090000Z\r\nDTSTART;TZID={town}:20260702T120000"),
        )
    };
    for (second, refused, expected) in [
        (
            moved("Your Town", "+0300"),
            0,
            "20260701T090000Z 20260702T090000Z",
        ),
        (
            moved("Our Town", "+0100"),
            0,
            "20260701T090000Z 20260702T110000Z",
        ),
        // A record has one zone of a name: a warning.
        (
            moved("Our Town", "+0500"),
            1,
            "20260701T090000Z 20260702T090000Z",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(&dir.path().join("personal.etui"));
        let calendar = store.calendar().unwrap();
        let go_on = &mut |_: etui::import::ImportEvent<'_>| std::ops::ControlFlow::Continue(());
        let both = format!("{first}{second}");
        let report = calendar.import(both.as_bytes(), go_on).unwrap();
        assert_eq!(report.refused, refused);
        assert_eq!(stored(&calendar), expected);
        let check = store.check().unwrap();
        assert!(check.is_clean(), "{:?}", check.problems);
        // As parsed from the stored text.
        let (_, record) = calendar.record("1").unwrap().unwrap();
        let read: Vec<_> = instances(&record, &TimeZone::UTC);
        let read: Vec<_> = read.iter().map(|i| i.during.start.to_string()).collect();
        assert_eq!(read.join(" "), expected);
    }
}

/// Asserts that a store's times of its only event equal those of its parsed text.
fn agrees(store: &Store) -> String {
    let calendar = store.calendar().unwrap();
    let told = stored(&calendar);
    let (_, record) = calendar.record("1").unwrap().unwrap();
    let read = instances(&record, &TimeZone::UTC);
    let read: Vec<_> = read.iter().map(|i| i.during.start.to_string()).collect();
    assert_eq!(read.join(" "), told);
    let report = store.check().unwrap();
    assert!(
        report.is_clean(),
        "{:?} {:?}",
        report.problems,
        report.outdated
    );
    told
}

#[test]
fn a_name_means_the_same_in_all_of_a_record() {
    let defined = String::from_utf8(file("+0100", "A")).unwrap();
    let undefined = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\nBEGIN:VEVENT\r\n\
        UID:1\r\nRECURRENCE-ID;TZID=Our Town:20260702T100000\r\n\
        DTSTART;TZID=Our Town:20260702T120000\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    let go_on = &mut |_: etui::import::ImportEvent<'_>| std::ops::ControlFlow::Continue(());
    // Defined in one object and not in the other: they cannot be merged, which is reported.
    for both in [
        format!("{defined}{undefined}"),
        format!("{undefined}{defined}"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(&dir.path().join("personal.etui"));
        let calendar = store.calendar().unwrap();
        assert_eq!(calendar.import(both.as_bytes(), go_on).unwrap().refused, 1);
        agrees(&store);
    }
    // Replaced without its zone: floating from then on, and no longer the object's.
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("personal.etui"));
    let calendar = store.calendar().unwrap();
    calendar.import(defined.as_bytes(), go_on).unwrap();
    assert_eq!(agrees(&store), "20260701T090000Z");
    let edited = event(
        "DTSTART;TZID=Our Town:20260702T100000",
        &TimeZoneResolver::new(),
    );
    calendar.save(&edited).unwrap();
    assert_eq!(agrees(&store), "20260702T100000Z");
    calendar.restore("1").unwrap();
    assert_eq!(agrees(&store), "20260701T090000Z");
}

#[test]
fn a_calendar_keeps_zones_for_records_without_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let text = |offset: &str| {
        format!(
            "BEGIN:VTIMEZONE\nTZID:Ship\nX-ODD:1\nBEGIN:STANDARD\nDTSTART:19700101T000000\n\
             TZOFFSETFROM:{offset}\nTZOFFSETTO:{offset}\nEND:STANDARD\nEND:VTIMEZONE\n"
        )
    };
    let calendar = store.calendar().unwrap();
    for bad in [
        "",
        "BEGIN:VEVENT\nTZID:1\nEND:VEVENT\n",
        "BEGIN:VTIMEZONE\nEND:VTIMEZONE\n",
    ] {
        assert!(calendar.add_zone(bad.as_bytes()).is_err(), "{bad}");
    }
    assert!(calendar.add_zone(text("+0300").as_bytes()).unwrap());
    // The first one stays.
    assert!(!calendar.add_zone(text("+0400").as_bytes()).unwrap());
    assert_eq!(calendar.zone_names().unwrap(), ["Ship"]);
    assert_eq!(
        calendar.zone("Ship").unwrap().unwrap(),
        text("+0300").as_bytes()
    );
    assert_eq!(calendar.zone("ship").unwrap(), None);

    let other = store
        .collections::<CalendarObject>()
        .create("Other")
        .unwrap();
    assert!(other.zone_names().unwrap().is_empty());
    let lines = "DTSTART;TZID=Ship:20260701T100000";
    let unknown = event(lines, &other.zone_resolver().unwrap());
    assert_eq!(unknown.unresolved_tzids(), ["Ship"]);
    let known = event(lines, &calendar.zone_resolver().unwrap());
    calendar.save(&known).unwrap();
    let day = at("20260701T000000")..at("20260702T000000");
    let found = calendar.between(day.clone(), &TimeZone::UTC).unwrap();
    assert_eq!(found[0].during.start, at("20260701T070000"));
    assert_eq!(
        calendar.records_between(day, &TimeZone::UTC, None).unwrap(),
        [found[0].record]
    );

    // Zones survive the removal of their calendar.
    other.add_zone(text("+0400").as_bytes()).unwrap();
    drop(other);
    store
        .collections::<CalendarObject>()
        .remove("Other")
        .unwrap();
    store
        .collections::<CalendarObject>()
        .restore("Other")
        .unwrap();
    let other = store.collection::<CalendarObject>(Some("Other")).unwrap();
    assert_eq!(
        other.zone("Ship").unwrap().unwrap(),
        text("+0400").as_bytes()
    );
    assert!(store.check().unwrap().is_clean());
}
