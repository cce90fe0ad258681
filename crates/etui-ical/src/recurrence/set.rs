//! [`RecurrenceSet`]: the components of one UID as one set of instances.
//!
//! A component with a `RECURRENCE-ID` replaces an instance by its own. With `RANGE=THISANDFUTURE`
//! later instances follow: each is shifted by as much as the first one was, in the time zone of the
//! override, and takes its length (RFC 5545 section 3.8.4.4). The instances thus form segments,
//! each with one component that determines time and length; a segment is an expansion of
//! [`InstanceIds`], shifted.

use std::ops::Range;

use super::master::{InstanceIds, MasterComponent};
use super::order::{InstantOrder, ResolvedItem};
use super::timing::{InstanceLength, MAX_OFFSET_SHIFT, Timing, with_local};
use crate::time::{CalendarTime, DateTime, TimeZone, Timestamp};

/// One occurrence of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Index of the component that describes it.
    pub component: usize,
    /// Its original start: the `RECURRENCE-ID` of an override.
    pub id: CalendarTime,
    /// The start.
    pub start: CalendarTime,
    /// The end; for a date the day after the last.
    pub end: CalendarTime,
    /// Start and end as instants.
    pub during: Range<Timestamp>,
}

impl Instance {
    /// Returns true if it overlaps a range, or, without a length, starts in it (RFC 4791 section
    /// 9.9).
    pub(super) fn is_in(&self, range: &Range<Timestamp>) -> bool {
        let Range { start, end } = self.during;
        start < range.end && (end > range.start || (start == end && start == range.start))
    }
}

/// The components of one UID, compiled for expansion.
///
/// Expansion costs what the range contains, wherever it is, plus a search of the overrides
/// (`RECURRENCE-ID`) around it: see [`CompiledRule`](super::CompiledRule).
#[derive(Debug)]
pub struct RecurrenceSet {
    master: Option<MasterComponent>,
    overrides: Vec<Override>,
    /// Greatest length of an override.
    max_override_seconds: i64,
    /// Sorted keys of the instances that overrides replace.
    replaced: Vec<i64>,
    /// Indices of the overrides with `THISANDFUTURE`, by key.
    this_and_future: Vec<usize>,
}

/// A component with a `RECURRENCE-ID`.
#[derive(Debug)]
struct Override {
    component: usize,
    id: CalendarTime,
    start: CalendarTime,
    length: InstanceLength,
    /// Its start: the instant, or for dates and floating times one near it.
    near: i64,
    /// Key of the original start.
    key: i64,
    /// Seconds from the original start to its start, in its own time zone.
    shift: i64,
}

impl Override {
    fn instance(&self, display_zone: &TimeZone) -> Instance {
        let zone = self.start.zone().unwrap_or(display_zone);
        let at = self.start.at(display_zone);
        let (end, until) = self.length.end_of(&self.start, at, zone);
        Instance {
            component: self.component,
            id: self.id.clone(),
            start: self.start.clone(),
            end,
            during: at..until,
        }
    }
}

impl RecurrenceSet {
    /// Builds the set of components with one UID. The first one without `RECURRENCE-ID` recurs;
    /// others without one are single instances, as is an override whose instance does not exist.
    pub fn new(components: &[Timing]) -> Self {
        let master = components
            .iter()
            .position(|t| t.recurrence_id.is_none())
            .and_then(|i| Some(MasterComponent::new(i, components.get(i)?)));
        let mut series = Self {
            master,
            overrides: Vec::new(),
            max_override_seconds: 0,
            replaced: Vec::new(),
            this_and_future: Vec::new(),
        };
        for (component, timing) in components.iter().enumerate() {
            if series
                .master
                .as_ref()
                .is_some_and(|m| m.component == component)
            {
                continue;
            }
            let id = timing
                .recurrence_id
                .as_ref()
                .map_or(&timing.start, |r| &r.id);
            let zoned = series
                .master
                .as_ref()
                .is_some_and(|m| m.start.zone().is_some());
            let (key, local) = match &series.master {
                Some(master) => master.key_and_local(id),
                None => (id.local().seconds(), id.local().seconds()),
            };
            let change = Override {
                component,
                id: id.clone(),
                length: InstanceLength::new(&timing.start, &timing.end),
                near: timing.start.at(&TimeZone::UTC).seconds(),
                key,
                shift: timing.start.local().seconds()
                    - local_in_zone_of(&timing.start, zoned, key, local),
                start: timing.start.clone(),
            };
            series.max_override_seconds =
                series.max_override_seconds.max(change.length.max_seconds());
            if timing.recurrence_id.is_some() {
                series.replaced.push(key);
            }
            series.overrides.push(change);
        }
        // Sorted for the binary searches of `is_overridden` and `expand_overrides`.
        series.replaced.sort_unstable();
        series.overrides.sort_by_key(|c| c.near);
        let future = |c: &Override| {
            let recurrence_id = components.get(c.component)?.recurrence_id.as_ref()?;
            recurrence_id.this_and_future.then_some(())
        };
        let mut this_and_future: Vec<usize> = (0..series.overrides.len())
            .filter(|i| series.overrides.get(*i).and_then(future).is_some())
            .collect();
        this_and_future.sort_by_key(|i| series.overrides.get(*i).map(|c| c.key));
        // Of two for one instance the first in the object counts.
        this_and_future.dedup_by_key(|i| series.overrides.get(*i).map(|c| c.key));
        series.this_and_future = this_and_future;
        series
    }

