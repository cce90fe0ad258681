//! [`Timing`]: what a component says of its time; what instances are made from.

use super::RecurrenceRule;
use crate::time::{CalendarTime, DateTime, Duration, TimeZone, Timestamp};

/// Seconds by which lengths in days may differ from 24 hours each, offsets from UTC being less
/// than a day.
pub(super) const SLACK: i64 = 2 * 86_400;

/// How something ends: its `DTEND` or `DUE`, or its `DURATION`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EventEnd {
    /// Nothing is said: a day for a day, no time at all for a time (RFC 5545 §3.6.1).
    #[default]
    Unsaid,
    /// `DTEND` or `DUE`: every instance has the same exact duration (§3.8.5.3).
    At(CalendarTime),
    /// `DURATION`: every instance has the same nominal duration.
    After(Duration),
}

/// One date of an `RDATE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RDate {
    /// When it starts.
    pub start: CalendarTime,
    /// How it ends, if it is a period; unsaid for the component's own length.
    pub end: EventEnd,
}

/// The instance that a component stands for: its `RECURRENCE-ID`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecurrenceId {
    /// When the instance would start.
    pub id: CalendarTime,
    /// Whether all instances behind it are changed likewise (`RANGE=THISANDFUTURE`).
    pub this_and_future: bool,
}

/// What one component (`VEVENT`, `VTODO`, `VJOURNAL`) says of its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// `DTSTART`
    pub start: CalendarTime,
    /// `DTEND`, `DUE` or `DURATION`
    pub end: EventEnd,
    /// `RRULE`, several being joined.
    pub rules: Vec<RecurrenceRule>,
    /// `EXRULE` (RFC 2445): what they make is taken away.
    pub exception_rules: Vec<RecurrenceRule>,
    /// `RDATE`
    pub dates: Vec<RDate>,
    /// `EXDATE`. A day takes away all that starts on it.
    pub exception_dates: Vec<CalendarTime>,
    /// `RECURRENCE-ID`; a component that has one does not recur itself.
    pub replaces: Option<RecurrenceId>,
}

impl Timing {
    /// Something that happens once, and of which no end is said.
    #[must_use]
    pub fn once(start: CalendarTime) -> Self {
        Self {
            start,
            end: EventEnd::Unsaid,
            rules: Vec::new(),
            exception_rules: Vec::new(),
            dates: Vec::new(),
            exception_dates: Vec::new(),
            replaces: None,
        }
    }
}

/// How long every instance of a component is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Length {
    /// Days of the calendar, then exact seconds.
    Nominal { days: i64, seconds: i64 },
    /// Seconds of the clock: from a floating time to a floating time.
    Wall(i64),
    /// Exact seconds, to a time in a zone.
    Exact(i64, TimeZone),
}

impl Length {
    /// The length from `start` to `end`. An end before the start is none: the length is nothing,
    /// or a day from a day.
    pub(super) fn new(start: &CalendarTime, end: &EventEnd) -> Self {
        let days = |days: i64| Self::Nominal {
            days: days.max(1),
            seconds: 0,
        };
        match (start, end) {
            (CalendarTime::Date(_), EventEnd::Unsaid) => days(1),
            (CalendarTime::Date(from), EventEnd::At(to)) => {
                days(i64::from(to.local().date().days()) - i64::from(from.days()))
            }
            (CalendarTime::Date(_), EventEnd::After(length)) => {
                days(length.nominal_seconds() / 86_400)
            }
            (_, EventEnd::Unsaid) => Self::Wall(0),
            (_, EventEnd::After(length)) if length.is_negative() => Self::Wall(0),
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
                (None, _) => Self::Wall((to.local().seconds() - start.local().seconds()).max(0)),
            },
        }
    }

    /// Seconds that no instance is longer than.
    pub(super) fn most(&self) -> i64 {
        match self {
            Self::Nominal { days: 0, seconds } | Self::Exact(seconds, _) => *seconds,
            Self::Nominal { days, seconds } => days * 86_400 + seconds + SLACK,
            Self::Wall(0) => 0,
            Self::Wall(seconds) => seconds + SLACK,
        }
    }

    /// Seconds that every instance is long, where neither a clock nor a calendar says it: in UTC.
    pub(super) fn in_utc(&self) -> i64 {
        match self {
            Self::Nominal { days, seconds } => days * 86_400 + seconds,
            Self::Wall(seconds) | Self::Exact(seconds, _) => *seconds,
        }
    }

    /// Returns the end of an instance that starts at `start`, which is the instant `at` in `zone`
    /// (the display time zone for dates and floating times).
    pub(super) fn end(
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
            | Self::Wall(0) => (start.clone(), at),
            Self::Nominal { days, seconds } => {
                let wall = start.local().plus_seconds(days * 86_400);
                let moved = like(start, wall);
                let until = if *days == 0 {
                    at
                } else {
                    zone.resolve(wall).at
                };
                if *seconds == 0 {
                    return (moved, until.max(at));
                }
                let until = until.plus_seconds(*seconds);
                (like(start, zone.to_local(until)), until.max(at))
            }
            Self::Wall(seconds) => {
                let wall = start.local().plus_seconds(*seconds);
                (like(start, wall), zone.resolve(wall).at.max(at))
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

/// `wall` as the kind of time that `time` is.
pub(super) fn like(time: &CalendarTime, wall: DateTime) -> CalendarTime {
    match time {
        CalendarTime::Date(_) => CalendarTime::Date(wall.date()),
        CalendarTime::Floating(_) => CalendarTime::Floating(wall),
        CalendarTime::Zoned(_, zone) => CalendarTime::Zoned(wall, zone.clone()),
        CalendarTime::Utc(_) => CalendarTime::Utc(TimeZone::UTC.to_utc(wall)),
    }
}
