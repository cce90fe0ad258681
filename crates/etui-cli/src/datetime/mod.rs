//! Times as people type them and as people read them. Pure: what "now" is, is told.
//!
//! - `words`: `tomorrow 9:00`, `+3d`, `monday` become a day or a time;
//! - `span`: `week`, `2026-12`, `--from` and `--to` become the days from one to another;
//! - `length`: `1h30m` becomes a duration, and durations words;
//! - `repeat`: `every 2 weeks on mon, thu` becomes a rule;
//! - `rule`: rules become such words again;
//! - `show`: days and times as they are shown.

mod duration;
mod format;
mod parse;
mod parse_rule;
mod rule_text;
mod span;

pub use duration::{length, spoken as spoken_length};
pub use format::{clock, day, iso, iso_day, iso_instant, long_day, range, short};
pub use parse::{ends, when, when_on};
pub use parse_rule::repeat;
pub use rule_text::{is_end_of_day, spoken as spoken_rule};
pub use span::{Span, Words as SpanWords};

use etui::calendar::time::{DateTime, DateTimeValue, TimeZone, Timestamp};
use etui::calendar::zones::TimeZoneResolver;

/// Where and when somebody asks.
#[derive(Debug, Clone)]
pub struct LocalNow {
    /// The zone whose clock is looked at.
    pub zone: TimeZone,
    /// What it shows.
    pub now: DateTime,
}

impl LocalNow {
    /// Now, in this zone.
    pub fn now(zone: TimeZone) -> Self {
        let now = zone.to_local(Timestamp::from(std::time::SystemTime::now()));
        Self { zone, now }
    }
}

/// The instant that a day or time means in a zone; of a day its beginning.
pub fn instant(value: DateTimeValue, zone: &TimeZone) -> Timestamp {
    match value {
        DateTimeValue::Utc(time) => TimeZone::UTC.to_utc(time),
        value => zone.to_utc(value.local()),
    }
}

/// The zone of a name, as `--zone` takes it.
pub fn zone(name: &str) -> Result<TimeZone, String> {
    TimeZoneResolver::new().resolve(name.trim()).ok_or_else(|| {
        "there is no such time zone; they are named like Europe/Berlin, or UTC".to_owned()
    })
}
