//! Calendars as CSV.

use etui_tables::{is_calendar_csv, read_calendar};

fn lines(table: &str) -> (Vec<String>, usize, usize) {
    assert!(is_calendar_csv(table.as_bytes()), "{table}");
    let calendar = read_calendar(table.as_bytes(), None).unwrap();
    let text = String::from_utf8(calendar.text)
        .unwrap()
        .replace("\r\n ", "");
    let lines = text.lines().map(str::to_owned).collect();
    (lines, calendar.rejected.len(), calendar.warnings.len())
}

const CALENDAR: &str = include_str!("../../data/outlook-calendar.tsv");

#[test]
fn headings_of_every_language_mean_the_same() {
    let mut rows = CALENDAR.lines().filter(|line| !line.starts_with('#'));
    let languages: Vec<&str> = rows.next().unwrap().split('\t').collect();
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split('\t').collect()).collect();
    let cell = |english: &str| match english {
        "start date" | "end date" | "reminder date" => "17.5.2027",
        "start time" => "09:00:00",
        "end time" => "10:30:00",
        "reminder time" => "08:45:00",
        "reminder on/off" => "1",
        "all day event" | "private" => "0",
        english if english.contains("attendees") => "a@b.example",
        _ => "text",
    };
    let cells: Vec<&str> = rows.iter().map(|row| cell(row[0])).collect();
    let own = |line: &&String| !line.starts_with("COMMENT:");
    for (column, language) in languages.iter().enumerate() {
        let header: Vec<&str> = rows
            .iter()
            .map(|row| row[column].split('|').next().unwrap())
            .collect();
        let (found, rejected, warned) =
            lines(&format!("{}\n{}\n", header.join(";"), cells.join(";")));
        assert_eq!((rejected, warned), (0, 0), "{language}");
        let found: Vec<&String> = found.iter().filter(own).collect();
        let english: Vec<&str> = rows.iter().map(|row| row[0]).collect();
        let (expected, ..) = lines(&format!("{}\n{}\n", english.join(";"), cells.join(";")));
        assert_eq!(
            found,
            expected.iter().filter(own).collect::<Vec<_>>(),
            "{language}"
        );
        assert!(
            found.iter().any(|line| *line == "DTSTART:20270517T090000"),
            "{language}"
        );
        assert!(
            found.iter().any(|line| *line == "TRIGGER:-PT15M"),
            "{language}"
        );
    }
}

#[test]
fn days_are_whole_ones() {
    for (row, start, end) in [
        // Outlook's midnight after the last day, and Google's last day.
        (
            "x,12/25/2027,12:00:00 AM,12/26/2027,12:00:00 AM,True",
            "20271225",
            "20271226",
        ),
        ("x,12/25/2027,,12/26/2027,,True", "20271225", "20271227"),
        ("x,12/25/2027,,12/25/2027,,", "20271225", "20271226"),
        ("x,2027-12-25,,,,", "20271225", "20271226"),
        (
            "x,12/31/2027,12:00 AM,1/1/2028,12:00 AM,TRUE",
            "20271231",
            "20280101",
        ),
    ] {
        let header = "Subject,Start Date,Start Time,End Date,End Time,All Day Event";
        let (found, ..) = lines(&format!("{header}\n{row}\n"));
        assert!(
            found.contains(&format!("DTSTART;VALUE=DATE:{start}")),
            "{row}: {found:?}"
        );
        assert!(
            found.contains(&format!("DTEND;VALUE=DATE:{end}")),
            "{row}: {found:?}"
        );
    }
}

#[test]
fn rows_that_are_no_events_are_rejected_alone() {
    let table = "Subject,Start Date,Start Time,End Date,End Time\n\
        a,soon,,,\nb,,9:00 AM,,\nc,5/17/2027,late,,\nd,5/17/2027,9:00 AM,5/16/2027,9:00 AM\n\
        e,5/17/2027,9:00 AM,5/17/2027,10:00 AM\n\"f\"x,5/17/2027,,,\n";
    let (found, rejected, _) = lines(table);
    assert_eq!(rejected, 5);
    let events = found.iter().filter(|line| *line == "BEGIN:VEVENT").count();
    assert_eq!(events, 1);
    // Nothing shows the order of day and month.
    let (_, rejected, warned) = lines("Subject,Start Date\na,3/4/2027\n");
    assert_eq!((rejected, warned), (0, 1));
    assert!(!is_calendar_csv(b"Subject,First Name\n"));
    assert!(!is_calendar_csv(b"hello"));
}
