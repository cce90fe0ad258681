//! `etui calendar edit`: changes an entry, by options or in an editor.

use std::path::PathBuf;

use etui::calendar::time::{CalendarTime, Duration, TimeZone, Timestamp};
use etui::calendar::{Calendar, CalendarObject};
use etui::record::StoredRecord;

use super::property::{Assignment, assignment, removal};
use super::record::{holding, read, understood};
use super::reschedule::{NO_START, retime};
use super::span_args::here;
use super::time_args::{TimeArgs, before_start};
use crate::app::App;
use crate::commands::records::property::PropertyRemoval;
use crate::commands::records::{change, resolve};
use crate::datetime::{LocalNow, length};
use crate::errors::{Failure, Result};

const EXAMPLES: &str = "\
Examples:
  etui calendar edit 17                                  in your editor ($VISUAL, $EDITOR)
  etui calendar edit 17 --start \"tue 10:00\"              it stays as long as it is
  etui calendar edit 17 --start 10:00                    on its own day
  etui calendar edit 17 --duration 90m --place \"Room 5\"
  etui calendar edit 17 --repeat \"weekly until 2027-06-30\"
  etui calendar edit 17 --repeat never
  etui calendar edit 17 --alarm 10m --alarm 1d           these alarms, and no others
  etui calendar edit 17 --alarm none
  etui calendar edit 17 --set status=CANCELLED --remove notes
  etui calendar edit 17 --from meeting.ics               replace the whole text

Removals are done first. All other lines of the text stay as they are. Of an entry that recurs, all
times are moved, but for those that have a change of their own; the weekdays that its rule names
stay. For a single one use the editor.
`etui calendar restore 17` undoes it. WHEN and HOW: see `etui calendar add --help`.";

/// Change an entry
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Number or UID
    #[arg(value_name = "ID")]
    id: String,
    /// What it is about
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    time: TimeArgs,
    /// Where
    #[arg(long, value_name = "TEXT")]
    place: Option<String>,
    /// More about it
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// Remind so long before the start, in place of all its alarms: 10m, 1d, 0m, or none
    #[arg(long, value_name = "LENGTH", value_parser = alarm)]
    alarm: Vec<Option<Duration>>,
    /// Change a property, or add it
    #[arg(long, value_name = "PROP=VALUE", value_parser = assignment)]
    set: Vec<Assignment>,
    /// Remove a property, all of that name or the one with that value
    #[arg(long, value_name = "PROP[=VALUE]", value_parser = removal)]
    remove: Vec<PropertyRemoval>,
    /// Replace the text by the one in this file; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "title", "start", "end", "duration", "all_day", "due", "repeat", "place", "notes", "alarm", "set",
        "remove",
    ])]
    from: Option<PathBuf>,
    /// Only if the entry still has this ETag
    #[arg(long, value_name = "ETAG")]
    if_match: Option<String>,
}

impl Args {
    fn is_by_options(&self) -> bool {
        let texts = [&self.title, &self.place, &self.notes];
        texts.iter().any(|text| text.is_some())
            || !(self.time.is_empty()
                && self.alarm.is_empty()
                && self.set.is_empty()
                && self.remove.is_empty())
    }
}

/// Changes it.
pub fn run(app: &mut App, name: Option<&str>, args: &Args) -> Result<()> {
    let store = app.open_to_write()?;
    let calendar = holding(&store, name, std::slice::from_ref(&args.id))?;
    let mut stored = resolve(&calendar, &args.id)?;
    change::expect(&mut stored, args.if_match.as_deref())?;
    let (record, saved) = match &args.from {
        Some(file) => change::from_file(&calendar, &stored, &args.id, file)?,
        None if args.is_by_options() => change::save(
            &calendar,
            &stored,
            &args.id,
            changed(app, &calendar, &stored, args)?,
        )?,
        None if app.out.zone.is_some() => {
            return Err(Failure::usage("--zone needs a --start, --end or --due"));
        }
        None => change::in_editor(app, &calendar, &stored, &args.id)?,
    };
    store.close()?;
    change::tell(app, &stored, &record, &saved)
}

/// A length of time, or none.
fn alarm(text: &str) -> std::result::Result<Option<Duration>, String> {
    match text {
        "none" => Ok(None),
        text => length(text)
            .map(Some)
            .map_err(|error| format!("{error}, or none")),
    }
}

/// The record with the options' changes.
fn changed(
    app: &App,
    calendar: &Calendar<'_>,
    stored: &StoredRecord<CalendarObject>,
    args: &Args,
) -> Result<CalendarObject> {
    let zones = calendar.zones(stored.id)?;
    let (_, before) = read(calendar, &stored.uid)?;
    let mut record = before.clone();
    let at = record.master_index();
    for removal in &args.remove {
        if record.remove(at, &removal.name, removal.value.as_deref(), &zones)? == 0 {
            let value = removal
                .value
                .as_ref()
                .map_or_else(String::new, |v| format!(" {v}"));
            return Err(Failure::NotFound(format!(
                "entry {} has no {}{value}; nothing was changed",
                stored.id, removal.name
            )));
        }
    }
    let texts = [
        ("SUMMARY", &args.title),
        ("LOCATION", &args.place),
        ("DESCRIPTION", &args.notes),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            record.set(at, name, text, &zones)?;
        }
    }
    for Assignment { name, value } in &args.set {
        record.set(at, name, value, &zones)?;
    }
    if !args.time.is_empty() {
        let here = zone_of(app, &record);
        retime(&mut record, at, &args.time, &here, &zones)?;
        let at = record.master_index();
        let sequence = record.master().sequence.saturating_add(1);
        record.set(at, "SEQUENCE", &sequence.to_string(), &zones)?;
    }
    if !args.alarm.is_empty() {
        let at = record.master_index();
        let main = record.master();
        let before: Vec<Duration> = args.alarm.iter().copied().flatten().collect();
        if before.len() != args.alarm.len() && args.alarm.len() > 1 {
            return Err(Failure::usage("--alarm none goes with no other --alarm"));
        }
        if !before.is_empty() && main.start.is_none() && main.due.is_none() {
            return Err(Failure::usage(NO_START));
        }
        let after = before.into_iter().map(before_start);
        record.set_alarms(at, &after.collect::<Result<Vec<_>>>()?, &zones)?;
    }
    let now = Timestamp::from(std::time::SystemTime::now()).to_string();
    record.set(record.master_index(), "LAST-MODIFIED", &now, &zones)?;
    understood(&record, Some(&before))?;
    Ok(record)
}

/// Where and when it is for whoever changes the entry: in its own zone, unless another is said.
fn zone_of(app: &App, record: &CalendarObject) -> LocalNow {
    match record.master().start.as_ref().and_then(CalendarTime::zone) {
        Some(zone) if app.out.zone.is_none() && *zone != TimeZone::UTC => {
            LocalNow::now(zone.clone())
        }
        _ => here(&app.out),
    }
}
