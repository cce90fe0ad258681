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
    #[must_use]
    pub fn local(self) -> DateTime {
        match self {
            Self::Date(date) => date.midnight(),
            Self::Local(time) | Self::Utc(time) => time,
        }
    }

    /// Returns the time in `zone`; floating without one.
    #[must_use]
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

    /// Parses RFC 5545 and, beyond it, lower case and the separators `-` and `:`, which some
    /// programs write.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        parse_value(text.trim())
            .ok_or_else(|| TimeError::new(text, "date or time: write 19970714 or 19970714T133000"))
    }
}

fn parse_value(text: &str) -> Option<DateTimeValue> {
    parse_strict(text.as_bytes()).or_else(|| parse_lenient(text))
}

/// Parses the format of RFC 5545, which nearly all files use.
fn parse_strict(text: &[u8]) -> Option<DateTimeValue> {
    let (date, time) = text.split_first_chunk::<8>()?;
    let [y1, y2, month, day] = parse_digits(*date)?;
    let date = Date::new((y1 * 100 + y2) as i32, month, day)?;
    let (time, utc) = match time {
        [] => return Some(DateTimeValue::Date(date)),
        [b'T', time @ .., b'Z'] => (time, true),
        [b'T', time @ ..] => (time, false),
        _ => return None,
    };
    let [hour, minute, second] = parse_digits(<[u8; 6]>::try_from(time).ok()?)?;
    let time = date.at(hour, minute, second)?;
    Some(if utc {
        DateTimeValue::Utc(time)
    } else {
        DateTimeValue::Local(time)
    })
}

/// Parses numbers of two digits each.
fn parse_digits<const N: usize, const M: usize>(text: [u8; M]) -> Option<[u32; N]> {
    let mut numbers = [0; N];
    for (number, pair) in numbers.iter_mut().zip(text.as_chunks::<2>().0) {
        let [tens, ones] = pair.map(|digit| u32::from(digit.wrapping_sub(b'0')));
        if tens > 9 || ones > 9 {
            return None;
        }
        *number = 10 * tens + ones;
    }
    Some(numbers)
}

fn parse_lenient(text: &str) -> Option<DateTimeValue> {
    let (date, time) = match text.split_once(['T', 't']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let [y1, y2, month, day] = parse_pairs(date, '-')?;
    let date = Date::new((y1 * 100 + y2) as i32, month, day)?;
    let Some(time) = time else {
        return Some(DateTimeValue::Date(date));
    };
    let (time, utc) = match time.strip_suffix(['Z', 'z']) {
        Some(time) => (time, true),
        None => (time, false),
    };
    let [hour, minute, second] = parse_pairs(time, ':')?;
    let time = date.at(hour, minute, second)?;
    Some(if utc {
        DateTimeValue::Utc(time)
    } else {
        DateTimeValue::Local(time)
    })
}

/// Parses exactly `N` numbers of two digits, with optional `between` characters.
fn parse_pairs<const N: usize>(text: &str, between: char) -> Option<[u32; N]> {
    let mut numbers = [0; N];
    let mut digits = text.bytes().filter(|b| *b != between as u8);
    for number in &mut numbers {
        for _ in 0..2 {
            let digit = digits.next().filter(u8::is_ascii_digit)?;
            *number = *number * 10 + u32::from(digit - b'0');
        }
    }
    digits.next().is_none().then_some(numbers)
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
    #[must_use]
    pub fn local(&self) -> DateTime {
        match self {
            Self::Date(date) => date.midnight(),
            Self::Floating(time) | Self::Zoned(time, _) => *time,
            Self::Utc(time) => time.utc(),
        }
    }

    /// Returns the instant. Dates and floating times are resolved in `display_zone`.
    #[must_use]
    pub fn at(&self, display_zone: &TimeZone) -> Timestamp {
        match self {
            Self::Date(date) => display_zone.to_utc(date.midnight()),
            Self::Floating(time) => display_zone.to_utc(*time),
            Self::Zoned(time, zone) => zone.to_utc(*time),
            Self::Utc(time) => *time,
        }
    }

    /// Returns the time zone: none for dates and floating times.
    #[must_use]
    pub fn zone(&self) -> Option<&TimeZone> {
        match self {
            Self::Date(_) | Self::Floating(_) => None,
            Self::Zoned(_, zone) => Some(zone),
            Self::Utc(_) => Some(&TimeZone::UTC),
        }
    }

    /// Returns true for a whole day.
    #[must_use]
    pub fn is_date(&self) -> bool {
        matches!(self, Self::Date(_))
    }

    /// Returns the value as written, without its `TZID`.
    #[must_use]
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
            "19970714T1330",
            "19970714T250000",
            "19970714T133000ZZ",
            "19970714Z",
            "19970714T133000+0200",
            "ä",
        ] {
            assert!(text.parse::<DateTimeValue>().is_err(), "{text}");
        }
    }
}
