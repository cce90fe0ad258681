//! [`DateTimeValue`]: a date or time as written. [`CalendarTime`]: a date or time with its time
//! zone.

use std::fmt;
use std::str::FromStr;

use super::{Date, DateTime, TimeZone, Timestamp};

/// The error for text that is not a date, time or duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no {expected}")]
pub struct TimeError {
    /// The text, or the start of a long one.
    pub text: String,
    /// The expected format.
    pub expected: &'static str,
}

impl TimeError {
    fn new(text: &str, expected: &'static str) -> Self {
        let text = text.chars().take(40).collect();
        Self { text, expected }
    }

    pub(super) fn not_a_duration(text: &str) -> Self {
        Self::new(text, "duration: write P1D or PT1H30M")
    }
}

/// A date or time as written, without its `TZID`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DateTimeValue {
    /// A day: `19970714`.
    Date(Date),
    /// A local time: `19970714T133000`.
    Local(DateTime),
    /// A time in UTC: `19970714T133000Z`.
    Utc(DateTime),
}

impl DateTimeValue {
    /// Returns the local time as written; a date is its midnight.
    pub fn local(self) -> DateTime {
        match self {
            Self::Date(date) => date.midnight(),
            Self::Local(time) | Self::Utc(time) => time,
        }
    }

    /// Returns the time in `zone`; floating without one.
    pub fn in_zone(self, zone: Option<&TimeZone>) -> CalendarTime {
        match (self, zone) {
            (Self::Date(date), _) => CalendarTime::Date(date),
            (Self::Utc(time), _) => CalendarTime::Utc(TimeZone::UTC.to_utc(time)),
            (Self::Local(time), Some(zone)) => CalendarTime::Zoned(time, zone.clone()),
            (Self::Local(time), None) => CalendarTime::Floating(time),
        }
    }
}

impl FromStr for DateTimeValue {
    type Err = TimeError;

    /// Parses RFC 5545 and, beyond it, what some programs write: lower case, the separators `-` and `:`, a
    /// blank for the `T`, an offset from UTC, a time without seconds or with a fraction of them, which is cut
    /// off, and `24:00:00`, which is the midnight after it.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        parse_value(text.trim().as_bytes())
            .ok_or_else(|| TimeError::new(text, "date or time: write 19970714 or 19970714T133000"))
    }
}

fn parse_value(mut text: &[u8]) -> Option<DateTimeValue> {
    let [y1, y2, month, day] = take_pairs(&mut text, b'-')?;
    let date = Date::new((y1 * 100 + y2) as i32, month, day)?;
    let (text, offset) = split_offset(text)?;
    let (time, utc) = match text {
        [] => return Some(DateTimeValue::Date(date)),
        [b'T' | b't' | b' ', time @ .., b'Z' | b'z'] => (time, true),
        [b'T' | b't' | b' ', time @ ..] => (time, false),
        _ => return None,
    };
    let local = parse_clock(date, time.trim_ascii())?;
    Some(match (utc, offset) {
        (_, Some(offset)) => DateTimeValue::Utc(local.plus_seconds(-offset)),
        (true, None) => DateTimeValue::Utc(local),
        (false, None) => DateTimeValue::Local(local),
    })
}

/// Parses `HHMMSS`, `HHMM`, `HHMMSS.123` or `240000` on a day.
fn parse_clock(date: Date, text: &[u8]) -> Option<DateTime> {
    let (mut time, fraction) = match text.iter().position(|b| matches!(b, b'.' | b',')) {
        Some(point) => (text.get(..point)?, text.get(point + 1..)?),
        None => (text, &b"0"[..]),
    };
    if fraction.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let [hour, minute] = take_pairs(&mut time, b':')?;
    // A fraction is one of seconds.
    let second = match time {
        [] if text.len() <= 5 => 0,
        _ => {
            let [second] = take_pairs(&mut time, b':')?;
            second
        }
    };
    if !time.is_empty() {
        return None;
    }
    match (hour, minute, second) {
        (24, 0, 0) => Some(date.plus_days(1).midnight()),
        _ => date.at(hour, minute, second),
    }
}

/// Splits an offset from UTC from a time, in seconds: `+0200`, `-05:30`. RFC 5545 has none; programs
/// write it. `None` if it is no offset.
fn split_offset(text: &[u8]) -> Option<(&[u8], Option<i64>)> {
    let Some(at) = text.iter().position(|b| matches!(b, b'+' | b'-')) else {
        return Some((text, None));
    };
    let (time, offset) = text.split_at(at);
    let (sign, mut digits) = offset.split_first()?;
    if time.len() < 2 || !matches!(digits.len(), 4 | 5) {
        return Some((text, None));
    }
    let [hours, minutes] = take_pairs(&mut digits, b':')?;
    let seconds = i64::from(hours * 3_600 + minutes * 60);
    // No zone is more than 14 hours from UTC.
    let is_offset = digits.is_empty() && hours <= 14 && minutes < 60 && time.last() != Some(&b'Z');
    is_offset.then_some((time, Some(if *sign == b'-' { -seconds } else { seconds })))
}

