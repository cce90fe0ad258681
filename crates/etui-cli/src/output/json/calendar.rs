//! The objects of calendars.

use etui::calendar::ics::ComponentKind;
use etui::calendar::time::{CalendarTime, TimeZone};
use etui::calendar::{
    Alarm, AlarmAction, AlarmTrigger, Busy, CalendarComponent, CalendarObject, CalendarUser,
    Classification, DueAlarm, Occurrence, Status, Summary,
};
use etui::record::StoredRecord;
use serde::Serialize;

use crate::datetime::{iso, iso_instant};

/// What a component is, in a word.
pub fn kind(kind: ComponentKind) -> &'static str {
    match kind {
        ComponentKind::Event => "event",
        ComponentKind::Todo => "todo",
        ComponentKind::Journal => "journal",
    }
}

/// How far something has come, in a word.
pub fn status(status: Status) -> &'static str {
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

/// What a list shows of an entry.
#[derive(Debug, Serialize)]
pub struct CalendarSummaryObject<'a> {
    /// `event`, `todo` or `journal`.
    kind: &'static str,
    /// The title.
    title: &'a str,
    /// Where.
    place: &'a str,
    /// When it starts, or starts first.
    start: Option<String>,
    /// When that ends.
    end: Option<String>,
    /// Whether it is days, without times.
    all_day: bool,
    /// How far it has come.
    status: Option<&'static str>,
}

impl<'a> CalendarSummaryObject<'a> {
    /// The object for what a list shows, its times seen from `viewer`.
    pub fn of(summary: &'a Summary, viewer: &TimeZone) -> Self {
        let time = |time: &Option<CalendarTime>| time.as_ref().map(|t| iso(t, viewer));
        Self {
            kind: kind(summary.kind),
            title: &summary.title,
            place: &summary.place,
            start: time(&summary.start),
            end: time(&summary.end),
            all_day: summary.start.as_ref().is_some_and(CalendarTime::is_date),
            status: summary.status.map(status),
        }
    }
}

/// A line of `calendar agenda`.
#[derive(Debug, Serialize)]
pub struct OccurrenceObject<'a> {
    /// The calendar's name.
    calendar: &'a str,
    /// Number of the entry in the store.
    id: i64,
    /// `event`, `todo` or `journal`.
    kind: &'static str,
    /// The title.
    title: &'a str,
    /// Where.
    place: &'a str,
    /// When it starts.
    start: String,
    /// When it ends; of days the one behind the last.
    end: String,
    /// Whether it is days, without times.
    all_day: bool,
    /// The zone its start is written in; `null` for days and floating times.
    zone: Option<&'a str>,
    /// Its place in the recurrence; `null`: it happens once.
    instance: Option<String>,
    /// How far it has come.
    status: Option<&'static str>,
    /// Whether it takes up no time.
    transparent: bool,
}

impl<'a> OccurrenceObject<'a> {
    /// The object for an occurrence, its times seen from `viewer`.
    pub fn of(calendar: &'a str, occurrence: &'a Occurrence, viewer: &TimeZone) -> Self {
        Self {
            calendar,
            id: occurrence.record.0,
            kind: kind(occurrence.kind),
            title: &occurrence.title,
            place: &occurrence.place,
            start: iso(&occurrence.start, viewer),
            end: iso(&occurrence.end, viewer),
            all_day: occurrence.start.is_date(),
            zone: occurrence.start.zone().map(TimeZone::name),
            instance: occurrence.instance.as_ref().map(|i| iso(i, viewer)),
            status: occurrence.status.map(status),
            transparent: occurrence.transparent,
        }
    }
}

/// A line of `calendar freebusy`.
#[derive(Debug, Serialize)]
pub struct BusyObject {
    /// From when.
    start: String,
    /// Until when.
    end: String,
    /// Only by what is not settled.
    tentative: bool,
}

impl BusyObject {
    /// The object for a time that is taken.
    pub fn of(busy: &Busy, viewer: &TimeZone) -> Self {
        Self {
            start: iso_instant(busy.during.start, viewer),
            end: iso_instant(busy.during.end, viewer),
            tentative: busy.tentative,
        }
    }
}

/// A line of `calendar alarms`.
#[derive(Debug, Serialize)]
pub struct DueAlarmObject<'a> {
    /// The calendar's name.
    calendar: &'a str,
    /// Number of the entry in the store.
    id: i64,
    /// When it is due.
    at: String,
    /// When what it is for starts.
    start: Option<String>,
    /// The title.
    title: &'a str,
    /// `display`, `audio`, `email` or `other`.
    action: &'static str,
}

