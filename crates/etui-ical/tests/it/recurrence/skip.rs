//! `SKIP` of RFC 7529, compared with a model that names the days of each period one after the other.

use std::collections::BTreeSet;

use etui_ical::recurrence::{CompiledRule, Frequency, RecurrenceRule, Skip};
use etui_ical::time::{Date, DateTime, Weekday};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::support::{first, series, starts};

fn length(year: i32, month: u32) -> i32 {
    (28..=31)
        .rev()
        .find(|day| Date::new(year, month, *day).is_some())
        .unwrap() as i32
}

/// The day of a month, or the one that takes its place.
fn day_of_month(year: i32, month: u32, day: i32, skip: Skip) -> Option<Date> {
    let length = length(year, month);
    let first = Date::new(year, month, 1).unwrap();
    if day.abs() <= length {
        let day = if day > 0 { day } else { length + 1 + day };
        return Some(first.plus_days(i64::from(day - 1)));
    }
    match (skip, day > 0) {
        (Skip::Omit, _) => None,
        (Skip::Backward, true) => Some(first.plus_days(i64::from(length - 1))),
        (Skip::Backward, false) => Some(first.plus_days(-1)),
        (Skip::Forward, true) => Some(first.plus_days(i64::from(length))),
        (Skip::Forward, false) => Some(first),
    }
}

fn day_of_year(year: i32, day: i32, skip: Skip) -> Option<Date> {
    let first = Date::new(year, 1, 1).unwrap();
    let length = Date::new(year + 1, 1, 1).unwrap().days() - first.days();
    if day.abs() <= length {
        let day = if day > 0 { day - 1 } else { length + day };
        return Some(first.plus_days(i64::from(day)));
    }
    match (skip, day > 0) {
        (Skip::Omit, _) => None,
        (Skip::Backward, true) => Some(first.plus_days(i64::from(length - 1))),
        (Skip::Backward, false) => Some(first.plus_days(-1)),
        (Skip::Forward, true) => Some(first.plus_days(i64::from(length))),
        (Skip::Forward, false) => Some(first),
    }
}

/// All days of a monthly or yearly rule in 40 years, period by period.
fn model(rule: &RecurrenceRule, start: Date) -> Vec<Date> {
    let (year, month, day) = start.ymd();
    let is_yearly = rule.frequency == Frequency::Yearly;
    let mut all = BTreeSet::new();
    for n in (0..480).step_by(rule.interval as usize) {
        let months: Vec<(i32, u32)> = match is_yearly {
            true if n >= 40 => break,
            true => (1..=12).map(|month| (year + n, month)).collect(),
            false => {
                let at = year * 12 + month as i32 - 1 + n;
                vec![(at / 12, at as u32 % 12 + 1)]
            }
        };
        let mut days = BTreeSet::new();
        if !rule.by_year_day.is_empty() {
            let of_year = |d: &i16| day_of_year(year + n, i32::from(*d), rule.skip);
            days.extend(rule.by_year_day.iter().filter_map(of_year));
        } else {
            for (year, of) in months {
                let is_own = rule.by_month.contains(&(of as u8));
                let is_month = match rule.by_month.is_empty() {
                    true => !is_yearly || !rule.by_month_day.is_empty() || of == month,
                    false => is_own,
                };
                let own = [day as i8];
                let month_days = match rule.by_month_day.as_slice() {
                    [] => &own[..],
                    given => given,
                };
                let of_month =
                    |d: &i8| day_of_month(year, of, i32::from(*d), rule.skip).filter(|_| is_month);
                days.extend(month_days.iter().filter_map(of_month));
            }
        }
        days.retain(|day| {
            rule.by_day.is_empty() || rule.by_day.iter().any(|d| d.weekday == day.weekday())
        });
        let days: Vec<Date> = days.into_iter().collect();
        let kept = match rule.by_position.as_slice() {
            [] => days,
            positions => positions
                .iter()
                .filter_map(|at| match *at {
                    at if at > 0 => days.get(at as usize - 1).copied(),
                    at => days
                        .get(days.len().checked_sub(usize::from(at.unsigned_abs()))?)
                        .copied(),
                })
                .collect(),
        };
        all.extend(kept);
    }
    let all = all.into_iter().filter(|day| *day >= start);
    let until = rule.until.map_or(Date::MAX, |until| until.local().date());
    let count = rule.count.map_or(usize::MAX, |count| count as usize);
    let end = Date::new(year + 30, 1, 1).unwrap().min(until);
    all.take(count).filter(|day| *day <= end).collect()
}

