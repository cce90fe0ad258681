//! The mix has the documented frequencies, and the text is valid.

use std::collections::HashSet;

use super::write::date;
use super::*;

const MANY: usize = 20_000;

#[test]
fn the_mix_is_as_promised() {
    let all: Vec<Entry> = Calendars::new(3).take(MANY).collect();
    let per_mille = |is: &dyn Fn(&Entry) -> bool| {
        let count = all.iter().filter(|entry| is(entry)).count();
        count * 1000 / MANY
    };
    for (shape, wanted) in [
        (Shape::Timed, 700),
        (Shape::AllDay, 100),
        (Shape::Recurring, 150),
        (Shape::Todo, 40),
        (Shape::Journal, 10),
    ] {
        let found = per_mille(&|entry| entry.shape == shape);
        assert!(found.abs_diff(wanted) <= 10, "{shape:?}: {found}");
    }
    let alarms = per_mille(&|entry| entry.alarms > 0);
    assert!((290..340).contains(&alarms), "{alarms}");
    assert!(per_mille(&|entry| entry.overrides > 0) > 25);
    assert!(per_mille(&|entry| entry.text.contains("EXDATE")) > 30);
    let uids: HashSet<&str> = all.iter().map(|entry| entry.uid.as_str()).collect();
    assert_eq!(uids.len(), MANY);
}

#[test]
fn lines_are_folded_and_components_whole() {
    for entry in Calendars::new(4).take(2_000) {
        assert!(entry.text.ends_with("\r\n"));
        for line in entry.text.split_terminator("\r\n") {
            assert!(line.len() <= 75 && !line.contains(['\r', '\n']), "{line}");
        }
        let count = |what: &str| entry.text.lines().filter(|l| l.starts_with(what)).count();
        assert_eq!(count("BEGIN:"), count("END:"));
        assert_eq!(count("BEGIN:VALARM"), entry.alarms);
        assert_eq!(count("RECURRENCE-ID"), entry.overrides);
    }
}

#[test]
fn a_span_is_kept_and_filled() {
    let span = Span {
        endless: Some(100),
        ..Span::years(1)
    };
    let all: Vec<Entry> = Calendars::over(5, span).take(4_000).collect();
    let days: HashSet<i64> = all.iter().map(|entry| entry.day).collect();
    assert!(days.iter().all(|day| (17_167..17_167 + 365).contains(day)));
    assert!(days.len() > 350);
    let recurring: Vec<_> = all.iter().filter(|e| e.shape == Shape::Recurring).collect();
    assert!(recurring.len().abs_diff(400) < 60);
    assert!(
        recurring
            .iter()
            .all(|e| !e.text.contains("UNTIL") && !e.text.contains("COUNT"))
    );
}

#[test]
fn a_file_has_its_length() {
    let mut out = Vec::new();
    let length = write_ics(&mut out, 1, Span::USUAL, 50).unwrap_or(0);
    assert_eq!(length, out.len() as u64);
    assert_eq!(out.windows(9).filter(|w| w == b"BEGIN:VCA").count(), 1);
}

#[test]
fn days_are_those_of_the_calendar() {
    for (day, text) in [
        (0, "19700101"),
        (17_167, "20170101"),
        (20_512, "20260228"),
        (-1, "19691231"),
    ] {
        assert_eq!(date(day), text);
    }
}
