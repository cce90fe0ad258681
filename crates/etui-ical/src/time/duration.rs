//! [`Duration`]: nominal days and exact seconds (RFC 5545 section 3.3.6).

use std::fmt;
use std::str::FromStr;

use super::civil::DAY;
use super::value::TimeError;

/// More seconds than between any two times.
const MAX_SECONDS: i64 = 400_000_000_000;

/// A duration. Days are nominal: across a clock change a day has 23 or 25 hours. Hours, minutes and
/// seconds are exact.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Duration {
    /// Days, with weeks as 7 days; negative for backwards.
    days: i64,
    /// Seconds in addition to the days, with the same sign.
    seconds: i64,
}

impl Duration {
    /// The empty duration.
    pub const ZERO: Duration = Duration {
        days: 0,
        seconds: 0,
    };

    /// Returns a duration of calendar days, clamped to about 12,000 years.
    pub fn from_days(days: i64) -> Self {
        Self {
            days: days.clamp(-MAX_SECONDS / DAY, MAX_SECONDS / DAY),
            seconds: 0,
        }
    }

    /// Returns a duration of exact seconds, clamped to about 12,000 years.
    pub fn from_seconds(seconds: i64) -> Self {
        Self {
            days: 0,
            seconds: seconds.clamp(-MAX_SECONDS, MAX_SECONDS),
        }
    }

    /// Returns the nominal days.
    pub fn days(self) -> i64 {
        self.days
    }

    /// Returns the exact seconds in addition to the days.
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// Returns the length in seconds if every day had 24 hours.
    pub fn nominal_seconds(self) -> i64 {
        self.days * DAY + self.seconds
    }

    /// Returns true if the duration goes backwards.
    pub fn is_negative(self) -> bool {
        self.days < 0 || self.seconds < 0
    }
}

impl FromStr for Duration {
    type Err = TimeError;

    /// Parses `P15DT5H0M20S`, `P7W` or `-PT15M`. Beyond RFC 5545, lower case and weeks beside other
    /// parts are accepted.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        parse_duration(text.trim()).ok_or_else(|| TimeError::not_a_duration(text))
    }
}

fn parse_duration(text: &str) -> Option<Duration> {
    let (back, rest) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let rest = rest.strip_prefix(['P', 'p'])?;
    let (mut days, mut seconds, mut number) = (0i64, 0i64, None::<i64>);
    let (mut in_time, mut parts) = (false, 0);
    for c in rest.chars() {
        if let Some(digit) = c.to_digit(10) {
            let so_far = number.unwrap_or(0).checked_mul(10)?;
            number = Some(so_far.checked_add(digit.into())?);
            continue;
        }
        let c = c.to_ascii_uppercase();
        if c == 'T' && number.is_none() && !in_time {
            in_time = true;
            continue;
        }
        let n = number.take()?;
        parts += 1;
        let (sum, unit) = match (c, in_time) {
            ('W', false) => (&mut days, 7),
            ('D', false) => (&mut days, 1),
            ('H', true) => (&mut seconds, 3_600),
            ('M', true) => (&mut seconds, 60),
            ('S', true) => (&mut seconds, 1),
            _ => return None,
        };
        *sum = sum.checked_add(n.checked_mul(unit)?)?;
    }
    if number.is_some() || parts == 0 || days > MAX_SECONDS / DAY || seconds > MAX_SECONDS {
        return None;
    }
    let sign = if back { -1 } else { 1 };
    Some(Duration {
        days: days * sign,
        seconds: seconds * sign,
    })
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_negative() {
            f.write_str("-")?;
        }
        let (days, seconds) = (self.days.unsigned_abs(), self.seconds.unsigned_abs());
        f.write_str("P")?;
        if days > 0 && days.is_multiple_of(7) && seconds == 0 {
            return write!(f, "{}W", days / 7);
        }
        if days > 0 {
            write!(f, "{days}D")?;
        }
        if seconds == 0 {
            return f.write_str(if days == 0 { "T0S" } else { "" });
        }
        f.write_str("T")?;
        for (n, unit) in [
            (seconds / 3_600, "H"),
            (seconds / 60 % 60, "M"),
            (seconds % 60, "S"),
        ] {
            if n > 0 {
                write!(f, "{n}{unit}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn read_and_written() {
        for (text, days, seconds, written) in [
            ("P15DT5H0M20S", 15, 18_020, "P15DT5H20S"),
            ("P7W", 49, 0, "P7W"),
            ("-PT15M", 0, -900, "-PT15M"),
            ("+P1D", 1, 0, "P1D"),
            ("pt1h", 0, 3_600, "PT1H"),
            ("PT0S", 0, 0, "PT0S"),
            ("P0D", 0, 0, "PT0S"),
            ("-P1DT12H", -1, -43_200, "-P1DT12H"),
        ] {
            let read: Duration = text.parse().unwrap();
            assert_eq!((read.days(), read.seconds()), (days, seconds), "{text}");
            assert_eq!(read.to_string(), written);
            assert_eq!(written.parse::<Duration>().unwrap(), read);
        }
        for text in [
            "",
            "P",
            "PT",
            "1D",
            "P1",
            "P1H",
            "PT1D",
            "P1DT1",
            "P99999999999999999999D",
            "PTT1S",
        ] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }
}
