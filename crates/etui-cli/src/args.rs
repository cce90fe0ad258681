//! The command line: one definition feeds parsing, help, manual pages and completions.
//!
//! The arguments of each command are declared in the command's own module, the options of all in
//! `etui-program`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use etui_program::{Failure, GlobalArgs};

use crate::commands as c;
use crate::foreign_words::commands_for;
use etui_program::services::dbus::DbusArgs;
use etui_program::services::eds::EdsArgs;
use etui_program::services::serve::ServeArgs;
use etui_program::services::sync::SyncArgs;

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
    Sync(Box<SyncArgs>),
    Serve(ServeArgs),
    Eds(EdsArgs),
    Dbus(DbusArgs),
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
        name_own_command(&mut error, &command);
        name_long_option(&mut error, &command);
        let error = explain_number(&error).unwrap_or(error);
        let wants_json = std::env::args_os().any(|arg| arg == "--json");
        if wants_json && error.use_stderr() {
            let text = error.render().to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            etui_program::output::write_json_error(&Failure::usage(text.trim_end()));
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

/// Returns the arguments of this process without these words of the command, for the program that runs it.
pub fn arguments_without(words: &[&str]) -> Vec<OsString> {
    let definition = clap_command();
    let mut within = &definition;
    let mut words = words.iter();
    let mut left = words.next();
    let mut is_value = false;
    let mut kept = Vec::new();
    for arg in std::env::args_os().skip(1) {
        let text = arg.to_str().unwrap_or_default();
        let inner = inner_command(within, text).filter(|_| !is_value);
        match (inner, left) {
            (Some(inner), Some(word)) if inner.get_name() == *word => {
                within = inner;
                left = words.next();
            }
            _ => {
                is_value = !is_value && takes_value(within, text);
                kept.push(arg);
            }
        }
    }
    kept
}

/// Returns true for an option whose value is the next argument. The options before a command are few, and
/// all have long names.
fn takes_value(command: &clap::Command, arg: &str) -> bool {
    let name = arg.strip_prefix("--");
    let mut options = command.get_arguments();
    options.any(|option| {
        name.is_some() && option.get_long() == name && option.get_action().takes_values()
    })
}

/// Replaces the tips for an unknown command by etui's own for it: `etui agenda` is `etui calendar agenda`,
/// and `etui contacts new` is `etui contacts add`.
fn name_own_command(error: &mut clap::Error, command: &clap::Command) {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    let mut outer: Vec<String> = Vec::new();
    let mut within = command;
    for arg in std::env::args().skip(1) {
        if let Some(inner) = inner_command(within, &arg) {
            outer.push(inner.get_name().to_owned());
            within = inner;
        } else if arg == *word {
            break;
        }
    }
    let has = |outer: &[String], name: &str| {
        let found = outer
            .iter()
            .try_fold(command, |within, name| inner_command(within, name));
        found.is_some_and(|found| inner_command(found, name).is_some())
    };
    let groups = command.get_subcommands().filter(|c| !c.is_hide_set());
    let groups: Vec<&str> = groups.map(clap::Command::get_name).collect();
    let own = commands_for(word, &outer, &groups, has);
    if own.is_empty() {
        return;
    }
    error.remove(ContextKind::SuggestedSubcommand);
    let tips = own.iter().map(|own| format!("did you mean: {own}").into());
    let tips = ContextValue::StyledStrs(tips.collect());
    error.insert(ContextKind::Suggested, tips);
}

/// Returns the subcommand of this name or alias.
fn inner_command<'c>(command: &'c clap::Command, word: &str) -> Option<&'c clap::Command> {
    let mut inner = command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set());
    inner.find(|inner| inner.get_name() == word || inner.get_all_aliases().any(|a| a == word))
}

/// Names the long option that was written with one hyphen: `-limit 5` is `--limit 5`.
fn name_long_option(error: &mut clap::Error, command: &clap::Command) {
    if error.kind() != ErrorKind::UnknownArgument {
        return;
    }
    let mut within = command;
    let mut known: Vec<String> = Vec::new();
    let mut named = None;
    for arg in std::env::args().skip(1) {
        known.extend(
            within
                .get_arguments()
                .filter_map(|a| a.get_long())
                .map(str::to_owned),
        );
        let word = arg
            .strip_prefix('-')
            .filter(|word| word.len() > 1 && !word.starts_with('-'));
        match (inner_command(within, &arg), word) {
            (Some(inner), _) => within = inner,
            (None, Some(word)) => {
                let name = word.split('=').next().unwrap_or_default();
                named = named.or_else(|| known.iter().find(|long| *long == name).cloned());
            }
            _ => {}
        }
    }
    if let Some(name) = named {
        let tip = format!("an option of several letters has two hyphens: --{name}").into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
}

/// Returns the error for a value that is no number, in plain words.
fn explain_number(error: &clap::Error) -> Option<clap::Error> {
    if error.kind() != ErrorKind::ValueValidation {
        return None;
    }
    let source = std::error::Error::source(error)?;
    source.downcast_ref::<std::num::ParseIntError>()?;
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let (arg, value) = (
        text(ContextKind::InvalidArg)?,
        text(ContextKind::InvalidValue)?,
    );
    let message = format!("{arg} takes a whole number, and \"{value}\" is none\n");
    Some(clap::Error::raw(ErrorKind::ValueValidation, message))
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
