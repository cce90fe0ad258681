//! Removes a collection with all that is in it.

use etui::Error;

use super::{command, with};
use crate::app::App;
use crate::commands::records::RecordCommands;
use crate::errors::{Failure, Result};
use crate::output::json::RemovedCollectionObject;
use crate::output::{one_line, operand};

/// Removes that of this name; asks first, unless it is empty.
pub fn remove<R: RecordCommands>(app: &mut App, name: &str, without_asking: bool) -> Result<()> {
    let store = app.open_to_write()?;
    let collection = store.collection::<R>(Some(name))?;
    let inside = collection.count()?;
    if store.collections::<R>()? == [name] {
        // Nobody is asked, or told of --yes, for what cannot be.
        return Err(Failure::Library(Error::LastCollection {
            kind: R::KIND,
            name: name.to_owned(),
        }));
    }
    let removed = if without_asking {
        store.remove_collection::<R>(name)?
    } else if inside == 0 || may_be_removed::<R>(app, name, inside)? {
        // What has come in since then, nobody was asked about.
        store.remove_collection_if(&collection, inside)?
    } else {
        return app.out.say("Nothing was removed.");
    };
    store.close()?;
    if app.out.json {
        let holder = R::holder(name, removed.records);
        let zone = app.out.zone();
        let object = RemovedCollectionObject::of(&removed, holder, &zone);
        return app.out.object(&object);
    }
    app.out.say(format!(
        "Removed the {} {}: {}\nBring back, within 30 days: {} restore {}",
        R::KIND,
        one_line(name),
        with::<R>(removed.records),
        command::<R>(),
        operand(name)
    ))
}

/// Asks whether it may go with so many records.
fn may_be_removed<R: RecordCommands>(app: &mut App, name: &str, inside: u64) -> Result<bool> {
    let what = format!(
        "{} {} is not empty: {}",
        R::KIND,
        one_line(name),
        with::<R>(inside)
    );
    if !app.out.can_ask() {
        return Err(Failure::usage(format!(
            "the {what}; to remove it all the same, add --yes"
        )));
    }
    app.out.ask(&format!("The {what}. Remove it all?"))
}
