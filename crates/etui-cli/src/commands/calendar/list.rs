//! `etui calendar list`.

use etui::calendar::CalendarObject;

use crate::app::{App, open_calendar, readers_in};
use crate::commands::records::pager;
use crate::commands::records::query::{QueryArgs, count_records};
use crate::errors::Result;

#[derive(Debug, clap::Args)]
pub struct ListEntriesArgs {
    #[command(flatten)]
    query: QueryArgs<CalendarObject>,
    /// Print the list on a terminal too, instead of opening the pager
    #[arg(long)]
    no_pager: bool,
}

pub fn list_entries(app: &mut App, name: Option<&str>, args: &ListEntriesArgs) -> Result<()> {
    let store = app.open_to_read()?;
    let snapshot = store.snapshot()?;
    let readers = readers_in::<CalendarObject>(name, &snapshot)?;
    if count_records(&readers)? == 0 && !app.out.json {
        return app
            .out
            .status("No entries yet. Import some: etui import calendar.ics");
    }
    let is_plain = args.no_pager || app.out.json || !args.query.is_default();
    if !is_plain && pager::is_possible(&app.out) {
        if let [(name, _)] = readers.as_slice() {
            let calendar = open_calendar(&store, Some(name))?;
            drop(readers);
            drop(snapshot);
            return pager::run_pager(app, &calendar);
        }
        app.out
            .write_note("To open one calendar in the pager: etui calendar list --calendar NAME");
    }
    args.query.list_records(app, &readers)
}
