//! The program `etui-session`: what runs in the desktop's session. `etui eds`, `etui dbus` and
//! `etui calendar remind` start it.

mod dbus;
mod eds;
mod remind;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use etui_program::services::dbus::DbusArgs;
use etui_program::services::eds::{EdsArgs, EdsCommand};
use etui_program::services::remind::RemindArgs;
use etui_program::{CalendarOptions, GlobalArgs, run_command};

/// etui in the desktop's session: Evolution Data Server's interfaces, its own, reminders
#[derive(Debug, Parser)]
#[command(name = "etui-session", version, max_term_width = 100)]
struct CommandLine {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Eds(EdsArgs),
    Dbus(DbusArgs),
    Remind(CalendarRemindArgs),
}

#[derive(Debug, clap::Args)]
struct CalendarRemindArgs {
    #[command(flatten)]
    options: CalendarOptions,
    #[command(flatten)]
    args: RemindArgs,
}

fn main() -> ExitCode {
    let line = CommandLine::parse();
    // What a service does on the way is not one step.
    let step = match &line.command {
        Command::Eds(args) if !matches!(args.command, EdsCommand::Serve(_)) => Some("eds"),
        _ => None,
    };
    run_command(&line.global, step, |app| match &line.command {
        Command::Eds(args) => eds::run_command(app, args),
        Command::Dbus(args) => dbus::serve_bus(app, args),
        Command::Remind(remind) => {
            app.select_calendar(&remind.options);
            remind::run_reminders(app, &remind.args)
        }
    })
}
