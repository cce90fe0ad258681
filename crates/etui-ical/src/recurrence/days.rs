//! Which days a rule allows, a month at a time.
//!
//! All parts of a rule that are about days come down to one question of a single day: is it
//! allowed? (RFC 5545 §3.3.10 tells parts that expand from parts that limit; with the days of the
//! whole period to start from, both keep those days that the part names.) A month's answers are
//! the bits of one word, made when the month is entered.

use super::rule::{Frequency, RecurrenceRule};
use super::steps;
use crate::time::{Date, days_of, first_weekday, month_length, year_length, ymd_of};

/// Months after which the calendar, weekdays included, repeats: 400 years.
const CYCLE_MONTHS: u32 = 4_800;

/// A weekday that is the nth of its month or year.
#[derive(Debug, Clone, Copy)]
struct Nth {
    nth: i32,
    /// Monday being 0.
    weekday: u32,
}

impl Nth {
    /// Its day, counted from 0, in a span of `length` days that starts on the weekday `first`.
    fn day(self, first: u32, length: i32) -> Option<i32> {
        let day = if self.nth > 0 {
            ((self.weekday + 7 - first) % 7) as i32 + 7 * (self.nth - 1)
        } else {
            let last = (first + length as u32 - 1) % 7;
            length - 1 - ((last + 7 - self.weekday) % 7) as i32 + 7 * (self.nth + 1)
        };
        (0..length).contains(&day).then_some(day)
    }
}

/// Weeks of the year, counted from its start and from its end; bit n is the nth.
#[derive(Debug, Clone, Copy)]
struct Weeks {
    front: u64,
    back: u64,
}

/// What a rule says of days.
#[derive(Debug, Clone)]
pub(super) struct DayFilter {
    /// Bit n is month n.
    months: u16,
    /// Bit n is the day n + 1, for months of 28 to 31 days.
    month_days: [u32; 4],
    /// Bit n is the weekday n; none when the rule names no weekdays.
    weekdays: u8,
    of_month: Vec<Nth>,
    of_year: Vec<Nth>,
    by_weekday: bool,
    year_days: Vec<i32>,
    weeks: Option<Weeks>,
    week_start: u32,
}

impl DayFilter {
    /// The days of `rule` for something that starts on `start`: what the rule does not say is
    /// taken from there.
    pub(super) fn new(rule: &RecurrenceRule, start: Date) -> Self {
        let (_, month, day) = start.ymd();
        let weekday = start.weekday().index();
        let yearly = rule.frequency == Frequency::Yearly;
        let mut filter = Self {
            months: match rule.by_month.as_slice() {
                [] => 0x1ffe,
                list => list.iter().fold(0, |bits, m| bits | 1 << m),
            },
            month_days: [u32::MAX; 4],
            weekdays: 0,
            of_month: Vec::new(),
            of_year: Vec::new(),
            by_weekday: !rule.by_day.is_empty(),
            year_days: rule.by_year_day.iter().map(|d| i32::from(*d)).collect(),
            weeks: (!rule.by_week.is_empty()).then(|| Weeks {
                front: rule
                    .by_week
                    .iter()
                    .filter(|w| **w > 0)
                    .fold(0, |b, w| b | 1 << w),
                back: rule
                    .by_week
                    .iter()
                    .filter(|w| **w < 0)
                    .fold(0, |b, w| b | 1 << -w),
            }),
            week_start: rule.week_start.index().into(),
        };
        if !rule.by_month_day.is_empty() {
            filter.only_month_days(&rule.by_month_day);
        }
        // Which ordinals mean something, and of what (§3.3.10, BYDAY): elsewhere they may not
        // stand, and are passed over.
        let of_month =
            rule.frequency == Frequency::Monthly || (yearly && !rule.by_month.is_empty());
        let of_year = yearly && rule.by_week.is_empty();
        for day in &rule.by_day {
            let nth = Nth {
                nth: day.nth.into(),
                weekday: day.weekday.index().into(),
            };
            match day.nth {
                0 => filter.weekdays |= 1 << nth.weekday,
                _ if of_month && rule.by_week.is_empty() => filter.of_month.push(nth),
                _ if of_year => filter.of_year.push(nth),
                _ => filter.weekdays |= 1 << nth.weekday,
            }
        }
        // Without any of these the day comes from the start.
        let no_day =
            rule.by_day.is_empty() && rule.by_month_day.is_empty() && rule.by_year_day.is_empty();
        let on_weekday = |filter: &mut Self| {
            filter.by_weekday = true;
            filter.weekdays = 1 << weekday;
        };
        match rule.frequency {
            Frequency::Yearly if no_day && !rule.by_week.is_empty() => on_weekday(&mut filter),
            Frequency::Yearly | Frequency::Monthly if no_day && rule.by_week.is_empty() => {
                if yearly && rule.by_month.is_empty() {
                    filter.months = 1 << month;
                }
                filter.only_month_days(&[day as i8]);
            }
            Frequency::Weekly if no_day && rule.by_week.is_empty() => on_weekday(&mut filter),
            _ => {}
        }
        filter
    }

    fn only_month_days(&mut self, days: &[i8]) {
        for (length, mask) in (28i32..).zip(&mut self.month_days) {
            *mask = 0;
            for day in days.iter().map(|d| i32::from(*d)) {
                let day = if day > 0 { day } else { length + 1 + day };
                if (1..=length).contains(&day) {
                    *mask |= 1 << (day - 1);
                }
            }
        }
    }

