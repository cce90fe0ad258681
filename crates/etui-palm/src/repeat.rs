//! Repetitions: [`Repeat`] to a recurrence rule, and back.
//!
//! ```text
//! daily               FREQ=DAILY
//! weekly              FREQ=WEEKLY;BYDAY=MO,TH
//! monthly by day      FREQ=MONTHLY;BYDAY=-1TU
//! monthly by date     FREQ=MONTHLY
//! yearly              FREQ=YEARLY
//! every, end          INTERVAL, UNTIL
//! week start          WKST
//! ```

use etui_ical::recurrence::{CompiledRule, Frequency, NthWeekday, RecurrenceRule};
use etui_ical::time::{Date, DateTime, DateTimeValue, TimeZone, Weekday};

use crate::appointment::{Repeat, RepeatPeriod, weekday_number};

/// Number of weeks of a month before the last one.
const LAST_WEEK: u8 = 4;

/// Returns the weekday of a number, 0 for Sunday.
fn weekday(number: u8) -> Weekday {
    Weekday::ALL[(usize::from(number) + 6) % 7]
}

/// Returns the number of a weekday, 0 for Sunday.
fn number(weekday: Weekday) -> u8 {
    (weekday.index() + 1) % 7
}

/// Returns the rule of a repetition of an appointment with or without times.
pub(crate) fn to_rule(repeat: &Repeat, has_times: bool) -> RecurrenceRule {
    let every_one = |weekday| NthWeekday { nth: 0, weekday };
    let (frequency, by_day) = match repeat.period {
        RepeatPeriod::Daily => (Frequency::Daily, Vec::new()),
        RepeatPeriod::Weekly(days) => {
            let days = (0..7).filter(|day| days >> day & 1 == 1);
            (
                Frequency::Weekly,
                days.map(|day| every_one(weekday(day))).collect(),
            )
        }
        RepeatPeriod::MonthlyByDay { week, weekday: day } => {
            let nth = match week {
                LAST_WEEK.. => -1,
                week => i8::try_from(week).unwrap_or(0) + 1,
            };
            let weekday = weekday(day);
            (Frequency::Monthly, vec![NthWeekday { nth, weekday }])
        }
        RepeatPeriod::MonthlyByDate => (Frequency::Monthly, Vec::new()),
        RepeatPeriod::Yearly => (Frequency::Yearly, Vec::new()),
    };
    let until = repeat.end.map(|end| match has_times {
        true => DateTimeValue::Local(end.plus_days(1).midnight().plus_seconds(-1)),
        false => DateTimeValue::Date(end),
    });
    RecurrenceRule {
        interval: repeat.every.into(),
        until,
        by_day,
        week_start: weekday(repeat.week_start),
        ..RecurrenceRule::every(frequency)
    }
}

/// Returns the repetition of a rule that starts at `start`, in the time zone `zone` if it has one;
/// `None` if a Palm has none that says the same.
pub(crate) fn from_rule(
    rule: &RecurrenceRule,
    start: DateTime,
    has_times: bool,
    zone: Option<&TimeZone>,
) -> Option<Repeat> {
    let (_, month, day) = start.date().ymd();
    let is_plain = rule.by_second.is_empty()
        && rule.by_minute.is_empty()
        && rule.by_hour.is_empty()
        && rule.by_year_day.is_empty()
        && rule.by_week.is_empty()
        && rule.by_position.is_empty();
    let is_day_of_month = match rule.by_month_day[..] {
        [] => true,
        // Of a year, it is a day of every month.
        [_] if rule.frequency == Frequency::Yearly && rule.by_month.is_empty() => false,
        [one] => i64::from(one) == i64::from(day) && rule.by_day.is_empty(),
        _ => false,
    };
    let is_month = match rule.by_month[..] {
        [] => true,
        [one] => rule.frequency == Frequency::Yearly && u32::from(one) == month,
        _ => false,
    };
    if !(is_plain && is_day_of_month && is_month) {
        return None;
    }
    let mut interval = rule.interval;
    let names_no_days = rule.by_month_day.is_empty();
    let period = match rule.frequency {
        Frequency::Daily if rule.by_day.is_empty() && names_no_days => RepeatPeriod::Daily,
        Frequency::Daily if names_no_days && interval == 1 => weekly(rule, start.date())?,
        Frequency::Weekly if names_no_days => weekly(rule, start.date())?,
        Frequency::Monthly if rule.by_day.is_empty() => RepeatPeriod::MonthlyByDate,
        Frequency::Monthly => monthly_by_day(rule)?,
        Frequency::Yearly if rule.by_day.is_empty() => RepeatPeriod::Yearly,
        // A weekday of one month: every twelfth month.
        Frequency::Yearly if !rule.by_month.is_empty() => {
            interval = interval.checked_mul(12)?;
            monthly_by_day(rule)?
        }
        _ => return None,
    };
    Some(Repeat {
        period,
        every: u8::try_from(interval).ok()?,
        end: last_day(rule, start, has_times, zone)?,
        week_start: number(rule.week_start),
    })
}

