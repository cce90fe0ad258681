//! The program `etui-serve`, which `etui serve` and `etui sync` start.

mod program;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use etui_program::services::serve::{HttpArgs, ServeArgs, ServeCommand};
use etui_program::services::sync::SyncArgs;
use etui_program::{GlobalArgs, run_command};

#[derive(Debug, Parser)]
#[command(name = "etui-serve", version, max_term_width = 100)]
struct CommandLine {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(flatten)]
    serve: ServeArgs,
}

/// `etui-serve sync`, which `etui sync` starts.
#[derive(Debug, Parser)]
#[command(
    name = "etui-serve sync",
    bin_name = "etui sync",
    about = "Keep the store in step with accounts on CardDAV and CalDAV servers",
    long_about = None,
    version,
    max_term_width = 100
)]
struct SyncCommandLine {
    // Before the others, whose heading is for all that follow.
    #[command(flatten)]
    sync: SyncArgs,
    #[command(flatten)]
    global: GlobalArgs,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    if arguments.nth(1).is_some_and(|word| word == "sync") {
        let line = SyncCommandLine::parse_from(std::env::args_os().skip(1));
        return run_command(&line.global, Some("sync"), |app| {
            program::sync(app, &line.sync)
        });
    }
    let line = parse_command_line().unwrap_or_else(|error| error.exit());
    // What a service does on the way is not one step.
    let step = match &line.serve.command {
        Some(ServeCommand::AddDevice(_)) => Some("serve add-device"),
        Some(ServeCommand::Devices) => Some("serve devices"),
        Some(ServeCommand::ChangeDevice(_)) => Some("serve change-device"),
        Some(ServeCommand::RemoveDevice(_)) => Some("serve remove-device"),
        Some(ServeCommand::AddPerson(_)) => Some("serve add-person"),
        Some(ServeCommand::People(_)) => Some("serve people"),
        Some(ServeCommand::Share(_)) => Some("serve share"),
        Some(ServeCommand::Unshare(_)) => Some("serve unshare"),
        Some(ServeCommand::Shares) => Some("serve shares"),
        None => None,
    };
    run_command(&line.global, step, |app| program::run(app, &line.serve))
}

/// Parses the command line. Of the options before a command, those of the server are refused, and the
/// global ones are not; clap would refuse both.
fn parse_command_line() -> clap::error::Result<CommandLine> {
    let mut definition = CommandLine::command().args_conflicts_with_subcommands(false);
    let matches = definition.try_get_matches_from_mut(std::env::args_os())?;
    let of_server = HttpArgs::augment_args(clap::Command::new("serve"));
    let mut given = of_server.get_arguments().filter(|option| {
        let source = matches.value_source(option.get_id().as_str());
        source == Some(ValueSource::CommandLine)
    });
    if let Some((command, _)) = matches.subcommand()
        && let Some(option) = given.next()
    {
        let option = option.get_long().unwrap_or_default();
        let message = format!("--{option} is an option of the server, not of {command}");
        return Err(definition.error(ErrorKind::ArgumentConflict, message));
    }
    CommandLine::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))
}
