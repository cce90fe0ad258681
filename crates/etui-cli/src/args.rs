//! What can be asked for: one definition feeds parsing, help, man pages and completions.
//!
//! Each command's own arguments stand with the command.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::commands as c;

const EXAMPLES: &str = "\
Examples:
  etui demo                          see what it does, on data made up for you
  etui import contacts.vcf           bring in your own contacts
  etui import calendar.ics           ... and calendars
  etui contacts find ann             who was Ann again?
  etui contacts show 17              all about contact number 17
  etui calendar agenda week          what is on this week
  etui export -o contacts.vcf        take everything out again, byte for byte

Exit codes: 0 done, 1 failed, 2 not understood, 3 something was refused, 4 nothing found,
5 changed meanwhile, 6 the store cannot be used, 7 the store is damaged.";

/// Personal data kept on your own device, in one file
#[derive(Debug, Parser)]
#[command(
    name = "etui",
    version,
    after_help = EXAMPLES,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    /// Options of all commands.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of all commands.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of all commands")]
pub struct Global {
    /// The store's file [default: etui/personal.etui in your data directory]
    #[arg(
        long,
        global = true,
        value_name = "PATH",
        env = "ETUI_STORE",
        hide_env_values = true
    )]
    pub store: Option<PathBuf>,
    /// The address book [default: the first one]
    #[arg(long, global = true, value_name = "NAME")]
    pub book: Option<String>,
    /// What writes the store: SQLite alone, or etui's redo log, which costs a durable save fewer
    /// bytes and admits one program at a time
    #[arg(
        long,
        global = true,
        value_name = "VFS",
        default_value = "system",
        env = "ETUI_VFS",
        hide_env_values = true
    )]
    pub vfs: VfsChoice,
    /// Write JSON, one object a line
    #[arg(long, global = true)]
    pub json: bool,
    /// Use colour; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: When,
    /// Say nothing but what was asked for
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// What writes the store's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum VfsChoice {
    System,
    Etui,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    Auto,
    Always,
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what etui does, on an address book and a calendar made up for it
    Demo(c::demo::Args),
    /// Make a store
    Init(c::init::Args),
    /// Bring in files of contacts and calendars
    Import(c::import::Args),
    /// Find, show and change contacts
    #[command(subcommand, alias = "contact", after_help = c::contacts::EXAMPLES)]
    Contacts(c::contacts::Command),
    /// Show what is on, find and change it
    #[command(alias = "cal")]
    Calendar(Box<c::calendar::Args>),
    /// Take contacts out as vCards, or calendars as iCalendar
    Export(c::export::Args),
    /// Check that the store is whole
    Check(c::check::Args),
    /// Copy the store, while it is in use
    Backup(c::backup::Args),
    /// Bring back a backup
    Restore(c::restore::Args),
    /// Make a database that was left with a redo log an ordinary one
    Recover(c::recover::Args),
    /// Tell figures about the store
    Stats(c::stats::Args),
    /// Make up an address book or a calendar, to try things with
    Generate(c::generate::Args),
    /// Repeat the studies that etui is built from, on this machine
    Lab(c::lab::Args),
    /// Write a completion script for a shell
    Completions(c::completions::Args),
    /// Write the manual pages
    Man(c::man::Args),
}

/// The definition of it all, for help, man pages and completions.
pub fn definition() -> clap::Command {
    Cli::command()
}

