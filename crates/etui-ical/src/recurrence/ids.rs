//! [`Main`]: the recurring component made ready. [`Ids`]: where its instances stand, changes by
//! other components aside.
//!
//! Rules walk in local time. Their union, less `EXRULE`, becomes instants ([`InOrder`]), is
//! joined by `RDATE`, and loses `EXDATE`.

use std::ops::Range;

use super::order::{InOrder, Placed};
use super::plan::CompiledRule;
use super::timing::{Length, SLACK, Timing};
use super::walk::RuleOccurrences;
use crate::time::{CalendarTime, DateTime, DateTimeValue, ResolvedTime, TimeZone, Timestamp};

/// Steps that a leap costs about as much as.
const STEPS: usize = 8;

/// Times in a row that `EXRULE` may take away; behind so many there is nothing more. Else a rule
/// of seconds less itself would be walked for thousands of years.
const MAX_EXCEPTED: u32 = 1 << 17;

/// The recurring component of a series.
#[derive(Debug)]
pub(super) struct Main {
    pub(super) component: usize,
    pub(super) start: CalendarTime,
    pub(super) length: Length,
    rules: Vec<Limited>,
    exception_rules: Vec<Limited>,
    /// `DTSTART` and `RDATE`, by key.
    extras: Vec<Extra>,
    /// Seconds by which an extra may be longer than the component.
    longer_extras: i64,
    /// `EXDATE`: keys, and whole days since 1970-01-01.
    except_keys: Vec<i64>,
    except_days: Vec<i64>,
}

/// A rule, and the instant behind which it makes nothing.
#[derive(Debug)]
struct Limited {
    plan: CompiledRule,
    /// `UNTIL` in UTC for times in a zone: the instant, and the local time from which it has to
    /// be compared.
    until: Option<(Timestamp, i64)>,
}

/// A date of `RDATE`, or the start.
#[derive(Debug)]
struct Extra {
    key: i64,
    wall: i64,
    /// Its own length, if it is a period.
    length: Option<Length>,
}

/// Where an instance stands, by the component's own clock and as an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Id {
    pub(super) wall: i64,
    pub(super) at: i64,
    /// Which extra says its own length.
    pub(super) extra: Option<usize>,
}

impl Main {
    pub(super) fn new(component: usize, timing: &Timing) -> Self {
        let start = timing.start.clone();
        let mut main = Self {
            component,
            length: Length::new(&start, &timing.end),
            rules: Vec::new(),
            exception_rules: Vec::new(),
            extras: Vec::with_capacity(timing.dates.len() + 1),
            longer_extras: 0,
            except_keys: Vec::new(),
            except_days: Vec::new(),
            start,
        };
        main.rules = timing.rules.iter().map(|r| main.limited(r, true)).collect();
        main.exception_rules = timing
            .exception_rules
            .iter()
            .map(|r| main.limited(r, false))
            .collect();
        let (key, wall) = main.key(&timing.start);
        main.extras.push(Extra {
            key,
            wall,
            length: None,
        });
        for date in &timing.dates {
            let (key, wall) = main.key(&date.start);
            let own = !matches!(date.end, super::EventEnd::Unsaid);
            main.extras.push(Extra {
                key,
                wall,
                length: own.then(|| Length::new(&date.start, &date.end)),
            });
        }
        // Of two at one time the one that says its length stays.
        main.extras.sort_by_key(|e| (e.key, e.length.is_none()));
        main.extras.dedup_by_key(|e| e.key);
        let lengths = main.extras.iter().filter_map(|e| e.length.as_ref());
        let most = lengths.map(Length::most).max().unwrap_or(0);
        main.longer_extras = (most - main.length.most()).max(0);
        for date in &timing.exception_dates {
            match date {
                CalendarTime::Date(day) if !main.start.is_date() => {
                    main.except_days.push(day.days().into())
                }
                date => {
                    let (key, _) = main.key(date);
                    main.except_keys.push(key);
                }
            }
        }
        main.except_keys.sort_unstable();
        main.except_days.sort_unstable();
        main
    }

    /// The rule made ready. `DTSTART` is the first occurrence for `COUNT` even if the rule does
    /// not make it (RFC 5545 §3.3.10, COUNT).
    fn limited(&self, rule: &super::RecurrenceRule, counts_start: bool) -> Limited {
        let start = self.start.local();
        let mut plan = CompiledRule::new(rule, start, self.start.is_date());
        let mut until = None;
        if let (Some(DateTimeValue::Utc(end)), Some(zone)) = (rule.until, self.start.zone()) {
            let end = TimeZone::UTC.to_utc(end);
            let wall = zone.to_local(end);
            plan.set_until(wall.plus_seconds(SLACK));
            until = Some((end, wall.seconds() - SLACK));
        }
        if counts_start && rule.count.is_some() && !plan.has(start) {
            plan.count_one_less();
        }
        Limited { plan, until }
    }

