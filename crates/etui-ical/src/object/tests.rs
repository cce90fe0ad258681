//! Records: read, made, changed.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::recurrence::EventEnd;
use crate::time::{CalendarTime, Date, DateTimeValue, Duration, TimeZone, Timestamp};
use crate::zones::TimeZoneResolver;

fn parse(text: &str) -> CalendarObject {
    CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap()
}

fn event(body: &str) -> String {
    format!("BEGIN:VEVENT\r\nUID:1\r\n{body}END:VEVENT\r\n")
}

#[test]
fn what_is_no_record_is_refused() {
    let no = |text: &str| CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap_err();
    for text in [
        "",
        "hello",
        "BEGIN:VEVENT\nUID:1\n",
        "BEGIN:VEVENT\nUID:1\nEND:VTODO\n",
        "BEGIN:VEVENT\nUID:1\nEND:VEVENT\ntext\n",
        "BEGIN:VTIMEZONE\nTZID:1\nEND:VTIMEZONE\n",
        "END:VEVENT\n",
    ] {
        assert_eq!(no(text), ObjectError::NotARecord, "{text}");
    }
    assert_eq!(no("BEGIN:VEVENT\nEND:VEVENT\n"), ObjectError::Empty);
    let two = "BEGIN:VEVENT\nX:1\nEND:VEVENT\n".repeat(2);
    assert_eq!(no(&two), ObjectError::Several);
}

/// Found by fuzzing: an edit converts text that is not UTF-8, and a line folded onto a `BEGIN` must
/// not be joined to it then.
#[test]
fn a_converted_object_keeps_its_components() {
    let text =
        b"BEGIN:VEVENT\r\nDTSTART:20260401T0/Berlin:20260212T203000\r\nSUMMARY:St\xc3\xbchle\r\n\
        BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER;RELATED=START:\xadPT1H\r\nEND:VALARM\r\n\
        BEGIN:VALARM\r ACTION:DISPL\rA\nGYTIRGER;RELATED=END:PT0\0\0\x02\x15S\r\nREPEAT:2\r\n\
        DURATION:PT10M\r\nEND:VALARM\r\nEND:VEVENT\r\n";
    let zones = TimeZoneResolver::new();
    let mut record = CalendarObject::parse(text, &zones).unwrap();
    record.set(0, "X-NEW", "a, b", &zones).unwrap();
    let changed = String::from_utf8(record.text().to_vec()).unwrap();
    assert!(changed.contains("SUMMARY:St\u{fc}hle\r\nX-NEW:a\\, b\r\nBEGIN:VALARM\r\nACTION"));
    assert!(changed.contains("END:VALARM\r\nBEGIN:VALARM\r\n ACTION:DISPL\r\nA\r\nGYT"));
    assert_eq!(record.remove(0, "X-NEW", None, &zones), Ok(1));
    // A name of vCard's that means nothing here.
    let event = b"BEGIN:VEVENT\nX:\xFC\nAGENT:BEGIN:VEVENT\nSUMMARY:A\nEND:VEVENT\n";
    let mut record = CalendarObject::parse(event, &zones).unwrap();
    assert_eq!(record.master().summary.as_deref(), Some("A"));
    record.set(0, "SUMMARY", "B", &zones).unwrap();
    assert_eq!(record.master().summary.as_deref(), Some("B"));
}

