//! Calendars over the public API: ranges and alarms match an expansion of every record, and an export
//! reproduces the import.

use std::ops::ControlFlow;

use etui::calendar::OccurrenceLimit;
use etui::calendar::time::{CalendarTime, Date, TimeZone, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{BusyPeriod, Calendar, CalendarObject, Draft, DueAlarm};
use etui::import::ImportReport;
use etui::{Condition, SaveOutcome, Store};
use etui_testkit::calendars::{self, Calendars, Span};
use etui_testkit::fixtures::icalendar::ALL;

use crate::support::calendar::{naive, naive_alarms, told, told_alarms};
use crate::support::{clean, directory};

fn zone(name: &str) -> TimeZone {
    TimeZone::named(name).unwrap()
}

fn at(text: &str) -> Timestamp {
    let value: etui::calendar::time::DateTimeValue = text.parse().unwrap();
    value.in_zone(None).at(&TimeZone::UTC)
}

fn import(calendar: &Calendar, bytes: &[u8]) -> ImportReport {
    calendar
        .import(bytes, &mut |_| ControlFlow::Continue(()))
        .unwrap()
}

fn event(uid: &str, lines: &str) -> CalendarObject {
    let text = format!("BEGIN:VEVENT\r\nUID:{uid}\r\nSUMMARY:{uid}\r\n{lines}END:VEVENT\r\n");
    CalendarObject::parse(text, &TimeZoneResolver::new()).unwrap()
}

#[test]
fn a_range_matches_an_expansion_of_every_record() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let mut ics = Vec::new();
    calendars::write_ics(&mut ics, 7, Span::years(3), 300).unwrap();
    let report = import(&calendar, &ics);
    assert_eq!(report.refused, 0, "{:?}", report.refusals);
    for fixture in ALL {
        import(&calendar, fixture.bytes);
    }
    for (_, lines) in [
        ("", "DTSTART:20250101T000000Z\r\nDURATION:P400D\r\n"),
        (
            "",
            "DTSTART;VALUE=DATE:20250310\r\nDTEND;VALUE=DATE:20250410\r\n",
        ),
    ] {
        calendar.save(&event(lines, lines)).unwrap();
    }
    let day = 86_400;
    let begin = Span::years(3).first_day * day;
    let mut seen = 0;
    for viewer in ["Europe/Berlin", "Pacific/Kiritimati", "America/Los_Angeles"] {
        let viewer = zone(viewer);
        for (first, length) in (0..20).map(|n| (begin + n * 61 * day - 5_000, (n % 9 + 1) * day)) {
            let start = Timestamp::from_seconds(first);
            let range = start..start.plus_seconds(length);
            let found = told(&calendar.between(range.clone(), &viewer).unwrap());
            assert_eq!(found, naive(&calendar, &range, &viewer), "{range:?}");
            seen += found.len();
            let some = calendar
                .between_bounded(range, &viewer, OccurrenceLimit::First(3))
                .unwrap()
                .occurrences;
            assert_eq!(told(&some), found[..found.len().min(3)]);
        }
    }
    assert!(seen > 300, "{seen}");
    clean(&store);
}

#[test]
fn a_change_moves_a_record_in_time_and_a_removal_takes_it_out() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let weekly = "DTSTART:20260105T090000Z\r\nDURATION:PT1H\r\nRRULE:FREQ=WEEKLY\r\n\
        BEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\n";
    let once = "DTSTART:20260106T090000Z\r\nBEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\n";
    let week = at("20260105T000000Z")..at("20260112T000000Z");
    let found = || told(&calendar.between(week.clone(), &TimeZone::UTC).unwrap());
    let due = || {
        calendar
            .alarms(week.start, 1, &TimeZone::UTC)
            .unwrap()
            .alarms
    };
    assert_eq!(
        calendar.save(&event("a", weekly)).unwrap().outcome,
        SaveOutcome::Added
    );
    assert_eq!(found(), ["20260105T090000Z 20260105T100000Z a"]);
    assert_eq!(due()[0].at, at("20260105T085500Z"));
    calendar.save(&event("a", once)).unwrap();
    assert_eq!(found(), ["20260106T090000Z 20260106T090000Z a"]);
    assert_eq!(due()[0].at, at("20260106T085500Z"));
    calendar.restore("a").unwrap();
    assert_eq!(found(), ["20260105T090000Z 20260105T100000Z a"]);
    calendar.remove("a").unwrap();
    assert!(found().is_empty());
    assert!(due().is_empty());
    calendar.restore("a").unwrap();
    assert_eq!(found().len(), 1);
    assert_eq!(due().len(), 1);
    let absent = calendar.save((&event("a", once), Condition::IfAbsent));
    assert!(absent.is_err());
    clean(&store);
}

