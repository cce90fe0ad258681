//! Moves records to the trash.

use etui::record::Collection;

use super::{RecordCommands, resolve_once, resolve_record, stored_title};
use crate::app::App;
use crate::errors::Result;
use crate::output::json::record_change_json;
use crate::output::one_line;

#[derive(Debug, clap::Args)]
pub struct RemoveRecordsArgs {
    /// Numbers or UIDs
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
}

/// Removes the records with these numbers or UIDs. If one of them does not exist, none is removed.
pub fn remove_records<R: RecordCommands>(
    app: &mut App,
    all: &Collection<'_, R>,
    ids: &[String],
) -> Result<()> {
    let records = resolve_once(ids, |id| resolve_record(all, id))?;
    let uids: Vec<&str> = records.iter().map(|r| r.uid.as_str()).collect();
    all.remove_many(&uids)?;
    let mut undo = format!("Undo: etui {} restore", R::COMMAND);
    for record in &records {
        let name = stored_title(record);
        let object = record_change_json(record.id, &record.uid, None, &name, "removed");
        let text = format!("Removed {}: {}", record.id, one_line(&name));
        app.out.report(&object, text)?;
        undo.push_str(&format!(" {}", record.id));
    }
    app.out.status(undo)
}
