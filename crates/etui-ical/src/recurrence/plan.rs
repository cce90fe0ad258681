//! [`CompiledRule`]: a rule made ready for a start.
//!
//! Periods (years, months, weeks, days, hours, minutes, seconds) are numbered, so that the one
//! around any time, and whether `INTERVAL` visits it, is arithmetic. A walk therefore begins at
//! the time asked for, not at the start; it costs what it passes over.
//!
//! What needs the start is `COUNT`. It is turned into the last occurrence once, when first asked
//! for: by arithmetic where nothing limits the rule, else by walking its days or, below a day, its
//! occurrences, at most [`MAX_COUNTED`].
//!
//! A rule can have no occurrence at all. Days repeat after 400 years (146,097 days, which are
//! whole weeks); with an interval the joint cycle visits at most as many periods as 400 years
//! have. So a search that saw that many periods in vain is over. Below a day it is over when no
//! time of day can be met, when 400 years have no day, or behind the year 9999.

use std::sync::OnceLock;

use super::clock::{Clock, Parts, Times};
use super::days::DayFilter;
use super::period::{DayUnit, at_positions};
use super::rule::{Frequency, RecurrenceRule};
use super::walk::RuleOccurrences;
use crate::time::{DAY, DateTime, DateTimeValue, HOUR, MINUTE};

/// Days with occurrences, or below a day occurrences, that are counted to find the end of a rule
/// with `COUNT`. What has more, and is not plain arithmetic, is taken to have no end: a daily rule
/// has as many in 359 years.
pub const MAX_COUNTED: u32 = 1 << 17;

/// A rule made ready for something that starts at a time.
#[derive(Debug)]
pub struct CompiledRule {
    pub(super) start: i64,
    pub(super) shape: Shape,
    pub(super) interval: i64,
    pub(super) days: DayFilter,
    /// The number of the start's period.
    first_period: i64,
    /// Where `UNTIL` ends it, itself included.
    until: i64,
    count: Option<u32>,
    /// The last occurrence by `COUNT`.
    last: OnceLock<Option<i64>>,
    /// What no time of day can fulfil.
    pub(super) never: bool,
}

/// What a period is, and what is in one.
#[derive(Debug)]
pub(super) enum Shape {
    /// Periods of days.
    Days {
        unit: DayUnit,
        /// Times of an allowed day, in seconds from midnight, in order.
        times: Times,
        /// `BYSETPOS` for periods of more than a day.
        positions: Vec<i64>,
    },
    /// Periods below a day.
    Clock {
        /// Seconds of a period.
        unit: i64,
        /// Seconds from the period's start, in order.
        times: Times,
        limits: Clock,
    },
}

impl CompiledRule {
    /// `rule` for something that starts at `start`. With `all_day` only its days count:
    /// `BYHOUR`, `BYMINUTE` and `BYSECOND` are passed over (RFC 5545 §3.3.10), and a `FREQ` below
    /// a day, of which the RFC does not speak, is taken for as many whole days, at least one.
    ///
    /// An `UNTIL` in UTC is taken as UTC's clock: who knows the zone has to compare instants.
    #[must_use]
    pub fn new(rule: &RecurrenceRule, start: DateTime, all_day: bool) -> Self {
        if all_day && rule.frequency < Frequency::Daily {
            let unit = match rule.frequency {
                Frequency::Hourly => HOUR,
                Frequency::Minutely => MINUTE,
                _ => 1,
            };
            let days = (i64::from(rule.interval) * unit / DAY).max(1);
            let daily = RecurrenceRule {
                frequency: Frequency::Daily,
                interval: u32::try_from(days).unwrap_or(u32::MAX),
                ..rule.clone()
            };
            return Self::new(&daily, start, true);
        }
        let start = if all_day {
            start.date().midnight()
        } else {
            start
        };
        let parts = Parts::new(rule, start, all_day);
        let week_start = u32::from(rule.week_start.index());
        let day = i64::from(start.date().days());
        let unit = match rule.frequency {
            Frequency::Daily => Ok(DayUnit::Day),
            Frequency::Weekly => {
                let weekday = i64::from(start.date().weekday().index());
                let back = (weekday + 7 - i64::from(week_start)) % 7;
                Ok(DayUnit::Week(day - back))
            }
            Frequency::Monthly => Ok(DayUnit::Month),
            Frequency::Yearly if rule.by_week.is_empty() => Ok(DayUnit::Year),
            Frequency::Yearly => Ok(DayUnit::WeekYear(week_start)),
            Frequency::Hourly => Err(HOUR),
            Frequency::Minutely => Err(MINUTE),
            Frequency::Secondly => Err(1),
        };
        let mut positions: Vec<i64> = rule.by_position.iter().map(|p| i64::from(*p)).collect();
        let limits = parts.limits;
        let mut times = parts.times();
        // A period of a day or less has the same times whenever it has any: those that
        // `BYSETPOS` keeps can be told now.
        let fixed = matches!(unit, Ok(DayUnit::Day) | Err(_));
        if fixed && !positions.is_empty() {
            times.keep(&at_positions(&positions, times.len() as i64));
            positions.clear();
        }
        let (shape, first_period) = match unit {
            Ok(unit) => {
                let shape = Shape::Days {
                    unit,
                    times,
                    positions,
                };
                (shape, unit.period(day))
            }
            Err(unit) => {
                let shape = Shape::Clock {
                    unit,
                    times,
                    limits,
                };
                (shape, start.seconds().div_euclid(unit))
            }
        };
        let mut plan = Self {
            start: start.seconds(),
            shape,
            interval: rule.interval.max(1).into(),
            days: DayFilter::new(rule, start.date()),
            first_period,
            until: match rule.until {
                None => DateTime::MAX.seconds(),
                // A day is meant with all its times, a time without a day's not at all.
                Some(DateTimeValue::Date(date)) => date.midnight().seconds() + DAY - 1,
                Some(until) if all_day => until.local().date().midnight().seconds(),
                Some(until) => until.local().seconds(),
            },
            count: rule.count,
            last: OnceLock::new(),
            never: false,
        };
        plan.never = plan.is_never();
        plan
    }

