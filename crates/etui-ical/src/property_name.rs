//! [`PropertyName`]: the properties that are interpreted.

use etui_contentline::lines::ContentLine;

/// Length of the longest name.
const MAX_NAME_LENGTH: usize = 27;

macro_rules! property_names {
    ($($name:ident = $text:literal,)*) => {
        /// A property, by its name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum PropertyName {
            $($name,)*
        }

        impl PropertyName {
            /// Returns the property with this name, which is in capitals.
            fn from_upper(name: &[u8]) -> Option<Self> {
                Some(match name {
                    $($text => Self::$name,)*
                    _ => return None,
                })
            }
        }
    };
}

property_names! {
    AudioAlarm = b"AALARM",
    Acknowledged = b"ACKNOWLEDGED",
    Action = b"ACTION",
    Attendee = b"ATTENDEE",
    Begin = b"BEGIN",
    Categories = b"CATEGORIES",
    Class = b"CLASS",
    Completed = b"COMPLETED",
    DisplayAlarm = b"DALARM",
    Description = b"DESCRIPTION",
    EndTime = b"DTEND",
    Start = b"DTSTART",
    Due = b"DUE",
    Duration = b"DURATION",
    End = b"END",
    ExceptDates = b"EXDATE",
    ExceptRule = b"EXRULE",
    LastModified = b"LAST-MODIFIED",
    Location = b"LOCATION",
    Organizer = b"ORGANIZER",
    PercentComplete = b"PERCENT-COMPLETE",
    Priority = b"PRIORITY",
    RecurrenceDates = b"RDATE",
    RecurrenceId = b"RECURRENCE-ID",
    Repeat = b"REPEAT",
    RecurrenceRule = b"RRULE",
    Sequence = b"SEQUENCE",
    Status = b"STATUS",
    Summary = b"SUMMARY",
    Transparency = b"TRANSP",
    Trigger = b"TRIGGER",
    Tzid = b"TZID",
    Uid = b"UID",
    Url = b"URL",
    MicrosoftAllDay = b"X-MICROSOFT-CDO-ALLDAYEVENT",
    MozillaLastAck = b"X-MOZ-LASTACK",
    MozillaSnooze = b"X-MOZ-SNOOZE-TIME",
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
