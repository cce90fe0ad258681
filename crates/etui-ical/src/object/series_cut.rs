//! A series cut in two at an instance.
//!
//! ```text
//! Mo Tu We Th Fr            RRULE:FREQ=DAILY;COUNT=5
//! Mo Tu -- Th Fr            exclude_instance(We)     EXDATE
//! Mo Tu                     end_before(We)           COUNT=2
//! Mo Tu | We Th Fr          split_at(We)             COUNT=2, and a series with COUNT=3
//! Mo Tu | we th fr          change_from(We, we)      the same, the second as described
//! ```

use std::borrow::Cow;

use super::series::no_instance;
use super::series_edit::{LineEdit, PartEdit, edit_lines, moved};
use super::{CalendarObject, ObjectError, ObjectPart, draft, edit};
use crate::property_name::PropertyName;
use crate::recurrence::{CutSide, RecurrenceRule, RuleEdit, SeriesCut, Timing};
use crate::time::{CalendarTime, DateTime, TimeZone, Timestamp};
use crate::zones::TimeZoneResolver;

/// A series that was cut in two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitSeries {
    /// The instances before the cut; `None` if there are none.
    pub before: Option<CalendarObject>,
    /// The instances from the cut on, with a UID of their own.
    pub after: CalendarObject,
}

impl CalendarObject {
    /// Ends the series before an instance, which need not exist: rules get an earlier `COUNT` or
    /// `UNTIL`, and the later dates and overrides go.
    ///
    /// # Errors
    /// [`ObjectError::Empty`] if no instance would be left. The object is then unchanged.
    pub fn end_before(
        &mut self,
        id: &CalendarTime,
        zones: &TimeZoneResolver,
    ) -> Result<(), ObjectError> {
        let object = self.in_utf8(zones)?;
        let Some(before) = object.part_before(id, zones)? else {
            return Err(ObjectError::Empty);
        };
        *self = before;
        Ok(())
    }

    /// Cuts the series in two before an instance, which need not exist. Both parts together have
    /// the instances of the series, each with its overrides. Without a `uid` the second part gets a
    /// random one.
    ///
    /// ```
    /// # use etui_ical::{CalendarObject, zones::TimeZoneResolver};
    /// let zones = TimeZoneResolver::new();
    /// let daily = CalendarObject::parse(
    ///     "BEGIN:VEVENT\r\nUID:1\r\nDTSTART:20261201T090000\r\n\
    ///      RRULE:FREQ=DAILY;COUNT=10\r\nEND:VEVENT\r\n",
    ///     &zones,
    /// )?;
    /// let sixth = daily.instance_id("20261206T090000").expect("a time");
    /// let parts = daily.split_at(&sixth, Some("2"), &zones)?;
    /// assert_eq!(
    ///     String::from_utf8_lossy(parts.after.text()),
    ///     "BEGIN:VEVENT\r\nUID:2\r\nDTSTART:20261206T090000\r\n\
    ///      RRULE:FREQ=DAILY;COUNT=5\r\nEND:VEVENT\r\n"
    /// );
    /// # Ok::<(), etui_ical::ObjectError>(())
    /// ```
    ///
    /// # Errors
    /// [`ObjectError::NoInstance`] if no instance would be in the second part;
    /// [`ObjectError::CannotSplit`]; [`ObjectError::NoRandomness`].
    pub fn split_at(
        &self,
        id: &CalendarTime,
        uid: Option<&str>,
        zones: &TimeZoneResolver,
    ) -> Result<SplitSeries, ObjectError> {
        let object = self.in_utf8(zones)?;
        let (Some(cut), Some(timing)) = (object.cut_at(id), object.series_timing()) else {
            return Err(no_instance(id));
        };
        object.check_can_split(&cut, timing)?;
        let uid = new_uid(uid)?;
        let dates = timing.dates.iter().map(|date| &date.start);
        let first_date = || {
            let later = dates.filter(|date| !cut.is_before(date));
            later.min_by_key(|date| date.at(&TimeZone::UTC)).cloned()
        };
        // The rules keep their periods if the part starts at an occurrence of theirs.
        let start = match cut.is_before(&timing.start) {
            false => Some(timing.start.clone()),
            true => cut.first_of_rules().or_else(first_date),
        };
        let start = start.ok_or_else(|| no_instance(id))?;
        let edit = PartEdit {
            cut: &cut,
            side: CutSide::After,
            rules: rule_edits(&cut, CutSide::After, timing),
            start: moved(timing, start),
            shift: 0,
            uid: Some(&uid),
        };
        let master = object.master_index();
        let text = object.rebuild(|i, part, own| match overridden(part) {
            _ if i == master => Some(Cow::Owned(edit.apply(own, zones))),
            Some(id) if !cut.is_before(id) => Some(Cow::Owned(with_uid(own, &uid))),
            _ => None,
        });
        Ok(SplitSeries {
            before: object.part_before(id, zones)?,
            after: Self::parse(text, zones)?,
        })
    }

