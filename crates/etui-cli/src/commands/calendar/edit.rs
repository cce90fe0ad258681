//! `etui calendar edit`: changes an entry by options, from a file, or in an editor.

use std::path::PathBuf;

use etui::calendar::time::{Duration, Timestamp};
use etui::calendar::{Calendar, CalendarObject};
use etui::record::StoredRecord;

use super::property::{EntryAssignment, parse_assignment, parse_title};
use super::record::{check_understood, read_record};
use super::reschedule::{NO_START, reschedule};
use super::show::describe_times;
use super::span_args::local_now;
use super::time_args::{TimeArgs, offset_before_start};
use crate::app::App;
use crate::commands::records::change;
use crate::commands::records::property::{PropertyRemoval, parse_removal};
use crate::commands::records::selection::{Selected, SelectionArgs};
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

--remove is applied first. All other lines of the text are unchanged. A new start moves all
occurrences of a recurring entry, except those with overrides; the weekdays of its rule stay, and a
start that is none of them is moved to the next. `etui calendar move` and `etui calendar skip` change a
single occurrence. `etui calendar restore 17` undoes the change. For WHEN and HOW see
`etui calendar add --help`.";

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
    /// Replace the text by this file; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "title", "start", "end", "duration", "all_day", "due", "repeat", "place", "notes", "category", "alarm",
        "set", "remove",
    ])]
    from: Option<PathBuf>,
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
            let (record, saved) = match &args.from {
                Some(file) => change::replace_from_file(&calendar, &stored, id, file)?,
                None if args.has_changes() => {
                    let record = apply_options(app, &calendar, &stored, args)?;
                    change::save_changed(&calendar, &stored, id, record)?
                }
                None if app.out.zone.is_some() => {
                    return Err(Failure::usage("--zone needs a --start, --end or --due"));
                }
                None => change::edit_in_editor(app, &calendar, &stored, id)?,
            };
            change::report_change(app, &stored, &record, &saved)?;
            if record.text() != stored.text {
                for line in describe_times(&record) {
                    app.out.status(format!("  {line}"))?;
                }
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
    let at = record.master_index();
    for removal in &args.remove {
        let removed = record.remove(at, &removal.name, removal.value.as_deref(), &zones)?;
        if args.selection.single_id().is_some() {
            removal.check_removed::<CalendarObject>(stored.id, removed)?;
        }
    }
    let title = args.title.iter().map(|text| ("SUMMARY", text));
    let place = args.place.iter().map(|text| ("LOCATION", text));
    let notes = args.notes.iter().map(|text| ("DESCRIPTION", text));
    for (name, text) in title.chain(place).chain(notes) {
        record.set(at, name, text, &zones)?;
    }
    if !args.category.is_empty() {
        record.remove(at, "CATEGORIES", None, &zones)?;
        record.set(at, "CATEGORIES", &args.category.join(","), &zones)?;
    }
    for assignment in &args.set {
        assignment.apply(&mut record, at, &zones)?;
    }
    if !args.time.is_empty() {
        let here = local_now(&app.out);
        for note in reschedule(&mut record, at, &args.time, &here, &zones)? {
            app.out.write_note(&note);
        }
        let at = record.master_index();
        let sequence = record.master().sequence.saturating_add(1);
        record.set(at, "SEQUENCE", &sequence.to_string(), &zones)?;
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
        record.set_alarms(at, &after.collect::<Result<Vec<_>>>()?, &zones)?;
    }
    if args.selection.single_id().is_none() && record.text() == before.text() {
        return Ok(record);
    }
    let now = Timestamp::from(std::time::SystemTime::now()).to_string();
    record.set(record.master_index(), "LAST-MODIFIED", &now, &zones)?;
    check_understood(&record, Some(&before))?;
    Ok(record)
}
