//! Times and to-dos as other programs write them.

use etui_ical::time::{TimeZone, Timestamp};
use etui_ical::zones::TimeZoneResolver;
use etui_ical::{AlarmTrigger, CalendarComponent, CalendarObject, Status};

fn parse(kind: &str, lines: &str) -> CalendarObject {
    let text = format!("BEGIN:{kind}\r\nUID:1\r\n{lines}\r\nEND:{kind}\r\n");
    CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap()
}

fn component(kind: &str, lines: &str) -> CalendarComponent {
    parse(kind, lines).master().clone()
}

fn at(text: &str) -> Timestamp {
    let value: etui_ical::time::DateTimeValue = text.parse().unwrap();
    TimeZone::UTC.to_utc(value.local())
}

#[test]
fn a_tzid_may_have_a_colon_without_quotes() {
    for (line, expected) in [
        (
            "DTSTART;TZID=\"tzone://Microsoft/Utc\":20260708T100000",
            "20260708T100000Z",
        ),
        (
            "DTSTART;TZID=tzone://Microsoft/Utc:20260708T100000",
            "20260708T100000Z",
        ),
        ("DTSTART;TZID=UTC+02:00:20260708T100000", "20260708T080000Z"),
        ("DTSTART;TZID=GMT+05:30:20260708T100000", "20260708T043000Z"),
        ("DTSTART;TZID=-03:30:20260708T100000", "20260708T133000Z"),
        (
            "DTSTART;VALUE=DATE-TIME;TZID=(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna:20260708T100000",
            "20260708T080000Z",
        ),
        (
            "DTSTART;TZID=(UTC+01:00) Amsterdam, Berlin, Bern,\r\n  Rome, Stockholm, Vienna:20260108T100000",
            "20260108T090000Z",
        ),
        (
            "DTSTART;TZID=(GMT-05:00) Eastern Time (US & Canada):20260708T100000",
            "20260708T140000Z",
        ),
        ("DTSTART;TZID=Z:20260708T100000", "20260708T100000Z"),
        ("DTSTART;TZID=GMT +0200:20260708T100000", "20260708T080000Z"),
        ("DTSTART:20260708T100000+0200", "20260708T080000Z"),
        (
            "DTSTART;TZID=Europe/Berlin:2026-07-08T10:00:00",
            "20260708T080000Z",
        ),
    ] {
        let found = component("VEVENT", line);
        assert_eq!(found.warnings, [], "{line}");
        let start = found.start.unwrap();
        assert_eq!(
            start.at(&TimeZone::named("Asia/Tokyo").unwrap()),
            at(expected),
            "{line}"
        );
    }
}

