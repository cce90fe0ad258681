//! JSON objects of calendar entries.

use etui::calendar::ics::ComponentKind;
use etui::calendar::time::{CalendarTime, TimeZone};
use etui::calendar::{
    Alarm, AlarmAction, AlarmTrigger, BusyPeriod, CalendarComponent, CalendarObject, CalendarUser,
    Classification, DueAlarm, Occurrence, Status, Summary,
};
use etui::record::StoredRecord;
use serde::Serialize;

use crate::datetime::{iso_instant, iso_time};

/// Returns the name of a component kind.
pub fn kind_name(kind: ComponentKind) -> &'static str {
    match kind {
        ComponentKind::Event => "event",
        ComponentKind::Todo => "todo",
        ComponentKind::Journal => "journal",
    }
}

/// Returns the name of a status.
pub fn status_name(status: Status) -> &'static str {
    match status {
        Status::Tentative => "tentative",
        Status::Confirmed => "confirmed",
        Status::Cancelled => "cancelled",
        Status::NeedsAction => "needs-action",
        Status::InProcess => "in-process",
        Status::Completed => "completed",
        Status::Draft => "draft",
        Status::Final => "final",
    }
}

/// A row of `calendar list` and `find`.
#[derive(Debug, Serialize)]
pub struct CalendarSummaryJson<'a> {
    /// `event`, `todo` or `journal`.
    kind: &'static str,
    title: &'a str,
    place: &'a str,
    /// The first start.
    start: Option<String>,
    end: Option<String>,
    all_day: bool,
    status: Option<&'static str>,
}

impl<'a> CalendarSummaryJson<'a> {
    pub fn new(summary: &'a Summary, zone: &TimeZone) -> Self {
        let time = |time: &Option<CalendarTime>| time.as_ref().map(|t| iso_time(t, zone));
        Self {
            kind: kind_name(summary.kind),
            title: &summary.title,
            place: &summary.location,
            start: time(&summary.start),
            end: time(&summary.end),
            all_day: summary.start.as_ref().is_some_and(CalendarTime::is_date),
            status: summary.status.map(status_name),
        }
    }
}

/// A line of `calendar agenda`.
#[derive(Debug, Serialize)]
pub struct OccurrenceJson<'a> {
    calendar: &'a str,
    id: i64,
    /// `event`, `todo` or `journal`.
    kind: &'static str,
    title: &'a str,
    place: &'a str,
    start: String,
    /// The end; of an all-day event the day after the last.
    end: String,
    all_day: bool,
    /// The zone of the start; `null` for dates and floating times.
    zone: Option<&'a str>,
    /// The recurrence id; `null` if the entry does not recur.
    instance: Option<String>,
    status: Option<&'static str>,
    transparent: bool,
}

impl<'a> OccurrenceJson<'a> {
    pub fn new(calendar: &'a str, occurrence: &'a Occurrence, zone: &TimeZone) -> Self {
        Self {
            calendar,
            id: occurrence.record.0,
            kind: kind_name(occurrence.kind),
            title: &occurrence.title,
            place: &occurrence.location,
            start: iso_time(&occurrence.start, zone),
            end: iso_time(&occurrence.end, zone),
            all_day: occurrence.start.is_date(),
            zone: occurrence.start.zone().map(TimeZone::name),
            instance: occurrence.instance.as_ref().map(|i| iso_time(i, zone)),
            status: occurrence.status.map(status_name),
            transparent: occurrence.transparent,
        }
    }
}

/// A line of `calendar freebusy`.
#[derive(Debug, Serialize)]
pub struct BusyJson {
    start: String,
    end: String,
    tentative: bool,
}

impl BusyJson {
    pub fn new(busy: &BusyPeriod, zone: &TimeZone) -> Self {
        Self {
            start: iso_instant(busy.during.start, zone),
            end: iso_instant(busy.during.end, zone),
            tentative: busy.tentative,
        }
    }
}

/// A line of `calendar alarms`.
#[derive(Debug, Serialize)]
pub struct DueAlarmJson<'a> {
    calendar: &'a str,
    id: i64,
    at: String,
    start: Option<String>,
    title: &'a str,
    /// `display`, `audio`, `email` or `other`.
    action: &'static str,
}

impl<'a> DueAlarmJson<'a> {
    pub fn new(calendar: &'a str, alarm: &'a DueAlarm, zone: &TimeZone) -> Self {
        Self {
            calendar,
            id: alarm.record.0,
            at: iso_instant(alarm.at, zone),
            start: alarm.start.as_ref().map(|start| iso_time(start, zone)),
            title: &alarm.title,
            action: action_name(alarm.action),
        }
    }
}

fn action_name(action: AlarmAction) -> &'static str {
    match action {
        AlarmAction::Display => "display",
        AlarmAction::Audio => "audio",
        AlarmAction::Email => "email",
        AlarmAction::Other => "other",
    }
}

