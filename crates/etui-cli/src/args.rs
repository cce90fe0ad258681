//! The command line: one definition feeds parsing, help, manual pages and completions.
//!
//! The arguments of each command are declared in the command's own module, the options of all in
//! `global_args`.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands as c;
use crate::errors::Failure;
use crate::global_args::GlobalArgs;

const EXAMPLES: &str = "\
Examples:
  etui demo                          try it on generated data; your own store is not touched
  etui import contacts.vcf           import your contacts
  etui import calendar.ics           ... and your calendar
  etui contacts find ann             search names, organisations, e-mail addresses and phones
  etui contacts show 17              show contact number 17
  etui calendar agenda week          show this week
  etui export -o contacts.vcf        export all contacts, byte for byte

Exit codes: 0 success, 1 failure, 2 usage error, 3 some input rejected, 4 not found,
5 edit conflict, 6 store unusable, 7 store damaged.";

/// Contacts and calendars in one file on your own device
#[derive(Debug, Parser)]
#[command(
    name = "etui",
    version,
    after_help = EXAMPLES,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct CommandLine {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Demo(c::demo::DemoArgs),
    Init(c::init::InitArgs),
    Import(c::import::ImportArgs),
    /// List, find, show and change contacts
    #[command(subcommand, alias = "contact", after_help = c::contacts::EXAMPLES)]
    Contacts(c::contacts::ContactsCommand),
    /// Show the agenda; list, find and change calendar entries
    #[command(alias = "cal")]
    Calendar(Box<c::calendar::CalendarArgs>),
    /// List, create, rename, remove and restore address books
    #[command(after_help = c::collections::ADDRESS_BOOK_EXAMPLES)]
    Addressbooks(c::collections::CollectionsArgs<etui::contacts::Card>),
    /// List, create, rename, remove and restore calendars
    #[command(after_help = c::collections::CALENDAR_EXAMPLES)]
    Calendars(c::collections::CollectionsArgs<etui::calendar::CalendarObject>),
    Export(c::export::ExportArgs),
    Conflicts(c::conflicts::ConflictsArgs),
    Check(c::check::CheckArgs),
    Backup(c::backup::BackupArgs),
    Restore(c::restore::RestoreBackupArgs),
    Undo(c::undo::UndoArgs),
    Purge(c::purge::PurgeArgs),
    Serve(c::serve::ServeArgs),
    Eds(c::eds::EdsArgs),
    Media(c::media::MediaArgs),
    Settings(c::settings::SettingsArgs),
    Stats(c::stats::StatsArgs),
    Generate(c::generate::GenerateArgs),
    /// Repeat the storage studies on this machine (runs etui-lab)
    Lab(c::lab::LabArgs),
    Completions(c::completions::CompletionsArgs),
    Man(c::man::ManArgs),
}

/// Returns the definition of the command line.
pub fn clap_command() -> clap::Command {
    CommandLine::command()
}

/// Parses the command line; also returns the words of the command, such as `contacts edit`. A usage error
/// is printed, as JSON with `--json`; the result is then its exit code.
pub fn parse_command_line() -> Result<(CommandLine, String), ExitCode> {
    let mut command = clap_command();
    let parsed = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = parsed.and_then(|matches| {
        let words = command_words(&matches);
        let parsed = CommandLine::from_arg_matches(&matches);
        let parsed = parsed.map_err(|error| error.format(&mut command))?;
        Ok((parsed, words))
    });
    parsed.map_err(|mut error| {
        drop_value_tips(&mut error);
        name_inner_command(&mut error, &command);
        let wants_json = std::env::args_os().any(|arg| arg == "--json");
        if wants_json && error.use_stderr() {
            let text = error.render().to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            crate::output::write_json_error(&Failure::usage(text.trim_end()));
        } else {
            // A closed pipe has no reader to report to.
            let _ = error.print();
        }
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

/// Returns the names of the command and its subcommands.
fn command_words(matches: &ArgMatches) -> String {
    let mut words = Vec::new();
    let mut matches = matches;
    while let Some((name, inner)) = matches.subcommand() {
        words.push(name);
        matches = inner;
    }
    words.join(" ")
}

/// Replaces the tips for an unknown command by the commands of that name elsewhere: `etui agenda` is
/// `etui calendar agenda`.
fn name_inner_command(error: &mut clap::Error, command: &clap::Command) {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    // Of an outer command, not of one inside it.
    let mut given = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    if given.next().as_ref() != Some(word) {
        return;
    }
    let is_named = |command: &clap::Command, word: &str| {
        command.get_name() == word || command.get_all_aliases().any(|alias| alias == word)
    };
    let inner = command.get_subcommands().flat_map(|outer| {
        let inner = outer.get_subcommands();
        let inner = inner.filter(|inner| !inner.is_hide_set() && is_named(inner, word));
        inner.map(|inner| format!("etui {} {}", outer.get_name(), inner.get_name()))
    });
    let inner: Vec<String> = inner.collect();
    if !inner.is_empty() {
        error.remove(ContextKind::SuggestedSubcommand);
        let tips = inner
            .iter()
            .map(|inner| format!("did you mean: {inner}").into());
        let tips = ContextValue::StyledStrs(tips.collect());
        error.insert(ContextKind::Suggested, tips);
    }
}

/// Drops the tip to pass a mistyped option as a value, after `--`: no value begins with two hyphens.
fn drop_value_tips(error: &mut clap::Error) {
    let is_option = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(arg)) => arg.starts_with("--"),
        _ => false,
    };
    let Some(ContextValue::StyledStrs(tips)) = error.get(ContextKind::Suggested) else {
        return;
    };
    let mut kept = tips.clone();
    kept.retain(|tip| !tip.to_string().starts_with("to pass '"));
    if is_option && kept.len() < tips.len() {
        error.remove(ContextKind::Suggested);
        if !kept.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(kept));
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definition_is_consistent() {
        super::clap_command().debug_assert();
    }
}
