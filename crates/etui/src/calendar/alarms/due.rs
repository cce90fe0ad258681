//! [`Due`]: when an alarm is due, in a form that is stored.
//!
//! ```text
//! due := base (`moment`) after:zigzag varint action:u8        `after` seconds after `base`
//! ```
//!
//! Where it stands in an index (`at`) is the instant, as it was known when it was stored; of one
//! whose base is a floating time it is the local time, wherever one is.

use crate::calendar::moment::{self, Named};
use crate::calendar::record::{Action, Alarm, Item, Trigger};
use crate::calendar::recurrence::Instance;
use crate::calendar::time::{Duration, Time, Timestamp, Zone};
use crate::collection::times;
use crate::text::varint;

/// Alarms of one record that happens once that are told of, each repetition counted.
const MOST: usize = 256;

/// When an alarm is due, exactly, and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::calendar) struct Due {
    base: Time,
    after: i64,
    pub(super) action: Action,
}

impl Due {
    const ACTIONS: [Action; 4] = [Action::Display, Action::Audio, Action::Email, Action::Other];

    /// When an alarm of an instance is due, each repetition by itself.
    pub(super) fn each(alarm: &Alarm, start: &Time, end: &Time) -> impl Iterator<Item = Self> {
        let (base, after) = match alarm.trigger {
            Trigger::At(at) => (Time::Utc(at), 0),
            Trigger::Start(after) => (plus_days(start, after), after.seconds()),
            Trigger::End(after) => (plus_days(end, after), after.seconds()),
        };
        let action = alarm.action;
        alarm.repetitions().map(move |more| Self {
            base: base.clone(),
            after: after.saturating_add(more),
            action,
        })
    }

    /// Whether it depends on where one is.
    pub(super) fn is_floating(&self) -> bool {
        self.base.zone().is_none()
    }

    /// When it is due, seen from a zone.
    pub(super) fn at(&self, viewer: &Zone) -> Timestamp {
        self.base.at(viewer).plus_seconds(self.after)
    }

    /// Where it stands in an index.
    pub(super) fn place(&self) -> i64 {
        self.at(&Zone::UTC).seconds()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        moment::push(&mut out, &self.base);
        varint::push(&mut out, varint::zigzag(self.after));
        let action = Self::ACTIONS.iter().position(|a| *a == self.action);
        out.push(action.unwrap_or(0) as u8);
        out
    }

    pub(super) fn decode(mut bytes: &[u8], zones: &mut Named) -> Option<Self> {
        let base = moment::take(&mut bytes, zones)?;
        let after = varint::unzigzag(varint::take(&mut bytes)?);
        let action = *Self::ACTIONS.get(usize::from(*bytes.first()?))?;
        Some(Self {
            base,
            after,
            action,
        })
    }
}

fn plus_days(time: &Time, by: Duration) -> Time {
    let wall = time.wall().plus_seconds(by.days().saturating_mul(86_400));
    match time {
        // A day's alarm is at an hour of it.
        Time::Date(_) | Time::Floating(_) => Time::Floating(wall),
        Time::Zoned(_, zone) => Time::Zoned(wall, zone.clone()),
        Time::Utc(_) => Time::Utc(Zone::UTC.to_utc(wall)),
    }
}

/// The alarms of what happens once, each moment once.
pub(in crate::calendar) fn of_instance(item: &Item, instance: &Instance) -> Vec<times::Alarm> {
    let mut rows: Vec<times::Alarm> = Vec::new();
    for alarm in &item.alarms {
        let done = item.acknowledged.as_ref().map(|t| t.at(&Zone::UTC));
        let done = done.max(alarm.acknowledged);
        for due in Due::each(alarm, &instance.start, &instance.end) {
            if rows.len() >= MOST {
                return rows;
            }
            let (floating, at) = (due.is_floating(), due.place());
            let is_known = rows.iter().any(|r| r.at == at && r.floating == floating);
            if !is_known && done.is_none_or(|done| at > done.seconds()) {
                rows.push(times::Alarm {
                    floating,
                    at,
                    what: due.encode(),
                });
            }
        }
    }
    rows
}
