//! What is told quickly, of a window or without a walk, beside what the walk gives.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::ops::{ControlFlow, Range};

use etui_testkit::rng::SplitMix64;

use super::*;
use crate::calendar::time::{
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

fn numbers(rng: &mut SplitMix64, from: i64, to: i64) -> String {
    let one = |rng: &mut SplitMix64| loop {
        let n = from + i64::from(rng.below((to - from + 1) as u32));
        if n != 0 || from == 0 {
            break n.to_string();
        }
    };
    let all: Vec<String> = (0..1 + rng.below(3)).map(|_| one(rng)).collect();
    all.join(",")
}

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

fn rule(rng: &mut SplitMix64, start: DateTime) -> String {
    let all = ["DAILY", "WEEKLY", "MONTHLY", "YEARLY"];
    let below = ["HOURLY", "MINUTELY", "SECONDLY"];
    let frequency = if rng.chance(150) {
        one(rng, &below)
    } else {
        one(rng, &all)
    };
    let mut rule = format!("FREQ={frequency}");
    let mut say = |part: String| rule.push_str(&format!(";{part}"));
    if rng.chance(400) {
        let most = if rng.chance(100) { 300 } else { 5 };
        say(format!("INTERVAL={}", 1 + rng.below(most)));
    }
    match rng.below(6) {
        0 => say(format!("COUNT={}", 1 + rng.below(30))),
        n @ 1..=3 => {
            let days = match rng.below(4) {
                0 => 0,
                1 => i64::from(rng.below(6)) - 3,
                _ => i64::from(rng.below(900)),
            };
            let hours = i64::from(rng.below(49)) - 24;
            let mut end = start.plus_seconds(days * DAY);
            if rng.chance(700) {
                end = end.plus_seconds(hours * 3_600);
            }
            say(match n {
                1 => format!("UNTIL={}", end.date()),
                2 => format!("UNTIL={end}"),
                _ => format!("UNTIL={end}Z"),
            });
        }
        _ => {}
    }
    if rng.chance(300) {
        let day = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
        let nth = matches!(*frequency, "MONTHLY" | "YEARLY") && rng.chance(500);
        let mut days = Vec::new();
        for _ in 0..1 + rng.below(4) {
            let n = ["", "1", "2", "-1", "5", "-5"];
            let n = if nth { one(rng, &n) } else { "" };
            days.push(format!("{n}{}", one(rng, &day)));
        }
        say(format!("BYDAY={}", days.join(",")));
    }
    if rng.chance(150) && *frequency != "WEEKLY" {
        say(format!("BYMONTHDAY={}", numbers(rng, -31, 31)));
    }
    if rng.chance(150) {
        say(format!("BYMONTH={}", numbers(rng, 1, 12)));
    }
    if rng.chance(100) && *frequency == "YEARLY" {
        say(format!("BYWEEKNO={}", numbers(rng, -53, 53)));
    }
    if rng.chance(50) && *frequency == "YEARLY" {
        say(format!("BYYEARDAY={}", numbers(rng, -366, 366)));
    }
    if rng.chance(100) {
        say(format!("BYHOUR={}", numbers(rng, 0, 23)));
    }
    if rng.chance(60) {
        say(format!("BYSETPOS={}", numbers(rng, -3, 3)));
    }
    if rng.chance(200) {
        say(format!("WKST={}", one(rng, &["MO", "SU", "WE"])));
    }
    rule
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

fn end(rng: &mut SplitMix64, start: &CalendarTime, zones: &[TimeZone]) -> EventEnd {
    let length = match rng.below(8) {
        0 => 0,
        1 => -i64::from(rng.below(100_000)),
        2 => 7 * DAY + i64::from(rng.below(3)) * DAY,
        3 => 8 * DAY + i64::from(rng.below(3)) - 1,
        4 => i64::from(rng.below(40)) * DAY,
        _ => i64::from(rng.below(100)) * 1_800,
    };
    let wall = start.wall().plus_seconds(length);
    match rng.below(8) {
        0 => EventEnd::Unsaid,
        1 => EventEnd::After(Duration::from_days(length / DAY)),
        2 => EventEnd::After(Duration::from_seconds(length)),
        3 => EventEnd::After(
            format!("P{}DT{}S", length.max(0) / DAY, length.max(0) % DAY)
                .parse()
                .unwrap(),
        ),
        4 => EventEnd::At(time(rng, wall, zones)),
        _ => EventEnd::At(like(start, wall)),
    }
}

/// One component with a rule, and often dates taken from it, added to it or changed.
fn components(rng: &mut SplitMix64, zones: &[TimeZone]) -> (String, Vec<Timing>) {
    let wall = start(rng);
    let start = time(rng, wall, zones);
    let rule = rule(rng, wall);
    let mut main = Timing::once(start.clone());
    main.rules = rule.parse().into_iter().collect();
    main.end = end(rng, &start, zones);
    let own = RecurrenceSet::new(std::slice::from_ref(&main));
    let all = Timestamp::MIN..Timestamp::MAX;
    let some: Vec<Instance> = own.between(all, &TimeZone::UTC).take(40).collect();
    let near = |rng: &mut SplitMix64| {
        let id = match rng.below(4) {
            0 => like(
                &start,
                wall.plus_seconds(i64::from(rng.below(400)) * 43_200),
            ),
            _ if some.is_empty() => start.clone(),
            _ => one(rng, &some).id.clone(),
        };
        match (rng.below(6), id.zone()) {
            (0, _) => CalendarTime::Date(id.wall().date()),
            (1, Some(zone)) => CalendarTime::Utc(id.at(zone)),
            _ => id,
        }
    };
    let mut all = Vec::new();
    if rng.chance(500) {
        for _ in 0..rng.below(4) {
            main.except_dates.push(near(rng));
        }
        if rng.chance(200) {
            let date = near(rng);
            main.dates.push(RDate {
                end: end(rng, &date, zones),
                start: date,
            });
        }
        if rng.chance(40) {
            main.except_rules
                .push("FREQ=WEEKLY;INTERVAL=3".parse().unwrap());
        }
        for _ in 0..rng.below(3) {
            let id = near(rng);
            let moved = match rng.below(3) {
                0 => id.wall(),
                1 => id.wall().plus_seconds(3_600),
                _ => id
                    .wall()
                    .plus_seconds((i64::from(rng.below(800)) - 400) * 3_600),
            };
            let mut change = Timing::once(like(&id, moved));
            change.end = end(rng, &change.start, zones);
            if rng.chance(900) {
                change.replaces = Some(RecurrenceId {
                    id,
                    and_future: rng.chance(100),
                });
            }
            all.push(change);
        }
    }
    all.insert(0, main);
    (rule, all)
}

fn range(rng: &mut SplitMix64, some: &[Instance], start: i64) -> Range<Timestamp> {
    let edge = |rng: &mut SplitMix64| {
        let by = *one(rng, &[-DAY, -3_600, -1, 0, 0, 0, 1, 3_600, DAY]);
        match some {
            [] => start + by,
            some => {
                let Range { start, end } = one(rng, some).during;
                if rng.chance(500) {
                    start.seconds() + by
                } else {
                    end.seconds() + by
                }
            }
        }
    };
    let from = match rng.below(12) {
        0 => start + i64::from(rng.below(40_000)) * 43_200,
        1 => *one(
            rng,
            &[
                i64::MIN,
                i64::MAX,
                Timestamp::MIN.seconds() + 11 * DAY,
                Timestamp::MAX.seconds() - 400 * DAY,
            ],
        ),
        _ => edge(rng),
    };
    let length = match rng.below(12) {
        0 => 0,
        1 => 1,
        2 => (399 - 22 + i64::from(rng.below(4))) * DAY,
        3 => (399 + i64::from(rng.below(4))) * DAY,
        4 => edge(rng).saturating_sub(from),
        5 => i64::from(rng.below(100)) * DAY,
        6 => -1,
        7 => i64::MAX,
        _ => i64::from(rng.below(14 * 24)) * 3_600,
    };
    let from = Timestamp::from_seconds(from);
    from..from.plus_seconds(length)
}

/// How many random series are looked at.
const ROUNDS: usize = 1_500;

#[test]
fn a_window_of_anything_shows_what_between_gives() {
    let zones = zones();
    let mut rng = SplitMix64::new(1);
    let (mut quick, mut asked, mut found) = (0, 0, 0);
    for _ in 0..ROUNDS {
        let (rule, all) = components(&mut rng, &zones);
        let series = RecurrenceSet::new(&all);
        let viewer = one(&mut rng, &zones).clone();
        let whole = Timestamp::MIN..Timestamp::MAX;
        let some: Vec<Instance> = series.between(whole, &viewer).take(60).collect();
        for _ in 0..8 {
            let range = range(&mut rng, &some, all[0].start.wall().seconds());
            let mut window = Window::new(range.clone(), &viewer);
            // Others were asked before.
            for zone in &zones[..rng.below(10) as usize] {
                window.near(zone);
            }
            let most = *one(&mut rng, &[1, 3, 500]);
            let mut shown = Vec::new();
            series.each(&mut window, |instance| {
                shown.push(instance);
                match shown.len() < most {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            });
            let given: Vec<Instance> = series.between(range.clone(), &viewer).take(most).collect();
            assert_eq!(shown, given, "{rule} in {range:?} {viewer:?}: {all:?}");
            asked += 1;
            if series.in_window(&mut window).is_some() {
                quick += 1;
                found += shown.len();
            }
        }
    }
    println!("{quick} of {asked}, {found} instances");
    assert!(
        quick > asked / 8 && found > asked / 4,
        "{quick} of {asked}, {found}"
    );
}

/// Asserts that a window of a range gives what `between` gives; returns how much that is.
fn agrees(series: &RecurrenceSet, range: Range<Timestamp>, viewer: &TimeZone) -> usize {
    let mut shown = Vec::new();
    series.each(&mut Window::new(range.clone(), viewer), |instance| {
        shown.push(instance);
        ControlFlow::Continue(())
    });
    let given: Vec<Instance> = series.between(range.clone(), viewer).collect();
    assert_eq!(shown, given, "{range:?} {viewer:?}");
    given.len()
}

#[test]
fn a_change_is_where_the_viewer_has_it() {
    let wall = DateTime::new(2026, 1, 1, 12, 0, 0).unwrap();
    let mut main = Timing::once(CalendarTime::Floating(wall));
    main.rules = vec!["FREQ=DAILY".parse().unwrap()];
    let id = wall.plus_seconds(100 * DAY);
    let mut change = Timing::once(CalendarTime::Floating(id.plus_seconds(7_200)));
    change.end = EventEnd::After(Duration::from_seconds(3_600));
    change.replaces = Some(RecurrenceId {
        id: CalendarTime::Floating(id),
        and_future: false,
    });
    let series = RecurrenceSet::new(&[main, change]);
    let mut found = 0;
    for viewer in ["Pacific/Midway", "UTC", "Pacific/Kiritimati"] {
        let viewer = TimeZone::named(viewer).unwrap();
        for hour in -48..48 {
            let from = TimeZone::UTC.to_utc(id).plus_seconds(hour * 3_600);
            found += agrees(&series, from..from.plus_seconds(3_600), &viewer);
        }
    }
    assert_eq!(found, 12);
}

#[test]
fn two_days_that_are_one_are_one_instance() {
    let zone = TimeZone::named("Pacific/Apia").unwrap();
    let wall = DateTime::new(2011, 12, 1, 9, 0, 0).unwrap();
    let mut asked = 0;
    for start in [
        CalendarTime::Date(wall.date()),
        CalendarTime::Floating(wall),
        DateTimeValue::Local(wall).in_zone(Some(&zone)),
    ] {
        let mut main = Timing::once(start.clone());
        main.rules = vec!["FREQ=DAILY".parse().unwrap()];
        let series = RecurrenceSet::new(&[main]);
        for (day, length) in (20..40).flat_map(|day| (1..4).map(move |length| (day, length))) {
            let from = zone.to_utc(wall.plus_seconds(day * DAY - 3_600));
            let range = from..from.plus_seconds(length * DAY);
            asked += agrees(&series, range, &zone);
        }
    }
    assert!(asked > 300, "{asked}");
}

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
                0 => main.except_dates.push(one),
                1 => main
                    .except_dates
                    .push(CalendarTime::Date(one.wall().date())),
                _ => main.except_rules.push("FREQ=DAILY".parse().unwrap()),
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
            // Where time ends, what has no end does so, too.
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
