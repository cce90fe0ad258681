//! Calendar entries in the browser: new ones of a phrase, values to copy, completed to-dos.

use etui::calendar::ics::ComponentKind;
use etui::calendar::recurrence::Instance;
use etui::calendar::time::{CalendarTime, Date, DateTimeValue};
use etui::calendar::{Calendar, CalendarObject};
use etui::record::StoredRecord;
use etui_program::output::OutputWriter;
use etui_program::{Failure, Result};

use super::add::{AddEntryArgs, EntryWords, build_entry};
use super::entry_changes::finish_change;
use super::entry_form::{FormChanges, entry_fields, in_field_words};
use super::record::{check_understood, read_record};
use super::reschedule::{CountFrom, move_all};
use super::show::{describe_span, describe_times, in_display_zone};
use super::single::{self, single_of};
use super::span_args::local_now;
use super::time_args::TimeArgs;
use crate::commands::records::browser::action::MoveTarget;
use crate::commands::records::browser::form::FieldChange;
use crate::commands::records::browser::kind::{
    BrowserRecord, ChangedRecord, NewRecord, RecordForm,
};
use crate::commands::records::title_of;
use etui_when::{LocalNow, TimeWords, parse_phrase};

impl BrowserRecord for CalendarObject {
    const PHRASE_EXAMPLE: &'static str = "Lunch with Bob tomorrow 12:30; todo Buy milk friday";
    const HAS_DONE: bool = true;
    const HAS_TIMES: bool = true;

    fn of_phrase(text: &str, day: Option<Date>, out: &OutputWriter) -> Result<NewRecord<Self>> {
        let here = local_now(out);
        let (args, words) = parse_entry_phrase(text, day, &here)?;
        let (record, notes) = build_entry(&args, words, &here)?;
        let label = match record.master().kind {
            ComponentKind::Todo => "To-do",
            _ => "Title",
        };
        let mut rows = vec![(label.to_owned(), title_of(&record))];
        let times = describe_times(&record, None).into_iter();
        rows.extend(
            times
                .zip(["When", ""].iter().chain(std::iter::repeat(&"")))
                .map(|(line, label)| ((*label).to_owned(), line)),
        );
        rows.extend(notes.into_iter().map(|note| ("Note".to_owned(), note)));
        Ok(NewRecord { record, rows })
    }

    fn template(name: &str, day: Option<Date>, out: &OutputWriter) -> Result<Vec<u8>> {
        let here = local_now(out);
        let title = match name.trim() {
            "" => "New entry",
            name => name,
        };
        let day = day.unwrap_or_else(|| here.now.date());
        let (args, words) = parse_entry_phrase(title, Some(day), &here)?;
        Ok(build_entry(&args, words, &here)?.0.text().to_owned())
    }

    fn first_day(record: &Self) -> Option<Date> {
        let main = record.master();
        let first = main.start.as_ref().or(main.due.as_ref());
        first.map(|time| time.local().date())
    }

    fn copy_texts(record: &Self) -> Vec<(String, String)> {
        let main = record.master();
        let mut all = vec![("Title", title_of(record))];
        all.extend(
            describe_times(record, None)
                .into_iter()
                .next()
                .map(|when| ("When", when)),
        );
        all.extend(main.location.clone().map(|place| ("Where", place)));
        all.extend(main.url.clone().map(|url| ("Web", url)));
        all.extend(main.description.clone().map(|notes| ("Notes", notes)));
        let all = all.into_iter();
        all.map(|(label, value)| (label.to_owned(), value))
            .collect()
    }

    fn form_of(
        (all, stored): (&Calendar, &StoredRecord<Self>),
        instance: Option<&CalendarTime>,
        out: &OutputWriter,
    ) -> Result<RecordForm> {
        let here = local_now(out);
        let (_, mut record) = read_record(all, &stored.uid)?;
        let mut title = title_of(&record);
        if let Some(id) = instance {
            let found = instance_of(&record, id, &here)?;
            record = single_of(&record, &found, &all.zones(stored.id)?)?;
            let when = describe_span(&found.start, &found.end, &here);
            title = format!("{}, {when}", title_of(&record));
        } else if record.master().recurs() {
            title.push_str(", all times");
        }
        let zone = record.master().start.as_ref().and_then(CalendarTime::zone);
        if zone.is_some_and(|zone| zone.name() != here.zone.name()) {
            title = format!("{title} (times of {})", here.zone.name());
        }
        Ok(RecordForm {
            title,
            fields: entry_fields(&record, instance.is_some(), &here),
        })
    }