    /// Takes one from `COUNT`: something else is the first occurrence.
    pub(super) fn count_one_less(&mut self) {
        self.count = self.count.map(|c| c.saturating_sub(1));
        self.last = OnceLock::new();
    }

    /// Another `UNTIL`.
    pub(super) fn set_until(&mut self, until: DateTime) {
        self.until = until.seconds();
    }

    /// The first occurrence can be no earlier.
    #[must_use]
    pub fn start(&self) -> DateTime {
        DateTime::from_seconds(self.start)
    }

    /// Its occurrences, in order and each once, from `from` to `to`, both included.
    #[must_use]
    pub fn walk(&self, from: DateTime, to: DateTime) -> RuleOccurrences<'_> {
        RuleOccurrences::new(self, from.seconds(), self.end(to.seconds()))
    }

    /// A time behind which it has no occurrence, `to` at the latest.
    pub(super) fn end(&self, to: i64) -> i64 {
        let to = to.min(self.until);
        self.last_by_count(to).map_or(to, |last| to.min(last))
    }

    /// Its last occurrence; `None` if it has none or no end.
    #[must_use]
    pub fn last(&self) -> Option<DateTime> {
        let by_count = self.last_by_count(DateTime::MAX.seconds());
        let end = by_count.map_or(self.until, |last| last.min(self.until));
        if end == DateTime::MAX.seconds() {
            return None;
        }
        // Backwards from the end, in spans that grow.
        let mut span = HOUR;
        loop {
            let from = (end - span).max(self.start);
            let last = RuleOccurrences::new(self, from, end).last();
            if last.is_some() || from == self.start {
                return last;
            }
            span = span.saturating_mul(8);
        }
    }

    /// Whether it has no end.
    #[must_use]
    pub fn is_unbounded(&self) -> bool {
        let end = DateTime::MAX.seconds();
        self.until == end && self.last_by_count(end).is_none_or(|last| last >= end)
    }

    /// Seconds from each occurrence to the next, where they are always as many, and below a day.
    pub(super) fn step(&self) -> Option<i64> {
        match &self.shape {
            Shape::Clock {
                unit,
                times,
                limits,
            } if times.len() == 1 && limits.allows_all() && self.days.allows_all() => {
                Some(unit * self.interval)
            }
            _ => None,
        }
    }

    /// Whether `time` is an occurrence, `COUNT` aside.
    pub(super) fn has(&self, time: DateTime) -> bool {
        let at = time.seconds();
        at <= self.until && RuleOccurrences::new(self, at, at).next().is_some()
    }

    /// The last occurrence by `COUNT`, one before the start if there is none; `None` without an
    /// end. Not asked for when the count cannot be over by `to`.
    fn last_by_count(&self, to: i64) -> Option<i64> {
        let count = self.count?;
        if let Some(last) = self.last.get() {
            return *last;
        }
        if to < self.start {
            return None;
        }
        *self.last.get_or_init(|| self.count_out(count))
    }

    fn count_out(&self, count: u32) -> Option<i64> {
        let nothing = Some(self.start - 1);
        let Some(others) = count.checked_sub(1).map(i64::from) else {
            return nothing;
        };
        if self.never {
            return nothing;
        }
        let end = DateTime::MAX.seconds();
        if let Some(step) = self.step() {
            let first = RuleOccurrences::new(self, self.start, end)
                .next()?
                .seconds();
            return Some(first.saturating_add(step.saturating_mul(others)));
        }
        match &self.shape {
            Shape::Clock { .. } => {
                if count > MAX_COUNTED {
                    return None;
                }
                let nth = RuleOccurrences::new(self, self.start, end).nth(others as usize);
                Some(nth.map_or(end, DateTime::seconds))
            }
            Shape::Days {
                positions, times, ..
            } if positions.is_empty() => {
                // All days have the same times: days are counted, not occurrences.
                let per_day = times.len() as i64;
                let mut walk = RuleOccurrences::new(self, self.start, end);
                let mut left = others;
                for _ in 0..MAX_COUNTED {
                    let Some(first) = walk.next() else {
                        return Some(end);
                    };
                    let rest = walk.left_of_day();
                    if left <= rest {
                        let day = first.seconds().div_euclid(DAY);
                        let index = per_day - 1 - rest + left;
                        return times.get(index as usize).map(|t| day * DAY + t);
                    }
                    left -= rest + 1;
                    walk.skip_day();
                }
                None
            }
            Shape::Days { .. } if count > MAX_COUNTED => None,
            Shape::Days { .. } => {
                let nth = RuleOccurrences::new(self, self.start, end).nth(others as usize);
                Some(nth.map_or(end, DateTime::seconds))
            }
        }
    }

    /// The first visited period that is not before `period`.
    pub(super) fn visited(&self, period: i64) -> i64 {
        let behind = period - self.first_period;
        if behind <= 0 {
            return self.first_period;
        }
        match behind % self.interval {
            0 => period,
            over => period + self.interval - over,
        }
    }

    /// Whether no occurrence can come of any day.
    fn is_never(&self) -> bool {
        match &self.shape {
            Shape::Days { times, .. } => times.len() == 0,
            Shape::Clock {
                unit,
                times,
                limits,
            } => times.len() == 0 || !limits.meets(self.first_period * unit, unit * self.interval),
        }
    }
}
