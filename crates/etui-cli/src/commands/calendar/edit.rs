//! `etui calendar edit`: changes an entry, by options or in an editor.

use std::path::PathBuf;

use etui::calendar::time::{Duration, Time, Timestamp};
use etui::calendar::zones::Zones;
use etui::calendar::{Calendar, Record};
use etui::collection::Stored;

use super::property::{Assignment, assignment, removal};
use super::record::{holding, read};
use super::show::moved;
use super::timed::{Ends, TimeArgs, end_of_rule};
use super::when::here;
use crate::app::App;
use crate::commands::records::property::Removal;
use crate::commands::records::{change, resolve};
use crate::errors::{Failure, Result};
use crate::times::Here;

const EXAMPLES: &str = "\
Examples:
  etui calendar edit 17                                  in your editor ($VISUAL, $EDITOR)
  etui calendar edit 17 --start \"tue 10:00\"              it stays as long as it is
  etui calendar edit 17 --duration 90m --place \"Room 5\"
  etui calendar edit 17 --repeat \"weekly until 2027-06-30\"
  etui calendar edit 17 --repeat never
  etui calendar edit 17 --set status=CANCELLED --remove notes
  etui calendar edit 17 --from meeting.ics               replace the whole text

Removals are done first. All other lines of the text stay as they are. Of an entry that recurs, all
times are changed; those that have a change of their own keep it. For a single one use the editor.
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
    /// Change a property, or add it
    #[arg(long, value_name = "PROP=VALUE", value_parser = assignment)]
    set: Vec<Assignment>,
    /// Remove a property, all of that name or the one with that value
    #[arg(long, value_name = "PROP[=VALUE]", value_parser = removal)]
    remove: Vec<Removal>,
    /// Replace the text by the one in this file; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "title", "start", "end", "duration", "all_day", "due", "repeat", "place", "notes", "set",
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
            || !(self.time.is_empty() && self.set.is_empty() && self.remove.is_empty())
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

/// The record with the options' changes.
fn changed(
    app: &App,
    calendar: &Calendar<'_>,
    stored: &Stored<Record>,
    args: &Args,
) -> Result<Record> {
    let zones = calendar.zones(stored.id)?;
    let (_, mut record) = read(calendar, &stored.uid)?;
    let at = record.main_at();
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
        let at = record.main_at();
        let sequence = record.main().sequence.saturating_add(1);
        record.set(at, "SEQUENCE", &sequence.to_string(), &zones)?;
    }
    let now = Timestamp::from(std::time::SystemTime::now()).to_string();
    record.set(record.main_at(), "LAST-MODIFIED", &now, &zones)?;
    Ok(record)
}

/// Gives it another time.
fn retime(
    record: &mut Record,
    at: usize,
    args: &TimeArgs,
    here: &Here,
    zones: &Zones,
) -> Result<()> {
    let before = record.main().clone();
    let start = match (args.starts(here)?, &before.start) {
        (Some(start), _) => Some(start),
        (None, Some(Time::Zoned(wall, _))) if args.all_day => Some(Time::Date(wall.date())),
        (None, Some(start)) if args.all_day => Some(Time::Date(start.wall().date())),
        (None, start) => start.clone(),
    };
    if let (Some(start), true) = (&start, start != before.start) {
        record.set_time(at, "DTSTART", start, zones)?;
    }
    let ends = match &start {
        Some(start) => match args.ends(start, here)? {
            None => kept_end(&before.start, &before.end, start),
            said => said,
        },
        None if args.end.is_some() || args.duration.is_some() => {
            return Err(Failure::usage(
                "it has no start; give it one with --start, or say when it is due: --due",
            ));
        }
        None => None,
    };
    match ends {
        Some(Ends::At(end)) => {
            record.remove(at, "DURATION", None, zones)?;
            record.set_time(at, "DTEND", &end, zones)?;
        }
        Some(Ends::After(length)) => {
            record.remove(at, "DTEND", None, zones)?;
            record.set(at, "DURATION", &length.to_string(), zones)?;
        }
        None => {}
    }
    if let Some(due) = args.due(here)? {
        record.remove(at, "DURATION", None, zones)?;
        record.set_time(at, "DUE", &due, zones)?;
    }
    match (&args.repeat, &start) {
        (Some(never), _) if never.eq_ignore_ascii_case("never") => {
            // Without a recurrence there is nothing for other components to change.
            let text = record.texts().nth(at).unwrap_or_default().to_vec();
            *record = Record::parse(text, zones)?;
            for name in ["RRULE", "RDATE", "EXDATE", "EXRULE"] {
                record.remove(0, name, None, zones)?;
            }
        }
        (Some(_), Some(start)) => {
            if let Some(rule) = args.rule(start, here)? {
                record.set(at, "RRULE", &rule.to_string(), zones)?;
            }
        }
        (Some(_), None) => return Err(Failure::usage("--repeat needs a --start")),
        (None, Some(start)) if before.all_day != start.is_date() => {
            // How a rule says its end depends on what the start is.
            let rules = before.timing.map(|t| t.rules).unwrap_or_default();
            if let [rule] = rules.as_slice()
                && let Some(until) = rule.until
            {
                let mut rule = rule.clone();
                rule.until = Some(end_of_rule(until, start));
                record.set(at, "RRULE", &rule.to_string(), zones)?;
            }
        }
        (None, _) => {}
    }
    Ok(())
}

/// Where and when it is for whoever changes the entry: in its own zone, unless another is said.
fn zone_of(app: &App, record: &Record) -> Here {
    match record.main().start.as_ref().and_then(Time::zone) {
        Some(zone) if app.out.zone.is_none() => Here::now(zone.clone()),
        _ => here(&app.out),
    }
}

/// The end that leaves an entry as long as it was, by the clock, when it starts at another time.
fn kept_end(before: &Option<Time>, end: &Option<Time>, start: &Time) -> Option<Ends> {
    let (before, end) = (before.as_ref()?, end.as_ref()?);
    if before == start {
        return None;
    }
    if before.is_date() != start.is_date() {
        return Some(Ends::After(TimeArgs::usual_length(start)));
    }
    let length = match (before, end) {
        (Time::Zoned(wall, zone), Time::Zoned(other, its)) if zone == its => {
            other.seconds() - wall.seconds()
        }
        (Time::Date(_) | Time::Floating(_), end) => end.wall().seconds() - before.wall().seconds(),
        (before, end) => {
            let zone = before
                .zone()
                .cloned()
                .unwrap_or(etui::calendar::time::Zone::UTC);
            end.at(&zone).seconds() - before.at(&zone).seconds()
        }
    };
    let end = moved(start, Duration::from_seconds(length));
    Some(Ends::At(end))
}
