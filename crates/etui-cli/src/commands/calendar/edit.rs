//! `etui calendar edit`: changes an entry by options, from a file, or in an editor.

use std::path::Path;

use etui::calendar::time::{Duration, Timestamp};
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{Calendar, CalendarObject};
use etui::record::StoredRecord;
use etui::{Condition, SaveOutcome, SavedRecord};

use super::add::place_line;
use super::property::{EntryAssignment, parse_assignment, parse_title};
use super::record::{check_understood, read_record};
use super::reschedule::{CountFrom, NO_START, reschedule};
use super::show::describe_times;
use super::single::{find_instance, number_on, single_of};
use super::span_args::local_now;
use super::time_args::{TimeArgs, notes_of_time, offset_before_start};
use crate::app::App;
use crate::commands::records::property::{PropertyRemoval, parse_removal};
use crate::commands::records::selection::{Selected, SelectionArgs};
use crate::commands::records::{change, report_saved};
use crate::errors::{Failure, Result};
use etui_when::parse_duration;

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
    /// Title
    #[arg(long, value_name = "TEXT", value_parser = parse_title)]
    title: Option<String>,
    #[command(flatten)]
    time: TimeArgs,
    /// Location
    #[arg(long, value_name = "TEXT")]
    place: Option<String>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// Replace all categories
    #[arg(long, value_name = "NAME")]
    category: Vec<String>,
    /// Replace all alarms by one this long before the start: 10m, 1d, 0m, or none
    #[arg(long, value_name = "DURATION", value_parser = parse_alarm)]
    alarm: Vec<Option<Duration>>,
    /// Change or add a property
    #[arg(long, value_name = "PROP=VALUE", value_parser = parse_assignment)]
    set: Vec<EntryAssignment>,
    /// Remove all properties of this name, or those with this value
    #[arg(long, value_name = "PROP[=VALUE]", value_parser = parse_removal::<CalendarObject>)]
    remove: Vec<PropertyRemoval>,
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
    fn has_changes(&self) -> bool {
        let texts = [&self.title, &self.place, &self.notes];
        texts.into_iter().any(Option::is_some)
            || !(self.time.is_empty()
                && self.category.is_empty()
                && self.alarm.is_empty()
                && self.set.is_empty()
                && self.remove.is_empty())
    }
}

