//! `etui eds`: the store as Evolution Data Server, for every desktop program that uses it.

pub mod serve;
mod status;
mod switch;

use crate::app::App;
use crate::errors::Result;

const EXAMPLES: &str = "\
Examples:
  etui eds status                  who serves, and what has changed since
  etui eds try                     use the store until logout
  etui eds on                      use the store for good
  etui eds off                     give every change back to the stock server
  etui eds serve                   serve the store until Ctrl-C

`on`, `try` and `off` ask first; without a terminal they need --yes. Programs that have address books or
calendars open are named, and are to be closed and started again. One store serves at a time. `off` is for
all sessions of the user; run it before etui is removed.

If it goes wrong: remove org.gnome.evolution.dataserver.*.service from
~/.local/share/dbus-1/services and log in again; the stock server serves then.";

/// Serve the store to desktop programs, as Evolution Data Server
///
/// GNOME Contacts and Calendar, Evolution and other programs then use the store, unchanged.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct EdsArgs {
    #[command(subcommand)]
    command: EdsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum EdsCommand {
    /// Show who serves, and what has changed since switching on
    Status,
    /// Use the store until logout
    Try(switch::SwitchArgs),
    /// Use the store for good
    On(switch::SwitchArgs),
    /// Give every change back to the stock server, which serves again
    Off(switch::SwitchArgs),
    /// Serve the store on the session bus
    Serve(serve::ServeArgs),
}

pub fn run_command(app: &mut App, args: &EdsArgs) -> Result<()> {
    use etui_eds::switch::Lasting;
    match &args.command {
        EdsCommand::Status => status::show_status(app),
        EdsCommand::Try(args) => switch::switch_on(app, args, Lasting::Session),
        EdsCommand::On(args) => switch::switch_on(app, args, Lasting::Permanent),
        EdsCommand::Off(args) => switch::switch_off(app, args),
        EdsCommand::Serve(args) => serve::serve_store(app, args),
    }
}
