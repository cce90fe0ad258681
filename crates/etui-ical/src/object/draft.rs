//! [`Draft`]: creates a calendar object.

use std::time::SystemTime;

use super::edit::{escape_value, format_time};
use super::{CalendarObject, ObjectError};
use crate::ics::ComponentKind;
use crate::recurrence::RecurrenceRule;
use crate::time::{CalendarTime, Duration, Timestamp};
use crate::zones::TimeZoneResolver;
use etui_contentline::edit::fold_line;

/// A new calendar object of one component.
///
/// ```
/// use etui_ical::time::{Date, Duration, CalendarTime, TimeZone};
/// use etui_ical::{Draft, zones::TimeZoneResolver};
///
/// let berlin = TimeZone::named("Europe/Berlin").expect("an IANA name");
/// let monday = Date::new(2026, 11, 23).and_then(|d| d.at(9, 0, 0)).expect("a time");
/// let record = Draft::event("Jour fixe")
///     .start(CalendarTime::Zoned(monday, berlin))
///     .duration("PT45M".parse()?)
///     .rule("FREQ=WEEKLY;BYDAY=MO".parse()?)
///     .location("Room 4")
///     .alarm("-PT10M".parse()?)
///     .make(&TimeZoneResolver::new())?;
/// assert_eq!(record.master().summary.as_deref(), Some("Jour fixe"));
/// assert!(record.master().recurs());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
#[derive(Debug, Clone, Default)]
pub struct Draft {
    kind: ComponentKind,
    uid: Option<String>,
    start: Option<CalendarTime>,
    end: Option<CalendarTime>,
    duration: Option<Duration>,
    rule: Option<RecurrenceRule>,
    texts: Vec<(&'static str, String)>,
    categories: Vec<String>,
    alarms: Vec<Duration>,
}

impl Draft {
    fn new(kind: ComponentKind, summary: &str) -> Self {
        Self {
            kind,
            texts: vec![("SUMMARY", summary.to_owned())],
            ..Self::default()
        }
    }

    /// Returns the draft of an event.
    pub fn event(summary: &str) -> Self {
        Self::new(ComponentKind::Event, summary)
    }

    /// Returns the draft of a to-do.
    pub fn todo(summary: &str) -> Self {
        Self::new(ComponentKind::Todo, summary)
    }

    /// Returns the draft of a journal entry.
    pub fn journal(summary: &str) -> Self {
        Self::new(ComponentKind::Journal, summary)
    }

    /// Sets the UID; without it a random one is generated.
    pub fn uid(mut self, uid: &str) -> Self {
        self.uid = Some(uid.to_owned());
        self
    }

    /// Sets the start; a [`CalendarTime::Date`] makes an all-day component.
    pub fn start(mut self, start: CalendarTime) -> Self {
        self.start = Some(start);
        self
    }

    /// Sets the end: the day after the last one of an all-day event; of a to-do its due time.
    pub fn end(mut self, end: CalendarTime) -> Self {
        self.end = Some(end);
        self.duration = None;
        self
    }

    /// Sets the duration, in place of the end.
    pub fn duration(mut self, duration: Duration) -> Self {
        self.duration = Some(duration);
        self.end = None;
        self
    }

    /// Sets the recurrence rule.
    pub fn rule(mut self, rule: RecurrenceRule) -> Self {
        self.rule = Some(rule);
        self
    }

    /// Sets the location.
    pub fn location(self, location: &str) -> Self {
        self.set_text("LOCATION", location)
    }

    /// Sets the description.
    pub fn description(self, description: &str) -> Self {
        self.set_text("DESCRIPTION", description)
    }

    /// Adds a category.
    pub fn category(mut self, category: &str) -> Self {
        self.categories.push(category.to_owned());
        self
    }

    /// Adds a reminder at this duration after the start, or after the due time of a to-do without a
    /// start; negative for before it.
    pub fn alarm(mut self, after: Duration) -> Self {
        self.alarms.push(after);
        self
    }

    fn set_text(mut self, name: &'static str, text: &str) -> Self {
        self.texts.retain(|(n, _)| *n != name);
        if !text.is_empty() {
            self.texts.push((name, text.to_owned()));
        }
        self
    }

    /// Creates the object: text of RFC 5545, folded at 75 octets, with the current `DTSTAMP` and a
    /// UID.
    ///
    /// # Errors
    /// [`ObjectError::NoRandomness`], or [`ObjectError::TooLarge`].
    pub fn make(&self, zones: &TimeZoneResolver) -> Result<CalendarObject, ObjectError> {
        let mut out = Vec::new();
        let mut line = |text: &str| out.extend_from_slice(&fold_line(text, b"\r\n"));
        let uid = match &self.uid {
            Some(uid) => escape_value("UID", uid),
            None => random_uid()?,
        };
        line(&format!("BEGIN:{}", self.kind));
        line(&format!("UID:{uid}"));
        line(&format!("DTSTAMP:{}", Timestamp::from(SystemTime::now())));
        let mut time = |name: &str, time: &CalendarTime| {
            let (params, value) = format_time(time);
            line(&format!("{name}{params}:{value}"));
        };
        if let Some(start) = &self.start {
            time("DTSTART", start);
        }
        if let Some(end) = &self.end {
            time(
                if self.kind == ComponentKind::Todo {
                    "DUE"
                } else {
                    "DTEND"
                },
                end,
            );
        }
        if let Some(duration) = self.duration {
            line(&format!("DURATION:{duration}"));
        }
        if let Some(rule) = &self.rule {
            line(&format!("RRULE:{rule}"));
        }
        for (name, text) in &self.texts {
            line(&format!("{name}:{}", escape_value(name, text)));
        }
        if !self.categories.is_empty() {
            let each = self.categories.iter().map(|c| escape_value("SUMMARY", c));
            let list = each.collect::<Vec<_>>().join(",");
            line(&format!("CATEGORIES:{list}"));
        }
        let summary = self.texts.first().map_or("", |(_, summary)| summary);
        for after in &self.alarms {
            let of_end = self.kind == ComponentKind::Todo && self.start.is_none();
            out.extend_from_slice(&display_alarm(*after, of_end, summary, b"\r\n"));
        }
        out.extend_from_slice(&fold_line(&format!("END:{}", self.kind), b"\r\n"));
        CalendarObject::parse(out, zones)
    }
}

/// Returns an alarm that displays `summary` at this duration after the start, or after the end, which is
/// the due time of a to-do (`RELATED=END`, RFC 5545 section 3.8.6.3).
pub(super) fn display_alarm(
    after: Duration,
    of_end: bool,
    summary: &str,
    ending: &[u8],
) -> Vec<u8> {
    let related = if of_end { ";RELATED=END" } else { "" };
    let lines = [
        "BEGIN:VALARM",
        "ACTION:DISPLAY",
        &format!("DESCRIPTION:{}", escape_value("DESCRIPTION", summary)),
        &format!("TRIGGER{related}:{after}"),
        "END:VALARM",
    ];
    lines
        .iter()
        .flat_map(|line| fold_line(line, ending))
        .collect()
}

/// Returns a version 4 UUID (RFC 9562).
pub(super) fn random_uid() -> Result<String, ObjectError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| ObjectError::NoRandomness(error.to_string()))?;
    let uuid = uuid::Builder::from_random_bytes(bytes).into_uuid();
    Ok(uuid.hyphenated().to_string())
}