/// Takes `N` numbers of two digits each, and the separators around them.
fn take_pairs<const N: usize>(text: &mut &[u8], separator: u8) -> Option<[u32; N]> {
    let skip_separators = |text: &mut &[u8]| {
        while let Some(rest) = text.strip_prefix(&[separator]) {
            *text = rest;
        }
    };
    let mut numbers = [0; N];
    for number in &mut numbers {
        for _ in 0..2 {
            skip_separators(text);
            let (digit, rest) = text.split_first()?;
            *number = *number * 10 + char::from(*digit).to_digit(10)?;
            *text = rest;
        }
    }
    skip_separators(text);
    Some(numbers)
}

impl fmt::Display for DateTimeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Date(date) => date.fmt(f),
            Self::Local(time) => time.fmt(f),
            Self::Utc(time) => write!(f, "{time}Z"),
        }
    }
}

/// The value of a date or time property: a date, or a time with its time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CalendarTime {
    /// A whole day, in whichever time zone it is displayed.
    Date(Date),
    /// A local time, in whichever time zone it is displayed.
    Floating(DateTime),
    /// A local time in a time zone.
    Zoned(DateTime, TimeZone),
    /// An instant.
    Utc(Timestamp),
}

impl CalendarTime {
    /// Returns the local time: UTC for an instant, midnight for a date.
    pub fn local(&self) -> DateTime {
        match self {
            Self::Date(date) => date.midnight(),
            Self::Floating(time) | Self::Zoned(time, _) => *time,
            Self::Utc(time) => time.utc(),
        }
    }

    /// Returns the instant. Dates and floating times are resolved in `display_zone`.
    pub fn at(&self, display_zone: &TimeZone) -> Timestamp {
        match self {
            Self::Date(date) => display_zone.to_utc(date.midnight()),
            Self::Floating(time) => display_zone.to_utc(*time),
            Self::Zoned(time, zone) => zone.to_utc(*time),
            Self::Utc(time) => *time,
        }
    }

    /// Returns the time zone: none for dates and floating times.
    pub fn zone(&self) -> Option<&TimeZone> {
        match self {
            Self::Date(_) | Self::Floating(_) => None,
            Self::Zoned(_, zone) => Some(zone),
            Self::Utc(_) => Some(&TimeZone::UTC),
        }
    }

    /// Returns true for a whole day.
    pub fn is_date(&self) -> bool {
        matches!(self, Self::Date(_))
    }

    /// Returns the value as written, without its `TZID`.
    pub fn value(&self) -> DateTimeValue {
        match self {
            Self::Date(date) => DateTimeValue::Date(*date),
            Self::Floating(time) | Self::Zoned(time, _) => DateTimeValue::Local(*time),
            Self::Utc(time) => DateTimeValue::Utc(time.utc()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_three_forms_and_their_variants_are_parsed() {
        for (text, written) in [
            ("19970714", "19970714"),
            ("19970714T133000", "19970714T133000"),
            ("19970714T133000Z", "19970714T133000Z"),
            ("1997-07-14T13:30:00z", "19970714T133000Z"),
            (" 1997-07-14 ", "19970714"),
            ("19970630T235960Z", "19970630T235959Z"),
            ("19970714T133000+0200", "19970714T113000Z"),
            ("1997-07-14T01:30:00+05:30", "19970713T200000Z"),
            ("19970714T233000-0100", "19970715T003000Z"),
            ("19970714T1330", "19970714T133000"),
            ("19970714T1330Z", "19970714T133000Z"),
            ("1997-07-14T13:30", "19970714T133000"),
            ("1997-07-14 13:30:05", "19970714T133005"),
            ("19970714T133000.123Z", "19970714T133000Z"),
            ("1997-07-14T13:30:00.000000", "19970714T133000"),
            ("19970714T133000,5+0200", "19970714T113000Z"),
            ("19970714T133000 Z", "19970714T133000Z"),
            ("19970714T240000", "19970715T000000"),
            ("19971231T24:00", "19980101T000000"),
            ("19970714T2400Z", "19970715T000000Z"),
        ] {
            assert_eq!(text.parse::<DateTimeValue>().unwrap().to_string(), written);
        }
        for text in [
            "",
            "1997",
            "19970732",
            "19971301",
            "00000101",
            "19970714T",
            "19970714T13",
            "19970714T13300",
            "19970714T1330.5",
            "19970714T133000.",
            "19970714T133000.5x",
            "19970714T240001",
            "19970714T2430",
            "19970714T250000",
            "19970714T133000ZZ",
            "19970714Z",
            "19970714T133000+2500",
            "19970714T133000Z+0200",
            "19970714+0200",
            "ä",
        ] {
            assert!(text.parse::<DateTimeValue>().is_err(), "{text}");
        }
    }
}
