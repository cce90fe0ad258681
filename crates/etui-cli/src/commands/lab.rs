//! `etui lab`: the laboratory, a program of its own that is found as git finds its subcommands:
//! beside this one, else in PATH.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::app::App;
use crate::errors::{Failure, Result};

/// The laboratory's program.
const PROGRAM: &str = "etui-lab";

/// Repeat the studies that etui is built from, on this machine
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// What `etui-lab` is to do; `etui lab --help` tells
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

/// Becomes the laboratory.
pub fn run(_: &mut App, args: &Args) -> Result<()> {
    let Some(program) = find() else {
        return Err(Failure::Other(format!(
            "the laboratory, `{PROGRAM}`, is neither beside this program nor in PATH; \
             `cargo install --locked --path crates/etui-lab` installs it"
        )));
    };
    let error = Command::new(&program).args(&args.arguments).exec();
    Err(Failure::io(&program, error))
}

fn find() -> Option<PathBuf> {
    let beside = std::env::current_exe()
        .ok()
        .and_then(|own| Some(own.parent()?.join(PROGRAM)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    beside
        .into_iter()
        .chain(std::env::split_paths(&path).map(|dir| dir.join(PROGRAM)))
        .find(|program| program.is_file())
}
