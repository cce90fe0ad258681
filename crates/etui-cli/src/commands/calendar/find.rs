//! `etui calendar find`: which entry is meant.

use etui::calendar::Record;

use crate::app::{App, calendar};
use crate::commands::records::find::{FindArgs, find};
use crate::errors::{Failure, Result};
use crate::output::quoted;

const HELP: &str = "\
A word is looked for in titles, places and notes, and may go on: `dent` finds Dentist. Case and
accents do not matter.

  dentist monday        both                 title:dentist        in one field
  lunch or dinner       either               title:dent*          begins so
  -lunch                not                  title:*ist           ends so
  (a or b) -c           in groups            place:*soft*         contains
  *                     all                  title=lunch          is the whole value
  place:*               has any              place:\"City Hall\"    several words

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
    find: FindArgs<Record>,
}

/// Finds them.
pub fn run(app: &mut App, name: Option<&str>, args: &Args) -> Result<()> {
    let store = app.open_to_read()?;
    let calendar = calendar(&store, name)?;
    find(app, &calendar, &args.find).map_err(|failure| match failure {
        Failure::NotFound(what) if name.is_none() => {
            let names = store.calendars().unwrap_or_default();
            let others: Vec<_> = names
                .iter()
                .filter(|other| *other != calendar.name())
                .map(|other| format!("--calendar {}", quoted(other)))
                .collect();
            Failure::NotFound(match others.is_empty() {
                true => what,
                false => format!(
                    "{what} (looked at: {}; others: {})",
                    calendar.name(),
                    others.join(", ")
                ),
            })
        }
        other => other,
    })
}
