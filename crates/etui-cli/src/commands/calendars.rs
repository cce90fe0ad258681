//! `etui calendar calendars`: which there are.

use etui::calendar::CalendarObject;

use crate::app::App;
use crate::commands::collections::CollectionsArgs;
use crate::errors::Result;

const EXAMPLES: &str = "\
Examples:
  etui calendar calendars                        which there are, and how many entries they have
  etui calendar calendars create Work
  etui import --calendar Work work.ics
  etui calendar calendars rename Work \"Old job\"
  etui calendar calendars remove \"Old job\"
  etui calendar calendars removed                which can be brought back, and until when
  etui calendar calendars restore \"Old job\"

The first one is used where none is named; when it is removed, the next one is. The last one stays.
Removed calendars come back with the entries that were removed with them.";

/// List calendars; make, rename, remove one, bring one back
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    holders: CollectionsArgs<CalendarObject>,
}

/// Lists them, or does what was asked with one.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    args.holders.run(app)
}
