//! Undoes the latest change of a record; lists what is in the trash.

use etui::record::{Collection, StoredRecord};
use etui::{SaveOutcome, SavedRecord};

use super::find::write_entry;
use super::{RecordCommands, each_once, headings, in_trash, lookup, missing, name_of};
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::RecordChangeObject;
use crate::output::{Table, one_line};

/// Which ones.
#[derive(Debug, clap::Args)]
pub struct Which {
    /// Numbers or UIDs
    #[arg(value_name = "ID", required_unless_present = "list")]
    pub ids: Vec<String>,
    /// List what is in the trash
    #[arg(long, conflicts_with = "ids")]
    pub list: bool,
}

/// Undoes it.
pub fn restore<R: RecordCommands>(
    app: &mut App,
    all: &Collection<'_, R>,
    which: &Which,
) -> Result<()> {
    let meant = each_once(&which.ids, |id| find(all, id))?;
    let uids: Vec<&str> = meant.iter().map(|r| r.uid.as_str()).collect();
    let restored: Vec<Option<SavedRecord>> = all.restore_many(&uids)?;
    let mut nothing = Vec::new();
    for (record, saved) in meant.iter().zip(restored) {
        let Some(saved) = saved.filter(|s| s.outcome != SaveOutcome::Unchanged) else {
            nothing.push(record.id.to_string());
            continue;
        };
        let now = all.get(&record.uid)?;
        let name = name_of(now.as_ref().unwrap_or(record));
        if app.out.json {
            app.out
                .object(&RecordChangeObject::saved(&saved, &record.uid, &name))?;
            continue;
        }
        let name = one_line(&name);
        app.out.say(match saved.outcome {
            SaveOutcome::Added => format!("Brought back {}: {name}", saved.id),
            _ => format!("Undid the latest change of {}: {name}", saved.id),
        })?;
    }
    if nothing.is_empty() {
        return Ok(());
    }
    Err(Failure::NotFound(format!(
        "{} {} has no earlier version to go back to",
        R::ONE,
        nothing.join(", ")
    )))
}

fn find<R: RecordCommands>(all: &Collection<'_, R>, id: &str) -> Result<StoredRecord<R>> {
    if let Some(record) = lookup(all, id)? {
        return Ok(record);
    }
    in_trash(all, id)?.ok_or_else(|| missing::<R>(id))
}

/// Lists what is in the trash.
pub fn list<R: RecordCommands>(app: &mut App, all: &Collection<'_, R>) -> Result<()> {
    let trash = all.trash()?;
    if trash.is_empty() && !app.out.json {
        return app.out.say("The trash is empty.");
    }
    let mut table = Table::new(&headings::<R>());
    for stored in &trash {
        let record = R::parse(stored.text.clone());
        let summary = record.map_or_else(|_| R::unreadable(), |r| r.summary());
        write_entry::<R>(stored.id, &summary, &mut table, &mut app.out)?;
    }
    match app.out.json {
        true => Ok(()),
        false => table.write(&mut app.out),
    }
}
