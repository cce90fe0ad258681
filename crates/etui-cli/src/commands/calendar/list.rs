//! `etui calendar list`: every entry once, by when it starts.

use etui::calendar::{Filter, Record};

use crate::app::{App, calendar};
use crate::commands::records::pager;
use crate::commands::records::query::QueryArgs;
use crate::errors::Result;

const EXAMPLES: &str = "\
An entry that recurs stands where it starts first; `etui calendar agenda` shows all its times.
Entries without a time stand at the end.

On a terminal this is a list to look around in, opened at today:
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
    query: QueryArgs<Record>,
    /// Write the list also on a terminal, instead of a pager
    #[arg(long)]
    no_pager: bool,
}

/// Lists them.
pub fn run(app: &mut App, name: Option<&str>, args: &Args) -> Result<()> {
    let store = app.open_to_read()?;
    let calendar = calendar(&store, name)?;
    let all = calendar.count()?;
    if all == 0 && !app.out.json {
        return app
            .out
            .say("No entries yet. Bring some in: etui import calendar.ics");
    }
    let plain = args.no_pager || app.out.json || !args.query.is_plain();
    if !plain && pager::is_possible(&app.out) {
        return pager::run(app, &calendar);
    }
    let rows = calendar.query(&args.query.query(Filter::All, app.out.terminal)?)?;
    args.query.write(&mut app.out, &rows)?;
    args.query.tell_more(app, &rows, all)
}
