//! `ReceiveObjects`: calendar objects by their iTIP method (RFC 5546).

use etui::calendar::ics::{ComponentGrouper, ObjectPiece, ObjectReader, TemplatePart};
use etui::calendar::zones::TimeZoneDefinition;
use etui::calendar::{CalendarObject, Method, ObjectError};

use super::errors::object_error;
use super::incoming::stamp_new;
use super::lines::property_values;
use super::opened::OpenedCalendar;
use super::time_zones::add_time_zone;
use super::writing::ChangeSet;
use crate::error::{EdsError, EdsResult, INVALID_OBJECT, OTHER};

/// A received calendar object.
#[derive(Debug, Default)]
struct ReceivedObject {
    /// `METHOD`, in capitals; `PUBLISH` if there is none.
    method: String,
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
        match received.method.as_str() {
            "PUBLISH" | "REQUEST" => save_received(&mut changes, object)?,
            "REPLY" => save_reply(&mut changes, object)?,
            "CANCEL" => cancel_received(&mut changes, &object)?,
            other => {
                let message = format!("the method {other} is not supported");
                return Err(EdsError::new(OTHER, message));
            }
        }
    }
    changes.commit()
}

fn save_received(changes: &mut ChangeSet<'_>, mut new: CalendarObject) -> EdsResult<()> {
    if new.components().len() == 1 {
        stamp_new(&mut new, &changes.zones)?;
    }
    let uid = new.uid().unwrap_or_default().to_owned();
    let timing = new.master().timing.as_ref();
    let is_instance = timing.is_some_and(|timing| timing.recurrence_id.is_some());
    // A series replaces the one that is there, with its changed instances.
    let object = match changes.get(&uid)?.cloned() {
        Some(mut known) if is_instance => {
            let replaced = known.replace_components(&new, &changes.zones);
            replaced.map_err(object_error)?;
            known
        }
        _ => new,
    };
    changes.put(&uid, object);
    Ok(())
}

/// Takes over the answers of attendees (RFC 5546 section 3.2.3). Without the entry, the answer is all that
/// there is of it, and is kept as an entry.
fn save_reply(changes: &mut ChangeSet<'_>, reply: CalendarObject) -> EdsResult<()> {
    let uid = reply.uid().unwrap_or_default().to_owned();
    let Some(mut known) = changes.get(&uid)?.cloned() else {
        return save_received(changes, reply);
    };
    known.receive(reply, Method::Reply, false);
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
            method: "PUBLISH".to_owned(),
            groups: vec![bytes.to_vec()],
            zones: Vec::new(),
        });
    }
    let invalid = |why: String| EdsError::new(INVALID_OBJECT, why);
    let mut received = ReceivedObject::default();
    let mut grouper = ComponentGrouper::new();
    let mut groups = Vec::new();
    for piece in ObjectReader::new(bytes) {
        match piece.map_err(|e| invalid(e.to_string()))? {
            ObjectPiece::Text(text) if text.part == TemplatePart::Begin => {
                received.method = property_values(&text.bytes, "METHOD").concat();
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
    received.method.make_ascii_uppercase();
    if received.method.is_empty() {
        received.method = "PUBLISH".to_owned();
    }
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
        assert_eq!(object.method, "REQUEST");
        assert_eq!((object.zones.len(), object.groups.len()), (1, 2));
        let bare = read_object("BEGIN:VEVENT\r\nUID:1\r\nEND:VEVENT\r\n").unwrap();
        assert_eq!((bare.method.as_str(), bare.groups.len()), ("PUBLISH", 1));
    }
}
