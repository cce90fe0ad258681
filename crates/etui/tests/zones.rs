//! What `docs/src/calendar-time.md` says of zones: names, changed rules, missing and doubled hours,
//! days and floating times seen from elsewhere. What needs only a rule is in `recurrence/`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::Command;

use etui::calendar::Record;
use etui::calendar::recurrence::Instance;
use etui::calendar::time::{Timestamp, Value, Zone};
use etui::calendar::zones::{Definition, Zones};

fn zone(name: &str) -> Zone {
    Zone::named(name).expect(name)
}

/// The instant of a time in UTC.
fn at(text: &str) -> Timestamp {
    let value: Value = text.parse().expect(text);
    Zone::UTC.to_utc(value.wall())
}

fn event(lines: &str, zones: &Zones) -> Record {
    let text = format!("BEGIN:VEVENT\r\nUID:1\r\nSUMMARY:A\r\n{lines}\r\nEND:VEVENT\r\n");
    Record::parse(text, zones).unwrap()
}

fn instances(record: &Record, viewer: &Zone) -> Vec<Instance> {
    let all = Timestamp::MIN..Timestamp::MAX;
    record.series().between(all, viewer).take(20).collect()
}

/// From when to when an event is, in UTC.
fn during(lines: &str, viewer: &str) -> String {
    let first = &instances(&event(lines, &Zones::new()), &zone(viewer))[0];
    format!("{} {}", first.during.start, first.during.end)
}

/// A zone with one offset, as a file defines it.
fn definition(name: &str, offset: &str) -> Definition {
    let text = format!(
        "BEGIN:VTIMEZONE\r\nTZID:{name}\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n\
         TZOFFSETFROM:{offset}\r\nTZOFFSETTO:{offset}\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"
    );
    Definition::parse(text.as_bytes())
}

#[test]
fn times_of_a_zone_that_nobody_knows_are_floating_and_that_is_told() {
    let record = event("DTSTART;TZID=Our Town:20260701T100000", &Zones::new());
    let told: Vec<String> = record
        .main()
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
    let mut zones = Zones::new();
    zones.define(&definition("Our Town", "+0300"));
    zones.define(&definition("Our Town", "+0900"));
    let record = event("DTSTART;TZID=Our Town:20260701T100000", &zones);
    assert_eq!(
        instances(&record, &Zone::UTC)[0].during.start,
        at("20260701T070000")
    );
}

/// The same bytes, read when the zone had other rules.
#[test]
fn an_event_stays_at_its_time_of_the_clock_when_the_rules_of_its_zone_change() {
    let lines = "DTSTART;TZID=Our Town:20260701T100000\r\nDURATION:PT1H\r\nRRULE:FREQ=DAILY;COUNT=3\r\n\
                 EXDATE;TZID=Our Town:20260702T100000";
    let mut starts = Vec::new();
    for offset in ["+0300", "+0400"] {
        let mut zones = Zones::new();
        zones.define(&definition("Our Town", offset));
        let all = instances(&event(lines, &zones), &Zone::UTC);
        let walls: Vec<_> = all.iter().map(|i| i.start.value().to_string()).collect();
        assert_eq!(walls, ["20260701T100000", "20260703T100000"]);
        starts.push(all[0].during.start);
    }
    assert_eq!(starts, [at("20260701T070000"), at("20260701T060000")]);
}

/// What was written in UTC is an instant: its time of the clock moves.
#[test]
fn an_event_in_utc_stays_at_its_instant() {
    let mut zones = Zones::new();
    zones.define(&definition("Our Town", "+0300"));
    let record = event("DTSTART:20260701T070000Z", &zones);
    let start = instances(&record, &zone("Asia/Tokyo"))[0].during.start;
    assert_eq!(start, at("20260701T070000"));
    assert_eq!(
        zone("Europe/Berlin").to_local(start).to_string(),
        "20260701T090000"
    );
}

/// An exception written in UTC names an instant: behind a change of the rules it names none.
#[test]
fn exceptions_in_utc_are_instants_too() {
    let lines = "DTSTART;TZID=Our Town:20260701T100000\r\nRRULE:FREQ=DAILY;COUNT=2\r\n\
                 EXDATE:20260702T070000Z";
    for (offset, left) in [("+0300", 1), ("+0400", 2)] {
        let mut zones = Zones::new();
        zones.define(&definition("Our Town", offset));
        assert_eq!(
            instances(&event(lines, &zones), &Zone::UTC).len(),
            left,
            "{offset}"
        );
    }
}

/// Where the clocks skip midnight the day begins when they show one o'clock.
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
    // What is at a time of every day there is once where two days' times are one instant.
    let daily = event(
        "DTSTART;TZID=Pacific/Apia:20111229T090000\r\nRRULE:FREQ=DAILY;COUNT=4",
        &Zones::new(),
    );
    let starts: Vec<_> = instances(&daily, &Zone::UTC)
        .iter()
        .map(|i| i.during.start.to_string())
        .collect();
    assert_eq!(
        starts,
        ["20111229T190000Z", "20111230T190000Z", "20111231T190000Z"]
    );
}

/// A day elsewhere is the viewer's day with that date, which is another stretch of time.
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

/// A zone file (RFC 8536) without changes, an hour ahead of UTC or so many.
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

const OTHER_DATABASE: &str = "ETUI_TEST_OTHER_DATABASE";

/// Asks this program again, with another database of zones.
fn with_database(directory: &Path) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "asked_with_another_database", "--nocapture"])
        .env("TZDIR", directory)
        .env(OTHER_DATABASE, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|l| l.strip_prefix("starts "));
    line.expect(&text).to_owned()
}

const IN_BERLIN: &str = "DTSTART;TZID=Europe/Berlin:20260701T100000";

#[test]
fn the_system_s_database_says_when_an_event_is() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("Europe")).unwrap();
    for (hours, start) in [(1, "20260701T090000Z"), (9, "20260701T010000Z")] {
        fs::write(dir.path().join("Europe/Berlin"), zone_file(hours)).unwrap();
        assert_eq!(with_database(dir.path()), start);
    }
    // The file's own definition does not count, whatever it says.
    let mut zones = Zones::new();
    zones.define(&definition("Europe/Berlin", "+0900"));
    let start = instances(&event(IN_BERLIN, &zones), &Zone::UTC)[0]
        .during
        .start;
    assert_eq!(start, at("20260701T080000"));
}

#[test]
fn asked_with_another_database() {
    if std::env::var_os(OTHER_DATABASE).is_none() {
        return;
    }
    let record = event(IN_BERLIN, &Zones::new());
    println!(
        "\nstarts {}",
        instances(&record, &Zone::UTC)[0].during.start
    );
}
