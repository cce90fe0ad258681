//! Properties of calendar entries on the command line.

use etui::calendar::time::{CalendarTime, DateTimeValue, TimeZone};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{CalendarObject, Status};
use etui_program::Failure;

use super::show::in_form_of;
use crate::commands::records::property::{PropertyWords, known_property_name, parse_email};
use etui_when::{LocalNow, parse_when};

/// Common words and their iCalendar properties.
pub const WORDS: PropertyWords = &[
    ("title", "SUMMARY"),
    ("place", "LOCATION"),
    ("notes", "DESCRIPTION"),
    ("note", "DESCRIPTION"),
    ("label", "CATEGORIES"),
    ("category", "CATEGORIES"),
    ("repeat", "RRULE"),
];

/// The properties of events, to-dos and journal entries (RFC 5545, 7986, 9073, 9074, 9253).
pub const KNOWN: &[&str] = &[
    "ACKNOWLEDGED",
    "ATTACH",
    "ATTENDEE",
    "CATEGORIES",
    "CLASS",
    "COLOR",
    "COMMENT",
    "COMPLETED",
    "CONCEPT",
    "CONFERENCE",
    "CONTACT",
    "CREATED",
    "DESCRIPTION",
    "DTEND",
    "DTSTAMP",
    "DTSTART",
    "DUE",
    "DURATION",
    "EXDATE",
    "EXRULE",
    "GEO",
    "IMAGE",
    "LAST-MODIFIED",
    "LINK",
    "LOCATION",
    "NAME",
    "ORGANIZER",
    "PERCENT-COMPLETE",
    "PRIORITY",
    "RDATE",
    "RECURRENCE-ID",
    "REFID",
    "RELATED-TO",
    "REQUEST-STATUS",
    "RESOURCES",
    "RRULE",
    "SEQUENCE",
    "SOURCE",
    "STATUS",
    "STRUCTURED-DATA",
    "STYLED-DESCRIPTION",
    "SUMMARY",
    "TRANSP",
    "UID",
    "URL",
];

/// `PROP=VALUE`.
#[derive(Debug, Clone)]
pub struct EntryAssignment {
    pub name: String,
    pub value: String,
}

impl EntryAssignment {
    /// Sets the property of the component at index `at`. EXDATE and RDATE are written in the form of the
    /// start (a date, local time with TZID, or UTC), as RFC 5545 section 3.8.5.1 requires.
    pub fn apply(
        &self,
        record: &mut CalendarObject,
        at: usize,
        zones: &TimeZoneResolver,
    ) -> Result<(), Failure> {
        let start = record.components().nth(at).and_then(|c| c.start.clone());
        let (Some(start), "EXDATE" | "RDATE") = (start, self.name.as_str()) else {
            return Ok(record.set(at, &self.name, &self.value, zones)?);
        };
        let times = self
            .value
            .split(',')
            .map(|text| self.time_in_form_of(&start, text));
        let times = times.collect::<Result<Vec<_>, Failure>>()?;
        let Some(first) = times.first() else {
            return Ok(());
        };
        record.set_time(at, &self.name, first, zones)?;
        let values = times.iter().map(|time| time.value().to_string());
        let values: Vec<String> = values.collect();
        Ok(record.set(at, &self.name, &values.join(","), zones)?)
    }

    /// Parses a date or time, and converts it to the form and zone of the start. A day is the time of the
    /// start on that day.
    fn time_in_form_of(&self, start: &CalendarTime, text: &str) -> Result<CalendarTime, Failure> {
        let zone = start.zone().cloned().unwrap_or_else(TimeZone::system);
        let here = LocalNow::in_zone(zone.clone());
        let value = parse_when(text, here.now)
            .map_err(|e| Failure::usage(format!("--set {}={text}: {e}", self.name)))?;
        let of_day = start.local().seconds() - start.local().date().midnight().seconds();
        let local = match value {
            DateTimeValue::Date(day) => day.midnight().plus_seconds(of_day),
            DateTimeValue::Local(time) => time,
            DateTimeValue::Utc(time) => zone.to_local(TimeZone::UTC.to_utc(time)),
        };
        Ok(in_form_of(start, local))
    }
}

/// Parses the value of `--set`.
pub fn parse_assignment(text: &str) -> Result<EntryAssignment, String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("write it like url=https://example.org")?;
    let name = known_property_name::<CalendarObject>(name, [])?;
    match name.as_str() {
        "DTSTART" | "DTEND" | "DUE" | "DURATION" => Err(format!(
            "{name} cannot be set; use --start, --end, --duration or --due"
        )),
        "RECURRENCE-ID" => Err("RECURRENCE-ID cannot be changed".to_owned()),
        "STATUS" if Status::named(value).is_none() => Err(format!(
            "\"{value}\" is not a status; use tentative, confirmed or cancelled for events, \
             needs-action, in-process, completed or cancelled for to-dos, draft or final for \
             journal entries"
        )),
        "SUMMARY" => Ok(EntryAssignment {
            value: parse_title(value)?,
            name,
        }),
        "ATTENDEE" | "ORGANIZER" => Ok(EntryAssignment {
            value: parse_user(value)?,
            name,
        }),
        _ => Ok(EntryAssignment {
            name,
            value: value.to_owned(),
        }),
    }
}

/// Checks that a title is not blank.
pub fn parse_title(text: &str) -> Result<String, String> {
    match text.trim().is_empty() {
        true => Err("a title must not be empty; to remove it: edit --remove title".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// Returns the calendar address of a person: an e-mail address as a `mailto:` URI; another URI is
/// unchanged.
fn parse_user(text: &str) -> Result<String, String> {
    let text = text.trim();
    match text.split_once(':') {
        Some((scheme, address)) if scheme.eq_ignore_ascii_case("mailto") => {
            Ok(format!("mailto:{}", parse_email(address)?))
        }
        Some((scheme, rest)) if is_scheme(scheme) && !rest.is_empty() => Ok(text.to_owned()),
        _ => Ok(format!("mailto:{}", parse_email(text)?)),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::commands::records::property::parse_removal;

    #[test]
    fn attendees_and_titles_are_checked() {
        for (text, value) in [
            ("attendee=bob@example.org", "mailto:bob@example.org"),
            ("attendee=MAILTO:bob@example.org", "mailto:bob@example.org"),
            ("organizer=tel:+1-202-555-0143", "tel:+1-202-555-0143"),
            ("title=Lunch", "Lunch"),
        ] {
            assert_eq!(parse_assignment(text).unwrap().value, value);
        }
        for text in [
            "attendee=Bob",
            "attendee=mailto:bob",
            "organizer=",
            "title= ",
        ] {
            assert!(parse_assignment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn words_and_values() {
        let assignment = parse_assignment("place=Room 4 = x").unwrap();
        assert_eq!(
            (assignment.name.as_str(), assignment.value.as_str()),
            ("LOCATION", "Room 4 = x")
        );
        assert_eq!(parse_assignment("x-seat=12").unwrap().name, "X-SEAT");
        let problem = parse_assignment("titel=x").unwrap_err();
        assert!(problem.contains("did you mean title?"), "{problem}");
        assert!(parse_assignment("place").is_err());
        assert!(parse_assignment("dtstart=20260101").is_err());
        assert!(
            parse_assignment("status=cancelled").is_ok()
                && parse_assignment("status=maybe").is_err()
        );
        assert_eq!(
            parse_removal::<CalendarObject>("notes").unwrap().name,
            "DESCRIPTION"
        );
    }
}
