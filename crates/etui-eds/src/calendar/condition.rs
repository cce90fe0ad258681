//! [`Condition`]: what a query of calendars asks of one component.

use std::ops::Range;
use std::time::SystemTime;

use etui::calendar::time::{TimeZone, Timestamp};

use super::search_text::SearchText;

/// A condition on one component.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    Const(bool),
    /// Arguments that the stock server cannot evaluate: the query matches nothing.
    Fault,
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
    Compare(Comparison, Box<Operand>, Box<Operand>),
    OccursIn(TimeRange, TimeZone),
    DueIn(TimeRange),
    CompletedBefore(TimeExpr),
    StartsBefore(TimeExpr),
    Contains(TextField, SearchText),
    Uid(String),
    Has(Part),
    HasAlarmsIn(TimeRange),
    /// All of these categories; none at all if empty.
    HasCategories(Vec<String>),
    IsCompleted,
}

/// A comparison of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Less,
    Greater,
}

/// A value that is compared.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand {
    Number(i64),
    Text(String),
    Condition(Condition),
    Time(TimeExpr),
    PercentComplete,
    Occurrences(Option<TimeRange>),
}

/// A time that a query computes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TimeExpr {
    Now,
    At(i64),
    AddDays(Box<TimeExpr>, i64),
    DayBegin(Box<TimeExpr>),
    DayEnd(Box<TimeExpr>),
}

/// A range of times.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TimeRange {
    pub(super) from: TimeExpr,
    pub(super) to: TimeExpr,
}

/// The fields that `contains?` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextField {
    Any,
    Comment,
    Description,
    Summary,
    Location,
    Attendee,
    Organizer,
    Classification,
    Status,
    Priority,
}

/// A part that a component has or lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Start,
    End,
    Due,
    Duration,
    Alarms,
    Recurrences,
    Attachments,
}

const DAY: i64 = 86_400;

impl TimeExpr {
    /// Returns the time in seconds since 1970.
    pub(super) fn seconds(&self) -> i64 {
        match self {
            Self::Now => Timestamp::from(SystemTime::now()).seconds(),
            Self::At(seconds) => *seconds,
            // A client may ask for any number of days.
            Self::AddDays(time, days) => time.seconds().saturating_add(days.saturating_mul(DAY)),
            Self::DayBegin(time) => time.seconds().div_euclid(DAY).saturating_mul(DAY),
            Self::DayEnd(time) => {
                let next = time.seconds().div_euclid(DAY).saturating_add(1);
                next.saturating_mul(DAY)
            }
        }
    }
}

impl TimeRange {
    /// Returns the range in seconds since 1970.
    pub(super) fn seconds(&self) -> Range<i64> {
        self.from.seconds()..self.to.seconds()
    }

    /// Returns the range as instants.
    pub(super) fn instants(&self) -> Range<Timestamp> {
        let Range { start, end } = self.seconds();
        Timestamp::from_seconds(start)..Timestamp::from_seconds(end)
    }
}

impl Condition {
    /// Returns the range of times that the condition asks for.
    pub(super) fn span(&self) -> Option<Range<i64>> {
        match self {
            Self::OccursIn(range, _) | Self::DueIn(range) | Self::HasAlarmsIn(range) => {
                Some(range.seconds())
            }
            Self::CompletedBefore(time) => Some(0..time.seconds()),
            Self::And(all) => all
                .iter()
                .filter_map(Self::span)
                .reduce(|a, b| a.start.max(b.start)..a.end.min(b.end)),
            Self::Or(all) => {
                let spans: Option<Vec<_>> = all.iter().map(Self::span).collect();
                let spans = spans.into_iter().flatten();
                spans.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
            }
            _ => None,
        }
    }

    /// Counts occurrences in a range where none is named. Without any, the number is -1, as in the
    /// stock server.
    pub(super) fn count_in(&mut self, span: Option<&Range<i64>>) {
        match self {
            Self::And(all) | Self::Or(all) => all.iter_mut().for_each(|one| one.count_in(span)),
            Self::Not(one) => one.count_in(span),
            Self::Compare(_, left, right) => {
                for operand in [left, right] {
                    match (&mut **operand, span) {
                        (Operand::Condition(one), _) => one.count_in(span),
                        (Operand::Occurrences(range @ None), Some(span)) => {
                            *range = Some(TimeRange {
                                from: TimeExpr::At(span.start),
                                to: TimeExpr::At(span.end),
                            });
                        }
                        (count @ Operand::Occurrences(None), None) => *count = Operand::Number(-1),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}