#[test]
fn the_next_alarms_match_an_expansion_of_every_record() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let mut ics = Vec::new();
    calendars::write_ics(&mut ics, 11, Span::years(2), 200).unwrap();
    import(&calendar, &ics);
    for fixture in ALL {
        import(&calendar, fixture.bytes);
    }
    let extra = [
        "DTSTART:20240101T090000\r\nRRULE:FREQ=DAILY\r\nBEGIN:VALARM\r\nTRIGGER:-P2D\r\nEND:VALARM\r\n",
        "DTSTART;VALUE=DATE:20240101\r\nRRULE:FREQ=MONTHLY\r\nBEGIN:VALARM\r\n\
         TRIGGER;RELATED=END:PT9H\r\nREPEAT:3\r\nDURATION:PT5M\r\nEND:VALARM\r\n",
        "DTSTART:20240101T090000Z\r\nRRULE:FREQ=WEEKLY\r\nBEGIN:VALARM\r\n\
         TRIGGER;VALUE=DATE-TIME:20240601T000000Z\r\nEND:VALARM\r\n",
    ];
    for (n, lines) in extra.iter().enumerate() {
        calendar.save(&event(&format!("extra {n}"), lines)).unwrap();
    }
    let begin = Span::years(2).first_day * 86_400;
    let mut seen = 0;
    // Forward in time, then back.
    for month in (0..30).step_by(3).chain([3, 1]) {
        let start = Timestamp::from_seconds(begin + month * 30 * 86_400);
        let range = start..start.plus_seconds(10 * 86_400);
        for viewer in [zone("Europe/Berlin"), zone("Pacific/Auckland")] {
            let expected = naive_alarms(&calendar, &range, &viewer);
            let found = calendar.alarms(start, 4_000, &viewer).unwrap().alarms;
            assert!(found.iter().is_sorted_by_key(|due| due.at));
            assert_eq!(
                told_alarms(&found, &range),
                expected,
                "{range:?} {viewer:?}"
            );
            let some = calendar.alarms(start, 5, &viewer).unwrap().alarms;
            let times = |all: &[DueAlarm]| all.iter().map(|d| d.at).collect::<Vec<_>>();
            assert_eq!(times(&some), times(&found)[..5]);
            seen += expected.len();
        }
    }
    assert!(seen > 50, "{seen}");
    clean(&store);
}

#[test]
fn acknowledged_alarms_are_not_due() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let rule = "DTSTART:20260105T090000Z\r\nRRULE:FREQ=DAILY\r\nX-MOZ-LASTACK:20260301T000000Z\r\n\
        BEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\n";
    calendar.save(&event("a", rule)).unwrap();
    let once = "DTSTART:20260105T090000Z\r\nBEGIN:VALARM\r\nTRIGGER:-PT5M\r\n\
        ACKNOWLEDGED:20260105T085600Z\r\nEND:VALARM\r\n";
    calendar.save(&event("b", once)).unwrap();
    let due = calendar
        .alarms(at("20260101T000000Z"), 2, &TimeZone::UTC)
        .unwrap()
        .alarms;
    let times: Vec<_> = due.iter().map(|d| d.at.to_string()).collect();
    assert_eq!(times, ["20260301T085500Z", "20260302T085500Z"]);
    // Alarms of a rule that fires every second do not cost the seconds until they are due.
    let always = "DTSTART:20260105T090000Z\r\nRRULE:FREQ=SECONDLY\r\n\
        BEGIN:VALARM\r\nTRIGGER:-P365D\r\nEND:VALARM\r\n\
        BEGIN:VALARM\r\nTRIGGER:-PT9999H\r\nREPEAT:999999999\r\nDURATION:PT1S\r\nEND:VALARM\r\n";
    calendar.save(&event("c", always)).unwrap();
    let due = calendar
        .alarms(at("20270101T000000Z"), 3, &TimeZone::UTC)
        .unwrap()
        .alarms;
    assert_eq!(due.len(), 3);
    assert_eq!(due[0].at, at("20270101T000000Z"));
}

