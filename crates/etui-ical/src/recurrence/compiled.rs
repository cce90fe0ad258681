//! [`CompiledRule`]: a rule compiled for a start time.
//!
//! Periods (years, months, weeks, days, hours, minutes, seconds) are numbered, so that the period
//! of any time, and whether `INTERVAL` visits it, is arithmetic. An expansion therefore begins at
//! the requested time and not at the start; its cost is that of the periods it passes.
//!
//! Only `COUNT` depends on the start. It is converted into the last occurrence once, on first use:
//! by arithmetic if nothing limits the rule, else by counting its days or, below a day, its
//! occurrences, at most [`MAX_COUNTED`].
//!
//! A rule can have no occurrence at all. Days repeat after 400 years (146,097 days, which are whole
//! weeks); with an interval the joint cycle visits at most as many periods as 400 years have. A
//! search that passed that many periods in vain is over. Below a day it is over when no time of day
//! can be met, when 400 years have no day, or after the year 9999.

use std::sync::OnceLock;

use super::clock::{ClockLimits, ClockParts, TimesOfDay};
use super::days::DayFilter;
use super::occurrences::RuleOccurrences;
use super::period::{DayUnit, select_positions};
use super::rule::{Frequency, RecurrenceRule};
use crate::time::{DAY, DateTime, DateTimeValue, HOUR, MINUTE};

/// Limit for counting to the end of a rule with `COUNT`: days with occurrences or, for periods
/// below a day, occurrences. A longer rule that is not plain arithmetic is treated as unbounded; a
/// daily rule reaches the limit after 359 years.
pub const MAX_COUNTED: u32 = 1 << 17;

/// A rule compiled for a start time.
#[derive(Debug)]
pub struct CompiledRule {
    pub(super) start: i64,
    pub(super) shape: RuleShape,
    pub(super) interval: i64,
    pub(super) days: DayFilter,
    /// Number of the period of the start.
    first_period: i64,
    /// Last second that `UNTIL` allows.
    until: i64,
    count: Option<u32>,
    /// The last occurrence by `COUNT`.
    last: OnceLock<Option<i64>>,
    /// True if no time of day can satisfy the rule.
    pub(super) never: bool,
}

/// The period of a rule and the times in one.
#[derive(Debug)]
pub(super) enum RuleShape {
    /// Periods of days.
    Days {
        unit: DayUnit,
        /// TimesOfDay of an allowed day, in seconds from midnight, in order.
        times: TimesOfDay,
        /// `BYSETPOS` for periods of more than a day.
        positions: Vec<i64>,
    },
    /// Periods below a day.
    Clock {
        /// Seconds of a period.
        unit: i64,
        /// Seconds from the start of the period, in order.
        times: TimesOfDay,
        limits: ClockLimits,
    },
}

