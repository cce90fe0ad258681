//! Removes a collection together with its records.

use etui::Error;
use etui_program::output::{one_line, quote_operand};
use etui_program::{App, Failure, Result};

use super::json::removed_collection_json;
use super::{command_line, count_of};
use crate::commands::records::RecordCommands;

/// Removes a collection. Asks for confirmation unless it is empty.
pub fn remove_collection<R: RecordCommands>(
    app: &mut App,
    name: &str,
    is_confirmed: bool,
) -> Result<()> {
    let store = app.open_to_write()?;
    let collection = store.collection::<R>(name)?;
    let inside = collection.count()?;
    if store.collections::<R>().names()? == [name] {
        // Refuse before asking a question that cannot be granted.
        return Err(Failure::Library(Error::LastCollection {
            kind: R::KIND,
            name: name.to_owned(),
        }));
    }
    let removed = if is_confirmed {
        store.collections::<R>().remove(name)?
    } else if inside == 0 || confirm_removal::<R>(app, name, inside)? {
        // The confirmation covers exactly the number of records it named.
        store.collections().remove_if(&collection, inside)?
    } else {
        return app.out.status("Nothing was removed.");
    };
    store.close()?;
    let text = format!(
        "Removed the {} {}: {}\nRestore it within 30 days: {} restore {}",
        R::KIND,
        one_line(name),
        count_of::<R>(removed.records),
        command_line::<R>(),
        quote_operand(name)
    );
    let zone = app.out.time_zone();
    app.out
        .report(&removed_collection_json::<R>(&removed, &zone), text)
}

/// Asks whether a collection with this number of records may be removed.
fn confirm_removal<R: RecordCommands>(app: &mut App, name: &str, inside: u64) -> Result<bool> {
    let what = format!(
        "{} {} is not empty: {}",
        R::KIND,
        one_line(name),
        count_of::<R>(inside)
    );
    if !app.out.is_interactive() {
        return Err(Failure::usage(format!(
            "the {what}; add --yes to remove it anyway"
        )));
    }
    app.out.ask_yes_no(&format!("The {what}. Remove it?"))
}
