//! `etui calendar`: agenda, search and changes of calendar entries.

mod add;
mod agenda;
mod alarms;
mod browse;
mod edit;
mod entry_changes;
mod entry_form;
mod exceptions;
mod freebusy;
mod help;
mod month;
mod next;
mod next_time;
mod property;
mod record;
mod reschedule;
mod show;
mod single;
mod span_args;
mod time_args;
mod todos;

use clap::Subcommand;
use etui::calendar::CalendarObject;
use etui_program::{App, CalendarOptions, Result};

use super::records::RecordCommand;
use super::services::run_session;
use etui_program::services::remind::RemindArgs;

const EXAMPLES: &str = "\
Examples:
  etui calendar agenda                       the next seven days
  etui calendar month                        a month as a grid
  etui calendar add \"Jour fixe\" --start \"monday 9:00\" --repeat weekly
  etui calendar add \"Lunch with Bob tomorrow 12:30\"
  etui calendar find dentist                 search titles, locations and notes
  etui calendar find dentist --next          the next one, in one line
  etui calendar show 17                      show entry number 17
  etui calendar edit 17 --start \"2026-12-01 10:00\"
  etui calendar remove 17
  etui calendar restore 17                   undo the latest change
  etui calendar history 17                   its earlier versions
  etui calendar move --to Work 17            to another calendar
  etui calendar skip 17 --on friday          leave out one time of a series
  etui calendar todos                        open to-dos; complete one: etui calendar done 17
  etui calendar freebusy --from monday --to friday
  etui calendar remind                       notify of alarms as they become due

Calendars and files:
  etui calendars                             list, create and remove calendars
  etui import calendar.ics                   import an iCalendar file
  etui export --calendars -o all.ics         export all calendars, byte for byte

ID is the number in the first column of lists, or a UID.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct CalendarArgs {
    #[command(flatten)]
    options: CalendarOptions,
    #[command(subcommand)]
    command: CalendarCommand,
}

#[derive(Debug, Subcommand)]
enum CalendarCommand {
    Agenda(agenda::AgendaArgs),
    Month(month::MonthArgs),
    #[command(flatten)]
    Records(Box<RecordCommand<CalendarObject>>),
    #[command(visible_alias = "busy")]
    Freebusy(freebusy::FreeBusyArgs),
    Alarms(alarms::AlarmsArgs),
    Remind(RemindArgs),
    Todos(todos::TodosArgs),
    Done(single::DoneArgs),
    Skip(single::SkipArgs),
    Move(single::MoveArgs),
}

pub fn run_command(app: &mut App, args: CalendarArgs) -> Result<()> {
    app.select_calendar(&args.options);
    match args.command {
        CalendarCommand::Agenda(args) => agenda::show_agenda(app, &args),
        CalendarCommand::Month(args) => month::show_month(app, &args),
        CalendarCommand::Records(command) => command.run_command(app),
        CalendarCommand::Freebusy(args) => freebusy::show_free_busy(app, &args),
        CalendarCommand::Alarms(args) => alarms::show_alarms(app, &args),
        CalendarCommand::Remind(_) => Err(run_session(&["calendar", "remind"])),
        CalendarCommand::Todos(args) => todos::list_todos(app, &args),
        CalendarCommand::Done(args) => single::complete_todos(app, &args),
        CalendarCommand::Skip(args) => single::skip_instance(app, &args),
        CalendarCommand::Move(args) => single::move_entries(app, &args),
    }
}
