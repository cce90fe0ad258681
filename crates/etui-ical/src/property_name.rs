//! [`PropertyName`]: the properties that are interpreted.

use etui_contentline::lines::ContentLine;

/// Length of the longest name.
const MAX_NAME_LENGTH: usize = 27;

/// A property, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PropertyName {
    Acknowledged,
    Action,
    Attendee,
    Begin,
    Categories,
    Class,
    Completed,
    Description,
    Due,
    Duration,
    End,
    EndTime,
    ExceptDates,
    ExceptRule,
    LastModified,
    Location,
    MicrosoftAllDay,
    MozillaLastAck,
    Organizer,
    PercentComplete,
    Priority,
    RecurrenceDates,
    RecurrenceId,
    RecurrenceRule,
    Repeat,
    Sequence,
    Start,
    Status,
    Summary,
    Transparency,
    Trigger,
    Tzid,
    Uid,
    Url,
}

impl PropertyName {
    /// Returns the property of a line, in any case, folded or not.
    pub(crate) fn of_line(line: &ContentLine<'_>) -> Option<Self> {
        Self::from_upper(line.name).or_else(|| {
            let name = line.unfolded_name();
            if name.len() > MAX_NAME_LENGTH
                || !(name.len() < line.name.len() || name.iter().any(u8::is_ascii_lowercase))
            {
                return None;
            }
            let mut upper = [0; MAX_NAME_LENGTH];
            let upper = &mut upper[..name.len()];
            upper.copy_from_slice(&name);
            upper.make_ascii_uppercase();
            Self::from_upper(upper)
        })
    }

    /// Returns the property with this name, which is in capitals.
    fn from_upper(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"ACKNOWLEDGED" => Self::Acknowledged,
            b"ACTION" => Self::Action,
            b"ATTENDEE" => Self::Attendee,
            b"BEGIN" => Self::Begin,
            b"CATEGORIES" => Self::Categories,
            b"CLASS" => Self::Class,
            b"COMPLETED" => Self::Completed,
            b"DESCRIPTION" => Self::Description,
            b"DTEND" => Self::EndTime,
            b"DTSTART" => Self::Start,
            b"DUE" => Self::Due,
            b"DURATION" => Self::Duration,
            b"END" => Self::End,
            b"EXDATE" => Self::ExceptDates,
            b"EXRULE" => Self::ExceptRule,
            b"LAST-MODIFIED" => Self::LastModified,
            b"LOCATION" => Self::Location,
            b"ORGANIZER" => Self::Organizer,
            b"PERCENT-COMPLETE" => Self::PercentComplete,
            b"PRIORITY" => Self::Priority,
            b"RDATE" => Self::RecurrenceDates,
            b"RECURRENCE-ID" => Self::RecurrenceId,
            b"REPEAT" => Self::Repeat,
            b"RRULE" => Self::RecurrenceRule,
            b"SEQUENCE" => Self::Sequence,
            b"STATUS" => Self::Status,
            b"SUMMARY" => Self::Summary,
            b"TRANSP" => Self::Transparency,
            b"TRIGGER" => Self::Trigger,
            b"TZID" => Self::Tzid,
            b"UID" => Self::Uid,
            b"URL" => Self::Url,
            b"X-MICROSOFT-CDO-ALLDAYEVENT" => Self::MicrosoftAllDay,
            b"X-MOZ-LASTACK" => Self::MozillaLastAck,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use etui_contentline::lines::ContentLines;

    fn name(text: &str) -> Option<PropertyName> {
        PropertyName::of_line(&ContentLines::new(text.as_bytes()).next().unwrap())
    }

    #[test]
    fn names_are_read_in_any_case_and_folded() {
        let longest = "X-MICROSOFT-CDO-ALLDAYEVENT";
        assert_eq!(longest.len(), MAX_NAME_LENGTH);
        assert_eq!(
            name(&format!("{longest}:")),
            Some(PropertyName::MicrosoftAllDay)
        );
        assert_eq!(
            name("X-Microsoft-CDO-AllDayEvent:"),
            Some(PropertyName::MicrosoftAllDay)
        );
        for text in [
            "DTSTART:",
            "dtstart;X=1:",
            "a.DtStart:",
            "DT\r\n START:",
            "d\n\tT\r start;a:",
        ] {
            assert_eq!(name(text), Some(PropertyName::Start), "{text}");
        }
        for text in [
            "DTSTART :",
            "DTSTARTS:",
            "DTSTART",
            "DT-START:",
            ":",
            "X-MICROSOFT-CDO-ALLDAYEVENTS:",
        ] {
            assert_eq!(name(text), None, "{text}");
        }
    }
}
