//! A file per command: its arguments, its help, what it does.

pub mod addressbooks;
pub mod backup;
pub mod calendar;
pub mod calendars;
pub mod check;
pub mod completions;
pub mod contacts;
pub mod demo;
pub mod export;
pub mod generate;
pub mod import;
pub mod init;
pub mod lab;
pub mod man;
pub mod recover;
pub mod restore;
pub mod stats;

mod collections;
mod new_file;
mod records;

use crate::app::App;
use crate::args::Command;
use crate::errors::Result;

/// Does what was asked.
pub fn run(app: &mut App, command: Command) -> Result<()> {
    match command {
        Command::Demo(args) => demo::run(app, &args),
        Command::Init(args) => init::run(app, &args),
        Command::Import(args) => import::run(app, &args),
        Command::Calendar(args) => calendar::run(app, *args),
        Command::Contacts(command) => contacts::run(app, command),
        Command::Export(args) => export::run(app, &args),
        Command::Check(args) => check::run(app, &args),
        Command::Backup(args) => backup::run(app, &args),
        Command::Restore(args) => restore::run(app, &args),
        Command::Recover(args) => recover::run(app, &args),
        Command::Stats(args) => stats::run(app, &args),
        Command::Generate(args) => generate::run(app, &args),
        Command::Lab(args) => lab::run(app, &args),
        Command::Completions(args) => completions::run(app, &args),
        Command::Man(args) => man::run(app, &args),
    }
}
