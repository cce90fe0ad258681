//! Undoes the latest change of a record; lists the trash.

use etui::record::{Collection, StoredRecord, VersionKind};
use etui::{ETag, SaveOutcome, SavedRecord, Store};
use etui_program::output::one_line;
use etui_program::{App, Failure, Result};

use super::{
    RecordCommands, add_row, lookup_in_trash, lookup_record, record_table, resolve_once,
    stored_title, unknown_record,
};
use crate::json::{listed_json, restored_json};

#[derive(Debug, clap::Args)]
pub struct RestoreRecordsArgs {
    /// Numbers, UIDs, or words of which there is one match
    #[arg(value_name = "ID|NAME", required_unless_present = "list")]
    pub ids: Vec<String>,
    /// List the trash
    #[arg(long, conflicts_with = "ids")]
    pub list: bool,
}

/// Undoes the latest change of each record.
pub fn restore_records<R: RecordCommands>(
    app: &mut App,
    all: &Collection<R>,
    ids: &[String],
) -> Result<()> {
    let records = resolve_once(ids, |id| find_or_in_trash(all, id))?;
    let uids: Vec<&str> = records.iter().map(|r| r.uid.as_str()).collect();
    let are_undone = records.iter().map(|record| is_undone(all, record));
    let are_undone = are_undone.collect::<Result<Vec<bool>>>()?;
    let restored: Vec<Option<SavedRecord>> = all.restore_many(&uids)?;
    let mut unchanged = Vec::new();
    for ((record, saved), was_undone) in records.iter().zip(restored).zip(are_undone) {
        let Some(saved) = saved.filter(|s| s.outcome != SaveOutcome::Unchanged) else {
            unchanged.push(record.id.to_string());
            continue;
        };
        let now = all.get(&record.uid)?;
        let name = stored_title(now.as_ref().unwrap_or(record));
        let shown = one_line(&name);
        let id = saved.id;
        let (action, text) = match (saved.outcome, was_undone) {
            (SaveOutcome::Added, _) => ("restored", format!("Restored {id}: {shown}")),
            (_, false) => (
                "undone",
                format!("Undid the latest change of {id}: {shown}"),
            ),
            (_, true) => (
                "redone",
                format!(
                    "Redid the latest change of {id}: {shown} (older versions: etui {} history {id})",
                    R::COMMAND
                ),
            ),
        };
        app.out
            .report(&restored_json(&saved, &record.uid, &name, action), text)?;
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

/// Returns true if the latest change of a record was undone, so that undoing once more brings the change
/// back: each undo is a version with the text of the one before the last.
fn is_undone<R: RecordCommands>(all: &Collection<R>, record: &StoredRecord<R>) -> Result<bool> {
    let versions = all.history(&record.uid)?;
    if versions
        .first()
        .is_none_or(|latest| latest.kind != VersionKind::Edited)
    {
        return Ok(false);
    }
    let etag_at = |position: usize| -> Result<Option<ETag>> {
        let version = versions
            .get(position)
            .map(|version| all.read_version(version));
        Ok(version.transpose()?.flatten().map(|version| version.etag))
    };
    let mut undos = 0;
    let mut pair = (etag_at(0)?, etag_at(1)?);
    while let (Some(latest), Some(between), Some(before)) = (pair.0, pair.1, etag_at(undos + 2)?) {
        if latest != before || latest == between {
            break;
        }
        undos += 1;
        pair = (Some(between), Some(before));
    }
    Ok(undos % 2 == 1)
}

pub fn find_or_in_trash<R: RecordCommands>(
    all: &Collection<R>,
    id: &str,
) -> Result<StoredRecord<R>> {
    if let Some(record) = lookup_record(all, id)? {
        return Ok(record);
    }
    lookup_in_trash(all, id)?.ok_or_else(|| unknown_record::<R>(id))
}

/// Lists the records in the trash, of all collections or the one given on the command line.
pub fn list_trash<R: RecordCommands>(app: &mut App, store: &Store) -> Result<()> {
    let names = app.names_in::<R>(store)?;
    let mut table = record_table::<R>(names.len());
    let mut records = Vec::new();
    for name in &names {
        let collection = (names.len() > 1).then_some(name.as_str());
        for stored in store.collection::<R>(name)?.trash()? {
            let summary = R::parse_text(stored.text.clone(), None).map(|record| record.summary());
            let summary = summary.unwrap_or_default();
            add_row::<R>(&mut table, stored.id, &summary, collection, &app.out);
            records.push((stored.id, summary));
        }
    }
    if records.is_empty() && !app.out.json {
        return app.out.status("The trash is empty.");
    }
    app.out.write_table(&table, &records, |out, (id, summary)| {
        let object = listed_json(*id, R::json_summary(summary, out), None, None, None);
        out.write_json(&object)
    })
}
