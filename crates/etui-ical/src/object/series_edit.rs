//! Edits of the lines of a component that one part of a cut series keeps.

use etui_contentline::edit::{fold_line, head_without, line_ending, splice_line};
use etui_contentline::lines::{ContentLine, ContentLines, Delimiter};
use etui_contentline::values::property_value;

use super::edit::end_of_properties;
use crate::property_name::PropertyName;
use crate::recurrence::{CutSide, RecurrenceRule, RuleEdit, SeriesCut, Timing, moved_end};
use crate::time::{CalendarTime, DAY, DateTimeValue};
use crate::timing_reader::{time_head, time_value, tzid_of};
use crate::zones::TimeZoneResolver;

/// The change of one property line.
pub(super) enum LineEdit {
    /// The line stays as it is.
    Keep,
    /// The line is removed.
    Drop,
    /// The line is replaced by this text, which is folded.
    Replace(String),
}

/// The changes of a recurring component that becomes one part of a cut series.
pub(super) struct PartEdit<'e> {
    pub(super) cut: &'e SeriesCut,
    pub(super) side: CutSide,
    /// The changes of its rules, in order.
    pub(super) rules: Vec<RuleEdit>,
    /// The new start and end, if it starts elsewhere.
    pub(super) start: Option<(CalendarTime, CalendarTime)>,
    /// Seconds by which its dates of recurrence move.
    pub(super) shift: i64,
    /// The new UID.
    pub(super) uid: Option<&'e str>,
}

impl PartEdit<'_> {
    /// Returns the component with the changes.
    pub(super) fn apply(&self, component: &[u8], zones: &TimeZoneResolver) -> Vec<u8> {
        let mut rules = self.rules.iter();
        edit_lines(component, |line| match PropertyName::of_line(line) {
            Some(PropertyName::Uid) => self.uid.map_or(LineEdit::Keep, |uid| {
                LineEdit::Replace(format!("UID:{}", super::escape_value("UID", uid)))
            }),
            Some(PropertyName::Start) => edit_time(self.start.as_ref(), line, true),
            Some(PropertyName::EndTime | PropertyName::Due) => {
                edit_time(self.start.as_ref(), line, false)
            }
            Some(PropertyName::RecurrenceRule) => {
                let value = property_value(line);
                match value.parse::<RecurrenceRule>() {
                    Ok(rule) => {
                        // A rule of vCalendar 1.0 is written anew.
                        let value = match value.contains('=') {
                            true => value,
                            false => rule.to_string().into(),
                        };
                        edit_rule(line, &value, *rules.next().unwrap_or(&RuleEdit::Keep))
                    }
                    Err(_) => LineEdit::Keep,
                }
            }
            Some(PropertyName::RecurrenceDates) => self.edit_dates(line, false, zones),
            Some(PropertyName::ExceptDates) => self.edit_dates(line, true, zones),
            Some(PropertyName::RecurrenceId) if self.side == CutSide::After => LineEdit::Drop,
            _ => LineEdit::Keep,
        })
    }

    /// Keeps the dates of this part; dates that cannot be read stay.
    fn edit_dates(
        &self,
        line: &ContentLine<'_>,
        excludes: bool,
        zones: &TimeZoneResolver,
    ) -> LineEdit {
        let zone = tzid_of(line).and_then(|tzid| zones.resolve(&tzid));
        let value = time_value(line);
        let mut kept = Vec::new();
        let mut is_changed = self.shift != 0;
        for text in value.split([',', ';']) {
            let (start, end) = match text.split_once('/') {
                Some((start, end)) => (start, Some(end)),
                None => (text, None),
            };
            let Ok(start) = start.parse::<DateTimeValue>() else {
                kept.push(text.to_owned());
                continue;
            };
            let date = start.in_zone(zone.as_ref());
            if !self.cut.has_date(self.side, &date, excludes) {
                is_changed = true;
                continue;
            }
            kept.push(match (self.shift, end) {
                (0, _) => text.to_owned(),
                (shift, None) => shifted(start, shift).to_string(),
                (shift, Some(end)) => {
                    let moved = end.parse().map(|end| shifted(end, shift).to_string());
                    // An end that cannot be read stays as written.
                    let end = moved.unwrap_or_else(|_| end.to_owned());
                    format!("{}/{end}", shifted(start, shift))
                }
            });
        }
        match (is_changed, kept.is_empty()) {
            (false, _) => LineEdit::Keep,
            (true, true) => LineEdit::Drop,
            (true, false) => {
                LineEdit::Replace(format!("{}:{}", time_head(line, &[]), kept.join(",")))
            }
        }
    }
}

