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