#[test]
fn objects_are_exported_as_they_were_imported() {
    for fixture in ALL {
        let (_dir, path) = directory();
        let store = Store::open(&path).unwrap();
        let calendar = store.calendar().unwrap();
        let report = import(&calendar, fixture.bytes);
        let again = import(&calendar, fixture.bytes);
        assert_eq!((again.added, again.changed), (0, 0), "{}", fixture.name);
        assert_eq!(again.unchanged, report.good(), "{}", fixture.name);
        assert_eq!(again.refusals, report.refusals);
        let mut out = Vec::new();
        calendar.export(&mut out, None).unwrap();
        // Compatible objects are merged.
        let objects = String::from_utf8_lossy(fixture.bytes);
        let is_one = objects.matches("BEGIN:VCALENDAR").count() == 1;
        if report.refused == 0 && (is_one || fixture.name == "utf16.ics") {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(text(&out), text(fixture.bytes), "{}", fixture.name);
        }
        // The export is imported with the same content.
        let other = store
            .collections::<CalendarObject>()
            .create("Other")
            .unwrap();
        let copied = import(&other, &out);
        assert_eq!(copied.refused, 0, "{}", fixture.name);
        assert_eq!(other.count().unwrap(), calendar.count().unwrap());
        clean(&store);
    }
}

#[test]
fn a_large_input_is_imported_at_once_and_exported_unchanged() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let mut ics = Vec::new();
    calendars::write_ics(&mut ics, 3, Span::years(4), 9_000).unwrap();
    // An override of the first record, far after it.
    let uid = Calendars::over(3, Span::years(4)).next().unwrap().uid;
    let late = format!(
        "BEGIN:VEVENT\r\nUID:{uid}\r\nRECURRENCE-ID:20300101T000000Z\r\n\
         DTSTART:20300101T000000Z\r\nSUMMARY:Late\r\nEND:VEVENT\r\n"
    );
    let end = ics.len() - "END:VCALENDAR\r\n".len();
    ics.splice(end..end, late.into_bytes());
    let report = import(&calendar, &ics);
    assert_eq!(report.refused, 0, "{:?}", report.refusals);
    let (_, first) = calendar.record(&uid).unwrap().unwrap();
    assert_eq!(
        first.components().last().unwrap().summary.as_deref(),
        Some("Late")
    );
    let mut out = Vec::new();
    assert_eq!(
        calendar.export(&mut out, None).unwrap(),
        calendar.count().unwrap()
    );
    assert!(out == ics, "the export differs");
    let token = store.token().unwrap();
    let again = import(&calendar, &ics);
    assert_eq!((again.added, again.changed), (0, 0));
    assert_eq!(store.token().unwrap(), token);
    clean(&store);
}

#[test]
fn new_records_are_exported_with_the_zones_they_name() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let nine = Date::new(2026, 11, 23).unwrap().at(9, 0, 0).unwrap();
    let draft = Draft::event("Jour fixe").start(CalendarTime::Zoned(nine, zone("Europe/Berlin")));
    calendar
        .save(&draft.make(&TimeZoneResolver::new()).unwrap())
        .unwrap();
    let mut out = Vec::new();
    calendar.export(&mut out, None).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.matches("TZID:Europe/Berlin\r\n").count(), 1, "{text}");
    assert!(
        text.starts_with("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:"),
        "{text}"
    );
    assert!(text.ends_with("END:VCALENDAR\r\n"), "{text}");
    let empty = store
        .collections::<CalendarObject>()
        .create("Empty")
        .unwrap();
    let mut out = Vec::new();
    assert_eq!(empty.export(&mut out, None).unwrap(), 0);
    assert!(out.ends_with(b"END:VCALENDAR\r\n"));
}

