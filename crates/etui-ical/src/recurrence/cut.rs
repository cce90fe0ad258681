//! [`SeriesCut`]: a recurring component and the instance at which it is cut in two.
//!
//! ```text
//! COUNT=10    1  2  3  4  5 | 6  7  8  9  10
//!             COUNT=5       | COUNT=5            occurrences that EXDATE removes count, too
//! UNTIL=u     UNTIL=cut-1s  | UNTIL=u
//! ```

use super::master::{InstanceId, InstanceIds, MasterComponent};
use super::timing::{InstanceLength, Timing};
use crate::time::{CalendarTime, DateTime, DateTimeValue, TimeZone, Timestamp};

/// A recurring component, and the original start of an instance.
#[derive(Debug)]
pub(crate) struct SeriesCut {
    master: MasterComponent,
    counts: Vec<Option<u32>>,
    key: i64,
    local: i64,
}

/// The two parts of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutSide {
    /// The instances before the cut.
    Before,
    /// The instances from the cut on.
    After,
}

/// The change of a rule in one part of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleEdit {
    /// The rule stays as written.
    Keep,
    /// The rule has no occurrence in this part.
    Drop,
    /// It has this `COUNT`.
    Count(u32),
    /// It has this `UNTIL`.
    Until(DateTimeValue),
}

impl SeriesCut {
    pub(crate) fn new(timing: &Timing, at: &CalendarTime) -> Self {
        let master = MasterComponent::new(0, timing);
        let (key, local) = master.key_and_local(at);
        Self {
            counts: timing.rules.iter().map(|rule| rule.count).collect(),
            master,
            key,
            local,
        }
    }

    /// Cuts at another instance.
    pub(crate) fn move_to(&mut self, at: &CalendarTime) -> &Self {
        (self.key, self.local) = self.master.key_and_local(at);
        self
    }

    /// Returns true if an original start is before the cut.
    pub(crate) fn is_before(&self, time: &CalendarTime) -> bool {
        self.master.key_and_local(time).0 < self.key
    }

    /// Returns true if both are the original start of one instance.
    pub(crate) fn is_at(&self, time: &CalendarTime) -> bool {
        self.master.key_and_local(time).0 == self.key
    }

    /// Returns the cut as a time of the same form as the start.
    pub(crate) fn time(&self) -> CalendarTime {
        self.master.time_of(InstanceId {
            local: self.local,
            at: self.key,
            extra: None,
        })
    }

    /// Returns true if rules and dates have an instance at the cut that is not excluded.
    pub(crate) fn has_instance(&self) -> bool {
        let end = self.key.saturating_add(1);
        InstanceIds::new(&self.master, &TimeZone::UTC, self.key, end)
            .any(|id| self.master.key_of(id) == self.key)
    }

    /// Returns true if a part has this date of `RDATE`, or of `EXDATE` (`excludes`). A day that
    /// excludes all instances on it can be in both.
    pub(crate) fn has_date(&self, side: CutSide, date: &CalendarTime, excludes: bool) -> bool {
        if excludes && date.is_date() && !self.master.start.is_date() {
            let (day, cut) = (
                date.local().date(),
                DateTime::from_seconds(self.local).date(),
            );
            return match side {
                CutSide::Before => day <= cut,
                CutSide::After => day >= cut,
            };
        }
        self.is_before(date) == (side == CutSide::Before)
    }

    /// Returns the first occurrence of the rules from the cut on.
    pub(crate) fn first_of_rules(&self) -> Option<CalendarTime> {
        let all = (0..self.counts.len()).filter_map(|rule| self.first_of_rule(rule));
        let local = all.min()?;
        Some(self.master.time_of_local(local))
    }

    fn first_of_rule(&self, rule: usize) -> Option<i64> {
        self.master.first_of_rule(rule, self.local)
    }

    /// Returns the change of the rule with this index in one part.
    pub(crate) fn rule_edit(&self, side: CutSide, rule: usize) -> RuleEdit {
        let goes_on = self.first_of_rule(rule).is_some();
        let counted = match self.counts.get(rule) {
            Some(Some(count)) => self
                .master
                .counted_before(rule, self.local)
                .map(|before| (before, count.saturating_sub(before))),
            _ => None,
        };
        match (side, goes_on, counted) {
            (CutSide::Before, false, _) | (CutSide::After, true, None) => RuleEdit::Keep,
            (CutSide::After, false, _) => RuleEdit::Drop,
            // COUNT must be 1 or more.
            (CutSide::Before, true, Some((before, _))) => RuleEdit::Count(before.max(1)),
            (CutSide::After, true, Some((_, after))) => RuleEdit::Count(after.max(1)),
            (CutSide::Before, true, None) => RuleEdit::Until(self.until_before()),
        }
    }

    /// Returns the `UNTIL` of a rule that ends before the cut: a date for dates, UTC for times in a
    /// time zone (RFC 5545 section 3.3.10).
    fn until_before(&self) -> DateTimeValue {
        let local = DateTime::from_seconds(self.local);
        match &self.master.start {
            CalendarTime::Date(_) => DateTimeValue::Date(local.date().plus_days(-1)),
            CalendarTime::Floating(_) => DateTimeValue::Local(local.plus_seconds(-1)),
            _ => DateTimeValue::Utc(Timestamp::from_seconds(self.key).plus_seconds(-1).utc()),
        }
    }
}

/// Returns the end of a component that is moved to another start.
pub(crate) fn moved_end(timing: &Timing, start: &CalendarTime) -> CalendarTime {
    let length = InstanceLength::new(&timing.start, &timing.end);
    let zone = start.zone().unwrap_or(&TimeZone::UTC);
    length.end_of(start, start.at(zone), zone).0
}
