//! `etui calendar watch`: a line for each change, as it happens.

use crate::app::{App, calendar};
use crate::commands::records::watch::{WatchArgs, watch};
use crate::errors::Result;

const EXAMPLES: &str = "\
Examples:
  etui calendar watch                        whatever happens in the calendar
  etui calendar watch kind:todo or place:berlin
  etui calendar watch --initial 'category:*' what has a category, and what becomes of it
  etui calendar watch --json --since \"$(cat token)\"

  12:30:07Z + 17 Jour fixe                   is there now, or fits the filter now
  12:30:09Z ~ 17 Jour fixe: place, notes     was changed: where
  12:30:10Z - 17 Jour fixe                   was removed, or fits no longer
  12:30:12Z ! The calendar Work is Job now

Changes by any program are told, once each, in order; several of one entry at the same moment are
one. It goes on until it is ended (Ctrl-C) or its output is closed; also when the calendar gets
another name, which it tells. When the calendar is removed, it tells that, and ends with 4. With
--json, a line with a token follows each batch: a reader that begins again with --since and the last
token that it has seen misses nothing and is told nothing twice. Tokens are good for 30 days at
least. Times are UTC. A new time alone is told as a change of details.";

/// Tell of changes as they happen
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    watch: WatchArgs,
}

/// Tells of them.
pub fn run(app: &mut App, name: Option<&str>, args: &Args) -> Result<()> {
    let store = app.open_to_read()?;
    watch(app, &calendar(&store, name)?, &args.watch)?;
    Ok(store.close()?)
}