/// Returns true if the rule has an occurrence at its start, as the rule of a Palm must.
pub(crate) fn starts_on_rule(rule: &RecurrenceRule, start: DateTime, has_times: bool) -> bool {
    let rule = RecurrenceRule {
        until: None,
        count: None,
        ..rule.clone()
    };
    let rule = CompiledRule::new(&rule, start, !has_times);
    rule.occurrences(start, start.plus_seconds(1)).next() == Some(start)
}

/// Returns the weekdays of a rule, or that of the start.
fn weekly(rule: &RecurrenceRule, start: Date) -> Option<RepeatPeriod> {
    let mut days = 0;
    for day in &rule.by_day {
        if day.nth != 0 {
            return None;
        }
        days |= 1 << number(day.weekday);
    }
    if days == 0 {
        days = 1 << weekday_number(start);
    }
    Some(RepeatPeriod::Weekly(days))
}

fn monthly_by_day(rule: &RecurrenceRule) -> Option<RepeatPeriod> {
    let [NthWeekday { nth, weekday }] = rule.by_day[..] else {
        return None;
    };
    let week = match nth {
        1..=4 => u8::try_from(nth - 1).ok()?,
        -1 => LAST_WEEK,
        _ => return None,
    };
    let weekday = number(weekday);
    Some(RepeatPeriod::MonthlyByDay { week, weekday })
}

