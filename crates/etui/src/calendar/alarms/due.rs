//! [`Due`]: when an alarm is due, in a form that is stored.
//!
//! ```text
//! due := base (`moment`) after:zigzag varint action:u8 [done:zigzag varint]
//!                                                 `after` seconds after `base`; done: acknowledged
//!                                                 up to then (Unix s), if 0x80 is in `action`
//! what := due+                                    several of one record at one moment
//! ```
//!
//! Where it stands in the table (`at`) is the instant, as it was known when it was stored; of one
//! whose base is a floating time it is the local time, wherever one is.

use crate::calendar::moment::{self, Named, REACH};
use crate::calendar::recurrence::Instance;
use crate::calendar::time::{CalendarTime, Duration, TimeZone, Timestamp};
use crate::calendar::{Alarm, AlarmAction, AlarmTrigger, CalendarComponent};
use crate::record::times;
use etui_text::varint;

/// Alarms of one record that happens once that are told of, each repetition counted.
const MOST: usize = 256;

/// In the byte of the action: it was acknowledged.
const DONE: u8 = 0x80;

/// Bytes of one row at the most.
const MOST_BYTES: usize = 1_000;

/// When an alarm is due, exactly, and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::calendar) struct Due {
    base: CalendarTime,
    after: i64,
    pub(super) action: AlarmAction,
    /// Up to when it was acknowledged.
    done: Option<Timestamp>,
}

impl Due {
    const ACTIONS: [AlarmAction; 4] = [
        AlarmAction::Display,
        AlarmAction::Audio,
        AlarmAction::Email,
        AlarmAction::Other,
    ];

    /// When an alarm of an instance is due, each repetition by itself.
    pub(super) fn each(
        alarm: &Alarm,
        start: &CalendarTime,
        end: &CalendarTime,
    ) -> impl Iterator<Item = Self> {
        let (base, after) = match alarm.trigger {
            AlarmTrigger::At(at) => (CalendarTime::Utc(at), 0),
            AlarmTrigger::Start(after) => (plus_days(start, after), after.seconds()),
            AlarmTrigger::End(after) => (plus_days(end, after), after.seconds()),
        };
        let action = alarm.action;
        alarm.repeat_offsets().map(move |more| Self {
            base: base.clone(),
            after: after.saturating_add(more),
            action,
            done: None,
        })
    }

    /// Whether it depends on where one is.
    pub(super) fn is_floating(&self) -> bool {
        self.base.zone().is_none()
    }

    /// When it is due, seen from a zone.
    pub(super) fn at(&self, viewer: &TimeZone) -> Timestamp {
        self.base.at(viewer).plus_seconds(self.after)
    }

    /// Where it stands in the table.
    pub(super) fn place(&self) -> i64 {
        self.at(&TimeZone::UTC).seconds()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        moment::push(&mut out, &self.base);
        varint::push(&mut out, varint::zigzag(self.after));
        let action = Self::ACTIONS.iter().position(|a| *a == self.action);
        let flag = if self.done.is_some() { DONE } else { 0 };
        out.push(action.unwrap_or(0) as u8 | flag);
        if let Some(done) = self.done {
            varint::push(&mut out, varint::zigzag(done.seconds()));
        }
        out
    }

    /// Takes one from the front of `bytes`.
    pub(super) fn take(bytes: &mut &[u8], zones: &mut Named) -> Option<Self> {
        let base = moment::take(bytes, zones)?;
        let after = varint::unzigzag(varint::take(bytes)?);
        let (&action, rest) = bytes.split_first()?;
        *bytes = rest;
        let done = match action & DONE {
            0 => None,
            _ => Some(varint::unzigzag(varint::take(bytes)?)),
        };
        Some(Self {
            base,
            after,
            action: *Self::ACTIONS.get(usize::from(action & !DONE))?,
            done: done.map(Timestamp::from_seconds),
        })
    }

    /// Whether it was acknowledged, seen from a zone.
    pub(super) fn is_done(&self, viewer: &TimeZone) -> bool {
        self.done.is_some_and(|done| self.at(viewer) <= done)
    }
}

fn plus_days(time: &CalendarTime, by: Duration) -> CalendarTime {
    let wall = time.local().plus_seconds(by.days().saturating_mul(86_400));
    match time {
        // A day's alarm is at an hour of it.
        CalendarTime::Date(_) | CalendarTime::Floating(_) => CalendarTime::Floating(wall),
        CalendarTime::Zoned(_, zone) => CalendarTime::Zoned(wall, zone.clone()),
        CalendarTime::Utc(_) => CalendarTime::Utc(TimeZone::UTC.to_utc(wall)),
    }
}

fn rules_of(time: &CalendarTime) -> Option<times::Rules> {
    let zone = time.zone().filter(|zone| zone.is_named())?;
    Some((zone.name().to_owned(), zone.rules()?))
}

/// By which rules the alarms of what happens once are placed.
pub(in crate::calendar) fn rules(instance: &Instance) -> Vec<times::Rules> {
    let (start, end) = (rules_of(&instance.start), rules_of(&instance.end));
    let end = end.filter(|end| start.as_ref() != Some(end));
    start.into_iter().chain(end).collect()
}

/// The alarms of what happens once, or, without a time, those at an instant; each moment has one
/// row.
pub(in crate::calendar) fn of_item(
    item: &CalendarComponent,
    instance: Option<&Instance>,
) -> Vec<times::Alarm> {
    let mut rows: Vec<times::Alarm> = Vec::new();
    // Of what has no time, alarms that go along with it are at no time.
    let nowhere = CalendarTime::Utc(Timestamp::from_seconds(0));
    let (start, end) = instance.map_or((&nowhere, &nowhere), |i| (&i.start, &i.end));
    for alarm in &item.alarms {
        if instance.is_none() && !matches!(alarm.trigger, AlarmTrigger::At(_)) {
            continue;
        }
        let done = item.acknowledged.as_ref().map(|t| t.at(&TimeZone::UTC));
        let done = done.max(alarm.acknowledged);
        for due in Due::each(alarm, start, end) {
            let due = Due { done, ..due };
            let (floating, at) = (due.is_floating(), due.place());
            // Whether a floating one was acknowledged depends on where one is.
            let reach = if floating { REACH } else { 0 };
            if done.is_some_and(|done| at.saturating_add(reach) <= done.seconds()) {
                continue;
            }
            let count = rows.len();
            let known = rows
                .iter_mut()
                .find(|r| r.at == at && r.floating == floating);
            match known {
                Some(row) if row.what.len() < MOST_BYTES => row.what.extend(due.encode()),
                Some(_) => {}
                None if count >= MOST => return rows,
                None => rows.push(times::Alarm {
                    floating,
                    at,
                    what: due.encode(),
                }),
            }
        }
    }
    rows
}
