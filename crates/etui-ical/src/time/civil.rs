//! [`Date`], [`DateTime`] and [`Timestamp`]: days and seconds counted from 1970-01-01, so that
//! comparison and addition are those of integers.

use std::fmt;

/// Seconds of a day, an hour, a minute.
pub(crate) const DAY: i64 = 86_400;
pub(crate) const HOUR: i64 = 3_600;
pub(crate) const MINUTE: i64 = 60;

/// 0001-01-01 and 9999-12-31 in days since 1970-01-01.
const FIRST_DAY: i32 = -719_162;
const LAST_DAY: i32 = 2_932_896;
/// The first second of 0001-01-01 and the last one of 9999-12-31.
const FIRST_SECOND: i64 = FIRST_DAY as i64 * DAY;
const LAST_SECOND: i64 = (LAST_DAY as i64 + 1) * DAY - 1;
/// Margin by which an instant may exceed the range of local times: more than any UTC offset.
const MAX_OFFSET: i64 = 2 * DAY;

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weekday {
    /// `MO`
    Monday,
    /// `TU`
    Tuesday,
    /// `WE`
    Wednesday,
    /// `TH`
    Thursday,
    /// `FR`
    Friday,
    /// `SA`
    Saturday,
    /// `SU`
    Sunday,
}

impl Weekday {
    /// All weekdays, Monday first.
    pub const ALL: [Weekday; 7] = [
        Self::Monday,
        Self::Tuesday,
        Self::Wednesday,
        Self::Thursday,
        Self::Friday,
        Self::Saturday,
        Self::Sunday,
    ];

    /// Returns the two letters that iCalendar uses.
    pub fn code(self) -> &'static str {
        ["MO", "TU", "WE", "TH", "FR", "SA", "SU"][self as usize]
    }

    /// Parses two letters, in any case.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|w| w.code().eq_ignore_ascii_case(code))
    }

    /// Returns 0 for Monday to 6 for Sunday.
    pub fn index(self) -> u8 {
        self as u8
    }
}

/// Returns the days from 1970-01-01 to a day of the Gregorian calendar; no part is checked.
///
/// The year is taken to begin in March, so that the leap day is its last day: the days before a
/// month are then `(153 m + 2) / 5` (March is 0), and the days before a year follow from the leap
/// years alone.
pub(crate) fn days_of(year: i32, month: u32, day: u32) -> i32 {
    let (year, month) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let before_year = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 719,468 days are between 0000-03-01 and 1970-01-01.
    before_year + ((153 * month + 2) / 5 + day) as i32 - 1 - 719_468
}

/// Returns year, month and day of a day counted from 1970-01-01: the inverse of [`days_of`], with
/// the March-based year.
pub(crate) fn ymd_of(days: i32) -> (i32, u32, u32) {
    // Counted from 0000-03-01: in years that begin in March the leap day is the last.
    let days = days + 719_468;
    let cycle = days.div_euclid(146_097);
    let of_cycle = days.rem_euclid(146_097) as u32;
    // Without the leap days passed so far every year has 365 days.
    let year = (of_cycle - of_cycle / 1_460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let year = cycle * 400 + year as i32;
    if month < 10 {
        (year, month + 3, day)
    } else {
        (year + 1, month - 9, day)
    }
}

/// Returns the weekday of a day counted from 1970-01-01 (a Thursday); Monday is 0.
pub(crate) fn first_weekday(days: i32) -> u32 {
    (days + 3).rem_euclid(7) as u32
}

fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub(crate) fn year_length(year: i32) -> i32 {
    365 + i32::from(is_leap(year))
}

pub(crate) fn month_length(year: i32, month: u32) -> u32 {
    match month {
        2 => 28 + u32::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A day of the Gregorian calendar, years 1 to 9999.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i32);

impl Date {
    /// 0001-01-01.
    pub const MIN: Date = Date(FIRST_DAY);
    /// 9999-12-31.
    pub const MAX: Date = Date(LAST_DAY);

    /// Returns the date with this year, month (from 1) and day (from 1), if it exists.
    pub fn new(year: i32, month: u32, day: u32) -> Option<Self> {
        let exists = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=month_length(year, month)).contains(&day);
        exists.then(|| Self(days_of(year, month, day)))
    }

    /// Returns the date `days` after 1970-01-01, clamped to [`Date::MIN`] and [`Date::MAX`].
    pub fn from_days(days: i64) -> Self {
        Self(days.clamp(FIRST_DAY.into(), LAST_DAY.into()) as i32)
    }

    /// Returns the days since 1970-01-01.
    pub fn days(self) -> i32 {
        self.0
    }

    /// Returns year, month (from 1) and day (from 1).
    pub fn ymd(self) -> (i32, u32, u32) {
        ymd_of(self.0)
    }

    /// Returns the weekday.
    pub fn weekday(self) -> Weekday {
        Weekday::ALL[first_weekday(self.0) as usize]
    }

    /// Returns the date `days` later (earlier if negative), clamped to the range of dates.
    pub fn plus_days(self, days: i64) -> Self {
        Self::from_days(i64::from(self.0).saturating_add(days))
    }

    /// Returns the first second of the date.
    pub fn midnight(self) -> DateTime {
        DateTime(i64::from(self.0) * DAY)
    }
}

impl fmt::Display for Date {
    /// Formats as iCalendar does: `19970714`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.ymd();
        write!(f, "{year:04}{month:02}{day:02}")
    }
}