#[test]
fn zones_of_a_file_determine_the_times_of_its_records() {
    let ics = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VTIMEZONE\r\nTZID:Ours\r\n\
        BEGIN:STANDARD\r\nDTSTART:19700101T000000\r\nTZOFFSETFROM:+0330\r\nTZOFFSETTO:+0330\r\n\
        END:STANDARD\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\nUID:a\r\nSUMMARY:a\r\n\
        DTSTART;TZID=Ours:20260101T100000\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    let (_dir, path) = directory();
    let day = at("20260101T000000Z")..at("20260102T000000Z");
    {
        let store = Store::open(&path).unwrap();
        let calendar = store.calendar().unwrap();
        assert_eq!(import(&calendar, ics.as_bytes()).warned, 0);
        let found = calendar.between(day.clone(), &TimeZone::UTC).unwrap();
        assert_eq!(told(&found), ["20260101T063000Z 20260101T063000Z a"]);
        clean(&store);
    }
    // Equal text in an object with another definition of the zone is another time.
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let other = ics.replace("+0330", "+0500");
    assert_eq!(import(&calendar, other.as_bytes()).changed, 1);
    let found = calendar.between(day.clone(), &TimeZone::UTC).unwrap();
    assert_eq!(told(&found), ["20260101T050000Z 20260101T050000Z a"]);
    // An undefined zone is a warning, and its times float.
    let unknown = ics.replace("TZID:Ours", "TZID:Theirs");
    let report = import(
        &store
            .collections::<CalendarObject>()
            .create("Other")
            .unwrap(),
        unknown.as_bytes(),
    );
    assert_eq!((report.added, report.warned), (1, 1));
    assert!(
        report.warnings[0].reason.contains("Ours"),
        "{:?}",
        report.warnings
    );
    clean(&store);
}

#[test]
fn busy_periods_are_merged() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let add = |uid: &str, start: &str, end: &str, more: &str| {
        let lines = format!("DTSTART:20260101T{start}00Z\r\nDTEND:20260101T{end}00Z\r\n{more}");
        calendar.save(&event(uid, &lines)).unwrap();
    };
    add("a", "0900", "1000", "");
    add("b", "0930", "1100", "");
    add("c", "1030", "1200", "STATUS:TENTATIVE\r\n");
    add("d", "1300", "1400", "TRANSP:TRANSPARENT\r\n");
    add("e", "1500", "1600", "STATUS:CANCELLED\r\n");
    add("f", "2300", "2359", "");
    let range = at("20260101T000000Z")..at("20260101T233000Z");
    let busy = calendar.free_busy(range, &TimeZone::UTC).unwrap();
    let of = |start, end, tentative| BusyPeriod {
        during: at(start)..at(end),
        tentative,
    };
    assert_eq!(
        busy,
        [
            of("20260101T090000Z", "20260101T110000Z", false),
            of("20260101T110000Z", "20260101T120000Z", true),
            of("20260101T230000Z", "20260101T233000Z", false),
        ]
    );
}