/// Returns the last day of a rule: `Some(None)` for ever, `None` if it cannot be computed.
fn last_day(
    rule: &RecurrenceRule,
    start: DateTime,
    has_times: bool,
    zone: Option<&TimeZone>,
) -> Option<Option<Date>> {
    if rule.is_unbounded() {
        return Some(None);
    }
    let until = rule.until.map(|until| {
        let last = match (until, zone) {
            (DateTimeValue::Utc(time), Some(zone)) => zone.to_local(TimeZone::UTC.to_utc(time)),
            (until, _) => until.local(),
        };
        let seconds = |time: DateTime| time.seconds() - time.date().midnight().seconds();
        // The occurrence of the last day may be later than the end.
        let is_before =
            has_times && !matches!(until, DateTimeValue::Date(_)) && seconds(last) < seconds(start);
        last.date().plus_days(if is_before { -1 } else { 0 })
    });
    let counted = match rule.count {
        // A start off the rule is the first occurrence that is counted.
        Some(count) => {
            match count - u32::from(!starts_on_rule(rule, start, has_times)).min(count) {
                0 => Some(start.date()),
                count => {
                    let rule = RecurrenceRule {
                        until: None,
                        count: Some(count),
                        ..rule.clone()
                    };
                    let last = CompiledRule::new(&rule, start, !has_times).last_occurrence()?;
                    Some(last.date())
                }
            }
        }
        None => None,
    };
    let end = [until, counted].into_iter().flatten().min()?;
    // The start is an occurrence, whatever the rule says.
    Some(Some(end.max(start.date())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn convert(rule: &str, start: &str) -> Option<Repeat> {
        let start: DateTimeValue = start.parse().unwrap();
        let has_times = !matches!(start, DateTimeValue::Date(_));
        from_rule(&rule.parse().unwrap(), start.local(), has_times, None)
    }

    #[test]
    fn a_rule_that_a_palm_has_is_the_same_rule() {
        for (rule, start) in [
            ("FREQ=DAILY;INTERVAL=3", "20030325"),
            (
                "FREQ=WEEKLY;UNTIL=20041231;BYDAY=SU,MO,SA;WKST=SU",
                "20030325",
            ),
            (
                "FREQ=WEEKLY;UNTIL=20041231T235959;BYDAY=TU",
                "20030325T093000",
            ),
            ("FREQ=MONTHLY;BYDAY=-1TU", "20030325T093000"),
            ("FREQ=MONTHLY;BYDAY=4TU", "20030325T093000"),
            ("FREQ=MONTHLY", "20030325"),
            ("FREQ=YEARLY;INTERVAL=2", "20030325"),
        ] {
            let repeat = convert(rule, start).unwrap();
            assert_eq!(to_rule(&repeat, start.contains('T')).to_string(), rule);
        }
    }

    #[test]
    fn other_rules_are_written_as_those_that_a_palm_has() {
        for (rule, start, same) in [
            ("FREQ=WEEKLY", "20030325", "FREQ=WEEKLY;BYDAY=TU"),
            (
                "FREQ=DAILY;BYDAY=MO,TU",
                "20030325",
                "FREQ=WEEKLY;BYDAY=MO,TU",
            ),
            (
                "FREQ=DAILY;COUNT=3",
                "20030325",
                "FREQ=DAILY;UNTIL=20030327",
            ),
            (
                "FREQ=DAILY;UNTIL=20030327T080000",
                "20030325T093000",
                "FREQ=DAILY;UNTIL=20030326T235959",
            ),
            (
                "FREQ=DAILY;UNTIL=20030327T093000Z",
                "20030325T093000",
                "FREQ=DAILY;UNTIL=20030327T235959",
            ),
            ("FREQ=MONTHLY;BYMONTHDAY=25", "20030325", "FREQ=MONTHLY"),
            (
                "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=25",
                "20030325",
                "FREQ=YEARLY",
            ),
            (
                "FREQ=YEARLY;BYMONTH=3;BYDAY=-1TU",
                "20030325",
                "FREQ=MONTHLY;INTERVAL=12;BYDAY=-1TU",
            ),
            (
                "FREQ=YEARLY;UNTIL=20000101",
                "20030325",
                "FREQ=YEARLY;UNTIL=20030325",
            ),
        ] {
            let repeat = convert(rule, start).unwrap_or_else(|| panic!("{rule}"));
            assert_eq!(to_rule(&repeat, start.contains('T')).to_string(), same);
        }
    }

    #[test]
    fn rules_that_a_palm_has_not_are_refused() {
        for rule in [
            "FREQ=HOURLY",
            "FREQ=DAILY;INTERVAL=2;BYDAY=MO",
            "FREQ=DAILY;INTERVAL=256",
            "FREQ=DAILY;BYHOUR=9,17",
            "FREQ=MONTHLY;BYMONTHDAY=1,15",
            "FREQ=MONTHLY;BYMONTHDAY=-1",
            "FREQ=MONTHLY;BYDAY=5TU",
            "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=1",
            "FREQ=YEARLY;BYMONTH=4",
            "FREQ=YEARLY;BYMONTHDAY=25",
            "FREQ=YEARLY;BYWEEKNO=20",
            "FREQ=YEARLY;INTERVAL=22;BYMONTH=3;BYDAY=1TU",
        ] {
            assert_eq!(convert(rule, "20030325"), None, "{rule}");
        }
    }
}
