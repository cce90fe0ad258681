//! `GetObject`, `GetObjectList`, `GetAttachmentUris`: components as clients read them.

use etui::RecordId;
use etui::calendar::time::CalendarTime;
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{Calendar, CalendarObject};
use etui_contentline::charset::to_utf8;

use super::alarms::with_alarm_uids;
use super::errors::{not_found, store_error};
use super::lines::attachment_uris;
use super::opened::OpenedCalendar;
use super::query::{CalendarQuery, EvaluatedComponent};
use super::writing::{ChangeSet, instance_id};
use crate::error::{EdsError, EdsResult, OBJECT_NOT_FOUND};
use crate::server::text_array::TextArray;

/// Returns an object, or one instance of it.
///
/// Without an instance: the component if there is only one, else a `VCALENDAR` with all of them.
pub(super) fn get_object(opened: &OpenedCalendar, uid: &str, instance: &str) -> EdsResult<String> {
    if !instance.is_empty() {
        let mut changes = ChangeSet::new(opened)?;
        let object = changes.get(uid)?.ok_or_else(|| not_found(uid))?.clone();
        return Ok(read_instance(&object, instance, &changes.zones)?.1);
    }
    let found = opened.calendar()?.get(uid).map_err(store_error)?;
    let text = found.ok_or_else(|| not_found(uid))?.text;
    let components = CalendarObject::split_components(&text);
    let mut texts = components.iter().map(|text| client_text(text));
    match texts.len() {
        1 => Ok(texts.next().unwrap_or_default()),
        _ => Ok(format!(
            "BEGIN:VCALENDAR\r\nCALSCALE:GREGORIAN\r\nPRODID:-//etui//NONSGML etui//EN\r\n\
             VERSION:2.0\r\n{}END:VCALENDAR\r\n",
            texts.collect::<String>()
        )),
    }
}

/// Returns the component of an object, or of one of its instances, with its text.
fn read_instance(
    object: &CalendarObject,
    instance: &str,
    zones: &TimeZoneResolver,
) -> EdsResult<(CalendarObject, String)> {
    let id = instance_id(object, instance)?;
    let found = object.instance(&id, zones);
    let mut found = found.map_err(super::errors::object_error)?;
    // A component without rules and dates has no instances, and a series of days none at a time.
    let master = object.master();
    let is_of_days = |start: &CalendarTime| start.is_date() == id.is_date();
    let is_instance = master.recurs() && master.start.as_ref().is_some_and(is_of_days);
    if !is_instance && object.find_override(&id).is_none() {
        found = None;
    }
    let Some(found) = found else {
        let message = format!("there is no occurrence at \"{instance}\"");
        return Err(EdsError::new(OBJECT_NOT_FOUND, message));
    };
    let text = component_texts(&found).concat();
    Ok((found, text))
}

/// Returns the URIs of the attachments of an object, or of one of its instances.
pub(super) fn get_attachment_uris(
    opened: &OpenedCalendar,
    uid: &str,
    instance: &str,
) -> EdsResult<Vec<String>> {
    let mut changes = ChangeSet::new(opened)?;
    let object = changes.get(uid)?.ok_or_else(|| not_found(uid))?.clone();
    if !instance.is_empty() {
        let (found, _) = read_instance(&object, instance, &changes.zones)?;
        return Ok(attachment_uris(found.text()));
    }
    let master = object.component_texts().nth(object.master_index());
    Ok(attachment_uris(master.unwrap_or_default()))
}

/// Returns the texts of the components that match a query.
pub(super) fn list_objects(
    opened: &OpenedCalendar,
    query: &CalendarQuery,
) -> EdsResult<Vec<String>> {
    let mut texts = TextArray::default();
    let zones = opened.zones()?;
    let calendar = opened.calendar()?;
    for_each_candidate(&calendar, query, &zones, |_, object| {
        for component in matching_components(&object, query) {
            texts.push(component.text);
        }
    })?;
    texts.finish()
}

/// A component that matches a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MatchingComponent {
    /// The value of its `RECURRENCE-ID`; empty for others.
    pub(super) instance: String,
    /// Its text.
    pub(super) text: String,
}

/// Returns the components of an object that match a query.
pub(super) fn matching_components(
    object: &CalendarObject,
    query: &CalendarQuery,
) -> Vec<MatchingComponent> {
    std::iter::zip(object.components(), object.component_texts())
        .filter(|(component, text)| query.matches(&EvaluatedComponent::new(component, text)))
        .map(|(component, text)| {
            let timing = component.timing.as_ref();
            let id = timing.and_then(|t| t.recurrence_id.as_ref());
            MatchingComponent {
                instance: id.map_or_else(String::new, |id| id.id.value().to_string()),
                text: client_text(text),
            }
        })
        .collect()
}

/// Calls `visit` with each record that may match a query.
pub(super) fn for_each_candidate(
    calendar: &Calendar,
    query: &CalendarQuery,
    zones: &TimeZoneResolver,
    mut visit: impl FnMut(RecordId, CalendarObject),
) -> EdsResult<()> {
    let Some(ids) = query.candidates().ids(calendar)? else {
        // Records with time zones of their own wait: reading those is another statement.
        let mut waiting = Vec::new();
        let visited = calendar.for_each(|id, text| {
            if let Ok(object) = CalendarObject::parse(text, zones) {
                match object.unresolved_tzids().is_empty() {
                    true => visit(id, object),
                    false => waiting.push(id),
                }
            }
            Ok(())
        });
        visited.map_err(store_error)?;
        return visit_records(calendar, &waiting, zones, &mut visit);
    };
    visit_records(calendar, &ids, zones, &mut visit)
}

fn visit_records(
    calendar: &Calendar,
    ids: &[RecordId],
    zones: &TimeZoneResolver,
    visit: &mut dyn FnMut(RecordId, CalendarObject),
) -> EdsResult<()> {
    for &id in ids {
        let Some(record) = calendar.get(id).map_err(store_error)? else {
            continue;
        };
        if let Some(object) = parse_stored(calendar, id, record.text, zones)? {
            visit(id, object);
        }
    }
    Ok(())
}

/// Parses a stored record with the calendar's time zones, and its own if it names others. `None` if
/// another program stored text that is no record.
pub(super) fn parse_stored(
    calendar: &Calendar,
    id: RecordId,
    text: Vec<u8>,
    zones: &TimeZoneResolver,
) -> EdsResult<Option<CalendarObject>> {
    let Ok(object) = CalendarObject::parse(text, zones) else {
        return Ok(None);
    };
    if object.unresolved_tzids().is_empty() {
        return Ok(Some(object));
    }
    let own = calendar.zones(id).map_err(store_error)?;
    Ok(CalendarObject::parse(object.into_text(), &own).ok())
}

/// Returns the texts of an object's components, as clients get them.
pub(super) fn component_texts(object: &CalendarObject) -> Vec<String> {
    object.component_texts().map(client_text).collect()
}

/// Returns a component as clients get it: UTF-8, its alarms named, ended by a line break.
fn client_text(component: &[u8]) -> String {
    let mut text = to_utf8(&with_alarm_uids(component)).into_owned();
    if !text.ends_with('\n') {
        text.push_str("\r\n");
    }
    text
}
