//! A series whose start moves: its rule, excluded times and overrides follow.
//!
//! ```text
//! rule      Mo Tu We Th Fr    start: Mo 9:00 -> next Mo 10:00    excluded: We 9:00 -> We 10:00
//! rule      Mo -> Tu          start: Mo 9:00 -> Tu 9:00          excluded: Mo 9:00 -> Tu 9:00
//! ```
//!
//! Excluded and changed times were chosen by their day. They keep it if the series still has it, and only
//! their time of day follows. If all days move, they move along.

use super::{CalendarObject, ObjectError};
use crate::recurrence::{CompiledRule, NthWeekday, RecurrenceRule};
use crate::time::{CalendarTime, DAY, Date, DateTime, DateTimeValue, TimeZone};
use crate::zones::TimeZoneResolver;

/// The excluded times and overrides of a series whose start moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MovedExceptions {
    /// They moved to other days with the series.
    pub moved: usize,
    /// They kept their days.
    pub kept: usize,
    /// The series no longer has their days: they are gone.
    pub dropped: usize,
}

impl RecurrenceRule {
    /// Returns the rule of a series whose first day moves: the rule itself if it has the new day, or else
    /// the one weekday, day of the month or month in it moved along. `None` if no single one would do.
    #[must_use]
    pub fn for_start(&self, from: Date, to: Date) -> Option<Self> {
        let endless = |rule: &Self| Self {
            count: None,
            until: None,
            ..rule.clone()
        };
        let has_day = |rule: &Self, day: Date| {
            let start = day.midnight();
            let rule = CompiledRule::new(&endless(rule), start, true);
            rule.occurrences(start, start.plus_seconds(1)).next() == Some(start)
        };
        if has_day(self, to) {
            return Some(self.clone());
        }
        if !has_day(self, from) {
            return None;
        }
        let (_, from_month, from_day) = from.ymd();
        let (_, to_month, to_day) = to.ymd();
        let is_last_week = to.plus_days(7).ymd().1 != to_month;
        let mut rule = self.clone();
        if let [NthWeekday { nth, weekday }] = rule.by_day.as_mut_slice() {
            *weekday = to.weekday();
            *nth = match *nth {
                0 => 0,
                nth if nth > 0 => i8::try_from((to_day - 1) / 7 + 1).ok()?,
                -1 if is_last_week => -1,
                _ => return None,
            };
        }
        if let [day] = rule.by_month_day.as_mut_slice()
            && i64::from(*day) == i64::from(from_day)
        {
            *day = i8::try_from(to_day).ok()?;
        }
        if let [month] = rule.by_month.as_mut_slice()
            && u32::from(*month) == from_month
        {
            *month = u8::try_from(to_month).ok()?;
        }
        has_day(&rule, to).then_some(rule)
    }
}

impl CalendarObject {
    /// Moves the start of a series, which then has the given rule in place of its only one; several rules
    /// stay as they are. The end of the master component stays.
    ///
    /// # Errors
    /// [`ObjectError::TooLarge`].
    pub fn move_start(
        &mut self,
        start: &CalendarTime,
        rule: Option<&RecurrenceRule>,
        zones: &TimeZoneResolver,
    ) -> Result<MovedExceptions, ObjectError> {
        let at = self.master_index();
        let mut report = MovedExceptions::default();
        let Some(timing) = self.master().timing.clone() else {
            self.set_time(at, "DTSTART", start, zones)?;
            return Ok(report);
        };
        let before = timing.start.clone();
        let old = self.without_exceptions(None, zones)?;
        let old_endless =
            self.without_exceptions(timing.rules.first().map(endless).as_ref(), zones)?;
        let mut rule = match (rule, timing.rules.as_slice()) {
            (Some(rule), [_]) => Some(rule.clone()),
            (None, [rule]) => Some(rule.clone()),
            _ => None,
        };
        self.set_time(at, "DTSTART", start, zones)?;
        let new_endless = self.without_exceptions(rule.as_ref().map(endless).as_ref(), zones)?;
        let day_of = |day: &CalendarTime, time: &CalendarTime| {
            let seconds = of_day(time);
            in_form_of(time, day.local().date().midnight().plus_seconds(seconds))
        };
        let keeps_days = old_endless.has_instance(&day_of(start, &before))
            || new_endless.has_instance(&day_of(&before, start));
        let shift = Shift {
            before: &before,
            start,
            keeps_days,
        };
        if let Some(rule) = &mut rule {
            rule.until = rule.until.map(|until| shift.end(until));
            self.set(at, "RRULE", &rule.to_string(), zones)?;
        }
        let new = self.without_exceptions(None, zones)?;
        let mut follow = |time: &CalendarTime| {
            let moved = shift.time(time);
            // A time that the series did not have has no effect, and is kept.
            if old.has_instance(time) && !new.has_instance(&moved) {
                report.dropped += 1;
                return None;
            }
            match keeps_days {
                true => report.kept += 1,
                false => report.moved += 1,
            }
            Some(moved)
        };
        let excluded: Vec<CalendarTime> = timing
            .exception_dates
            .iter()
            .filter_map(&mut follow)
            .collect();
        let overrides: Vec<(usize, Option<CalendarTime>)> = self
            .components()
            .enumerate()
            .filter_map(|(i, item)| {
                let id = item.timing.as_ref()?.recurrence_id.as_ref()?;
                Some((i, follow(&id.id)))
            })
            .collect();
        if !timing.exception_dates.is_empty() {
            self.remove(at, "EXDATE", None, zones)?;
        }
        if let Some(first) = excluded.first() {
            self.set_time(at, "EXDATE", first, zones)?;
            let values: Vec<String> = excluded
                .iter()
                .map(|time| format_like(first, time))
                .collect();
            self.set(at, "EXDATE", &values.join(","), zones)?;
        }
        for (i, id) in &overrides {
            if let Some(id) = id {
                self.set_time(*i, "RECURRENCE-ID", id, zones)?;
            }
        }
        if overrides.iter().any(|(_, id)| id.is_none()) {
            let text = self.in_utf8(zones)?.rebuild(|i, _, own| {
                let is_dropped = overrides.iter().any(|(n, id)| *n == i && id.is_none());
                (!is_dropped).then_some(std::borrow::Cow::Borrowed(own))
            });
            *self = Self::parse(text, zones)?;
        }
        Ok(report)
    }

