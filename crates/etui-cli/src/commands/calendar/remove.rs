//! `etui calendar remove`: into the trash.

use super::record::holding;
use crate::app::App;
use crate::commands::records::remove::remove;
use crate::errors::Result;

const EXAMPLES: &str = "\
Examples:
  etui calendar remove 17
  etui calendar remove 17 18 19
  etui calendar restore 17                   bring it back, within 30 days

An entry that recurs goes with all its times. If one of them is not there, none is removed.";

/// Remove entries
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Numbers or UIDs
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

/// Removes them.
pub fn run(app: &mut App, name: Option<&str>, args: &Args) -> Result<()> {
    let store = app.open_to_write()?;
    remove(app, &holding(&store, name, &args.ids)?, &args.ids)?;
    Ok(store.close()?)
}
