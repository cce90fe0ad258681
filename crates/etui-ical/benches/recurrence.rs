//! The cost of expanding one week of recurring components, anywhere within a hundred years.
//!
//! `cargo bench -p etui-ical --bench recurrence`. `week/...` is one week of one compiled set, 2026,
//! 2076 and 2126 in turn; `thousand/...` is one week of 1,000 unbounded sets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(missing_docs)]

use std::hint::black_box;
use std::ops::Range;

use criterion::{Criterion, criterion_group, criterion_main};
use etui_ical::recurrence::{CompiledRule, RecurrenceRule, RecurrenceSet, Timing};
use etui_ical::time::{Date, DateTime, DateTimeValue, TimeZone, Timestamp};

const START: &str = "19800107T090000";

/// Typical unbounded rules.
const RULES: &[(&str, &str)] = &[
    ("weekly", "FREQ=WEEKLY"),
    ("weekly on three days", "FREQ=WEEKLY;BYDAY=MO,WE,FR"),
    ("every other week", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU"),
    ("workdays", "FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR"),
    ("monthly by weekday", "FREQ=MONTHLY;BYDAY=2TU"),
    (
        "last workday",
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
    ),
    ("yearly", "FREQ=YEARLY"),
    ("yearly by weekday", "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH"),
    ("yearly by week", "FREQ=YEARLY;BYWEEKNO=47;BYDAY=MO"),
];

fn series(rule: &str, zone: &TimeZone) -> RecurrenceSet {
    let start: DateTimeValue = START.parse().unwrap();
    let mut timing = Timing::once(start.in_zone(Some(zone)));
    timing.rules = vec![rule.parse().unwrap()];
    RecurrenceSet::new(&[timing])
}

fn weeks(zone: &TimeZone) -> Vec<Range<Timestamp>> {
    let week = |year| {
        let from = Date::new(year, 11, 20).unwrap();
        zone.to_utc(from.midnight())..zone.to_utc(from.plus_days(7).midnight())
    };
    [2026, 2076, 2126].into_iter().map(week).collect()
}

fn one(c: &mut Criterion) {
    let zone = TimeZone::named("Europe/Berlin").unwrap();
    let weeks = weeks(&zone);
    let mut group = c.benchmark_group("week");
    let rules = RULES.iter().map(|(name, rule)| (*name, *rule, usize::MAX));
    let every_second = [
        ("every second: the first ten", "FREQ=SECONDLY", 10),
        ("every second: all 604,800", "FREQ=SECONDLY", usize::MAX),
    ];
    for (name, rule, limit) in rules.chain(every_second) {
        let series = series(rule, &zone);
        let mut n = 0;
        group.bench_function(name, |b| {
            b.iter(|| {
                n += 1;
                let week = weeks[n % weeks.len()].clone();
                series
                    .between(black_box(week), &zone)
                    .take(limit)
                    .map(|i| i.during.start.seconds())
                    .sum::<i64>()
            });
        });
    }
    group.finish();
}

fn many(c: &mut Criterion) {
    let zone = TimeZone::named("Europe/Berlin").unwrap();
    let weeks = weeks(&zone);
    let rules: Vec<RecurrenceRule> = RULES.iter().map(|(_, r)| r.parse().unwrap()).collect();
    let all: Vec<RecurrenceSet> = (0..1_000)
        .map(|n| {
            let start = DateTime::new(1980, 1, 7, 9, 0, 0)
                .unwrap()
                .plus_seconds(n * 86_400 * 7 + n * 60);
            let mut timing = Timing::once(DateTimeValue::Local(start).in_zone(Some(&zone)));
            timing.rules = vec![rules[n as usize % rules.len()].clone()];
            RecurrenceSet::new(&[timing])
        })
        .collect();
    let mut group = c.benchmark_group("thousand");
    for week in &weeks {
        group.bench_function(&week.start.to_string()[..4], |b| {
            b.iter(|| {
                all.iter()
                    .map(|s| s.between(black_box(week.clone()), &zone).count())
                    .sum::<usize>()
            });
        });
    }
    group.finish();
}

/// The cost of compilation, which a store pays once per set.
fn ready(c: &mut Criterion) {
    let zone = TimeZone::named("Europe/Berlin").unwrap();
    let mut group = c.benchmark_group("ready");
    group.bench_function("read and make ready", |b| {
        b.iter(|| series(black_box("FREQ=WEEKLY;BYDAY=MO,WE,FR"), &zone))
    });
    let rule: RecurrenceRule = "FREQ=WEEKLY;BYDAY=MO,WE,FR;COUNT=1000".parse().unwrap();
    let start = DateTime::new(1980, 1, 7, 9, 0, 0).unwrap();
    group.bench_function("the end of COUNT=1000", |b| {
        b.iter(|| CompiledRule::new(black_box(&rule), start, false).last_occurrence())
    });
    group.finish();
}

criterion_group!(benches, one, many, ready);
criterion_main!(benches);
