//! Compares [`RecurrenceSet::unbroken`] with the union of the expanded instances, over random sets.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::ops::Range;

use etui_testkit::rng::SplitMix64;

use super::*;
use crate::time::{
    CalendarTime, DAY, Date, DateTime, DateTimeValue, Duration, TimeZone, Timestamp,
    TransitionTable, ZoneTransition,
};

/// Zones with gaps of all kinds: at night, at midnight, of half an hour, of a day; files' own.
fn zones() -> Vec<TimeZone> {
    let named = [
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "America/Havana",
        "Asia/Beirut",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "Pacific/Apia",
        "America/Santiago",
        "Asia/Manila",
    ];
    let mut zones: Vec<TimeZone> = named.map(|n| TimeZone::named(n).unwrap()).into();
    let half_year = 31_556_952 / 2;
    let twice = |n: i64| ZoneTransition {
        at: n * half_year + 3_600,
        offset: 7_200 - 3_600 * (n % 2).abs() as i32,
    };
    let far = |n: i64| ZoneTransition {
        at: n * 50 * DAY + 4 * 3_600,
        offset: [-86_399, 0, 86_399, 43_200][n.rem_euclid(4) as usize],
    };
    let table = |all, cyclic| TransitionTable::new(3_600, all, cyclic);
    zones.push(TimeZone::defined(
        "own",
        table((-100..200).map(twice).collect(), false),
    ));
    zones.push(TimeZone::defined(
        "for ever",
        table((-200..802).map(twice).collect(), true),
    ));
    zones.push(TimeZone::defined(
        "odd",
        table((-300..600).map(far).collect(), false),
    ));
    zones
}

fn one<'a, T>(rng: &mut SplitMix64, all: &'a [T]) -> &'a T {
    &all[rng.below(all.len() as u32) as usize]
}

/// Days on which the clocks are changed in some of the zones: 2026, and the day that Apia left out.
const CHANGES: [i64; 8] = [
    20_541, 20_751, 20_520, 20_758, 20_547, 20_729, 15_338, 20_537,
];

fn start(rng: &mut SplitMix64) -> DateTime {
    let year = match rng.below(20) {
        0 => 1,
        1 => 1_890 + rng.below(20) as i32,
        2 => 2_235 + rng.below(15) as i32,
        3 => 9_998,
        4 => 2_011,
        _ => 2_005 + rng.below(30) as i32,
    };
    let day = match rng.below(3) {
        0 => Date::from_days(one(rng, &CHANGES) - i64::from(rng.below(4))),
        _ => Date::new(year, 1 + rng.below(12), 1 + rng.below(28)).unwrap(),
    };
    let of_day = match rng.below(3) {
        0 => i64::from(rng.below(48)) * 1_800,
        1 => i64::from(rng.below(8)) * 1_800,
        _ => i64::from(rng.below(86_400)),
    };
    day.midnight().plus_seconds(of_day)
}

fn time(rng: &mut SplitMix64, wall: DateTime, zones: &[TimeZone]) -> CalendarTime {
    match rng.below(8) {
        0 => CalendarTime::Date(wall.date()),
        1 => CalendarTime::Floating(wall),
        2 => CalendarTime::Utc(TimeZone::UTC.to_utc(wall)),
        _ => DateTimeValue::Local(wall).in_zone(Some(one(rng, zones))),
    }
}

fn like(time: &CalendarTime, wall: DateTime) -> CalendarTime {
    match time {
        CalendarTime::Date(_) => CalendarTime::Date(wall.date()),
        CalendarTime::Utc(_) => CalendarTime::Utc(TimeZone::UTC.to_utc(wall)),
        _ => DateTimeValue::Local(wall).in_zone(time.zone()),
    }
}

/// Random sets compared.
const ROUNDS: usize = 1_500;

