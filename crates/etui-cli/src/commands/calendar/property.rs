//! Properties of calendar entries on the command line.

use etui::calendar::{CalendarObject, Status};

use crate::commands::records::property::{PropertyWords, property_name};

/// Common words and their iCalendar properties.
pub const WORDS: PropertyWords = &[
    ("title", "SUMMARY"),
    ("place", "LOCATION"),
    ("notes", "DESCRIPTION"),
    ("note", "DESCRIPTION"),
    ("category", "CATEGORIES"),
    ("repeat", "RRULE"),
];

/// `PROP=VALUE`.
#[derive(Debug, Clone)]
pub struct EntryAssignment {
    pub name: String,
    pub value: String,
}

/// Parses the value of `--set`.
pub fn parse_assignment(text: &str) -> Result<EntryAssignment, String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("write it like url=https://example.org")?;
    let name = property_name::<CalendarObject>(name);
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
        _ => Ok(EntryAssignment {
            name,
            value: value.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::commands::records::property::parse_removal;

    #[test]
    fn words_and_values() {
        let assignment = parse_assignment("place=Room 4 = x").unwrap();
        assert_eq!(
            (assignment.name.as_str(), assignment.value.as_str()),
            ("LOCATION", "Room 4 = x")
        );
        assert_eq!(parse_assignment("x-seat=12").unwrap().name, "X-SEAT");
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
