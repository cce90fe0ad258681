//! The command line: `etui-lab`, also reached as `etui lab`.

mod compare;
mod doctor;
mod list;
mod report;
mod run;
mod setup;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Parser, Subcommand};

use crate::error::Error;
use crate::experiment::Experiment;
use crate::output;
use crate::runner::worker;

const EXAMPLES: &str = "\
Examples:
  etui lab setup                      see what is missing here, and install it
  etui lab studies                    all five studies, quickly, and the report
  etui lab run phonebook              one experiment, in full
  etui lab run journal-matrix --stack ext4 --arm WAL
  etui lab compare before.jsonl after.jsonl
  etui lab doctor notes.db -- ./app   your own program's database

A run that is stopped (Ctrl-C, a kill, a power cut) goes on when the same command is given
again. As root more can be run: file systems on loop images, cold caches, block traces.

Exit codes: 0 done, 1 failed, 2 not understood, 3 some runs failed or a comparison found
something worse, 130 stopped.";

/// Five studies of storage on personal devices, repeated on your own machine
#[derive(Debug, Parser)]
#[command(
    name = "etui-lab",
    bin_name = "etui lab",
    version,
    after_help = EXAMPLES,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Repeat all five studies, quickly, and write the report
    Studies(run::StudiesArgs),
    /// Run experiments by name, in full
    Run(run::RunArgs),
    /// List the experiments, their questions, and parts that cannot be run here
    List(list::ListArgs),
    /// Write the report of a results file: page, Markdown and CSV; or show it here
    Report(report::ReportArgs),
    /// Compare two results files beyond noise
    Compare(compare::CompareArgs),
    /// Examine any SQLite database, and what a program does to it; measure what would help
    Doctor(doctor::DoctorArgs),
    /// Install missing tools of the experiments, and prepare the virtual machine
    Setup(setup::SetupArgs),
    /// Run one arm once (used by `run`)
    #[command(hide = true)]
    Worker {
        /// The file for the reply.
        reply: PathBuf,
    },
    /// Run as the first process of the virtual machine (used by `run`)
    #[command(hide = true)]
    Guest,
    /// Show the first screen of a store's contacts (used by `app-start`)
    #[command(hide = true)]
    FirstScreen(crate::first_screen::FirstScreenArgs),
    /// Save records and look at what power cuts left, in the virtual machine (used by `power-cut`)
    #[command(hide = true)]
    PowerCutGuest(crate::experiments::power_cut::CutGuestArgs),
    /// Repeat points of a run that `power-cut` has kept
    #[command(hide = true)]
    PowerCutRepeat(crate::experiments::power_cut::RepeatCutArgs),
}

/// Runs the command line over a list of experiments: [`experiments`](crate::experiments),
/// or one's own.
pub fn main(experiments: &[&'static dyn Experiment]) -> ExitCode {
    // `cargo bench` adds an option to the arguments of its programs.
    let args = std::env::args_os().filter(|arg| arg != "--bench");
    let cli = Cli::parse_from(args);
    let done = match cli.command {
        Command::Studies(args) => args.run(experiments),
        Command::Run(args) => args.run(experiments),
        Command::List(args) => args.run(experiments),
        Command::Report(args) => args.run(experiments),
        Command::Compare(args) => args.run(),
        Command::Doctor(args) => args.run(),
        Command::Setup(args) => args.run(),
        Command::Worker { reply } => {
            worker::worker_main(experiments, &reply).map(|()| ExitCode::SUCCESS)
        }
        Command::Guest => crate::vm::guest_main().map(|()| ExitCode::SUCCESS),
        Command::FirstScreen(args) => args.run().map(|()| ExitCode::SUCCESS),
        Command::PowerCutGuest(args) => args.run().map(|()| ExitCode::SUCCESS),
        Command::PowerCutRepeat(args) => args.run(),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            output::print_error(format_args!("error: {error}"));
            ExitCode::from(match error {
                Error::Usage(_) => 2,
                Error::Stopped | Error::StoppedForGood => 130,
                _ => 1,
            })
        }
    }
}

/// Set when the person or the system asks the run to stop.
fn on_stop() -> Result<Arc<AtomicBool>, Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    ctrlc::set_handler(move || asked.store(true, Ordering::Relaxed))
        .map_err(|e| Error::other(format!("signals cannot be handled: {e}")))?;
    Ok(stop)
}

/// The experiments of these names, in the order in which they are shown.
fn select_experiments(
    experiments: &[&'static dyn Experiment],
    names: &[String],
) -> Result<Vec<&'static dyn Experiment>, Error> {
    let known: Vec<&str> = experiments
        .iter()
        .map(|e| e.experiment_info().name)
        .collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Error::Usage(format!(
            "there is no experiment `{unknown}`; there are: {}",
            known.join(", ")
        )));
    }
    Ok(experiments
        .iter()
        .copied()
        .filter(|experiment| {
            names
                .iter()
                .any(|name| name == experiment.experiment_info().name)
        })
        .collect())
}
