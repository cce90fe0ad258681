//! What the store keeps of a calendar record beside its text: search keys, list key, summary, and
//! entries in the time index.
//!
//! The list alone has records with one occurrence of at most a day in named time zones. All others
//! have an entry in `series`, and all records with alarms have one in `alarm`.

use std::collections::HashSet;

use super::alarms::alarm_span;
use super::ics::ComponentKind;
use super::recurrence::{Instance, RecurrenceSet, Timing};
use super::summary::Summary;
use super::time::{CalendarTime, Date, TimeZone, Timestamp};
use super::time_codec::{self, MAX_UTC_OFFSET};
use super::zones::TimeZoneDefinition;
use super::{CalendarComponent, CalendarObject, Status};
use crate::db::IndexContext;
use crate::record::IndexedColumns;
use crate::record::keys::{Key, KeyWriter};
use crate::record::time_index::{MAX_LISTED, TimeEntries, TimeSpan, TimeVersion};

/// Returns the columns that are stored beside the text of `record`.
pub(super) fn index_columns(record: &CalendarObject, _: &IndexContext<'_>) -> IndexedColumns {
    let (summary, times) = summary_and_times(record);
    let mut keys = KeyWriter::default();
    search_keys(record, &mut keys);
    IndexedColumns {
        keys: keys.into_keys(),
        sort_key: time_codec::list_key(summary.start.as_ref()),
        summary: summary.to_bytes(),
        times,
    }
}

/// Returns a record's summary and its entries in the time index.
pub(super) fn summary_and_times(record: &CalendarObject) -> (Summary, TimeEntries) {
    let main = record.master();
    let first = main.timing.as_ref().and_then(first_instance);
    let is_simple = record.components().len() == 1 && main.timing.as_ref().is_none_or(is_once);
    let once = first.as_ref().filter(|_| is_simple).filter(|i| is_short(i));
    let has_time = main.timing.is_some() || record.components().len() > 1;
    let summary = Summary {
        kind: main.kind,
        title: main.summary.clone().unwrap_or_default(),
        location: main.location.clone().unwrap_or_default(),
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
    let single = first.as_ref().filter(|_| is_simple);
    let mut entries = TimeEntries {
        occurrences: summary.in_series.then(|| occurrence_span(record, single)),
        alarms: alarm_span(record, single),
        ..TimeEntries::default()
    };
    // Without spans nothing is cached under the version.
    if entries != TimeEntries::default() {
        entries.version = version_of(record);
    }
    (summary, entries)
}

fn search_keys(record: &CalendarObject, keys: &mut KeyWriter) {
    let mut said: HashSet<(u8, String)> = HashSet::new();
    for item in record.components() {
        let mut say = |key, text: &str| {
            if said.insert((key as u8, text.to_owned())) {
                keys.push_words(key, text);
            }
        };
        say(Key::Title, item.summary.as_deref().unwrap_or_default());
        say(Key::Place, item.location.as_deref().unwrap_or_default());
        let description = item.description.as_deref().unwrap_or_default();
        say(Key::Description, description);
        item.categories.iter().for_each(|c| say(Key::Category, c));
        say(Key::Component, name_of(item.kind));
        say(Key::Status, item.status.map_or("", Status::name));
    }
    let due = record.components().filter_map(CalendarComponent::due_time);
    let mut days: Vec<u32> = due.map(|due| day_number(due.local().date())).collect();
    days.sort_unstable();
    days.dedup();
    days.into_iter()
        .for_each(|day| keys.push_number(Key::Due, day));
}

/// Returns a date as the number YYYYMMDD.
fn day_number(date: Date) -> u32 {
    let (year, month, day) = date.ymd();
    year.unsigned_abs() * 10_000 + month * 100 + day
}

/// Returns the name of a kind of component, in filters and messages.
pub(super) fn name_of(kind: ComponentKind) -> &'static str {
    match kind {
        ComponentKind::Event => "event",
        ComponentKind::Todo => "todo",
        ComponentKind::Journal => "journal",
    }
}

/// Returns true if it neither recurs nor overrides an instance.
fn is_once(timing: &Timing) -> bool {
    timing.rules.is_empty()
        && timing.dates.is_empty()
        && timing.exception_rules.is_empty()
        && timing.exception_dates.is_empty()
        && timing.recurrence_id.is_none()
}

/// Returns true if the list is enough to find an instance.
fn is_short(instance: &Instance) -> bool {
    let has_name = |time: &CalendarTime| time.zone().is_none_or(TimeZone::is_named);
    instance.during.end.seconds() - instance.during.start.seconds() <= MAX_LISTED
        && has_name(&instance.start)
        && has_name(&instance.end)
}

/// Returns the instance of a component without its recurrence.
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

/// Returns the span of a record's occurrences; `single` is its instance if it has only one.
fn occurrence_span(record: &CalendarObject, single: Option<&Instance>) -> TimeSpan {
    let (first, last) = match single {
        // As seen from any time zone.
        Some(Instance { during, .. }) => (
            during.start.plus_seconds(-MAX_UTC_OFFSET),
            during.end.plus_seconds(MAX_UTC_OFFSET),
        ),
        None => {
            let bounds = record.recurrence_set().bounds();
            (bounds.start, bounds.end)
        }
    };
    TimeSpan {
        first: first.seconds(),
        last: (last < Timestamp::MAX).then_some(last.seconds()),
    }
}

/// Returns a hash of a record's text and of the zones in it that only its file defines.
fn version_of(record: &CalendarObject) -> TimeVersion {
    let starts = record.components().filter_map(|i| i.start.as_ref());
    let since = starts.map(|t| t.local().date()).min();
    // A year earlier, so that the observance in force at the first start is hashed too.
    let since = since.unwrap_or(Date::MAX).plus_days(-366);
    let mut hasher = blake3::Hasher::new();
    hasher.update(record.text());
    for (tzid, zone) in record.components().flat_map(|item| &item.defined_zones) {
        hasher.update(tzid.as_bytes());
        hasher.update(&TimeZoneDefinition::of(zone, since).to_text());
    }
    let mut version = TimeVersion::default();
    hasher.finalize_xof().fill(&mut version);
    version
}