impl<'a> DueAlarmObject<'a> {
    /// The object for an alarm, its times seen from `viewer`.
    pub fn of(calendar: &'a str, alarm: &'a DueAlarm, viewer: &TimeZone) -> Self {
        Self {
            calendar,
            id: alarm.record.0,
            at: iso_instant(alarm.at, viewer),
            start: alarm.start.as_ref().map(|start| iso(start, viewer)),
            title: &alarm.title,
            action: action(alarm.action),
        }
    }
}

fn action(action: AlarmAction) -> &'static str {
    match action {
        AlarmAction::Display => "display",
        AlarmAction::Audio => "audio",
        AlarmAction::Email => "email",
        AlarmAction::Other => "other",
    }
}

/// A line of `calendar show`, and of `export --calendar --json`.
#[derive(Debug, Serialize)]
pub struct RecordObject<'a> {
    /// Number in the store.
    id: i64,
    /// UID, or the identity that stands for one.
    uid: &'a str,
    /// Version of the content, 32 hexadecimal digits.
    etag: String,
    /// The component that stands for it, the other fields of it.
    #[serde(flatten)]
    main: ComponentObject<'a>,
    /// Components that change instances of it, or are further instances.
    changes: Vec<ComponentObject<'a>>,
}

/// What one component says.
#[derive(Debug, Serialize)]
struct ComponentObject<'a> {
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
    /// The instance it stands for.
    instance: Option<String>,
    /// Whether those behind it are changed likewise.
    this_and_future: bool,
    status: Option<&'static str>,
    class: &'static str,
    transparent: bool,
    categories: &'a [String],
    priority: Option<u8>,
    percent: Option<u8>,
    completed: Option<String>,
    url: Option<&'a str>,
    organizer: Option<PersonObject<'a>>,
    attendees: Vec<PersonObject<'a>>,
    alarms: Vec<AlarmObject<'a>>,
}

#[derive(Debug, Serialize)]
struct PersonObject<'a> {
    address: &'a str,
    name: Option<&'a str>,
    role: Option<&'a str>,
    answer: Option<&'a str>,
}

impl<'a> From<&'a CalendarUser> for PersonObject<'a> {
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
struct AlarmObject<'a> {
    action: &'static str,
    /// `start`, `end` or `at`.
    of: &'static str,
    /// So long after that (RFC 5545 §3.3.6), or the instant.
    when: String,
    text: Option<&'a str>,
}

impl<'a> AlarmObject<'a> {
    fn of(alarm: &'a Alarm, viewer: &TimeZone) -> Self {
        let (of, when) = match alarm.trigger {
            AlarmTrigger::Start(after) => ("start", after.to_string()),
            AlarmTrigger::End(after) => ("end", after.to_string()),
            AlarmTrigger::At(at) => ("at", iso_instant(at, viewer)),
        };
        Self {
            action: action(alarm.action),
            of,
            when,
            text: alarm.description.as_deref(),
        }
    }
}

impl<'a> ComponentObject<'a> {
    fn of(item: &'a CalendarComponent, viewer: &TimeZone) -> Self {
        let time = |time: &Option<CalendarTime>| time.as_ref().map(|t| iso(t, viewer));
        let timing = item.timing.as_ref();
        let replaces = timing.and_then(|t| t.replaces.as_ref());
        let start = item.start.as_ref();
        Self {
            kind: kind(item.kind),
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
                t.dates.iter().map(|d| iso(&d.start, viewer)).collect()
            }),
            exception_dates: timing.map_or_else(Vec::new, |t| {
                t.exception_dates.iter().map(|d| iso(d, viewer)).collect()
            }),
            instance: replaces.map(|r| iso(&r.id, viewer)),
            this_and_future: replaces.is_some_and(|r| r.this_and_future),
            status: item.status.map(status),
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
            organizer: item.organizer.as_ref().map(PersonObject::from),
            attendees: item.attendees.iter().map(PersonObject::from).collect(),
            alarms: item
                .alarms
                .iter()
                .map(|a| AlarmObject::of(a, viewer))
                .collect(),
        }
    }
}

impl<'a> RecordObject<'a> {
    /// The object for a record, its times seen from `viewer`.
    pub fn of(
        stored: &'a StoredRecord<CalendarObject>,
        record: &'a CalendarObject,
        viewer: &TimeZone,
    ) -> Self {
        let at = record.master_index();
        let others = record.components().enumerate().filter(|(i, _)| *i != at);
        Self {
            id: stored.id.0,
            uid: &stored.uid,
            etag: stored.etag.to_string(),
            main: ComponentObject::of(record.master(), viewer),
            changes: others
                .map(|(_, item)| ComponentObject::of(item, viewer))
                .collect(),
        }
    }
}

/// A calendar with its number of entries.
#[derive(Debug, Serialize)]
pub struct CalendarListing<'a> {
    /// Its name.
    pub name: &'a str,
    /// Entries in it.
    pub entries: u64,
}