    /// Returns the master component without its excluded times, and with another rule if one is given.
    fn without_exceptions(
        &self,
        rule: Option<&RecurrenceRule>,
        zones: &TimeZoneResolver,
    ) -> Result<Self, ObjectError> {
        let text = self.component_texts().nth(self.master_index());
        let mut plain = Self::parse(text.unwrap_or_default().to_vec(), zones)?;
        plain.remove(0, "EXDATE", None, zones)?;
        if let Some(rule) = rule {
            plain.set(0, "RRULE", &rule.to_string(), zones)?;
        }
        Ok(plain)
    }
}

/// The move of the times of a series with its start.
struct Shift<'s> {
    before: &'s CalendarTime,
    start: &'s CalendarTime,
    keeps_days: bool,
}

impl Shift<'_> {
    /// Returns a time of the series after the move, in the form of its start.
    fn time(&self, time: &CalendarTime) -> CalendarTime {
        let wall = match (time, self.before.zone()) {
            (CalendarTime::Zoned(..) | CalendarTime::Utc(_), Some(zone)) => {
                zone.to_local(time.at(zone))
            }
            _ => time.local(),
        };
        // An excluded day becomes the new time of day on that day.
        let wall = match time.is_date() && !self.start.is_date() {
            true => wall.date().midnight().plus_seconds(of_day(self.start)),
            false => wall.plus_seconds(self.seconds_of_day()),
        };
        in_form_of(self.start, wall.plus_seconds(self.days() * DAY))
    }

    fn days(&self) -> i64 {
        let days = |time: &CalendarTime| i64::from(time.local().date().days());
        match self.keeps_days {
            true => 0,
            false => days(self.start) - days(self.before),
        }
    }

    /// Returns the difference of the times of day.
    fn seconds_of_day(&self) -> i64 {
        match self.start.is_date() {
            true => 0,
            false => of_day(self.start) - of_day(self.before),
        }
    }

    /// Returns the end of a rule: the end of a day stays, a time moves.
    fn end(&self, until: DateTimeValue) -> DateTimeValue {
        let zone = self.before.zone().cloned().unwrap_or(TimeZone::UTC);
        let local = match until {
            DateTimeValue::Utc(time) => zone.to_local(TimeZone::UTC.to_utc(time)),
            DateTimeValue::Local(time) => time,
            DateTimeValue::Date(day) => day.midnight().plus_seconds(DAY - 1),
        };
        let is_day = self.before.is_date() || of_day_of(local) >= DAY - 60;
        let local = match is_day {
            true => local.date().midnight().plus_seconds(DAY - 1),
            false => local.plus_seconds(self.seconds_of_day() + self.days() * DAY),
        };
        // RFC 5545 section 3.3.10: UNTIL has the form of the start, in UTC if that has a zone.
        match self.start {
            CalendarTime::Date(_) => DateTimeValue::Date(local.date()),
            CalendarTime::Floating(_) => DateTimeValue::Local(local),
            CalendarTime::Zoned(_, zone) => DateTimeValue::Utc(zone.to_utc(local).utc()),
            CalendarTime::Utc(_) => DateTimeValue::Utc(local),
        }
    }
}

fn endless(rule: &RecurrenceRule) -> RecurrenceRule {
    RecurrenceRule {
        count: None,
        until: None,
        ..rule.clone()
    }
}

fn of_day(time: &CalendarTime) -> i64 {
    of_day_of(time.local())
}

fn of_day_of(local: DateTime) -> i64 {
    local.seconds() - local.date().midnight().seconds()
}

/// Returns a local time as a date, floating, or in a zone, as `form` is.
pub(super) fn in_form_of(form: &CalendarTime, local: DateTime) -> CalendarTime {
    match form {
        CalendarTime::Date(_) => CalendarTime::Date(local.date()),
        CalendarTime::Floating(_) => CalendarTime::Floating(local),
        CalendarTime::Zoned(_, zone) => CalendarTime::Zoned(local, zone.clone()),
        CalendarTime::Utc(_) => CalendarTime::Utc(TimeZone::UTC.to_utc(local)),
    }
}

/// Formats a time for a property whose first value is `first`.
fn format_like(first: &CalendarTime, time: &CalendarTime) -> String {
    match first {
        // UTC values are written without a TZID.
        CalendarTime::Zoned(_, zone) if *zone == TimeZone::UTC => time.at(zone).to_string(),
        _ => time.value().to_string(),
    }
}