#[test]
fn an_instance_of_a_series_with_such_a_tzid_is_edited() {
    let zones = TimeZoneResolver::new();
    let mut series = parse(
        "VEVENT",
        "DTSTART;TZID=UTC+05:30:20260708T100000\r\nRRULE:FREQ=DAILY;COUNT=4\r\n\
         EXDATE;TZID=UTC+05:30:20260709T100000,20260710T100000",
    );
    let instances = |series: &CalendarObject| {
        let set = series.recurrence_set();
        let all = set.between(Timestamp::MIN..Timestamp::MAX, &TimeZone::UTC);
        all.map(|i| i.during.start.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(instances(&series), ["20260708T043000Z", "20260711T043000Z"]);
    let last = series.instance_id("20260711T100000").unwrap();
    series.exclude_instance(&last, &zones).unwrap();
    assert_eq!(instances(&series), ["20260708T043000Z"]);
    let text = String::from_utf8(series.into_text()).unwrap();
    assert!(
        text.contains("EXDATE;TZID=\"UTC+05:30\":20260711T100000"),
        "{text}"
    );
}

#[test]
fn a_file_s_own_zone_of_such_a_name_counts() {
    let mut zones = TimeZoneResolver::new();
    zones.define(&etui_ical::zones::TimeZoneDefinition::parse(
        b"BEGIN:VTIMEZONE\r\nTZID:GMT+0100\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n\
          TZOFFSETFROM:+0300\r\nTZOFFSETTO:+0300\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n",
    ));
    let text = "BEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=GMT+0100:20260708T100000\r\nEND:VEVENT\r\n";
    let found = CalendarObject::parse(text, &zones).unwrap();
    let start = found.master().start.clone().unwrap();
    assert_eq!(start.at(&TimeZone::UTC), at("20260708T070000Z"));
}

#[test]
fn a_date_with_a_time_is_a_day() {
    let found = component(
        "VEVENT",
        "DTSTART;VALUE=DATE:20210522T000000\r\nDTEND;VALUE=DATE:20210524T000000\r\nRRULE:FREQ=YEARLY\r\n\
         EXDATE;VALUE=DATE:20220522T000000Z",
    );
    assert!(found.all_day && found.start.unwrap().is_date() && found.end.unwrap().is_date());
    assert!(found.timing.unwrap().exception_dates[0].is_date());
}

#[test]
fn a_to_do_is_done_by_any_of_its_marks() {
    for (lines, status) in [
        ("STATUS:COMPLETED", Some(Status::Completed)),
        ("STATUS:completed", Some(Status::Completed)),
        ("COMPLETED:20261101T090000Z", Some(Status::Completed)),
        ("PERCENT-COMPLETE:100", Some(Status::Completed)),
        (
            "STATUS:NEEDS-ACTION\r\nCOMPLETED:20261101T090000Z",
            Some(Status::Completed),
        ),
        (
            "STATUS:IN-PROCESS\r\nPERCENT-COMPLETE:100",
            Some(Status::Completed),
        ),
        ("STATUS:CANCELED", Some(Status::Cancelled)),
        (
            "STATUS:CANCELLED\r\nPERCENT-COMPLETE:100",
            Some(Status::Cancelled),
        ),
        (
            "STATUS:IN-PROCESS\r\nPERCENT-COMPLETE:99",
            Some(Status::InProcess),
        ),
        ("SUMMARY:x", None),
    ] {
        let found = component("VTODO", lines);
        assert_eq!(found.status, status, "{lines}");
        assert_eq!(
            found.is_over(),
            matches!(status, Some(Status::Completed | Status::Cancelled))
        );
    }
    // Only to-dos are completed.
    assert_eq!(component("VEVENT", "PERCENT-COMPLETE:100").status, None);
}

#[test]
fn a_to_do_with_a_duration_is_due_after_it() {
    for (lines, due) in [
        (
            "DTSTART:20261101T090000Z\r\nDURATION:PT2H",
            Some("20261101T110000Z"),
        ),
        (
            "DTSTART:20261101T090000Z\r\nDURATION:P1D",
            Some("20261102T090000Z"),
        ),
        ("DUE:20261101T090000Z", Some("20261101T090000Z")),
        (
            "DTSTART;VALUE=DATE:20261101\r\nDURATION:P2D",
            Some("20261103"),
        ),
        ("DTSTART:20261101T090000Z", None),
        ("DURATION:PT2H", None),
    ] {
        let found = component("VTODO", lines).due_time();
        assert_eq!(
            found.map(|due| due.value().to_string()).as_deref(),
            due,
            "{lines}"
        );
    }
    assert_eq!(
        component("VEVENT", "DTSTART:20261101T090000Z\r\nDURATION:PT2H").due_time(),
        None
    );
}

#[test]
fn snoozes_and_local_triggers_are_read() {
    let found = component(
        "VEVENT",
        "DTSTART:20270114T150000Z\r\nX-MOZ-SNOOZE-TIME:20270114T145500Z\r\n\
         X-Moz-Snooze-Time-1799938800000000:20270114T145600Z\r\nX-MOZ-SNOOZE-TIME-x:20270114T145500Z\r\n\
         BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER;VALUE=DATE-TIME:20270114T223000\r\nEND:VALARM\r\n\
         BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER;VALUE=DATE-TIME:20270114T223000Z\r\nEND:VALARM",
    );
    let snoozes = found
        .snoozes
        .iter()
        .map(|s| (s.instance, s.until))
        .collect::<Vec<_>>();
    assert_eq!(
        snoozes,
        [
            (None, at("20270114T145500Z")),
            (Some(at("20270114T150000Z")), at("20270114T145600Z")),
        ]
    );
    assert_eq!(
        found.alarms[0].trigger,
        AlarmTrigger::Local(at("20270114T223000Z").utc())
    );
    assert_eq!(
        found.alarms[1].trigger,
        AlarmTrigger::At(at("20270114T223000Z"))
    );
}

/// Floating times of a calendar object with a zone are in it; all others stay as they are.
#[test]
fn an_object_gives_its_zone_to_floating_times() {
    let zones = TimeZoneResolver::new();
    let v1 = |lines: &str| format!("VERSION:1.0\r\n{lines}");
    for (head, line, expected) in [
        (
            "X-WR-TIMEZONE:Europe/Berlin",
            "DTSTART:20260105T0900",
            "DTSTART;TZID=Europe/Berlin:20260105T0900",
        ),
        (
            "X-WR-TIMEZONE:W. Europe Standard Time",
            "DUE:20260705T090000",
            "DUE;TZID=Europe/Berlin:20260705T090000",
        ),
        (
            "X-WR-TIMEZONE;VALUE=TEXT:\"America/New_York\"",
            "DTEND:20260105T090000",
            "DTEND;TZID=America/New_York:20260105T090000",
        ),
        (
            "x-wr-timezone:GMT+05:30",
            "DTSTART:20260105T090000",
            "DTSTART;TZID=\"UTC+05:30\":20260105T090000",
        ),
        (
            "X-WR-TIMEZONE:UTC",
            "DTSTART:20260105T090000",
            "DTSTART:20260105T090000Z",
        ),
        (
            "X-WR-TIMEZONE:Europe/Berlin",
            "EXDATE:20260105T090000,20260106T090000",
            "EXDATE;TZID=Europe/Berlin:20260105T090000,20260106T090000",
        ),
        (
            "X-WR-TIMEZONE:Europe/Berlin",
            "RDATE;VALUE=PERIOD:20260105T090000/PT1H",
            "RDATE;VALUE=PERIOD;TZID=Europe/Berlin:20260105T090000/PT1H",
        ),
        (
            "X-WR-TIMEZONE:Europe/Berlin",
            "DTSTART:20260105T090000Z",
            "",
        ),
        (
            "X-WR-TIMEZONE:Europe/Berlin",
            "DTSTART;VALUE=DATE:20260105",
            "",
        ),
        ("X-WR-TIMEZONE:Europe/Berlin", "DTSTART:20260105", ""),
        (
            "X-WR-TIMEZONE:Europe/Berlin",
            "DTSTART;TZID=Asia/Tokyo:20260105T090000",
            "",
        ),
        ("X-WR-TIMEZONE:Atlantis", "DTSTART:20260105T090000", ""),
        ("X-WR-TIMEZONE:", "DTSTART:20260105T090000", ""),
        ("TZ:+01", "DTSTART:20260105T090000", ""),
        (
            &v1("TZ:+01"),
            "DTSTART:20260705T090000",
            "DTSTART;TZID=Etc/GMT-1:20260705T090000",
        ),
        (
            &v1("TZ:-0530"),
            "DTSTART:20260705T090000",
            "DTSTART;TZID=\"UTC-05:30\":20260705T090000",
        ),
        (
            &v1(
                "TZ:+01\r\nDAYLIGHT:TRUE;+02;20260329T020000;20261025T030000;CET;CEST\r\nDAYLIGHT:TRUE;+02;20270328T010000Z;20271031T010000Z;CET;CEST",
            ),
            "DTSTART:20260705T090000",
            "DTSTART;TZID=Europe/Berlin:20260705T090000",
        ),
        (
            &v1("TZ:-06\r\nDAYLIGHT:TRUE;-05;20260308T020000;20261101T020000;CST;CDT"),
            "DALARM:20260705T090000;PT5M;2;Text, 20260101T000000",
            "DALARM:20260705T140000Z;PT5M;2;Text, 20260101T000000",
        ),
        (
            &v1("TZ:+01\r\nDAYLIGHT:FALSE"),
            "EXDATE:20260105T090000;20260106T090000",
            "EXDATE;TZID=Etc/GMT-1:20260105T090000;20260106T090000",
        ),
    ] {
        let head = format!("BEGIN:VCALENDAR\r\n{head}\r\n");
        let text = format!("BEGIN:VEVENT\r\nUID:1\r\n{line}\r\nEND:VEVENT\r\n");
        let zone = etui_ical::FloatingZone::of_object(head.as_bytes(), &zones);
        let found = zone.and_then(|zone| zone.apply(text.as_bytes(), &zones));
        let found = found.map(|text| String::from_utf8(text).unwrap());
        let expected = (!expected.is_empty()).then(|| text.replace(line, expected));
        assert_eq!(found, expected, "{head}{line}");
    }
}

#[test]
fn alarms_and_dates_of_version_1_are_read() {
    let found = component(
        "VEVENT",
        "DTSTART:20260105T090000\r\nAALARM;TYPE=WAVE:20260105T084500;PT5M;2;file:///a.wav\r\n\
         DALARM:20260105T080000Z;;;Get\\, up\r\nDALARM:never;;;x\r\nSTATUS:NEEDS ACTION",
    );
    let [audio, display] = &found.alarms[..] else {
        panic!("{:?}", found.alarms);
    };
    assert_eq!(audio.action, etui_ical::AlarmAction::Audio);
    assert_eq!(
        audio.trigger,
        AlarmTrigger::Local(at("20260105T084500").utc())
    );
    assert_eq!(audio.repeat_offsets().collect::<Vec<_>>(), [0, 300, 600]);
    assert_eq!(display.trigger, AlarmTrigger::At(at("20260105T080000Z")));
    assert_eq!(display.description.as_deref(), Some("Get, up"));
    assert_eq!(found.status, Some(Status::NeedsAction));
    // Each time of a series has the alarm.
    let found = component(
        "VEVENT",
        "DTSTART:20260105T090000\r\nRRULE:W1 MO #4\r\nEXDATE:20260112T090000;20260119T090000\r\n\
         DALARM:20260105T084500",
    );
    assert_eq!(found.warnings, []);
    assert_eq!(
        found.alarms[0].trigger,
        AlarmTrigger::Start("-PT15M".parse().unwrap())
    );
    assert_eq!(found.timing.unwrap().exception_dates.len(), 2);
}