    /// Expands the instances that overlap `range`, ordered by start, each once. Dates and floating
    /// times are resolved in `display_zone`. Instances that start before the range and last into it
    /// are included; one without a length counts at its start.
    ///
    /// Instances are produced lazily: bound their number with `take`.
    pub fn between<'s>(
        &'s self,
        range: Range<Timestamp>,
        display_zone: &'s TimeZone,
    ) -> Instances<'s> {
        Instances::new(self, range, display_zone)
    }

    /// Returns the instance with this original start, in whichever time zone it is given. Costs O(overrides),
    /// wherever the instance is.
    pub fn instance_with_id(&self, id: &CalendarTime, display_zone: &TimeZone) -> Option<Instance> {
        let key = self.key_of(id);
        if let Some(change) = self.overrides.iter().find(|c| c.key == key) {
            return Some(change.instance(display_zone));
        }
        self.segment_from(key, key.saturating_add(1), display_zone)?
            .next_in_order(self, display_zone)
    }

    /// Returns the first instance after `id` that the override with `THISANDFUTURE` at `id`
    /// describes.
    pub(crate) fn next_in_segment(&self, id: &CalendarTime) -> Option<Instance> {
        let key = self.key_of(id);
        let changes = self.this_and_future.iter();
        let mut changes = changes.filter_map(|i| self.overrides.get(*i));
        let end = changes.find(|c| c.key > key).map_or(i64::MAX, |c| c.key);
        let zone = &TimeZone::UTC;
        self.segment_from(key, end, zone)?.next_in_order(self, zone)
    }

    fn key_of(&self, id: &CalendarTime) -> i64 {
        match &self.master {
            Some(master) => master.key_and_local(id).0,
            None => id.local().seconds(),
        }
    }

    /// Returns the segment of the instance with the key `from`, from there until the key `to`.
    fn segment_from<'s>(
        &'s self,
        from: i64,
        to: i64,
        display_zone: &'s TimeZone,
    ) -> Option<Segment<'s>> {
        let master = self.master.as_ref()?;
        let changes = self.this_and_future.iter();
        let changes = changes.filter_map(|i| self.overrides.get(*i));
        let change = changes.take_while(|c| c.key <= from).last();
        // Keys of dates and floating times are local times.
        let slack = match master.start.zone() {
            Some(_) => 0,
            None => MAX_OFFSET_SHIFT,
        };
        let first = from.saturating_sub(slack);
        let last = to.saturating_add(slack).min(Timestamp::MAX.seconds());
        Some(Segment {
            master,
            ids: InstanceIds::new(master, display_zone, first, last),
            along: change.map(OverrideShift::new),
            keys: from..to,
        })
    }

    /// Whether a change takes the instance with this key from its place.
    pub(super) fn is_overridden(&self, key: i64) -> bool {
        self.replaced.binary_search(&key).is_ok()
    }

    /// Returns true if the set has no end.
    pub fn is_unbounded(&self) -> bool {
        self.master
            .as_ref()
            .is_some_and(MasterComponent::is_unbounded)
    }

    /// Returns an upper bound, in seconds, of the length of an instance.
    pub fn longest(&self) -> i64 {
        let master = self.master.as_ref().map_or(0, MasterComponent::max_seconds);
        master.max(self.max_override_seconds)
    }

    /// Returns the range that the instances cover without a gap, and the component that describes
    /// them; `None` if they have to be expanded ([`Self::between`]). It spares the expansion of
    /// rules that repeat every few seconds.
    pub fn unbroken(&self, display_zone: &TimeZone) -> Option<(usize, Range<Timestamp>)> {
        let master = self.master.as_ref().filter(|_| self.overrides.is_empty())?;
        let Range { start, end } = master.unbroken(display_zone)?;
        let end = Timestamp::from_seconds(end).min(Timestamp::MAX);
        Some((master.component, Timestamp::from_seconds(start)..end))
    }

    /// Returns instants before which no instance starts and after which none ends, in any display
    /// time zone; the second is [`Timestamp::MAX`] for an unbounded set.
    pub fn bounds(&self) -> Range<Timestamp> {
        let shifts = || {
            self.this_and_future
                .iter()
                .filter_map(|i| Some(self.overrides.get(*i)?.shift))
        };
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        if let Some(master) = &self.master {
            // Only shifts to earlier times move the first start.
            let earlier = shifts().min().unwrap_or(0).min(0);
            first = master.first_start().saturating_add(earlier);
            last = match master.last_start() {
                Some(last) => last.saturating_add(shifts().max().unwrap_or(0).max(0)),
                None => i64::MAX,
            };
        }
        for change in &self.overrides {
            first = first.min(change.near);
            last = last.max(change.near);
        }
        let last = last
            .saturating_add(self.longest())
            .saturating_add(MAX_OFFSET_SHIFT);
        Timestamp::from_seconds(first.saturating_sub(MAX_OFFSET_SHIFT))
            ..Timestamp::from_seconds(last)
    }
}

