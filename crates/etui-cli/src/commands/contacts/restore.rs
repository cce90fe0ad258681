//! `etui contacts restore`: undoes the latest change of a contact.

use etui::contacts::{Contact, Contacts};
use etui::{Outcome, Saved};

use super::{each_once, in_trash, lookup, missing, name_of};
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::{DoneObject, EntryObject};
use crate::output::{Table, one_line};

const EXAMPLES: &str = "\
Examples:
  etui contacts restore 17                   bring it back, or what it was before its latest change
  etui contacts restore 17                   after an edit, once more: undo the undoing
  etui contacts restore --list               what is in the trash

Removed contacts and earlier versions are kept for 30 days.";

/// Undo a contact's latest change, also a removal
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Numbers or UIDs
    #[arg(value_name = "ID", required_unless_present = "list")]
    ids: Vec<String>,
    /// List what is in the trash
    #[arg(long, conflicts_with = "ids")]
    list: bool,
}

/// Undoes it.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    if args.list {
        return list(app);
    }
    let store = app.open_to_write()?;
    let book = app.book(&store)?;
    let meant = each_once(&args.ids, |id| find(&book, id))?;
    let uids: Vec<&str> = meant.iter().map(|c| c.uid.as_str()).collect();
    let restored: Vec<Option<Saved>> = book.restore_many(&uids)?;
    let mut nothing = Vec::new();
    for (contact, saved) in meant.iter().zip(restored) {
        let Some(saved) = saved.filter(|s| s.outcome != Outcome::Unchanged) else {
            nothing.push(contact.id.to_string());
            continue;
        };
        let now = book.get(&contact.uid)?;
        let name = name_of(now.as_ref().unwrap_or(contact));
        if app.out.json {
            app.out
                .object(&DoneObject::saved(&saved, &contact.uid, &name))?;
            continue;
        }
        let name = one_line(&name);
        app.out.say(match saved.outcome {
            Outcome::Added => format!("Brought back {}: {name}", saved.id),
            _ => format!("Undid the latest change of {}: {name}", saved.id),
        })?;
    }
    store.close()?;
    if nothing.is_empty() {
        return Ok(());
    }
    Err(Failure::NotFound(format!(
        "contact {} has no earlier version to go back to",
        nothing.join(", ")
    )))
}

fn find(book: &Contacts<'_>, id: &str) -> Result<Contact> {
    if let Some(contact) = lookup(book, id)? {
        return Ok(contact);
    }
    in_trash(book, id)?.ok_or_else(|| missing(id))
}

fn list(app: &mut App) -> Result<()> {
    let store = app.open_to_read()?;
    let trash = app.book(&store)?.trash()?;
    if trash.is_empty() && !app.out.json {
        return app.out.say("The trash is empty.");
    }
    let mut table = Table::new(&["#", "Name", "Organisation", "Phone", "E-mail"]);
    for contact in &trash {
        let name = name_of(contact);
        let (mut organization, mut phone, mut email) = Default::default();
        if let Ok(card) = contact.card() {
            organization = card.organization().map(|o| o.name).unwrap_or_default();
            phone = first(card.phones());
            email = first(card.emails());
        }
        if app.out.json {
            app.out.object(&EntryObject {
                id: contact.id.0,
                name: &name,
                organization: &organization,
                phone: &phone,
                email: &email,
                next: None,
            })?;
        } else {
            table.row([
                contact.id.to_string().as_str(),
                &name,
                &organization,
                &phone,
                &email,
            ]);
        }
    }
    if app.out.json {
        return Ok(());
    }
    table.write(&mut app.out)
}

fn first(all: Vec<etui::contacts::Typed>) -> String {
    all.into_iter().next().map(|t| t.value).unwrap_or_default()
}