/// A line of `calendar show`, and of `export --calendar --json`.
#[derive(Debug, Serialize)]
pub struct EntryJson<'a> {
    id: i64,
    /// UID, or the derived identity.
    uid: &'a str,
    /// Version of the content, 32 hexadecimal digits.
    etag: String,
    /// The fields of the master component.
    #[serde(flatten)]
    main: ComponentJson<'a>,
    /// Overrides and further components.
    changes: Vec<ComponentJson<'a>>,
}

/// One component.
#[derive(Debug, Serialize)]
struct ComponentJson<'a> {
    kind: &'static str,
    title: Option<&'a str>,
    place: Option<&'a str>,
    notes: Option<&'a str>,
    start: Option<String>,
    end: Option<String>,
    due: Option<String>,
    duration: Option<String>,
    all_day: bool,
    zone: Option<&'a str>,
    rules: Vec<String>,
    dates: Vec<String>,
    exception_dates: Vec<String>,
    /// The RECURRENCE-ID.
    instance: Option<String>,
    /// RANGE=THISANDFUTURE.
    this_and_future: bool,
    status: Option<&'static str>,
    class: &'static str,
    transparent: bool,
    categories: &'a [String],
    priority: Option<u8>,
    percent: Option<u8>,
    completed: Option<String>,
    url: Option<&'a str>,
    organizer: Option<PersonJson<'a>>,
    attendees: Vec<PersonJson<'a>>,
    alarms: Vec<AlarmJson<'a>>,
}

#[derive(Debug, Serialize)]
struct PersonJson<'a> {
    address: &'a str,
    name: Option<&'a str>,
    role: Option<&'a str>,
    answer: Option<&'a str>,
}

impl<'a> From<&'a CalendarUser> for PersonJson<'a> {
    fn from(person: &'a CalendarUser) -> Self {
        Self {
            address: &person.address,
            name: person.name.as_deref(),
            role: person.role.as_deref(),
            answer: person.answer.as_deref(),
        }
    }
}

#[derive(Debug, Serialize)]
struct AlarmJson<'a> {
    action: &'static str,
    /// `start`, `end` or `at`.
    of: &'static str,
    /// An offset (RFC 5545 §3.3.6), or an instant.
    when: String,
    text: Option<&'a str>,
}

impl<'a> AlarmJson<'a> {
    fn new(alarm: &'a Alarm, zone: &TimeZone) -> Self {
        let (of, when) = match alarm.trigger {
            AlarmTrigger::Start(after) => ("start", after.to_string()),
            AlarmTrigger::End(after) => ("end", after.to_string()),
            AlarmTrigger::At(at) => ("at", iso_instant(at, zone)),
        };
        Self {
            action: action_name(alarm.action),
            of,
            when,
            text: alarm.description.as_deref(),
        }
    }
}

impl<'a> ComponentJson<'a> {
    fn new(item: &'a CalendarComponent, zone: &TimeZone) -> Self {
        let time = |time: &Option<CalendarTime>| time.as_ref().map(|t| iso_time(t, zone));
        let timing = item.timing.as_ref();
        let recurrence_id = timing.and_then(|t| t.recurrence_id.as_ref());
        let start = item.start.as_ref();
        Self {
            kind: kind_name(item.kind),
            title: item.summary.as_deref(),
            place: item.location.as_deref(),
            notes: item.description.as_deref(),
            start: time(&item.start),
            end: time(&item.end),
            due: time(&item.due),
            duration: item.duration.map(|d| d.to_string()),
            all_day: item.all_day,
            zone: start.and_then(CalendarTime::zone).map(TimeZone::name),
            rules: timing.map_or_else(Vec::new, |t| {
                t.rules.iter().map(ToString::to_string).collect()
            }),
            dates: timing.map_or_else(Vec::new, |t| {
                t.dates.iter().map(|d| iso_time(&d.start, zone)).collect()
            }),
            exception_dates: timing.map_or_else(Vec::new, |t| {
                t.exception_dates
                    .iter()
                    .map(|d| iso_time(d, zone))
                    .collect()
            }),
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
            completed: time(&item.completed),
            url: item.url.as_deref(),
            organizer: item.organizer.as_ref().map(PersonJson::from),
            attendees: item.attendees.iter().map(PersonJson::from).collect(),
            alarms: item
                .alarms
                .iter()
                .map(|a| AlarmJson::new(a, zone))
                .collect(),
        }
    }
}

impl<'a> EntryJson<'a> {
    pub fn new(
        stored: &'a StoredRecord<CalendarObject>,
        record: &'a CalendarObject,
        zone: &TimeZone,
    ) -> Self {
        let at = record.master_index();
        let others = record.components().enumerate().filter(|(i, _)| *i != at);
        Self {
            id: stored.id.0,
            uid: &stored.uid,
            etag: stored.etag.to_string(),
            main: ComponentJson::new(record.master(), zone),
            changes: others
                .map(|(_, item)| ComponentJson::new(item, zone))
                .collect(),
        }
    }
}

/// A calendar and its number of entries.
#[derive(Debug, Serialize)]
pub struct CalendarJson<'a> {
    pub name: &'a str,
    pub entries: u64,
}
