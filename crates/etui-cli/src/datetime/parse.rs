//! Days and times in words.
//!
//! ```text
//! when  := "now" | clock | day [ ("T" | " " | " at ") ( clock | H[H] ) [ "Z" ] ] | step
//! day   := "today" | "tomorrow" | "yesterday" | weekday | YYYY-MM-DD | YYYYMMDD
//! step  := ("+" | "-") n ( "d" | "w" | "mo" | "y" )      a day relative to today
//!        | ("+" | "-") n ( "m" | "h" )                   a time relative to now
//! clock := H[H]:MM[:SS] [ "am" | "pm" ] | H[H] ("am" | "pm") | "noon" | "midnight"
//! ```
//!
//! A weekday is the next one, including today. A time alone is today. Case is ignored.

use std::ops::RangeInclusive;
use std::str::FromStr;

use etui::calendar::time::{Date, DateTime, DateTimeValue, Weekday};

/// Names of weekdays; a prefix of at least three letters is accepted.
const WEEKDAYS: [(&str, Weekday); 7] = [
    ("Monday", Weekday::Monday),
    ("Tuesday", Weekday::Tuesday),
    ("Wednesday", Weekday::Wednesday),
    ("Thursday", Weekday::Thursday),
    ("Friday", Weekday::Friday),
    ("Saturday", Weekday::Saturday),
    ("Sunday", Weekday::Sunday),
];

/// Names of months; a prefix of at least three letters is accepted.
const MONTHS: &str = "January February March April May June July August September October November \
                      December";

/// Parses a day or a time. `now` is the local time.
pub fn parse_when(text: &str, now: DateTime) -> Result<DateTimeValue, String> {
    let lower = text.trim().to_ascii_lowercase();
    parse_lower(&lower, now).ok_or_else(expected_forms)
}

fn expected_forms() -> String {
    "not a day or time; write 2026-12-24, 2026-12-24T18:30, 18:30, today, tomorrow, monday, \
     +3d, or a day and a time: \"tomorrow 9:00\""
        .to_owned()
}

/// Parses a day or a time; a time alone is on `day`.
pub fn parse_when_on(text: &str, day: Date, now: DateTime) -> Result<DateTimeValue, String> {
    match parse_clock(&text.trim().to_ascii_lowercase()) {
        Some(time) => at_clock(day, time)
            .map(DateTimeValue::Local)
            .ok_or_else(expected_forms),
        None => parse_when(text, now),
    }
}

/// Parses the end of something that starts at `start`. A time alone is on the day of the start or, if
/// that is earlier, on the next day; a step is relative to the start. Else as [`parse_when`].
pub fn parse_end_of(text: &str, start: DateTime, now: DateTime) -> Result<DateTimeValue, String> {
    let lower = text.trim().to_ascii_lowercase();
    if let Some(time) = parse_clock(&lower) {
        let day = start.date();
        let end = at_clock(day, time).filter(|end| *end > start);
        let next = || at_clock(day.plus_days(1), time);
        if let Some(end) = end.or_else(next) {
            return Ok(DateTimeValue::Local(end));
        }
    }
    match parse_step(&lower, start) {
        Some(end) => Ok(end),
        None => parse_when(text, now),
    }
}

fn parse_lower(text: &str, now: DateTime) -> Option<DateTimeValue> {
    if text == "now" {
        return Some(DateTimeValue::Local(now));
    }
    if let Some(value) = parse_step(text, now) {
        return Some(value);
    }
    let today = now.date();
    if let Some(time) = parse_clock(text) {
        return Some(DateTimeValue::Local(at_clock(today, time)?));
    }
    if let Some(date) = parse_day(text, today) {
        return Some(DateTimeValue::Date(date));
    }
    let is_date = |date: &str| date.starts_with(|c: char| c.is_ascii_digit());
    let (date, time) = text
        .split_once(' ')
        .or_else(|| text.split_once('t').filter(|(date, _)| is_date(date)))?;
    let time = time.trim();
    let time = time.strip_prefix("at ").unwrap_or(time).trim_start();
    let date = parse_day(date, today)?;
    let (time, is_utc) = match time.strip_suffix('z').filter(|time| ends_with_digit(time)) {
        Some(time) => (time, true),
        None => (time, false),
    };
    // After a day, an hour needs no minutes.
    let hour = || Some((parse_digits(time, 1..=2)?, 0, 0));
    let clock = parse_clock(time).or_else(|| parse_packed(time));
    let time = at_clock(date, clock.or_else(hour)?)?;
    Some(match is_utc {
        true => DateTimeValue::Utc(time),
        false => DateTimeValue::Local(time),
    })
}

fn ends_with_digit(text: &str) -> bool {
    text.ends_with(|c: char| c.is_ascii_digit())
}

fn parse_day(text: &str, today: Date) -> Option<Date> {
    match text {
        "today" => return Some(today),
        "tomorrow" => return Some(today.plus_days(1)),
        "yesterday" => return Some(today.plus_days(-1)),
        _ => {}
    }
    if let Some(weekday) = parse_weekday(text) {
        let ahead = i64::from(weekday.index()) - i64::from(today.weekday().index());
        return Some(today.plus_days(ahead.rem_euclid(7)));
    }
    if let Some(DateTimeValue::Date(date)) = parse_step(text, today.midnight()) {
        return Some(date);
    }
    match text.parse() {
        Ok(DateTimeValue::Date(date)) => Some(date),
        _ => None,
    }
}

/// Parses the name of a weekday or a prefix of it.
pub(super) fn parse_weekday(text: &str) -> Option<Weekday> {
    let known = WEEKDAYS.iter().find(|(name, _)| is_prefix_of(name, text));
    known.map(|(_, weekday)| *weekday)
}

