//! Edits that leave all other lines of the object as they came.

use std::ops::Range;

use super::draft::display_alarm;
use super::{CalendarObject, ObjectError};
use crate::ics::ComponentKind;
use crate::time::{CalendarTime, Duration, TimeZone};
use crate::zones::TimeZoneResolver;
use etui_contentline::charset::to_utf8_bytes;
use etui_contentline::edit::{
    fold_line, head_without, is_one_of, is_property_name, line_ending, own_lines, remove_spans,
    splice_line,
};
use etui_contentline::lines::{ContentLine, ContentLines, Delimiter};
use etui_contentline::values::{escape_text, property_value, split_list, unescape_text};

/// Properties whose value is not text: nothing in it is escaped (RFC 5545 section 3.8).
const PLAIN: &[&str] = &[
    "ACKNOWLEDGED",
    "ATTACH",
    "ATTENDEE",
    "COMPLETED",
    "CONFERENCE",
    "CREATED",
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
    "ORGANIZER",
    "PERCENT-COMPLETE",
    "PRIORITY",
    "RDATE",
    "RECURRENCE-ID",
    "REPEAT",
    "REQUEST-STATUS",
    "RRULE",
    "SEQUENCE",
    "TRIGGER",
    "URL",
];
/// Properties that are lists of text, separated by `,`.
const LISTS: &[&str] = &["CATEGORIES", "RESOURCES"];
/// Parameters of the value of a time.
const OF_TIMES: &[&str] = &["TZID", "VALUE"];
/// Parameters of the encoding of the old value.
const ENCODINGS: &[&str] = &["ENCODING", "CHARSET", "QUOTED-PRINTABLE", "BASE64"];

impl CalendarObject {
    /// Sets the first property `name` of a component to `value`, keeping its parameters, or adds
    /// it. `at` is the index of the component ([`CalendarObject::master_index`]).
    ///
    /// `value` is plain text: it is escaped here. In lists (CATEGORIES, RESOURCES) `,` separates
    /// the entries; values that are not text (RRULE, URL, ...) are written as given. The caller
    /// maintains DTSTAMP, LAST-MODIFIED and SEQUENCE.
    ///
    /// # Errors
    /// [`ObjectError::BadProperty`], [`ObjectError::NoComponent`], or [`ObjectError::Several`] for
    /// a UID that the other components do not have.
    pub fn set(
        &mut self,
        at: usize,
        name: &str,
        value: &str,
        zones: &TimeZoneResolver,
    ) -> Result<(), ObjectError> {
        self.replace_property(at, name, ENCODINGS, "", &escape_value(name, value), zones)
    }

    /// Sets the first property `name` of a component, such as DTSTART, to a time, or adds it.
    ///
    /// # Errors
    /// As [`CalendarObject::set`].
    pub fn set_time(
        &mut self,
        at: usize,
        name: &str,
        time: &CalendarTime,
        zones: &TimeZoneResolver,
    ) -> Result<(), ObjectError> {
        let (params, value) = format_time(time);
        self.replace_property(at, name, OF_TIMES, &params, &value, zones)
    }

