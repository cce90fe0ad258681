//! Moves records to the trash.

use etui::record::Collection;

use super::{RecordCommands, display_name, resolve_once, resolve_record};
use crate::app::App;
use crate::errors::Result;
use crate::output::json::RecordChangeJson;
use crate::output::one_line;

// A struct comment would replace the help text of the subcommand.
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
    for record in &records {
        let name = display_name(record);
        if app.out.json {
            app.out.write_json(&RecordChangeJson {
                id: record.id.0,
                uid: &record.uid,
                etag: None,
                name: &name,
                outcome: "removed",
            })?;
        } else {
            let name = one_line(&name);
            app.out.status(format!("Removed {}: {name}", record.id))?;
        }
    }
    let ids: Vec<String> = records.iter().map(|r| r.id.to_string()).collect();
    app.out.status(format!(
        "Undo: etui {} restore {}",
        R::COMMAND,
        ids.join(" ")
    ))
}
