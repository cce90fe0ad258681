//! `etui calendar list`: every entry once, by when it starts.

use etui::calendar::CalendarObject;

use crate::app::{App, all_in, calendar};
use crate::commands::records::pager;
use crate::commands::records::query::{QueryArgs, count_all};
use crate::errors::Result;

const EXAMPLES: &str = "\
An entry that recurs stands where it starts first; `etui calendar agenda` shows all its times.
Entries without a time stand at the end.

All calendars are listed together, or the one of --calendar. On a terminal one calendar is a list to
look around in, opened at today:
  letters and digits    search as you type, with all that `etui calendar find` understands
  / and then anything   the same, also for what begins with q
  Esc                   back to the whole list
  arrows, PgUp, PgDn    up and down; Home, End: the first and the last
  left, right, Ctrl-G   the year before, the next, and any: Ctrl-G 6 goes to a year ending with 6
  Enter                 all about the entry; any key leads back
  q or Ctrl-C           quit (q: when nothing is searched for)

Examples:
  etui calendar list                         look around (in a pipe: all, a line each)
  etui calendar list --no-pager              the first 50
  etui calendar list --sort -start           the latest first
  etui calendar list --sort -added --limit 5 the five added last
  etui calendar list --fields id,start,title,status
  etui calendar list --json | jq -r .title
  etui calendar list --fields record         the iCalendar texts of all

Page after page, complete also while others add and remove entries:
  etui calendar list --json --limit 100                  the last line's `next` is a place
  etui calendar list --json --limit 100 --after PLACE    what comes behind it";

/// List entries by when they start
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    query: QueryArgs<CalendarObject>,
    /// Write the list also on a terminal, instead of a pager
    #[arg(long)]
    no_pager: bool,
}

/// Lists them.
pub fn run(app: &mut App, name: Option<&str>, args: &Args) -> Result<()> {
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let asked = all_in::<CalendarObject>(name, &snapshot)?;
    if count_all(&asked)? == 0 && !app.out.json {
        return app
            .out
            .say("No entries yet. Bring some in: etui import calendar.ics");
    }
    let plain = args.no_pager || app.out.json || !args.query.is_plain();
    if !plain && pager::is_possible(&app.out) {
        if let [(name, _)] = asked.as_slice() {
            let calendar = calendar(&store, Some(name))?;
            drop(asked);
            drop(snapshot);
            return pager::run(app, &calendar);
        }
        app.out
            .note("To look around in one of the calendars: etui calendar list --calendar NAME");
    }
    args.query.list(app, &asked)
}
