//! The options of every command.

use std::path::PathBuf;

use clap::{Args, ColorChoice};

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// Store file [default: etui/personal.etui in your data directory] [env: ETUI_STORE]
    #[arg(long, global = true, value_name = "PATH")]
    pub store: Option<PathBuf>,
    /// Address book [default: the first one; for list, find and show: all]
    #[arg(long, global = true, value_name = "NAME")]
    pub addressbook: Option<String>,
    /// Print JSON, one object per line
    #[arg(long, global = true)]
    pub json: bool,
    /// Use colour; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// Print only the requested data
    #[arg(long, short, global = true)]
    pub quiet: bool,
}
