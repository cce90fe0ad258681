//! `etui contacts remove`: into the trash.

use crate::app::App;
use crate::commands::records::remove::remove;
use crate::errors::Result;

const EXAMPLES: &str = "\
Examples:
  etui contacts remove 17
  etui contacts remove 17 18 19
  etui contacts restore 17                   bring it back, within 30 days

If one of them is not there, none is removed.";

/// Remove contacts
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Numbers or UIDs
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

/// Removes them.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let store = app.open_to_write()?;
    remove(app, &app.book(&store)?, &args.ids)?;
    Ok(store.close()?)
}
