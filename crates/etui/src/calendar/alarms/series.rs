//! The next alarms of one series.

use super::due::Due;
use crate::calendar::known::{Component, Known};
use crate::calendar::moment::REACH;
use crate::calendar::time::{CalendarTime, TimeZone, Timestamp};
use crate::calendar::{Alarm, AlarmTrigger};

/// Instances of one series that are gone through for its next alarms: of what fires every second,
/// and was acknowledged for years ahead, there would be no end.
const MOST_INSTANCES: usize = 1 << 18;

/// An alarm of a series.
pub(super) struct Upcoming {
    pub(super) at: Timestamp,
    /// Which of the components that are known has it.
    pub(super) component: usize,
    /// The start of the instance.
    pub(super) start: CalendarTime,
    pub(super) due: Due,
}

/// The first `limit` alarms of a series that are due at `after` or later, and whether they are
/// those for certain.
pub(super) fn due_of(
    known: &Known,
    after: Timestamp,
    limit: usize,
    viewer: &TimeZone,
) -> (Vec<Upcoming>, bool) {
    let mut asked = Asked {
        viewer,
        after,
        limit,
        all: Vec::new(),
        is_whole: true,
    };
    for (place, component) in known.components.iter().enumerate() {
        for alarm in &component.alarms {
            if let AlarmTrigger::At(_) = alarm.trigger {
                asked.take(
                    place,
                    component,
                    alarm,
                    (&component.start, &component.start),
                );
            }
        }
    }
    if let Some(reach) = Reach::of(known, viewer) {
        asked.instances(known, &reach);
    }
    asked.cut();
    (asked.all, asked.is_whole)
}

/// The instances of a series that may have an alarm due.
struct Reach {
    /// Seconds after the start of its instance at which an alarm is due, at the least; mostly less
    /// than none.
    least: i64,
    /// And at the most.
    most: i64,
    /// Until when there are such instances.
    until: Timestamp,
}

impl Reach {
    /// `None`: it has no alarms that go along with instances.
    fn of(known: &Known, viewer: &TimeZone) -> Option<Self> {
        let (mut least, mut most, mut slack) = (i64::MAX, i64::MIN, 0);
        let mut until = None;
        for component in &known.components {
            for alarm in &component.alarms {
                let (of, length) = match alarm.trigger {
                    AlarmTrigger::At(_) => continue,
                    AlarmTrigger::Start(of) => (of, 0),
                    AlarmTrigger::End(of) => (of, known.series.longest()),
                };
                // Days are the calendar's, which may be longer or shorter.
                if of.days() != 0 {
                    slack = REACH;
                }
                let of = of.nominal_seconds();
                let last = alarm.repeat_offsets().last().unwrap_or(0);
                least = least.min(of);
                most = most.max(of.saturating_add(last).saturating_add(length));
                let end = match Known::goes_on(component) {
                    true => Timestamp::MAX,
                    false => component.start.at(viewer).plus_seconds(2 * REACH),
                };
                until = until.max(Some(end));
            }
        }
        Some(Self {
            until: until?,
            least: least.saturating_sub(slack),
            most: most.saturating_add(slack),
        })
    }
}

/// Alarms of one series, as they are found.
struct Asked<'v> {
    viewer: &'v TimeZone,
    after: Timestamp,
    limit: usize,
    all: Vec<Upcoming>,
    /// No more instances than are gone through.
    is_whole: bool,
}

impl Asked<'_> {
    /// Takes in what of an alarm is still to be told of.
    fn take(
        &mut self,
        place: usize,
        component: &Component,
        alarm: &Alarm,
        (start, end): (&CalendarTime, &CalendarTime),
    ) {
        let done = component.acknowledged.max(alarm.acknowledged);
        for due in Due::each(alarm, start, end) {
            let at = due.at(self.viewer);
            if at < self.after || done.is_some_and(|done| at <= done) {
                continue;
            }
            self.all.push(Upcoming {
                at,
                component: place,
                start: start.clone(),
                due,
            });
        }
    }

    /// Goes through the instances, for as long as one of them may be due before the last that is
    /// wanted.
    fn instances(&mut self, known: &Known, reach: &Reach) {
        // What was acknowledged need not be gone through.
        let done = known.components.iter().map(|c| c.acknowledged).min();
        let since = done
            .flatten()
            .map_or(self.after, |done| done.max(self.after));
        let since = since.plus_seconds(reach.most.saturating_neg());
        let mut full_at = None;
        let instances = known.series.between(since..reach.until, self.viewer);
        for (n, instance) in instances.enumerate() {
            if n >= MOST_INSTANCES {
                self.is_whole = false;
                break;
            }
            let earliest = instance.during.start.plus_seconds(reach.least);
            if full_at.is_some_and(|at| earliest > at) {
                break;
            }
            let Some(component) = known.components.get(instance.component) else {
                continue;
            };
            for alarm in &component.alarms {
                if !matches!(alarm.trigger, AlarmTrigger::At(_)) {
                    let times = (&instance.start, &instance.end);
                    self.take(instance.component, component, alarm, times);
                }
            }
            let most = match full_at {
                None => self.limit,
                Some(_) => self.limit.saturating_mul(2),
            };
            if self.all.len() >= most {
                self.cut();
                full_at = self.all.last().map(|last| last.at);
            }
        }
    }

    fn cut(&mut self) {
        self.all.sort_by_key(|upcoming| upcoming.at);
        self.all.truncate(self.limit);
    }
}
