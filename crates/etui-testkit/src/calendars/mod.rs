//! [`Calendars`]: a calendar of any size, deterministic for a seed.
//!
//! Entry number `i` depends on the seed and `i` alone, so any one of a million is generated
//! directly:
//!
//! ```
//! use etui_testkit::calendars::{Calendars, Span, entry};
//!
//! let one = entry(7, Span::USUAL, 999_999);
//! assert!(one.text.starts_with("BEGIN:V"));
//! assert_eq!(Calendars::new(7).nth(999_999), Some(one));
//! ```
//!
//! Of a thousand entries 700 are single timed events, 100 are all-day, 150 recur (four in ten
//! of those with constant intervals have `EXDATE`s, a third overrides), 40 are
//! to-dos, 10 journal entries; a third of the events has alarms. Zones are Europe/Berlin,
//! America/New_York, UTC and none.

mod generate;
#[cfg(test)]
mod tests;
mod words;
mod write;

use std::io::{self, Write};

pub use generate::entry;

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A single event with a time.
    Timed,
    /// A single event of whole days.
    AllDay,
    /// An event that recurs.
    Recurring,
    /// A to-do.
    Todo,
    /// A journal entry.
    Journal,
}

/// The zone of an entry's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Clock {
    /// Europe/Berlin.
    Berlin,
    /// America/New_York.
    NewYork,
    /// UTC.
    Utc,
    /// None: a floating time.
    Floating,
}

impl Clock {
    /// Returns the `TZID` of the times, if they have one.
    pub fn tzid(self) -> Option<&'static str> {
        match self {
            Self::Berlin => Some("Europe/Berlin"),
            Self::NewYork => Some("America/New_York"),
            Self::Utc | Self::Floating => None,
        }
    }
}

/// The period in which the entries of a calendar start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first day, in days since 1970-01-01.
    pub first_day: i64,
    /// Number of days.
    pub days: u32,
    /// Number of unbounded series per thousand entries, in place of the usual mix.
    pub endless: Option<u32>,
}

impl Span {
    /// Eleven years from 2017.
    pub const USUAL: Span = Span {
        first_day: 17_167,
        days: 4_017,
        endless: None,
    };

    /// A number of years from 2017.
    #[must_use]
    pub fn years(years: u32) -> Self {
        Self {
            days: (years.saturating_mul(1461) / 4).max(1),
            ..Self::USUAL
        }
    }
}

/// One record of a calendar: all components of one UID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Index in the calendar, from 0.
    pub index: u64,
    /// The UID; unique in a calendar.
    pub uid: String,
    /// The kind.
    pub shape: Shape,
    /// The zone of its times.
    pub clock: Clock,
    /// The day of its start, in days since 1970-01-01.
    pub day: i64,
    /// Number of alarms.
    pub alarms: usize,
    /// Number of overridden instances.
    pub overrides: usize,
    /// Its components, with CRLF and folded at 75 octets.
    pub text: String,
}

/// An endless iterator over the entries of a calendar.
#[derive(Debug, Clone)]
pub struct Calendars {
    seed: u64,
    next: u64,
    span: Span,
}

impl Calendars {
    /// Creates the calendar of a seed, from entry 0, over the usual years.
    pub fn new(seed: u64) -> Self {
        Self::over(seed, Span::USUAL)
    }

    /// Creates a calendar over other years: the first `n` entries are spread evenly over `span`.
    pub fn over(seed: u64, span: Span) -> Self {
        Self {
            seed,
            next: 0,
            span,
        }
    }
}

impl Iterator for Calendars {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        self.nth(0)
    }

    /// O(1) for any `n`.
    fn nth(&mut self, n: usize) -> Option<Entry> {
        let index = self.next.wrapping_add(n as u64);
        self.next = index.wrapping_add(1);
        Some(entry(self.seed, self.span, index))
    }
}

/// Writes the first `count` entries as one calendar object with their zones and returns
/// its length in bytes. Makes many small writes: pass a buffered writer.
///
/// # Errors
///
/// Errors of `out`.
pub fn write_ics(out: &mut impl Write, seed: u64, span: Span, count: u64) -> io::Result<u64> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    write_entries(out, Calendars::over(seed, span).take(count))
}

/// Writes entries as one calendar object with their zones and returns its length in bytes.
///
/// # Errors
///
/// Errors of `out`.
pub fn write_entries(
    out: &mut impl Write,
    entries: impl IntoIterator<Item = Entry>,
) -> io::Result<u64> {
    out.write_all(write::HEAD.as_bytes())?;
    let mut length = write::HEAD.len() + write::TAIL.len();
    for entry in entries {
        out.write_all(entry.text.as_bytes())?;
        length += entry.text.len();
    }
    out.write_all(write::TAIL.as_bytes())?;
    Ok(length as u64)
}
