//! [`Timing`]: the times of a component, from which its instances are expanded.

use super::RecurrenceRule;
use crate::time::{CalendarTime, DateTime, Duration, TimeZone, Timestamp};

/// Seconds by which nominal days can differ from 24 hours each; UTC offsets are less than a day.
pub(super) const MAX_OFFSET_SHIFT: i64 = 2 * 86_400;

/// The end of a component: `DTEND` or `DUE`, or `DURATION`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EventEnd {
    /// Not given: one day for a date, no length for a time (RFC 5545 section 3.6.1).
    #[default]
    Unspecified,
    /// `DTEND` or `DUE`: every instance has an equal exact duration (section 3.8.5.3).
    At(CalendarTime),
    /// `DURATION`: every instance has an equal nominal duration.
    After(Duration),
}

/// One date of an `RDATE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RDate {
    /// The start.
    pub start: CalendarTime,
    /// The end of a period; unspecified for the length of the component.
    pub end: EventEnd,
}

/// The instance that a component overrides: its `RECURRENCE-ID`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecurrenceId {
    /// The original start of the instance.
    pub id: CalendarTime,
    /// Whether all later instances change likewise (`RANGE=THISANDFUTURE`).
    pub this_and_future: bool,
}

/// The times of one component (`VEVENT`, `VTODO`, `VJOURNAL`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// `DTSTART`
    pub start: CalendarTime,
    /// `DTEND`, `DUE` or `DURATION`
    pub end: EventEnd,
    /// `RRULE`; several are united.
    pub rules: Vec<RecurrenceRule>,
    /// `EXRULE` (RFC 2445): removes the occurrences of these rules.
    pub exception_rules: Vec<RecurrenceRule>,
    /// `RDATE`
    pub dates: Vec<RDate>,
    /// `EXDATE`. A date removes all instances that start on it.
    pub exception_dates: Vec<CalendarTime>,
    /// `RECURRENCE-ID`; a component with one does not recur itself.
    pub recurrence_id: Option<RecurrenceId>,
}

impl Timing {
    /// Returns the times of a single instance without an end.
    pub fn once(start: CalendarTime) -> Self {
        Self {
            start,
            end: EventEnd::Unspecified,
            rules: Vec::new(),
            exception_rules: Vec::new(),
            dates: Vec::new(),
            exception_dates: Vec::new(),
            recurrence_id: None,
        }
    }
}

/// The length of every instance of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InstanceLength {
    /// Calendar days, then exact seconds.
    Nominal { days: i64, seconds: i64 },
    /// Seconds of local time: from a floating time to a floating time.
    Local(i64),
    /// Exact seconds, to a time in a time zone.
    Exact(i64, TimeZone),
}

impl InstanceLength {
    /// Returns the length from `start` to `end`. An end before the start counts as no length, or
    /// one day for a date.
    pub(super) fn new(start: &CalendarTime, end: &EventEnd) -> Self {
        // An event of dates lasts at least one day (RFC 5545 section 3.6.1).
        let days = |days: i64| Self::Nominal {
            days: days.max(1),
            seconds: 0,
        };
        match (start, end) {
            (CalendarTime::Date(_), EventEnd::Unspecified) => days(1),
            (CalendarTime::Date(from), EventEnd::At(to)) => {
                days(i64::from(to.local().date().days()) - i64::from(from.days()))
            }
            (CalendarTime::Date(_), EventEnd::After(length)) => {
                days(length.nominal_seconds() / 86_400)
            }
            (_, EventEnd::Unspecified) => Self::Local(0),
            (_, EventEnd::After(length)) if length.is_negative() => Self::Local(0),
            (_, EventEnd::After(length)) => Self::Nominal {
                days: length.days(),
                seconds: length.seconds(),
            },
            (_, EventEnd::At(to)) => match (start.zone(), to.zone()) {
                (Some(zone), Some(_)) => {
                    let exact = to.at(zone).seconds() - start.at(zone).seconds();
                    Self::Exact(exact.max(0), to.zone().cloned().unwrap_or(TimeZone::UTC))
                }
                (Some(zone), None) => {
                    let exact = to.at(zone).seconds() - start.at(zone).seconds();
                    Self::Exact(exact.max(0), zone.clone())
                }
                (None, _) => Self::Local((to.local().seconds() - start.local().seconds()).max(0)),
            },
        }
    }

    /// Returns an upper bound of the length in seconds.
    pub(super) fn max_seconds(&self) -> i64 {
        match self {
            Self::Nominal { days: 0, seconds } | Self::Exact(seconds, _) => *seconds,
            Self::Nominal { days, seconds } => days * 86_400 + seconds + MAX_OFFSET_SHIFT,
            Self::Local(0) => 0,
            Self::Local(seconds) => seconds + MAX_OFFSET_SHIFT,
        }
    }

    /// Returns the length in seconds where no clock change affects it: in UTC.
    pub(super) fn in_utc(&self) -> i64 {
        match self {
            Self::Nominal { days, seconds } => days * 86_400 + seconds,
            Self::Local(seconds) | Self::Exact(seconds, _) => *seconds,
        }
    }

    /// Returns the end of an instance that starts at `start`, which is the instant `at` in `zone`
    /// (the display time zone for dates and floating times).
    pub(super) fn end_of(
        &self,
        start: &CalendarTime,
        at: Timestamp,
        zone: &TimeZone,
    ) -> (CalendarTime, Timestamp) {
        match self {
            Self::Nominal {
                days: 0,
                seconds: 0,
            }
            | Self::Local(0) => (start.clone(), at),
            Self::Nominal { days, seconds } => {
                let local = start.local().plus_seconds(days * 86_400);
                let moved = with_local(start, local);
                let until = if *days == 0 {
                    at
                } else {
                    zone.resolve(local).at
                };
                // Where clocks go back, the local end may be an instant before the start.
                if *seconds == 0 {
                    return (moved, until.max(at));
                }
                let until = until.plus_seconds(*seconds);
                (with_local(start, zone.to_local(until)), until.max(at))
            }
            Self::Local(seconds) => {
                let local = start.local().plus_seconds(*seconds);
                (with_local(start, local), zone.resolve(local).at.max(at))
            }
            Self::Exact(seconds, to) => {
                let until = at.plus_seconds(*seconds);
                let end = if *to == TimeZone::UTC {
                    CalendarTime::Utc(until)
                } else {
                    CalendarTime::Zoned(to.to_local(until), to.clone())
                };
                (end, until)
            }
        }
    }
}

/// Returns `local` as the kind of time that `time` is.
pub(super) fn with_local(time: &CalendarTime, local: DateTime) -> CalendarTime {
    match time {
        CalendarTime::Date(_) => CalendarTime::Date(local.date()),
        CalendarTime::Floating(_) => CalendarTime::Floating(local),
        CalendarTime::Zoned(_, zone) => CalendarTime::Zoned(local, zone.clone()),
        CalendarTime::Utc(_) => CalendarTime::Utc(TimeZone::UTC.to_utc(local)),
    }
}
