//! Zones: names, definitions, changed rules, missing and doubled hours.

use etui_ical::time::{DateTime, TimeZone, Timestamp};
use etui_ical::zones::{TimeZoneDefinition, TimeZoneResolver};

use super::support::{at, first, series_in, zone};

/// Berlin's rules since 1996, as Thunderbird, Evolution and many others write them.
const BERLIN: &str = "BEGIN:VTIMEZONE\r\nTZID:Our Berlin\r\n\
    BEGIN:DAYLIGHT\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nTZNAME:CEST\r\n\
    DTSTART:19700329T020000\r\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\r\nEND:DAYLIGHT\r\n\
    BEGIN:STANDARD\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nTZNAME:CET\r\n\
    DTSTART:19701025T030000\r\nRRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\r\nEND:STANDARD\r\n\
    END:VTIMEZONE\r\n";

/// New York with its rules of before and since 2007 (RFC 5545 §3.6.5).
const NEW_YORK: &str = "BEGIN:VTIMEZONE\r\nTZID:Our New York\r\n\
    BEGIN:DAYLIGHT\r\nDTSTART:19870405T020000\r\nRRULE:FREQ=YEARLY;BYDAY=1SU;BYMONTH=4;UNTIL=20060402T070000Z\r\n\
    TZOFFSETFROM:-0500\r\nTZOFFSETTO:-0400\r\nEND:DAYLIGHT\r\n\
    BEGIN:STANDARD\r\nDTSTART:19671029T020000\r\nRRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10;UNTIL=20061029T060000Z\r\n\
    TZOFFSETFROM:-0400\r\nTZOFFSETTO:-0500\r\nEND:STANDARD\r\n\
    BEGIN:DAYLIGHT\r\nDTSTART:20070311T020000\r\nRRULE:FREQ=YEARLY;BYDAY=2SU;BYMONTH=3\r\n\
    TZOFFSETFROM:-0500\r\nTZOFFSETTO:-0400\r\nEND:DAYLIGHT\r\n\
    BEGIN:STANDARD\r\nDTSTART:20071104T020000\r\nRRULE:FREQ=YEARLY;BYDAY=1SU;BYMONTH=11\r\n\
    TZOFFSETFROM:-0400\r\nTZOFFSETTO:-0500\r\nEND:STANDARD\r\n\
    END:VTIMEZONE\r\n";

fn defined(text: &str) -> TimeZone {
    TimeZoneDefinition::parse(text.as_bytes())
        .to_time_zone()
        .expect("a zone")
}

/// Compares both zones at every hour of these years, to UTC and back.
fn agree(ours: &TimeZone, theirs: &TimeZone, years: std::ops::Range<i32>) {
    let mut wall = DateTime::new(years.start, 1, 1, 0, 30, 0).unwrap();
    let end = DateTime::new(years.end, 1, 1, 0, 0, 0).unwrap();
    while wall < end {
        assert_eq!(ours.resolve(wall), theirs.resolve(wall), "{wall}");
        let at = Timestamp::from_seconds(wall.seconds());
        assert_eq!(ours.offset(at), theirs.offset(at), "{at}");
        wall = wall.plus_seconds(3_600);
    }
}

#[test]
fn a_definition_is_what_the_database_says() {
    let berlin = defined(BERLIN);
    agree(&berlin, &zone("Europe/Berlin"), 1997..2040);
    agree(&berlin, &zone("Europe/Berlin"), 2999..3002);
    agree(&berlin, &zone("Europe/Berlin"), 9990..9999);
    let new_york = defined(NEW_YORK);
    agree(&new_york, &zone("America/New_York"), 1988..2010);
    agree(&new_york, &zone("America/New_York"), 2400..2412);
}

#[test]
fn missing_and_doubled_hours_of_a_definition() {
    let new_york = defined(NEW_YORK);
    let resolve = |h, mi, d, m| {
        let resolved = new_york.resolve(DateTime::new(2007, m, d, h, mi, 0).unwrap());
        (resolved.at.to_string(), resolved.skipped)
    };
    assert_eq!(resolve(1, 59, 11, 3), ("20070311T065900Z".into(), false));
    assert_eq!(resolve(2, 0, 11, 3), ("20070311T070000Z".into(), true));
    assert_eq!(resolve(2, 59, 11, 3), ("20070311T075900Z".into(), true));
    assert_eq!(resolve(3, 0, 11, 3), ("20070311T070000Z".into(), false));
    assert_eq!(resolve(0, 59, 4, 11), ("20071104T045900Z".into(), false));
    assert_eq!(resolve(1, 30, 4, 11), ("20071104T053000Z".into(), false));
    assert_eq!(resolve(2, 0, 4, 11), ("20071104T070000Z".into(), false));
}

