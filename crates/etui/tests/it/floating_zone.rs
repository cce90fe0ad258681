//! The time zone that a file gives to its floating times.

use std::ops::ControlFlow;

use etui::Store;
use etui::import::ImportEvent;

use crate::support::{clean, directory};

/// Imports an object of these properties with one event of these lines. Returns the lines of the stored
/// event that have a time, and the notes of the import.
fn import(head: &str, lines: &str) -> (String, Vec<String>) {
    let (_dir, path) = directory();
    let store = Store::open(&path).unwrap();
    let calendar = store.calendar().unwrap();
    let file = format!(
        "BEGIN:VCALENDAR\r\n{head}BEGIN:VEVENT\r\nUID:1\r\nSUMMARY:x\r\n{lines}END:VEVENT\r\nEND:VCALENDAR\r\n"
    );
    let mut notes = Vec::new();
    calendar
        .import(file.as_bytes(), &mut |event| {
            if let ImportEvent::Warned(note) = event {
                notes.push(note.reason.clone());
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    let text = calendar.get("1").unwrap().unwrap().text;
    let text = String::from_utf8(text).unwrap();
    let times = text
        .lines()
        .filter(|line| line.contains(":20") || line.contains("ALARM"));
    let times = times.collect::<Vec<_>>().join(" ");
    clean(&store);
    (times, notes)
}

#[test]
fn floating_times_are_in_the_zone_of_their_file() {
    let nine = "DTSTART:20260105T090000\r\n";
    let berlin = "DTSTART;TZID=Europe/Berlin:20260105T090000";
    for (head, lines, expected) in [
        ("X-WR-TIMEZONE:Europe/Berlin\r\n", nine, berlin),
        ("x-wr-timezone: Europe/Berlin \r\n", nine, berlin),
        ("X-WR-TIMEZONE:\"Europe/Berlin\"\r\n", nine, berlin),
        // Of an exporter's own kind: a name of Windows, an offset.
        ("X-WR-TIMEZONE:W. Europe Standard Time\r\n", nine, berlin),
        ("X-WR-TIMEZONE:UTC\r\n", nine, "DTSTART:20260105T090000Z"),
        // Each kind of time; days and times with a zone stay.
        (
            "X-WR-TIMEZONE:Europe/Berlin\r\n",
            "DTSTART:20260105T090000\r\nDTEND:20260105T100000\r\nRRULE:FREQ=DAILY\r\nEXDATE:20260106T090000,20260107T090000\r\n",
            "DTSTART;TZID=Europe/Berlin:20260105T090000 DTEND;TZID=Europe/Berlin:20260105T100000 \
             EXDATE;TZID=Europe/Berlin:20260106T090000,20260107T090000",
        ),
        (
            "X-WR-TIMEZONE:Europe/Berlin\r\n",
            "DTSTART;VALUE=DATE:20260105\r\n",
            "DTSTART;VALUE=DATE:20260105",
        ),
        (
            "X-WR-TIMEZONE:Europe/Berlin\r\n",
            "DTSTART:20260105T090000Z\r\n",
            "DTSTART:20260105T090000Z",
        ),
        (
            "X-WR-TIMEZONE:Europe/Berlin\r\n",
            "DTSTART;TZID=America/New_York:20260105T090000\r\n",
            "DTSTART;TZID=America/New_York:20260105T090000",
        ),
        ("X-WR-CALNAME:Home\r\n", nine, "DTSTART:20260105T090000"),
        // vCalendar 1.0: an offset, and with its changes a zone.
        (
            "VERSION:1.0\r\nTZ:+02\r\n",
            "DTSTART:20260105T090000Z\r\n",
            "DTSTART:20260105T090000Z",
        ),
        (
            "VERSION:1.0\r\nTZ:+01\r\nDAYLIGHT:TRUE;+02;20260329T020000;20261025T030000;CET;CEST\r\n",
            nine,
            berlin,
        ),
    ] {
        let (found, notes) = import(head, lines);
        assert_eq!(found, expected, "{head}");
        assert_eq!(notes, [""; 0], "{head}");
    }
}

#[test]
fn an_unknown_zone_of_a_file_is_named() {
    let head = "X-WR-TIMEZONE:Middle-earth/Bree\r\n";
    let (found, notes) = import(head, "DTSTART:20260105T090000\r\n");
    assert_eq!(found, "DTSTART:20260105T090000");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].contains("\"Middle-earth/Bree\" of the file is not known"),
        "{notes:?}"
    );
    assert_eq!(import(head, "DTSTART:20260105T090000Z\r\n").1, [""; 0]);
    assert_eq!(import(head, "DTSTART;VALUE=DATE:20260105\r\n").1, [""; 0]);
}
