//! `etui calendar calendars`: which there are.

use etui::calendar::Record;

use crate::app::App;
use crate::commands::records::holders::{create, list};
use crate::errors::Result;

const EXAMPLES: &str = "\
Examples:
  etui calendar calendars
  etui calendar calendars --create Work
  etui import --calendar Work work.ics";

/// List calendars, or make one
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Make a calendar of this name
    #[arg(long, value_name = "NAME")]
    create: Option<String>,
}

/// Lists them, or makes one.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    match &args.create {
        Some(name) => create::<Record>(app, name),
        None => list::<Record>(app),
    }
}