    /// Changes an instance and all later ones: the series ends before it, and another one begins as
    /// the first component of `changed` describes it.
    ///
    /// `changed` is the instance ([`CalendarObject::instance`]) with its changes. Its start is that
    /// of the instance or that of the series, moved or not: the nearer one counts. The `COUNT` of a rule
    /// that is otherwise that of the series counts from its start, as in the instance, so the new
    /// series gets the rest of it; other rules are taken as they are. Overrides from the instance on
    /// are dropped. Without a `uid` the new series gets a random one.
    ///
    /// # Errors
    /// [`ObjectError::NoInstance`]; [`ObjectError::NoRandomness`].
    pub fn change_from(
        &self,
        id: &CalendarTime,
        changed: &Self,
        uid: Option<&str>,
        zones: &TimeZoneResolver,
    ) -> Result<SplitSeries, ObjectError> {
        let object = self.in_utf8(zones)?;
        let changed = changed.in_utf8(zones)?;
        let (Some(cut), Some(timing)) = (object.cut_at(id), object.series_timing()) else {
            return Err(no_instance(id));
        };
        let new = changed
            .components
            .first()
            .and_then(|c| c.item.timing.as_ref());
        let Some(new) = new.filter(|_| object.has_instance(id)) else {
            return Err(no_instance(id));
        };
        let uid = new_uid(uid)?;
        let (start, shift) = start_of_rest(&cut, timing, new);
        let edit = PartEdit {
            cut: &cut,
            side: CutSide::After,
            rules: match differ_in_count_only(&new.rules, &timing.rules) {
                true => {
                    let mut whole = timing.clone();
                    whole.rules.clone_from(&new.rules);
                    rule_edits(&SeriesCut::new(&whole, id), CutSide::After, &whole)
                }
                false => Vec::new(),
            },
            start: moved(new, start),
            shift,
            uid: Some(&uid),
        };
        let text = changed.component_texts().next().unwrap_or_default();
        Ok(SplitSeries {
            before: object.part_before(id, zones)?,
            after: Self::parse(edit.apply(text, zones), zones)?,
        })
    }

    /// Changes the whole series as `changed` describes one of its instances: a component like that of
    /// [`change_from`](Self::change_from). Overrides stay.
    ///
    /// # Errors
    /// [`ObjectError::NoInstance`] if the object has no times; [`ObjectError::TooLarge`].
    pub fn change_all(
        &mut self,
        id: &CalendarTime,
        changed: &Self,
        zones: &TimeZoneResolver,
    ) -> Result<(), ObjectError> {
        let object = self.in_utf8(zones)?;
        let changed = changed.in_utf8(zones)?;
        let (Some(cut), Some(timing)) = (object.cut_at(id), object.series_timing()) else {
            return Err(no_instance(id));
        };
        let new = changed
            .components
            .first()
            .and_then(|c| c.item.timing.as_ref())
            .ok_or_else(|| no_instance(id))?;
        let (_, shift) = start_of_rest(&cut, timing, new);
        let start = in_form_of(&new.start, timing.start.local().plus_seconds(shift));
        let whole = SeriesCut::new(timing, &CalendarTime::Utc(Timestamp::MIN));
        let edit = PartEdit {
            cut: &whole,
            side: CutSide::After,
            rules: Vec::new(),
            start: moved(new, start),
            shift,
            uid: None,
        };
        let text = changed.component_texts().next().unwrap_or_default();
        let text = edit.apply(text, zones);
        let master = object.master_index();
        let text = object.rebuild(|i, _, own| match i == master {
            true => Some(Cow::Owned(text.clone())),
            false => Some(Cow::Borrowed(own)),
        });
        *self = Self::parse(text, zones)?;
        Ok(())
    }

