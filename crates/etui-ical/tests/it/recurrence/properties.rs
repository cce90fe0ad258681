//! Properties of every rule: seeking equals filtering, ranges join, nothing panics.

use etui_ical::recurrence::{CompiledRule, RecurrenceRule, RecurrenceSet};
use etui_ical::time::{DateTime, Timestamp};
use etui_ical::zones::TimeZoneResolver;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::support::{timing, zone};

fn list(name: &'static str, all: Vec<i32>, most: usize) -> impl Strategy<Value = String> {
    let most = most.min(all.len());
    option::weighted(0.15, subsequence(all, 1..=most)).prop_map(move |chosen| {
        let chosen: Vec<String> = chosen
            .unwrap_or_default()
            .iter()
            .map(ToString::to_string)
            .collect();
        if chosen.is_empty() {
            String::new()
        } else {
            format!(";{name}={}", chosen.join(","))
        }
    })
}

fn ordinals(most: i32) -> Vec<i32> {
    (-most..=most).filter(|n| *n != 0).collect()
}

/// Any rule, also with combinations of parts that RFC 5545 does not allow.
fn rule() -> impl Strategy<Value = String> {
    let frequency = select(vec![
        "YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY",
    ]);
    let interval = option::weighted(0.5, prop_oneof![6 => 1u32..8, 1 => any::<u32>()]);
    let day = (
        option::weighted(0.3, select(ordinals(5))),
        select(vec!["MO", "TU", "WE", "TH", "FR", "SA", "SU"]),
    );
    let days = option::weighted(0.3, vec(day, 1..4)).prop_map(|days| {
        let days: Vec<String> = days
            .unwrap_or_default()
            .iter()
            .map(|(n, d)| format!("{}{d}", n.map(|n| n.to_string()).unwrap_or_default()))
            .collect();
        if days.is_empty() {
            String::new()
        } else {
            format!(";BYDAY={}", days.join(","))
        }
    });
    let parts = (
        list("BYMONTH", (1..=12).collect(), 4),
        list("BYWEEKNO", ordinals(53), 4),
        list("BYYEARDAY", ordinals(366), 9),
        list("BYMONTHDAY", ordinals(31), 5),
        days,
        list("BYHOUR", (0..24).collect(), 3),
        list("BYMINUTE", (0..60).collect(), 3),
        list("BYSECOND", (0..=60).collect(), 3),
        list("BYSETPOS", ordinals(9), 3),
    );
    let end = prop_oneof![
        3 => Just(String::new()),
        1 => (1u32..200).prop_map(|n| format!(";COUNT={n}")),
        1 => (1970..2100).prop_map(|y| format!(";UNTIL={y}0701T000000Z")),
    ];
    (frequency, interval, parts, end).prop_map(|(f, i, p, end)| {
        let interval = i.map(|i| format!(";INTERVAL={i}")).unwrap_or_default();
        let (a, b, c, d, e, g, h, j, k) = p;
        format!("FREQ={f}{interval}{a}{b}{c}{d}{e}{g}{h}{j}{k}{end}")
    })
}

fn start() -> impl Strategy<Value = DateTime> {
    prop_oneof![
        8 => 0i64..1_900_000_000,
        1 => DateTime::MIN.seconds()..=DateTime::MAX.seconds(),
    ]
    .prop_map(DateTime::from_seconds)
}

/// Seconds that hold some occurrences and not too many.
fn span(rule: &RecurrenceRule) -> i64 {
    use etui_ical::recurrence::Frequency::*;
    86_400
        * match rule.frequency {
            Yearly => 3_000,
            Monthly => 500,
            Weekly => 100,
            Daily => 30,
            Hourly => 5,
            Minutely | Secondly => 1,
        }
        / if rule.frequency == Secondly { 20 } else { 1 }
}

proptest! {
    #[test]
    fn seeking_is_filtering(text in rule(), start in start(), from in 0.0..1.0, to in 0.0..1.0) {
        let rule: RecurrenceRule = text.parse().unwrap();
        let compiled = CompiledRule::new(&rule, start, false);
        let span = span(&rule);
        let all: Vec<DateTime> = compiled.occurrences(start, start.plus_seconds(span)).collect();
        prop_assert!(all.is_sorted_by(|a, b| a < b));
        let place = |part: f64| start.plus_seconds((part * span as f64) as i64);
        let (from, to) = (place(from), place(to));
        let sought: Vec<DateTime> = compiled.occurrences(from, to).collect();
        let filtered: Vec<DateTime> = all.into_iter().filter(|t| (from..=to).contains(t)).collect();
        prop_assert_eq!(sought, filtered);
    }

    #[test]
    fn ranges_join(text in rule(), start in start(), middle in 0.0..1.0, zoned: bool, days in 0i64..3) {
        let rule: RecurrenceRule = text.parse().unwrap();
        let tzid = if zoned { ";TZID=Europe/Berlin" } else { "" };
        let event = format!("DTSTART{tzid}:{start}\nDURATION:P{days}D\nRRULE:{text}");
        let series = RecurrenceSet::new(&[timing(&event, &TimeZoneResolver::new())]);
        let viewer = zone("America/New_York");
        let from = Timestamp::from_seconds(start.seconds() - 86_400);
        let to = from.plus_seconds(span(&rule) / 3);
        let between = from.plus_seconds((middle * (span(&rule) / 3) as f64) as i64);
        let all: Vec<_> = series.between(from..to, &viewer).collect();
        prop_assert!(all.is_sorted_by_key(|i| i.during.start));
        let mut joined: Vec<_> = series.between(from..between, &viewer).collect();
        let later = series.between(between..to, &viewer);
        joined.extend(later.filter(|i| i.during.start >= between));
        prop_assert_eq!(all, joined);
        let bounds = series.bounds();
        for instance in series.between(from..to, &viewer) {
            prop_assert!(bounds.start <= instance.during.start && instance.during.end <= bounds.end);
        }
    }

    #[test]
    fn what_is_next_is_found_or_not_without_end(text in rule(), start in start(), from in start()) {
        let rule: RecurrenceRule = text.parse().unwrap();
        let compiled = CompiledRule::new(&rule, start, false);
        let next: Vec<DateTime> = compiled.occurrences(from, DateTime::MAX).take(2).collect();
        prop_assert!(next.iter().all(|t| *t >= from && *t >= start));
    }

    #[test]
    fn the_last_is_the_last(text in rule(), start in start()) {
        let rule: RecurrenceRule = text.parse().unwrap();
        let compiled = CompiledRule::new(&rule, start, false);
        if let Some(last) = compiled.last_occurrence() {
            prop_assert_eq!(compiled.occurrences(last, DateTime::MAX).collect::<Vec<_>>(), [last]);
        }
    }

    #[test]
    fn any_text_is_a_rule_or_a_mistake(text in "\\PC{0,60}|(FREQ|BY(DAY|MONTH)|COUNT|[a-z;=,0-9-]){0,20}") {
        if let Ok(rule) = text.parse::<RecurrenceRule>() {
            prop_assert_eq!(rule.to_string().parse::<RecurrenceRule>(), Ok(rule));
        }
    }
}