/// Reads the command line; what cannot be understood is told of, with the exit code to end with.
pub fn parse() -> Result<Cli, ExitCode> {
    let parsed = definition()
        .try_get_matches_from(for_lab(with_filters(std::env::args_os())))
        .and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.map_err(|mut error| {
        point_elsewhere(&mut error);
        let wants_json = std::env::args_os().any(|a| a == "--json");
        if wants_json && error.use_stderr() {
            let text = error.render().to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            let failure = crate::errors::Failure::usage(text.trim_end());
            crate::output::json_error(&failure);
        } else if error.kind() == ErrorKind::MissingSubcommand
            && let Some(help) = help()
        {
            eprint!("{help}");
        } else {
            // Nobody reads on when the pipe is closed.
            let _ = error.print();
        }
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

/// Says where what was looked for under a wrong command is.
fn point_elsewhere(error: &mut clap::Error) {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    let tip = match name.as_str() {
        "import" => "files are brought in by `etui import FILE`",
        "export" => "`etui export` takes contacts out, `etui export --calendars` calendars",
        "agenda" | "today" | "week" | "month" | "tomorrow" => {
            "what is on is told by `etui calendar agenda`"
        }
        _ => return,
    };
    let tips = ContextValue::StyledStrs(vec![tip.into()]);
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, tips);
}

/// The help of the command that lacks one: what clap shows only where no variable of the
/// environment stands for an option.
fn help() -> Option<clap::builder::StyledStr> {
    let args = std::env::args_os().chain(["--help".into()]);
    let shown = definition().try_get_matches_from(args).err()?;
    (shown.kind() == ErrorKind::DisplayHelp).then(|| shown.render())
}

/// EventEnd our own options after `etui lab`: the laboratory has options of its own, some of the same
/// names.
fn for_lab(mut args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_some_and(|command| command == "lab") {
        args.insert(2, "--".into());
    }
    args
}

/// Commands that take filters, in which `-word` means "not word".
const FILTERING: &[&str] = &["find", "show", "export", "watch"];

/// Commands that take names, which may be those of other commands.
const NAMING: &[[&str; 2]] = &[["contacts", "books"], ["calendar", "calendars"]];

/// Puts a space before each `-word` that belongs to a filter, so that it is not taken for options;
/// filters do not mind spaces. A minus with one letter is left to be an option, what follows
/// `--sort` to be an order, and what is behind `--`, or a name, to be what it is.
fn with_filters(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut filtering = false;
    let mut after_sort = false;
    let mut as_it_is = false;
    let mut before = OsString::new();
    args.map(|arg| {
        as_it_is |= arg == "--"
            || NAMING
                .iter()
                .any(|[group, c]| before == *group && arg == *c);
        before.clone_from(&arg);
        filtering |= FILTERING.iter().any(|c| arg == *c);
        let is_order = std::mem::replace(&mut after_sort, arg == "--sort");
        match arg.to_str() {
            Some(text) if filtering && !as_it_is && !is_order && is_minus_word(text) => {
                format!(" {text}").into()
            }
            _ => arg,
        }
    })
    .collect()
}

fn is_minus_word(text: &str) -> bool {
    match text.strip_prefix('-').map(str::as_bytes) {
        None | Some([]) => false,
        Some([one]) => !one.is_ascii_alphabetic(),
        Some([first, ..]) => *first != b'-',
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn minus_words_of_filters_are_no_options() {
        let given = [
            "etui", "-q", "find", "a", "-org:x", "-q", "--limit", "3", "-(b)", "--sort", "-added",
            "-org", "-5", "--", "-org",
        ];
        let made = super::with_filters(given.iter().map(Into::into));
        let expected = [
            "etui", "-q", "find", "a", " -org:x", "-q", "--limit", "3", " -(b)", "--sort",
            "-added", " -org", " -5", "--", "-org",
        ];
        assert_eq!(made, expected);
        for naming in [["contacts", "books"], ["calendar", "calendars"]] {
            let given = [&["etui"], &naming[..], &["rename", "find", "-org"]].concat();
            let made = super::with_filters(given.iter().map(Into::into));
            assert_eq!(made, given);
        }
        assert_eq!(
            super::with_filters(["etui", "-qh"].iter().map(Into::into))[1],
            "-qh"
        );
    }

    #[test]
    fn the_definition_holds_together() {
        super::definition().debug_assert();
    }
}
