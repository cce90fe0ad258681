//! `etui calendar edit`: changes an entry by options, from a file, or in an editor.

use std::path::Path;

use etui::calendar::{Calendar, CalendarObject};
use etui::record::StoredRecord;
use etui::{Condition, RecordId, SaveOutcome, SavedRecord};
use etui_program::{App, Failure, Result};

use super::add::place_line;
use super::entry_changes::{EntryChanges, finish_change};
use super::record::read_record;
use super::reschedule::CountFrom;
use super::show::describe_times;
use super::single::{find_instance, number_on};
use super::span_args::local_now;
use crate::commands::records::selection::{Selected, SelectionArgs};
use crate::commands::records::{change, report_saved};

const EXAMPLES: &str = "\
Examples:
  etui calendar edit 17                                  in your editor ($VISUAL, $EDITOR)
  etui calendar edit 17 --start \"tue 10:00\"              keeps its duration
  etui calendar edit 17 --start 10:00                    on the same day
  etui calendar edit 17 --duration 90m --place \"Room 5\"
  etui calendar edit 17 --repeat \"weekly until 2027-06-30\"
  etui calendar edit 17 --repeat never
  etui calendar edit 17 --alarm 10m --alarm 1d           replaces all alarms
  etui calendar edit 17 --alarm none
  etui calendar edit 17 --category Work --category Travel   replaces all categories
  etui calendar edit 17 --set status=CANCELLED --remove notes
  etui calendar edit 17 --from meeting.ics               replace the whole text
  etui calendar edit 17 18 --set label=Work              several at once
  etui calendar edit --where title:scrum --place \"Room 5\" --dry-run

  etui calendar edit 17 --on friday --place \"Room 7\"       one time of a recurring entry
  etui calendar edit 17 --from 2027-03-01 --start 10:00  this time and all later ones

--remove is applied first. All other lines of the text are unchanged. A new start moves all
times of a recurring entry; a day without a time keeps the time of day. The only day of its rule moves
along; of several days, a start that is none of them is moved to the next. Skipped and changed times
keep their day where the rule has it. --from with a change makes the later times an entry of their own.
`etui calendar restore 17` undoes the change. For WHEN and HOW see `etui calendar add --help`.";

/// Change an entry
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct EditEntryArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    changes: EntryChanges,
    /// Change only the time of a recurring entry on this day or at this time
    #[arg(
        long,
        value_name = "WHEN",
        allow_hyphen_values = true,
        conflicts_with = "from"
    )]
    on: Option<String>,
    /// Change this time of a recurring entry and all later ones; without other options: replace the
    /// text by this file, `-` is standard input
    #[arg(long, value_name = "WHEN|FILE", allow_hyphen_values = true)]
    from: Option<String>,
    /// Fail unless the entry has this ETag
    #[arg(long, value_name = "ETAG")]
    if_match: Option<String>,
}

impl EditEntryArgs {
    /// Returns the number of the entry, if it is the only one.
    fn number_of(&self, stored: &StoredRecord<CalendarObject>) -> Option<RecordId> {
        self.selection.single_id().map(|_| stored.id)
    }
}

pub fn edit_entry(app: &mut App, args: &EditEntryArgs) -> Result<()> {
    let store = app.open_to_write()?;
    let on = args
        .on
        .as_deref()
        .or(args.from.as_deref().filter(|_| !args.changes.is_empty()));
    if let Some(number) = number_on(app, &store, &args.selection.ids, on)? {
        args.selection.choose(number);
    }
    let selected = args.selection.resolve::<CalendarObject>(app, &store)?;
    let (Some(id), false) = (args.selection.single_id(), args.selection.dry_run) else {
        if args.changes.is_empty() || args.if_match.is_some() {
            return Err(Failure::usage(
                "several entries, and --dry-run, need options that change them, and no --if-match",
            ));
        }
        for Selected { all, records } in selected {
            let changed = records.iter();
            let changed = changed.map(|r| Ok((r, apply_options(app, &all, r, args)?)));
            let changed = changed.collect::<Result<_>>()?;
            change::save_several(app, &all, changed, args.selection.dry_run)?;
        }
        return Ok(store.close()?);
    };
    for Selected {
        all: calendar,
        records,
    } in selected
    {
        for mut stored in records {
            change::expect_etag(&mut stored, args.if_match.as_deref())?;
            let here = local_now(&app.out);
            let mut now = Vec::new();
            let (record, saved) = match &args.from {
                Some(from) if !args.changes.is_empty() => {
                    edit_from(app, &calendar, &stored, id, from, args)?
                }
                Some(file) => change::replace_from_file(&calendar, &stored, id, Path::new(file))?,
                None if !args.changes.is_empty() => {
                    let record = match &args.on {
                        Some(on) => {
                            let (record, one) = edit_one(app, &calendar, &stored, id, on, args)?;
                            now = describe_times(&one, Some(&here));
                            record
                        }
                        None => apply_options(app, &calendar, &stored, args)?,
                    };
                    change::save_changed(&calendar, &stored, id, record)?
                }
                None if args.on.is_some() => {
                    return Err(Failure::usage("--on needs an option that changes the time"));
                }
                None if app.out.zone.is_some() => {
                    return Err(Failure::usage("--zone needs a --start, --end or --due"));
                }
                None => change::edit_in_editor(app, &calendar, &stored, id)?,
            };
            match saved.outcome {
                SaveOutcome::Added => report_later_part(app, &stored, &record, &saved)?,
                _ => change::report_change(app, &stored, &record, &saved)?,
            }
            if now.is_empty() && saved.outcome != SaveOutcome::Unchanged {
                now = describe_times(&record, Some(&here));
            }
            if !now.is_empty() {
                now.extend(place_line(&record));
            }
            for line in now {
                app.out.status(format!("  {line}"))?;
            }
        }
    }
    Ok(store.close()?)
}

