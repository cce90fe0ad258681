//! [`Calendars`]: a calendar of any size, the same for the same seed.
//!
//! Entry number `i` is made from the seed and `i` alone, so any one of a million is reached at
//! once:
//!
//! ```
//! use etui_testkit::calendars::{Calendars, Span, entry};
//!
//! let one = entry(7, Span::USUAL, 999_999);
//! assert!(one.text.starts_with("BEGIN:V"));
//! assert_eq!(Calendars::new(7).nth(999_999), Some(one));
//! ```
//!
//! Of a thousand entries 700 are timed and happen once, 100 are all-day, 150 recur (four in ten
//! of those whose instances are simple to tell have `EXDATE`s, a third changed instances), 40 are
//! to-dos, 10 journal entries; a third of the events has alarms. Zones are Europe/Berlin,
//! America/New_York, UTC and none.

mod generate;
#[cfg(test)]
mod tests;
mod words;
mod write;

use std::io::{self, Write};

pub use generate::entry;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// An event with a time, once.
    Timed,
    /// An event of whole days, once.
    AllDay,
    /// An event that recurs.
    Recurring,
    /// A to-do.
    Todo,
    /// A journal entry.
    Journal,
}

/// In which zone its times are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Clock {
    /// Europe/Berlin.
    Berlin,
    /// America/New_York.
    NewYork,
    /// UTC.
    Utc,
    /// None: wherever one is.
    Floating,
}

impl Clock {
    /// Its `TZID`, if its times have one.
    pub fn tzid(self) -> Option<&'static str> {
        match self {
            Self::Berlin => Some("Europe/Berlin"),
            Self::NewYork => Some("America/New_York"),
            Self::Utc | Self::Floating => None,
        }
    }
}

/// When the entries of a calendar start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first day, in days since 1970-01-01.
    pub first_day: i64,
    /// How many days.
    pub days: u32,
    /// How many of a thousand entries recur without end, instead of the usual mix.
    pub endless: Option<u32>,
}

impl Span {
    /// Eleven years from 2017 on.
    pub const USUAL: Span = Span {
        first_day: 17_167,
        days: 4_017,
        endless: None,
    };

    /// So many years from 2017 on.
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
    /// The number in the calendar, counted from 0.
    pub index: u64,
    /// The UID; different for each entry of a calendar.
    pub uid: String,
    /// What it is.
    pub shape: Shape,
    /// In which zone its times are.
    pub clock: Clock,
    /// The day it starts on, in days since 1970-01-01.
    pub day: i64,
    /// How many alarms it has.
    pub alarms: usize,
    /// How many of its instances are changed.
    pub overrides: usize,
    /// Its components, with CRLF and folded at 75 octets.
    pub text: String,
}

/// The entries of a calendar, one after another, without end.
#[derive(Debug, Clone)]
pub struct Calendars {
    seed: u64,
    next: u64,
    span: Span,
}

impl Calendars {
    /// The calendar of a seed, from entry 0, over the usual years.
    pub fn new(seed: u64) -> Self {
        Self::over(seed, Span::USUAL)
    }

    /// The same over other years: the first `n` entries are `n` over all of `span`, spread evenly.
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

    /// Takes no longer for a large `n` than for a small one.
    fn nth(&mut self, n: usize) -> Option<Entry> {
        let index = self.next.wrapping_add(n as u64);
        self.next = index.wrapping_add(1);
        Some(entry(self.seed, self.span, index))
    }
}

/// Writes the first `count` entries as one calendar object with the zones they use and returns
/// its length in bytes. Makes many small writes: hand in a buffered writer.
///
/// # Errors
///
/// What `out` reports.
pub fn write_ics(out: &mut impl Write, seed: u64, span: Span, count: u64) -> io::Result<u64> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    write_entries(out, Calendars::over(seed, span).take(count))
}

/// Writes entries as one calendar object with the zones they use and returns its length in bytes.
///
/// # Errors
///
/// What `out` reports.
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
