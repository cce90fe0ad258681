//! What the store keeps of a calendar record beside its text: search keys, place in the list,
//! summary, and when it happens.
//!
//! What happens once, for a day at the most, in a zone that has a name, is told by the list alone.
//! All else has a row of `series`, with the lines of the record that say when:
//!
//! ```text
//! times := VTIMEZONE* component+      iCalendar; of each component times, title, place, status,
//!                                     TRANSP and alarms; zones that have no name elsewhere
//!        | 1:u8 summary               of what happens once (`once`); its alarms stand in `alarm`,
//!                                     as those of what is told by the list
//! ```

use std::collections::HashSet;

use super::alarms::due;
use super::ics::ComponentKind;
use super::moment;
use super::once;
use super::recurrence::{EventEnd, Instance, RDate, RecurrenceSet, Timing};
use super::summary::{MOST, Summary};
use super::time::{CalendarTime, Date, TimeZone, Timestamp};
use super::zones::TimeZoneDefinition;
use super::{Alarm, AlarmAction, AlarmTrigger, CalendarComponent, CalendarObject};
use crate::record::keys::{Key, KeyWriter, clip};
use crate::record::times::{self, SHORT, Times};
use crate::record::{IndexContext, IndexedColumns};
use etui_ical::object::{escape_value, format_time};

/// Derives what is stored of `record`.
pub(super) fn derive(record: &CalendarObject, _: &IndexContext<'_>) -> IndexedColumns {
    let (summary, times) = said(record);
    let mut keys = KeyWriter::default();
    // First: what stands in tables must be told, however much is to be searched.
    times.push(&mut keys);
    search_keys(record, &mut keys);
    IndexedColumns {
        keys: keys.into_keys(),
        sort: moment::sort(summary.start.as_ref()),
        summary: summary.encode(),
        times,
    }
}

/// What the list shows of a record, and its rows in the tables of times.
pub(super) fn said(record: &CalendarObject) -> (Summary, Times) {
    let main = record.master();
    let first = main.timing.as_ref().and_then(first_instance);
    let is_simple = record.components().len() == 1 && main.timing.as_ref().is_none_or(is_once);
    let once = first.as_ref().filter(|_| is_simple).filter(|i| is_short(i));
    let has_time = main.timing.is_some() || record.components().len() > 1;
    let summary = Summary {
        kind: main.kind,
        title: main.summary.clone().unwrap_or_default(),
        place: main.location.clone().unwrap_or_default(),
        recurs: record.components().any(CalendarComponent::recurs),
        alarms: record.components().any(|i| !i.alarms.is_empty()),
        status: main.status,
        transparent: main.transparent,
        in_series: once.is_none() && has_time,
        start: match &first {
            Some(first) => Some(first.start.clone()),
            None => main.start.clone(),
        },
        end: first.as_ref().map(|first| first.end.clone()),
    };
    let mut times = match summary.in_series {
        true => in_series(record, first.as_ref().filter(|_| is_simple), &summary),
        false => Times {
            alarms: due::of_item(main, once),
            ..Times::default()
        },
    };
    if let Some(first) = first.as_ref().filter(|_| !times.alarms.is_empty()) {
        times.rules = due::rules(first);
    }
    (summary, times)
}

fn search_keys(record: &CalendarObject, keys: &mut KeyWriter) {
    let mut said: HashSet<(u8, String)> = HashSet::new();
    for item in record.components() {
        let mut say = |key, text: &str| {
            if said.insert((key as u8, text.to_owned())) {
                keys.words(key, text);
            }
        };
        say(Key::Title, item.summary.as_deref().unwrap_or_default());
        say(Key::Place, item.location.as_deref().unwrap_or_default());
        let description = item.description.as_deref().unwrap_or_default();
        say(Key::Description, description);
        item.categories.iter().for_each(|c| say(Key::Category, c));
        say(Key::Component, name_of(item.kind));
    }
}

/// What a component is called, in filters and elsewhere.
pub(super) fn name_of(kind: ComponentKind) -> &'static str {
    match kind {
        ComponentKind::Event => "event",
        ComponentKind::Todo => "todo",
        ComponentKind::Journal => "journal",
    }
}

/// Whether it happens once, and takes nobody's place.
fn is_once(timing: &Timing) -> bool {
    timing.rules.is_empty()
        && timing.dates.is_empty()
        && timing.exception_rules.is_empty()
        && timing.exception_dates.is_empty()
        && timing.replaces.is_none()
}

/// Whether the list tells of it well enough.
fn is_short(instance: &Instance) -> bool {
    let has_name = |time: &CalendarTime| time.zone().is_none_or(TimeZone::is_named);
    instance.during.end.seconds() - instance.during.start.seconds() <= SHORT
        && has_name(&instance.start)
        && has_name(&instance.end)
}

/// What a component says of itself alone.
fn first_instance(timing: &Timing) -> Option<Instance> {
    let alone = Timing {
        end: timing.end.clone(),
        ..Timing::once(timing.start.clone())
    };
    let series = RecurrenceSet::new(&[alone]);
    series
        .between(Timestamp::MIN..Timestamp::MAX, &TimeZone::UTC)
        .next()
}

