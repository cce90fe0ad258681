//! [`RecurrenceSet`]: all components with one UID as one set of instances.
//!
//! A component with a `RECURRENCE-ID` takes an instance from its place and puts its own there.
//! With `RANGE=THISANDFUTURE` the instances behind it go along: each is moved by as much as the
//! first was, by the clock of the changed one, and is as long as the changed one (RFC 5545
//! §3.8.4.4). So the instances fall into stretches, each with one component that says their time
//! and length; a stretch is a walk over [`Ids`], moved.

use std::ops::Range;

use super::ids::{Ids, Main};
use super::order::{InOrder, Placed};
use super::timing::{Length, SLACK, Timing, like};
use crate::time::{CalendarTime, DateTime, TimeZone, Timestamp};

/// One time that something happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Which of the components given says what happens.
    pub component: usize,
    /// Its place in the recurrence: what a `RECURRENCE-ID` for it has to say.
    pub id: CalendarTime,
    /// When it starts.
    pub start: CalendarTime,
    /// When it ends; a day's end is the day behind it.
    pub end: CalendarTime,
    /// The same as instants.
    pub during: Range<Timestamp>,
}

impl Instance {
    /// Whether it has to do with a range of time: it lasts into it, or, if it has no length,
    /// begins in it (RFC 4791 §9.9).
    pub(super) fn is_in(&self, range: &Range<Timestamp>) -> bool {
        let Range { start, end } = self.during;
        start < range.end && (end > range.start || (start == end && start == range.start))
    }
}

/// Components of one UID made ready to be asked for their instances.
///
/// Asking costs what the range has in it, wherever it lies, and a look at the changes
/// (`RECURRENCE-ID`) around it: see [`Plan`](super::Plan).
#[derive(Debug)]
pub struct RecurrenceSet {
    main: Option<Main>,
    changes: Vec<Change>,
    /// Greatest length of a change.
    most_of_changes: i64,
    /// Keys of the instances that changes take away, in order.
    replaced: Vec<i64>,
    /// Indices of the changes with `THISANDFUTURE`, by key.
    futures: Vec<usize>,
}

/// A component with a `RECURRENCE-ID`.
#[derive(Debug)]
struct Change {
    component: usize,
    id: CalendarTime,
    start: CalendarTime,
    length: Length,
    /// Where its start is: an instant, or for days and floating times near it.
    near: i64,
    /// The key of its id.
    key: i64,
    /// Seconds by which its start is behind its id, by its own clock.
    shift: i64,
}

impl RecurrenceSet {
    /// A series of components with one UID. The first without `RECURRENCE-ID` recurs; others
    /// without one stand for themselves alone, as does a change whose instance does not exist.
    #[must_use]
    pub fn new(components: &[Timing]) -> Self {
        let main = components
            .iter()
            .position(|t| t.replaces.is_none())
            .and_then(|i| Some(Main::new(i, components.get(i)?)));
        let mut series = Self {
            main,
            changes: Vec::new(),
            most_of_changes: 0,
            replaced: Vec::new(),
            futures: Vec::new(),
        };
        for (component, timing) in components.iter().enumerate() {
            if series
                .main
                .as_ref()
                .is_some_and(|m| m.component == component)
            {
                continue;
            }
            let id = timing.replaces.as_ref().map_or(&timing.start, |r| &r.id);
            let zoned = series
                .main
                .as_ref()
                .is_some_and(|m| m.start.zone().is_some());
            let (key, wall) = match &series.main {
                Some(main) => main.key(id),
                None => (id.local().seconds(), id.local().seconds()),
            };
            let change = Change {
                component,
                id: id.clone(),
                length: Length::new(&timing.start, &timing.end),
                near: timing.start.at(&TimeZone::UTC).seconds(),
                key,
                shift: timing.start.local().seconds() - own_clock(&timing.start, zoned, key, wall),
                start: timing.start.clone(),
            };
            series.most_of_changes = series.most_of_changes.max(change.length.most());
            if timing.replaces.is_some() {
                series.replaced.push(key);
            }
            series.changes.push(change);
        }
        series.replaced.sort_unstable();
        series.changes.sort_by_key(|c| c.near);
        let future = |c: &Change| {
            let replaces = components.get(c.component)?.replaces.as_ref()?;
            replaces.this_and_future.then_some(())
        };
        let mut futures: Vec<usize> = (0..series.changes.len())
            .filter(|i| series.changes.get(*i).and_then(future).is_some())
            .collect();
        futures.sort_by_key(|i| series.changes.get(*i).map(|c| c.key));
        futures.dedup_by_key(|i| series.changes.get(*i).map(|c| c.key));
        series.futures = futures;
        series
    }

