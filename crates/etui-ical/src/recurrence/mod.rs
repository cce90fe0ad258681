//! Recurrence: rules (RFC 5545 §3.3.10), and the instances they make (§3.8.5).
//!
//! A [`RecurrenceRule`] is what an `RRULE` says; a [`CompiledRule`] is a rule made ready for a start, and gives its
//! occurrences in local time from anywhere on; a [`RecurrenceSet`] is all components with one UID
//! ([`Timing`] each), and gives the [`Instance`]s that have to do with a range of time.
//!
//! # Why of our own
//!
//! A calendar asks what happens in a week, of a thousand rules at once, and the rules began
//! anywhere. None of the crates that expand rules can begin in the middle: `rrule` 0.14 steps from
//! `DTSTART` (its `after` and `before` only pass results over), refuses local times that come
//! twice or not at all, and stops silently after so many steps; the expansion in `calcard` 0.3
//! descends from it. Here a period's number is computed from the time asked for.
//!
//! # What is decided
//!
//! - Rules are followed in local time; each result is then an instant of `DTSTART`'s zone. A local
//!   time that the clocks skip is read by the offset before the gap, one that comes twice is the
//!   first (§3.3.5, to which §3.3.10 sends; its other sentence, that such instances be ignored,
//!   contradicts that). Two local times that become one instant are one instance.
//! - `DTSTART` is an instance, also where no rule makes it, and the first that `COUNT` counts.
//!   `EXDATE` can take it away.
//! - `UNTIL` as a day lets that whole day in, of whatever kind `DTSTART` is; a local `UNTIL` is on
//!   `DTSTART`'s clock, one in UTC for floating times and days on theirs.
//! - `BYWEEKNO` without a part that names days takes the weekday of `DTSTART`. Weeks belong to the
//!   year that their number is of, so the first week of a year may begin in December before it.
//! - `BYSETPOS` counts in the whole period, also in the first one, before `DTSTART`.
//! - Parts that may not stand in a rule of some `FREQ` limit its days; an ordinal in `BYDAY` that
//!   may not stand there is passed over.
//! - `EXDATE` and `RECURRENCE-ID` name instances by their instant, whatever zone they are written
//!   in; for floating times and days by their digits.
//! - `DTEND` gives every instance the same exact duration, `DURATION` the same nominal one
//!   (§3.8.5.3): a day over a change of the clocks is 23 or 25 hours long.

mod clock;
mod days;
mod ids;
mod order;
mod parse;
mod period;
mod plan;
mod rule;
mod series;
mod steps;
mod timing;
#[cfg(test)]
mod unbroken_tests;
mod walk;

pub use parse::RuleError;
pub use plan::{CompiledRule, MAX_COUNTED};
pub use rule::{Frequency, NthWeekday, RecurrenceRule};
pub use series::{Instance, Instances, RecurrenceSet};
pub use timing::{EventEnd, RDate, RecurrenceId, Timing};
pub use walk::RuleOccurrences;