    /// What instances are told apart by: the instant, or the local time for days and floating
    /// times; and the local time. A day stands for the start's time on it.
    pub(super) fn key(&self, time: &CalendarTime) -> (i64, i64) {
        let of_day = self.start.local().seconds() - self.start.local().date().midnight().seconds();
        match (self.start.zone(), time) {
            (None, _) if self.start.is_date() => {
                let wall = time.local().date().midnight().seconds();
                (wall, wall)
            }
            (None, CalendarTime::Date(day)) => {
                let wall = day.midnight().seconds() + of_day;
                (wall, wall)
            }
            (None, time) => (time.local().seconds(), time.local().seconds()),
            (Some(zone), CalendarTime::Date(day)) => {
                let wall = day.midnight().plus_seconds(of_day);
                (zone.to_utc(wall).seconds(), wall.seconds())
            }
            (Some(zone), time) => {
                let at = time.at(zone);
                (at.seconds(), zone.to_local(at).seconds())
            }
        }
    }

    /// The zone that makes its local times instants.
    pub(super) fn zone<'z>(&'z self, viewer: &'z TimeZone) -> &'z TimeZone {
        self.start.zone().unwrap_or(viewer)
    }

    /// What instances are told apart by, of an instance.
    pub(super) fn key_of(&self, id: Id) -> i64 {
        if self.start.zone().is_some() {
            id.at
        } else {
            id.wall
        }
    }

    /// The time an instance stands for: its `RECURRENCE-ID`.
    pub(super) fn time_of(&self, id: Id) -> CalendarTime {
        let wall = DateTime::from_seconds(id.wall);
        match &self.start {
            CalendarTime::Date(_) => CalendarTime::Date(wall.date()),
            CalendarTime::Floating(_) => CalendarTime::Floating(wall),
            CalendarTime::Zoned(_, zone) => CalendarTime::Zoned(wall, zone.clone()),
            CalendarTime::Utc(_) => CalendarTime::Utc(Timestamp::from_seconds(id.at)),
        }
    }

    pub(super) fn length_of(&self, id: Id) -> &Length {
        id.extra
            .and_then(|i| self.extras.get(i)?.length.as_ref())
            .unwrap_or(&self.length)
    }

    /// Seconds that no instance of the rules is longer than.
    pub(super) fn most(&self) -> i64 {
        self.length.most()
    }

    /// Seconds that no instance is longer than.
    pub(super) fn longest(&self) -> i64 {
        self.length.most() + self.longer_extras
    }

    /// Whether it goes on for ever.
    pub(super) fn is_unbounded(&self) -> bool {
        self.rules.iter().any(|r| r.plan.is_unbounded())
    }

    /// A local time that no instance begins behind; none without an end.
    pub(super) fn last_start(&self) -> Option<i64> {
        if self.is_unbounded() {
            return None;
        }
        let last = self
            .rules
            .iter()
            .filter_map(|r| r.plan.last())
            .map(DateTime::seconds);
        last.chain(self.extras.last().map(|e| e.wall)).max()
    }

    /// From the first start to the last end, where each instance lasts until the next begins: told
    /// from the rule, without a walk. `None`: it is not so, or not known without one.
    pub(super) fn unbroken(&self, viewer: &TimeZone) -> Option<Range<i64>> {
        let ([rule], [first]) = (self.rules.as_slice(), self.extras.as_slice()) else {
            return None;
        };
        let excepts = !self.exception_rules.is_empty()
            || !self.except_keys.is_empty()
            || !self.except_days.is_empty();
        let step = rule.plan.step()?;
        if excepts || rule.plan.never || !rule.plan.has(self.start.local()) {
            return None;
        }
        let length = self.length.in_utc();
        let zone = self.zone(viewer);
        if *zone != TimeZone::UTC {
            // Changes of the clock move what is next to each other apart, by less than this; and
            // where that ends is theirs to say.
            let is_long = length.saturating_sub(2 * SLACK) >= step;
            let wall = self.start.local();
            let ResolvedTime { mut at, skipped } = zone.resolve(wall);
            if skipped {
                // What follows a gap may come before what is in it.
                let next = |n| zone.resolve(wall.plus_seconds(n * step));
                let behind = (1..=SLACK / step).map(next).find(|next| !next.skipped);
                at = behind.map_or(at, |next| next.at.min(at));
            }
            let start = at.seconds();
            return (is_long && rule.plan.is_unbounded()).then_some(start..i64::MAX);
        }
        if length < step {
            return None;
        }
        let end = match (rule.plan.is_unbounded(), rule.until) {
            (true, _) => i64::MAX,
            (false, until) => {
                let last = rule.plan.last()?.seconds();
                let last = until.map_or(last, |(until, _)| last.min(until.seconds()));
                // The start is an instance, also behind `UNTIL`.
                let steps = last.checked_sub(first.wall)?.max(0).div_euclid(step);
                first.wall + steps * step + length
            }
        };
        Some(first.wall..end)
    }

