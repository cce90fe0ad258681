//! `etui calendar`: agenda, search and changes of calendar entries.

mod add;
mod agenda;
mod alarms;
mod edit;
mod freebusy;
mod help;
mod list;
mod pager;
mod property;
mod record;
mod reschedule;
mod show;
mod span_args;
mod time_args;

use clap::Subcommand;
use etui::calendar::CalendarObject;
use etui::calendar::time::TimeZone;

use self::record::open_calendar_of;
use super::records::find::{FindArgs, find_records};
use super::records::remove::{RemoveRecordsArgs, remove_records};
use super::records::restore::{RestoreRecordsArgs, list_trash, restore_records};
use super::records::watch::{WatchArgs, watch_records};
use crate::app::{App, open_calendar, readers_in};
use crate::datetime;
use crate::errors::Result;

const EXAMPLES: &str = "\
Examples:
  etui calendar agenda                       the next seven days
  etui calendar agenda month                 this month
  etui calendar add \"Jour fixe\" --start \"monday 9:00\" --repeat weekly
  etui calendar find dentist                 search titles, locations and notes
  etui calendar show 17                      show entry number 17
  etui calendar edit 17 --start \"2026-12-01 10:00\"
  etui calendar remove 17
  etui calendar restore 17                   undo the latest change
  etui calendar freebusy --from monday --to friday

Calendars and files:
  etui calendars                             list, create and remove calendars
  etui import calendar.ics                   import an iCalendar file
  etui export --calendars -o all.ics         export all calendars, byte for byte

ID is the number in the first column of lists, or a UID.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct CalendarArgs {
    /// Calendar [default: the first one; for agenda, list, find, show, freebusy and alarms: all]
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        help_heading = "Calendar options"
    )]
    calendar: Option<String>,
    /// Time zone for reading and showing times, e.g. Europe/Berlin [default: the system's]
    #[arg(
        long,
        global = true,
        value_name = "ZONE",
        value_parser = datetime::parse_zone,
        help_heading = "Calendar options"
    )]
    zone: Option<TimeZone>,
    #[command(subcommand)]
    command: CalendarCommand,
}

#[derive(Debug, Subcommand)]
enum CalendarCommand {
    /// Show the agenda day by day
    Agenda(agenda::AgendaArgs),
    /// List entries by start
    #[command(after_help = help::LIST)]
    List(list::ListEntriesArgs),
    /// Find entries
    #[command(after_help = help::FIND)]
    Find(FindArgs<CalendarObject>),
    /// Show entries in full
    Show(show::ShowEntryArgs),
    /// Add an event or a to-do
    Add(add::AddEntryArgs),
    /// Change an entry
    Edit(edit::EditEntryArgs),
    /// Remove entries
    #[command(visible_alias = "rm", alias = "delete", after_help = help::REMOVE)]
    Remove(RemoveRecordsArgs),
    /// Undo the latest change of entries, including a removal
    #[command(alias = "undo", after_help = help::RESTORE)]
    Restore(RestoreRecordsArgs),
    /// Show busy time
    #[command(visible_alias = "busy")]
    Freebusy(freebusy::FreeBusyArgs),
    /// Show the next alarms
    Alarms(alarms::AlarmsArgs),
    /// Print changes as they happen
    #[command(after_help = help::WATCH)]
    Watch(WatchArgs),
}

pub fn run_command(app: &mut App, args: CalendarArgs) -> Result<()> {
    let name = args.calendar.as_deref();
    app.out.zone = args.zone;
    match args.command {
        CalendarCommand::Agenda(args) => agenda::show_agenda(app, name, &args),
        CalendarCommand::List(args) => list::list_entries(app, name, &args),
        CalendarCommand::Find(args) => {
            let store = app.open_to_read()?;
            let snapshot = store.snapshot()?;
            find_records(app, &readers_in(name, &snapshot)?, &args)
        }
        CalendarCommand::Show(args) => show::show_entries(app, name, &args),
        CalendarCommand::Add(args) => add::add_entry(app, name, &args),
        CalendarCommand::Edit(args) => edit::edit_entry(app, name, &args),
        CalendarCommand::Remove(args) => {
            let store = app.open_to_write()?;
            let calendar = open_calendar_of(&store, name, &args.ids)?;
            remove_records(app, &calendar, &args.ids)?;
            Ok(store.close()?)
        }
        CalendarCommand::Restore(args) if args.list => {
            let store = app.open_to_read()?;
            list_trash(app, &open_calendar(&store, name)?)
        }
        CalendarCommand::Restore(args) => {
            let store = app.open_to_write()?;
            let calendar = open_calendar_of(&store, name, &args.ids)?;
            let restored = restore_records(app, &calendar, &args.ids);
            store.close()?;
            restored
        }
        CalendarCommand::Freebusy(args) => freebusy::show_free_busy(app, name, &args),
        CalendarCommand::Alarms(args) => alarms::show_alarms(app, name, &args),
        CalendarCommand::Watch(args) => {
            let store = app.open_to_read()?;
            watch_records(app, &open_calendar(&store, name)?, &args)?;
            Ok(store.close()?)
        }
    }
}
