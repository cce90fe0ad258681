//! [`RuleOccurrences`]: the occurrences of a [`CompiledRule`] from anywhere on.

use super::clock::{Clock, Times};
use super::days::Days;
use super::period::{DayUnit, at_positions};
use super::plan::{CompiledRule, Shape};
use super::steps;
use crate::time::{DAY, DateTime};

/// The occurrences of a rule from a time on: local times, in order, each once.
#[derive(Debug, Clone)]
pub struct RuleOccurrences<'r> {
    plan: &'r CompiledRule,
    days: Days<'r>,
    from: i64,
    to: i64,
    /// The day or period to look at next.
    next: i64,
    /// Where the times at hand are counted from.
    base: i64,
    /// Which of the rule's times comes next.
    time: usize,
    /// With `BYSETPOS`: what is left of the period, in order, backwards.
    kept: Vec<i64>,
    done: bool,
}

impl<'r> RuleOccurrences<'r> {
    pub(super) fn new(plan: &'r CompiledRule, from: i64, to: i64) -> Self {
        let from = from.max(plan.start);
        let mut walk = Self {
            plan,
            days: Days::new(&plan.days),
            from,
            to,
            next: 0,
            base: 0,
            time: usize::MAX,
            kept: Vec::new(),
            done: plan.never || from > to,
        };
        walk.next = match &plan.shape {
            Shape::Days {
                unit, positions, ..
            } => match (from.div_euclid(DAY), positions.is_empty()) {
                (day, true) => day,
                // Positions are counted in the whole period.
                (day, false) => plan.visited(unit.period(day)),
            },
            Shape::Clock { unit, .. } => plan.visited(from.div_euclid(*unit)),
        };
        walk
    }

    /// Goes on at `from`, if that is ahead.
    pub(super) fn seek(&mut self, from: DateTime) {
        if from.seconds() > self.from {
            *self = Self::new(self.plan, from.seconds(), self.to);
        }
    }

    /// How many times of the current day are still to come.
    pub(super) fn left_of_day(&self) -> i64 {
        match &self.plan.shape {
            Shape::Days { times, .. } => times.len() as i64 - self.time as i64,
            Shape::Clock { .. } => 0,
        }
    }

    pub(super) fn skip_day(&mut self) {
        self.time = usize::MAX;
    }

    /// The next allowed day in a visited period.
    fn next_day(&mut self, unit: DayUnit) -> Option<i64> {
        let last = self.to.div_euclid(DAY);
        for _ in 0..=unit.cycle() {
            steps::count();
            let day = i64::from(self.days.next(self.next as i32, last as i32)?);
            let period = unit.period(day);
            let visited = self.plan.visited(period);
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

    /// What `BYSETPOS` keeps of the next visited period that has anything.
    fn next_kept(&mut self, unit: DayUnit, times: &Times, positions: &[i64]) -> Option<()> {
        let end = self.to.div_euclid(DAY);
        let mut days = Vec::new();
        for _ in 0..=unit.cycle() {
            steps::count();
            let mut day = unit.first_day(self.next);
            if day > end {
                return None;
            }
            let last = unit.first_day(self.next + 1) - 1;
            self.next += self.plan.interval;
            days.clear();
            while let Some(allowed) = self.days.next(day as i32, last as i32) {
                days.push(i64::from(allowed));
                day = i64::from(allowed) + 1;
            }
            let of_day = times.len() as i64;
            let kept = at_positions(positions, days.len() as i64 * of_day);
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

    /// The next visited period below a day that is allowed.
    fn next_period(&mut self, unit: i64, limits: Clock) -> Option<i64> {
        loop {
            steps::count();
            let at = self.next * unit;
            if at > self.to {
                return None;
            }
            let day = at.div_euclid(DAY);
            let allowed = self.days.next(day as i32, self.to.div_euclid(DAY) as i32)?;
            let skip = if i64::from(allowed) == day {
                limits.skip(at - day * DAY)
            } else {
                i64::from(allowed) * DAY - at
            };
            if skip == 0 {
                self.next = self.next.saturating_add(self.plan.interval);
                return Some(at);
            }
            // A whole number of periods, as limits are; never none.
            self.next = self.plan.visited(self.next + (skip / unit).max(1));
        }
    }

    /// The next occurrence, in seconds; it may lie before `from` or behind `to`.
    fn step(&mut self) -> Option<i64> {
        steps::count();
        let plan = self.plan;
        match &plan.shape {
            Shape::Days {
                unit,
                times,
                positions,
            } if positions.is_empty() => {
                if self.time >= times.len() {
                    self.base = self.next_day(*unit)? * DAY;
                    self.time = 0;
                }
                let time = times.get(self.time)?;
                self.time += 1;
                Some(self.base + time)
            }
            Shape::Days {
                unit,
                times,
                positions,
            } => {
                if self.kept.is_empty() {
                    self.next_kept(*unit, times, positions)?;
                }
                self.kept.pop()
            }
            Shape::Clock {
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
            match self.step() {
                Some(at) if at > self.to => self.done = true,
                Some(at) if at >= self.from => return Some(DateTime::from_seconds(at)),
                Some(_) => {}
                None => self.done = true,
            }
        }
        None
    }
}