    /// The instances that have to do with `range`, seen from the zone `viewer`, which says when
    /// days and floating times are. By their start, each once. What began before the range and
    /// lasts into it is there, too; what has no length counts where it begins.
    ///
    /// They are made as they are taken: to bound their number, `take` so many.
    #[must_use]
    pub fn between<'s>(&'s self, range: Range<Timestamp>, viewer: &'s TimeZone) -> Instances<'s> {
        Instances::new(self, range, viewer)
    }

    /// Whether a change takes the instance with this key from its place.
    pub(super) fn replaces(&self, key: i64) -> bool {
        self.replaced.binary_search(&key).is_ok()
    }

    /// Whether it goes on for ever.
    #[must_use]
    pub fn is_unbounded(&self) -> bool {
        self.main.as_ref().is_some_and(Main::is_unbounded)
    }

    /// Seconds that no instance is longer than.
    #[must_use]
    pub fn longest(&self) -> i64 {
        let main = self.main.as_ref().map_or(0, Main::longest);
        main.max(self.most_of_changes)
    }

    /// When it takes up time without a break, told without its instances, and the component that
    /// says so; `None`: ask for them ([`Self::between`]). What happens every second would be asked
    /// for each of them.
    #[must_use]
    pub fn unbroken(&self, viewer: &TimeZone) -> Option<(usize, Range<Timestamp>)> {
        let main = self.main.as_ref().filter(|_| self.changes.is_empty())?;
        let Range { start, end } = main.unbroken(viewer)?;
        let end = Timestamp::from_seconds(end).min(Timestamp::MAX);
        Some((main.component, Timestamp::from_seconds(start)..end))
    }

    /// Instants that no instance, seen from any zone, begins before or lasts beyond; the second
    /// is [`Timestamp::MAX`] if there is no end.
    #[must_use]
    pub fn bounds(&self) -> Range<Timestamp> {
        let shifts = || {
            self.futures
                .iter()
                .filter_map(|i| Some(self.changes.get(*i)?.shift))
        };
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        if let Some(main) = &self.main {
            let earlier = shifts().min().unwrap_or(0).min(0);
            first = main.first_start().saturating_add(earlier);
            last = match main.last_start() {
                Some(last) => last.saturating_add(shifts().max().unwrap_or(0).max(0)),
                None => i64::MAX,
            };
        }
        for change in &self.changes {
            first = first.min(change.near);
            last = last.max(change.near);
        }
        let last = last.saturating_add(self.longest()).saturating_add(SLACK);
        Timestamp::from_seconds(first.saturating_sub(SLACK))..Timestamp::from_seconds(last)
    }
}

/// The time of an instance, by the clock that `start` is written in; `zoned` if `at` is an
/// instant.
fn own_clock(start: &CalendarTime, zoned: bool, at: i64, wall: i64) -> i64 {
    match start.zone() {
        Some(zone) if zoned => zone.to_local(Timestamp::from_seconds(at)).seconds(),
        _ if start.is_date() => wall - wall.rem_euclid(86_400),
        _ => wall,
    }
}

/// The instances of a [`RecurrenceSet`] that have to do with a range.
pub struct Instances<'s> {
    series: &'s RecurrenceSet,
    viewer: &'s TimeZone,
    range: Range<Timestamp>,
    /// Those that go along with no change.
    plain: Option<Stretch<'s>>,
    /// The next of them, where others may come before it.
    head: Option<Instance>,
    /// Those that go along with one, and the next of each.
    changed: Vec<(Stretch<'s>, Option<Instance>)>,
    /// Those that changes make, backwards by start.
    single: Vec<Instance>,
}

/// Instances in a row of which one component says time and length.
struct Stretch<'s> {
    main: &'s Main,
    ids: Ids<'s>,
    /// The change they go along with.
    along: Option<Along<'s>>,
    /// Keys of the first and behind the last.
    keys: Range<i64>,
}

/// A change with which instances go along, and those on their way.
struct Along<'s> {
    change: &'s Change,
    order: Box<InOrder<Instance>>,
}

impl<'s> Instances<'s> {
    fn new(series: &'s RecurrenceSet, range: Range<Timestamp>, viewer: &'s TimeZone) -> Self {
        let mut instances = Self {
            series,
            viewer,
            range,
            plain: None,
            head: None,
            changed: Vec::new(),
            single: Vec::new(),
        };
        if instances.range.start >= instances.range.end {
            return instances;
        }
        instances.find_singles();
        if let Some(main) = &series.main {
            let futures = || series.futures.iter().filter_map(|i| series.changes.get(*i));
            let first = futures().next().map_or(i64::MAX, |c| c.key);
            instances.plain = instances.stretch(main, None, i64::MIN..first);
            let ends = futures().skip(1).map(|c| c.key).chain([i64::MAX]);
            for (change, end) in futures().zip(ends) {
                if let Some(mut stretch) = instances.stretch(main, Some(change), change.key..end)
                    && let Some(first) = stretch.next(series, viewer, &instances.range)
                {
                    instances.changed.push((stretch, Some(first)));
                }
            }
            if !instances.is_plain() {
                instances.head = instances.next_plain();
            }
        }
        instances
    }

