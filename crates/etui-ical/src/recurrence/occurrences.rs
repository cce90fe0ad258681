//! [`RuleOccurrences`]: the occurrences of a [`CompiledRule`] from any time on.

use super::clock::{ClockLimits, TimesOfDay};
use super::compiled::{CompiledRule, RuleShape};
use super::days::DayCursor;
use super::period::{DayUnit, select_positions};
use super::steps;
use crate::time::{DAY, DateTime};

/// The occurrences of a rule from a time on: local times, in order, each once.
#[derive(Debug, Clone)]
pub struct RuleOccurrences<'r> {
    plan: &'r CompiledRule,
    days: DayCursor<'r>,
    from: i64,
    to: i64,
    /// The next day or period to examine.
    next: i64,
    /// Origin of the current times.
    base: i64,
    /// Index of the next time of the rule.
    time: usize,
    /// With `BYSETPOS` or `SKIP`: the rest of the period, in reverse order.
    kept: Vec<i64>,
    /// The last time that was returned: two periods can name one day if days take the place of others.
    returned: Option<i64>,
    done: bool,
}

impl<'r> RuleOccurrences<'r> {
    pub(super) fn new(plan: &'r CompiledRule, from: i64, to: i64) -> Self {
        // A rule has no occurrence before its start.
        let from = from.max(plan.start);
        let mut walk = Self {
            plan,
            days: DayCursor::new(&plan.days),
            from,
            to,
            next: 0,
            base: 0,
            time: usize::MAX,
            kept: Vec::new(),
            returned: None,
            done: plan.never || from > to,
        };
        walk.next = match &plan.shape {
            RuleShape::Days {
                unit, positions, ..
            } => match (from.div_euclid(DAY), positions.is_empty()) {
                // The first day of a period can be named by the one before it.
                (day, _) if plan.days.has_skipped() => plan.next_visited(unit.period_of(day) - 1),
                (day, true) => day,
                // Positions are counted in the whole period.
                (day, false) => plan.next_visited(unit.period_of(day)),
            },
            RuleShape::Clock { unit, .. } => plan.next_visited(from.div_euclid(*unit)),
        };
        walk
    }

    /// Continues at `from` if that is ahead.
    pub(super) fn seek_to(&mut self, from: DateTime) {
        if from.seconds() > self.from {
            *self = Self::new(self.plan, from.seconds(), self.to);
        }
    }

    /// Returns the number of times left on the current day.
    pub(super) fn left_of_day(&self) -> i64 {
        match &self.plan.shape {
            RuleShape::Days { times, .. } => times.len() as i64 - self.time as i64,
            RuleShape::Clock { .. } => 0,
        }
    }

    pub(super) fn skip_day(&mut self) {
        self.time = usize::MAX;
    }

    /// Returns the next allowed day in a visited period.
    fn next_day(&mut self, unit: DayUnit) -> Option<i64> {
        let last = self.to.div_euclid(DAY);
        for _ in 0..=unit.cycle_length() {
            steps::count_step();
            let day = i64::from(self.days.next_allowed(self.next as i32, last as i32)?);
            let period = unit.period_of(day);
            let visited = self.plan.next_visited(period);
            if visited == period {
                self.next = day + 1;
                return Some(day);
            }
            self.next = unit.first_day(visited);
            if self.next > last {
                return None;
            }
        }
        None
    }

    /// Selects the occurrences that `BYSETPOS` keeps, or all, in the next visited period with any.
    fn next_kept(&mut self, unit: DayUnit, times: &TimesOfDay, positions: &[i64]) -> Option<()> {
        let end = self.to.div_euclid(DAY);
        let mut days = Vec::new();
        for _ in 0..=unit.cycle_length() {
            steps::count_step();
            let first = unit.first_day(self.next);
            // SKIP=BACKWARD names the day before a period.
            if first - i64::from(self.plan.days.has_skipped()) > end {
                return None;
            }
            let (mut day, last) = (first, unit.first_day(self.next + 1) - 1);
            self.next += self.plan.interval;
            days.clear();
            while let Some(allowed) = self.days.next_allowed(day as i32, last as i32) {
                days.push(i64::from(allowed));
                day = i64::from(allowed) + 1;
            }
            self.plan
                .days
                .add_skipped(first as i32, last as i32, &mut days);
            let of_day = times.len() as i64;
            let total = days.len() as i64 * of_day;
            let kept = match positions.is_empty() {
                true => (0..total).collect(),
                false => select_positions(positions, total),
            };
            self.kept.clear();
            self.kept.extend(kept.into_iter().rev().filter_map(|i| {
                let day = days.get((i / of_day) as usize)?;
                Some(day * DAY + times.get((i % of_day) as usize)?)
            }));
            if !self.kept.is_empty() {
                return Some(());
            }
        }
        None
    }

    /// Returns the start of the next visited and allowed period below a day.
    fn next_period(&mut self, unit: i64, limits: ClockLimits) -> Option<i64> {
        loop {
            steps::count_step();
            let at = self.next * unit;
            if at > self.to {
                return None;
            }
            let day = at.div_euclid(DAY);
            let allowed = self
                .days
                .next_allowed(day as i32, self.to.div_euclid(DAY) as i32)?;
            let skip = if i64::from(allowed) == day {
                limits.seconds_to_allowed(at - day * DAY)
            } else {
                i64::from(allowed) * DAY - at
            };
            if skip == 0 {
                self.next = self.next.saturating_add(self.plan.interval);
                return Some(at);
            }
            // A whole number of periods, as the limits are; at least one.
            self.next = self.plan.next_visited(self.next + (skip / unit).max(1));
        }
    }

    /// Returns the next occurrence in seconds; it may be before `from` or after `to`.
    fn next_second(&mut self) -> Option<i64> {
        steps::count_step();
        let plan = self.plan;
        match &plan.shape {
            RuleShape::Days {
                unit,
                times,
                positions,
            } if positions.is_empty() && !plan.days.has_skipped() => {
                if self.time >= times.len() {
                    self.base = self.next_day(*unit)? * DAY;
                    self.time = 0;
                }
                let time = times.get(self.time)?;
                self.time += 1;
                Some(self.base + time)
            }
            RuleShape::Days {
                unit,
                times,
                positions,
            } => {
                if self.kept.is_empty() {
                    self.next_kept(*unit, times, positions)?;
                }
                self.kept.pop()
            }
            RuleShape::Clock {
                unit,
                times,
                limits,
            } => {
                if self.time >= times.len() {
                    self.base = self.next_period(*unit, *limits)?;
                    self.time = 0;
                }
                let time = times.get(self.time)?;
                self.time += 1;
                Some(self.base + time)
            }
        }
    }
}

impl Iterator for RuleOccurrences<'_> {
    type Item = DateTime;

    fn next(&mut self) -> Option<DateTime> {
        while !self.done {
            match self.next_second() {
                Some(at) if at > self.to => self.done = true,
                Some(at) if at >= self.from && self.returned.is_none_or(|last| last < at) => {
                    self.returned = Some(at);
                    return Some(DateTime::from_seconds(at));
                }
                Some(_) => {}
                None => self.done = true,
            }
        }
        None
    }
}