    /// Removes the properties `name` of a component: all of them, or those with exactly this value. Of
    /// a list (CATEGORIES, RESOURCES) with several entries, it removes the entries with this value.
    /// Returns the number of changed lines.
    ///
    /// # Errors
    /// As [`CalendarObject::set`]; [`ObjectError::Empty`] if nothing would be left. The object is
    /// then unchanged.
    pub fn remove(
        &mut self,
        at: usize,
        name: &str,
        value: Option<&str>,
        zones: &TimeZoneResolver,
    ) -> Result<usize, ObjectError> {
        check_name(name)?;
        let (text, span) = self.editable_text(at, zones)?;
        let component = &text[span.clone()];
        let ending = line_ending(component);
        let value = value.map(str::trim);
        let mut out = text[..span.start].to_vec();
        let (mut from, mut changed) = (0, 0);
        let lines = own_lines(component, None).filter(|line| line.delimiter().is_none());
        for line in lines.filter(|line| line.name_is(name)) {
            let left = match value.map(|value| without_value(&line, name, value)) {
                None => None,
                Some(Removal::None) => continue,
                Some(Removal::Line) => None,
                Some(Removal::Entries(left)) => Some(left),
            };
            changed += 1;
            out.extend_from_slice(&component[from..line.span.start]);
            from = line.span.end;
            if let Some(left) = left {
                let head = head_without(&line, ENCODINGS);
                out.extend(fold_line(&format!("{head}:{left}"), ending));
            }
        }
        if changed > 0 {
            out.extend_from_slice(&component[from..]);
            out.extend_from_slice(&text[span.end..]);
            *self = Self::parse(out, zones)?;
        }
        Ok(changed)
    }

    /// Replaces the alarms of a component. Each new one displays its summary at this duration after
    /// its start (negative for before it), or after the due time of a to-do without a start.
    ///
    /// # Errors
    /// As [`CalendarObject::set`].
    pub fn set_alarms(
        &mut self,
        at: usize,
        after: &[Duration],
        zones: &TimeZoneResolver,
    ) -> Result<(), ObjectError> {
        let (text, span) = self.editable_text(at, zones)?;
        let component = &text[span.clone()];
        let ending = line_ending(component);
        let item = &self.components[at].item;
        let summary = item.summary.as_deref();
        // Without a start an alarm can only be relative to the due time.
        let of_end = item.kind == ComponentKind::Todo && item.start.is_none();
        let new: Vec<u8> = after
            .iter()
            .flat_map(|after| display_alarm(*after, of_end, summary.unwrap_or_default(), ending))
            .collect();
        let old = nested_spans(component, b"VALARM");
        let place = match old.first() {
            Some(first) => first.start,
            None => own_lines(component, None)
                .find(|line| matches!(line.delimiter(), Some((Delimiter::End, _))))
                .map_or(component.len(), |line| line.span.start),
        };
        // The removed alarms are after the place.
        let changed = splice_line(&remove_spans(component, &old), place..place, &new);
        let changed = [&text[..span.start], &changed, &text[span.end..]].concat();
        *self = Self::parse(changed, zones)?;
        Ok(())
    }

    /// Sets a property; of its parameters, `drop` are removed and `params` added.
    fn replace_property(
        &mut self,
        at: usize,
        name: &str,
        drop: &[&str],
        params: &str,
        value: &str,
        zones: &TimeZoneResolver,
    ) -> Result<(), ObjectError> {
        check_name(name)?;
        let (text, span) = self.editable_text(at, zones)?;
        let component = &text[span.clone()];
        let ending = line_ending(component);
        let found = own_lines(component, None)
            .find(|line| line.name_is(name) && line.delimiter().is_none());
        let (place, head) = match found {
            Some(line) => (line.span.clone(), head_without(&line, drop)),
            None => {
                let place = end_of_properties(component);
                (place..place, name.to_ascii_uppercase())
            }
        };
        let new = fold_line(&format!("{head}{params}:{value}"), ending);
        let changed = splice_line(component, place, &new);
        let changed = [&text[..span.start], &changed, &text[span.end..]].concat();
        *self = Self::parse(changed, zones)?;
        Ok(())
    }

    /// Returns the text as bytes whose lines can be edited, and the span of a component in it. An
    /// object in UTF-16, or with 8-bit text that is not UTF-8, is converted to UTF-8 as a whole.
    fn editable_text(
        &self,
        at: usize,
        zones: &TimeZoneResolver,
    ) -> Result<(Vec<u8>, Range<usize>), ObjectError> {
        let text = to_utf8_bytes(&self.text);
        let component = match &text {
            std::borrow::Cow::Borrowed(_) => self.components.get(at).map(|c| c.span.clone()),
            std::borrow::Cow::Owned(text) => {
                let made_over = Self::parse(text.as_slice(), zones)?;
                made_over.components.get(at).map(|c| c.span.clone())
            }
        };
        let span = component.ok_or(ObjectError::NoComponent(at))?;
        Ok((text.into_owned(), span))
    }
}

