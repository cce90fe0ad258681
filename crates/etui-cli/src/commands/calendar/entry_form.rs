//! The fields of an entry in the browser's form, and the changes that they stand for.

use etui::calendar::ics::ComponentKind;
use etui::calendar::time::{CalendarTime, Duration};
use etui::calendar::{CalendarComponent, CalendarObject};
use etui_program::{Failure, Result};

use super::entry_changes::EntryChanges;
use super::property::{parse_assignment, parse_title};
use super::show::{end_of, in_display_zone};
use crate::commands::records::browser::form::{FieldChange, FormField};
use crate::commands::records::property::PropertyRemoval;
use etui_when::{
    LocalNow, describe_duration, describe_rule, format_clock, format_short, iso_day,
    parse_duration, parse_recurrence,
};

/// The name of the field that says whether an entry has times of day.
const ALL_DAY: &str = "ALL-DAY";

/// The options of `edit` that messages name, and their fields.
const OPTION_LABELS: &[(&str, &str)] = &[
    ("--all-day", "All day"),
    ("--start", "Start"),
    ("--end", "End"),
    ("--duration", "Duration"),
    ("--repeat", "Repeat"),
    ("--due", "Due"),
];

/// Returns the fields of an entry, or of one time of a series, with times in the user's time zone.
pub fn entry_fields(record: &CalendarObject, is_one: bool, here: &LocalNow) -> Vec<FormField> {
    let main = record.master();
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let time = |time: Option<CalendarTime>| {
        time.map_or_else(String::new, |time| format_short(&time, &here.zone))
    };
    let mut fields = vec![FormField::new("Title", "SUMMARY", text(&main.summary))];
    let start = main.start.clone();
    let due = main.due_time();
    let any = start.as_ref().or(due.as_ref());
    fields.push(FormField::new("Start", "DTSTART", time(start.clone())));
    match main.kind {
        ComponentKind::Todo => fields.push(FormField::new("Due", "DUE", time(due.clone()))),
        ComponentKind::Event => {
            let (end, length) = end_texts(main, here);
            fields.push(FormField::new("End", "DTEND", end));
            fields.push(FormField::new("Duration", "DURATION", length));
        }
        ComponentKind::Journal => {}
    }
    if let Some(any) = any {
        let is_day = if any.is_date() { "yes" } else { "no" };
        fields.push(FormField::new("All day", ALL_DAY, is_day).switch());
    }
    if let (false, Some(rule)) = (is_one, rule_text(main, here)) {
        fields.push(FormField::new("Repeat", "RRULE", rule));
    }
    fields.push(FormField::new("Place", "LOCATION", text(&main.location)));
    fields.push(FormField::new(
        "Notes",
        "DESCRIPTION",
        text(&main.description),
    ));
    fields.push(FormField::new("Web", "URL", text(&main.url)));
    fields
}

/// Returns the end and the duration of an event; of days, the last day.
fn end_texts(main: &CalendarComponent, here: &LocalNow) -> (String, String) {
    let Some(start) = &main.start else {
        return Default::default();
    };
    if main.end.is_none() && main.duration.is_none() {
        return Default::default();
    }
    let end = end_of(main, start);
    let [first, last] = [start, &end].map(|time| in_display_zone(time, here).local());
    if start.is_date() {
        let days = i64::from(last.date().days()) - i64::from(first.date().days());
        let length = describe_duration(Duration::from_days(days.max(1)));
        return (iso_day(last.date().plus_days(-1).max(first.date())), length);
    }
    let text = match first.date() == last.date() {
        true => format_clock(last),
        false => format!("{} {}", iso_day(last.date()), format_clock(last)),
    };
    let seconds = end.at(&here.zone).seconds() - start.at(&here.zone).seconds();
    let length = describe_duration(Duration::from_seconds(seconds.max(0)));
    (text, length)
}

/// Returns the rule in words that can be typed, else as RRULE. `None` if there are several rules, which one
/// line cannot change.
fn rule_text(main: &CalendarComponent, here: &LocalNow) -> Option<String> {
    let Some(timing) = &main.timing else {
        return Some(String::new());
    };
    match timing.rules.as_slice() {
        [] if timing.dates.is_empty() => Some(String::new()),
        [rule] => {
            let zone = timing.start.zone().unwrap_or(&here.zone);
            let words = describe_rule(rule, zone);
            let day = timing.start.local().date();
            let again = parse_recurrence(&words, day, here.now);
            let is_same = again.is_ok_and(|again| describe_rule(&again, zone) == words);
            Some(if is_same { words } else { rule.to_string() })
        }
        _ => None,
    }
}

