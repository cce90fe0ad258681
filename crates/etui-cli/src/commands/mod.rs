//! A module per command: its arguments, help and implementation.

pub mod backup;
pub mod calendar;
pub mod check;
pub mod completions;
pub mod conflicts;
pub mod contacts;
pub mod demo;
pub mod export;
pub mod generate;
pub mod import;
pub mod init;
pub mod lab;
pub mod man;
pub mod media;
pub mod purge;
pub mod restore;
pub mod services;
pub mod settings;
pub mod stats;
pub mod undo;

pub mod collections;
mod export_target;
mod import_tables;
pub mod records;
mod vdir;
mod written_version;

use crate::args::Command;
use etui_program::services::sync::SyncCommand;
use etui_program::{App, Result};

pub fn run_command(app: &mut App, command: Command) -> Result<()> {
    match command {
        Command::Demo(args) => demo::run_demo(app, &args),
        Command::Init(args) => init::create_store(app, &args),
        Command::Import(args) => import::import_files(app, &args),
        Command::Calendar(args) => calendar::run_command(app, *args),
        Command::Calendars(args) if args.is_subscription() => Err(services::run_subscribe()),
        Command::Calendars(args) => args.run_command(app),
        Command::Contacts(command) => command.run_command(app),
        Command::Addressbooks(args) => args.run_command(app),
        Command::Sync(args) => match &args.command {
            Some(SyncCommand::Conflicts { words }) => {
                conflicts::run_command(app, &conflicts::parse_words(words)?)
            }
            _ => Err(services::run_sync()),
        },
        Command::Serve(_) => Err(services::run_serve()),
        Command::Dbus(_) => Err(services::run_session(&["dbus"])),
        Command::Media(args) => media::run_command(app, &args),
        Command::Eds(_) => Err(services::run_session(&["eds"])),
        Command::Export(args) => export::export_records(app, &args),
        Command::Conflicts(args) => conflicts::run_command(app, &args),
        Command::Check(args) => check::check_store(app, &args),
        Command::Backup(args) => backup::back_up_store(app, &args),
        Command::Restore(args) => restore::restore_backup(app, &args),
        Command::Purge(args) => purge::purge_store(app, &args),
        Command::Undo(args) => undo::undo_steps(app, &args),
        Command::Settings(args) => settings::run_settings(app, &args),
        Command::Stats(_) => stats::show_stats(app),
        Command::Generate(args) => generate::generate_data(app, &args),
        Command::Lab(args) => Err(lab::run_lab(args)),
        Command::Completions(args) => completions::write_completions(app, &args),
        Command::Man(args) => man::write_manual(app, &args),
    }
}
