//! `ReceiveObjects`: calendar objects by their iTIP method (RFC 5546).

use etui::calendar::ics::{ComponentGrouper, ObjectPiece, ObjectReader, TemplatePart};
use etui::calendar::zones::TimeZoneDefinition;
use etui::calendar::{CalendarObject, MergeOutcome, Method, ObjectError};

use super::errors::object_error;
use super::incoming::stamp_new;
use super::opened::OpenedCalendar;
use super::time_zones::add_time_zone;
use super::writing::ChangeSet;
use crate::error::{EdsError, EdsResult, INVALID_OBJECT, OBJECT_NOT_FOUND, OTHER};

/// A received calendar object.
#[derive(Debug, Default)]
struct ReceivedObject {
    method: Method,
    zones: Vec<String>,
    /// The components of each UID.
    groups: Vec<Vec<u8>>,
}

/// Saves or removes the components of a `VCALENDAR`, or a bare component.
pub(super) fn receive_objects(opened: &OpenedCalendar, text: &str) -> EdsResult<()> {
    let received = read_object(text)?;
    for zone in &received.zones {
        add_time_zone(opened, zone)?;
    }
    let mut changes = ChangeSet::new(opened)?;
    for zone in &received.zones {
        // A zone that the calendar has under this name stays.
        changes
            .zones
            .define(&TimeZoneDefinition::parse(zone.as_bytes()));
    }
    for group in received.groups {
        let object = CalendarObject::parse(group, &changes.zones).map_err(object_error)?;
        // An object may have components of several kinds; the calendar takes those of its own.
        if object
            .components()
            .any(|c| c.kind != opened.component_kind())
        {
            continue;
        }
        match received.method {
            Method::Cancel => cancel_received(&mut changes, &object)?,
            Method::Proposal => {
                let message = "the methods COUNTER, REFRESH and DECLINECOUNTER change no entry: \
                               their organizer answers them";
                return Err(EdsError::new(OTHER, message.to_owned()));
            }
            method => merge_received(&mut changes, object, method)?,
        }
    }
    changes.commit()
}

/// Merges a message into the object with its UID, as an import does.
fn merge_received(
    changes: &mut ChangeSet<'_>,
    mut message: CalendarObject,
    method: Method,
) -> EdsResult<()> {
    message.apply_method(method);
    let uid = message.uid().map(str::to_owned);
    let known = match &uid {
        Some(uid) => changes.get(uid)?.cloned(),
        None => None,
    };
    let Some(mut known) = known else {
        if method.needs_stored() {
            let why = format!(
                "an answer to \"{}\", which is not here",
                uid.unwrap_or_default()
            );
            return Err(EdsError::new(OBJECT_NOT_FOUND, why));
        }
        // A stamp of this moment would make what its sender sends next older: only components
        // without a UID, which are nobody's, get one.
        if uid.is_none() {
            stamp_new(&mut message, &changes.zones)?;
        }
        let uid = message.uid().unwrap_or_default().to_owned();
        changes.put(&uid, message);
        return Ok(());
    };
    let uid = known.uid().unwrap_or_default().to_owned();
    let merged = known.receive(message, method, false);
    if merged.outcomes.contains(&MergeOutcome::Refused) {
        let why = format!("the object \"{uid}\" has a time zone of the same name with other rules");
        return Err(EdsError::new(INVALID_OBJECT, why));
    }
    changes.put(&uid, known);
    Ok(())
}

fn cancel_received(changes: &mut ChangeSet<'_>, cancelled: &CalendarObject) -> EdsResult<()> {
    let uid = cancelled.uid().unwrap_or_default().to_owned();
    let Some(mut known) = changes.get(&uid)?.cloned() else {
        return Ok(());
    };
    for component in cancelled.components() {
        let timing = component.timing.as_ref();
        let Some(id) = timing.and_then(|t| t.recurrence_id.as_ref()) else {
            changes.remove(&uid);
            return Ok(());
        };
        match known.exclude_instance(&id.id, &changes.zones) {
            Ok(()) | Err(ObjectError::NoInstance(_)) => {}
            Err(ObjectError::Empty) => {
                changes.remove(&uid);
                return Ok(());
            }
            Err(error) => return Err(object_error(error)),
        }
    }
    changes.put(&uid, known);
    Ok(())
}

fn read_object(text: &str) -> EdsResult<ReceivedObject> {
    let bytes = text.trim_start().as_bytes();
    let is_object = bytes
        .get(..15)
        .is_some_and(|start| start.eq_ignore_ascii_case(b"BEGIN:VCALENDAR"));
    if !is_object {
        return Ok(ReceivedObject {
            groups: vec![bytes.to_vec()],
            ..ReceivedObject::default()
        });
    }
    let invalid = |why: String| EdsError::new(INVALID_OBJECT, why);
    let mut received = ReceivedObject::default();
    let mut grouper = ComponentGrouper::new();
    let mut groups = Vec::new();
    for piece in ObjectReader::new(bytes) {
        match piece.map_err(|e| invalid(e.to_string()))? {
            ObjectPiece::Text(text) if text.part == TemplatePart::Begin => {
                received.method = Method::of_object(&text.bytes);
            }
            ObjectPiece::Text(_) => {}
            ObjectPiece::Zone(zone) => received
                .zones
                .push(String::from_utf8_lossy(&zone.bytes).into_owned()),
            ObjectPiece::Component(component) => groups.extend(grouper.push(component).0),
            ObjectPiece::Refused(refused) => return Err(invalid(format!("{refused:?}"))),
        }
    }
    groups.extend(grouper.finish());
    received.groups = groups.iter().map(|group| group.text()).collect();
    Ok(received)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_object_has_a_method_and_zones() {
        let object = read_object(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nMETHOD:Request\r\nBEGIN:VTIMEZONE\r\nTZID:A\r\n\
             END:VTIMEZONE\r\nBEGIN:VEVENT\r\nUID:1\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:2\r\n\
             END:VEVENT\r\nEND:VCALENDAR\r\n",
        )
        .unwrap();
        assert_eq!(object.method, Method::Request);
        assert_eq!((object.zones.len(), object.groups.len()), (1, 2));
        let bare = read_object("BEGIN:VEVENT\r\nUID:1\r\nEND:VEVENT\r\n").unwrap();
        assert_eq!((bare.method, bare.groups.len()), (Method::Publish, 1));
    }
}