#[test]
fn what_a_component_says_is_read() {
    let record = parse(&event(
        "SUMMARY;LANGUAGE=en:Lunch\\, long\r\nLOCATION:Here\\; or\r\n  there\r\n\
         DESCRIPTION:One\\nTwo\u{7}\r\nCATEGORIES:Work,A\\,B\r\nCATEGORIES:Home\r\n\
         STATUS:cancelled\r\nCLASS:X-SECRET\r\nTRANSP:TRANSPARENT\r\nPRIORITY:5\r\n\
         ORGANIZER;CN=\"Ada; E\":MAILTO:ada@example.org\r\n\
         ATTENDEE;PARTSTAT=ACCEPTED;ROLE=CHAIR:mailto:bob@example.org\r\n\
         DTSTART;TZID=W. Europe Standard Time:20260701T090000\r\nDURATION:PT1H\r\n\
         RRULE:FREQ=DAILY;COUNT=3\r\nSEQUENCE:2\r\nURL:https://example.org/a,b\r\n\
         X-MICROSOFT-CDO-ALLDAYEVENT:FALSE\r\nX-MOZ-LASTACK:20260701T000000Z\r\n",
    ));
    let item = record.master();
    assert_eq!(item.summary.as_deref(), Some("Lunch, long"));
    assert_eq!(item.location.as_deref(), Some("Here; or there"));
    assert_eq!(item.description.as_deref(), Some("One\nTwo"));
    assert_eq!(item.categories, ["Work", "A,B", "Home"]);
    assert_eq!(item.status, Some(Status::Cancelled));
    assert_eq!(item.class, Classification::Private);
    assert!(item.transparent && !item.is_busy() && !item.all_day && item.recurs());
    let organizer = item.organizer.as_ref().unwrap();
    assert_eq!(organizer.address, "ada@example.org");
    assert_eq!(organizer.name.as_deref(), Some("Ada; E"));
    assert_eq!(item.attendees[0].answer.as_deref(), Some("ACCEPTED"));
    assert_eq!(item.priority, Some(5));
    assert_eq!(item.sequence, 2);
    assert_eq!(item.url.as_deref(), Some("https://example.org/a,b"));
    assert_eq!(item.tzids, ["W. Europe Standard Time"]);
    let zone = item.start.as_ref().and_then(CalendarTime::zone).unwrap();
    assert_eq!(zone.name(), "Europe/Berlin");
    assert_eq!(
        record
            .recurrence_set()
            .between(year(2026), &TimeZone::UTC)
            .count(),
        3
    );
    assert!(item.acknowledged.is_some() && item.warnings.is_empty());
}

fn year(year: i32) -> std::ops::Range<Timestamp> {
    let first = |year| TimeZone::UTC.to_utc(Date::new(year, 1, 1).unwrap().midnight());
    first(year)..first(year + 1)
}

#[test]
fn a_todo_has_its_own_times() {
    let record = parse(
        "BEGIN:VTODO\nUID:1\nDUE;VALUE=DATE:20260701\nCOMPLETED:20260630T101500Z\n\
         PERCENT-COMPLETE:100\nSTATUS:COMPLETED\nEND:VTODO\n",
    );
    let item = record.master();
    assert_eq!(item.kind, ComponentKind::Todo);
    assert!(item.start.is_none() && item.due.is_some() && item.completed.is_some());
    assert_eq!(item.percent, Some(100));
    assert!(!item.is_busy());
}

#[test]
fn alarms_are_due_by_the_calendar_and_the_clock() {
    let record = parse(&event(
        "DTSTART;TZID=Europe/Berlin:20260330T090000\r\nDTEND;TZID=Europe/Berlin:20260330T100000\r\n\
         BEGIN:VALARM\r\nACTION:AUDIO\r\nTRIGGER:-P1D\r\nREPEAT:2\r\nDURATION:PT5M\r\nEND:VALARM\r\n\
         BEGIN:VALARM\r\nTRIGGER;RELATED=END:PT0S\r\nACTION:NONE\r\nEND:VALARM\r\n\
         BEGIN:VALARM\r\nTRIGGER;VALUE=DATE-TIME:19760401T005545Z\r\nEND:VALARM\r\n\
         BEGIN:VALARM\r\nTRIGGER:rubbish\r\nEND:VALARM\r\n",
    ));
    let item = record.master();
    assert_eq!(item.alarms.len(), 3);
    let (start, end) = (item.start.clone().unwrap(), item.end.clone().unwrap());
    let due = |n: usize| -> Vec<String> {
        let due = item.alarms[n].due(&start, &end, &TimeZone::UTC);
        due.map(|at| at.to_string()).collect()
    };
    // The clocks go forward on the 29th: a day before is nine o'clock there, too.
    let expected = ["20260329T070000Z", "20260329T070500Z", "20260329T071000Z"];
    assert_eq!(due(0), expected);
    assert_eq!(due(1), ["20260330T080000Z"]);
    assert_eq!(due(2), ["19760401T005545Z"]);
    assert_eq!(item.alarms[1].action, AlarmAction::Other);
}

