//! [`MasterComponent`]: the recurring component, compiled. [`InstanceIds`]: its instances, before
//! overrides.
//!
//! Rules expand in local time. Their union, minus `EXRULE`, becomes instants ([`InstantOrder`]), is
//! merged with `RDATE`, and loses `EXDATE`.

use std::ops::Range;

use super::compiled::{CompiledRule, MAX_COUNTED};
use super::occurrences::RuleOccurrences;
use super::order::{InstantOrder, ResolvedItem};
use super::timing::{InstanceLength, MAX_OFFSET_SHIFT, Timing};
use crate::time::{CalendarTime, DateTime, DateTimeValue, ResolvedTime, TimeZone, Timestamp};

/// Steps that cost about as much as one seek.
const STEPS_PER_SEEK: usize = 8;

/// Consecutive times that `EXRULE` may remove; after that many the set is treated as ended. Without
/// the limit a rule of seconds minus itself would be followed for thousands of years.
const MAX_EXCEPTED: u32 = 1 << 17;

/// The recurring component of a set.
#[derive(Debug)]
pub(super) struct MasterComponent {
    pub(super) component: usize,
    pub(super) start: CalendarTime,
    pub(super) length: InstanceLength,
    rules: Vec<BoundedRule>,
    exception_rules: Vec<BoundedRule>,
    /// `DTSTART` and `RDATE`, by key.
    fixed_dates: Vec<FixedDate>,
    /// Seconds by which an `RDATE` period may be longer than the component.
    longer_fixed_dates: i64,
    /// `EXDATE`: keys, and whole days since 1970-01-01.
    except_keys: Vec<i64>,
    except_days: Vec<i64>,
}

/// A rule and the instant after which it has no occurrence.
#[derive(Debug)]
struct BoundedRule {
    compiled: CompiledRule,
    /// `UNTIL` in UTC for times in a time zone: the instant, and the local time from which it has
    /// to be compared.
    until: Option<(Timestamp, i64)>,
}

/// A date of `RDATE`, or the start.
#[derive(Debug)]
struct FixedDate {
    key: i64,
    local: i64,
    /// Its own length, if it is a period.
    length: Option<InstanceLength>,
}

/// The local time and the instant of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InstanceId {
    pub(super) local: i64,
    pub(super) at: i64,
    /// Index of the `RDATE` that gives its own length.
    pub(super) extra: Option<usize>,
}

impl MasterComponent {
    pub(super) fn new(component: usize, timing: &Timing) -> Self {
        let start = timing.start.clone();
        let mut master = Self {
            component,
            length: InstanceLength::new(&start, &timing.end),
            rules: Vec::new(),
            exception_rules: Vec::new(),
            fixed_dates: Vec::with_capacity(timing.dates.len() + 1),
            longer_fixed_dates: 0,
            except_keys: Vec::new(),
            except_days: Vec::new(),
            start,
        };
        master.rules = timing
            .rules
            .iter()
            .map(|r| master.compile_rule(r, true))
            .collect();
        master.exception_rules = timing
            .exception_rules
            .iter()
            .map(|r| master.compile_rule(r, false))
            .collect();
        let (key, local) = master.key_and_local(&timing.start);
        master.fixed_dates.push(FixedDate {
            key,
            local,
            length: None,
        });
        for date in &timing.dates {
            let (key, local) = master.key_and_local(&date.start);
            let own = !matches!(date.end, super::EventEnd::Unspecified);
            master.fixed_dates.push(FixedDate {
                key,
                local,
                length: own.then(|| InstanceLength::new(&date.start, &date.end)),
            });
        }
        // Of two dates at one time the one with a length of its own stays.
        master
            .fixed_dates
            .sort_by_key(|e| (e.key, e.length.is_none()));
        master.fixed_dates.dedup_by_key(|e| e.key);
        let lengths = master.fixed_dates.iter().filter_map(|e| e.length.as_ref());
        let most = lengths.map(InstanceLength::max_seconds).max().unwrap_or(0);
        master.longer_fixed_dates = (most - master.length.max_seconds()).max(0);
        for date in &timing.exception_dates {
            match date {
                CalendarTime::Date(day) if !master.start.is_date() => {
                    master.except_days.push(day.days().into())
                }
                date => {
                    let (key, _) = master.key_and_local(date);
                    master.except_keys.push(key);
                }
            }
        }
        // Sorted for the binary searches of `is_excepted`.
        master.except_keys.sort_unstable();
        master.except_days.sort_unstable();
        master
    }