    /// A local time that no instance begins before.
    pub(super) fn first_start(&self) -> i64 {
        let first = self.extras.first().map(|e| e.wall);
        first.unwrap_or(i64::MAX).min(self.start.local().seconds())
    }

    pub(super) fn is_excepted(&self, id: Id) -> bool {
        self.except_keys.binary_search(&self.key_of(id)).is_ok()
            || (!self.except_days.is_empty()
                && self
                    .except_days
                    .binary_search(&id.wall.div_euclid(86_400))
                    .is_ok())
            || (id.extra.is_some()
                && self
                    .exception_rules
                    .iter()
                    .any(|r| r.plan.has(DateTime::from_seconds(id.wall))))
    }
}

/// A rule's walk and the time it stands at.
struct Stream<'s> {
    walk: RuleOccurrences<'s>,
    until: Option<(Timestamp, i64)>,
    head: Option<i64>,
}

impl<'s> Stream<'s> {
    fn new(limited: &'s Limited, from: i64, to: i64, zone: &TimeZone) -> Self {
        let walk = limited
            .plan
            .walk(DateTime::from_seconds(from), DateTime::from_seconds(to));
        let mut stream = Self {
            walk,
            until: limited.until,
            head: None,
        };
        stream.step(zone);
        stream
    }

    fn step(&mut self, zone: &TimeZone) {
        self.head = loop {
            let Some(wall) = self.walk.next() else {
                break None;
            };
            match self.until {
                Some((until, from)) if wall.seconds() >= from && zone.to_utc(wall) > until => {}
                _ => break Some(wall.seconds()),
            }
        };
    }

    /// Goes on behind `wall`: by steps, or if that is far, by a leap.
    fn pass(&mut self, wall: i64, zone: &TimeZone) {
        for _ in 0..STEPS {
            if self.head.is_none_or(|head| head > wall) {
                return;
            }
            self.step(zone);
        }
        if self.head.is_some_and(|head| head <= wall) {
            self.walk.seek(DateTime::from_seconds(wall + 1));
            self.step(zone);
        }
    }
}

/// The walks of some rules. Nearly always there is one, which takes no memory of its own.
struct Streams<'s> {
    first: Option<Stream<'s>>,
    others: Vec<Stream<'s>>,
}

impl<'s> Streams<'s> {
    fn new(all: &'s [Limited], from: i64, to: i64, zone: &TimeZone) -> Self {
        let mut all = all.iter().map(|l| Stream::new(l, from, to, zone));
        Self {
            first: all.next(),
            others: all.collect(),
        }
    }

    /// Where they stand.
    fn heads(&self) -> impl Iterator<Item = i64> {
        self.first.iter().chain(&self.others).filter_map(|s| s.head)
    }

    fn pass(&mut self, wall: i64, zone: &TimeZone) {
        for stream in self.first.iter_mut().chain(&mut self.others) {
            stream.pass(wall, zone);
        }
    }

    fn end(&mut self) {
        self.first = None;
        self.others.clear();
    }
}

/// Local times of rules and dates, in order.
struct Walls<'s> {
    main: &'s Main,
    zone: &'s TimeZone,
    rules: Streams<'s>,
    /// `EXRULE`, seldom there.
    exception_rules: Option<Box<Streams<'s>>>,
    /// The next extra.
    extra: usize,
}

/// Where the instances of a series stand, by their instants, each once.
pub(super) struct Ids<'s> {
    walls: Walls<'s>,
    order: InOrder<Option<usize>>,
    /// From the rules, when extras are joined by instants.
    head: Option<Id>,
    /// Bounds by instants; the second is not included.
    from: i64,
    to: i64,
    passed: Option<i64>,
}

