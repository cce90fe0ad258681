//! `etui lab`: runs the laboratory, a separate program next to this one or in PATH.

use etui_program::{Failure, launch};
use std::ffi::OsString;

// Everything after the first word belongs to the laboratory, including options that `etui` has too.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    override_usage = "etui lab [COMMAND] [ARGUMENTS]..."
)]
pub struct LabArgs {
    /// Print the help of the laboratory
    #[arg(long, short)]
    help: bool,
    #[command(subcommand)]
    command: Option<LabCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum LabCommand {
    #[command(external_subcommand)]
    Arguments(Vec<OsString>),
}

/// Replaces this process by the laboratory.
pub fn run_lab(args: LabArgs) -> Failure {
    let help = args.help.then(|| OsString::from("--help"));
    let given = match args.command {
        Some(LabCommand::Arguments(arguments)) => arguments,
        None => Vec::new(),
    };
    launch(
        "etui-lab",
        help.into_iter().chain(given),
        "install it with `cargo install --locked --path lab/etui-lab`",
    )
}