#[test]
fn a_record_with_zones_of_its_own_keeps_them() {
    let (_dir, path) = directory();
    let zone = "BEGIN:VTIMEZONE\r\nTZID:Ours\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n\
        TZOFFSETFROM:+0330\r\nTZOFFSETTO:+0330\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n";
    let mut zones = TimeZoneResolver::new();
    zones.define(&etui::calendar::zones::TimeZoneDefinition::parse(
        zone.as_bytes(),
    ));
    let text = "BEGIN:VEVENT\r\nUID:a\r\nSUMMARY:a\r\n\
        DTSTART;TZID=Ours:20260101T100000\r\nEND:VEVENT\r\n";
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    calendar
        .save(&CalendarObject::parse(text, &zones).unwrap())
        .unwrap();
    store.maintenance().repair().unwrap();
    let day = at("20260101T000000Z")..at("20260102T000000Z");
    let found = told(&calendar.between(day.clone(), &TimeZone::UTC).unwrap());
    assert_eq!(found, ["20260101T063000Z 20260101T063000Z a"]);
    let (stored, mut record) = calendar.record("a").unwrap().unwrap();
    let zones = calendar.zones(stored.id).unwrap();
    record.set(0, "LOCATION", "there", &zones).unwrap();
    calendar.save(&record).unwrap();
    let mut out = Vec::new();
    calendar.export(&mut out, None).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.matches("BEGIN:VTIMEZONE").count(), 1, "{text}");
    let other = store
        .collections::<CalendarObject>()
        .create("Other")
        .unwrap();
    assert_eq!(import(&other, text.as_bytes()).warned, 0);
    assert_eq!(told(&other.between(day, &TimeZone::UTC).unwrap()), found);
    clean(&store);
}

#[test]
fn plain_sqlite_reads_and_writes_calendars() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    for uid in ["edit", "rename", "remove"] {
        let lines = "DTSTART:20260105T090000Z\r\nRRULE:FREQ=DAILY\r\n";
        calendar.save(&event(uid, lines)).unwrap();
    }
    store
        .collections::<CalendarObject>()
        .create("Work")
        .unwrap();
    store.close().unwrap();

    let conn = rusqlite::Connection::open(&path).unwrap();
    let count = "SELECT count(*) FROM item WHERE kind = 'calendar' AND book = 'Calendar'";
    let count: i64 = conn.query_row(count, [], |r| r.get(0)).unwrap();
    assert_eq!(count, 3);
    let text = |uid: &str, day: &str| {
        let lines = format!("DTSTART:{day}T090000Z\r\n");
        event(uid, &lines).into_text()
    };
    let update = "UPDATE item SET text = ?2 WHERE uid = ?1";
    conn.execute(update, ("edit", text("edit", "20260106")))
        .unwrap();
    conn.execute(update, ("rename", text("renamed", "20260107")))
        .unwrap();
    conn.execute("DELETE FROM item WHERE uid = 'remove'", ())
        .unwrap();
    let insert = "INSERT INTO item (kind, book, text) VALUES ('calendar', ?1, ?2)";
    let object = ALL.iter().find(|f| f.name == "google.ics").unwrap();
    conn.execute(insert, ("Work", object.bytes)).unwrap();
    conn.execute(insert, ("Work", "no calendar")).unwrap();
    for (statement, reason) in [
        (
            "INSERT INTO item (kind, book, text) VALUES ('calendar', 'None', 'x')",
            "calendar of this kind and name",
        ),
        (
            "INSERT INTO item (kind, book) VALUES ('calendar', 'Work')",
            "CHECK constraint failed: text_is_missing",
        ),
        (
            "UPDATE item SET text = NULL",
            "CHECK constraint failed: text_is_missing",
        ),
        ("UPDATE item SET book = 'Work'", "cannot modify"),
        ("UPDATE item SET uid = 'x'", "cannot modify"),
    ] {
        let error = conn.execute(statement, []).unwrap_err();
        assert!(error.to_string().contains(reason), "{statement}: {error}");
    }
    conn.close().map_err(|(_, e)| e).unwrap();

    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let range = at("20260101T000000Z")..at("20270101T000000Z");
    let found = told(&calendar.between(range, &TimeZone::UTC).unwrap());
    assert_eq!(
        found,
        [
            "20260106T090000Z 20260106T090000Z edit",
            "20260107T090000Z 20260107T090000Z renamed"
        ]
    );
    let work = store.collection::<CalendarObject>(Some("Work")).unwrap();
    let other = store
        .collections::<CalendarObject>()
        .create("Other")
        .unwrap();
    assert_eq!(import(&other, object.bytes).good(), work.count().unwrap());
    let mut out = Vec::new();
    work.export(&mut out, None).unwrap();
    assert!(out == object.bytes);
    let report = store.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    assert_eq!(report.write_queue.len(), 1, "{:?}", report.write_queue);
}

