//! `etui calendar list`: every entry once, by when it starts.

use etui::calendar::{Filter, Record};

use crate::app::{App, calendar};
use crate::commands::records::query::QueryArgs;
use crate::errors::Result;

const EXAMPLES: &str = "\
An entry that recurs stands where it starts first; `etui calendar agenda` shows all its times.
Entries without a time stand at the end.

Examples:
  etui calendar list                         the first 50 (in a pipe: all, a line each)
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
    let rows = calendar.query(&args.query.query(Filter::All, app.out.terminal)?)?;
    args.query.write(&mut app.out, &rows)?;
    args.query.tell_more(app, &rows, all)
}
