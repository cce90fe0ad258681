//! The list of records: in the browser, as a table, or as JSON.

use super::RecordCommands;
use super::browser::kind::BrowserRecord;
use super::browser::{ListLandmark, run_browser};
use super::query::{QueryArgs, count_records};
use crate::terminal::TerminalSession;
use etui_program::output::{Table, object};
use etui_program::{App, Result};

#[derive(Debug, clap::Args)]
pub struct ListArgs<R: RecordCommands> {
    #[command(flatten)]
    query: QueryArgs<R>,
    #[command(flatten)]
    options: R::ListOptions,
    /// Print the list on a terminal too, instead of opening the browser
    #[arg(long)]
    no_pager: bool,
}

pub fn list_records<R: BrowserRecord>(app: &mut App, args: &ListArgs<R>) -> Result<()> {
    let store = app.open_to_read()?;
    if R::lists_landmarks(&args.options) {
        let landmarks = R::landmarks(&app.open_collection(&store)?, &app.out)?;
        return write_landmarks(app, &landmarks);
    }
    let snapshot = store.snapshot()?;
    let readers = app.readers_in::<R>(&snapshot)?;
    if count_records(&readers)? == 0 && !app.out.json {
        return app.out.status(format!(
            "No {} yet. Import some: etui import {}{}",
            R::MANY,
            R::COMMAND,
            R::SUFFIX
        ));
    }
    let is_plain = args.no_pager || app.out.json || !args.query.is_default();
    if !is_plain && TerminalSession::is_possible(&app.out) {
        let names = readers.iter();
        let names: Vec<String> = names.map(|(name, _)| name.clone()).collect();
        drop(readers);
        drop(snapshot);
        let all = names.iter().map(|name| store.collection::<R>(name));
        return run_browser(app, all.collect::<etui::Result<_>>()?);
    }
    args.query.list_records(app, &readers)
}

/// Lists the position of the first name of each letter.
fn write_landmarks(app: &mut App, landmarks: &[ListLandmark]) -> Result<()> {
    let mut table = Table::new(&["Position", "Letter"]);
    for landmark in landmarks {
        table.add_row([landmark.position.to_string().as_str(), &landmark.label]);
    }
    app.out.write_table(&table, landmarks, |out, landmark| {
        out.write_json(&object! { letter: &landmark.label, position: landmark.position })
    })
}