    /// Compiles a rule. `DTSTART` is the first occurrence for `COUNT` even if it is not one of the
    /// rule (RFC 5545 section 3.3.10, COUNT).
    fn compile_rule(&self, rule: &super::RecurrenceRule, counts_start: bool) -> BoundedRule {
        let start = self.start.local();
        let mut compiled = CompiledRule::new(rule, start, self.start.is_date());
        let mut until = None;
        if let (Some(DateTimeValue::Utc(end)), Some(zone)) = (rule.until, self.start.zone()) {
            let end = TimeZone::UTC.to_utc(end);
            let local = zone.to_local(end);
            compiled.set_until(local.plus_seconds(MAX_OFFSET_SHIFT));
            until = Some((end, local.seconds() - MAX_OFFSET_SHIFT));
        }
        if counts_start && rule.count.is_some() && !compiled.has_occurrence(start) {
            compiled.count_one_less();
        }
        BoundedRule { compiled, until }
    }

    /// Returns the key of an instance and its local time. The key is the instant; for dates and
    /// floating times it is the local time. A date denotes the time of the start on it.
    pub(super) fn key_and_local(&self, time: &CalendarTime) -> (i64, i64) {
        let of_day = self.start.local().seconds() - self.start.local().date().midnight().seconds();
        match (self.start.zone(), time) {
            (None, _) if self.start.is_date() => {
                let local = time.local().date().midnight().seconds();
                (local, local)
            }
            (None, CalendarTime::Date(day)) => {
                let local = day.midnight().seconds() + of_day;
                (local, local)
            }
            (None, time) => (time.local().seconds(), time.local().seconds()),
            (Some(zone), CalendarTime::Date(day)) => {
                let local = day.midnight().plus_seconds(of_day);
                (zone.to_utc(local).seconds(), local.seconds())
            }
            (Some(zone), time) => {
                let at = time.at(zone);
                (at.seconds(), zone.to_local(at).seconds())
            }
        }
    }

    /// Returns the time zone that converts its local times.
    pub(super) fn time_zone<'z>(&'z self, display_zone: &'z TimeZone) -> &'z TimeZone {
        self.start.zone().unwrap_or(display_zone)
    }

    /// Returns the key of an instance.
    pub(super) fn key_of(&self, id: InstanceId) -> i64 {
        if self.start.zone().is_some() {
            id.at
        } else {
            id.local
        }
    }

    /// Returns the original start of an instance: its `RECURRENCE-ID`.
    pub(super) fn time_of(&self, id: InstanceId) -> CalendarTime {
        let local = DateTime::from_seconds(id.local);
        match &self.start {
            CalendarTime::Date(_) => CalendarTime::Date(local.date()),
            CalendarTime::Floating(_) => CalendarTime::Floating(local),
            CalendarTime::Zoned(_, zone) => CalendarTime::Zoned(local, zone.clone()),
            CalendarTime::Utc(_) => CalendarTime::Utc(Timestamp::from_seconds(id.at)),
        }
    }

    /// Returns a local time as a time of the same form as the start.
    pub(super) fn time_of_local(&self, local: i64) -> CalendarTime {
        let zone = self.time_zone(&TimeZone::UTC);
        let at = zone.to_utc(DateTime::from_seconds(local)).seconds();
        self.time_of(InstanceId {
            local,
            at,
            extra: None,
        })
    }

    /// Returns the first occurrence of a rule from a local time on.
    pub(super) fn first_of_rule(&self, rule: usize, local: i64) -> Option<i64> {
        let zone = self.time_zone(&TimeZone::UTC);
        let end = DateTime::MAX.seconds();
        RuleStream::new(self.rules.get(rule)?, local, end, zone).head
    }

