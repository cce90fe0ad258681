//! `etui purge`: erases removed records, earlier versions and refused texts for good.

use std::collections::HashSet;

use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::{PurgeReport, PurgeScope, RecordId, Store};
use etui_program::output::{object, one_line, pluralize};
use etui_program::{App, Failure, Result, StateFile};

use super::records::restore::find_or_in_trash;
use super::records::selection::numbers_with_trash;
use super::records::{RecordCommands, collection_of, parse_number, stored_title};
use etui_program::services::eds::forget_pictures;

const EXAMPLES: &str = "\
Examples:
  etui purge                             the trash, earlier versions and refused texts
  etui purge --contact 17                one contact, removed or not, with its history
  etui purge --contact \"Ada Lovelace\" --entry 204 --yes

Removed records and earlier versions are otherwise kept for 30 days. A purge erases them now, and nothing
brings them back: their texts are in no file of the store afterwards, neither in lists and the search
index nor in free pages. The file is written again, which takes a moment and free space of its size.
The pictures that desktop programs read are removed, too, and made again for those that stay.
Backups, exported files and folders, and devices that synchronise have their own copies: remove them there.";

/// Erase for good, now: the trash and earlier versions, or single records
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PurgeArgs {
    /// Erase only this contact, with its history; also a removed one
    #[arg(long = "contact", value_name = "ID|NAME")]
    contacts: Vec<String>,
    /// Erase only this calendar entry, with its history; also a removed one
    #[arg(long = "entry", value_name = "ID|NAME")]
    entries: Vec<String>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

/// A record that is to be erased.
struct NamedRecord {
    id: RecordId,
    title: String,
}

pub fn purge_store(app: &mut App, args: &PurgeArgs) -> Result<()> {
    let store = app.open_to_write()?;
    // Its records are no longer there to be named again.
    if let Some(is_complete) = store.maintenance().complete_purge()? {
        check_complete(is_complete, store.path())?;
        app.out.status("Completed an earlier purge.")?;
    }
    let mut records = find_records::<Card>(app, &store, &args.contacts)?;
    records.extend(find_records::<CalendarObject>(app, &store, &args.entries)?);
    let what = match records.as_slice() {
        [] => "the trash, the earlier versions of all records and all refused texts".to_owned(),
        all => {
            let named = all.iter();
            let named = named.map(|one| format!("{} {}", one.id, one_line(&one.title)));
            format!("{} with all versions", named.collect::<Vec<_>>().join(", "))
        }
    };
    if !args.yes {
        if !app.out.is_interactive() {
            return Err(Failure::usage(format!(
                "this erases for good: {what}; add --yes to do so"
            )));
        }
        if !app.out.ask_yes_no(&format!("Erase for good: {what}?"))? {
            return app.out.status("Nothing was erased.");
        }
    }
    let ids: Vec<RecordId> = records.iter().map(|one| one.id).collect();
    let scope = match ids.as_slice() {
        [] => PurgeScope::Removed,
        ids => PurgeScope::Records(ids),
    };
    let report = store.purge(scope)?;
    let uids: HashSet<&str> = report.uids.iter().map(String::as_str).collect();
    let reminders = StateFile::of_store(store.path()).forget_entries(&uids);
    let path = store.path().to_owned();
    store.close()?;
    reminders.and(forget_pictures())?;
    report_purge(app, &report, &path)
}

/// Returns the records of these numbers, UIDs and names.
fn find_records<R: RecordCommands>(
    app: &mut App,
    store: &Store,
    given: &[String],
) -> Result<Vec<NamedRecord>> {
    let mut records = Vec::new();
    for one in given {
        let words: Vec<String> = match parse_number(one) {
            Some(_) => vec![one.clone()],
            None => one.split_whitespace().map(str::to_owned).collect(),
        };
        for id in numbers_with_trash::<R>(app, store, &words, false)? {
            let all = collection_of::<R>(app, store, std::slice::from_ref(&id))?;
            let stored = find_or_in_trash(&all, &id)?;
            records.push(NamedRecord {
                id: stored.id,
                title: stored_title(&stored),
            });
        }
    }
    Ok(records)
}

fn report_purge(app: &mut App, report: &PurgeReport, store: &std::path::Path) -> Result<()> {
    let erased = [
        pluralize(report.uids.len() as u64, "record"),
        pluralize(report.versions, "earlier version"),
        pluralize(report.refused, "refused text"),
    ];
    if app.out.json {
        app.out.write_json(&object! {
            records: report.uids.len(),
            versions: report.versions,
            refused: report.refused,
            complete: report.is_complete,
        })?;
    } else {
        app.out
            .status(format!("Erased for good: {}", erased.join(", ")))?;
        app.out.status(
            "Backups, exports and synchronised devices keep their copies: delete older backups, and make a \
             new one with etui backup",
        )?;
    }
    check_complete(report.is_complete, store)
}

fn check_complete(is_complete: bool, store: &std::path::Path) -> Result<()> {
    match is_complete {
        true => Ok(()),
        false => Err(Failure::Other(format!(
            "{}: another program reads the store, and its log may still have the texts; close the other \
             programs and purge again",
            store.display()
        ))),
    }
}
