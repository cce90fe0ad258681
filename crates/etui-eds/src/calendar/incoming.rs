//! Components from clients.
//!
//! A component is one `VEVENT`, `VTODO` or `VJOURNAL` without a `VCALENDAR` around it. Its bytes stay
//! as they came, but for a parameter that the stock client library adds to `RRULE`, a missing UID,
//! and the stamps that the server sets.

use std::time::SystemTime;

use etui::calendar::CalendarObject;
use etui::calendar::ics::ComponentKind;
use etui::calendar::time::{CalendarTime, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui_contentline::edit::{fold_line, head_without, line_ending};
use etui_contentline::lines::ContentLines;
use etui_contentline::values::{param_value, property_value};

use super::errors::object_error;
use super::lines::{has_property, new_uid};
use crate::error::{EdsError, EdsResult, INVALID_OBJECT};

/// The parameter with the computed end of a rule, which the stock server keeps in its database.
pub(super) const END_DATE: &str = "X-EVOLUTION-ENDDATE";

/// Parses one component of a kind.
pub(super) fn parse_component(
    text: &str,
    kind: ComponentKind,
    zones: &TimeZoneResolver,
) -> EdsResult<CalendarObject> {
    let text = without_end_dates(text.trim_start());
    let object = CalendarObject::parse(text, zones).map_err(object_error)?;
    let mut components = object.components();
    match (components.next(), components.next()) {
        (Some(one), None) if one.kind == kind => {}
        _ => {
            let message = format!("not one component of the kind {kind}");
            return Err(EdsError::new(INVALID_OBJECT, message));
        }
    }
    drop(components);
    Ok(object)
}

/// Adds a UID if the component has none, and the stamps of its creation that are missing.
pub(super) fn stamp_new(object: &mut CalendarObject, zones: &TimeZoneResolver) -> EdsResult<()> {
    if object.uid().is_none() {
        object
            .set(0, "UID", &new_uid(), zones)
            .map_err(object_error)?;
    }
    for name in ["DTSTAMP", "CREATED", "LAST-MODIFIED"] {
        if !has_property(object.text(), name) {
            object
                .set_time(0, name, &now(), zones)
                .map_err(object_error)?;
        }
    }
    Ok(())
}

/// Sets the stamp of a change.
pub(super) fn stamp_changed(
    object: &mut CalendarObject,
    zones: &TimeZoneResolver,
) -> EdsResult<()> {
    let at = object.master_index();
    object
        .set_time(at, "LAST-MODIFIED", &now(), zones)
        .map_err(object_error)
}

/// The present time in UTC.
pub(super) fn now() -> CalendarTime {
    CalendarTime::Utc(Timestamp::from(SystemTime::now()))
}

/// Returns a text without that parameter.
pub(super) fn without_end_dates(text: &str) -> Vec<u8> {
    let text = text.as_bytes();
    if !text
        .windows(END_DATE.len())
        .any(|part| part.eq_ignore_ascii_case(END_DATE.as_bytes()))
    {
        return text.to_vec();
    }
    let mut out = Vec::with_capacity(text.len());
    for line in ContentLines::new(text) {
        match line.name_is("RRULE") && param_value(&line, END_DATE).is_some() {
            true => {
                let head = head_without(&line, &[END_DATE]);
                let rule = format!("{head}:{}", property_value(&line));
                out.extend_from_slice(&fold_line(&rule, line_ending(text)));
            }
            false => out.extend_from_slice(line.raw()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_one_component_of_the_kind_is_taken() {
        let zones = TimeZoneResolver::new();
        let parse = |text: &str| parse_component(text, ComponentKind::Event, &zones);
        let event = "BEGIN:VEVENT\r\nSUMMARY:A\r\nEND:VEVENT\r\n";
        assert!(parse(event).is_ok());
        for text in [
            "",
            "BEGIN:VTODO\r\nSUMMARY:A\r\nEND:VTODO\r\n",
            "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:A\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
            &event.replace("SUMMARY", "UID").repeat(2),
        ] {
            assert_eq!(
                parse(text).unwrap_err().name(),
                EdsError::new(INVALID_OBJECT, "").name(),
                "{text}"
            );
        }
    }

    #[test]
    fn stamps_and_computed_ends() {
        let zones = TimeZoneResolver::new();
        let text = "BEGIN:VEVENT\r\nCREATED:20200101T000000Z\r\n\
            RRULE;X-EVOLUTION-ENDDATE=20261210T080000Z:FREQ=DAILY;COUNT=2\r\n\
            DTSTART:20261201T080000Z\r\nEND:VEVENT\r\n";
        let mut object = parse_component(text, ComponentKind::Event, &zones).unwrap();
        stamp_new(&mut object, &zones).unwrap();
        let text = String::from_utf8(object.text().to_vec()).unwrap();
        assert!(text.contains("\r\nRRULE:FREQ=DAILY;COUNT=2\r\n"), "{text}");
        assert_eq!(text.matches("CREATED:").count(), 1);
        assert!(text.contains("LAST-MODIFIED:") && object.uid().is_some());
    }
}