    /// Returns the number of occurrences before a local time that the `COUNT` of a rule counts, the
    /// start included; `None` if they are too many to be counted.
    pub(super) fn counted_before(&self, rule: usize, local: i64) -> Option<u32> {
        let compiled = &self.rules.get(rule)?.compiled;
        let (start, end) = (self.start.local(), DateTime::from_seconds(local - 1));
        let own_start = u32::from(!compiled.has_occurrence(start));
        let mut found = compiled.occurrences(start, end);
        let counted = match compiled.constant_step() {
            Some(step) => match found.next() {
                Some(first) => (end.seconds() - first.seconds()).div_euclid(step) + 1,
                None => 0,
            },
            None => {
                let counted = found.take(MAX_COUNTED as usize + 1).count();
                i64::try_from(counted)
                    .ok()
                    .filter(|n| *n <= i64::from(MAX_COUNTED))?
            }
        };
        u32::try_from(counted).ok()?.checked_add(own_start)
    }

    pub(super) fn length_of(&self, id: InstanceId) -> &InstanceLength {
        id.extra
            .and_then(|i| self.fixed_dates.get(i)?.length.as_ref())
            .unwrap_or(&self.length)
    }

    /// Returns an upper bound, in seconds, of the length of an instance of the rules.
    pub(super) fn max_rule_seconds(&self) -> i64 {
        self.length.max_seconds()
    }

    /// Returns an upper bound, in seconds, of the length of an instance.
    pub(super) fn max_seconds(&self) -> i64 {
        self.length.max_seconds() + self.longer_fixed_dates
    }

    /// Returns true if the component recurs without end.
    pub(super) fn is_unbounded(&self) -> bool {
        self.rules.iter().any(|r| r.compiled.is_unbounded())
    }

    /// Returns a local time after which no instance starts; `None` if unbounded.
    pub(super) fn last_start(&self) -> Option<i64> {
        if self.is_unbounded() {
            return None;
        }
        let last = self
            .rules
            .iter()
            .filter_map(|r| r.compiled.last_occurrence())
            .map(DateTime::seconds);
        last.chain(self.fixed_dates.last().map(|e| e.local)).max()
    }

    /// Returns the range from the first start to the last end if each instance lasts until the next
    /// one starts. It is computed from the rule alone; `None` if it is not so, or not known without
    /// expansion.
    pub(super) fn unbroken(&self, display_zone: &TimeZone) -> Option<Range<i64>> {
        let ([rule], [first]) = (self.rules.as_slice(), self.fixed_dates.as_slice()) else {
            return None;
        };
        let excepts = !self.exception_rules.is_empty()
            || !self.except_keys.is_empty()
            || !self.except_days.is_empty();
        let step = rule.compiled.constant_step()?;
        if excepts || rule.compiled.never || !rule.compiled.has_occurrence(self.start.local()) {
            return None;
        }
        let length = self.length.in_utc();
        let zone = self.time_zone(display_zone);
        if *zone != TimeZone::UTC {
            // Clock changes move neighbours apart by less than this; the end of the set depends
            // on them.
            let is_long = length.saturating_sub(2 * MAX_OFFSET_SHIFT) >= step;
            let local = self.start.local();
            let ResolvedTime { mut at, skipped } = zone.resolve(local);
            if skipped {
                // A time after the gap may come before those in it.
                let next = |n| zone.resolve(local.plus_seconds(n * step));
                let behind = (1..=MAX_OFFSET_SHIFT / step)
                    .map(next)
                    .find(|next| !next.skipped);
                at = behind.map_or(at, |next| next.at.min(at));
            }
            let start = at.seconds();
            return (is_long && rule.compiled.is_unbounded()).then_some(start..i64::MAX);
        }
        if length < step {
            return None;
        }
        let end = match (rule.compiled.is_unbounded(), rule.until) {
            (true, _) => i64::MAX,
            (false, until) => {
                let last = rule.compiled.last_occurrence()?.seconds();
                let last = until.map_or(last, |(until, _)| last.min(until.seconds()));
                // The start is an instance even after `UNTIL`.
                let steps = last.checked_sub(first.local)?.max(0).div_euclid(step);
                first.local + steps * step + length
            }
        };
        Some(first.local..end)
    }

