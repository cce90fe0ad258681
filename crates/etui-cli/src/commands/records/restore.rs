//! Undoes the latest change of a record; lists the trash.

use etui::record::{Collection, StoredRecord};
use etui::{SaveOutcome, SavedRecord};

use super::find::write_record;
use super::{
    RecordCommands, display_name, list_headings, lookup_in_trash, lookup_record, resolve_once,
    unknown_record,
};
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::RecordChangeJson;
use crate::output::{Table, one_line};

// A struct comment would replace the help text of the subcommand.
#[derive(Debug, clap::Args)]
pub struct RestoreRecordsArgs {
    /// Numbers or UIDs
    #[arg(value_name = "ID", required_unless_present = "list")]
    pub ids: Vec<String>,
    /// List the trash
    #[arg(long, conflicts_with = "ids")]
    pub list: bool,
}

/// Undoes the latest change of each record.
pub fn restore_records<R: RecordCommands>(
    app: &mut App,
    all: &Collection<'_, R>,
    ids: &[String],
) -> Result<()> {
    let records = resolve_once(ids, |id| find_or_in_trash(all, id))?;
    let uids: Vec<&str> = records.iter().map(|r| r.uid.as_str()).collect();
    let restored: Vec<Option<SavedRecord>> = all.restore_many(&uids)?;
    let mut unchanged = Vec::new();
    for (record, saved) in records.iter().zip(restored) {
        let Some(saved) = saved.filter(|s| s.outcome != SaveOutcome::Unchanged) else {
            unchanged.push(record.id.to_string());
            continue;
        };
        let now = all.get(&record.uid)?;
        let name = display_name(now.as_ref().unwrap_or(record));
        if app.out.json {
            app.out
                .write_json(&RecordChangeJson::saved(&saved, &record.uid, &name))?;
            continue;
        }
        let name = one_line(&name);
        app.out.status(match saved.outcome {
            SaveOutcome::Added => format!("Restored {}: {name}", saved.id),
            _ => format!("Undid the latest change of {}: {name}", saved.id),
        })?;
    }
    if unchanged.is_empty() {
        return Ok(());
    }
    Err(Failure::NotFound(format!(
        "{} {} has no earlier version",
        R::ONE,
        unchanged.join(", ")
    )))
}

fn find_or_in_trash<R: RecordCommands>(
    all: &Collection<'_, R>,
    id: &str,
) -> Result<StoredRecord<R>> {
    if let Some(record) = lookup_record(all, id)? {
        return Ok(record);
    }
    lookup_in_trash(all, id)?.ok_or_else(|| unknown_record::<R>(id))
}

/// Lists the records in the trash.
pub fn list_trash<R: RecordCommands>(app: &mut App, all: &Collection<'_, R>) -> Result<()> {
    let trash = all.trash()?;
    if trash.is_empty() && !app.out.json {
        return app.out.status("The trash is empty.");
    }
    let mut table = Table::new(&list_headings::<R>());
    for stored in &trash {
        let record = R::parse_text(stored.text.clone());
        let summary = record.map_or_else(|_| R::unreadable_summary(), |r| r.summary());
        write_record::<R>(stored.id, &summary, &mut table, &mut app.out)?;
    }
    match app.out.json {
        true => Ok(()),
        false => table.write_to(&mut app.out),
    }
}
