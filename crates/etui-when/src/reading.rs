//! [`Reading`]: the meaning of the words of a time, and the day and time they give.

use etui_ical::time::{Date, DateTime, DateTimeValue, Weekday};

use super::clock::Clock;
use super::format::format_day;
use super::names::weekday_name;
use super::zone_words::ZoneWord;

/// The meaning of the words read so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    pub date: Option<Date>,
    pub weekday: Option<Weekday>,
    /// Weeks after this one.
    pub weeks: Option<i64>,
    /// Days added to the weekday: of "tuesday week" 7.
    pub further_days: i64,
    pub clock: Option<Clock>,
    pub form: ClockForm,
    pub zone: Option<ZoneWord>,
    pub part: Option<DayPart>,
    pub is_all_day: bool,
    pub moment: Option<DateTime>,
}

/// How much a clock time says about the half of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClockForm {
    /// With am or pm, or on a clock of 24 hours: `16:00`, `9pm`, `04:30`.
    #[default]
    Exact,
    /// Of figures that are a time of 24 hours if no part of the day is named: `4:30`, `4 Uhr`.
    Figures,
    /// An hour alone, or in words: `at 4`, `half past six`.
    Bare,
}

/// The half of the day that was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AssumedHalf {
    #[default]
    None,
    Morning,
    Afternoon,
    Night,
}

/// A part of the day, with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayPart {
    Morning,
    Afternoon,
    Evening,
    Night,
}

impl DayPart {
    pub fn named(word: &str) -> Option<Self> {
        Some(match word {
            "morning" => Self::Morning,
            "afternoon" => Self::Afternoon,
            "evening" | "tonight" => Self::Evening,
            "night" => Self::Night,
            _ => return None,
        })
    }

    pub fn clock(self) -> Clock {
        match self {
            Self::Morning => (9, 0, 0),
            Self::Afternoon => (15, 0, 0),
            Self::Evening | Self::Night => (20, 0, 0),
        }
    }

    /// Returns the hour of the day of an hour on a clock of twelve hours: 2 at night is early, 9 is late.
    fn hour(self, hour: u32) -> u32 {
        match (self, hour) {
            (Self::Afternoon, 1..12) | (Self::Evening, 1..12) | (Self::Night, 6..12) => hour + 12,
            (Self::Night | Self::Evening, 12) => 0,
            _ => hour,
        }
    }
}

/// Hours that nobody means in the night if they say "at 3".
const FIRST_HOURS: std::ops::RangeInclusive<u32> = 1..=6;

impl Reading {
    pub fn has_day(&self) -> bool {
        self.date.is_some() || self.weekday.is_some() || self.weeks.is_some()
    }

    pub fn is_empty(&self) -> bool {
        !self.has_day()
            && self.clock.is_none()
            && self.part.is_none()
            && self.moment.is_none()
            && !self.is_all_day
    }

    pub fn is_clock_alone(&self) -> bool {
        !self.has_day() && self.moment.is_none() && self.zone.is_none() && !self.is_all_day
    }

    /// Returns the day, if there is one.
    pub fn day(&self, today: Date) -> Result<Option<Date>, String> {
        let monday = today.plus_days(-i64::from(today.weekday().index()));
        let day = match (self.date, self.weekday, self.weeks) {
            (Some(date), Some(weekday), _) if date.weekday() != weekday => {
                return Err(format!(
                    "{} is not a {}",
                    format_day(date),
                    weekday_name(weekday)
                ));
            }
            (Some(date), ..) => date,
            (None, Some(weekday), Some(weeks)) => {
                monday.plus_days(7 * weeks + i64::from(weekday.index()))
            }
            (None, Some(weekday), None) => {
                let ahead = i64::from(weekday.index()) - i64::from(today.weekday().index());
                today.plus_days(ahead.rem_euclid(7))
            }
            (None, None, Some(0)) => today,
            (None, None, Some(weeks)) => monday.plus_days(7 * weeks),
            (None, None, None) => return Ok(None),
        };
        Ok(Some(day.plus_days(self.further_days)))
    }

    /// Returns the clock time with its half of the day, and whether the half was assumed.
    pub fn full_clock(&self, hint: Option<DayPart>) -> Option<(Clock, AssumedHalf)> {
        let Some((hour, minute, second)) = self.clock else {
            return Some((self.part?.clock(), AssumedHalf::None));
        };
        if self.form == ClockForm::Exact {
            return Some(((hour, minute, second), AssumedHalf::None));
        }
        if let Some(part) = self.part {
            return Some(((part.hour(hour), minute, second), AssumedHalf::None));
        }
        let is_bare = self.form == ClockForm::Bare;
        let (hour, assumed) = match (hint, hour) {
            (Some(DayPart::Morning), _) if is_bare => (hour, AssumedHalf::None),
            (Some(_), 1..12) if is_bare => (hour + 12, AssumedHalf::Afternoon),
            (_, hour) if FIRST_HOURS.contains(&hour) => match is_bare {
                true => (hour + 12, AssumedHalf::Afternoon),
                false if hour < 6 => (hour, AssumedHalf::Night),
                false => (hour, AssumedHalf::None),
            },
            (_, 7..=8) if is_bare => (hour, AssumedHalf::Morning),
            _ => (hour, AssumedHalf::None),
        };
        Some(((hour, minute, second), assumed))
    }

    /// Returns the value; a time alone is on `default_day`. `None` if there is neither a day nor a time.
    ///
    /// # Errors
    /// The weekday is not that of the date.
    pub fn value(
        &self,
        default_day: Date,
        now: DateTime,
        hint: Option<DayPart>,
    ) -> Result<Option<DateTimeValue>, String> {
        if let Some(moment) = self.moment {
            return Ok(Some(DateTimeValue::Local(moment)));
        }
        let day = self.day(now.date())?;
        let clock = self.full_clock(hint).filter(|_| !self.is_all_day);
        let Some(((hour, minute, second), _)) = clock else {
            let day = day.or(self.is_all_day.then_some(default_day));
            return Ok(day.map(DateTimeValue::Date));
        };
        let Some(local) = day.unwrap_or(default_day).at(hour, minute, second) else {
            return Ok(None);
        };
        Ok(Some(match self.zone {
            Some(zone) => DateTimeValue::Utc(zone.to_utc(local)),
            None => DateTimeValue::Local(local),
        }))
    }
}