/// When some ranges are taken, in order.
fn union(
    all: impl Iterator<Item = Range<Timestamp>>,
    range: &Range<Timestamp>,
) -> Vec<Range<Timestamp>> {
    let mut all: Vec<_> = all
        .map(|r| r.start.max(range.start)..r.end.min(range.end))
        .filter(|r| r.start < r.end)
        .collect();
    all.sort_by_key(|r| (r.start, r.end));
    let mut joined: Vec<Range<Timestamp>> = Vec::new();
    for range in all {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[test]
fn what_lasts_without_a_break_is_what_the_walk_takes() {
    let zones = zones();
    let mut rng = SplitMix64::new(1);
    let (mut told, mut ended) = (0, 0);
    for _ in 0..ROUNDS {
        let wall = start(&mut rng);
        let start = match rng.below(3) {
            0 => CalendarTime::Utc(TimeZone::UTC.to_utc(wall)),
            1 => CalendarTime::Floating(wall),
            _ => time(&mut rng, wall, &zones),
        };
        let (unit, seconds) = *one(
            &mut rng,
            &[("HOURLY", 3_600), ("MINUTELY", 60), ("SECONDLY", 1)],
        );
        let interval = match unit {
            "SECONDLY" => 1 + rng.below(9_000),
            "MINUTELY" => 1 + rng.below(150),
            _ => 1 + rng.below(60),
        };
        let step = i64::from(interval) * seconds;
        let mut rule = format!("FREQ={unit};INTERVAL={interval}");
        let last = wall.plus_seconds(step * i64::from(rng.below(60)) + i64::from(rng.below(5)) - 2);
        match rng.below(7) {
            0 => rule += &format!(";COUNT={}", 1 + rng.below(50)),
            1 => rule += &format!(";UNTIL={}", last.date()),
            2 => rule += &format!(";UNTIL={last}"),
            3 => rule += &format!(";UNTIL={last}Z"),
            4 => {
                let before = wall.plus_seconds(-i64::from(rng.below(60)) * 3_600);
                rule += &format!(";UNTIL={before}Z");
            }
            _ => {}
        }
        if rng.chance(200) && unit != "SECONDLY" {
            let (part, n) = match unit {
                "HOURLY" => ("BYMINUTE", wall.hms().1),
                _ => ("BYSECOND", wall.hms().2),
            };
            rule += &format!(";{part}={}", (n + rng.below(2)) % 60);
        }
        let mut main = Timing::once(start.clone());
        main.rules = vec![rule.parse().expect(&rule)];
        let length = match rng.below(5) {
            0 => step - 1,
            1 => step,
            2 => step * 3 + 1,
            3 => step + 4 * DAY + i64::from(rng.below(3)) - 1,
            _ => step + i64::from(rng.below(10)) * DAY,
        };
        main.end = match rng.below(4) {
            0 => EventEnd::After(Duration::from_seconds(length)),
            1 => EventEnd::After(
                format!("P{}DT{}S", length / DAY, length % DAY)
                    .parse()
                    .unwrap(),
            ),
            2 => EventEnd::At(time(&mut rng, wall.plus_seconds(length), &zones)),
            _ => EventEnd::At(like(&start, wall.plus_seconds(length))),
        };
        if rng.chance(200) {
            let one = like(&start, wall.plus_seconds(step * i64::from(rng.below(4))));
            match rng.below(3) {
                0 => main.exception_dates.push(one),
                1 => main
                    .exception_dates
                    .push(CalendarTime::Date(one.local().date())),
                _ => main.exception_rules.push("FREQ=DAILY".parse().unwrap()),
            }
        }
        let series = RecurrenceSet::new(&[main.clone()]);
        let viewer = one(&mut rng, &zones).clone();
        let Some((component, during)) = series.unbroken(&viewer) else {
            continue;
        };
        assert_eq!(component, 0);
        told += 1;
        ended += usize::from(during.end < Timestamp::MAX);
        for _ in 0..4 {
            let from = match rng.below(5) {
                0 => during.start.seconds() - 3_600,
                4 => during.start.seconds() + i64::from(rng.below(5)) * DAY,
                1 => during.end.seconds().saturating_sub(4 * DAY),
                2 => during.start.seconds() + length - 3_600,
                _ => during.start.seconds() + i64::from(rng.below(1_000_000)) * 60,
            };
            let from = Timestamp::from_seconds(from);
            let span = if step < 600 { 7_200 } else { 5 * DAY };
            let range = from..from.plus_seconds(i64::from(rng.below(span as u32)) + 1);
            // At the end of the range of instants unbounded sets end, too.
            if range.end > Timestamp::MAX.plus_seconds(-20 * DAY) {
                continue;
            }
            let walked = union(
                series.between(range.clone(), &viewer).map(|i| i.during),
                &range,
            );
            let quickly = union(std::iter::once(during.clone()), &range);
            assert_eq!(quickly, walked, "{rule} in {range:?} {viewer:?}: {main:?}");
        }
    }
    println!("{told}, {ended} with an end");
    assert!(told > ROUNDS / 4 && ended > ROUNDS / 20, "{told} {ended}");
}

#[test]
fn what_begins_in_a_gap_is_told_without_a_walk() {
    let zone = TimeZone::named("Europe/Berlin").unwrap();
    for (rule, minute) in [("SECONDLY", 0), ("MINUTELY;INTERVAL=40", 5), ("HOURLY", 30)] {
        let wall = DateTime::new(2026, 3, 29, 2, minute, 0).unwrap();
        let mut main = Timing::once(DateTimeValue::Local(wall).in_zone(Some(&zone)));
        main.rules = vec![format!("FREQ={rule}").parse().unwrap()];
        main.end = EventEnd::After(Duration::from_days(7));
        let series = RecurrenceSet::new(&[main]);
        let (_, during) = series.unbroken(&TimeZone::UTC).unwrap();
        let walked = series.between(Timestamp::MIN..Timestamp::MAX, &TimeZone::UTC);
        let first = walked.map(|i| i.during.start).next().unwrap();
        assert_eq!(during, first..Timestamp::MAX, "{rule}");
    }
}

#[test]
fn an_override_is_where_the_viewer_has_it() {
    let local = DateTime::new(2026, 1, 1, 12, 0, 0).unwrap();
    let mut master = Timing::once(CalendarTime::Floating(local));
    master.rules = vec!["FREQ=DAILY".parse().unwrap()];
    let id = local.plus_seconds(100 * DAY);
    let mut change = Timing::once(CalendarTime::Floating(id.plus_seconds(7_200)));
    change.end = EventEnd::After(Duration::from_seconds(3_600));
    change.recurrence_id = Some(RecurrenceId {
        id: CalendarTime::Floating(id),
        this_and_future: false,
    });
    let set = RecurrenceSet::new(&[master, change]);
    let mut found = 0;
    for viewer in ["Pacific/Midway", "UTC", "Pacific/Kiritimati"] {
        let viewer = TimeZone::named(viewer).unwrap();
        for hour in -48..48 {
            let from = TimeZone::UTC.to_utc(id).plus_seconds(hour * 3_600);
            found += set.between(from..from.plus_seconds(3_600), &viewer).count();
        }
    }
    assert_eq!(found, 12);
}
