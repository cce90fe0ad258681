//! `etui lab doctor`: examining a SQLite database of any program.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use indicatif::ProgressBar;

use crate::doctor::{self, Options, Tracer};
use crate::error::Error;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  etui lab doctor notes.db                        the file, and made-up updates of its rows
  etui lab doctor notes.db -- python3 import.py   what a program does to it
  etui lab doctor notes.db --for 30 -- newsboat   a program that does not end by itself
  etui lab doctor notes.db --flush-ms 3 -- ./app  as on a disk whose flushes take 3 ms more
  etui lab doctor notes.db --json -- ./app | jq .measured.all.ratio

The database is only read: changes are tried on copies, which are removed. The command is not changed
and needs no root: a library is preloaded into it (its SQLite must be a shared library), else strace
counts its writes and flushes.

Exit codes: 0 examined, 1 failed, 2 not understood, 130 stopped.";

/// Examine any SQLite database, and what a program does to it; measure what would help
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct DoctorArgs {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Observe this command, which uses the database
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// End the command after this time (SIGTERM; SIGKILL ten seconds later)
    #[arg(long = "for", value_name = "SECONDS", value_parser = parse_seconds)]
    time_limit: Option<Duration>,
    /// How the command is observed [default: preload; strace for static programs]
    #[arg(long, value_enum)]
    tracer: Option<TracerName>,
    /// Where the copies are made [default: on the file system of the database, if it can be]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// The time for one repetition of the transactions as found
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_seconds)]
    seconds: Duration,
    /// How often the transactions are repeated under each setup
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=99))]
    rounds: u16,
    /// Make each flush slower by this time
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1000))]
    flush_ms: u16,
    /// The largest database that is copied
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    max_size: u32,
    /// Write JSON; the command's standard output goes to standard error
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TracerName {
    /// A library preloaded into the program: statements, writes and flushes
    Preload,
    /// strace: writes and flushes of any program
    Strace,
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    match (0.01..=86_400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("0.01 to 86400 seconds can be given".to_owned()),
    }
}

impl DoctorArgs {
    /// Examines and prints.
    pub fn run(self) -> Result<ExitCode, Error> {
        let stop = super::on_stop()?;
        let json = self.json;
        let shown = !self.quiet && std::io::stderr().is_terminal();
        let options = Options {
            database: self.database,
            command: self.command,
            tracer: self.tracer.map(|name| match name {
                TracerName::Preload => Tracer::Preload,
                TracerName::Strace => Tracer::Strace,
            }),
            time_limit: self.time_limit,
            scratch: self.scratch,
            replay_time: self.seconds,
            rounds: usize::from(self.rounds),
            flush_delay: Duration::from_millis(self.flush_ms.into()),
            most_bytes: u64::from(self.max_size) << 20,
            output_to_errors: json,
        };
        let mut bar: Option<ProgressBar> = None;
        let mut progress = |message: &str| match message {
            // The command has the terminal now.
            "" => {
                if let Some(bar) = bar.take() {
                    bar.finish_and_clear();
                }
            }
            message if shown => {
                let bar = bar.get_or_insert_with(ProgressBar::new_spinner);
                bar.set_message(message.to_owned());
                bar.tick();
            }
            _ => {}
        };
        let examined = doctor::examine(&options, &stop, &mut progress);
        progress("");
        let examination = examined.map_err(|error| match error {
            Error::Stopped => Error::StoppedForGood,
            other => other,
        })?;
        if json {
            let text = serde_json::to_string_pretty(&examination);
            let text = text.map_err(|e| Error::other(format!("the examination as JSON: {e}")))?;
            output::print_line(text)?;
        } else {
            let text = doctor::describe(&examination, terminal_width());
            output::print_line(text.trim_end())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the width of the terminal; 80 if there is none.
fn terminal_width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    match size {
        Ok(size) if size.ws_col > 0 => size.ws_col.into(),
        _ => 80,
    }
}