/// The changes of a form.
pub struct FormChanges {
    pub changes: EntryChanges,
    /// Whether the entry is to have times of day.
    is_timed: bool,
}

impl FormChanges {
    /// Returns the changes that changed fields stand for.
    pub fn parse(record: &CalendarObject, fields: &[FieldChange]) -> Result<Self> {
        let main = record.master();
        let mut changes = EntryChanges::default();
        let mut is_timed = false;
        let mut removed = Vec::new();
        for FieldChange { field, new } in fields {
            let typed = (!new.is_empty()).then(|| new.clone());
            match (field.name, typed) {
                ("SUMMARY", None) => return Err(Failure::usage("Title: must not be empty")),
                ("SUMMARY", Some(text)) => {
                    changes.title = Some(parse_title(&text).map_err(Failure::usage)?);
                }
                ("DTSTART", None) if main.due.is_none() => {
                    return Err(Failure::usage(
                        "Start: must not be empty; d removes the entry",
                    ));
                }
                ("DTSTART", Some(text)) => changes.time.start = Some(text),
                ("DTEND", Some(text)) => changes.time.end = Some(text),
                ("DURATION", Some(text)) => {
                    let length = parse_duration(&text);
                    let length = length.map_err(|e| Failure::usage(format!("Duration: {e}")))?;
                    changes.time.duration = Some(length);
                }
                ("DTEND" | "DURATION", None) => removed.extend(["DTEND", "DURATION"]),
                ("DUE", Some(text)) => changes.time.due = Some(text),
                ("DUE", None) if main.recurs() && main.start.is_none() => {
                    return Err(Failure::usage(
                        "Due: a to-do that repeats needs a day; empty Repeat first",
                    ));
                }
                ("DUE", None) => removed.extend(["DUE", "DURATION"]),
                (ALL_DAY, Some(text)) => match parse_yes(&text) {
                    Some(true) => changes.time.all_day = true,
                    Some(false) => is_timed = true,
                    None => return Err(Failure::usage("All day: write yes or no")),
                },
                (ALL_DAY, None) => is_timed = true,
                ("RRULE", text) => {
                    changes.time.repeat = Some(text.unwrap_or_else(|| "never".to_owned()));
                }
                (name, None) => removed.push(name),
                (name, Some(text)) => {
                    let wanted = parse_assignment(&format!("{name}={text}"));
                    changes.set.push(wanted.map_err(Failure::usage)?);
                }
            }
        }
        if changes.time.end.is_some() && changes.time.duration.is_some() {
            return Err(Failure::usage("End and Duration: change only one of them"));
        }
        // The value that is given replaces the other one.
        if changes.time.end.is_some() || changes.time.duration.is_some() {
            removed.retain(|name| !["DTEND", "DURATION"].contains(name));
        }
        let removals = removed.into_iter().map(|name| PropertyRemoval {
            name: name.to_owned(),
            value: None,
        });
        changes.remove = removals.collect();
        Ok(Self { changes, is_timed })
    }

    /// Checks the entry after its changes.
    pub fn check(&self, record: &CalendarObject) -> Result<()> {
        let main = record.master();
        let time = main.start.as_ref().or(main.due.as_ref());
        match self.is_timed && time.is_some_and(CalendarTime::is_date) {
            true => Err(Failure::usage(
                "All day: no needs a time of day, such as 9:00 in Start or Due",
            )),
            false => Ok(()),
        }
    }
}

fn parse_yes(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "yes" | "y" | "true" | "x" => Some(true),
        "no" | "n" | "false" | "-" => Some(false),
        _ => None,
    }
}

/// Names fields where a message names the options of `edit`.
pub fn in_field_words(failure: Failure) -> Failure {
    let Failure::Usage(mut text) = failure else {
        return failure;
    };
    for (option, label) in OPTION_LABELS {
        text = text.replace(option, label);
    }
    Failure::Usage(text)
}
