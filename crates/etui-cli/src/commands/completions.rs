//! `etui completions`: completion scripts for shells.

use clap_complete::Shell;

use crate::app::App;
use crate::args;
use crate::errors::Result;

const EXAMPLES: &str = "\
Examples:
  etui completions bash > ~/.local/share/bash-completion/completions/etui
  etui completions zsh > ~/.zfunc/_etui
  etui completions fish > ~/.config/fish/completions/etui.fish";

/// Write a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Writes the script.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::definition(), "etui", &mut script);
    app.out.bytes(&script)
}
