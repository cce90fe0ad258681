//! `etui calendar`: what is on, and changing it.

mod add;
mod agenda;
mod alarms;
mod edit;
mod find;
mod freebusy;
mod list;
mod paged;
mod property;
mod record;
mod remove;
mod reschedule;
mod restore;
mod show;
mod span_args;
mod time_args;
mod watch;

use clap::Subcommand;
use etui::calendar::time::TimeZone;

use crate::app::App;
use crate::datetime;
use crate::errors::Result;

/// Shown under the help of `etui calendar`.
const EXAMPLES: &str = "\
Examples:
  etui calendar agenda                       today and the six days after it
  etui calendar agenda month                 this month
  etui calendar add \"Jour fixe\" --start \"monday 9:00\" --repeat weekly
  etui calendar find dentist                 titles, places and notes
  etui calendar show 17                      all about number 17
  etui calendar edit 17 --start \"2026-12-01 10:00\"
  etui calendar remove 17
  etui calendar restore 17                   undo its latest change
  etui calendar freebusy --from monday --to friday

Files of calendars:
  etui import calendar.ics                   bring in what any program exports
  etui export --calendars -o all.ics         take all out again, byte for byte

ID is the number in the first column of lists, or a UID.";

/// Which calendar, and what to do with it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    /// The calendar [default: the first one; for agenda, list, find, show, freebusy and alarms: all]
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        help_heading = "Options of calendar commands"
    )]
    calendar: Option<String>,
    /// Read and show times in this zone, such as Europe/Berlin [default: this computer's]
    #[arg(
        long,
        global = true,
        value_name = "ZONE",
        value_parser = datetime::zone,
        help_heading = "Options of calendar commands"
    )]
    zone: Option<TimeZone>,
    #[command(subcommand)]
    command: Command,
}

/// What to do with calendars.
#[derive(Debug, Subcommand)]
enum Command {
    /// Show what is on, day by day
    Agenda(agenda::Args),
    /// List entries by when they start
    List(list::Args),
    /// Find entries
    Find(find::Args),
    /// Show all about an entry
    Show(show::Args),
    /// Add an event or a to-do
    Add(add::Args),
    /// Change an entry
    Edit(edit::Args),
    /// Remove entries
    #[command(visible_alias = "rm", alias = "delete")]
    Remove(remove::Args),
    /// Undo an entry's latest change, also a removal
    #[command(alias = "undo")]
    Restore(restore::Args),
    /// Show when time is taken
    #[command(visible_alias = "busy")]
    Freebusy(freebusy::Args),
    /// Show which alarms are due next
    Alarms(alarms::Args),
    /// Tell of changes as they happen
    Watch(watch::Args),
    /// List calendars; make, rename, remove one, bring one back
    Calendars(super::calendars::Args),
}

/// Does what was asked.
pub fn run(app: &mut App, args: Args) -> Result<()> {
    let calendar = args.calendar.as_deref();
    app.out.zone = args.zone;
    match args.command {
        Command::Agenda(args) => agenda::run(app, calendar, &args),
        Command::List(args) => list::run(app, calendar, &args),
        Command::Find(args) => find::run(app, calendar, &args),
        Command::Show(args) => show::run(app, calendar, &args),
        Command::Add(args) => add::run(app, calendar, &args),
        Command::Edit(args) => edit::run(app, calendar, &args),
        Command::Remove(args) => remove::run(app, calendar, &args),
        Command::Restore(args) => restore::run(app, calendar, &args),
        Command::Freebusy(args) => freebusy::run(app, calendar, &args),
        Command::Alarms(args) => alarms::run(app, calendar, &args),
        Command::Watch(args) => watch::run(app, calendar, &args),
        Command::Calendars(args) => super::calendars::run(app, &args),
    }
}
