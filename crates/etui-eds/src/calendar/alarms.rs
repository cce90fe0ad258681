//! Alarms have UIDs, by which `DiscardAlarm` acknowledges one (RFC 9074 section 6).

use std::borrow::Cow;

use etui::calendar::CalendarObject;
use etui_contentline::edit::{fold_line, line_ending};
use etui_contentline::lines::{ContentLines, Delimiter};
use etui_contentline::values::property_value;

use super::errors::{not_found, object_error};
use super::incoming::now;
use super::opened::OpenedCalendar;
use super::writing::{ChangeSet, instance_id};
use crate::error::{EdsError, EdsResult, OBJECT_NOT_FOUND};

/// The properties by which clients name an alarm.
const ALARM_UIDS: [&str; 2] = ["X-EVOLUTION-ALARM-UID", "UID"];

/// Acknowledges an alarm of an object, or of a changed instance.
pub(super) fn discard_alarm(
    opened: &OpenedCalendar,
    uid: &str,
    instance: &str,
    alarm_uid: &str,
) -> EdsResult<()> {
    let mut changes = ChangeSet::new(opened)?;
    let mut object = changes.get(uid)?.ok_or_else(|| not_found(uid))?.clone();
    let overriding = match instance {
        "" => None,
        id => object.find_override(&instance_id(&object, id)?),
    };
    let at = overriding.unwrap_or_else(|| object.master_index());
    let component = object.component_texts().nth(at).unwrap_or_default();
    let Some(text) = acknowledge(&with_alarm_uids(component), alarm_uid) else {
        let message = format!("there is no alarm with UID \"{alarm_uid}\"");
        return Err(EdsError::new(OBJECT_NOT_FOUND, message));
    };
    let component = CalendarObject::parse(text, &changes.zones).map_err(object_error)?;
    let replaced = object.replace_components(&component, &changes.zones);
    replaced.map_err(object_error)?;
    changes.put(uid, object);
    changes.commit()
}

/// Returns a component in which each alarm has a UID; one that is stored without is named by its
/// number. The clients' library would otherwise give it a random one at each reading.
pub(super) fn with_alarm_uids(component: &[u8]) -> Cow<'_, [u8]> {
    if !contains_alarm(component) {
        return Cow::Borrowed(component);
    }
    let mut out = Vec::with_capacity(component.len() + 40);
    let (mut depth, mut number, mut is_named) = (0usize, 0, true);
    for line in ContentLines::new(component) {
        match line.delimiter() {
            Some((Delimiter::Begin, name)) => {
                depth += 1;
                if depth == 2 {
                    is_named = !name.eq_ignore_ascii_case(b"VALARM");
                }
            }
            Some((Delimiter::End, _)) => {
                if depth == 2 && !is_named {
                    number += 1;
                    let uid = format!("{}:alarm-{number}", ALARM_UIDS[0]);
                    out.extend_from_slice(&fold_line(&uid, line_ending(component)));
                }
                depth = depth.saturating_sub(1);
            }
            None => is_named |= depth == 2 && line.name_is(ALARM_UIDS[0]),
        }
        out.extend_from_slice(line.raw());
    }
    Cow::Owned(out)
}

fn contains_alarm(component: &[u8]) -> bool {
    let name = b"VALARM";
    let mut starts = component.windows(name.len());
    starts.any(|start| start.eq_ignore_ascii_case(name))
}

/// Returns a component with one alarm acknowledged now; `None` if it has no such alarm.
fn acknowledge(component: &[u8], alarm_uid: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(component.len() + 40);
    let mut depth = 0usize;
    let mut alarm_start = None;
    let mut is_meant = false;
    let mut found = false;
    for line in ContentLines::new(component) {
        match line.delimiter() {
            Some((Delimiter::Begin, name)) => {
                depth += 1;
                if depth == 2 && name.eq_ignore_ascii_case(b"VALARM") {
                    alarm_start = Some(out.len());
                    is_meant = false;
                }
            }
            Some((Delimiter::End, _)) => {
                if depth == 2 && alarm_start.take().is_some() && is_meant {
                    let stamp = format!("ACKNOWLEDGED:{}", now().value());
                    out.extend_from_slice(&fold_line(&stamp, line_ending(component)));
                    found = true;
                }
                depth = depth.saturating_sub(1);
            }
            None if depth == 2 && alarm_start.is_some() => {
                let is_uid = ALARM_UIDS.iter().any(|name| line.name_is(name));
                is_meant |= is_uid && property_value(&line) == alarm_uid;
                if line.name_is("ACKNOWLEDGED") && is_meant {
                    continue;
                }
            }
            None => {}
        }
        out.extend_from_slice(line.raw());
    }
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_without_a_uid_get_one() {
        let text = "BEGIN:VEVENT\r\nUID:1\r\nBEGIN:VALARM\r\nX-EVOLUTION-ALARM-UID:a\r\nEND:VALARM\r\n\
            BEGIN:VALARM\r\nACTION:AUDIO\r\nEND:VALARM\r\nEND:VEVENT\r\n";
        let named = with_alarm_uids(text.as_bytes());
        let expected = text.replace(
            "ACTION:AUDIO\r\n",
            "ACTION:AUDIO\r\nX-EVOLUTION-ALARM-UID:alarm-1\r\n",
        );
        assert_eq!(named, expected.as_bytes());
        assert_eq!(with_alarm_uids(&named), named, "once");
    }

    #[test]
    fn one_alarm_is_acknowledged() {
        let text = "BEGIN:VEVENT\r\nUID:1\r\nBEGIN:VALARM\r\nX-EVOLUTION-ALARM-UID:a\r\nEND:VALARM\r\n\
            BEGIN:VALARM\r\nUID:b\r\nACKNOWLEDGED:20200101T000000Z\r\nEND:VALARM\r\nEND:VEVENT\r\n";
        let found = acknowledge(text.as_bytes(), "b").unwrap_or_default();
        let found = String::from_utf8_lossy(&found).into_owned();
        assert_eq!(found.matches("ACKNOWLEDGED:").count(), 1);
        assert!(!found.contains("ACKNOWLEDGED:2020"), "{found}");
        assert!(acknowledge(text.as_bytes(), "1").is_none());
    }
}
