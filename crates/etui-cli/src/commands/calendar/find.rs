//! `etui calendar find`: which entry is meant.

use etui::calendar::CalendarObject;

use crate::app::{App, all_in};
use crate::commands::records::find::{FindArgs, find};
use crate::errors::Result;

const HELP: &str = "\
A word is looked for in titles, places and notes, and may go on: `dent` finds Dentist. Case and
accents do not matter.

  dentist monday        both                 title:dentist        in one field
  lunch or dinner       either               title:dent*          begins so
  -lunch                not                  title:*ist           ends so
  (a or b) -c           in groups            place:*soft*         contains
  *                     all                  title=lunch          is the whole value
  place:*               has any              place:\"City Hall\"    several words

All calendars are looked at, or the one of --calendar.

Fields: title, place, notes, category, kind (event, todo, journal), any.

Examples:
  etui calendar find dentist
  etui calendar find kind:todo -category:done
  etui calendar find 'place:*berlin*' --sort -start --limit 10
  etui calendar find 'title:lunch*' --fields id,start,title,notes
  etui calendar find category:work --json
  etui calendar find 'place:*' --count
  etui calendar find 'title:*soft*' --explain

Page after page: see `etui calendar list --help`. Put filters with * ( ) or \" into single quotes,
so that the shell leaves them alone. The exit code is 4 when nothing is found, but for --count and
--explain, which have an answer then. What happens from when to when: `etui calendar agenda`.";

/// Find entries
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    find: FindArgs<CalendarObject>,
}

/// Finds them.
pub fn run(app: &mut App, name: Option<&str>, args: &Args) -> Result<()> {
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    find(app, &all_in(name, &snapshot)?, &args.find)
}
