//! [`DayUnit`]: numbered periods of days.

use super::days::first_week;
use crate::time::{days_of, ymd_of};

/// The period of a rule of days.
#[derive(Debug, Clone, Copy)]
pub(super) enum DayUnit {
    Day,
    /// Weeks aligned with the one that starts on this day.
    Week(i64),
    Month,
    Year,
    /// Years of whole weeks (`BYWEEKNO`), with the first weekday of a week.
    WeekYear(u32),
}

impl DayUnit {
    /// Returns the number of the period of a day.
    pub(super) fn period_of(self, day: i64) -> i64 {
        match self {
            Self::Day => day,
            Self::Week(from) => (day - from).div_euclid(7),
            Self::Month => {
                let (year, month, _) = ymd_of(day as i32);
                i64::from(year) * 12 + i64::from(month) - 1
            }
            Self::Year => ymd_of(day as i32).0.into(),
            Self::WeekYear(week_start) => {
                let (year, ..) = ymd_of(day as i32);
                let of = |y| i64::from(first_week(y, week_start));
                if day < of(year) {
                    i64::from(year) - 1
                } else if day >= of(year + 1) {
                    i64::from(year) + 1
                } else {
                    year.into()
                }
            }
        }
    }

    /// Returns the first day of a period.
    pub(super) fn first_day(self, period: i64) -> i64 {
        // Nothing is needed after the year 9999 but the start of the next period.
        let year = |p: i64| p.clamp(-1, 10_001) as i32;
        match self {
            Self::Day => period,
            Self::Week(from) => period * 7 + from,
            Self::Month => {
                let month = period.rem_euclid(12) as u32 + 1;
                days_of(year(period.div_euclid(12)), month, 1).into()
            }
            Self::Year => days_of(year(period), 1, 1).into(),
            Self::WeekYear(week_start) => first_week(year(period), week_start).into(),
        }
    }

    /// Returns the number of periods after which the calendar repeats.
    pub(super) fn cycle_length(self) -> u32 {
        match self {
            // The Gregorian calendar repeats after 400 years, which are whole weeks.
            Self::Day => 146_097,
            Self::Week(_) => 20_871,
            Self::Month => 4_800,
            Self::Year | Self::WeekYear(_) => 400,
        }
    }
}

/// Returns the indices, of `total` items, that `BYSETPOS` keeps, in order.
pub(super) fn select_positions(positions: &[i64], total: i64) -> Vec<i64> {
    let mut kept: Vec<i64> = positions
        .iter()
        .map(|p| if *p > 0 { p - 1 } else { total + p })
        .filter(|p| (0..total).contains(p))
        .collect();
    kept.sort_unstable();
    kept.dedup();
    kept
}