    /// Whether every day is allowed.
    pub(super) fn allows_all(&self) -> bool {
        self.months == 0x1ffe
            && self.month_days == [u32::MAX; 4]
            && !self.by_weekday
            && self.year_days.is_empty()
            && self.weeks.is_none()
    }

    /// The allowed days of a month, bit n being the day n + 1; `first` is its first day.
    pub(super) fn month(&self, year: i32, month: u32, first: i32) -> u32 {
        if self.months & (1 << month) == 0 {
            return 0;
        }
        let length = month_length(year, month);
        let mut mask = self.month_days[length as usize - 28] & (u32::MAX >> (32 - length));
        if self.by_weekday {
            mask &= self.weekdays(year, first, length);
        }
        if !self.year_days.is_empty() {
            mask &= self.year_days(year, first);
        }
        match self.weeks {
            Some(weeks) if mask != 0 => mask & self.weeks(weeks, first, length),
            _ => mask,
        }
    }

    fn weekdays(&self, year: i32, first: i32, length: u32) -> u32 {
        let weekday = first_weekday(first);
        let week = u32::from(self.weekdays);
        let from_first = (week >> weekday | week << (7 - weekday)) & 0x7f;
        let mut mask =
            from_first | from_first << 7 | from_first << 14 | from_first << 21 | from_first << 28;
        for nth in &self.of_month {
            if let Some(day) = nth.day(weekday, length as i32) {
                mask |= 1 << day;
            }
        }
        if !self.of_year.is_empty() {
            let new_year = days_of(year, 1, 1);
            for nth in &self.of_year {
                let day = nth.day(first_weekday(new_year), year_length(year));
                mask |= bit(day.map(|d| d + new_year - first));
            }
        }
        mask
    }

    fn year_days(&self, year: i32, first: i32) -> u32 {
        let before = first - days_of(year, 1, 1);
        let length = year_length(year);
        self.year_days.iter().fold(0, |mask, day| {
            let day = if *day > 0 { day - 1 } else { length + day };
            mask | bit(Some(day - before))
        })
    }

    fn weeks(&self, weeks: Weeks, first: i32, length: u32) -> u32 {
        let mut mask = 0;
        let mut week = first - ((first_weekday(first) + 7 - self.week_start) % 7) as i32;
        while week < first + length as i32 {
            let year = week_year(week);
            let start = first_week(year, self.week_start);
            let count = (first_week(year + 1, self.week_start) - start) / 7;
            let number = (week - start) / 7 + 1;
            if weeks.front & 1 << number != 0 || weeks.back & 1 << (count + 1 - number) != 0 {
                for day in week..week + 7 {
                    mask |= bit(Some(day - first));
                }
            }
            week += 7;
        }
        mask
    }
}

/// The bit of a day of the month, counted from 0; none if it is not in a month.
fn bit(day: Option<i32>) -> u32 {
    match day {
        Some(day @ 0..=30) => 1 << day,
        _ => 0,
    }
}

/// The year to which the week belongs that starts on the day `week`: the one with at least four
/// of its days, which is that of its fourth.
fn week_year(week: i32) -> i32 {
    ymd_of(week + 3).0
}

/// The day on which the first week of a year starts. It is the week with 4 January, the first
/// with at least four days in the year.
pub(super) fn first_week(year: i32, week_start: u32) -> i32 {
    let fourth = days_of(year, 1, 4);
    fourth - ((first_weekday(fourth) + 7 - week_start) % 7) as i32
}

/// Walks the allowed days; it knows the month it is in.
#[derive(Debug, Clone)]
pub(super) struct Days<'r> {
    filter: &'r DayFilter,
    /// First day of the month and its length; no days before the first step.
    first: i32,
    length: i32,
    year: i32,
    month: u32,
    mask: u32,
}

impl<'r> Days<'r> {
    pub(super) fn new(filter: &'r DayFilter) -> Self {
        Self {
            filter,
            first: 0,
            length: 0,
            year: 0,
            month: 0,
            mask: 0,
        }
    }

    /// The first allowed day that is not before `from` and not behind `last`. `None` also when
    /// 400 years of months have none: then no month has.
    pub(super) fn next(&mut self, from: i32, last: i32) -> Option<i32> {
        let mut from = from;
        for _ in 0..=CYCLE_MONTHS {
            if from > last {
                return None;
            }
            steps::count();
            self.enter(from);
            let bits = self.mask >> (from - self.first);
            if bits != 0 {
                let day = from + bits.trailing_zeros() as i32;
                return (day <= last).then_some(day);
            }
            from = self.first + self.length;
        }
        None
    }

    fn enter(&mut self, day: i32) {
        if (self.first..self.first + self.length).contains(&day) {
            return;
        }
        if day == self.first + self.length && self.length > 0 {
            self.first = day;
            (self.year, self.month) = match self.month {
                12 => (self.year + 1, 1),
                month => (self.year, month + 1),
            };
        } else {
            let (year, month, of_month) = ymd_of(day);
            self.first = day - of_month as i32 + 1;
            (self.year, self.month) = (year, month);
        }
        self.length = month_length(self.year, self.month) as i32;
        self.mask = self.filter.month(self.year, self.month, self.first);
    }
}
