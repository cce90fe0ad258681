//! `etui lab doctor`: examining a SQLite database of any program.

use std::io::IsTerminal;
use std::process::ExitCode;

use indicatif::ProgressBar;

use crate::doctor::{self, Options};
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
    #[command(flatten)]
    options: Options,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

impl DoctorArgs {
    /// Examines and prints.
    pub fn run(self) -> Result<ExitCode, Error> {
        let stop = super::on_stop()?;
        let shown = !self.quiet && std::io::stderr().is_terminal();
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
        let examined = doctor::examine(&self.options, &stop, &mut progress);
        progress("");
        let examination = examined.map_err(|error| match error {
            Error::Stopped => Error::StoppedForGood,
            other => other,
        })?;
        if self.options.json {
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