/// Parses the name of a month or a prefix of it, to 1 to 12.
pub(super) fn parse_month(text: &str) -> Option<u8> {
    let mut names = MONTHS.split(' ').zip(1..);
    let found = names.find(|(name, _)| is_prefix_of(name, text));
    found.map(|(_, month)| month)
}

/// Returns the name of a weekday.
pub(super) fn weekday_name(weekday: Weekday) -> &'static str {
    let found = WEEKDAYS.iter().find(|(_, known)| *known == weekday);
    found.map_or("?", |(name, _)| name)
}

/// Returns the name of a month, 1 to 12.
pub(super) fn month_name(month: u32) -> &'static str {
    let mut names = MONTHS.split(' ').zip(1..);
    let found = names.find(|(_, known)| *known == month);
    found.map_or("?", |(name, _)| name)
}

fn is_prefix_of(name: &str, text: &str) -> bool {
    let prefix = name.get(..text.len()).filter(|prefix| prefix.len() >= 3);
    prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(text))
}

/// Parses a step from today or from now.
fn parse_step(text: &str, now: DateTime) -> Option<DateTimeValue> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &rest[..rest.len() - unit.len()];
    let n: i64 = digits.parse().ok()?;
    let n = sign * n.min(10_000_000);
    let today = now.date();
    Some(match unit.trim_start() {
        "d" | "day" | "days" => DateTimeValue::Date(today.plus_days(n)),
        "w" | "week" | "weeks" => DateTimeValue::Date(today.plus_days(n.saturating_mul(7))),
        "mo" | "month" | "months" => DateTimeValue::Date(plus_months(today, n)),
        "y" | "year" | "years" => DateTimeValue::Date(plus_months(today, n.saturating_mul(12))),
        "m" | "min" | "minutes" => DateTimeValue::Local(now.plus_seconds(n.saturating_mul(60))),
        "h" | "hour" | "hours" => DateTimeValue::Local(now.plus_seconds(n.saturating_mul(3_600))),
        _ => return None,
    })
}

/// Adds months to a date; a day past the end of the month becomes its last day.
pub(super) fn plus_months(date: Date, months: i64) -> Date {
    let (year, month, day) = date.ymd();
    let all = i64::from(year) * 12 + i64::from(month) - 1 + months;
    let all = all.clamp(12, 9_999 * 12 + 11);
    let (year, month) = ((all / 12) as i32, (all % 12) as u32 + 1);
    let candidates = (1..=day).rev();
    let mut days = candidates.filter_map(|day| Date::new(year, month, day));
    days.next().unwrap_or(date)
}

/// Hour, minute, second.
type Clock = (u32, u32, u32);

fn at_clock(date: Date, (hour, minute, second): Clock) -> Option<DateTime> {
    date.at(hour, minute, second)
}

fn parse_clock(text: &str) -> Option<Clock> {
    match text {
        "noon" => return Some((12, 0, 0)),
        "midnight" => return Some((0, 0, 0)),
        _ => {}
    }
    let half = ["am", "pm"].into_iter().find(|half| text.ends_with(half));
    let digits = text
        .trim_end_matches("am")
        .trim_end_matches("pm")
        .trim_end();
    let mut parts = digits.split(':').map(|part| parse_digits(part, 1..=2));
    let hour = parts.next()??;
    let minute = parts.next();
    let (minute, second) = match (minute, parts.next(), parts.next()) {
        (None, None, None) if half.is_some() => (0, 0),
        (Some(minute), None, None) => (minute?, 0),
        (Some(minute), Some(second), None) => (minute?, second?),
        _ => return None,
    };
    let hour = match half {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some("pm") => hour % 12 + 12,
        Some(_) => hour % 12,
        None => hour,
    };
    Some((hour, minute, second)).filter(is_clock)
}

fn is_clock(&(hour, minute, second): &Clock) -> bool {
    hour < 24 && minute < 60 && second < 60
}

/// Parses a number of only digits, this many.
pub(super) fn parse_digits<N: FromStr>(text: &str, length: RangeInclusive<usize>) -> Option<N> {
    let is_plain = length.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

/// Parses `HHMM` or `HHMMSS` of iCalendar.
fn parse_packed(text: &str) -> Option<Clock> {
    let part = |at: usize| parse_digits(text.get(at..at + 2)?, 2..=2);
    let second = match text.len() {
        4 => 0,
        6 => part(4)?,
        _ => return None,
    };
    Some((part(0)?, part(2)?, second)).filter(is_clock)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

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
            "9:00 tomorrow",
            "12:00:00:00",
            "é",
            "+é",
        ] {
            assert!(parse_when(text, now()).is_err(), "{text}");
        }
    }

    #[test]
    fn months_have_their_last_day() {
        let last = Date::new(2027, 1, 31).unwrap();
        assert_eq!(plus_months(last, 1).to_string(), "20270228");
        assert_eq!(plus_months(last, 13).to_string(), "20280229");
        assert_eq!(plus_months(last, -2).to_string(), "20261130");
        assert_eq!(plus_months(last, i64::from(i32::MAX)).ymd().0, 9_999);
        assert_eq!(plus_months(last, -1_000_000).ymd().0, 1);
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
            let (name, weekday) = WEEKDAYS[which];
            let Ok(DateTimeValue::Date(found)) = parse_when(name, today.midnight()) else {
                return Err(TestCaseError::fail("no day"));
            };
            prop_assert_eq!(found.weekday(), weekday);
            prop_assert!((0..7).contains(&(found.days() - today.days())));
        }
    }
}