impl CompiledRule {
    /// Compiles `rule` for the start `start`. With `all_day` only its days count: `BYHOUR`,
    /// `BYMINUTE` and `BYSECOND` are ignored (RFC 5545 section 3.3.10), and a `FREQ` below a day,
    /// which the RFC does not define here, is rounded down to whole days, at least one.
    ///
    /// An `UNTIL` in UTC is compared with local times as if they were UTC; a caller with a time
    /// zone compares instants.
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
        let parts = ClockParts::new(rule, start, all_day);
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
        let mut times = parts.into_times();
        // A period of a day or less has equal times in each of its occurrences, so `BYSETPOS` is
        // applied now.
        let fixed = matches!(unit, Ok(DayUnit::Day) | Err(_));
        if fixed && !positions.is_empty() {
            times.keep_positions(&select_positions(&positions, times.len() as i64));
            positions.clear();
        }
        let (shape, first_period) = match unit {
            Ok(unit) => {
                let shape = RuleShape::Days {
                    unit,
                    times,
                    positions,
                };
                (shape, unit.period_of(day))
            }
            Err(unit) => {
                let shape = RuleShape::Clock {
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
            // An interval of 0 would never advance.
            interval: rule.interval.max(1).into(),
            days: DayFilter::new(rule, start.date()),
            first_period,
            until: match rule.until {
                None => DateTime::MAX.seconds(),
                // A date includes all its times; for an all-day rule a time is reduced to its date.
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

    /// Takes one from `COUNT`: the start is the first occurrence without being one of the rule.
    pub(super) fn count_one_less(&mut self) {
        self.count = self.count.map(|c| c.saturating_sub(1));
        self.last = OnceLock::new();
    }

    /// Replaces `UNTIL`.
    pub(super) fn set_until(&mut self, until: DateTime) {
        self.until = until.seconds();
    }

    /// Returns the start: the earliest possible occurrence.
    pub fn start(&self) -> DateTime {
        DateTime::from_seconds(self.start)
    }

    /// Returns its occurrences from `from` to `to`, both included, in order and each once.
    pub fn occurrences(&self, from: DateTime, to: DateTime) -> RuleOccurrences<'_> {
        RuleOccurrences::new(self, from.seconds(), self.end_before(to.seconds()))
    }

    /// Returns a time after which the rule has no occurrence, at most `to`.
    pub(super) fn end_before(&self, to: i64) -> i64 {
        let to = to.min(self.until);
        self.last_by_count(to).map_or(to, |last| to.min(last))
    }

    /// Returns its last occurrence; `None` if it has none or is unbounded.
    pub fn last_occurrence(&self) -> Option<DateTime> {
        let by_count = self.last_by_count(DateTime::MAX.seconds());
        let end = by_count.map_or(self.until, |last| last.min(self.until));
        if end == DateTime::MAX.seconds() {
            return None;
        }
        // Backwards from the end, in growing spans.
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

    /// Returns true if the rule has no end.
    pub fn is_unbounded(&self) -> bool {
        let end = DateTime::MAX.seconds();
        self.until == end && self.last_by_count(end).is_none_or(|last| last >= end)
    }

    /// Returns the seconds between consecutive occurrences if they are constant and below a day.
    pub(super) fn constant_step(&self) -> Option<i64> {
        match &self.shape {
            RuleShape::Clock {
                unit,
                times,
                limits,
            } if times.len() == 1 && limits.allows_all() && self.days.allows_all() => {
                Some(unit * self.interval)
            }
            _ => None,
        }
    }

    /// Returns true if `time` is an occurrence, ignoring `COUNT`.
    pub(super) fn has_occurrence(&self, time: DateTime) -> bool {
        let at = time.seconds();
        at <= self.until && RuleOccurrences::new(self, at, at).next().is_some()
    }

    /// Returns the last occurrence by `COUNT`, one second before the start if there is none; `None`
    /// without an end. It is not computed when the count cannot be used up by `to`.
    fn last_by_count(&self, to: i64) -> Option<i64> {
        let count = self.count?;
        if let Some(last) = self.last.get() {
            return *last;
        }
        if to < self.start {
            return None;
        }
        *self.last.get_or_init(|| self.find_last_by_count(count))
    }

    fn find_last_by_count(&self, count: u32) -> Option<i64> {
        let nothing = Some(self.start - 1);
        // No occurrence is left if the start was the only one that COUNT allows.
        let Some(others) = count.checked_sub(1).map(i64::from) else {
            return nothing;
        };
        if self.never {
            return nothing;
        }
        let end = DateTime::MAX.seconds();
        if let Some(step) = self.constant_step() {
            let first = RuleOccurrences::new(self, self.start, end)
                .next()?
                .seconds();
            return Some(first.saturating_add(step.saturating_mul(others)));
        }
        match &self.shape {
            RuleShape::Clock { .. } => {
                if count > MAX_COUNTED {
                    return None;
                }
                let nth = RuleOccurrences::new(self, self.start, end).nth(others as usize);
                Some(nth.map_or(end, DateTime::seconds))
            }
            RuleShape::Days {
                positions, times, ..
            } if positions.is_empty() && !self.days.has_skipped() => {
                // All days have equal times, so days are counted, not occurrences.
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
            RuleShape::Days { .. } if count > MAX_COUNTED => None,
            RuleShape::Days { .. } => {
                let nth = RuleOccurrences::new(self, self.start, end).nth(others as usize);
                Some(nth.map_or(end, DateTime::seconds))
            }
        }
    }

    /// Returns the first visited period from `period` on.
    pub(super) fn next_visited(&self, period: i64) -> i64 {
        let behind = period - self.first_period;
        if behind <= 0 {
            return self.first_period;
        }
        match behind % self.interval {
            0 => period,
            over => period + self.interval - over,
        }
    }

    /// Returns true if no day can have an occurrence.
    fn is_never(&self) -> bool {
        match &self.shape {
            RuleShape::Days { times, .. } => times.len() == 0,
            RuleShape::Clock {
                unit,
                times,
                limits,
            } => {
                times.len() == 0
                    || !limits.ever_reached(self.first_period * unit, unit * self.interval)
            }
        }
    }
}
