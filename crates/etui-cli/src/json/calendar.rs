//! JSON objects of calendar entries.

use etui::SavedRecord;
use etui::calendar::time::{CalendarTime, TimeZone};
use etui::calendar::{
    Alarm, AlarmAction, AlarmTrigger, BusyPeriod, CalendarComponent, CalendarObject, CalendarUser,
    Classification, Color, DueAlarm, Occurrence, Status, Summary,
};
use etui::record::StoredRecord;
use etui_program::output::{kind_name, object, optional_time};
use serde::Serialize;

use etui_when::{iso_instant, iso_time};

use super::saved_json;

/// Returns the name of a status: `tentative`, `in-process`.
pub fn status_name(status: Status) -> String {
    status.name().to_ascii_lowercase()
}

fn action_name(action: AlarmAction) -> &'static str {
    match action {
        AlarmAction::Display => "display",
        AlarmAction::Audio => "audio",
        AlarmAction::Email => "email",
        AlarmAction::Other => "other",
    }
}

/// A row of `calendar list` and `find`.
pub fn entry_summary_json<'a>(summary: &'a Summary, zone: &TimeZone) -> impl Serialize + use<'a> {
    object! {
        kind: kind_name(summary.kind),
        title: &summary.title,
        place: &summary.location,
        // The first start.
        start: optional_time(&summary.start, zone),
        end: optional_time(&summary.end, zone),
        all_day: summary.start.as_ref().is_some_and(CalendarTime::is_date),
        status: summary.status.map(status_name),
    }
}

/// A line of `calendar agenda`.
pub fn occurrence_json(
    (calendar, color): (&str, Option<Color>),
    occurrence: &Occurrence,
    zone: &TimeZone,
) -> impl Serialize {
    object! {
        calendar: calendar,
        id: occurrence.record.0,
        kind: kind_name(occurrence.kind),
        title: &*occurrence.title,
        place: &*occurrence.location,
        start: iso_time(&occurrence.start, zone),
        // The end; of an all-day event the day after the last.
        end: iso_time(&occurrence.end, zone),
        all_day: occurrence.start.is_date(),
        // The zone of the start; `null` for dates and floating times.
        zone: occurrence.start.zone().map(TimeZone::name),
        // The recurrence id; `null` if the entry does not recur.
        instance: optional_time(&occurrence.instance, zone),
        status: occurrence.status.map(status_name),
        transparent: occurrence.transparent,
        // The colour of the calendar: `#rrggbb`, or `null`.
        color: color.map(|color| color.to_string()),
    }
}

/// A line of `calendar freebusy`.
pub fn busy_json(busy: &BusyPeriod, zone: &TimeZone) -> impl Serialize {
    object! {
        start: iso_instant(busy.during.start, zone),
        end: iso_instant(busy.during.end, zone),
        tentative: busy.tentative,
    }
}

/// A line of `calendar alarms`.
pub fn due_alarm_json(calendar: &str, alarm: &DueAlarm, zone: &TimeZone) -> impl Serialize {
    object! {
        calendar: calendar,
        id: alarm.record.0,
        at: iso_instant(alarm.at, zone),
        start: optional_time(&alarm.start, zone),
        title: &alarm.title,
        action: action_name(alarm.action),
    }
}

/// A line of `calendar show`, and of `export --calendar --json`: the fields of the master component,
/// then its overrides and further components as `changes`.
pub fn entry_json(
    stored: &StoredRecord<CalendarObject>,
    record: &CalendarObject,
    zone: &TimeZone,
) -> impl Serialize {
    let at = record.master_index();
    let others = record.components().enumerate().filter(|(i, _)| *i != at);
    object! {
        id: stored.id.0,
        // UID, or the derived identity.
        uid: &stored.uid,
        // Version of the content, 32 hexadecimal digits.
        etag: stored.etag.to_string(),
        #[serde(flatten)] main: component_json(record.master(), zone),
        changes: others.map(|(_, item)| component_json(item, zone)).collect::<Vec<_>>(),
    }
}

/// The outcome of `calendar add`: that of any save, and the fields of the entry.
pub fn added_entry_json(
    saved: &SavedRecord,
    uid: &str,
    record: &CalendarObject,
    zone: &TimeZone,
) -> impl Serialize {
    let title = record.master().summary.as_deref().unwrap_or_default();
    object! {
        #[serde(flatten)] saved: saved_json(saved, uid, title),
        #[serde(flatten)] main: component_json(record.master(), zone),
    }
}

fn component_json(item: &CalendarComponent, zone: &TimeZone) -> impl Serialize {
    let timing = item.timing.iter();
    let rules = timing.clone().flat_map(|t| &t.rules);
    let dates = timing.clone().flat_map(|t| &t.dates);
    let exceptions = timing.flat_map(|t| &t.exception_dates);
    let recurrence_id = item.timing.as_ref().and_then(|t| t.recurrence_id.as_ref());
    object! {
        kind: kind_name(item.kind),
        title: &item.summary,
        place: &item.location,
        notes: &item.description,
        start: optional_time(&item.start, zone),
        end: optional_time(&item.end, zone),
        due: optional_time(&item.due_time(), zone),
        duration: item.duration.map(|d| d.to_string()),
        all_day: item.all_day,
        zone: item.start.as_ref().and_then(CalendarTime::zone).map(TimeZone::name),
        rules: rules.map(ToString::to_string).collect::<Vec<_>>(),
        dates: dates.map(|date| iso_time(&date.start, zone)).collect::<Vec<_>>(),
        exception_dates: exceptions.map(|date| iso_time(date, zone)).collect::<Vec<_>>(),
        // The RECURRENCE-ID, and its RANGE=THISANDFUTURE.
        instance: recurrence_id.map(|r| iso_time(&r.id, zone)),
        this_and_future: recurrence_id.is_some_and(|r| r.this_and_future),
        status: item.status.map(status_name),
        class: match item.class {
            Classification::Public => "public",
            Classification::Private => "private",
            Classification::Confidential => "confidential",
        },
        transparent: item.transparent,
        categories: &item.categories,
        priority: item.priority,
        percent: item.percent,
        completed: optional_time(&item.completed, zone),
        url: &item.url,
        organizer: item.organizer.as_ref().map(person_json),
        attendees: item.attendees.iter().map(person_json).collect::<Vec<_>>(),
        alarms: item.alarms.iter().map(|alarm| alarm_json(alarm, zone)).collect::<Vec<_>>(),
    }
}

fn person_json(person: &CalendarUser) -> impl Serialize {
    object! {
        address: &person.address,
        name: &person.name,
        role: &person.role,
        answer: &person.answer,
    }
}

fn alarm_json(alarm: &Alarm, zone: &TimeZone) -> impl Serialize {
    let (of, when) = match alarm.trigger {
        AlarmTrigger::Start(after) => ("start", after.to_string()),
        AlarmTrigger::End(after) => ("end", after.to_string()),
        AlarmTrigger::At(at) => ("at", iso_instant(at, zone)),
        AlarmTrigger::Local(local) => ("at", iso_instant(zone.to_utc(local), zone)),
    };
    object! {
        action: action_name(alarm.action),
        // `start`, `end` or `at`.
        of: of,
        // An offset (RFC 5545 §3.3.6), or an instant.
        when: when,
        text: &alarm.description,
    }
}
