//! The skipped and changed times of a series whose start is moved.

use etui::calendar::CalendarObject;
use etui::calendar::recurrence::{EventEnd, RecurrenceRule, RecurrenceSet, Timing};
use etui::calendar::time::{CalendarTime, Date, DateTimeValue, TimeZone};
use etui::calendar::zones::TimeZoneResolver;
use etui_program::Result;

use super::show::in_form_of;
use super::time_args::normalize_until;
use etui_when::{format_day, is_end_of_day, plus_months};

const DAY: i64 = 86_400;
/// Days that a note names.
const MAX_NAMED: usize = 5;
/// Days in which two rules are compared.
const MAX_COMPARED: i64 = 366 * 8;

/// Returns a rule whose only day moves from one date to another: the weekday, its ordinal in the month,
/// the day of the month, or the month. `None` if the rule has several days.
pub fn moved_rule(rule: &RecurrenceRule, from: Date, to: Date) -> Option<RecurrenceRule> {
    let ((_, month, day), (_, new_month, new_day)) = (from.ymd(), to.ymd());
    let mut rule = rule.clone();
    let is_plain = rule.by_position.is_empty() && rule.by_week.is_empty();
    if !is_plain || !rule.by_year_day.is_empty() {
        return None;
    }
    if let [only] = rule.by_month.as_mut_slice() {
        *only = (u32::from(*only) == month).then(|| u8::try_from(new_month).ok())??;
    }
    match (rule.by_day.as_mut_slice(), rule.by_month_day.as_mut_slice()) {
        ([], []) => {}
        ([only], []) if only.weekday == from.weekday() => {
            only.weekday = to.weekday();
            let first = to.plus_days(1 - i64::from(new_day));
            let left = plus_months(first, 1).days() - to.days() - 1;
            only.nth = match only.nth {
                0 => 0,
                1.. => i8::try_from((new_day - 1) / 7 + 1).ok()?,
                _ => -i8::try_from(left / 7 + 1).ok()?,
            };
        }
        ([], [only]) if i64::from(*only) == i64::from(day) => {
            *only = i8::try_from(new_day).ok()?;
        }
        _ => return None,
    }
    Some(rule)
}

/// Moves EXDATE, RECURRENCE-ID and UNTIL of a series whose start was `before` and is now `start`, and
/// writes its rule. An exception keeps its day where the series still has it, and follows in the time of
/// day; else it moves as the days of the rule did. Returns notes of both, if the day of the start moved.
pub fn move_exceptions(
    record: &mut CalendarObject,
    at: usize,
    before: &CalendarTime,
    start: &CalendarTime,
    rule: Option<RecurrenceRule>,
    zones: &TimeZoneResolver,
) -> Result<Vec<String>> {
    let component = record.components().nth(at);
    let Some(timing) = component.and_then(|item| item.timing.clone()) else {
        return Ok(Vec::new());
    };
    if timing.recurrence_id.is_some() {
        return Ok(Vec::new());
    }
    let mut moved = timing.clone();
    if let ([old], Some(rule)) = (moved.rules.as_mut_slice(), rule) {
        *old = rule;
    }
    let shift = SeriesShift::new(&timing, before, &moved, start);
    let excluded = timing.exception_dates.iter();
    let excluded: Vec<CalendarTime> = excluded.map(|time| shift.exception(time)).collect();
    if let Some(first) = excluded.first() {
        record.remove(at, "EXDATE", None, zones)?;
        record.set_time(at, "EXDATE", first, zones)?;
        let values = excluded.iter().map(|time| format_like(first, time));
        let values: Vec<String> = values.collect();
        record.set(at, "EXDATE", &values.join(","), zones)?;
    }
    let overrides: Vec<(usize, CalendarTime)> = record
        .components()
        .enumerate()
        .filter_map(|(i, item)| {
            let recurrence_id = item.timing.as_ref()?.recurrence_id.as_ref()?;
            Some((i, recurrence_id.id.clone()))
        })
        .collect();
    let mut pairs: Vec<(Date, Date)> = Vec::new();
    let day = |time: &CalendarTime| time.local().date();
    for (old, new) in timing.exception_dates.iter().zip(&excluded) {
        pairs.push((day(&shift.local_of(old)), day(new)));
    }
    for (i, id) in overrides {
        let new = shift.exception(&id);
        pairs.push((day(&shift.local_of(&id)), day(&new)));
        record.set_time(i, "RECURRENCE-ID", &new, zones)?;
    }
    if let [rule] = moved.rules.as_slice() {
        let mut rule = rule.clone();
        rule.until = rule.until.map(|until| shift.until(until));
        if timing.rules.first() != Some(&rule) {
            record.set(at, "RRULE", &rule.to_string(), zones)?;
        }
    }
    match day(before) == day(start) {
        true => Ok(Vec::new()),
        false => Ok(describe_pairs(pairs)),
    }
}

