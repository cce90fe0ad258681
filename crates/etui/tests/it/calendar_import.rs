//! Import and export of calendars: valid components are stored byte for byte, broken ones are
//! rejected with line numbers, a second import changes nothing.

use std::ops::ControlFlow;

use crate::support::{clean, directory};
use etui::calendar::Calendar;
use etui::calendar::ics::{ObjectPiece, ObjectReader};
use etui::import::ImportReport;
use etui::{ETag, Store};
use etui_testkit::calendars::{self, Span};
use etui_testkit::fixtures::icalendar::{ALL, Fixture};

fn import(calendar: &Calendar, input: &[u8]) -> ImportReport {
    calendar
        .import(input, &mut |_| ControlFlow::Continue(()))
        .unwrap()
}

fn fixture(name: &str) -> &'static Fixture {
    ALL.iter().find(|f| f.name == name).expect(name)
}

/// Returns the bytes of all components of a text, in order.
fn components(text: &[u8]) -> Vec<Vec<u8>> {
    let pieces = ObjectReader::new(text).map(Result::unwrap);
    let mut found: Vec<_> = pieces
        .filter_map(|piece| match piece {
            ObjectPiece::Component(component) => Some(component.bytes),
            _ => None,
        })
        .collect();
    found.sort();
    found
}

/// Returns the bytes of all components of a calendar, in order.
fn stored(calendar: &Calendar) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for (_, text) in calendar.all().unwrap().iter() {
        let object = [b"BEGIN:VCALENDAR\r\n", text].concat();
        found.extend(components(&object));
    }
    found.sort();
    found
}

#[test]
fn fixtures_are_imported_byte_for_byte_and_again_change_nothing() {
    for fixture in ALL {
        let (_dir, path) = directory();
        let store = Store::open(&path).unwrap();
        let calendar = store.calendar().unwrap();
        let name = fixture.name;
        let report = import(&calendar, fixture.bytes);
        assert_eq!(report.added, fixture.records as u64, "{name}");
        let refused: Vec<_> = report
            .refusals
            .iter()
            .map(|r| (r.line, r.last_line))
            .collect();
        let mut expected: Vec<_> = fixture.refused.iter().map(|(a, b, _)| (*a, *b)).collect();
        expected.sort_unstable();
        let mut sorted = refused.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected, "{name}: {:?}", report.refusals);
        // UTF-16 components cannot be read without their byte order mark here.
        if name != "utf16.ics" {
            let mut good = components(fixture.bytes);
            // Components rejected for their content, not for their syntax.
            let kept = stored(&calendar);
            good.retain(|c| kept.contains(c));
            good.dedup();
            assert_eq!(kept, good, "{name}");
            assert_eq!(kept.len(), fixture.components, "{name}");
        }
        let before = store.token().unwrap();
        let again = import(&calendar, fixture.bytes);
        assert_eq!((again.added, again.changed), (0, 0), "{name}");
        assert_eq!(store.token().unwrap(), before, "{name}");
        assert_eq!(again.refused, report.refused, "{name}");
        clean(&store);
    }
}

/// Imports all files into one calendar, twice.
#[test]
fn many_files_are_imported_into_one_calendar() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    for fixture in ALL {
        import(&calendar, fixture.bytes);
    }
    let (count, before) = (calendar.count().unwrap(), store.token().unwrap());
    for fixture in ALL {
        let report = import(&calendar, fixture.bytes);
        assert_eq!((report.added, report.changed), (0, 0), "{}", fixture.name);
    }
    assert_eq!(calendar.count().unwrap(), count);
    assert_eq!(store.token().unwrap(), before);
    // Another calendar of the store is another collection.
    let other = store
        .collections::<etui::calendar::CalendarObject>()
        .create("Other")
        .unwrap();
    assert_eq!(import(&other, fixture("google.ics").bytes).added, 3);
    assert_eq!(calendar.count().unwrap(), count);
    clean(&store);
}