#[test]
fn only_the_line_meant_changes() {
    let text = event(
        "X-ODD;\"w;=\":a\r\nSUMMARY;LANGUAGE=de:Alt\r\n er\r\nDTSTART;TZID=Europe/Berlin;X=1:20260701T090000\r\n\
         BEGIN:VALARM\r\nSUMMARY:in the alarm\r\nTRIGGER:PT0S\r\nEND:VALARM\r\n",
    );
    let zones = TimeZoneResolver::new();
    let mut record = parse(&text);
    record.set(0, "summary", "New, one", &zones).unwrap();
    let date = CalendarTime::Date(Date::new(2026, 7, 2).unwrap());
    record.set_time(0, "DTSTART", &date, &zones).unwrap();
    record.set(0, "LOCATION", "Here", &zones).unwrap();
    record.set(0, "CATEGORIES", "a,b;c", &zones).unwrap();
    let expected = text
        .replace(
            "SUMMARY;LANGUAGE=de:Alt\r\n er",
            "SUMMARY;LANGUAGE=de:New\\, one",
        )
        .replace(
            "DTSTART;TZID=Europe/Berlin;X=1:20260701T090000\r\n",
            "DTSTART;X=1;VALUE=DATE:20260702\r\nLOCATION:Here\r\nCATEGORIES:a,b\\;c\r\n",
        );
    assert_eq!(String::from_utf8_lossy(record.text()), expected);
    assert_eq!(record.remove(0, "LOCATION", Some("There"), &zones), Ok(0));
    assert_eq!(record.remove(0, "LOCATION", Some("Here"), &zones), Ok(1));
    assert_eq!(record.remove(0, "CATEGORIES", Some("b"), &zones), Ok(0));
    assert_eq!(record.remove(0, "CATEGORIES", Some("b;c"), &zones), Ok(1));
    assert_eq!(record.master().categories, ["a"]);
    assert_eq!(record.remove(0, "categories", None, &zones), Ok(1));
    assert!(record.master().all_day);
    let no = record.set(1, "SUMMARY", "x", &zones);
    assert_eq!(no, Err(ObjectError::NoComponent(1)));
    for bad in ["", "END", "A:B", "A\r\nB"] {
        assert!(record.set(0, bad, "x", &zones).is_err(), "{bad}");
    }
    record
        .set(0, "RRULE", "FREQ=DAILY\r\nEND:VEVENT", &zones)
        .unwrap();
    assert_eq!(record.components().len(), 1);
}