/// The effect of the removal of a value from a line.
enum Removal {
    /// The line does not have the value.
    None,
    /// The value is all that the line has.
    Line,
    /// The entries that are left of a list, with their escapes.
    Entries(String),
}

fn without_value(line: &ContentLine<'_>, name: &str, value: &str) -> Removal {
    let found = property_value(line);
    if found == value || unescape_text(&found).trim() == value {
        return Removal::Line;
    }
    if !is_one_of(LISTS, name) {
        return Removal::None;
    }
    let entries: Vec<&str> = split_list(&found).collect();
    let is_left = |entry: &&&str| unescape_text(entry).trim() != value;
    let left: Vec<&str> = entries.iter().filter(is_left).copied().collect();
    match left.len() {
        0 => Removal::Line,
        n if n < entries.len() => Removal::Entries(left.join(",")),
        _ => Removal::None,
    }
}

/// Returns the spans of the nested components of a name, in order.
fn nested_spans(component: &[u8], name: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut depth = 0usize;
    let mut begun = None;
    for line in ContentLines::new(component) {
        match line.delimiter() {
            Some((Delimiter::Begin, this)) => {
                depth += 1;
                if depth == 2 && this.eq_ignore_ascii_case(name) {
                    begun = Some(line.span.start);
                }
            }
            Some((Delimiter::End, _)) => {
                depth = depth.saturating_sub(1);
                if depth == 1 {
                    found.extend(begun.take().map(|start| start..line.span.end));
                }
            }
            None => {}
        }
    }
    found
}

/// Returns the end of a component's own properties: the first nested component, or END.
pub(super) fn end_of_properties(component: &[u8]) -> usize {
    own_lines(component, None)
        .scan(0usize, |end, line| {
            // Nested components are a gap between own lines.
            let goes_on = line.span.start == *end
                && line
                    .delimiter()
                    .is_none_or(|(edge, _)| edge == Delimiter::Begin);
            *end = if goes_on { line.span.end } else { *end };
            goes_on.then_some(*end)
        })
        .last()
        .unwrap_or(0)
}

fn check_name(name: &str) -> Result<(), ObjectError> {
    match is_property_name(name) {
        true => Ok(()),
        false => Err(ObjectError::BadProperty(name.to_owned())),
    }
}

/// Escapes a value as its property requires.
pub fn escape_value(name: &str, value: &str) -> String {
    let special = match name {
        _ if is_one_of(PLAIN, name) => "",
        _ if is_one_of(LISTS, name) => "\\;",
        _ => "\\;,",
    };
    escape_text(value, special, "\\n")
}

/// Returns parameters and value of a time.
pub fn format_time(time: &CalendarTime) -> (String, String) {
    match time {
        CalendarTime::Date(date) => (";VALUE=DATE".to_owned(), date.to_string()),
        CalendarTime::Floating(local) => (String::new(), local.to_string()),
        // A time zone without a portable name is written in UTC.
        CalendarTime::Zoned(local, zone) if lacks_portable_name(zone) => {
            (String::new(), zone.to_utc(*local).to_string())
        }
        CalendarTime::Zoned(local, zone) => {
            let name = zone.name();
            let quote = if name.contains([':', ';', ',']) {
                "\""
            } else {
                ""
            };
            (format!(";TZID={quote}{name}{quote}"), local.to_string())
        }
        CalendarTime::Utc(at) => (String::new(), at.to_string()),
    }
}

fn lacks_portable_name(zone: &TimeZone) -> bool {
    let name = zone.name();
    *zone == TimeZone::UTC || name == "local" || name.contains(|c: char| c.is_control() || c == '"')
}