    /// Returns a local time before which no instance starts.
    pub(super) fn first_start(&self) -> i64 {
        let first = self.fixed_dates.first().map(|e| e.local);
        first.unwrap_or(i64::MAX).min(self.start.local().seconds())
    }

    pub(super) fn is_excepted(&self, id: InstanceId) -> bool {
        self.except_keys.binary_search(&self.key_of(id)).is_ok()
            || (!self.except_days.is_empty()
                && self
                    .except_days
                    .binary_search(&id.local.div_euclid(86_400))
                    .is_ok())
            || (id.extra.is_some()
                && self
                    .exception_rules
                    .iter()
                    .any(|r| r.compiled.has_occurrence(DateTime::from_seconds(id.local))))
    }
}

/// A rule's occurrences with the current one.
struct RuleStream<'s> {
    walk: RuleOccurrences<'s>,
    until: Option<(Timestamp, i64)>,
    head: Option<i64>,
}

impl<'s> RuleStream<'s> {
    fn new(limited: &'s BoundedRule, from: i64, to: i64, zone: &TimeZone) -> Self {
        let walk = limited
            .compiled
            .occurrences(DateTime::from_seconds(from), DateTime::from_seconds(to));
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
            let Some(local) = self.walk.next() else {
                break None;
            };
            match self.until {
                Some((until, from)) if local.seconds() >= from && zone.to_utc(local) > until => {}
                _ => break Some(local.seconds()),
            }
        };
    }

    /// Advances past `local`: by steps, or by a seek if that is far.
    fn pass_time(&mut self, local: i64, zone: &TimeZone) {
        for _ in 0..STEPS_PER_SEEK {
            if self.head.is_none_or(|head| head > local) {
                return;
            }
            self.step(zone);
        }
        if self.head.is_some_and(|head| head <= local) {
            self.walk.seek_to(DateTime::from_seconds(local + 1));
            self.step(zone);
        }
    }
}

/// The occurrences of several rules. The common case is one rule, which needs no allocation.
struct RuleStreams<'s> {
    first: Option<RuleStream<'s>>,
    others: Vec<RuleStream<'s>>,
}

impl<'s> RuleStreams<'s> {
    fn new(all: &'s [BoundedRule], from: i64, to: i64, zone: &TimeZone) -> Self {
        let mut all = all.iter().map(|l| RuleStream::new(l, from, to, zone));
        Self {
            first: all.next(),
            others: all.collect(),
        }
    }

    /// Returns the current occurrences.
    fn heads(&self) -> impl Iterator<Item = i64> {
        self.first.iter().chain(&self.others).filter_map(|s| s.head)
    }

    fn pass_time(&mut self, local: i64, zone: &TimeZone) {
        for stream in self.first.iter_mut().chain(&mut self.others) {
            stream.pass_time(local, zone);
        }
    }

    fn clear(&mut self) {
        self.first = None;
        self.others.clear();
    }
}

/// Local times of rules and dates, in order.
struct LocalTimes<'s> {
    master: &'s MasterComponent,
    zone: &'s TimeZone,
    rules: RuleStreams<'s>,
    /// `EXRULE`, seldom there.
    exception_rules: Option<Box<RuleStreams<'s>>>,
    /// Index of the next `RDATE`.
    extra: usize,
}

/// The instances of a recurring component in the order of their instants, each once, before
/// overrides.
pub(super) struct InstanceIds<'s> {
    locals: LocalTimes<'s>,
    order: InstantOrder<Option<usize>>,
    /// The next one of the rules, while dates are merged by instants.
    head: Option<InstanceId>,
    /// Bounds by instants; the second is exclusive.
    from: i64,
    to: i64,
    passed: Option<i64>,
}

