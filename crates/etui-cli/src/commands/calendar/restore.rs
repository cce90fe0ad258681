//! `etui calendar restore`: undoes the latest change of an entry.

use super::record::holding;
use crate::app::{App, calendar};
use crate::commands::records::restore::{Which, list, restore};
use crate::errors::Result;

const EXAMPLES: &str = "\
Examples:
  etui calendar restore 17                   bring it back, or what it was before its latest change
  etui calendar restore 17                   after an edit, once more: undo the undoing
  etui calendar restore --list               what is in the trash

Removed entries and earlier versions are kept for 30 days.";

/// Undo an entry's latest change, also a removal
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    which: Which,
}

/// Undoes it.
pub fn run(app: &mut App, name: Option<&str>, args: &Args) -> Result<()> {
    if args.which.list {
        let store = app.open_to_read()?;
        return list(app, &calendar(&store, name)?);
    }
    let store = app.open_to_write()?;
    let restored = restore(app, &holding(&store, name, &args.which.ids)?, &args.which);
    store.close()?;
    restored
}
