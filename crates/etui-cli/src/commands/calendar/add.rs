//! `etui calendar add`.

use etui::calendar::time::Duration;
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{CalendarObject, Draft};
use etui::{Condition, Error};

use super::property::{EntryAssignment, parse_assignment, parse_title};
use super::record::{check_understood, start_or_due};
use super::span_args::local_now;
use super::time_args::{EventEnd, TimeArgs, offset_before_start};
use crate::app::App;
use crate::commands::records::report_saved;
use crate::datetime::{LocalNow, format_short, parse_duration};
use crate::errors::{Failure, Result};
use crate::output::escape_text;

const EXAMPLES: &str = "\
Examples:
  etui calendar add Lunch --start 12:30 --place Canteen --alarm 10m
  etui calendar add \"Jour fixe\" --start \"mon 9:00\" --duration 45m --repeat \"weekly on mon,thu\"
  etui calendar add Holidays --start 2026-12-24 --end 2027-01-06
  etui calendar add Call --start \"tomorrow 15:00\" --zone America/New_York
  etui calendar add \"Tax return\" --due 2027-05-31 --alarm 1w
  etui calendar add \"Buy milk\" --todo
  etui calendar add Talk --start \"fri 14:00\" --set url=https://example.org --set class=PRIVATE

WHEN  18:30, today, tomorrow, monday, 2026-12-24, +3d, or a day and a time: \"mon 9:00\"
HOW   daily, weekdays, \"every 2 weeks on mon, thu\", \"monthly on the 15th\", \"yearly 10 times\"

Without --end and --duration, an event lasts one hour, or one day. `etui import` imports files.";

/// Add an event or a to-do
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct AddEntryArgs {
    /// Title
    #[arg(value_name = "TITLE", value_parser = parse_title)]
    title: String,
    #[command(flatten)]
    time: TimeArgs,
    /// Location
    #[arg(long, value_name = "TEXT")]
    place: Option<String>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// Category
    #[arg(long, value_name = "NAME")]
    category: Vec<String>,
    /// Alarm this long before the start, or before the due time: 10m, 1d, 0m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_hyphen_values = true)]
    alarm: Vec<Duration>,
    /// Add a to-do, even without --due
    #[arg(long)]
    todo: bool,
    /// Any other property
    #[arg(long, value_name = "PROP=VALUE", value_parser = parse_assignment)]
    set: Vec<EntryAssignment>,
}

pub fn add_entry(app: &mut App, args: &AddEntryArgs) -> Result<()> {
    let here = local_now(&app.out);
    let record = build_record(args, &here)?;
    let store = app.open_or_create(app.store_options()?)?;
    let calendar = app.open_target_calendar(&store)?;
    let uid = record.uid().unwrap_or_default().to_owned();
    let saved = match calendar.save_if(&record, Condition::IfAbsent) {
        Err(Error::Conflict { uid, .. }) => {
            return Err(Failure::Conflict(format!(
                "an entry with the UID {uid} already exists: etui calendar show {}",
                escape_text(&uid)
            )));
        }
        saved => saved?,
    };
    store.close()?;
    let when = start_or_due(&record).map_or_else(String::new, |start| {
        format!(", {}", format_short(start, &here.zone))
    });
    report_saved(&mut app.out, &record, &saved, &uid, |title| {
        format!(
            "Added {}: {title}{when}\nUID {}",
            saved.id,
            escape_text(&uid)
        )
    })
}

fn build_record(args: &AddEntryArgs, here: &LocalNow) -> Result<CalendarObject> {
    let time = &args.time;
    let is_todo = args.todo || time.due.is_some();
    let mut draft = match is_todo {
        true => Draft::todo(&args.title),
        false => Draft::event(&args.title),
    };
    let today = here.now.date();
    let (start, due) = (time.parse_start(today, here)?, time.parse_due(today, here)?);
    match (&start, &due) {
        (None, None) if !is_todo => {
            return Err(Failure::usage(
                "give --start WHEN, for example --start \"monday 9:00\"; or --todo",
            ));
        }
        (None, _) if time.end.is_some() || time.duration.is_some() => {
            return Err(Failure::usage("--end and --duration need a --start"));
        }
        (Some(_), Some(_)) if time.end.is_some() || time.duration.is_some() => {
            return Err(Failure::usage(
                "a to-do with --due takes no --end or --duration",
            ));
        }
        _ => {}
    }
    if let Some(start) = &start {
        draft = draft.start(start.clone());
        match time.parse_end(start, here)? {
            Some(EventEnd::At(end)) => draft = draft.end(end),
            Some(EventEnd::After(length)) => draft = draft.duration(length),
            None if !is_todo => draft = draft.duration(TimeArgs::default_duration(start)),
            None => {}
        }
    }
    if let (Some(start), Some(due)) = (&start, &due)
        && (start.is_date() != due.is_date() || due.at(&here.zone) <= start.at(&here.zone))
    {
        return Err(Failure::usage(
            "--due must be after --start; either both or none have a time of day",
        ));
    }
    let anchor = start.or_else(|| due.clone());
    if let Some(due) = due {
        draft = draft.end(due);
    }
    match &anchor {
        Some(anchor) => {
            if let Some(rule) = time.parse_rule(anchor, here)? {
                draft = draft.rule(rule);
            }
        }
        None if time.repeat.is_some() || !args.alarm.is_empty() => {
            return Err(Failure::usage("--repeat and --alarm need --start or --due"));
        }
        None => {}
    }
    draft = args
        .place
        .iter()
        .fold(draft, |draft, text| draft.location(text));
    draft = args
        .notes
        .iter()
        .fold(draft, |draft, text| draft.description(text));
    draft = args
        .category
        .iter()
        .fold(draft, |draft, name| draft.category(name));
    for before in &args.alarm {
        draft = draft.alarm(offset_before_start(*before)?);
    }
    let zones = TimeZoneResolver::new();
    let mut record = draft.make(&zones)?;
    for EntryAssignment { name, value } in &args.set {
        record.set(0, name, value, &zones)?;
    }
    check_understood(&record, None)?;
    Ok(record)
}
