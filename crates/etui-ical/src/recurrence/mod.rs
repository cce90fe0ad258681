//! Recurrence: rules (RFC 5545 section 3.3.10) and the instances that they make (section 3.8.5).
//!
//! A [`RecurrenceRule`] is an `RRULE` as written; a [`CompiledRule`] is a rule compiled for a start,
//! and gives its occurrences in local time from any time on; a [`RecurrenceSet`] is all components
//! with one UID (a [`Timing`] each), and gives the [`Instance`]s that overlap a range of time.
//!
//! # Why not an existing crate
//!
//! A calendar expands a thousand rules for one week, and the rules began at any time. The crates that
//! expand rules cannot begin in the middle: `rrule` 0.14 steps from `DTSTART` (its `after` and
//! `before` only skip results), refuses local times in gaps and folds, and stops silently after a
//! number of steps; the expansion in `calcard` 0.3 descends from it. Here the number of a period is
//! computed from the requested time.
//!
//! # Decisions
//!
//! - Rules expand in local time; each result is then an instant in the time zone of `DTSTART`. A local
//!   time in a gap is read with the offset before the gap, one in a fold is the first instant
//!   (section 3.3.5, to which section 3.3.10 refers; its other sentence, that such instances be
//!   ignored, contradicts that). Two local times that become one instant are one instance.
//! - `DTSTART` is an instance even if no rule produces it, and the first one that `COUNT` counts.
//!   `EXDATE` can remove it.
//! - An `UNTIL` that is a date includes that whole day, whatever kind `DTSTART` is; a local `UNTIL` is
//!   in the time zone of `DTSTART`, one in UTC is read as local for floating times and dates.
//! - `BYWEEKNO` without a part that names days takes the weekday of `DTSTART`. Weeks belong to the
//!   year of their number, so the first week of a year may begin in December before it.
//! - `BYSETPOS` counts in the whole period, also in the first one, before `DTSTART`.
//! - Parts that RFC 5545 does not allow with a `FREQ` limit its days; an ordinal in `BYDAY` that is
//!   not allowed there is ignored.
//! - `SKIP` (RFC 7529) puts a day that a month or year does not have on its last day or on the first of
//!   the next one; a negative one on the last day before it, or on its first. That is before the parts
//!   that limit it (`BYDAY`), and the day counts in the period that named it (`BYSETPOS`, `INTERVAL`).
//! - `EXDATE` and `RECURRENCE-ID` identify instances by their instant, whatever time zone they are
//!   written in; floating times and dates by their local time.
//! - `DTEND` gives every instance one exact duration, `DURATION` one nominal duration
//!   (section 3.8.5.3): a day across a clock change has 23 or 25 hours.

mod clock;
mod compiled;
mod cut;
mod days;
mod master;
mod occurrences;
mod order;
mod parse;
mod period;
mod rule;
mod set;
mod steps;
mod timing;
#[cfg(test)]
mod unbroken_tests;
mod vcalendar;

pub use compiled::{CompiledRule, MAX_COUNTED};
pub(crate) use cut::{CutSide, RuleEdit, SeriesCut, moved_end};
pub use occurrences::RuleOccurrences;
pub use parse::RuleError;
pub use rule::{Frequency, NthWeekday, RecurrenceRule, Skip};
pub use set::{Instance, Instances, RecurrenceSet};
pub use timing::{EventEnd, RDate, RecurrenceId, Timing};