fn describe_pairs(mut pairs: Vec<(Date, Date)>) -> Vec<String> {
    pairs.sort();
    pairs.dedup();
    let (kept, moved): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(old, new)| old == new);
    let list = |days: Vec<String>, what: &str| {
        let named = days.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>();
        let more = match days.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!days.is_empty()).then(|| format!("{what}: {}{more}", named.join(", ")))
    };
    let kept = kept.into_iter().map(|(day, _)| format_day(day)).collect();
    let moved = moved.into_iter();
    let moved = moved.map(|(old, new)| format!("{} to {}", format_day(old), format_day(new)));
    [
        list(kept, "Skipped and changed times that keep their day"),
        list(
            moved.collect(),
            "Skipped and changed times that moved along",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A series before and after its start was moved.
struct SeriesShift<'t> {
    before: &'t CalendarTime,
    start: &'t CalendarTime,
    /// The new instances, without an end.
    set: RecurrenceSet,
    /// Days by which the days of the rule moved.
    days: i64,
    /// Seconds by which the time of day moved.
    of_day: i64,
}

impl<'t> SeriesShift<'t> {
    fn new(old: &Timing, before: &'t CalendarTime, new: &Timing, start: &'t CalendarTime) -> Self {
        let endless = |timing: &Timing, start: &CalendarTime| {
            let mut timing = Timing {
                start: start.clone(),
                end: EventEnd::Unspecified,
                exception_dates: Vec::new(),
                recurrence_id: None,
                ..timing.clone()
            };
            for rule in &mut timing.rules {
                (rule.count, rule.until) = (None, None);
            }
            RecurrenceSet::new(&[timing])
        };
        let of_day = |time: &CalendarTime| time.local().seconds().rem_euclid(DAY);
        let (was, set) = (endless(old, before), endless(new, start));
        Self {
            days: days_between(&was, before, &set, start),
            of_day: of_day(start) - of_day(before),
            before,
            start,
            set,
        }
    }

    /// Returns a time of the old series in the time zone of its start.
    fn local_of(&self, time: &CalendarTime) -> CalendarTime {
        match (time, self.before.zone()) {
            (CalendarTime::Zoned(..) | CalendarTime::Utc(_), Some(zone)) => {
                CalendarTime::Zoned(zone.to_local(time.at(zone)), zone.clone())
            }
            _ => time.clone(),
        }
    }

    /// Returns the original start of an exception after the move.
    fn exception(&self, time: &CalendarTime) -> CalendarTime {
        let local = self.local_of(time).local();
        // An excluded day becomes the new time of day on that day.
        let of_day = match time.is_date() && !self.start.is_date() {
            true => self.start.local().seconds().rem_euclid(DAY),
            false => self.of_day,
        };
        let follows = local.plus_seconds(of_day);
        let along = follows.plus_seconds(self.days * DAY);
        let candidates = [local, follows, along].map(|local| in_form_of(self.start, local));
        let found = candidates
            .iter()
            .find(|id| self.set.instance_with_id(id, &TimeZone::UTC).is_some());
        found
            .cloned()
            .unwrap_or_else(|| in_form_of(self.start, along))
    }

    /// Moves UNTIL: an end of day stays, a time moves with the instances.
    fn until(&self, until: DateTimeValue) -> DateTimeValue {
        let zone = self.before.zone().cloned().unwrap_or(TimeZone::UTC);
        let local = match until {
            DateTimeValue::Utc(time) => zone.to_local(TimeZone::UTC.to_utc(time)),
            DateTimeValue::Local(time) => time,
            DateTimeValue::Date(_) => return normalize_until(until, self.start),
        };
        if self.before.is_date() || is_end_of_day(local) {
            return normalize_until(DateTimeValue::Date(local.date()), self.start);
        }
        let local = local.plus_seconds(self.days * DAY + self.of_day);
        normalize_until(DateTimeValue::Local(local), self.start)
    }
}

/// Returns the days between an occurrence of the old series and the next of the new one, or the one
/// before it if the start became earlier: 0 if the days of the rule stay.
fn days_between(
    was: &RecurrenceSet,
    before: &CalendarTime,
    set: &RecurrenceSet,
    start: &CalendarTime,
) -> i64 {
    let day = |time: &CalendarTime| time.local().date();
    let by = i64::from(day(start).days()) - i64::from(day(before).days());
    if by == 0 {
        return 0;
    }
    let midnight = |date: Date| TimeZone::UTC.to_utc(date.midnight());
    // Local times are at most a day from UTC.
    let first = |set: &RecurrenceSet, from: Date| {
        let range = midnight(from.plus_days(-2))..midnight(from.plus_days(MAX_COMPARED));
        let mut all = set.between(range, &TimeZone::UTC);
        all.find(|instance| day(&instance.start) >= from)
            .map(|instance| day(&instance.start))
    };
    let last = |set: &RecurrenceSet, to: Date| {
        let range = midnight(day(start).plus_days(-2))..midnight(to.plus_days(2));
        let all = set.between(range, &TimeZone::UTC);
        all.map(|instance| day(&instance.start))
            .take_while(|found| *found <= to)
            .last()
    };
    let found = match by > 0 {
        true => first(was, day(start)).and_then(|old| Some((old, first(set, old)?))),
        false => last(set, day(before)).map(|new| (day(before), new)),
    };
    found.map_or(by, |(old, new)| {
        i64::from(new.days()) - i64::from(old.days())
    })
}

/// Formats a time for a property whose first value is `first`.
fn format_like(first: &CalendarTime, time: &CalendarTime) -> String {
    match first {
        // UTC values are written without a TZID.
        CalendarTime::Zoned(_, zone) if *zone == TimeZone::UTC => time.at(zone).to_string(),
        _ => time.value().to_string(),
    }
}
