//! [`Window`]: a range of time for which many series are asked, and what they share of it.
//!
//! Nearly every series is one rule of days at one time of day, and what else it says, its start,
//! `RDATE`s and changes, lies elsewhere. Of such a series the days of the range are the bits of a
//! month or two, and a day becomes an instant by the offset that its zone has there: months and
//! offsets are found once for all series. The others are asked by [`RecurrenceSet::between`]; both give
//! the same instances.

use std::ops::{ControlFlow, Range};

use super::ids::{Id, Main};
use super::plan::{CompiledRule, Shape};
use super::series::{Instance, RecurrenceSet};
use crate::calendar::time::{
    Clocks, DAY, DateTime, Near, TimeZone, Timestamp, days_of, month_length, ymd_of,
};

/// Seconds that instances may be long: changes of the clocks are looked for so far around a range.
const LENGTH: i64 = 8 * DAY;
/// Seconds by which an instant and its local time may differ, and some more.
const AROUND: i64 = 3 * DAY;
/// Seconds that a range may be long.
const LONGEST: i64 = 400 * DAY;
/// Zones of which the offsets are kept.
const ZONES: usize = 8;

/// A range for which series are asked, as it is seen from a zone.
pub(crate) struct Window<'v> {
    range: Range<Timestamp>,
    viewer: &'v TimeZone,
    /// The months around it, in order; none if it is not asked for this way.
    months: Vec<Month>,
    zones: Vec<(TimeZone, Option<Near>)>,
}

/// A month, its days counted from 1970-01-01.
struct Month {
    year: i32,
    month: u32,
    first: i32,
    last: i32,
}

/// What alone makes the instances of a series in a window.
pub(super) struct Alone<'s> {
    main: &'s Main,
    plan: &'s CompiledRule,
    /// The instant behind which it makes none.
    until: Option<Timestamp>,
    /// The time of day, in seconds.
    of_day: i64,
    near: Near,
}

impl<'v> Window<'v> {
    pub(crate) fn new(range: Range<Timestamp>, viewer: &'v TimeZone) -> Self {
        let mut window = Self {
            months: Vec::new(),
            zones: Vec::new(),
            range,
            viewer,
        };
        let (from, to) = window.reach();
        let years = DateTime::MIN.seconds() + LENGTH..DateTime::MAX.seconds() - LENGTH;
        let is_near = years.contains(&from) && years.contains(&to) && to - from <= LONGEST;
        if is_near && window.range.start < window.range.end {
            window.enter(from.div_euclid(DAY) as i32, to.div_euclid(DAY) as i32);
        }
        window
    }

    /// Instants between which all lies that has to do with it.
    fn reach(&self) -> (i64, i64) {
        let Range { start, end } = &self.range;
        (
            start.seconds() - LENGTH - AROUND,
            end.seconds() + LENGTH + AROUND,
        )
    }

    fn enter(&mut self, first_day: i32, last_day: i32) {
        let (mut year, mut month, _) = ymd_of(first_day);
        let mut first = days_of(year, month, 1);
        while first <= last_day {
            let next = first + month_length(year, month) as i32;
            self.months.push(Month {
                year,
                month,
                first,
                last: next - 1,
            });
            first = next;
            (year, month) = if month == 12 {
                (year + 1, 1)
            } else {
                (year, month + 1)
            };
        }
    }

    pub(super) fn near(&mut self, zone: &TimeZone) -> Option<Near> {
        if let Some((_, near)) = self.zones.iter().find(|(known, _)| known.is(zone)) {
            return *near;
        }
        let (from, to) = self.reach();
        let near = zone.near(from, to);
        if self.zones.len() < ZONES {
            self.zones.push((zone.clone(), near));
        }
        near
    }
}

impl RecurrenceSet {
    /// Calls `visit` with the instances that have to do with a range, as
    /// [`between`](Self::between) gives them.
    pub(crate) fn each(
        &self,
        window: &mut Window<'_>,
        mut visit: impl FnMut(Instance) -> ControlFlow<()>,
    ) {
        let Some(alone) = self.in_window(window) else {
            for instance in self.between(window.range.clone(), window.viewer) {
                if visit(instance).is_break() {
                    return;
                }
            }
            return;
        };
        let Alone { main, near, .. } = alone;
        let Window { range, viewer, .. } = &*window;
        let zone = main.zone(viewer);
        let is_whole = self.replaces_none() && main.excepts_none();
        alone.days(window, |wall| {
            let at = near.resolve(DateTime::from_seconds(wall)).at;
            if at >= range.end || alone.until.is_some_and(|until| at > until) {
                return ControlFlow::Break(());
            }
            let id = Id {
                wall,
                at: at.seconds(),
                extra: None,
            };
            if !is_whole && (self.replaces(main.key_of(id)) || main.is_excepted(id)) {
                return ControlFlow::Continue(());
            }
            let start = main.time_of(id);
            let (end, until) = main.length.end(&start, at, zone, &near);
            let instance = Instance {
                component: main.component,
                id: start.clone(),
                start,
                end,
                during: at..until,
            };
            if instance.is_in(range) {
                visit(instance)
            } else {
                ControlFlow::Continue(())
            }
        });
    }