#[test]
fn a_new_event_leaves_the_object_of_the_others_as_it_is() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let ics = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:theirs\r\nX-WR-CALNAME:Home\r\n\
        BEGIN:VEVENT\r\nUID:a\r\nDTSTART:20260101T100000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    import(&calendar, ics.as_bytes());
    let nine = Date::new(2026, 11, 23).unwrap().at(9, 0, 0).unwrap();
    let draft = Draft::event("New").start(CalendarTime::Zoned(nine, zone("Europe/Berlin")));
    calendar
        .save(&draft.make(&TimeZoneResolver::new()).unwrap())
        .unwrap();
    // An edit adds a zone to a record whose object lacks it.
    let (_, mut record) = calendar.record("a").unwrap().unwrap();
    let moved = CalendarTime::Zoned(nine, zone("America/New_York"));
    record
        .set_time(0, "DTSTART", &moved, &TimeZoneResolver::new())
        .unwrap();
    calendar.save(&record).unwrap();
    let mut out = Vec::new();
    calendar.export(&mut out, None).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.contains("PRODID:theirs\r\nX-WR-CALNAME:Home\r\n"),
        "{text}"
    );
    assert_eq!(text.matches("BEGIN:VCALENDAR").count(), 1, "{text}");
    for zone in ["Europe/Berlin", "America/New_York"] {
        assert_eq!(
            text.matches(&format!("\nTZID:{zone}\r\n")).count(),
            1,
            "{text}"
        );
    }
}

#[test]
fn alarms_have_their_actions_and_follow_the_display_zone() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let alarm = |lines: &str| format!("BEGIN:VALARM\r\n{lines}END:VALARM\r\n");
    let two = [
        "DTSTART:20260105T090000Z\r\n".to_owned(),
        alarm("ACTION:EMAIL\r\nTRIGGER:-PT15M\r\n"),
        alarm("ACTION:DISPLAY\r\nTRIGGER:-PT15M\r\n"),
    ];
    calendar.save(&event("two", &two.concat())).unwrap();
    let from = at("20260101T000000Z");
    let due = calendar.alarms(from, 9, &TimeZone::UTC).unwrap().alarms;
    assert_eq!(
        due.iter().map(|d| d.at).collect::<Vec<_>>(),
        [at("20260105T084500Z"); 2]
    );
    calendar.remove("two").unwrap();

    // A to-do without a time.
    let todo = format!(
        "BEGIN:VTODO\r\nUID:todo\r\nSUMMARY:todo\r\n{}END:VTODO\r\n",
        alarm("TRIGGER;VALUE=DATE-TIME:20260107T120000Z\r\n")
    );
    calendar
        .save(&CalendarObject::parse(todo, &TimeZoneResolver::new()).unwrap())
        .unwrap();
    let due = calendar.alarms(from, 9, &TimeZone::UTC).unwrap().alarms;
    assert_eq!(
        (due.len(), due[0].at, &*due[0].title),
        (1, at("20260107T120000Z"), "todo")
    );
    calendar.remove("todo").unwrap();

    // At a floating time, acknowledged at nine in the morning on the American west coast: in that
    // zone the afternoon's alarm is still due.
    let day = [
        "DTSTART:20260105T090000\r\nX-MOZ-LASTACK:20260105T170100Z\r\n".to_owned(),
        alarm("TRIGGER:PT0S\r\n"),
        alarm("TRIGGER:PT7H\r\n"),
    ];
    calendar.save(&event("day", &day.concat())).unwrap();
    let due = calendar
        .alarms(from, 9, &zone("America/Los_Angeles"))
        .unwrap()
        .alarms;
    assert_eq!(
        due.iter().map(|d| d.at).collect::<Vec<_>>(),
        [at("20260106T000000Z")]
    );
    let due = calendar
        .alarms(from, 9, &zone("Europe/Berlin"))
        .unwrap()
        .alarms;
    assert!(due.is_empty(), "{due:?}");
    clean(&store);
}
