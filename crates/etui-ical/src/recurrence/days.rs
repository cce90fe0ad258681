//! The days that a rule allows, one month at a time.
//!
//! All parts of a rule about days answer one question for a single day: is it allowed? RFC 5545
//! section 3.3.10 distinguishes parts that expand from parts that limit; starting from all days of
//! the period, both keep the days that the part names. The answers for a month are the bits of one
//! word, computed when the month is entered.

use super::rule::{Frequency, RecurrenceRule, Skip};
use super::steps;
use crate::time::{Date, days_of, first_weekday, month_length, year_length, ymd_of};

/// Months after which the calendar repeats, weekdays included: 400 years.
const CYCLE_MONTHS: u32 = 4_800;

/// A weekday that is the nth of its month or year.
#[derive(Debug, Clone, Copy)]
struct WeekdayInSpan {
    nth: i32,
    /// 0 for Monday.
    weekday: u32,
}

impl WeekdayInSpan {
    /// Returns its day, counted from 0, in a span of `length` days that starts on the weekday
    /// `first`.
    fn day_in_span(self, first: u32, length: i32) -> Option<i32> {
        let day = if self.nth > 0 {
            ((self.weekday + 7 - first) % 7) as i32 + 7 * (self.nth - 1)
        } else {
            let last = (first + length as u32 - 1) % 7;
            length - 1 - ((last + 7 - self.weekday) % 7) as i32 + 7 * (self.nth + 1)
        };
        (0..length).contains(&day).then_some(day)
    }
}

/// WeekNumbers of the year, counted from its start and from its end; bit n is the nth week.
#[derive(Debug, Clone, Copy)]
struct WeekNumbers {
    front: u64,
    back: u64,
}

/// The conditions of a rule on days.
#[derive(Debug, Clone)]
pub(super) struct DayFilter {
    /// Bit n is month n.
    months: u16,
    /// Bit n is day n + 1, for months of 28 to 31 days.
    month_days: [u32; 4],
    /// Bit n is weekday n; empty if the rule names no weekdays.
    weekdays: u8,
    of_month: Vec<WeekdayInSpan>,
    of_year: Vec<WeekdayInSpan>,
    by_weekday: bool,
    year_days: Vec<i32>,
    weeks: Option<WeekNumbers>,
    week_start: u32,
    /// The days that not every month or year has, if others take their place.
    skipped: Option<SkippedDays>,
}

/// Days of `SKIP` that not every month (`of_month`) or year (`of_year`) has.
#[derive(Debug, Clone)]
struct SkippedDays {
    skip: Skip,
    of_month: Vec<i32>,
    of_year: Vec<i32>,
}