#[test]
fn broken_components_between_valid_ones_are_rejected_with_line_numbers() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let fixture = fixture("broken-between-good.ics");
    let mut told = Vec::new();
    let report = calendar.import(fixture.bytes, &mut |event| {
        if let etui::import::ImportEvent::Refused(refused) = event {
            told.push(refused.clone());
        }
        ControlFlow::Continue(())
    });
    let report = report.unwrap();
    assert_eq!(report.added, 6);
    assert_eq!(told.len(), fixture.refused.len());
    let lines: Vec<&str> = std::str::from_utf8(fixture.bytes)
        .unwrap()
        .lines()
        .collect();
    for refused in &told {
        assert!(!refused.reason.is_empty());
        let [first, last] = [refused.line, refused.last_line].map(|n| usize::try_from(n).unwrap());
        let shown = refused.excerpt.split(['\\', ' ']).next().unwrap();
        let of_it = &lines[first - 1..last];
        assert!(of_it.iter().any(|l| l.starts_with(shown)), "{refused:?}");
    }
    for n in 1..=6 {
        let uid = format!("good-{n}@example.org");
        assert!(calendar.get(&uid).unwrap().is_some(), "{uid}");
    }
    // A valid component with parts that are not understood is imported with warnings.
    assert!(report.warned > 0);
}

/// A file without rejected components is exported byte for byte.
#[test]
fn fixtures_are_exported_byte_for_byte() {
    for fixture in ALL
        .iter()
        .filter(|f| f.refused.is_empty() && f.objects == 1)
    {
        let (_dir, path) = directory();
        let store = Store::open(&path).unwrap();
        import(&store.calendar().unwrap(), fixture.bytes);
        store.close().unwrap();
        let store = Store::open(&path).unwrap();
        let mut out = Vec::new();
        let count = store.calendar().unwrap().export(&mut out, None).unwrap();
        assert_eq!(count, fixture.records as u64, "{}", fixture.name);
        assert!(out == fixture.bytes, "{}", fixture.name);
    }
}

/// All files in one calendar are exported as few objects with the same content.
#[test]
fn an_export_is_imported_into_another_calendar() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    // Text in another encoding is written in the encoding of its object.
    for fixture in ALL
        .iter()
        .filter(|f| !["utf16.ics", "latin1.ics"].contains(&f.name))
    {
        import(&calendar, fixture.bytes);
    }
    let mut out = Vec::new();
    calendar.export(&mut out, None).unwrap();
    let other = store
        .collections::<etui::calendar::CalendarObject>()
        .create("Other")
        .unwrap();
    let report = import(&other, &out);
    assert_eq!(report.refused, 0, "{:?}", report.refusals);
    assert_eq!(other.count().unwrap(), calendar.count().unwrap());
    assert_eq!(stored(&other), stored(&calendar));
    let mut again = Vec::new();
    other.export(&mut again, None).unwrap();
    assert_eq!(components(&again), components(&out));
}

/// The last line of a file may not be terminated; the text after it begins on a new line.
#[test]
fn objects_without_a_last_line_end_stay_separate() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    for method in ["PUBLISH", "REQUEST"] {
        let file = format!(
            "BEGIN:VCALENDAR\nMETHOD:{method}\nBEGIN:VEVENT\nUID:{method}\n\
             DTSTART:20270308T080000Z\nEND:VEVENT\nEND:VCALENDAR"
        );
        assert_eq!(import(&calendar, file.as_bytes()).added, 1);
    }
    let mut out = Vec::new();
    calendar.export(&mut out, None).unwrap();
    assert!(out.ends_with(b"\nEND:VCALENDAR"));
    let again = store
        .collections::<etui::calendar::CalendarObject>()
        .create("Again")
        .unwrap();
    let report = import(&again, &out);
    assert_eq!(
        (report.added, report.refused),
        (2, 0),
        "{:?}",
        report.refusals
    );
}

/// A change to one instance changes its record, and nothing else.
#[test]
fn a_changed_file_changes_only_its_changed_records() {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let google = fixture("google.ics").bytes;
    import(&calendar, google);
    let etags = || -> Vec<ETag> {
        let uids = [
            "7kqv2m0c1u4r8s3a5t6b9d0e1f@example.org",
            "2a4c6e8g0i1k3m5o7q9s@example.org",
        ];
        let found = uids.iter().map(|uid| calendar.get(uid).unwrap().unwrap());
        found.map(|stored| stored.etag).collect()
    };
    let before = etags();
    let changed = String::from_utf8(google.to_vec()).unwrap();
    let changed = changed.replace("Jour fixe (moved)", "Jour fixe (late)");
    let report = import(&calendar, changed.as_bytes());
    assert_eq!((report.added, report.changed, report.unchanged), (0, 1, 2));
    assert_ne!(etags()[0], before[0]);
    assert_eq!(etags()[1], before[1]);
    clean(&store);
}