    fn change_fields(
        (all, stored): (&Calendar, &StoredRecord<Self>),
        instance: Option<&CalendarTime>,
        fields: &[FieldChange],
        out: &OutputWriter,
    ) -> Result<ChangedRecord<Self>> {
        let here = local_now(out);
        let zones = all.zones(stored.id)?;
        let (_, before) = read_record(all, &stored.uid)?;
        let unchanged = |record| ChangedRecord {
            record,
            now: None,
            day: None,
            notes: Vec::new(),
        };
        if fields.is_empty() {
            return Ok(unchanged(before));
        }
        let form = FormChanges::parse(&before, fields)?;
        let changes = &form.changes;
        let (record, one, notes) = match instance {
            Some(id) => {
                let found = instance_of(&before, id, &here)?;
                let changed = changes.apply_to_instance(&before, &found, None, &here, &zones);
                let changed = changed.map_err(in_field_words)?;
                (changed.record, changed.one, changed.notes)
            }
            None => {
                let mut record = before.clone();
                let notes = changes.apply(&mut record, None, CountFrom::Entry, &here, &zones);
                let notes = notes.map_err(in_field_words)?;
                finish_change(&mut record, &before, &zones)?;
                (record.clone(), record, notes)
            }
        };
        form.check(&one)?;
        if changes.time.is_empty() {
            return Ok(unchanged(record));
        }
        let main = one.master();
        let time = main.start.clone().or_else(|| main.due_time());
        // Of a series, the first time may be years away from the one that is shown.
        let shown = time.filter(|_| !(one.master().recurs() && before.master().recurs()));
        Ok(ChangedRecord {
            now: Some(describe_times(&one, Some(&here)).join("; ")),
            day: shown.map(|time| in_display_zone(&time, &here).local().date()),
            notes,
            record,
        })
    }

    fn is_series(record: &Self) -> bool {
        record.components().any(|c| c.recurs() || c.is_override())
    }

    fn when_of(record: &Self, instance: Option<&CalendarTime>, out: &OutputWriter) -> String {
        let here = local_now(out);
        let found =
            instance.and_then(|id| record.recurrence_set().instance_with_id(id, &here.zone));
        match found {
            Some(found) => describe_span(&found.start, &found.end, &here),
            None => describe_times(record, Some(&here)).join("; "),
        }
    }

    fn move_to(
        (all, stored): (&Calendar, &StoredRecord<Self>),
        target: &MoveTarget,
        text: &str,
        out: &OutputWriter,
    ) -> Result<ChangedRecord<Self>> {
        let here = local_now(out);
        let zones = all.zones(stored.id)?;
        let (_, before) = read_record(all, &stored.uid)?;
        let mut record = before.clone();
        let instance = target.subject.instance.as_ref();
        let moved = match instance {
            Some(id) if !target.is_all => {
                let found = instance_of(&before, id, &here)?;
                single::move_instance(&mut record, &found, text, &zones, &here)
            }
            instance => move_all(&mut record, instance, text, &here, &zones),
        };
        let moved = moved.map_err(in_field_words)?;
        single::touch(&mut record, &zones)?;
        check_understood(&record, Some(&before))?;
        Ok(ChangedRecord {
            record,
            now: Some(moved.when),
            day: Some(moved.day),
            notes: moved.notes,
        })
    }

    fn toggle_done(
        all: &Calendar,
        stored: &StoredRecord<Self>,
        instance: Option<&CalendarTime>,
        out: &OutputWriter,
    ) -> Result<(Self, &'static str)> {
        let (_, mut record) = read_record(all, &stored.uid)?;
        let zones = all.zones(stored.id)?;
        let what = single::toggle_done(&mut record, instance, &zones, &local_now(out))?;
        Ok((record, what))
    }

