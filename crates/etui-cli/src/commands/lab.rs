//! `etui lab`: runs the laboratory, a separate program next to this one or in PATH.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::errors::{Failure, Result};

const PROGRAM: &str = "etui-lab";

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
pub fn run_lab(args: &LabArgs) -> Result<()> {
    let Some(program) = find_program() else {
        return Err(Failure::Other(format!(
            "the laboratory, `{PROGRAM}`, is neither next to this program nor in PATH; \
             install it with `cargo install --locked --path lab/etui-lab`"
        )));
    };
    let mut command = Command::new(&program);
    if args.help {
        command.arg("--help");
    }
    if let Some(LabCommand::Arguments(arguments)) = &args.command {
        command.args(arguments);
    }
    Err(Failure::io(&program, command.exec()))
}

fn find_program() -> Option<PathBuf> {
    let own_dir = std::env::current_exe()
        .ok()
        .and_then(|own| Some(own.parent()?.join(PROGRAM)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    own_dir
        .into_iter()
        .chain(std::env::split_paths(&path).map(|dir| dir.join(PROGRAM)))
        .find(|program| program.is_file())
}