impl Walls<'_> {
    /// The next local time of the rules, and of the extras if those are told apart by it.
    fn next(&mut self) -> Option<(i64, Option<usize>)> {
        let by_wall = self.main.start.zone().is_none();
        for _ in 0..MAX_EXCEPTED {
            let extra = self
                .main
                .extras
                .get(self.extra)
                .filter(|_| by_wall)
                .map(|e| e.wall);
            let rule = self.rules.heads().min();
            let wall = rule.into_iter().chain(extra).min()?;
            self.rules.pass(wall, self.zone);
            if let Some(exception_rules) = &mut self.exception_rules {
                exception_rules.pass(wall - 1, self.zone);
            }
            let of_extra = extra == Some(wall);
            let index = self.extra;
            self.extra += usize::from(of_extra);
            let mut excepted = self.exception_rules.iter().flat_map(|r| r.heads());
            if excepted.all(|head| head != wall) {
                return Some((wall, of_extra.then_some(index)));
            }
        }
        None
    }
}

impl<'s> Ids<'s> {
    /// The instances that begin from `from` to before `to`; and dates of `RDATE` that are longer
    /// than the component and may last until `from`.
    pub(super) fn new(main: &'s Main, viewer: &'s TimeZone, from: i64, to: i64) -> Self {
        let zone = main.zone(viewer);
        // Local times whose instants may lie between. Those that the clocks skip keep the offset of
        // before; the end is found by instants, so that no more than one time behind it is made.
        let offset = |at: i64| i64::from(zone.offset(Timestamp::from_seconds(at)));
        let earlier = offset(from).min(offset(from.saturating_sub(SLACK)));
        let wall_from = from.saturating_add(earlier);
        let wall_to = to.saturating_add(SLACK);
        let by_wall = main.start.zone().is_none();
        let first_key = if by_wall { wall_from } else { from };
        let first_key = first_key.saturating_sub(main.longer_extras);
        let streams = |all: &'s [Limited]| Streams::new(all, wall_from, wall_to, zone);
        let walls = Walls {
            main,
            zone,
            rules: streams(&main.rules),
            exception_rules: (!main.exception_rules.is_empty())
                .then(|| Box::new(streams(&main.exception_rules))),
            extra: main.extras.partition_point(|e| e.key < first_key),
        };
        let mut ids = Self {
            walls,
            order: InOrder::new(),
            head: None,
            from,
            to,
            passed: None,
        };
        if !by_wall {
            ids.head = ids.next_of_rules();
        }
        ids
    }

    fn next_of_rules(&mut self) -> Option<Id> {
        let walls = &mut self.walls;
        let placed = self.order.next(|| {
            let (wall, item) = walls.next()?;
            let resolved = walls.zone.resolve(DateTime::from_seconds(wall));
            Some(Placed {
                at: resolved.at.seconds(),
                wall,
                skipped: resolved.skipped,
                item,
            })
        })?;
        Some(Id {
            wall: placed.wall,
            at: placed.at,
            extra: placed.item,
        })
    }

    fn step(&mut self) -> Option<Id> {
        if self.walls.main.start.zone().is_none() {
            return self.next_of_rules();
        }
        let extra = self.walls.main.extras.get(self.walls.extra);
        match (self.head, extra) {
            (Some(head), extra) if extra.is_none_or(|e| head.at < e.key) => {
                self.head = self.next_of_rules();
                Some(head)
            }
            (_, Some(extra)) => {
                let id = Id {
                    wall: extra.wall,
                    at: extra.key,
                    extra: Some(self.walls.extra),
                };
                self.walls.extra += 1;
                Some(id)
            }
            (head, None) => head,
        }
    }
}

impl Iterator for Ids<'_> {
    type Item = Id;

    fn next(&mut self) -> Option<Id> {
        loop {
            let id = self.step()?;
            if id.at >= self.to {
                // Nothing behind it comes earlier: not even what the clocks skip.
                self.walls.rules.end();
                self.walls.extra = self.walls.main.extras.len();
                self.head = None;
                self.order = InOrder::new();
                return None;
            }
            let key = self.walls.main.key_of(id);
            let again = self.passed == Some(key);
            self.passed = Some(key);
            if !again
                && (id.at >= self.from || id.extra.is_some())
                && !self.walls.main.is_excepted(id)
            {
                return Some(id);
            }
        }
    }
}