    fn skip_instance(
        all: &Calendar,
        stored: &StoredRecord<Self>,
        instance: &CalendarTime,
    ) -> Result<Self> {
        let (_, mut record) = read_record(all, &stored.uid)?;
        single::skip_time(&mut record, instance, &all.zones(stored.id)?)?;
        Ok(record)
    }
}

/// Returns the time of a series with this original start.
fn instance_of(record: &CalendarObject, id: &CalendarTime, here: &LocalNow) -> Result<Instance> {
    let found = record.recurrence_set().instance_with_id(id, &here.zone);
    found.ok_or_else(|| Failure::NotFound("this time of the series was removed".to_owned()))
}

/// Parses a title with its time; after the word todo, with its due time. With a day, a phrase without a
/// time is the whole day.
fn parse_entry_phrase(
    text: &str,
    day: Option<Date>,
    here: &LocalNow,
) -> Result<(AddEntryArgs, EntryWords)> {
    let args = AddEntryArgs::default();
    let mut words = EntryWords::untimed(text);
    let today = here.now.date();
    let phrase = parse_phrase(&words.title, day.unwrap_or(today), here.now);
    let time = TimeArgs::default();
    match (phrase.map_err(|e| Failure::usage(e.to_string()))?, day) {
        (Some(phrase), _) => words.apply_phrase(phrase, &time, here)?,
        (None, _) if words.title.is_empty() => {
            return Err(Failure::usage("a title is missing"));
        }
        (None, _) if words.is_todo => {}
        (None, Some(day)) => {
            let whole_day = TimeWords {
                start: DateTimeValue::Date(day),
                end: None,
            };
            words.set_times(&whole_day, &time, here)?;
        }
        (None, None) => {
            return Err(Failure::usage(
                "a time is missing, such as tomorrow 12:30; a to-do begins with todo",
            ));
        }
    }
    Ok((args, words))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use etui::calendar::time::{DateTime, TimeZone};

    use super::*;

    /// A Saturday.
    fn describe(text: &str, day: Option<Date>) -> String {
        let here = LocalNow {
            zone: TimeZone::named("Europe/Berlin").unwrap(),
            now: DateTime::new(2026, 11, 21, 14, 5, 30).unwrap(),
        };
        let built = parse_entry_phrase(text, day, &here)
            .and_then(|(args, words)| build_entry(&args, words, &here));
        match built {
            Ok((record, _)) => {
                let main = record.master();
                let times = [&main.start, &main.due].map(|time| {
                    time.as_ref()
                        .map_or_else(String::new, |time| time.value().to_string())
                });
                format!("{}; {}; {}", title_of(&record), times[0], times[1])
            }
            Err(failure) => failure.to_string(),
        }
    }

    #[test]
    fn phrases_on_a_day() {
        let day = Date::new(2026, 12, 1);
        for (text, day, expected) in [
            ("Lunch tomorrow 12:30", None, "Lunch; 20261122T123000; "),
            ("Lunch 12:30", None, "Lunch; 20261121T123000; "),
            ("Lunch 12:30", day, "Lunch; 20261201T123000; "),
            ("Lunch tomorrow 12:30", day, "Lunch; 20261122T123000; "),
            ("Fair", day, "Fair; 20261201; "),
            ("todo Buy milk", day, "Buy milk; ; "),
            ("todo: Buy milk friday", None, "Buy milk; ; 20261127"),
            ("Task: Call Bob 15:00", day, "Call Bob; ; 20261201T150000"),
            ("Task force 15:00", day, "Task force; 20261201T150000; "),
            ("Fair friday at Hall 3", day, "Fair; 20261127; "),
            ("todo", day, "todo; 20261201; "),
            (
                "Fair",
                None,
                "a time is missing, such as tomorrow 12:30; a to-do begins with todo",
            ),
        ] {
            assert_eq!(describe(text, day), expected, "{text}");
        }
    }
}
