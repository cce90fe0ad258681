//! The options of every command.

use std::path::PathBuf;

use clap::{Args, ColorChoice};
use etui::calendar::time::TimeZone;

/// Options of every command.
#[derive(Debug, Clone, Default, Args)]
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

/// Options of the commands of the calendar.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Calendar options")]
pub struct CalendarOptions {
    /// Calendar [default: the first one; for agenda, list, find, show, freebusy, alarms, todos: all]
    #[arg(long, global = true, value_name = "NAME")]
    pub calendar: Option<String>,
    /// Time zone for reading and showing times, e.g. Europe/Berlin [default: the system's]
    #[arg(long, global = true, value_name = "ZONE", value_parser = etui_when::parse_zone)]
    pub zone: Option<TimeZone>,
}
