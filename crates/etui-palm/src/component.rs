//! The lines of a calendar component, and the common parts of events, to-dos and memos.

use etui_contentline::charset::repair_charset;
use etui_contentline::lines::{ContentLines, Delimiter};
use etui_ical::time::{CalendarTime, DateTime, TimeZone};

use crate::contact::RecordContext;
use crate::lines::{PropertyLine, push_raw, push_text};
use crate::outgoing::Outgoing;

/// Properties that describe the component and not its content; left out without a note.
const BOOKKEEPING: &[&str] = &["UID", "DTSTAMP", "CREATED", "LAST-MODIFIED", "SEQUENCE", ""];

/// The time stamp of all components: RFC 5545 requires one, and a file imported again must give the
/// same bytes.
const TIME_STAMP: &str = "19700101T000000Z";

/// The lines of a component and of its alarms.
#[derive(Debug, Default)]
pub(crate) struct ComponentLines {
    pub(crate) lines: Vec<PropertyLine>,
    pub(crate) alarms: Vec<Vec<PropertyLine>>,
    /// Names of other components in it.
    others: Vec<String>,
}

impl ComponentLines {
    pub(crate) fn read(text: &[u8]) -> Self {
        let text = repair_charset(text);
        let mut component = Self::default();
        let mut depth = 0usize;
        let mut is_alarm = false;
        for line in ContentLines::of_text(&text) {
            match line.delimiter() {
                Some((Delimiter::Begin, name)) => {
                    depth += 1;
                    if depth == 2 {
                        is_alarm = name.eq_ignore_ascii_case(b"VALARM");
                        match is_alarm {
                            true => component.alarms.push(Vec::new()),
                            false => component
                                .others
                                .push(String::from_utf8_lossy(name).into_owned()),
                        }
                    }
                }
                Some((Delimiter::End, _)) => depth = depth.saturating_sub(1),
                None if depth == 1 => component.lines.push(PropertyLine::read(&line)),
                None if depth == 2 && is_alarm => {
                    if let Some(alarm) = component.alarms.last_mut() {
                        alarm.push(PropertyLine::read(&line));
                    }
                }
                None => {}
            }
        }
        component
    }

    /// Returns the UID.
    pub(crate) fn uid(&self) -> Option<String> {
        let line = self.lines.iter().find(|line| line.name == "UID");
        line.map(|line| line.text().trim().to_owned())
    }

    /// Gives each line but bookkeeping to `read`, which returns false for a property without a
    /// place; that is noted, as are parameters that are left.
    pub(crate) fn read_into<T>(
        self,
        outgoing: &mut Outgoing<T>,
        mut read: impl FnMut(&mut PropertyLine, &mut Outgoing<T>) -> bool,
    ) {
        outgoing.uid = self.uid();
        for mut line in self.lines {
            if BOOKKEEPING.contains(&line.name.as_str()) {
                continue;
            }
            let is_held = match line.name.as_str() {
                "CATEGORIES" => {
                    outgoing.take_categories(line.list());
                    true
                }
                "CLASS" => {
                    outgoing.take_class(&line.text());
                    true
                }
                _ => read(&mut line, outgoing),
            };
            match is_held {
                true => line.note_params(&mut outgoing.notes),
                false => outgoing.notes.push(line.excerpt()),
            }
        }
        for name in self.others {
            outgoing.notes.push(name);
        }
    }
}

/// Begins a component.
pub(crate) fn begin(out: &mut Vec<u8>, name: &str, context: RecordContext<'_>) {
    push_raw(out, "BEGIN", name);
    push_raw(out, "UID", context.uid);
    push_raw(out, "DTSTAMP", TIME_STAMP);
}

/// Appends category and secrecy, and ends the component.
pub(crate) fn end(out: &mut Vec<u8>, name: &str, context: RecordContext<'_>, alarm: &[u8]) {
    push_text(out, "CATEGORIES", context.category.unwrap_or_default());
    if context.is_secret {
        push_raw(out, "CLASS", "PRIVATE");
    }
    out.extend_from_slice(alarm);
    push_raw(out, "END", name);
}

/// Returns a time in the local time of the person.
pub(crate) fn to_local(time: &CalendarTime, zone: &TimeZone) -> DateTime {
    match time {
        CalendarTime::Zoned(..) | CalendarTime::Utc(_) => zone.to_local(time.at(zone)),
        CalendarTime::Date(_) | CalendarTime::Floating(_) => time.local(),
    }
}

/// Adds a note about the time zone of a time.
pub(crate) fn note_zone(time: &CalendarTime, notes: &mut Vec<String>) {
    if let Some(zone) = time.zone() {
        notes.push(format!("time zone {} (written in local time)", zone.name()));
    }
}