fn rule() -> impl Strategy<Value = RecurrenceRule> {
    let day = select(vec![1i8, 2, 15, 28, 29, 30, 31, -1, -28, -29, -30, -31]);
    let parts = (
        option::weighted(0.6, vec(day, 1..4)),
        option::weighted(
            0.2,
            vec(select(vec![1i16, 59, 60, 365, 366, -1, -365, -366]), 1..3),
        ),
        option::weighted(0.3, vec(1u8..=12, 1..4)),
        option::weighted(0.2, vec(0usize..7, 1..5)),
        option::weighted(0.2, vec(select(vec![1i16, 2, -1, -2]), 1..3)),
    );
    let end = prop_oneof![
        Just((None, None)),
        (1u32..40).prop_map(|count| (Some(count), None)),
        (2000i32..2030, 1u32..13).prop_map(|(year, month)| (None, Date::new(year, month, 1))),
    ];
    (
        any::<bool>(),
        1u32..5,
        select(vec![Skip::Omit, Skip::Backward, Skip::Forward]),
        parts,
        end,
    )
        .prop_map(|(is_yearly, interval, skip, parts, (count, until))| {
            let (days, year_days, months, weekdays, positions) = parts;
            let year_days = year_days.filter(|_| is_yearly && days.is_none() && months.is_none());
            let weekday = |at: usize| etui_ical::recurrence::NthWeekday {
                nth: 0,
                weekday: Weekday::ALL[at],
            };
            // BYDAY alone names all such days.
            let has_day = days.is_some() || year_days.is_some();
            let weekdays = weekdays.filter(|_| has_day).unwrap_or_default();
            RecurrenceRule {
                interval,
                skip,
                count,
                until: until.map(etui_ical::time::DateTimeValue::Date),
                by_month_day: days.unwrap_or_default(),
                by_year_day: year_days.unwrap_or_default(),
                by_month: months.unwrap_or_default(),
                by_day: weekdays.into_iter().map(weekday).collect(),
                by_position: positions.filter(|_| has_day).unwrap_or_default(),
                ..RecurrenceRule::every(match is_yearly {
                    true => Frequency::Yearly,
                    false => Frequency::Monthly,
                })
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn skipped_days_are_those_of_the_model(
        rule in rule(),
        start in select(vec![(2000, 2, 29), (2001, 1, 31), (1996, 12, 31), (2003, 8, 30), (2004, 5, 1)]),
    ) {
        let start = Date::new(start.0, start.1, start.2).unwrap();
        let compiled = CompiledRule::new(&rule, start.midnight(), true);
        let end = Date::new(start.ymd().0 + 30, 1, 1).unwrap();
        let days = |from: DateTime| -> Vec<Date> {
            compiled.occurrences(from, end.midnight()).map(|time| time.date()).collect()
        };
        let expected = model(&rule, start);
        prop_assert_eq!(days(start.midnight()), expected.clone(), "{}", rule);
        // From the middle it is the same.
        for day in expected.iter().step_by(7) {
            let rest: Vec<Date> = expected.iter().copied().filter(|other| other >= day).collect();
            prop_assert_eq!(days(day.midnight()), rest, "{} from {}", rule, day);
        }
        prop_assert_eq!(rule.to_string().parse::<RecurrenceRule>(), Ok(rule));
    }
}

#[test]
fn series_with_skip() {
    for (lines, expected) in [
        (
            "DTSTART;VALUE=DATE:20140131\nRRULE:RSCALE=GREGORIAN;FREQ=MONTHLY;SKIP=OMIT;COUNT=4",
            "20140131 20140331 20140531 20140731",
        ),
        (
            "DTSTART;VALUE=DATE:20140131\nRRULE:RSCALE=GREGORIAN;FREQ=MONTHLY;SKIP=BACKWARD;COUNT=4",
            "20140131 20140228 20140331 20140430",
        ),
        (
            "DTSTART;VALUE=DATE:20140131\nRRULE:RSCALE=GREGORIAN;FREQ=MONTHLY;SKIP=FORWARD;COUNT=4",
            "20140131 20140301 20140331 20140501",
        ),
        (
            "DTSTART;VALUE=DATE:20160229\nRRULE:RSCALE=GREGORIAN;FREQ=YEARLY;SKIP=FORWARD;COUNT=5",
            "20160229 20170301 20180301 20190301 20200229",
        ),
        (
            "DTSTART;VALUE=DATE:20160229\nRRULE:RSCALE=GREGORIAN;FREQ=YEARLY;SKIP=BACKWARD;UNTIL=20190301",
            "20160229 20170228 20180228 20190228",
        ),
        (
            "DTSTART;VALUE=DATE:20140131\nRRULE:RSCALE=GREGORIAN;FREQ=MONTHLY;SKIP=BACKWARD;COUNT=4\n\
             EXDATE;VALUE=DATE:20140228",
            "20140131 20140331 20140430",
        ),
        (
            "DTSTART;TZID=Europe/Berlin:20140131T230000\n\
             RRULE:RSCALE=GREGORIAN;FREQ=MONTHLY;INTERVAL=13;SKIP=FORWARD;COUNT=3",
            "20140131T230000 20150301T230000 20160331T230000",
        ),
        // Other frequencies only limit.
        (
            "DTSTART;VALUE=DATE:20140131\nRRULE:RSCALE=GREGORIAN;FREQ=DAILY;BYMONTHDAY=31;SKIP=FORWARD;COUNT=2",
            "20140131 20140331",
        ),
    ] {
        let found = starts(&first(&series(&[lines]), 9)).join(" ");
        assert_eq!(found, expected, "{lines}");
    }
}
