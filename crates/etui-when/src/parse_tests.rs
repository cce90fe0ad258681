//! Tests of days and times in words.

#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use etui_ical::time::{Date, DateTime, DateTimeValue, Weekday};

use super::names::weekday_name;
use super::parse::{parse_when, parse_when_on};

/// A Saturday.
fn now() -> DateTime {
    DateTime::new(2026, 11, 21, 14, 5, 30).unwrap()
}

#[track_caller]
fn assert_value(text: &str, expected: &str) {
    let value = parse_when(text, now()).unwrap();
    assert_eq!(value.to_string(), expected, "{text}");
}

#[test]
fn days() {
    assert_value("today", "20261121");
    assert_value("Tomorrow", "20261122");
    assert_value("yesterday", "20261120");
    assert_value("saturday", "20261121");
    assert_value("sun", "20261122");
    assert_value("Friday", "20261127");
    assert_value("2026-12-24", "20261224");
    assert_value("20261224", "20261224");
    assert_value("+3d", "20261124");
    assert_value("-3d", "20261118");
    assert_value("+2w", "20261205");
    assert_value("+1 week", "20261128");
    assert_value("+3mo", "20270221");
    assert_value("+1y", "20271121");
}

#[test]
fn times() {
    assert_value("now", "20261121T140530");
    assert_value("18:30", "20261121T183000");
    assert_value("9:05", "20261121T090500");
    assert_value("9am", "20261121T090000");
    assert_value("12:30 am", "20261121T003000");
    assert_value("12 pm", "20261121T120000");
    assert_value("noon", "20261121T120000");
    assert_value("tomorrow 9:00", "20261122T090000");
    assert_value("tomorrow at 7pm", "20261122T190000");
    assert_value("tomorrow at 8", "20261122T080000");
    assert_value("mon 18", "20261123T180000");
    assert_value("mon 10:15", "20261123T101500");
    assert_value("2026-12-24 18:30", "20261224T183000");
    assert_value("2026-12-24T18:30", "20261224T183000");
    assert_value("2026-12-24t18:30:15", "20261224T183015");
    assert_value("2026-12-24T18:30Z", "20261224T183000Z");
    assert_value("20261224T183000Z", "20261224T183000Z");
    assert_value("20261224T1830", "20261224T183000");
    assert_value("+90m", "20261121T153530");
    assert_value("+2h", "20261121T160530");
    assert_value("+3d 8:00", "20261124T080000");
    assert_value("9:00 tomorrow", "20261122T090000");
}

#[test]
fn a_time_alone_is_on_the_given_day() {
    let day = Date::new(2026, 11, 2).unwrap();
    let on_day = |text| parse_when_on(text, day, now()).unwrap().to_string();
    assert_eq!(on_day("9:15"), "20261102T091500");
    assert_eq!(on_day("Noon"), "20261102T120000");
    assert_eq!(on_day("tomorrow 9:15"), "20261122T091500");
    assert!(parse_when_on("soon", day, now()).is_err());
}

#[test]
fn invalid_text_is_rejected() {
    for text in [
        "",
        " ",
        "m",
        "mo",
        "mondays",
        "25:00",
        "9:60",
        "13pm",
        "0am",
        "9",
        "2026",
        "2026-13-01",
        "2026-02-29",
        "2026-12-24T",
        "2026-12-24T25:00",
        "tomorrow soon",
        "tomorrow 24",
        "+",
        "+3",
        "+3x",
        "3d",
        "today today",
        "12:00:00:00",
        "é",
        "+é",
    ] {
        assert!(parse_when(text, now()).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_rejected(text in "\\PC{0,30}") {
        let _ = parse_when(&text, now());
    }

    #[test]
    fn similar_text_is_parsed_or_rejected(
        text in "[+-]?[0-9]{0,9} ?(d|w|mo|m|h|mon|t|z|:|am|pm| |-|today){0,6}[0-9:]{0,8}z?"
    ) {
        let _ = parse_when(&text, now());
    }

    #[test]
    fn every_day_and_time_is_parsed(
        days in Date::MIN.days()..=Date::MAX.days(),
        seconds in 0u32..86_400,
    ) {
        let date = Date::from_days(days.into());
        let (year, month, day) = date.ymd();
        let text = format!("{year:04}-{month:02}-{day:02}");
        prop_assert_eq!(parse_when(&text, now()), Ok(DateTimeValue::Date(date)));
        let (h, m, s) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        let time = date.at(h, m, s).unwrap();
        let with_time = format!("{text} {h}:{m:02}:{s:02}");
        prop_assert_eq!(parse_when(&with_time, now()), Ok(DateTimeValue::Local(time)));
        let utc = format!("{text}T{h:02}:{m:02}:{s:02}Z");
        prop_assert_eq!(parse_when(&utc, now()), Ok(DateTimeValue::Utc(time)));
    }

    #[test]
    fn a_weekday_is_within_the_next_seven_days(from in 0i64..20_000, which in 0usize..7) {
        let today = Date::from_days(from);
        let weekday = Weekday::ALL[which];
        let name = weekday_name(weekday);
        let Ok(DateTimeValue::Date(found)) = parse_when(name, today.midnight()) else {
            return Err(TestCaseError::fail("no day"));
        };
        prop_assert_eq!(found.weekday(), weekday);
        prop_assert!((0..7).contains(&(found.days() - today.days())));
    }
}