/// The row of a record that the list does not tell of; `single` if it happens once.
fn in_series(record: &CalendarObject, single: Option<&Instance>, summary: &Summary) -> Times {
    let (first, until) = match single {
        // From wherever it is looked at.
        Some(instance) => (
            instance
                .during
                .start
                .seconds()
                .saturating_sub(moment::REACH),
            instance.during.end.seconds().saturating_add(moment::REACH),
        ),
        None => {
            let bounds = record.recurrence_set().bounds();
            match bounds.end {
                Timestamp::MAX => (bounds.start.seconds(), i64::MAX),
                end => (bounds.start.seconds(), end.seconds()),
            }
        }
    };
    let timing = record.master().timing.as_ref();
    if let Some(instance) = single.filter(|i| timing.is_some_and(|t| once::is_told(t, i))) {
        return Times {
            series: Some(times::Series {
                first,
                until,
                alarm: None,
                times: once::encode(summary),
            }),
            alarms: due::of_item(record.master(), Some(instance)),
            ..Times::default()
        };
    }
    let alarms = record.components().flat_map(|i| &i.alarms);
    let series = times::Series {
        first,
        until,
        alarm: alarms.map(|alarm| earliest(alarm, first)).min(),
        times: times_of(record),
    };
    Times {
        series: Some(series),
        ..Times::default()
    }
}

/// No alarm of what begins at `first` or later is due before.
fn earliest(alarm: &Alarm, first: i64) -> i64 {
    match alarm.trigger {
        AlarmTrigger::At(at) => at.seconds(),
        AlarmTrigger::Start(after) | AlarmTrigger::End(after) => first
            .saturating_add(after.nominal_seconds().min(0))
            .saturating_sub(moment::REACH),
    }
}

/// The lines of a record that say when.
pub(super) fn times_of(record: &CalendarObject) -> Vec<u8> {
    let mut lines = Lines::default();
    record.components().for_each(|item| lines.component(item));
    let starts = record.components().filter_map(|i| i.start.as_ref());
    let since = starts.map(|t| t.local().date()).min();
    let since = since.unwrap_or(Date::MAX).plus_days(-366);
    let mut text = Vec::new();
    for zone in &lines.zones {
        text.extend_from_slice(&TimeZoneDefinition::of(zone, since).to_text());
    }
    text.extend_from_slice(lines.out.as_bytes());
    text
}

/// Content lines, and the zones in them that have no name elsewhere.
#[derive(Default)]
struct Lines {
    out: String,
    zones: Vec<TimeZone>,
}

impl Lines {
    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push_str("\r\n");
    }

    /// Parameters and value of a time.
    fn format_time(&mut self, time: &CalendarTime) -> (String, String) {
        if let Some(zone) = time.zone().filter(|z| !z.is_named())
            && !self.zones.contains(zone)
        {
            self.zones.push(zone.clone());
        }
        format_time(time)
    }

    fn time(&mut self, name: &str, time: &CalendarTime) {
        let (params, value) = self.format_time(time);
        self.line(&format!("{name}{params}:{value}"));
    }

    fn component(&mut self, item: &CalendarComponent) {
        self.line(&format!("BEGIN:{}", item.kind));
        // Several components are one record if they have one UID, whichever.
        self.line("UID:1");
        for (name, text) in [("SUMMARY", &item.summary), ("LOCATION", &item.location)] {
            if let Some(text) = text {
                self.line(&format!("{name}:{}", escape_value(name, clip(text, MOST))));
            }
        }
        if let Some(status) = item.status {
            self.line(&format!("STATUS:{}", status.name()));
        }
        if item.transparent {
            self.line("TRANSP:TRANSPARENT");
        }
        if let Some(done) = &item.acknowledged {
            self.time("X-MOZ-LASTACK", done);
        }
        if let Some(timing) = &item.timing {
            self.timing(timing);
        }
        item.alarms.iter().for_each(|alarm| self.alarm(alarm));
        self.line(&format!("END:{}", item.kind));
    }

    fn timing(&mut self, timing: &Timing) {
        self.time("DTSTART", &timing.start);
        match &timing.end {
            EventEnd::Unsaid => {}
            EventEnd::At(end) => self.time("DTEND", end),
            EventEnd::After(duration) => self.line(&format!("DURATION:{duration}")),
        }
        if let Some(replaces) = &timing.replaces {
            let name = match replaces.this_and_future {
                true => "RECURRENCE-ID;RANGE=THISANDFUTURE",
                false => "RECURRENCE-ID",
            };
            self.time(name, &replaces.id);
        }
        for rule in &timing.rules {
            self.line(&format!("RRULE:{rule}"));
        }
        for rule in &timing.exception_rules {
            self.line(&format!("EXRULE:{rule}"));
        }
        for RDate { start, end } in &timing.dates {
            let end = match end {
                EventEnd::Unsaid => {
                    self.time("RDATE", start);
                    continue;
                }
                EventEnd::At(end) => self.format_time(end).1,
                EventEnd::After(duration) => duration.to_string(),
            };
            let (params, value) = self.format_time(start);
            self.line(&format!("RDATE;VALUE=PERIOD{params}:{value}/{end}"));
        }
        for except in &timing.exception_dates {
            self.time("EXDATE", except);
        }
    }

    fn alarm(&mut self, alarm: &Alarm) {
        self.line("BEGIN:VALARM");
        self.line(match alarm.action {
            AlarmAction::Display => "ACTION:DISPLAY",
            AlarmAction::Audio => "ACTION:AUDIO",
            AlarmAction::Email => "ACTION:EMAIL",
            AlarmAction::Other => "ACTION:NONE",
        });
        self.line(&match alarm.trigger {
            AlarmTrigger::Start(after) => format!("TRIGGER:{after}"),
            AlarmTrigger::End(after) => format!("TRIGGER;RELATED=END:{after}"),
            AlarmTrigger::At(at) => format!("TRIGGER;VALUE=DATE-TIME:{at}"),
        });
        if let (Some(every), 1..) = (alarm.every, alarm.repeat) {
            self.line(&format!("REPEAT:{}", alarm.repeat));
            self.line(&format!("DURATION:{every}"));
        }
        if let Some(done) = alarm.acknowledged {
            self.line(&format!("ACKNOWLEDGED:{done}"));
        }
        self.line("END:VALARM");
    }
}