pub fn edit_entry(app: &mut App, args: &EditEntryArgs) -> Result<()> {
    let store = app.open_to_write()?;
    let on = args
        .on
        .as_deref()
        .or(args.from.as_deref().filter(|_| args.has_changes()));
    if let Some(number) = number_on(app, &store, &args.selection.ids, on)? {
        args.selection.choose(number);
    }
    let selected = args.selection.resolve::<CalendarObject>(app, &store)?;
    let (Some(id), false) = (args.selection.single_id(), args.selection.dry_run) else {
        if !args.has_changes() || args.if_match.is_some() {
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
                Some(from) if args.has_changes() => {
                    edit_from(app, &calendar, &stored, id, from, args)?
                }
                Some(file) => change::replace_from_file(&calendar, &stored, id, Path::new(file))?,
                None if args.has_changes() => {
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

/// Parses the value of `--alarm`.
fn parse_alarm(text: &str) -> std::result::Result<Option<Duration>, String> {
    match text {
        "none" => Ok(None),
        text => parse_duration(text)
            .map(Some)
            .map_err(|error| format!("{error}, or none")),
    }
}

/// Returns the record with one time changed by the options, and that time.
fn edit_one(
    app: &mut App,
    calendar: &Calendar<'_>,
    stored: &StoredRecord<CalendarObject>,
    id: &str,
    on: &str,
    args: &EditEntryArgs,
) -> Result<(CalendarObject, CalendarObject)> {
    if args.time.repeat.is_some() {
        return Err(Failure::usage(
            "--repeat is of the whole entry; leave out --on",
        ));
    }
    let zones = calendar.zones(stored.id)?;
    let (_, before) = read_record(calendar, &stored.uid)?;
    let here = local_now(&app.out);
    let instance = find_instance(&before, id, Some(on), &here)?;
    let mut one = single_of(&before, &instance, &zones)?;
    change_record(app, stored, &mut one, args, CountFrom::OneTime, &zones)?;
    let mut record = before.clone();
    record.replace_components(&one, &zones)?;
    finish_change(&mut record, &before, &zones)?;
    Ok((record, one))
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
    calendar: &Calendar<'_>,
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
    change_record(app, stored, &mut later, args, CountFrom::OneTime, &zones)?;
    finish_change(&mut later, &before, &zones)?;
    finish_change(&mut earlier, &before, &zones)?;
    calendar.save_all_if(&[
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
    calendar: &Calendar<'_>,
    stored: &StoredRecord<CalendarObject>,
    args: &EditEntryArgs,
) -> Result<CalendarObject> {
    let zones = calendar.zones(stored.id)?;
    let (_, before) = read_record(calendar, &stored.uid)?;
    let mut record = before.clone();
    change_record(app, stored, &mut record, args, CountFrom::Entry, &zones)?;
    if args.selection.single_id().is_none() && record.text() == before.text() {
        return Ok(record);
    }
    finish_change(&mut record, &before, &zones)?;
    Ok(record)
}

/// Sets the time of the change, and checks that the text is still understood.
fn finish_change(
    record: &mut CalendarObject,
    before: &CalendarObject,
    zones: &TimeZoneResolver,
) -> Result<()> {
    let now = Timestamp::from(std::time::SystemTime::now()).to_string();
    record.set(record.master_index(), "LAST-MODIFIED", &now, zones)?;
    check_understood(record, Some(before))
}

/// Applies the options to the master component of a record.
fn change_record(
    app: &mut App,
    stored: &StoredRecord<CalendarObject>,
    record: &mut CalendarObject,
    args: &EditEntryArgs,
    count_from: CountFrom,
    zones: &TimeZoneResolver,
) -> Result<()> {
    let at = record.master_index();
    for removal in &args.remove {
        let removed = record.remove(at, &removal.name, removal.value.as_deref(), zones)?;
        if args.selection.single_id().is_some() {
            removal.check_removed::<CalendarObject>(stored.id, removed)?;
        }
    }
    let title = args.title.iter().map(|text| ("SUMMARY", text));
    let place = args.place.iter().map(|text| ("LOCATION", text));
    let notes = args.notes.iter().map(|text| ("DESCRIPTION", text));
    for (name, text) in title.chain(place).chain(notes) {
        record.set(at, name, text, zones)?;
    }
    if !args.category.is_empty() {
        record.remove(at, "CATEGORIES", None, zones)?;
        record.set(at, "CATEGORIES", &args.category.join(","), zones)?;
    }
    for assignment in &args.set {
        assignment.apply(record, at, zones)?;
    }
    if !args.time.is_empty() {
        let here = local_now(&app.out);
        let notes = reschedule(record, at, &args.time, count_from, &here, zones)?;
        let main = record.master();
        let is_moved = args.time.start.is_some() || args.time.due.is_some();
        let changed = main
            .start
            .as_ref()
            .or(main.due.as_ref())
            .filter(|_| is_moved);
        let told = changed.map(|time| notes_of_time(time, &here));
        for note in notes.iter().chain(told.iter().flatten()) {
            app.out.write_note(note);
        }
        let at = record.master_index();
        let sequence = record.master().sequence.saturating_add(1);
        record.set(at, "SEQUENCE", &sequence.to_string(), zones)?;
    }
    if !args.alarm.is_empty() {
        let at = record.master_index();
        let main = record.master();
        let before: Vec<Duration> = args.alarm.iter().copied().flatten().collect();
        if before.len() != args.alarm.len() && args.alarm.len() > 1 {
            return Err(Failure::usage(
                "--alarm none cannot be combined with another --alarm",
            ));
        }
        if !before.is_empty() && main.start.is_none() && main.due.is_none() {
            return Err(Failure::usage(NO_START));
        }
        let after = before.into_iter().map(offset_before_start);
        record.set_alarms(at, &after.collect::<Result<Vec<_>>>()?, zones)?;
    }
    Ok(())
}
