//! `etui calendar add`: a new event or to-do.

use etui::calendar::time::Duration;
use etui::calendar::zones::TimeZoneResolver;
use etui::calendar::{CalendarObject, Draft};
use etui::{Condition, Error};

use super::property::{Assignment, assignment};
use super::record::{start_of, understood};
use super::span_args::here;
use super::time_args::{EventEnd, TimeArgs, before_start};
use crate::app::{App, calendar_to_fill};
use crate::commands::records::{RecordCommands, named};
use crate::datetime::{LocalNow, length, short};
use crate::errors::{Failure, Result};
use crate::output::json::RecordChangeObject;
use crate::output::{one_line, shown};

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

An event without --end and --duration is an hour long, or a day. Files: see `etui import --help`.";

/// Add an event or a to-do
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What it is about
    #[arg(value_name = "TITLE")]
    title: String,
    #[command(flatten)]
    time: TimeArgs,
    /// Where
    #[arg(long, value_name = "TEXT")]
    place: Option<String>,
    /// More about it
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// What it belongs to
    #[arg(long, value_name = "NAME")]
    category: Vec<String>,
    /// Remind so long before the start (before it is due, without a start): 10m, 1d, 0m
    #[arg(long, value_name = "LENGTH", value_parser = length, allow_hyphen_values = true)]
    alarm: Vec<Duration>,
    /// A to-do, also without --due
    #[arg(long)]
    todo: bool,
    /// Any other property
    #[arg(long, value_name = "PROP=VALUE", value_parser = assignment)]
    set: Vec<Assignment>,
}

/// Adds it.
pub fn run(app: &mut App, name: Option<&str>, args: &Args) -> Result<()> {
    let here = here(&app.out);
    let record = make(args, &here)?;
    let store = app.open_or_create(&app.options())?;
    let calendar = calendar_to_fill(&store, name)?;
    let uid = record.uid().unwrap_or_default().to_owned();
    let saved = match calendar.save_if(&record, Condition::IfAbsent) {
        Err(Error::Conflict { uid, .. }) => {
            return Err(Failure::Conflict(format!(
                "an entry with the UID {uid} is there already: etui calendar show {}",
                shown(&uid)
            )));
        }
        saved => saved?,
    };
    store.close()?;
    let title = record.title();
    if app.out.json {
        return app
            .out
            .object(&RecordChangeObject::saved(&saved, &uid, &title));
    }
    let title = named::<CalendarObject>(title);
    let when = start_of(&record).map_or_else(String::new, |start| {
        format!(", {}", short(start, &here.zone))
    });
    app.out
        .say(format!("Added {}: {}{when}", saved.id, one_line(&title)))?;
    app.out.say(format!("UID {}", shown(&uid)))
}

fn make(args: &Args, here: &LocalNow) -> Result<CalendarObject> {
    let time = &args.time;
    let is_todo = args.todo || time.due.is_some();
    let mut draft = match is_todo {
        true => Draft::todo(&args.title),
        false => Draft::event(&args.title),
    };
    let today = here.now.date();
    let (start, due) = (time.starts(today, here)?, time.due(today, here)?);
    match (&start, &due) {
        (None, None) if !is_todo => {
            return Err(Failure::usage(
                "when? --start WHEN, for example --start \"monday 9:00\"; or --todo",
            ));
        }
        (None, _) if time.end.is_some() || time.duration.is_some() => {
            return Err(Failure::usage("--end and --duration need a --start"));
        }
        (Some(_), Some(_)) if time.end.is_some() || time.duration.is_some() => {
            return Err(Failure::usage("a to-do that is due has no other end"));
        }
        _ => {}
    }
    if let Some(start) = &start {
        draft = draft.start(start.clone());
        match time.ends(start, here)? {
            Some(EventEnd::At(end)) => draft = draft.end(end),
            Some(EventEnd::After(length)) => draft = draft.duration(length),
            None if !is_todo => draft = draft.duration(TimeArgs::usual_length(start)),
            None => {}
        }
    }
    if let (Some(start), Some(due)) = (&start, &due)
        && (start.is_date() != due.is_date() || due.at(&here.zone) <= start.at(&here.zone))
    {
        return Err(Failure::usage(
            "--due must be behind --start, and a day or a time as that is",
        ));
    }
    let anchor = start.or_else(|| due.clone());
    if let Some(due) = due {
        draft = draft.end(due);
    }
    match &anchor {
        Some(anchor) => {
            if let Some(rule) = time.rule(anchor, here)? {
                draft = draft.rule(rule);
            }
        }
        None if time.repeat.is_some() || !args.alarm.is_empty() => {
            return Err(Failure::usage("--repeat and --alarm need --start or --due"));
        }
        None => {}
    }
    if let Some(place) = &args.place {
        draft = draft.location(place);
    }
    if let Some(notes) = &args.notes {
        draft = draft.description(notes);
    }
    for category in &args.category {
        draft = draft.category(category);
    }
    for before in &args.alarm {
        draft = draft.alarm(before_start(*before)?);
    }
    let zones = TimeZoneResolver::new();
    let mut record = draft.make(&zones)?;
    for Assignment { name, value } in &args.set {
        record.set(0, name, value, &zones)?;
    }
    understood(&record, None)?;
    Ok(record)
}
