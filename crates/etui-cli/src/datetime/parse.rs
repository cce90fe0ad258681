//! A day or a time in words.
//!
//! ```text
//! when  := "now" | clock | day [ ("T" | " " | " at ") ( clock | H[H] ) [ "Z" ] ] | step
//! day   := "today" | "tomorrow" | "yesterday" | weekday | YYYY-MM-DD | YYYYMMDD
//! step  := ("+" | "-") n ( "d" | "w" | "mo" | "y" )      a day, so far from today
//!        | ("+" | "-") n ( "m" | "h" )                   a time, so far from now
//! clock := H[H]:MM[:SS] [ "am" | "pm" ] | H[H] ("am" | "pm") | "noon" | "midnight"
//! ```
//!
//! A weekday is the coming one, today included. A clock alone is today's. Case does not matter.

use etui::calendar::time::{Date, DateTime, DateTimeValue, Weekday};

/// Names of weekdays; any beginning of three letters or more will do.
const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

/// Names of months; any beginning of three letters or more will do.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// What `text` means when a clock shows `now`.
pub fn when(text: &str, now: DateTime) -> Result<DateTimeValue, String> {
    let lower = text.trim().to_ascii_lowercase();
    read(&lower, now).ok_or_else(unclear)
}

fn unclear() -> String {
    "not a day or time; write 2026-12-24, 2026-12-24T18:30, 18:30, today, tomorrow, monday, \
     +3d, or a day and a time: \"tomorrow 9:00\""
        .to_owned()
}

/// What `text` means where a clock alone is of `day`.
pub fn when_on(text: &str, day: Date, now: DateTime) -> Result<DateTimeValue, String> {
    match clock(&text.trim().to_ascii_lowercase()) {
        Some(time) => on(day, time).map(DateTimeValue::Local).ok_or_else(unclear),
        None => when(text, now),
    }
}

/// When something ends that starts at `start`: a clock alone is that day's or, if that is before
/// the start, the next day's; a step is one from the start. All else is as for [`when`].
pub fn ends(text: &str, start: DateTime, now: DateTime) -> Result<DateTimeValue, String> {
    let lower = text.trim().to_ascii_lowercase();
    if let Some(time) = clock(&lower) {
        let day = start.date();
        let end = on(day, time).filter(|end| *end > start);
        let next = || on(day.plus_days(1), time);
        if let Some(end) = end.or_else(next) {
            return Ok(DateTimeValue::Local(end));
        }
    }
    match step(&lower, start) {
        Some(end) => Ok(end),
        None => when(text, now),
    }
}

fn read(text: &str, now: DateTime) -> Option<DateTimeValue> {
    if text == "now" {
        return Some(DateTimeValue::Local(now));
    }
    if let Some(value) = step(text, now) {
        return Some(value);
    }
    let today = now.date();
    if let Some(time) = clock(text) {
        return Some(DateTimeValue::Local(on(today, time)?));
    }
    if let Some(date) = day(text, today) {
        return Some(DateTimeValue::Date(date));
    }
    let (date, time) = text
        .split_once(' ')
        .map(|(date, time)| (date, time.trim()))
        .or_else(|| text.split_once('t').filter(|(date, _)| is_iso(date)))?;
    let time = time.strip_prefix("at ").unwrap_or(time).trim_start();
    let date = day(date, today)?;
    // Behind a day an hour is one also without minutes.
    let hour = |time| {
        number(time)
            .filter(|hour| *hour < 24)
            .map(|hour| (hour, 0, 0))
    };
    let read = |time| clock(time).or_else(|| packed(time)).or_else(|| hour(time));
    match time.strip_suffix('z').filter(|_| is_digit_end(time)) {
        Some(time) => Some(DateTimeValue::Utc(on(date, read(time)?)?)),
        None => Some(DateTimeValue::Local(on(date, read(time)?)?)),
    }
}

/// Whether a digit stands before the last letter.
fn is_digit_end(text: &str) -> bool {
    text.bytes()
        .rev()
        .nth(1)
        .is_some_and(|b| b.is_ascii_digit())
}

fn is_iso(date: &str) -> bool {
    date.starts_with(|c: char| c.is_ascii_digit())
}

fn day(text: &str, today: Date) -> Option<Date> {
    match text {
        "today" => return Some(today),
        "tomorrow" => return Some(today.plus_days(1)),
        "yesterday" => return Some(today.plus_days(-1)),
        _ => {}
    }
    if let Some(weekday) = weekday(text) {
        let ahead = i64::from(weekday.index()) - i64::from(today.weekday().index());
        return Some(today.plus_days(ahead.rem_euclid(7)));
    }
    if let Some(DateTimeValue::Date(date)) = step(text, today.midnight()) {
        return Some(date);
    }
    if !is_iso(text) {
        return None;
    }
    match text.parse() {
        Ok(DateTimeValue::Date(date)) => Some(date),
        _ => None,
    }
}

/// The weekday of this name or of its beginning.
pub(super) fn weekday(text: &str) -> Option<Weekday> {
    let known = WEEKDAYS.iter().find(|(name, _)| begins(name, text));
    known.map(|(_, weekday)| *weekday)
}

/// The month of this name or of its beginning, 1 to 12.
pub(super) fn month(text: &str) -> Option<u8> {
    let place = MONTHS.iter().position(|name| begins(name, text))?;
    u8::try_from(place + 1).ok()
}

/// The name of a weekday.
pub(super) fn name_of_weekday(weekday: Weekday) -> &'static str {
    match weekday {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    }
}