#[test]
fn dates_of_a_definition_count() {
    let zone = defined(
        "BEGIN:VTIMEZONE\r\nTZID:X\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\nTZOFFSETFROM:+0530\r\n\
         TZOFFSETTO:+0530\r\nEND:STANDARD\r\nBEGIN:DAYLIGHT\r\nDTSTART:20200101T000000\r\nTZOFFSETFROM:+0530\r\n\
         TZOFFSETTO:+063015\r\nRDATE:20220101T000000,20240101T000000\r\nEND:DAYLIGHT\r\nBEGIN:STANDARD\r\n\
         DTSTART:20210101T000000\r\nTZOFFSETFROM:+063015\r\nTZOFFSETTO:+0530\r\nRDATE:20230101T000000\r\n\
         END:STANDARD\r\nEND:VTIMEZONE\r\n",
    );
    let offsets: Vec<i32> = (2019..2026)
        .map(|y| zone.offset(at(&format!("{y}0701T000000"))))
        .collect();
    assert_eq!(
        offsets,
        [19_800, 23_415, 19_800, 23_415, 19_800, 23_415, 23_415]
    );
}

#[test]
fn names_in_all_their_forms() {
    let zones = TimeZoneResolver::new();
    for (tzid, name) in [
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("\"Europe/Berlin\"", "Europe/Berlin"),
        ("/mozilla.org/20070129_1/Europe/Berlin", "Europe/Berlin"),
        (
            "/freeassociation.sourceforge.net/Tzfile/Europe/Berlin",
            "Europe/Berlin",
        ),
        (
            "/freeassociation.sourceforge.net/America/Argentina/Buenos_Aires",
            "America/Argentina/Buenos_Aires",
        ),
        (
            "/softwarestudio.org/Olson_20011030_5/America/Indiana/Knox",
            "America/Indiana/Knox",
        ),
        ("/citadel.org/20190914_1/UTC", "UTC"),
        ("America/New York", "America/New_York"),
        ("W. Europe Standard Time", "Europe/Berlin"),
        ("Eastern Standard Time", "America/New_York"),
        ("tzone://Microsoft/Utc", "UTC"),
        ("UTC", "UTC"),
        ("Etc/UTC", "UTC"),
    ] {
        assert_eq!(
            zones.resolve(tzid).map(|z| z.name().to_owned()).as_deref(),
            Some(name),
            "{tzid}"
        );
    }
    for tzid in [
        "",
        "Nowhere",
        "Customized Time Zone",
        "/x/y/z",
        "Europe/",
        "/",
        "../../etc/passwd",
    ] {
        assert_eq!(zones.resolve(tzid), None, "{tzid}");
    }
}

/// A file from before 2007 has New York's old rules under the zone's own name: the database wins.
#[test]
fn changed_rules_come_from_the_database() {
    let old = NEW_YORK
        .replace("Our New York", "America/New_York")
        .replace(";UNTIL=20060402T070000Z", "")
        .replace("DTSTART:2007", "DTSTART:9999");
    let mut zones = TimeZoneResolver::new();
    zones.define(&TimeZoneDefinition::parse(old.as_bytes()));
    let event = series_in(&["DTSTART;TZID=America/New_York:20260320T100000"], &zones);
    assert_eq!(first(&event, 1)[0].during.start, at("20260320T140000"));
}

#[test]
fn a_name_that_only_the_file_knows_is_the_files() {
    let mut zones = TimeZoneResolver::new();
    zones.define(&TimeZoneDefinition::parse(BERLIN.as_bytes()));
    let event = series_in(&["DTSTART;TZID=Our Berlin:20260701T100000"], &zones);
    assert_eq!(first(&event, 1)[0].during.start, at("20260701T080000"));
    // Where the definition names a place, that counts.
    let located = BERLIN.replace("TZID:Our Berlin", "TZID:Here\r\nX-LIC-LOCATION:Asia/Tokyo");
    zones.define(&TimeZoneDefinition::parse(located.as_bytes()));
    assert_eq!(zones.resolve("Here"), Some(zone("Asia/Tokyo")));
}

#[test]
fn broken_definitions_are_none_or_what_is_left() {
    for text in [
        "",
        "BEGIN:VTIMEZONE\r\nTZID:X\r\nEND:VTIMEZONE\r\n",
        "BEGIN:VTIMEZONE\r\nTZID:X\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n",
        "BEGIN:VTIMEZONE\r\nTZID:X\r\nBEGIN:STANDARD\r\nTZOFFSETTO:+9900\r\nDTSTART:19700101T000000\r\nEND:STANDARD\r\n",
    ] {
        assert_eq!(
            TimeZoneDefinition::parse(text.as_bytes()).to_time_zone(),
            None,
            "{text}"
        );
    }
    let endless = BERLIN.replace("FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU", "FREQ=SECONDLY");
    let zone = defined(&endless);
    assert!(zone.offset(Timestamp::MAX) >= 3_600);
    // The year 1601 of Outlook's definitions.
    let outlook = BERLIN
        .replace("19700329", "16010325")
        .replace("19701025", "16011028");
    agree(
        &defined(&outlook),
        &TimeZone::named("Europe/Berlin").unwrap(),
        2020..2030,
    );
}