impl DayFilter {
    /// Builds the filter of `rule` for a component that starts on `start`, from which missing parts
    /// are taken.
    pub(super) fn new(rule: &RecurrenceRule, start: Date) -> Self {
        let (_, month, day) = start.ymd();
        let weekday = start.weekday().index();
        let yearly = rule.frequency == Frequency::Yearly;
        let mut filter = Self {
            months: match rule.by_month.as_slice() {
                // Bits 1 to 12: all months.
                [] => 0x1ffe,
                list => list.iter().fold(0, |bits, m| bits | 1 << m),
            },
            month_days: [u32::MAX; 4],
            weekdays: 0,
            of_month: Vec::new(),
            of_year: Vec::new(),
            by_weekday: !rule.by_day.is_empty(),
            year_days: rule.by_year_day.iter().map(|d| i32::from(*d)).collect(),
            weeks: (!rule.by_week.is_empty()).then(|| WeekNumbers {
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
            skipped: None,
        };
        let mut month_days = rule.by_month_day.clone();
        if !rule.by_month_day.is_empty() {
            filter.only_month_days(&rule.by_month_day);
        }
        // Where ordinals are defined, and whether of a month or a year (section 3.3.10, BYDAY). Elsewhere they are
        // not allowed and are ignored.
        let of_month =
            rule.frequency == Frequency::Monthly || (yearly && !rule.by_month.is_empty());
        let of_year = yearly && rule.by_week.is_empty();
        for day in &rule.by_day {
            let nth = WeekdayInSpan {
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
                month_days.push(day as i8);
                filter.only_month_days(&month_days);
            }
            Frequency::Weekly if no_day && rule.by_week.is_empty() => on_weekday(&mut filter),
            _ => {}
        }
        // Of other frequencies, and within weeks, these parts limit days, and name none.
        let names_days = rule.frequency >= Frequency::Monthly && rule.by_week.is_empty();
        if rule.skip != Skip::Omit && names_days {
            let by_year_day = yearly && !filter.year_days.is_empty();
            let of_month = month_days.iter().map(|d| i32::from(*d));
            let skipped = SkippedDays {
                skip: rule.skip,
                of_month: of_month.filter(|d| d.abs() > 28 && !by_year_day).collect(),
                of_year: if yearly {
                    filter.year_days.clone()
                } else {
                    Vec::new()
                },
            };
            let has_any =
                !skipped.of_month.is_empty() || skipped.of_year.iter().any(|d| d.abs() > 365);
            filter.skipped = has_any.then_some(skipped);
        }
        filter
    }

    /// Returns true if days can take the place of others.
    pub(super) fn has_skipped(&self) -> bool {
        self.skipped.is_some()
    }

    /// Adds the days that take the place of those that the months from `first` to `last`, or years that begin
    /// there, do not have. They are outside of these months by one day at most.
    pub(super) fn add_skipped(&self, first: i32, last: i32, days: &mut Vec<i64>) {
        let Some(skipped) = &self.skipped else { return };
        let place = |wanted: i32, start: i32, length: i32| match (skipped.skip, wanted > 0) {
            (Skip::Backward, true) => start + length - 1,
            (Skip::Backward, false) => start - 1,
            (_, true) => start + length,
            (_, false) => start,
        };
        let mut month_start = first;
        while month_start <= last {
            let (year, month, _) = ymd_of(month_start);
            let length = month_length(year, month) as i32;
            let mut places = Vec::new();
            if self.months & (1 << month) != 0 {
                let missing = skipped.of_month.iter().filter(|d| d.abs() > length);
                places.extend(missing.map(|d| place(*d, month_start, length)));
            }
            let of_year = year_length(year);
            for day in skipped.of_year.iter().filter(|d| d.abs() > of_year) {
                let named_in = if *day > 0 { 12 } else { 1 };
                if month == named_in && self.months & (1 << month) != 0 {
                    let day = place(*day, days_of(year, 1, 1), of_year);
                    let (year, month, of_month) = ymd_of(day);
                    // The masks are those of months of 28 to 31 days.
                    let mask = self.month_days[month_length(year, month) as usize - 28];
                    places.extend((mask & (1 << (of_month - 1)) != 0).then_some(day));
                }
            }
            let allowed = places.into_iter().filter(|day| self.allows_weekday(*day));
            days.extend(allowed.map(i64::from));
            month_start += length;
        }
        days.sort_unstable();
        days.dedup();
    }

    /// Returns true if `BYDAY` allows a day.
    fn allows_weekday(&self, day: i32) -> bool {
        let (year, month, of_month) = ymd_of(day);
        let first = day - of_month as i32 + 1;
        let mask = || self.weekday_mask(year, first, month_length(year, month));
        !self.by_weekday || mask() & (1 << (of_month - 1)) != 0
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

    /// Returns true if every day is allowed.
    pub(super) fn allows_all(&self) -> bool {
        self.months == 0x1ffe
            && self.month_days == [u32::MAX; 4]
            && !self.by_weekday
            && self.year_days.is_empty()
            && self.weeks.is_none()
    }

    /// Returns the allowed days of a month, bit n for day n + 1; `first` is its first day.
    pub(super) fn month_mask(&self, year: i32, month: u32, first: i32) -> u32 {
        if self.months & (1 << month) == 0 {
            return 0;
        }
        let length = month_length(year, month);
        let mut mask = self.month_days[length as usize - 28] & (u32::MAX >> (32 - length));
        if self.by_weekday {
            mask &= self.weekday_mask(year, first, length);
        }
        if !self.year_days.is_empty() {
            mask &= self.year_day_mask(year, first);
        }
        match self.weeks {
            Some(weeks) if mask != 0 => mask & self.week_mask(weeks, first, length),
            _ => mask,
        }
    }

    fn weekday_mask(&self, year: i32, first: i32, length: u32) -> u32 {
        let weekday = first_weekday(first);
        let week = u32::from(self.weekdays);
        // The mask of a week, rotated to the first weekday of the month, is repeated for five weeks.
        let from_first = (week >> weekday | week << (7 - weekday)) & 0x7f;
        let mut mask =
            from_first | from_first << 7 | from_first << 14 | from_first << 21 | from_first << 28;
        for nth in &self.of_month {
            if let Some(day) = nth.day_in_span(weekday, length as i32) {
                mask |= 1 << day;
            }
        }
        if !self.of_year.is_empty() {
            let new_year = days_of(year, 1, 1);
            for nth in &self.of_year {
                let day = nth.day_in_span(first_weekday(new_year), year_length(year));
                mask |= day_bit(day.map(|d| d + new_year - first));
            }
        }
        mask
    }

    fn year_day_mask(&self, year: i32, first: i32) -> u32 {
        let before = first - days_of(year, 1, 1);
        let length = year_length(year);
        self.year_days.iter().fold(0, |mask, day| {
            let day = if *day > 0 { day - 1 } else { length + day };
            mask | day_bit(Some(day - before))
        })
    }

    fn week_mask(&self, weeks: WeekNumbers, first: i32, length: u32) -> u32 {
        let mut mask = 0;
        let mut week = first - ((first_weekday(first) + 7 - self.week_start) % 7) as i32;
        while week < first + length as i32 {
            let year = week_year(week);
            let start = first_week(year, self.week_start);
            let count = (first_week(year + 1, self.week_start) - start) / 7;
            let number = (week - start) / 7 + 1;
            if weeks.front & 1 << number != 0 || weeks.back & 1 << (count + 1 - number) != 0 {
                for day in week..week + 7 {
                    mask |= day_bit(Some(day - first));
                }
            }
            week += 7;
        }
        mask
    }
}

/// Returns the bit of a day of the month, counted from 0; none if it is outside of a month.
fn day_bit(day: Option<i32>) -> u32 {
    match day {
        Some(day @ 0..=30) => 1 << day,
        _ => 0,
    }
}

/// Returns the year of the week that starts on the day `week`: the year with at least four of its
/// days, which is the year of the fourth.
fn week_year(week: i32) -> i32 {
    ymd_of(week + 3).0
}

/// Returns the first day of the first week of a year: the week with 4 January, the first with at
/// least four days in the year.
pub(super) fn first_week(year: i32, week_start: u32) -> i32 {
    let fourth = days_of(year, 1, 4);
    fourth - ((first_weekday(fourth) + 7 - week_start) % 7) as i32
}

/// A cursor over the allowed days that keeps the mask of its month.
#[derive(Debug, Clone)]
pub(super) struct DayCursor<'r> {
    filter: &'r DayFilter,
    /// First day of the month and its length; 0 before the first step.
    first: i32,
    length: i32,
    year: i32,
    month: u32,
    mask: u32,
}

impl<'r> DayCursor<'r> {
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

    /// Returns the first allowed day from `from` to `last`. It also returns `None` after 400 years
    /// of months without a day: then no month has one.
    pub(super) fn next_allowed(&mut self, from: i32, last: i32) -> Option<i32> {
        let mut from = from;
        for _ in 0..=CYCLE_MONTHS {
            if from > last {
                return None;
            }
            steps::count_step();
            self.enter_month(from);
            let bits = self.mask >> (from - self.first);
            if bits != 0 {
                let day = from + bits.trailing_zeros() as i32;
                return (day <= last).then_some(day);
            }
            from = self.first + self.length;
        }
        None
    }

    fn enter_month(&mut self, day: i32) {
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
        self.mask = self.filter.month_mask(self.year, self.month, self.first);
    }
}
