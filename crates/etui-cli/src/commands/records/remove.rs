//! Into the trash.

use etui::record::Collection;

use super::{RecordCommands, each_once, name_of, resolve};
use crate::app::App;
use crate::errors::Result;
use crate::output::json::RecordChangeObject;
use crate::output::one_line;

/// Removes the records with these numbers or UIDs; if one of them is not there, none.
pub fn remove<R: RecordCommands>(
    app: &mut App,
    all: &Collection<'_, R>,
    ids: &[String],
) -> Result<()> {
    let records = each_once(ids, |id| resolve(all, id))?;
    let uids: Vec<&str> = records.iter().map(|r| r.uid.as_str()).collect();
    all.remove_many(&uids)?;
    for record in &records {
        let name = name_of(record);
        if app.out.json {
            app.out.object(&RecordChangeObject {
                id: record.id.0,
                uid: &record.uid,
                etag: None,
                name: &name,
                outcome: "removed",
            })?;
        } else {
            app.out
                .say(format!("Removed {}: {}", record.id, one_line(&name)))?;
        }
    }
    let ids: Vec<String> = records.iter().map(|r| r.id.to_string()).collect();
    app.out.say(format!(
        "Bring back: etui {} restore {}",
        R::COMMAND,
        ids.join(" ")
    ))
}
