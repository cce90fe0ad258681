//! Durations in words.
//!
//! ```text
//! duration := ( n unit )+ | H:MM | an RFC 5545 duration: PT1H30M
//! unit     := "w" | "d" | "h" | "m"          or the word: weeks, days, hours, minutes
//! ```

use etui_ical::time::Duration;

use super::clock::parse_digits;
use super::names::parse_number_word;

/// Parses a duration that is not negative.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let lower = text.trim().to_ascii_lowercase();
    parse_lower(&lower)
        .filter(|duration| !duration.is_negative())
        .ok_or_else(|| "not a duration; write 45m, 1h30m, 2h, 3d or 1w".to_owned())
}

fn parse_lower(text: &str) -> Option<Duration> {
    if text.starts_with('p') {
        return text.parse().ok();
    }
    if let Some((hours, minutes)) = text.split_once(':') {
        let minutes = parse_digits(minutes, 2..=2).filter(|minutes| *minutes < 60)?;
        return from_parts(0, parse_digits(hours, 1..=20)?, minutes);
    }
    let (mut days, mut hours, mut minutes) = (0u64, 0u64, 0u64);
    let mut rest = text;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let after_digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let n: u64 = parse_digits(&rest[..rest.len() - after_digits.len()], 1..=20)?;
        let after_digits = after_digits.trim_start();
        let next = after_digits.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let (sum, by) = match &after_digits[..after_digits.len() - next.len()] {
            "w" | "week" | "weeks" => (&mut days, 7),
            "d" | "day" | "days" => (&mut days, 1),
            "h" | "hr" | "hrs" | "hour" | "hours" | "heure" | "heures" => (&mut hours, 1),
            "m" | "min" | "mins" | "minute" | "minutes" => (&mut minutes, 1),
            _ => return None,
        };
        *sum = sum.checked_add(n.checked_mul(by)?)?;
        rest = next.trim_start();
    }
    from_parts(days, hours, minutes)
}

fn from_parts(days: u64, hours: u64, minutes: u64) -> Option<Duration> {
    format!("P{days}DT{hours}H{minutes}M").parse().ok()
}

/// A unit of a distance in time, in minutes, days or months.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    Minutes(i64),
    Days(i64),
    Months(i64),
}

impl TimeUnit {
    /// Returns the unit with this name.
    pub fn named(word: &str) -> Option<Self> {
        Some(match word {
            "d" | "day" | "days" => Self::Days(1),
            "w" | "week" | "weeks" => Self::Days(7),
            "fortnight" | "fortnights" => Self::Days(14),
            "mo" | "month" | "months" => Self::Months(1),
            "y" | "year" | "years" => Self::Months(12),
            "m" | "min" | "mins" | "minute" | "minutes" => Self::Minutes(1),
            "h" | "hour" | "hours" => Self::Minutes(60),
            _ => return None,
        })
    }
}

/// Replaces halves of an hour: `1 hour 1 half` and `1.5 hours` become `90 minutes`.
pub fn with_minutes(text: &str) -> String {
    let half = text
        .strip_suffix(" 1 half")
        .or(text.strip_suffix(" andhalf"));
    let hours = match half {
        Some(text) => text.strip_suffix(" hour").or(text.strip_suffix(" hours")),
        None => text
            .strip_suffix(" hours")
            .and_then(|text| text.strip_suffix(".5")),
    };
    match hours.and_then(|hours| parse_digits::<u32>(hours, 1..=3)) {
        Some(hours) => format!("{} minutes", 60 * hours + 30),
        None => text.to_owned(),
    }
}

/// Joins words, with numbers in figures: `two hours` becomes `2 hours`.
pub fn number_words(words: &[&str]) -> String {
    let words: &[&str] = match words {
        ["one", "halfto", "hour" | "o'clock"] => &["30", "minutes"],
        ["half", "an" | "one", "hour"] | ["half", "hour"] | ["one", "half", "hour"] => {
            &["30", "minutes"]
        }
        ["a", "fortnight"] => &["2", "weeks"],
        ["week"] => &["1", "week"],
        words => words,
    };
    let figures = words.iter().map(|word| match parse_number_word(word) {
        Some(n) => n.to_string(),
        None if *word == "o'clock" && words.len() == 2 => "hours".to_owned(),
        None => (*word).to_owned(),
    });
    let all: Vec<String> = figures.filter(|word| word != "and").collect();
    all.join(" ")
}

/// Formats the absolute value of a duration: `1 hour 30 minutes`.
pub fn describe_duration(duration: Duration) -> String {
    let days = duration.days().unsigned_abs();
    let seconds = duration.seconds().unsigned_abs();
    let mut parts = Vec::new();
    let mut part = |n: u64, unit: &str| match n {
        0 => {}
        1 => parts.push(format!("1 {unit}")),
        n => parts.push(format!("{n} {unit}s")),
    };
    match days.is_multiple_of(7) {
        true => part(days / 7, "week"),
        false => part(days, "day"),
    }
    part(seconds / 3_600, "hour");
    part(seconds / 60 % 60, "minute");
    part(seconds % 60, "second");
    match parts.is_empty() {
        true => "no time".to_owned(),
        false => parts.join(" "),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_parsed_and_described() {
        for (text, written, words) in [
            ("45m", "PT45M", "45 minutes"),
            ("1h30m", "PT1H30M", "1 hour 30 minutes"),
            ("1:30", "PT1H30M", "1 hour 30 minutes"),
            ("90 min", "PT1H30M", "1 hour 30 minutes"),
            ("1 Day 12 hours", "P1DT12H", "1 day 12 hours"),
            ("2w", "P2W", "2 weeks"),
            ("0m", "PT0S", "no time"),
            ("PT10S", "PT10S", "10 seconds"),
        ] {
            let duration = parse_duration(text).unwrap();
            assert_eq!(duration.to_string(), written, "{text}");
            assert_eq!(describe_duration(duration), words, "{text}");
        }
        for text in [
            "",
            "1",
            "m",
            "-1m",
            "1x",
            "1h30",
            "1:5",
            "1:60",
            "-PT1M",
            "99999999999999999999d",
            "1mo",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected(text in "\\PC{0,20}") {
            let _ = parse_duration(&text);
        }

        #[test]
        fn descriptions_are_parsed(days in 0i64..10_000, minutes in 1i64..1_440) {
            let duration: Duration = format!("P{days}DT{minutes}M").parse().unwrap();
            prop_assert_eq!(parse_duration(&describe_duration(duration)), Ok(duration));
        }
    }
}
