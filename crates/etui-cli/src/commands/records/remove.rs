//! Moves records to the trash.

use etui::Condition;
use etui_program::output::one_line;
use etui_program::{App, Result};

use super::selection::{Selected, SelectionArgs};
use super::{RecordCommands, stored_title, undo_hint};
use crate::json::record_change_json;

#[derive(Debug, clap::Args)]
pub struct RemoveRecordsArgs {
    #[command(flatten)]
    selection: SelectionArgs,
}

/// Removes the selected records. If one of the IDs does not exist, none is removed.
pub fn remove_records<R: RecordCommands>(app: &mut App, args: &RemoveRecordsArgs) -> Result<()> {
    let dry_run = args.selection.dry_run;
    let store = app.open_to_write()?;
    for Selected { all, records } in args.selection.resolve::<R>(app, &store)? {
        if !dry_run {
            let each = records.iter().map(|r| (r.uid.as_str(), Condition::Always));
            all.remove_all_if(&each.collect::<Vec<_>>())?;
        }
        let (outcome, done) = match dry_run {
            true => ("would_remove", "Would remove"),
            false => ("removed", "Removed"),
        };
        for record in &records {
            let name = stored_title(record);
            let object = record_change_json(record.id, &record.uid, None, &name, outcome);
            let text = format!("{done} {}: {}", record.id, one_line(&name));
            app.out.report(&object, text)?;
        }
        if !dry_run {
            app.out
                .status(undo_hint::<R>(records.iter().map(|r| r.id)))?;
        }
    }
    Ok(store.close()?)
}
