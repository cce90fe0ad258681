//! Dates, local times, instants, durations and zones (RFC 5545 §3.3.4 to §3.3.6, §3.3.14).
//!
//! ```
//! use etui_ical::time::{DateTime, TimeZone};
//!
//! let berlin = TimeZone::named("Europe/Berlin").expect("an IANA name");
//! // 2:30 does not exist on this day (gap): it is read with the offset before the gap.
//! let missing = DateTime::new(2026, 3, 29, 2, 30, 0).expect("a time");
//! assert_eq!(berlin.to_utc(missing).to_string(), "20260329T013000Z");
//! assert_eq!(berlin.to_local(berlin.to_utc(missing)).to_string(), "20260329T033000");
//! // 2:30 occurs twice on this day (fold): the first one is taken.
//! let doubled = DateTime::new(2026, 10, 25, 2, 30, 0).expect("a time");
//! assert_eq!(berlin.to_utc(doubled).to_string(), "20261025T003000Z");
//! ```
//!
//! Years are 1 to 9999, the smallest unit is the second, leap seconds are not counted
//! (RFC 5545 §3.3.12: second 60 is read as 59).

mod civil;
mod duration;
mod table;
mod value;
mod zone;

pub use civil::{Date, DateTime, Timestamp, Weekday};
pub use duration::Duration;
pub use table::{TransitionTable, ZoneTransition};
pub use value::{CalendarTime, DateTimeValue, TimeError};
pub use zone::{ResolvedTime, TimeZone};

pub(crate) use civil::{
    DAY, HOUR, MINUTE, days_of, first_weekday, month_length, year_length, ymd_of,
};
