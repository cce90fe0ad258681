//! Times of day in words: `9:30pm`, `14h30`, `noon`.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// Hour, minute, second.
pub type Clock = (u32, u32, u32);

/// Parses a time of day, not an hour alone.
pub fn parse_clock(text: &str) -> Option<Clock> {
    match text {
        "noon" | "midday" => return Some((12, 0, 0)),
        "midnight" => return Some((0, 0, 0)),
        _ => {}
    }
    let (text, half) = split_half(text);
    let (separator, has_unit) = match text.contains(':') {
        true => (':', false),
        false if text.contains('h') && half.is_none() => ('h', true),
        // 9.30pm, but not 9.30, which may be a day.
        false => ('.', false),
    };
    let mut parts = text.split(separator);
    let hour = parse_digits(parts.next()?, 1..=2)?;
    let minute_or_second = |part| match separator {
        ':' => parse_digits(part, 1..=2),
        _ => parse_digits(part, 2..=2),
    };
    let (minute, second) = match (parts.next(), parts.next(), parts.next()) {
        (None, ..) if half.is_some() => (0, 0),
        (Some(""), None, _) if has_unit => (0, 0),
        (Some(minute), None, _) if separator != '.' || half.is_some() => {
            (minute_or_second(minute)?, 0)
        }
        (Some(minute), Some(second), None) if separator == ':' => {
            (minute_or_second(minute)?, minute_or_second(second)?)
        }
        _ => return None,
    };
    let hour = match half {
        Some(half) => half.hour(hour)?,
        None => hour,
    };
    Some((hour, minute, second)).filter(is_clock)
}

/// A half of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayHalf {
    Am,
    Pm,
}

impl DayHalf {
    /// Returns the hour of the day of an hour on a clock of twelve hours.
    pub fn hour(self, hour: u32) -> Option<u32> {
        let hour = (1..=12).contains(&hour).then_some(hour % 12)?;
        Some(match self {
            Self::Am => hour,
            Self::Pm => hour + 12,
        })
    }

    pub fn other(self) -> Self {
        match self {
            Self::Am => Self::Pm,
            Self::Pm => Self::Am,
        }
    }
}

/// Splits `am` or `pm` from the end.
pub fn split_half(text: &str) -> (&str, Option<DayHalf>) {
    let halves = [
        ("am", DayHalf::Am),
        ("a.m.", DayHalf::Am),
        ("pm", DayHalf::Pm),
        ("p.m.", DayHalf::Pm),
    ];
    let found = halves
        .iter()
        .find_map(|(name, half)| Some((text.strip_suffix(name)?.trim_end(), Some(*half))));
    found.unwrap_or((text, None))
}

fn is_clock(&(hour, minute, second): &Clock) -> bool {
    hour < 24 && minute < 60 && second < 60
}

/// Parses a number of only digits, this many.
pub fn parse_digits<N: FromStr>(text: &str, length: RangeInclusive<usize>) -> Option<N> {
    let is_plain = length.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

/// Parses `HHMM` or `HHMMSS` of iCalendar.
pub fn parse_packed(text: &str) -> Option<Clock> {
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
    use super::*;

    #[test]
    fn clocks() {
        for (text, clock) in [
            ("9:05", (9, 5, 0)),
            ("18:30:15", (18, 30, 15)),
            ("9am", (9, 0, 0)),
            ("12am", (0, 0, 0)),
            ("12:30pm", (12, 30, 0)),
            ("9.30p.m.", (21, 30, 0)),
            ("14h", (14, 0, 0)),
            ("14h30", (14, 30, 0)),
            ("noon", (12, 0, 0)),
        ] {
            assert_eq!(parse_clock(text), Some(clock), "{text}");
        }
        for text in [
            "9", "9.30", "24:00", "9:60", "13pm", "0am", "9h5", "h", "am", "",
        ] {
            assert_eq!(parse_clock(text), None, "{text}");
        }
    }
}
