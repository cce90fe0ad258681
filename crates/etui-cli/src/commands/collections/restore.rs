//! Restores a removed collection; lists the removed ones.

use etui::{Error, RemovedCollection};
use etui_program::output::{Table, format_count, one_line, quote_operand};
use etui_program::{App, Failure, Result};

use super::json::{collection_json, removed_collection_json};
use super::{command_line, count_of};
use crate::commands::records::{RecordCommands, with_article};
use etui_when::format_minute;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub struct RestoreCollectionArgs {
    /// Name; of several, the most recently removed one
    #[arg(group = "which")]
    name: Option<String>,
    /// Number in the first column of `removed`
    #[arg(long, value_name = "ID", group = "which")]
    id: Option<i64>,
    /// Restore it under this name
    #[arg(long = "as", value_name = "NEW")]
    new: Option<String>,
}

impl RestoreCollectionArgs {
    fn selects(&self, removed: &RemovedCollection) -> bool {
        self.id == Some(removed.id.0) || self.name.as_ref() == Some(&removed.name)
    }

    /// Returns the error for a selection that matches none of `all`.
    fn not_found<R: RecordCommands>(&self, all: Vec<RemovedCollection>) -> Failure {
        if let Some(id) = self.id {
            return Failure::NotFound(format!(
                "no removed {} has the number {id}; `{} removed` lists the numbers",
                R::KIND,
                command_line::<R>()
            ));
        }
        let mut known: Vec<String> = all.into_iter().map(|removed| removed.name).collect();
        known.sort_unstable();
        known.dedup();
        Failure::Library(Error::NoRemovedCollection {
            kind: R::KIND,
            name: self.name.clone().unwrap_or_default(),
            known,
        })
    }
}

pub fn restore_collection<R: RecordCommands>(
    app: &mut App,
    args: &RestoreCollectionArgs,
) -> Result<()> {
    let store = app.open_to_write()?;
    let mut all = store.collections::<R>().removed()?;
    let Some(found) = all.iter().position(|removed| args.selects(removed)) else {
        return Err(args.not_found::<R>(all));
    };
    let removed = all.remove(found);
    let name = args.new.as_ref().unwrap_or(&removed.name);
    let restored = store.collections::<R>().restore_as(&removed, name);
    if let Err(Error::CollectionExists { .. }) = restored {
        return Err(Failure::Exists(format!(
            "{} named \"{}\" already exists; restore this one under another name: \
             {} restore --as NAME {}",
            with_article(&R::KIND.to_string()),
            one_line(name),
            command_line::<R>(),
            match args.id {
                Some(id) => format!("--id {id}"),
                None => quote_operand(&removed.name),
            }
        )));
    }
    let records = restored?;
    store.close()?;
    let under = match &args.new {
        Some(new) => format!(" as {}", one_line(new)),
        None => String::new(),
    };
    let text = format!(
        "Restored the {} {}{under}: {}",
        R::KIND,
        one_line(&removed.name),
        count_of::<R>(records)
    );
    app.out.report(&collection_json::<R>(name, records), text)?;
    if args.id.is_none() && all.iter().any(|removed| args.selects(removed)) {
        app.out.status(format!(
            "Another one of this name was removed earlier: {} removed",
            command_line::<R>()
        ))?;
    }
    Ok(())
}

/// Lists the collections that can be restored.
pub fn list_removed<R: RecordCommands>(app: &mut App) -> Result<()> {
    let store = app.open_to_read()?;
    let all = store.collections::<R>().removed()?;
    let zone = app.out.time_zone();
    if all.is_empty() {
        return app.out.status(format!("There is no removed {}.", R::KIND));
    }
    let [records, collection] = R::COLLECTION_HEADINGS;
    // A narrow terminal gets the day of removal alone; all are kept equally long.
    let fits = app.out.width().is_none_or(|width| width >= WIDTH);
    let mut table = match fits {
        true => Table::new(&["#", "Removed", "Kept until", records, collection]),
        false => Table::new(&["#", "Removed", records, collection]),
    };
    for removed in &all {
        let id = removed.id.to_string();
        let inside = format!("{:>1$}", format_count(removed.records), records.len());
        let [from, until] =
            [removed.removed, removed.kept_until].map(|time| format_minute(time, &zone));
        match fits {
            true => table.add_row([id.as_str(), &from, &until, &inside, &removed.name]),
            false => {
                let day = from.split(' ').next().unwrap_or_default();
                table.add_row([id.as_str(), day, &inside, &removed.name]);
            }
        }
    }
    app.out.write_table(&table, &all, |out, removed| {
        out.write_json(&removed_collection_json::<R>(removed, &zone))
    })
}

/// Minimum terminal width for both times.
const WIDTH: usize = 70;