/// Returns the local time of an instance in the time zone of `start`; `zoned` if `at` is an
/// instant.
fn local_in_zone_of(start: &CalendarTime, zoned: bool, at: i64, local: i64) -> i64 {
    match start.zone() {
        Some(zone) if zoned => zone.to_local(Timestamp::from_seconds(at)).seconds(),
        _ if start.is_date() => local - local.rem_euclid(86_400),
        _ => local,
    }
}

/// The instances of a [`RecurrenceSet`] that overlap a range.
pub struct Instances<'s> {
    series: &'s RecurrenceSet,
    display_zone: &'s TimeZone,
    range: Range<Timestamp>,
    /// Instances without a `THISANDFUTURE` override.
    plain: Option<Segment<'s>>,
    /// The next plain instance, where others may precede it.
    head: Option<Instance>,
    /// Segments of `THISANDFUTURE` overrides, each with its next instance.
    changed: Vec<(Segment<'s>, Option<Instance>)>,
    /// Instances of overrides, in reverse order of start.
    single: Vec<Instance>,
}

/// Consecutive instances whose time and length one component determines.
struct Segment<'s> {
    master: &'s MasterComponent,
    ids: InstanceIds<'s>,
    /// The override that shifts them.
    along: Option<OverrideShift<'s>>,
    /// Key of the first one, and a bound after the last.
    keys: Range<i64>,
}

/// An override that shifts later instances, with those being reordered.
struct OverrideShift<'s> {
    change: &'s Override,
    order: Box<InstantOrder<Instance>>,
}

impl<'s> OverrideShift<'s> {
    fn new(change: &'s Override) -> Self {
        Self {
            change,
            order: Box::new(InstantOrder::new()),
        }
    }
}

impl<'s> Instances<'s> {
    fn new(series: &'s RecurrenceSet, range: Range<Timestamp>, display_zone: &'s TimeZone) -> Self {
        let mut instances = Self {
            series,
            display_zone,
            range,
            plain: None,
            head: None,
            changed: Vec::new(),
            single: Vec::new(),
        };
        if instances.range.start >= instances.range.end {
            return instances;
        }
        instances.expand_overrides();
        if let Some(master) = &series.master {
            let this_and_future = || {
                series
                    .this_and_future
                    .iter()
                    .filter_map(|i| series.overrides.get(*i))
            };
            let first = this_and_future().next().map_or(i64::MAX, |c| c.key);
            instances.plain = instances.segment(master, None, i64::MIN..first);
            let ends = this_and_future().skip(1).map(|c| c.key).chain([i64::MAX]);
            for (change, end) in this_and_future().zip(ends) {
                if let Some(mut segment) = instances.segment(master, Some(change), change.key..end)
                    && let Some(first) =
                        segment.next_in_range(series, display_zone, &instances.range)
                {
                    instances.changed.push((segment, Some(first)));
                }
            }
            if !instances.is_plain() {
                instances.head = instances.next_plain();
            }
        }
        instances
    }

    fn expand_overrides(&mut self) {
        let Range { start, end } = &self.range;
        let reach = self.series.max_override_seconds + MAX_OFFSET_SHIFT;
        let from = start.seconds().saturating_sub(reach);
        let to = end.seconds().saturating_add(MAX_OFFSET_SHIFT);
        let overrides = &self.series.overrides;
        let first = overrides.partition_point(|c| c.near < from);
        for change in overrides.iter().skip(first).take_while(|c| c.near < to) {
            let instance = change.instance(self.display_zone);
            if instance.is_in(&self.range) {
                self.single.push(instance);
            }
        }
        // In reverse: the next one is taken from the end.
        self.single
            .sort_by_key(|i| std::cmp::Reverse((i.during.start, i.component)));
    }