    /// Returns the instances before one; `None` if there are none.
    fn part_before(
        &self,
        id: &CalendarTime,
        zones: &TimeZoneResolver,
    ) -> Result<Option<Self>, ObjectError> {
        let (Some(cut), Some(timing)) = (self.cut_at(id), self.series_timing()) else {
            return Ok(None);
        };
        let starts_before = cut.is_before(&timing.start);
        let dates = timing.dates.iter().map(|date| &date.start);
        let start = match starts_before {
            true => Some(timing.start.clone()),
            // Dates can be before the start.
            false => dates
                .filter(|date| cut.is_before(date))
                .min_by_key(|date| date.at(&TimeZone::UTC))
                .cloned(),
        };
        let Some(start) = start else {
            return Ok(None);
        };
        let edit = PartEdit {
            cut: &cut,
            side: CutSide::Before,
            rules: match starts_before {
                true => rule_edits(&cut, CutSide::Before, timing),
                false => vec![RuleEdit::Drop; timing.rules.len()],
            },
            start: moved(timing, start),
            shift: 0,
            uid: None,
        };
        let master = self.master_index();
        let text = self.rebuild(|i, part, own| match overridden(part) {
            _ if i == master => Some(Cow::Owned(edit.apply(own, zones))),
            Some(id) if !cut.is_before(id) => None,
            _ => Some(Cow::Borrowed(own)),
        });
        Self::parse(text, zones).map(Some)
    }

    /// Fails if the second part could have other instances: rules besides the first one may count
    /// their periods from the start, and an override with `THISANDFUTURE` reaches over the cut.
    fn check_can_split(&self, cut: &SeriesCut, timing: &Timing) -> Result<(), ObjectError> {
        let reaches_over = |part: &ObjectPart| {
            let id = part
                .item
                .timing
                .as_ref()
                .and_then(|t| t.recurrence_id.as_ref());
            id.is_some_and(|id| id.this_and_future && cut.is_before(&id.id))
        };
        let is_simple = timing.rules.len() <= 1 && timing.exception_rules.is_empty();
        match is_simple && !self.components.iter().any(reaches_over) {
            true => Ok(()),
            false => Err(ObjectError::CannotSplit),
        }
    }
}

/// Returns the original start of the instance that a component overrides.
fn overridden(part: &ObjectPart) -> Option<&CalendarTime> {
    let timing = part.item.timing.as_ref()?;
    timing.recurrence_id.as_ref().map(|r| &r.id)
}

fn new_uid(uid: Option<&str>) -> Result<String, ObjectError> {
    match uid {
        Some(uid) => Ok(uid.to_owned()),
        None => draft::random_uid(),
    }
}

/// Returns true if the rules are equal but for their `COUNT`.
fn differ_in_count_only(rules: &[RecurrenceRule], others: &[RecurrenceRule]) -> bool {
    let without_count = |rule: &RecurrenceRule| RecurrenceRule {
        count: None,
        ..rule.clone()
    };
    rules.len() == others.len()
        && rules.iter().zip(others).all(|(rule, other)| {
            rule.count.is_some() == other.count.is_some()
                && without_count(rule) == without_count(other)
        })
}

fn rule_edits(cut: &SeriesCut, side: CutSide, timing: &Timing) -> Vec<RuleEdit> {
    (0..timing.rules.len())
        .map(|rule| cut.rule_edit(side, rule))
        .collect()
}

/// Returns the start of a changed rest, and the seconds by which its instances moved.
fn start_of_rest(cut: &SeriesCut, timing: &Timing, changed: &Timing) -> (CalendarTime, i64) {
    let local = |time: &CalendarTime| time.local().seconds();
    let (own, series, id) = (
        local(&changed.start),
        local(&timing.start),
        local(&cut.time()),
    );
    let shift = match (own - series).abs() < (own - id).abs() {
        true => own - series,
        false => own - id,
    };
    let start = cut.time().local().plus_seconds(shift);
    (in_form_of(&changed.start, start), shift)
}

/// Returns a local time as the kind of time that `form` is.
pub(super) fn in_form_of(form: &CalendarTime, local: DateTime) -> CalendarTime {
    match form {
        CalendarTime::Date(_) => CalendarTime::Date(local.date()),
        CalendarTime::Floating(_) => CalendarTime::Floating(local),
        CalendarTime::Zoned(_, zone) => CalendarTime::Zoned(local, zone.clone()),
        CalendarTime::Utc(_) => CalendarTime::Utc(TimeZone::UTC.to_utc(local)),
    }
}

fn with_uid(component: &[u8], uid: &str) -> Vec<u8> {
    edit_lines(component, |line| match PropertyName::of_line(line) {
        Some(PropertyName::Uid) => {
            LineEdit::Replace(format!("UID:{}", edit::escape_value("UID", uid)))
        }
        _ => LineEdit::Keep,
    })
}