    /// What makes its instances in a window, if that is one rule of days at one time of day, which
    /// the clocks do not skip there.
    pub(super) fn in_window(&self, window: &mut Window<'_>) -> Option<Alone<'_>> {
        if window.months.is_empty() {
            return None;
        }
        let (start, end) = (window.range.start.seconds(), window.range.end.seconds());
        let main = self.alone(start, end)?;
        let most = main.most();
        let (plan, until) = main.only_rule(start - most, end)?;
        let Shape::Days {
            times, positions, ..
        } = &plan.shape
        else {
            return None;
        };
        let of_day = times.only().filter(|_| positions.is_empty())?;
        let near = window.near(main.zone(window.viewer))?;
        (most <= LENGTH && !near.skips(of_day)).then_some(Alone {
            main,
            plan,
            until,
            of_day,
            near,
        })
    }
}

impl Alone<'_> {
    /// Calls `visit` with the local times whose instants may have to do with a window, in order.
    fn days(&self, window: &Window<'_>, mut visit: impl FnMut(i64) -> ControlFlow<()>) {
        let plan = self.plan;
        let Shape::Days { unit, .. } = plan.shape else {
            return;
        };
        let (least, greatest) = self.near.offsets();
        let from = window.range.start.seconds() - self.main.most() + least;
        let from = from.max(plan.start);
        let to = plan.end(window.range.end.seconds() + greatest);
        // Of the days only those whose time lies between.
        let first = (from - self.of_day + DAY - 1).div_euclid(DAY);
        let last = (to - self.of_day).div_euclid(DAY);
        for month in &window.months {
            let (from, to) = (i64::from(month.first), i64::from(month.last));
            if to < first {
                continue;
            }
            if from > last {
                return;
            }
            let (first, last) = (first.max(from), last.min(to));
            let mut days = plan.days.month(month.year, month.month, month.first);
            days &= u32::MAX << (first - from) & u32::MAX >> (31 - (last - from));
            while days != 0 {
                let day = from + i64::from(days.trailing_zeros());
                days &= days - 1;
                if plan.interval != 1 {
                    let period = unit.period(day);
                    if plan.visited(period) != period {
                        continue;
                    }
                }
                if visit(day * DAY + self.of_day).is_break() {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use etui_testkit::rng::SplitMix64;

    use super::*;
    use crate::calendar::recurrence::{EventEnd, RDate, RecurrenceId, Timing};
    use crate::calendar::time::{
        CalendarTime, DateTimeValue, Duration, TransitionTable, ZoneTransition,
    };

    /// Zones with gaps of all kinds, one of them a whole day; one of a file's own.
    fn zones() -> Vec<TimeZone> {
        let named = [
            "UTC",
            "Europe/Berlin",
            "America/New_York",
            "Australia/Lord_Howe",
            "Africa/Casablanca",
            "Pacific/Apia",
        ];
        let mut zones: Vec<TimeZone> = named.map(|n| TimeZone::named(n).unwrap()).into();
        let change = |n: i64| ZoneTransition {
            at: n * 100 * DAY + 4 * 3_600,
            offset: 3_600 * (n % 3) as i32,
        };
        let table = TransitionTable::new(0, (0..300).map(change).collect(), false);
        zones.push(TimeZone::defined("own", table));
        zones
    }

    fn one<'a, T>(rng: &mut SplitMix64, all: &'a [T]) -> &'a T {
        &all[rng.below(all.len() as u32) as usize]
    }

    fn time(rng: &mut SplitMix64, wall: DateTime, zones: &[TimeZone]) -> CalendarTime {
        match rng.below(8) {
            0 => CalendarTime::Date(wall.date()),
            1 => CalendarTime::Floating(wall),
            _ => DateTimeValue::Local(wall).in_zone(Some(one(rng, zones))),
        }
    }

    fn end(rng: &mut SplitMix64, start: &CalendarTime, zones: &[TimeZone]) -> EventEnd {
        let length = i64::from(rng.below(5)) * DAY * i64::from(rng.below(2))
            + i64::from(rng.below(50)) * 1_800;
        let moved = |zone: Option<&TimeZone>| {
            let wall = start.wall().plus_seconds(length);
            match start {
                CalendarTime::Date(_) => CalendarTime::Date(wall.date()),
                _ => DateTimeValue::Local(wall).in_zone(zone),
            }
        };
        match rng.below(6) {
            0 => EventEnd::Unsaid,
            1 => EventEnd::After(Duration::from_days(length / DAY)),
            2 => EventEnd::After(Duration::from_seconds(length)),
            3 => EventEnd::At(moved(Some(one(rng, zones)))),
            _ => EventEnd::At(moved(start.zone())),
        }
    }

    /// One component with a rule, and in one of four some more.
    fn components(
        rng: &mut SplitMix64,
        start: DateTime,
        rule: &str,
        zones: &[TimeZone],
    ) -> Vec<Timing> {
        let start = time(rng, start, zones);
        let mut rules = vec![rule.parse().expect(rule)];
        let near = |rng: &mut SplitMix64| {
            let days = i64::from(rng.below(400)) * DAY;
            let wall = start.wall().plus_seconds(days);
            match (&start, rng.below(4)) {
                (CalendarTime::Date(_), _) | (_, 0) => CalendarTime::Date(wall.date()),
                _ => DateTimeValue::Local(wall).in_zone(start.zone()),
            }
        };
        let mut main = Timing::once(start.clone());
        main.end = end(rng, &start, zones);
        let mut all = Vec::new();
        if rng.chance(250) {
            if rng.chance(200) {
                rules.push("FREQ=MONTHLY;BYDAY=2TU".parse().unwrap());
            }
            if rng.chance(200) {
                main.except_rules
                    .push("FREQ=WEEKLY;INTERVAL=3".parse().unwrap());
            }
            for _ in 0..rng.below(4) {
                main.except_dates.push(near(rng));
                let date = near(rng);
                main.dates.push(RDate {
                    end: end(rng, &date, zones),
                    start: date,
                });
            }
            for _ in 0..rng.below(3) {
                let id = near(rng);
                let moved = id.wall().plus_seconds(i64::from(rng.below(100)) * 3_600);
                let mut change = Timing::once(DateTimeValue::Local(moved).in_zone(id.zone()));
                change.end = end(rng, &change.start, zones);
                change.replaces = Some(RecurrenceId {
                    id,
                    and_future: rng.chance(200),
                });
                all.push(change);
            }
        }
        main.rules = rules;
        all.insert(0, main);
        all
    }

    /// Days around which the clocks are changed in some of the zones, or not.
    const DAYS: [i64; 6] = [20_541, 20_751, 20_760, 20_517, 15_338, 20_600];

    #[test]
    fn a_window_shows_what_between_gives() {
        let zones = zones();
        let mut rng = SplitMix64::new(7);
        let (mut quick, mut asked, mut found) = (0, 0, 0);
        let rules = include_str!("../../../tests/data/recurrence-reference.tsv").lines();
        // All of them take a minute in a build for debugging.
        for line in rules.step_by(if cfg!(debug_assertions) { 5 } else { 1 }) {
            let mut fields = line.split('\t').skip(1);
            let start = fields
                .next()
                .unwrap()
                .parse::<DateTimeValue>()
                .unwrap()
                .wall();
            // All over the day, and where hours are missing or doubled.
            let of_day = i64::from(rng.below(10)) * 1_800 * i64::from(1 + rng.below(5));
            let start = start.date().midnight().plus_seconds(of_day % DAY);
            let rule = fields.next().unwrap();
            let series = RecurrenceSet::new(&components(&mut rng, start, rule, &zones));
            for n in 0..4 {
                let viewer = one(&mut rng, &zones);
                let from = match n {
                    0 => start.seconds() + i64::from(rng.below(40 * 24)) * 3_600 - 20 * DAY,
                    1 => one(&mut rng, &DAYS) * DAY - i64::from(rng.below(12 * 24)) * 3_600,
                    _ => start.seconds() + i64::from(rng.below(20_000 * 24)) * 3_600,
                };
                let length = match rng.below(10) {
                    0 => i64::from(rng.below(300)) * DAY,
                    1 => i64::from(rng.below(7_200)),
                    _ => i64::from(rng.below(14 * 24)) * 3_600,
                };
                let from = Timestamp::from_seconds(from);
                let range = from..from.plus_seconds(length);
                let mut window = Window::new(range.clone(), viewer);
                let most = 1_000;
                let mut shown = Vec::new();
                series.each(&mut window, |instance| {
                    shown.push(instance);
                    match shown.len() {
                        n if n < most => ControlFlow::Continue(()),
                        _ => ControlFlow::Break(()),
                    }
                });
                let given: Vec<Instance> =
                    series.between(range.clone(), viewer).take(most).collect();
                assert_eq!(shown, given, "{rule} from {start} in {range:?} {viewer:?}");
                asked += 1;
                let is_quick = series.in_window(&mut window).is_some();
                quick += usize::from(is_quick);
                found += if is_quick { shown.len() } else { 0 };
            }
        }
        println!("{quick} of {asked}, {found} instances");
        assert!(
            quick > asked / 4 && found > 5_000,
            "{quick} of {asked}, {found}"
        );
    }

    #[test]
    fn a_window_at_the_ends_of_time_is_asked_the_other_way() {
        let series = RecurrenceSet::new(&components(
            &mut SplitMix64::new(1),
            DateTime::new(1, 1, 1, 9, 0, 0).unwrap(),
            "FREQ=DAILY",
            &[TimeZone::UTC],
        ));
        let first = Timestamp::MIN..Timestamp::MIN.plus_seconds(9 * DAY);
        let last = Timestamp::MAX.plus_seconds(-9 * DAY)..Timestamp::MAX;
        for range in [first, last] {
            let mut window = Window::new(range.clone(), &TimeZone::UTC);
            assert!(series.in_window(&mut window).is_none());
            let mut shown = 0;
            series.each(&mut window, |_| {
                shown += 1;
                ControlFlow::Continue(())
            });
            assert_eq!(shown, series.between(range, &TimeZone::UTC).count());
        }
    }
}
