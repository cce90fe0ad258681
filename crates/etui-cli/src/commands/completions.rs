//! `etui completions`: shell completion scripts.

use clap_complete::Shell;
use etui_program::{App, Result};

use crate::args;

const EXAMPLES: &str = "\
Examples:
  etui completions bash > ~/.local/share/bash-completion/completions/etui
  etui completions zsh > ~/.zfunc/_etui
  etui completions fish > ~/.config/fish/completions/etui.fish";

/// Generate shell completions
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CompletionsArgs {
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub fn write_completions(app: &mut App, args: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::clap_command(), "etui", &mut script);
    app.out.write_bytes(&script)
}