/// The times within a range are those of all times that are in it.
#[test]
fn alarms_are_due_within_a_range() {
    let alarm = |lines: &str| {
        let body = format!("DTSTART:20260101T120000Z\r\nBEGIN:VALARM\r\n{lines}\r\nEND:VALARM\r\n");
        parse(&event(&body)).master().alarms[0].clone()
    };
    let start = Date::new(2026, 1, 1).and_then(|d| d.at(12, 0, 0)).unwrap();
    let start = TimeZone::UTC.to_utc(start);
    let time = CalendarTime::Utc(start);
    for lines in [
        "TRIGGER:-PT10S",
        "TRIGGER:PT3S\r\nREPEAT:9\r\nDURATION:PT7S",
        "TRIGGER:-PT3S\r\nREPEAT:4000000000\r\nDURATION:PT1S",
        "TRIGGER:PT0S\r\nREPEAT:5\r\nDURATION:-PT7S",
        "TRIGGER:P999999D\r\nREPEAT:99\r\nDURATION:P999999D",
    ] {
        let alarm = alarm(lines);
        let all: Vec<_> = alarm.due(&time, &time, &TimeZone::UTC).collect();
        for from in -20..120 {
            for length in [0, 1, 7, 30, i64::MAX] {
                let range =
                    start.plus_seconds(from)..start.plus_seconds(length.saturating_add(from));
                let within = alarm.due_within(&time, &time, &TimeZone::UTC, &range);
                let expected = all.iter().copied().filter(|at| range.contains(at));
                assert_eq!(
                    within.collect::<Vec<_>>(),
                    expected.collect::<Vec<_>>(),
                    "{lines} {range:?}"
                );
            }
        }
    }
}

#[test]
fn alarms_are_replaced_and_all_else_stays() {
    let text = |alarms: &str| {
        event(&format!(
            "SUMMARY:Talk\r\n{alarms}BEGIN:X-NOTE\r\nBEGIN:VALARM\r\nEND:VALARM\r\n\
             END:X-NOTE\r\n"
        ))
    };
    let old = "BEGIN:VALARM\r\nACTION:AUDIO\r\nTRIGGER:-PT1H\r\nEND:VALARM\r\n";
    let new = |trigger: &str| {
        format!(
            "BEGIN:VALARM\r\nACTION:DISPLAY\r\nDESCRIPTION:Talk\r\nTRIGGER:{trigger}\r\n\
             END:VALARM\r\n"
        )
    };
    let durations = ["-PT10M", "-P1D"].map(|d| d.parse::<Duration>().unwrap());
    let zones = TimeZoneResolver::new();
    let mut record = parse(&text(&format!("{old}{old}")));
    record.set_alarms(0, &durations, &zones).unwrap();
    let both = text(&format!("{}{}", new("-PT10M"), new("-P1D")));
    assert_eq!(String::from_utf8_lossy(record.text()), both);
    let triggers: Vec<_> = record.master().alarms.iter().map(|a| a.trigger).collect();
    assert_eq!(triggers, durations.map(AlarmTrigger::Start));
    record.set_alarms(0, &[], &zones).unwrap();
    assert_eq!(String::from_utf8_lossy(record.text()), text(""));
    // Where there was none it comes last, also of a text that lacks its last line end.
    let mut record = parse("BEGIN:VTODO\nUID:1\nSUMMARY:Talk\nEND:VTODO");
    record.set_alarms(0, &durations[..1], &zones).unwrap();
    // A to-do without a start has the alarm before its due time.
    let alarm = new("-PT10M").replace("TRIGGER:", "TRIGGER;RELATED=END:");
    let alarm = alarm.replace("\r\n", "\n");
    let expected = format!("BEGIN:VTODO\nUID:1\nSUMMARY:Talk\n{alarm}END:VTODO");
    assert_eq!(String::from_utf8_lossy(record.text()), expected);
    let no = record.set_alarms(1, &[], &zones);
    assert_eq!(no, Err(ObjectError::NoComponent(1)));
}

#[test]
fn a_second_component_can_be_changed_and_the_first_stays() {
    let changed = "BEGIN:VEVENT\nUID:1\nRECURRENCE-ID:20260702T090000Z\nEND:VEVENT";
    let mut record = parse(&format!("{}{changed}", event("")));
    assert_eq!(record.master_index(), 0);
    record
        .set(1, "SUMMARY", "Moved", &TimeZoneResolver::new())
        .unwrap();
    let text = String::from_utf8_lossy(record.text()).into_owned();
    assert!(text.starts_with(&event("")));
    assert!(
        text.ends_with("090000Z\nSUMMARY:Moved\nEND:VEVENT"),
        "{text}"
    );
    assert!(record.components().nth(1).unwrap().is_override());
}