/// Returns start and end of a component that moves to another start; `None` if it stays.
pub(super) fn moved(timing: &Timing, start: CalendarTime) -> Option<(CalendarTime, CalendarTime)> {
    (start != timing.start).then(|| {
        let end = moved_end(timing, &start);
        (start, end)
    })
}

/// Replaces the start or the end of a component that starts elsewhere; its parameters stay.
pub(super) fn edit_time(
    times: Option<&(CalendarTime, CalendarTime)>,
    line: &ContentLine<'_>,
    is_start: bool,
) -> LineEdit {
    let Some((start, end)) = times else {
        return LineEdit::Keep;
    };
    let time = if is_start { start } else { end };
    LineEdit::Replace(format!("{}:{}", time_head(line, &[]), time.value()))
}

/// Changes the end of a rule; its other parts stay as written.
fn edit_rule(line: &ContentLine<'_>, value: &str, edit: RuleEdit) -> LineEdit {
    let end = match edit {
        RuleEdit::Keep => return LineEdit::Keep,
        RuleEdit::Drop => return LineEdit::Drop,
        RuleEdit::Count(count) => format!("COUNT={count}"),
        RuleEdit::Until(until) => format!("UNTIL={until}"),
    };
    let is_end = |part: &&str| {
        let name = part.split('=').next().unwrap_or_default().trim();
        name.eq_ignore_ascii_case("COUNT") || name.eq_ignore_ascii_case("UNTIL")
    };
    let parts = value.split(';').filter(|part| !part.trim().is_empty());
    let mut parts: Vec<&str> = parts.filter(|part| !is_end(part)).collect();
    parts.push(&end);
    LineEdit::Replace(format!("{}:{}", head_without(line, &[]), parts.join(";")))
}

fn shifted(time: DateTimeValue, seconds: i64) -> DateTimeValue {
    match time {
        DateTimeValue::Date(date) => DateTimeValue::Date(date.plus_days(seconds.div_euclid(DAY))),
        DateTimeValue::Local(time) => DateTimeValue::Local(time.plus_seconds(seconds)),
        DateTimeValue::Utc(time) => DateTimeValue::Utc(time.plus_seconds(seconds)),
    }
}

/// Edits the property lines of a component; those of nested components stay.
pub(super) fn edit_lines(
    component: &[u8],
    mut edit: impl FnMut(&ContentLine<'_>) -> LineEdit,
) -> Vec<u8> {
    let ending = line_ending(component);
    let mut out = Vec::with_capacity(component.len() + 64);
    let mut depth = 0usize;
    for line in ContentLines::new(component) {
        let change = match line.delimiter() {
            Some((Delimiter::Begin, _)) => {
                depth += 1;
                LineEdit::Keep
            }
            Some((Delimiter::End, _)) => {
                depth = depth.saturating_sub(1);
                LineEdit::Keep
            }
            None if depth == 1 => edit(&line),
            None => LineEdit::Keep,
        };
        match change {
            LineEdit::Keep => out.extend_from_slice(line.raw()),
            LineEdit::Drop => {}
            LineEdit::Replace(text) => out.extend_from_slice(&fold_line(&text, ending)),
        }
    }
    out
}

/// Adds a property after the others of a component.
pub(super) fn add_line(component: &[u8], line: &str) -> Vec<u8> {
    let place = end_of_properties(component);
    let new = fold_line(line, line_ending(component));
    splice_line(component, place..place, &new)
}