/// The name of a month, 1 to 12.
pub(super) fn name_of_month(month: u32) -> &'static str {
    const NAMES: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let at = usize::try_from(month).unwrap_or(0).wrapping_sub(1);
    NAMES.get(at).copied().unwrap_or("?")
}

fn begins(name: &str, text: &str) -> bool {
    text.len() >= 3 && name.starts_with(text)
}

/// A step from today or from now.
fn step(text: &str, now: DateTime) -> Option<DateTimeValue> {
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

/// The same day of another month, or that month's last.
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

fn on(date: Date, (hour, minute, second): Clock) -> Option<DateTime> {
    date.at(hour, minute, second)
}

fn clock(text: &str) -> Option<Clock> {
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
    let mut parts = digits.split(':').map(number);
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
    (hour < 24 && minute < 60 && second < 60).then_some((hour, minute, second))
}

/// One or two digits.
fn number(text: &str) -> Option<u32> {
    let plain = matches!(text.len(), 1 | 2) && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// `HHMM` or `HHMMSS`, as iCalendar writes it.
fn packed(text: &str) -> Option<Clock> {
    if !matches!(text.len(), 4 | 6) || !text.is_ascii() {
        return None;
    }
    let part = |at: usize| text.get(at..at + 2).and_then(number);
    let second = if text.len() == 6 { part(4)? } else { 0 };
    let time = (part(0)?, part(2)?, second);
    (time.0 < 24 && time.1 < 60 && time.2 < 60).then_some(time)
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
    fn is(text: &str, expected: &str) {
        let value = when(text, now()).unwrap();
        assert_eq!(value.to_string(), expected, "{text}");
    }

    #[test]
    fn days() {
        is("today", "20261121");
        is("Tomorrow", "20261122");
        is("yesterday", "20261120");
        is("saturday", "20261121");
        is("sun", "20261122");
        is("Friday", "20261127");
        is("2026-12-24", "20261224");
        is("20261224", "20261224");
        is("+3d", "20261124");
        is("-3d", "20261118");
        is("+2w", "20261205");
        is("+1 week", "20261128");
        is("+3mo", "20270221");
        is("+1y", "20271121");
    }

    #[test]
    fn times() {
        is("now", "20261121T140530");
        is("18:30", "20261121T183000");
        is("9:05", "20261121T090500");
        is("9am", "20261121T090000");
        is("12:30 am", "20261121T003000");
        is("12 pm", "20261121T120000");
        is("noon", "20261121T120000");
        is("tomorrow 9:00", "20261122T090000");
        is("tomorrow at 7pm", "20261122T190000");
        is("tomorrow at 8", "20261122T080000");
        is("mon 18", "20261123T180000");
        is("mon 10:15", "20261123T101500");
        is("2026-12-24 18:30", "20261224T183000");
        is("2026-12-24T18:30", "20261224T183000");
        is("2026-12-24t18:30:15", "20261224T183015");
        is("2026-12-24T18:30Z", "20261224T183000Z");
        is("20261224T183000Z", "20261224T183000Z");
        is("20261224T1830", "20261224T183000");
        is("+90m", "20261121T153530");
        is("+2h", "20261121T160530");
        is("+3d 8:00", "20261124T080000");
    }

    #[test]
    fn a_clock_alone_is_of_a_day() {
        let day = Date::new(2026, 11, 2).unwrap();
        let on_day = |text| when_on(text, day, now()).unwrap().to_string();
        assert_eq!(on_day("9:15"), "20261102T091500");
        assert_eq!(on_day("Noon"), "20261102T120000");
        assert_eq!(on_day("tomorrow 9:15"), "20261122T091500");
        assert!(when_on("soon", day, now()).is_err());
    }

    #[test]
    fn what_is_neither() {
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
            assert!(when(text, now()).is_err(), "{text}");
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
        fn any_text_is_read_or_refused(text in "\\PC{0,30}") {
            let _ = when(&text, now());
        }

        #[test]
        fn shapes_alike_are_read_or_refused(
            text in "[+-]?[0-9]{0,9} ?(d|w|mo|m|h|mon|t|z|:|am|pm| |-|today){0,6}[0-9:]{0,8}z?"
        ) {
            let _ = when(&text, now());
        }

        #[test]
        fn every_day_and_time_is_read_as_it_is_written(
            days in Date::MIN.days()..=Date::MAX.days(),
            seconds in 0u32..86_400,
        ) {
            let date = Date::from_days(days.into());
            let (year, month, day) = date.ymd();
            let text = format!("{year:04}-{month:02}-{day:02}");
            prop_assert_eq!(when(&text, now()), Ok(DateTimeValue::Date(date)));
            let (h, m, s) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
            let time = date.at(h, m, s).unwrap();
            let with_time = format!("{text} {h}:{m:02}:{s:02}");
            prop_assert_eq!(when(&with_time, now()), Ok(DateTimeValue::Local(time)));
            let utc = format!("{text}T{h:02}:{m:02}:{s:02}Z");
            prop_assert_eq!(when(&utc, now()), Ok(DateTimeValue::Utc(time)));
        }

        #[test]
        fn a_weekday_is_within_the_next_seven_days(from in 0i64..20_000, which in 0usize..7) {
            let today = Date::from_days(from);
            let (name, weekday) = WEEKDAYS[which];
            let Ok(DateTimeValue::Date(found)) = when(name, today.midnight()) else {
                return Err(TestCaseError::fail("no day"));
            };
            prop_assert_eq!(found.weekday(), weekday);
            prop_assert!((0..7).contains(&(found.days() - today.days())));
        }
    }
}