impl fmt::Debug for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A civil date and time of day, in no time zone.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime(i64);

impl DateTime {
    /// 0001-01-01 00:00:00.
    pub const MIN: DateTime = DateTime(FIRST_SECOND);
    /// 9999-12-31 23:59:59.
    pub const MAX: DateTime = DateTime(LAST_SECOND);

    /// Returns the local time with these parts, if it exists. Second 60 is read as 59.
    pub fn new(
        year: i32,
        month: u32,
        day: u32,
        hour: u32,
        minute: u32,
        second: u32,
    ) -> Option<Self> {
        Date::new(year, month, day)?.at(hour, minute, second)
    }

    /// Returns the local time `seconds` after 1970-01-01 00:00:00, clamped to the range of local
    /// times.
    pub fn from_seconds(seconds: i64) -> Self {
        Self(seconds.clamp(FIRST_SECOND, LAST_SECOND))
    }

    /// Returns the seconds since 1970-01-01 00:00:00 on the same clock.
    pub fn seconds(self) -> i64 {
        self.0
    }

    /// Returns the date.
    pub fn date(self) -> Date {
        Date(self.0.div_euclid(DAY) as i32)
    }

    /// Returns hour, minute and second.
    pub fn hms(self) -> (u32, u32, u32) {
        let second = self.0.rem_euclid(DAY) as u32;
        (second / 3_600, second / 60 % 60, second % 60)
    }

    /// Returns the local time `seconds` later on the same clock (earlier if negative), clamped to
    /// the range of local times.
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self::from_seconds(self.0.saturating_add(seconds))
    }
}

impl Date {
    /// Returns a time of this date, if it exists. Second 60 is read as 59.
    pub fn at(self, hour: u32, minute: u32, second: u32) -> Option<DateTime> {
        let exists = hour < 24 && minute < 60 && second <= 60;
        exists.then(|| {
            let of_day = hour * 3_600 + minute * 60 + second.min(59);
            DateTime(i64::from(self.0) * DAY + i64::from(of_day))
        })
    }
}

impl fmt::Display for DateTime {
    /// Formats as iCalendar does: `19970714T133000`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hour, minute, second) = self.hms();
        write!(f, "{}T{hour:02}{minute:02}{second:02}", self.date())
    }
}

impl fmt::Debug for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An instant: seconds since 1970-01-01 00:00:00 UTC, without leap seconds.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Earlier than every local time in every time zone.
    pub const MIN: Timestamp = Timestamp(FIRST_SECOND - MAX_OFFSET);
    /// Later than every local time in every time zone.
    pub const MAX: Timestamp = Timestamp(LAST_SECOND + MAX_OFFSET);

    /// Returns the instant `seconds` after 1970-01-01 00:00:00 UTC, clamped to the range of
    /// instants.
    pub fn from_seconds(seconds: i64) -> Self {
        Self(seconds.clamp(Self::MIN.0, Self::MAX.0))
    }

    /// Returns the seconds since 1970-01-01 00:00:00 UTC.
    pub fn seconds(self) -> i64 {
        self.0
    }

    /// Returns the instant `seconds` later (earlier if negative), clamped to the range of instants.
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self::from_seconds(self.0.saturating_add(seconds))
    }

    /// Returns the local time in UTC.
    pub fn utc(self) -> DateTime {
        DateTime::from_seconds(self.0)
    }
}

impl From<std::time::SystemTime> for Timestamp {
    fn from(time: std::time::SystemTime) -> Self {
        let seconds = match time.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
            // Rounded down, as after 1970.
            Err(before) => i64::try_from(before.duration().as_secs_f64().ceil() as u64)
                .map_or(i64::MIN, |s| -s),
        };
        Self::from_seconds(seconds)
    }
}

impl fmt::Display for Timestamp {
    /// Formats as iCalendar does: `19970714T133000Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}Z", self.utc())
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_day_of_all_years_has_its_number() {
        let mut expected = FIRST_DAY;
        for year in 1..=9999 {
            for month in 1..=12 {
                for day in 1..=month_length(year, month) {
                    assert_eq!(days_of(year, month, day), expected);
                    assert_eq!(ymd_of(expected), (year, month, day));
                    expected += 1;
                }
            }
        }
        assert_eq!(expected, LAST_DAY + 1);
    }

    #[test]
    fn invalid_dates_and_times_are_none() {
        for (year, month, day) in [
            (0, 1, 1),
            (10_000, 1, 1),
            (1900, 2, 29),
            (2000, 13, 1),
            (2000, 4, 31),
        ] {
            assert_eq!(Date::new(year, month, day), None);
        }
        let day = Date::new(2000, 2, 29).unwrap();
        assert_eq!(day.at(24, 0, 0), None);
        assert_eq!(day.at(23, 59, 60), day.at(23, 59, 59));
        assert_eq!(day.weekday(), Weekday::Tuesday);
    }

    #[test]
    fn results_are_clamped() {
        assert_eq!(Date::MAX.plus_days(1), Date::MAX);
        assert_eq!(Date::MIN.plus_days(i64::MIN), Date::MIN);
        assert_eq!(DateTime::MAX.plus_seconds(i64::MAX), DateTime::MAX);
        assert_eq!(Timestamp::MIN.plus_seconds(i64::MIN), Timestamp::MIN);
    }
}