impl LocalTimes<'_> {
    /// Returns the next local time of the rules, and of the dates if those are merged by local
    /// time.
    fn next(&mut self) -> Option<(i64, Option<usize>)> {
        let by_local = self.master.start.zone().is_none();
        for _ in 0..MAX_EXCEPTED {
            let extra = self
                .master
                .fixed_dates
                .get(self.extra)
                .filter(|_| by_local)
                .map(|e| e.local);
            let rule = self.rules.heads().min();
            let local = rule.into_iter().chain(extra).min()?;
            self.rules.pass_time(local, self.zone);
            if let Some(exception_rules) = &mut self.exception_rules {
                exception_rules.pass_time(local - 1, self.zone);
            }
            let of_extra = extra == Some(local);
            let index = self.extra;
            self.extra += usize::from(of_extra);
            let mut excepted = self.exception_rules.iter().flat_map(|r| r.heads());
            if excepted.all(|head| head != local) {
                return Some((local, of_extra.then_some(index)));
            }
        }
        None
    }
}

impl<'s> InstanceIds<'s> {
    /// Expands the instances that start from `from` to before `to`, plus `RDATE` periods that are
    /// longer than the component and may last until `from`.
    pub(super) fn new(
        master: &'s MasterComponent,
        display_zone: &'s TimeZone,
        from: i64,
        to: i64,
    ) -> Self {
        let zone = master.time_zone(display_zone);
        // Local times whose instants may be in the range. Those in a gap keep the offset before it;
        // the end is found by instants, so that at most one time after it is produced.
        let offset = |at: i64| i64::from(zone.offset(Timestamp::from_seconds(at)));
        let earlier = offset(from).min(offset(from.saturating_sub(MAX_OFFSET_SHIFT)));
        let local_from = from.saturating_add(earlier);
        let local_to = to.saturating_add(MAX_OFFSET_SHIFT);
        let by_local = master.start.zone().is_none();
        let first_key = if by_local { local_from } else { from };
        let first_key = first_key.saturating_sub(master.longer_fixed_dates);
        let streams = |all: &'s [BoundedRule]| RuleStreams::new(all, local_from, local_to, zone);
        let locals = LocalTimes {
            master,
            zone,
            rules: streams(&master.rules),
            exception_rules: (!master.exception_rules.is_empty())
                .then(|| Box::new(streams(&master.exception_rules))),
            extra: master.fixed_dates.partition_point(|e| e.key < first_key),
        };
        let mut ids = Self {
            locals,
            order: InstantOrder::new(),
            head: None,
            from,
            to,
            passed: None,
        };
        if !by_local {
            ids.head = ids.next_of_rules();
        }
        ids
    }

    fn next_of_rules(&mut self) -> Option<InstanceId> {
        let locals = &mut self.locals;
        let placed = self.order.next_item(|| {
            let (local, item) = locals.next()?;
            let resolved = locals.zone.resolve(DateTime::from_seconds(local));
            Some(ResolvedItem {
                at: resolved.at.seconds(),
                local,
                skipped: resolved.skipped,
                item,
            })
        })?;
        Some(InstanceId {
            local: placed.local,
            at: placed.at,
            extra: placed.item,
        })
    }

    fn step(&mut self) -> Option<InstanceId> {
        if self.locals.master.start.zone().is_none() {
            return self.next_of_rules();
        }
        let extra = self.locals.master.fixed_dates.get(self.locals.extra);
        match (self.head, extra) {
            (Some(head), extra) if extra.is_none_or(|e| head.at < e.key) => {
                self.head = self.next_of_rules();
                Some(head)
            }
            (_, Some(extra)) => {
                let id = InstanceId {
                    local: extra.local,
                    at: extra.key,
                    extra: Some(self.locals.extra),
                };
                self.locals.extra += 1;
                Some(id)
            }
            (head, None) => head,
        }
    }
}

impl Iterator for InstanceIds<'_> {
    type Item = InstanceId;

    fn next(&mut self) -> Option<InstanceId> {
        loop {
            let id = self.step()?;
            if id.at >= self.to {
                // No later item is earlier, not even one in a gap.
                self.locals.rules.clear();
                self.locals.extra = self.locals.master.fixed_dates.len();
                self.head = None;
                self.order = InstantOrder::new();
                return None;
            }
            let key = self.locals.master.key_of(id);
            let again = self.passed == Some(key);
            self.passed = Some(key);
            if !again
                && (id.at >= self.from || id.extra.is_some())
                && !self.locals.master.is_excepted(id)
            {
                return Some(id);
            }
        }
    }
}
