//! `etui eds`: the store as Evolution Data Server, for every desktop program that uses it.

mod serve;
mod status;
mod switch;

use etui_eds::switch::Lasting;
use etui_program::services::eds::{EdsArgs, EdsCommand};
use etui_program::{App, Result};

pub fn run_command(app: &mut App, args: &EdsArgs) -> Result<()> {
    match &args.command {
        EdsCommand::Status => status::show_status(app),
        EdsCommand::Try(args) => switch::switch_on(app, args, Lasting::Session),
        EdsCommand::On(args) => switch::switch_on(app, args, Lasting::Permanent),
        EdsCommand::Off(args) => switch::switch_off(app, args),
        EdsCommand::Serve(args) => serve::serve_store(app, args),
    }
}