    fn find_singles(&mut self) {
        let Range { start, end } = &self.range;
        let reach = self.series.most_of_changes + SLACK;
        let from = start.seconds().saturating_sub(reach);
        let to = end.seconds().saturating_add(SLACK);
        let changes = &self.series.changes;
        let first = changes.partition_point(|c| c.near < from);
        for change in changes.iter().skip(first).take_while(|c| c.near < to) {
            let zone = change.start.zone().unwrap_or(self.viewer);
            let at = change.start.at(self.viewer);
            let (end, until) = change.length.end(&change.start, at, zone);
            let instance = Instance {
                component: change.component,
                id: change.id.clone(),
                start: change.start.clone(),
                end,
                during: at..until,
            };
            if instance.is_in(&self.range) {
                self.single.push(instance);
            }
        }
        self.single
            .sort_by_key(|i| std::cmp::Reverse((i.during.start, i.component)));
    }

    /// Whether nothing changes an instance in the range: nearly always.
    fn is_plain(&self) -> bool {
        self.single.is_empty() && self.changed.is_empty()
    }

    fn next_plain(&mut self) -> Option<Instance> {
        let stretch = self.plain.as_mut()?;
        stretch.next(self.series, self.viewer, &self.range)
    }

    /// A stretch, if there may be anything of it in the range.
    fn stretch(
        &self,
        main: &'s Main,
        along: Option<&'s Change>,
        keys: Range<i64>,
    ) -> Option<Stretch<'s>> {
        let (most, early, late) = match along {
            None => (main.most(), 0, 0),
            // Moved by the clock: by as much as that differs from exact seconds.
            Some(change) => (
                change.length.most(),
                change.shift.saturating_add(SLACK),
                SLACK - change.shift,
            ),
        };
        let from = self
            .range
            .start
            .seconds()
            .saturating_sub(most)
            .saturating_sub(early);
        let to = self.range.end.seconds().saturating_add(late);
        // Keys of days and floating times are local times.
        let from = from.max(keys.start.saturating_sub(SLACK));
        let to = to.min(keys.end.saturating_add(SLACK));
        if from >= to {
            return None;
        }
        Some(Stretch {
            main,
            ids: Ids::new(main, self.viewer, from, to),
            along: along.map(|change| Along {
                change,
                order: Box::new(InOrder::new()),
            }),
            keys,
        })
    }
}

impl Stretch<'_> {
    fn next(
        &mut self,
        series: &RecurrenceSet,
        viewer: &TimeZone,
        range: &Range<Timestamp>,
    ) -> Option<Instance> {
        loop {
            let instance = self.next_in_order(series, viewer)?;
            if instance.during.start >= range.end {
                return None;
            }
            if instance.is_in(range) {
                return Some(instance);
            }
        }
    }

    fn next_in_order(&mut self, series: &RecurrenceSet, viewer: &TimeZone) -> Option<Instance> {
        let (main, ids) = (self.main, &mut self.ids);
        let mut next_id = || {
            ids.find(|id| {
                let key = main.key_of(*id);
                self.keys.contains(&key) && !series.replaces(key)
            })
        };
        let Some(Along { change, order }) = &mut self.along else {
            let id = next_id()?;
            let start = main.time_of(id);
            let at = Timestamp::from_seconds(id.at);
            let zone = main.zone(viewer);
            let (end, until) = main.length_of(id).end(&start, at, zone);
            return Some(Instance {
                component: main.component,
                id: start.clone(),
                start,
                end,
                during: at..until,
            });
        };
        let placed = order.next(|| {
            let id = next_id()?;
            let time = main.time_of(id);
            let clock = own_clock(&change.start, main.start.zone().is_some(), id.at, id.wall);
            let start = like(
                &change.start,
                DateTime::from_seconds(clock.saturating_add(change.shift)),
            );
            let zone = change.start.zone().unwrap_or(viewer);
            let resolved = zone.resolve(start.local());
            let (end, until) = change.length.end(&start, resolved.at, zone);
            Some(Placed {
                at: resolved.at.seconds(),
                wall: start.local().seconds(),
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
                let (stretch, head) = self.changed.get_mut(n)?;
                let next = stretch.next(self.series, self.viewer, &self.range);
                std::mem::replace(head, next)
            }
            _ => self.single.pop(),
        }
    }
}