#[test]
fn a_large_calendar_is_imported_at_once_and_again_changes_nothing() {
    let mut file = Vec::new();
    calendars::write_ics(&mut file, 5, Span::USUAL, 5_000).unwrap();
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    assert_eq!(import(&calendar, &file).added, 5_000);
    assert_eq!(stored(&calendar), components(&file));
    let before = store.token().unwrap();
    let again = import(&calendar, &file);
    assert_eq!((again.added, again.changed, again.unchanged), (0, 0, 5_000));
    assert_eq!(store.token().unwrap(), before);
    clean(&store);
}

/// Components of one UID at two places of an import are one record, at any distance and over any
/// earlier record.
#[test]
fn a_record_that_is_merged_later_counts_once() {
    let event = |uid: &str, more: &str| {
        format!("BEGIN:VEVENT\r\nUID:{uid}\r\nDTSTART:20270308T080000Z\r\n{more}\r\nEND:VEVENT\r\n")
    };
    let object = |events: &str| format!("BEGIN:VCALENDAR\r\n{events}END:VCALENDAR\r\n");
    let moved = "RECURRENCE-ID:20270309T080000Z\r\nSUMMARY:Moved";
    let plain = event("a", "RRULE:FREQ=DAILY");
    for between in [1_500, 5_000] {
        let others: String = (0..between)
            .map(|n| object(&event(&n.to_string(), "SUMMARY:Other")))
            .collect();
        let file = format!(
            "{}{others}{}{}",
            object(&plain),
            object(&event("a", moved)),
            object(&plain)
        );
        let (_dir, path) = directory();
        let store = Store::open(&path).unwrap();
        let count = |calendar: &Calendar| {
            let report = import(calendar, file.as_bytes());
            assert_eq!(report.refused, 0);
            (report.added, report.changed, report.unchanged)
        };
        let calendar = store.calendar().unwrap();
        assert_eq!(count(&calendar), (between + 1, 0, 0));
        assert_eq!(calendar.count().unwrap(), between + 1);
        assert_eq!(count(&calendar), (0, 0, between + 1));

        let known = store
            .collections::<etui::calendar::CalendarObject>()
            .create("Known")
            .unwrap();
        assert_eq!(import(&known, object(&plain).as_bytes()).added, 1);
        assert_eq!(count(&known), (between, 1, 0));
        assert_eq!(count(&known), (0, 0, between + 1));
    }
}

#[test]
fn a_component_without_a_calendar_is_imported() {
    let event = "BEGIN:VEVENT\nUID:bare\nDTSTART:20270104T090000Z\nSUMMARY:Bare\nEND:VEVENT";
    for (text, added) in [
        (event.to_owned(), 1),
        (format!("\u{FEFF}\r\n\n{}\n", event.to_ascii_uppercase()), 1),
        (event.replace("VEVENT", "VTODO"), 1),
        (format!("{event}\n{}", event.replace("bare", "other")), 2),
        (
            format!("BEGIN:VTIMEZONE\nTZID:x\nEND:VTIMEZONE\n{event}"),
            1,
        ),
    ] {
        let dir = directory();
        let store = Store::open(dir.1.as_path()).unwrap();
        let calendar = store.calendar().unwrap();
        assert_eq!(import(&calendar, text.as_bytes()).added, added, "{text}");
        assert!(
            stored(&calendar)
                .iter()
                .all(|text| text.ends_with(b"END:VEVENT")
                    || text.ends_with(b"END:VTODO")
                    || text.ends_with(b"\n"))
        );
    }
    // Lines are those of the input.
    let dir = directory();
    let store = Store::open(dir.1.as_path()).unwrap();
    let mut lines = Vec::new();
    let input = format!("{event}\nBEGIN:VEVENT\nEND:VEVENT\n");
    let report = store
        .calendar()
        .unwrap()
        .import(input.as_bytes(), &mut |event| {
            if let etui::import::ImportEvent::Refused(refused) = event {
                lines.push((refused.line, refused.last_line));
            }
            ControlFlow::Continue(())
        });
    assert_eq!((report.unwrap().added, lines), (1, vec![(6, 7)]));
}