#[test]
fn other_encodings_are_kept_until_they_are_changed() {
    let text = event("SUMMARY:Mühe\r\n") + &event("RECURRENCE-ID:20260701T000000Z\r\n");
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let narrow: Vec<u8> = text.chars().map(|c| c as u8).collect();
    for bytes in [wide, narrow] {
        let mut record = CalendarObject::parse(bytes.clone(), &TimeZoneResolver::new()).unwrap();
        assert_eq!(record.text(), bytes);
        assert_eq!(record.component_texts().collect::<Vec<_>>().concat(), bytes);
        assert_eq!(record.components().len(), 2);
        assert_eq!(record.master().summary.as_deref(), Some("Mühe"));
        record
            .set(0, "LOCATION", "Ö", &TimeZoneResolver::new())
            .unwrap();
        let changed = text.replacen("END", "LOCATION:Ö\r\nEND", 1);
        assert_eq!(String::from_utf8_lossy(record.text()), changed);
    }
}

#[test]
fn components_come_to_a_record() {
    let zones = TimeZoneResolver::new();
    let mut record = parse(event("DTSTART:20260701T090000Z\r\nRRULE:FREQ=DAILY\r\n").trim_end());
    let change = event("RECURRENCE-ID:20260702T090000Z\r\nDTSTART:20260702T100000Z\r\n");
    assert_eq!(record.merge(parse(&change)), [MergeOutcome::Taken]);
    assert_eq!(record.merge(parse(&change)), [MergeOutcome::Known]);
    let other = event("RECURRENCE-ID:20260702T090000Z\r\n");
    assert_eq!(record.merge(parse(&other)), [MergeOutcome::Refused]);
    assert_eq!(record.components().len(), 2);
    let again = CalendarObject::parse(record.text(), &zones).unwrap();
    assert!(again.components().eq(record.components()));
    let stranger = "BEGIN:VEVENT\r\nUID:2\r\nRECURRENCE-ID:20260703\r\nEND:VEVENT\r\n";
    assert_eq!(record.merge(parse(stranger)), [MergeOutcome::Refused]);
}

#[test]
fn a_draft_is_what_it_says() {
    let zones = TimeZoneResolver::new();
    let day = Date::new(2026, 12, 24).unwrap();
    let long = "äöü, ; \\ \n".repeat(30);
    let record = Draft::event("Feast")
        .start(CalendarTime::Date(day))
        .end(CalendarTime::Date(day.plus_days(3)))
        .description(&long)
        .category("Home, sweet")
        .category("Winter")
        .rule("FREQ=YEARLY".parse().unwrap())
        .alarm("-PT12H".parse().unwrap())
        .make(&zones)
        .unwrap();
    let item = record.master();
    assert!(item.all_day && item.recurs() && item.uid.as_ref().unwrap().len() == 36);
    assert_eq!(item.description.as_deref(), Some(long.as_str()));
    assert_eq!(item.categories, ["Home, sweet", "Winter"]);
    assert_eq!(item.alarms.len(), 1);
    let lines = record.text().split(|&b| b == b'\n');
    assert!(lines.clone().all(|line| line.len() <= 76));
    assert!(
        record
            .text()
            .windows(2)
            .all(|w| w[1] != b'\n' || w[0] == b'\r')
    );

    let todo = Draft::todo("Buy")
        .uid("x,y")
        .end(CalendarTime::Utc(Timestamp::from_seconds(0)));
    let todo = todo.make(&zones).unwrap();
    assert_eq!(todo.uid(), Some("x,y"));
    assert!(todo.master().due.is_some());
}