/// Returns the record with one time changed by the options, and that time.
fn edit_one(
    app: &mut App,
    calendar: &Calendar,
    stored: &StoredRecord<CalendarObject>,
    id: &str,
    on: &str,
    args: &EditEntryArgs,
) -> Result<(CalendarObject, CalendarObject)> {
    if args.changes.time.repeat.is_some() {
        return Err(Failure::usage(
            "--repeat is of the whole entry; leave out --on",
        ));
    }
    let zones = calendar.zones(stored.id)?;
    let (_, before) = read_record(calendar, &stored.uid)?;
    let here = local_now(&app.out);
    let instance = find_instance(&before, id, Some(on), &here)?;
    let number = args.number_of(stored);
    let changed = args
        .changes
        .apply_to_instance(&before, &instance, number, &here, &zones)?;
    write_notes(app, &changed.notes);
    Ok((changed.record, changed.one))
}

fn write_notes(app: &mut App, notes: &[String]) {
    for note in notes {
        app.out.write_note(note);
    }
}

/// Reports a series that was cut in two, by its second part.
fn report_later_part(
    app: &mut App,
    stored: &StoredRecord<CalendarObject>,
    record: &CalendarObject,
    saved: &SavedRecord,
) -> Result<()> {
    let uid = record.uid().unwrap_or_default();
    report_saved(&mut app.out, record, saved, uid, |title| {
        format!(
            "Added {new}: {title}, in place of the later times of {old} (undo: etui calendar remove \
             {new}; etui calendar restore {old})",
            new = saved.id,
            old = stored.id
        )
    })
}

/// Changes one time and all later ones: the series ends before it, and a new one begins.
fn edit_from(
    app: &mut App,
    calendar: &Calendar,
    stored: &StoredRecord<CalendarObject>,
    id: &str,
    from: &str,
    args: &EditEntryArgs,
) -> Result<(CalendarObject, SavedRecord)> {
    let zones = calendar.zones(stored.id)?;
    let (_, before) = read_record(calendar, &stored.uid)?;
    let here = local_now(&app.out);
    let instance = find_instance(&before, id, Some(from), &here)?;
    let parts = before.split_at(&instance.id, None, &zones)?;
    let Some(mut earlier) = parts.before else {
        let record = apply_options(app, calendar, stored, args)?;
        return change::save_changed(calendar, stored, id, record);
    };
    let mut later = parts.after;
    let number = args.number_of(stored);
    let notes = args
        .changes
        .apply(&mut later, number, CountFrom::OneTime, &here, &zones)?;
    write_notes(app, &notes);
    finish_change(&mut later, &before, &zones)?;
    finish_change(&mut earlier, &before, &zones)?;
    calendar.save_many([
        (&earlier, Condition::IfMatch(stored.etag)),
        (&later, Condition::IfAbsent),
    ])?;
    let uid = later.uid().unwrap_or_default().to_owned();
    let (added, _) = read_record(calendar, &uid)?;
    let saved = SavedRecord {
        id: added.id,
        etag: added.etag,
        outcome: SaveOutcome::Added,
    };
    Ok((later, saved))
}

/// Returns the record with the changes of the options.
fn apply_options(
    app: &mut App,
    calendar: &Calendar,
    stored: &StoredRecord<CalendarObject>,
    args: &EditEntryArgs,
) -> Result<CalendarObject> {
    let zones = calendar.zones(stored.id)?;
    let (_, before) = read_record(calendar, &stored.uid)?;
    let mut record = before.clone();
    let here = local_now(&app.out);
    let number = args.number_of(stored);
    let notes = args
        .changes
        .apply(&mut record, number, CountFrom::Entry, &here, &zones)?;
    write_notes(app, &notes);
    if args.selection.single_id().is_none() && record.text() == before.text() {
        return Ok(record);
    }
    finish_change(&mut record, &before, &zones)?;
    Ok(record)
}
