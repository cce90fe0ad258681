//! Properties of entries as they are written on the command line.

use std::convert::Infallible;

use etui::calendar::Status;

use crate::commands::records::property::{PropertyRemoval, Words, property_name};

/// Words that people know, and iCalendar's.
const WORDS: Words = &[
    ("title", "SUMMARY"),
    ("place", "LOCATION"),
    ("notes", "DESCRIPTION"),
    ("note", "DESCRIPTION"),
    ("category", "CATEGORIES"),
    ("repeat", "RRULE"),
];

/// `PROP=VALUE`.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The property's name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// What `--set` says.
pub fn assignment(text: &str) -> Result<Assignment, String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("write it like url=https://example.org")?;
    let name = property_name(name, WORDS);
    match name.as_str() {
        "DTSTART" | "DTEND" | "DUE" | "DURATION" => Err(format!(
            "{name} has options of its own: --start, --end, --duration, --due"
        )),
        "RECURRENCE-ID" => Err("which time of an entry is meant cannot be changed".to_owned()),
        "STATUS" if Status::named(value).is_none() => Err(format!(
            "\"{value}\" is no status; there are tentative, confirmed and cancelled for events, \
             needs-action, in-process, completed and cancelled for to-dos, draft and final for \
             journal entries"
        )),
        _ => Ok(Assignment {
            name,
            value: value.to_owned(),
        }),
    }
}

/// What `--remove` names.
pub fn removal(text: &str) -> Result<PropertyRemoval, Infallible> {
    Ok(PropertyRemoval::of(text, WORDS))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn words_and_values() {
        let said = assignment("place=Room 4 = x").unwrap();
        assert_eq!(
            (said.name.as_str(), said.value.as_str()),
            ("LOCATION", "Room 4 = x")
        );
        assert_eq!(assignment("x-seat=12").unwrap().name, "X-SEAT");
        assert!(assignment("place").is_err());
        assert!(assignment("dtstart=20260101").is_err());
        assert!(assignment("status=cancelled").is_ok() && assignment("status=maybe").is_err());
        assert_eq!(removal("notes").unwrap().name, "DESCRIPTION");
    }
}
