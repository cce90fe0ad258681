//! `etui contacts restore`: undoes the latest change of a contact.

use crate::app::App;
use crate::commands::records::restore::{Which, list, restore};
use crate::errors::Result;

const EXAMPLES: &str = "\
Examples:
  etui contacts restore 17                   bring it back, or what it was before its latest change
  etui contacts restore 17                   after an edit, once more: undo the undoing
  etui contacts restore --list               what is in the trash

Removed contacts and earlier versions are kept for 30 days.";

/// Undo a contact's latest change, also a removal
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    which: Which,
}

/// Undoes it.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    if args.which.list {
        let store = app.open_to_read()?;
        return list(app, &app.book(&store)?);
    }
    let store = app.open_to_write()?;
    let restored = restore(app, &app.book(&store)?, &args.which);
    store.close()?;
    restored
}
