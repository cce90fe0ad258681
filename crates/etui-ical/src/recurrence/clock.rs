//! [`ClockLimits`]: the times of day that a rule allows. [`ClockParts`]: the times of day that it
//! produces.

use super::rule::{Frequency, RecurrenceRule};
use crate::time::{DAY, DateTime, HOUR, MINUTE};

/// The times of day that a rule allows: one bit per hour, minute and second.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClockLimits {
    hours: u64,
    minutes: u64,
    seconds: u64,
}

impl ClockLimits {
    pub(super) fn allows_all(self) -> bool {
        self.hours & self.minutes & self.seconds == u64::MAX
    }

    /// Returns the seconds to skip from a time of day to one that may be allowed; 0 if it is
    /// allowed.
    pub(super) fn seconds_to_allowed(self, of_day: i64) -> i64 {
        let (hour, minute, second) = (of_day / HOUR, of_day / MINUTE % 60, of_day % MINUTE);
        let next = |bits: u64, n: i64, most: i64| {
            let ahead = i64::from((bits >> n).trailing_zeros());
            // Without an allowed value left, the next one is in the next period.
            ahead.min(most - n)
        };
        if self.hours >> hour & 1 == 0 {
            (hour + next(self.hours, hour, 24)) * HOUR - of_day
        } else if self.minutes >> minute & 1 == 0 {
            next(self.minutes, minute, 60) * MINUTE - second
        } else if self.seconds >> second & 1 == 0 {
            next(self.seconds, second, 60)
        } else {
            0
        }
    }

    /// Returns true if steps of `step` seconds from `start` ever reach an allowed time of day. The
    /// times reached are `start` plus multiples of the greatest common divisor of a step and a day.
    pub(super) fn ever_reached(self, start: i64, step: i64) -> bool {
        if self.allows_all() {
            return true;
        }
        let (mut apart, mut rest) = (DAY, step);
        // Euclid: the steps reach the times that differ from the start by multiples of the greatest common divisor.
        while rest != 0 {
            (apart, rest) = (rest, apart % rest);
        }
        let mut at = start.rem_euclid(apart);
        while at < DAY {
            match self.seconds_to_allowed(at) {
                0 => return true,
                skip => at += (skip + apart - 1) / apart * apart,
            }
        }
        false
    }
}

/// The parts of a rule about the time of day.
pub(super) struct ClockParts {
    hours: Vec<i64>,
    minutes: Vec<i64>,
    seconds: Vec<i64>,
    pub(super) limits: ClockLimits,
}

impl ClockParts {
    /// Splits the parts by `FREQ` into those that expand a period and those that limit periods.
    pub(super) fn new(rule: &RecurrenceRule, start: DateTime, all_day: bool) -> Self {
        let (hour, minute, second) = start.hms();
        let part = |list: &[u8], own: u32, period: Frequency, most: i64| {
            let mut all: Vec<i64> = match list {
                list if all_day || list.is_empty() => vec![own.into()],
                // Second 60 is read as 59, as in times.
                list => list.iter().map(|n| i64::from(*n).min(most)).collect(),
            };
            all.sort_unstable();
            all.dedup();
            let limit = if rule.frequency > period {
                u64::MAX
            } else if all_day || list.is_empty() {
                all = vec![0];
                u64::MAX
            } else {
                let bits = all.iter().fold(0, |bits, n| bits | 1 << n);
                all = vec![0];
                bits
            };
            (all, limit)
        };
        let (hours, hour_bits) = part(&rule.by_hour, hour, Frequency::Hourly, 23);
        let (minutes, minute_bits) = part(&rule.by_minute, minute, Frequency::Minutely, 59);
        let (seconds, second_bits) = part(&rule.by_second, second, Frequency::Secondly, 59);
        Self {
            hours,
            minutes,
            seconds,
            limits: ClockLimits {
                hours: hour_bits,
                minutes: minute_bits,
                seconds: second_bits,
            },
        }
    }

    /// Returns the times of a period.
    pub(super) fn into_times(self) -> TimesOfDay {
        TimesOfDay {
            hours: self.hours,
            minutes: self.minutes,
            seconds: self.seconds,
            kept: None,
        }
    }
}

/// TimesOfDay of a day or a shorter period, in seconds from its start, in order. They are computed and
/// not listed: a rule of 500 bytes can have all 86,400 of a day.
#[derive(Debug)]
pub(super) struct TimesOfDay {
    hours: Vec<i64>,
    minutes: Vec<i64>,
    seconds: Vec<i64>,
    /// The times that `BYSETPOS` keeps.
    kept: Option<Vec<i64>>,
}

impl TimesOfDay {
    pub(super) fn len(&self) -> usize {
        match &self.kept {
            Some(kept) => kept.len(),
            None => self.hours.len() * self.minutes.len() * self.seconds.len(),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<i64> {
        if let Some(kept) = &self.kept {
            return kept.get(index).copied();
        }
        let (rest, second) = (index / self.seconds.len(), index % self.seconds.len());
        let (hour, minute) = (rest / self.minutes.len(), rest % self.minutes.len());
        let hour = self.hours.get(hour)?;
        Some(hour * HOUR + self.minutes.get(minute)? * MINUTE + self.seconds.get(second)?)
    }

    /// Keeps the times at these positions.
    pub(super) fn keep_positions(&mut self, positions: &[i64]) {
        let kept = positions.iter().filter_map(|i| self.get(*i as usize));
        let kept: Vec<i64> = kept.collect();
        self.kept = Some(kept);
    }
}