    /// Returns true if no override affects the range, the common case.
    fn is_plain(&self) -> bool {
        self.single.is_empty() && self.changed.is_empty()
    }

    fn next_plain(&mut self) -> Option<Instance> {
        let segment = self.plain.as_mut()?;
        segment.next_in_range(self.series, self.display_zone, &self.range)
    }

    /// Returns a segment if any of it may be in the range.
    fn segment(
        &self,
        master: &'s MasterComponent,
        along: Option<&'s Override>,
        keys: Range<i64>,
    ) -> Option<Segment<'s>> {
        let (most, early, late) = match along {
            None => (master.max_rule_seconds(), 0, 0),
            // Shifted in local time: by as much as that differs from exact seconds.
            Some(change) => (
                change.length.max_seconds(),
                change.shift.saturating_add(MAX_OFFSET_SHIFT),
                MAX_OFFSET_SHIFT - change.shift,
            ),
        };
        let from = self
            .range
            .start
            .seconds()
            .saturating_sub(most)
            .saturating_sub(early);
        let to = self.range.end.seconds().saturating_add(late);
        // Keys of dates and floating times are local times.
        let from = from.max(keys.start.saturating_sub(MAX_OFFSET_SHIFT));
        let to = to.min(keys.end.saturating_add(MAX_OFFSET_SHIFT));
        if from >= to {
            return None;
        }
        Some(Segment {
            master,
            ids: InstanceIds::new(master, self.display_zone, from, to),
            along: along.map(OverrideShift::new),
            keys,
        })
    }
}

impl Segment<'_> {
    fn next_in_range(
        &mut self,
        series: &RecurrenceSet,
        display_zone: &TimeZone,
        range: &Range<Timestamp>,
    ) -> Option<Instance> {
        loop {
            let instance = self.next_in_order(series, display_zone)?;
            if instance.during.start >= range.end {
                return None;
            }
            if instance.is_in(range) {
                return Some(instance);
            }
        }
    }

    fn next_in_order(
        &mut self,
        series: &RecurrenceSet,
        display_zone: &TimeZone,
    ) -> Option<Instance> {
        let (master, ids) = (self.master, &mut self.ids);
        let mut next_id = || {
            ids.find(|id| {
                let key = master.key_of(*id);
                self.keys.contains(&key) && !series.is_overridden(key)
            })
        };
        let Some(OverrideShift { change, order }) = &mut self.along else {
            let id = next_id()?;
            let start = master.time_of(id);
            let at = Timestamp::from_seconds(id.at);
            let zone = master.time_zone(display_zone);
            let (end, until) = master.length_of(id).end_of(&start, at, zone);
            return Some(Instance {
                component: master.component,
                id: start.clone(),
                start,
                end,
                during: at..until,
            });
        };
        let placed = order.next_item(|| {
            let id = next_id()?;
            let time = master.time_of(id);
            let clock = local_in_zone_of(
                &change.start,
                master.start.zone().is_some(),
                id.at,
                id.local,
            );
            let start = with_local(
                &change.start,
                DateTime::from_seconds(clock.saturating_add(change.shift)),
            );
            let zone = change.start.zone().unwrap_or(display_zone);
            let resolved = zone.resolve(start.local());
            let (end, until) = change.length.end_of(&start, resolved.at, zone);
            Some(ResolvedItem {
                at: resolved.at.seconds(),
                local: start.local().seconds(),
                skipped: resolved.skipped,
                item: Instance {
                    component: change.component,
                    id: time,
                    start,
                    end,
                    during: resolved.at..until,
                },
            })
        });
        placed.map(|p| p.item)
    }
}

impl Iterator for Instances<'_> {
    type Item = Instance;

    fn next(&mut self) -> Option<Instance> {
        if self.is_plain() {
            return self.head.take().or_else(|| self.next_plain());
        }
        let order = |i: &Instance| (i.during.start, i.component);
        let single = self.single.last().map(order);
        let heads = self.changed.iter().map(|(_, head)| head);
        let first = std::iter::once(&self.head)
            .chain(heads)
            .enumerate()
            .filter_map(|(n, head)| Some((order(head.as_ref()?), n)))
            .min();
        match (first, single) {
            (Some((first, n)), single) if single.is_none_or(|s| first <= s) => {
                let Some(n) = n.checked_sub(1) else {
                    let next = self.next_plain();
                    return std::mem::replace(&mut self.head, next);
                };
                let (segment, head) = self.changed.get_mut(n)?;
                let next = segment.next_in_range(self.series, self.display_zone, &self.range);
                std::mem::replace(head, next)
            }
            _ => self.single.pop(),
        }
    }
}
