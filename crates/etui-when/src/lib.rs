//! Parses and formats dates, times, durations and recurrence rules. The current time is an argument.
//!
//! - `parse`: `tomorrow 9:00`, `+3d`, `monday` to a day or a time
//! - `when_parser`, `reading`, `zone_words`: the words of a time, and what they mean together
//! - `dates`: `24.12.`, `24 December` to a date
//! - `clock`: `9:30pm`, `14h30` to a time of day
//! - `names`: names of weekdays and months
//! - `words`: the words of a text
//! - `language`: words of other languages to English ones
//! - `leftover`: words of a title that were meant as a time
//! - `week`: the first day and the number of a week
//! - `reference`: the time from which the words of a text count
//! - `span`: `week`, `2026-12`, `--from` and `--to` to a period
//! - `duration`: `1h30m` to a duration and back
//! - `parse_rule`: `every 2 weeks on mon, thu` to a recurrence rule
//! - `phrase`: `Lunch tomorrow 12:30` to a title, a time and a rule
//! - `rule_text`: a recurrence rule to such words
//! - `format`: days and times for output

mod clock;
mod dates;
mod duration;
mod format;
mod language;
mod leftover;
mod names;
mod parse;
mod parse_rule;
#[cfg(test)]
mod parse_tests;
mod phrase;
mod reading;
mod reference;
mod rule_text;
mod span;
mod week;
mod when_parser;
mod words;
mod zone_words;

pub use dates::{describe_missing_day, parse_any_day, plus_months};
pub use duration::{describe_duration, parse_duration};
pub use format::{
    format_clock, format_day, format_long_day, format_minute, format_range, format_short, iso_day,
    iso_instant, iso_time,
};
pub use names::{month_name, weekday_name};
pub use parse::{EndWords, TimeWords, parse_end_of, parse_times_on, parse_when, parse_when_on};
pub use parse_rule::parse_recurrence;
pub use phrase::{Phrase, PhraseError, parse_phrase};
pub use reference::{reference_of_entry, reference_time};
pub use rule_text::{describe_rule, is_end_of_day};
pub use span::{SpanWords, TimeSpan};
pub use week::{first_weekday, start_of_week, week_number};

use etui_ical::time::{DateTime, DateTimeValue, TimeZone, Timestamp};
use etui_ical::zones::TimeZoneResolver;

/// The current time in the display zone.
#[derive(Debug, Clone)]
pub struct LocalNow {
    /// The display zone.
    pub zone: TimeZone,
    /// The local time.
    pub now: DateTime,
}

impl LocalNow {
    /// Returns the time of the system's clock in a zone.
    pub fn in_zone(zone: TimeZone) -> Self {
        let now = zone.to_local(Timestamp::from(std::time::SystemTime::now()));
        Self { zone, now }
    }

    /// Returns the local time of a day or time.
    pub fn local_of(&self, value: DateTimeValue) -> DateTime {
        self.zone.to_local(to_instant(value, &self.zone))
    }
}

/// Converts a day or time in a zone to an instant. A day is its first instant.
pub fn to_instant(value: DateTimeValue, zone: &TimeZone) -> Timestamp {
    match value {
        DateTimeValue::Utc(time) => TimeZone::UTC.to_utc(time),
        value => zone.to_utc(value.local()),
    }
}

/// Parses the value of `--zone`.
pub fn parse_zone(name: &str) -> Result<TimeZone, String> {
    TimeZoneResolver::new()
        .resolve(name.trim())
        .ok_or_else(|| "unknown time zone; use a name like Europe/Berlin, or UTC".to_owned())
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
