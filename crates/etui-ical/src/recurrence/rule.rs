//! [`RecurrenceRule`]: a recurrence rule (RFC 5545 section 3.3.10) as written.

use std::fmt;

use crate::time::{DateTimeValue, Weekday};

/// The period of a rule: its `FREQ`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Frequency {
    /// Every second.
    Secondly,
    /// Every minute.
    Minutely,
    /// Every hour.
    Hourly,
    /// Every day.
    Daily,
    /// Every week.
    Weekly,
    /// Every month.
    Monthly,
    /// Every year.
    Yearly,
}

impl Frequency {
    /// Every frequency with its name.
    pub const NAMES: &'static [(&'static str, Frequency)] = &[
        ("SECONDLY", Self::Secondly),
        ("MINUTELY", Self::Minutely),
        ("HOURLY", Self::Hourly),
        ("DAILY", Self::Daily),
        ("WEEKLY", Self::Weekly),
        ("MONTHLY", Self::Monthly),
        ("YEARLY", Self::Yearly),
    ];

    fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(_, f)| *f == self)
            .map_or("DAILY", |(n, _)| n)
    }
}

/// A weekday of `BYDAY`, with an optional ordinal in its month or year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NthWeekday {
    /// The ordinal: 1 for the first, -1 for the last, 0 for every one.
    pub nth: i8,
    /// The weekday.
    pub weekday: Weekday,
}

/// The day that takes the place of one that a month or year does not have: `SKIP` (RFC 7529 section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Skip {
    /// `OMIT`: none.
    #[default]
    Omit,
    /// `BACKWARD`: the day before it.
    Backward,
    /// `FORWARD`: the day after it.
    Forward,
}

/// A recurrence rule. Lists are in the order written; an absent part is an empty list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecurrenceRule {
    /// `FREQ`
    pub frequency: Frequency,
    /// `INTERVAL`, in periods, 1 or more.
    pub interval: u32,
    /// `COUNT`: the total number of occurrences.
    pub count: Option<u32>,
    /// `UNTIL`: the last occurrence allowed. A rule should not have both it and `COUNT` (section
    /// 3.3.10); if it does, the earlier end applies.
    pub until: Option<DateTimeValue>,
    /// `BYSECOND`, 0 to 60.
    pub by_second: Vec<u8>,
    /// `BYMINUTE`, 0 to 59.
    pub by_minute: Vec<u8>,
    /// `BYHOUR`, 0 to 23.
    pub by_hour: Vec<u8>,
    /// `BYDAY`
    pub by_day: Vec<NthWeekday>,
    /// `BYMONTHDAY`, 1 to 31; -1 is the last day.
    pub by_month_day: Vec<i8>,
    /// `BYYEARDAY`, 1 to 366; -1 is the last day.
    pub by_year_day: Vec<i16>,
    /// `BYWEEKNO`, 1 to 53; -1 is the last week.
    pub by_week: Vec<i8>,
    /// `BYMONTH`, 1 to 12.
    pub by_month: Vec<u8>,
    /// `BYSETPOS`, 1 to 366; -1 is the last of the period.
    pub by_position: Vec<i16>,
    /// `WKST`: the first weekday of a week, Monday by default.
    pub week_start: Weekday,
    /// `SKIP`, for days of `BYMONTHDAY`, `BYYEARDAY` or the start that a month or year does not have.
    pub skip: Skip,
}

impl RecurrenceRule {
    /// Returns the unbounded rule of one occurrence per period.
    pub fn every(frequency: Frequency) -> Self {
        Self {
            frequency,
            interval: 1,
            count: None,
            until: None,
            by_second: Vec::new(),
            by_minute: Vec::new(),
            by_hour: Vec::new(),
            by_day: Vec::new(),
            by_month_day: Vec::new(),
            by_year_day: Vec::new(),
            by_week: Vec::new(),
            by_month: Vec::new(),
            by_position: Vec::new(),
            week_start: Weekday::Monday,
            skip: Skip::Omit,
        }
    }

    /// Returns true if the rule has neither `COUNT` nor `UNTIL`.
    pub fn is_unbounded(&self) -> bool {
        self.count.is_none() && self.until.is_none()
    }
}

impl fmt::Display for NthWeekday {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nth != 0 {
            write!(f, "{}", self.nth)?;
        }
        f.write_str(self.weekday.code())
    }
}

/// Formats the value of an `RRULE`; parsing it gives an equal rule.
impl fmt::Display for RecurrenceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SKIP is valid with RSCALE only.
        if self.skip != Skip::Omit {
            f.write_str("RSCALE=GREGORIAN;")?;
        }
        write!(f, "FREQ={}", self.frequency.name())?;
        if let Some(until) = &self.until {
            write!(f, ";UNTIL={until}")?;
        }
        if let Some(count) = self.count {
            write!(f, ";COUNT={count}")?;
        }
        if self.interval != 1 {
            write!(f, ";INTERVAL={}", self.interval)?;
        }
        write_list(f, "BYSECOND", &self.by_second)?;
        write_list(f, "BYMINUTE", &self.by_minute)?;
        write_list(f, "BYHOUR", &self.by_hour)?;
        write_list(f, "BYDAY", &self.by_day)?;
        write_list(f, "BYMONTHDAY", &self.by_month_day)?;
        write_list(f, "BYYEARDAY", &self.by_year_day)?;
        write_list(f, "BYWEEKNO", &self.by_week)?;
        write_list(f, "BYMONTH", &self.by_month)?;
        write_list(f, "BYSETPOS", &self.by_position)?;
        if self.week_start != Weekday::Monday {
            write!(f, ";WKST={}", self.week_start.code())?;
        }
        match self.skip {
            Skip::Omit => Ok(()),
            Skip::Backward => f.write_str(";SKIP=BACKWARD"),
            Skip::Forward => f.write_str(";SKIP=FORWARD"),
        }
    }
}

fn write_list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, name: &str, all: &[T]) -> fmt::Result {
    for (i, one) in all.iter().enumerate() {
        match i {
            0 => write!(f, ";{name}={one}")?,
            _ => write!(f, ",{one}")?,
        }
    }
    Ok(())
}
