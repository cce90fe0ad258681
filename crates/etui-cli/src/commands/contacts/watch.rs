//! `etui contacts watch`: a line for each change, as it happens.

use crate::app::App;
use crate::commands::records::watch::{WatchArgs, watch};
use crate::errors::Result;

const EXAMPLES: &str = "\
Examples:
  etui contacts watch                        whatever happens in the address book
  etui contacts watch name:anna or org:acme  what concerns these
  etui contacts watch --initial 'phone:*'    who has a phone number, and what becomes of it
  etui contacts watch --json --since \"$(cat token)\"

  12:30:07Z + 17 Ada Lovelace                is there now, or fits the filter now
  12:30:09Z ~ 17 Ada Lovelace: phone, note   was changed: where
  12:30:10Z - 17 Ada Lovelace                was removed, or fits no longer
  12:30:12Z ! The address book Work is Job now

Changes by any program are told, once each, in order; several of one contact at the same moment
are one. It goes on until it is ended (Ctrl-C) or its output is closed; also when the address book
gets another name, which it tells. When the address book is removed, it tells that, and ends with 4.
With --json, a line with a token follows each batch: a reader that begins again with --since and the
last token that it has seen misses nothing and is told nothing twice. Tokens are good for 30 days at
least. Times are UTC.";

/// Tell of changes as they happen
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    watch: WatchArgs,
}

/// Tells of them.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let store = app.open_to_read()?;
    watch(app, &app.book(&store)?, &args.watch)?;
    Ok(store.close()?)
}