/// Parameters that occur in two lines are read once; their warning belongs to the line whose time
/// counts, whichever comes first.
#[test]
fn an_unknown_zone_is_reported_once() {
    let modified = "LAST-MODIFIED;TZID=Nowhere:20261121T190000\r\n";
    let times = "DTSTART;TZID=Nowhere:20261121T190000\r\nDTEND;TZID=Nowhere:20261121T200000\r\n";
    for body in [format!("{modified}{times}"), format!("{times}{modified}")] {
        let record = parse(&event(&body));
        assert_eq!(record.master().warnings.len(), 1, "{body}");
        assert_eq!(record.master().tzids, ["Nowhere"]);
    }
    assert_eq!(parse(&event(modified)).master().warnings, []);
    let both = "DTSTART;TZID=Europe/Berlin:20261121T190000\r\n\
                DTEND;TZID=Europe/Paris:20261121T200000\r\n\
                RECURRENCE-ID;TZID=Europe/Berlin;RANGE=THISANDFUTURE:20261121T190000\r\n\
                EXDATE;TZID=Europe/Paris:20261121T200000\r\n";
    let record = parse(&event(both));
    let timing = record.master().timing.clone().unwrap();
    let name = |time: &CalendarTime| time.zone().map(|zone| zone.name().to_owned()).unwrap();
    assert_eq!(name(&timing.start), "Europe/Berlin");
    assert_eq!(name(&timing.exception_dates[0]), "Europe/Paris");
    assert!(timing.recurrence_id.unwrap().this_and_future);
    assert_eq!(record.master().tzids, ["Europe/Berlin", "Europe/Paris"]);
}

#[test]
fn of_several_times_the_first_counts_and_none_of_a_component_inside() {
    let inside = "BEGIN:X-A\r\nDTSTART:20200101T000000Z\r\nBEGIN:X-B\r\nEND:X-B\r\n\
                  RRULE:FREQ=DAILY\r\nEND:X-A\r\n";
    let body = format!(
        "{inside}DTSTART:20261121T190000Z\r\nDTSTART:20261122T190000Z\r\n\
         RECURRENCE-ID:20261121T190000Z\r\nRECURRENCE-ID:20261122T190000Z\r\n\
         DURATION:PT1H\r\nDURATION:PT2H\r\n"
    );
    let at = |text: &str| text.parse::<DateTimeValue>().unwrap().in_zone(None);
    let record = parse(&event(&body));
    let item = record.master();
    assert_eq!(item.start, Some(at("20261121T190000Z")));
    let read = item.timing.clone().unwrap();
    assert_eq!(read.start, at("20261121T190000Z"));
    assert_eq!(read.rules, []);
    assert_eq!(read.end, EventEnd::After("PT1H".parse().unwrap()));
    assert_eq!(read.recurrence_id.unwrap().id, at("20261121T190000Z"));
    let ends = "DTEND:20261121T200000Z\r\nDTEND:20261122T200000Z\r\n";
    let record = parse(&event(&format!("{body}{ends}")));
    let item = record.master();
    assert_eq!(item.end, Some(at("20261121T200000Z")));
    let end = item.timing.clone().unwrap().end;
    assert_eq!(end, EventEnd::At(at("20261121T200000Z")));
}

#[test]
fn blanks_digits_and_groups_are_read_with_care() {
    let record = parse(
        "g.BEGIN:VEVENT\r\nUID:1 \r\nUID:2\r\nSUMMARY: Talk\t\r\nDTSTART:2026112:T190000Z\r\n\
         RECURRENCE-ID:20261121\r\nRECURRENCE-ID:20261122\r\ng.END:VEVENT\r\n",
    );
    let item = record.master();
    assert_eq!(record.uid(), Some("1"));
    assert_eq!(item.summary.as_deref(), Some("Talk"));
    assert_eq!((&item.start, item.warnings.len()), (&None, 1));
    let recurrence_id = record.components[0].recurrence_id.as_deref();
    assert_eq!(recurrence_id, Some(":20261121"));
}
