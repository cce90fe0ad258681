//! `etui contacts`: find, show and change contacts.

mod add;
mod books;
mod edit;
mod editor;
mod find;
mod list;
mod pager;
mod property;
mod query;
mod remove;
mod restore;
mod show;
mod watch;

use clap::Subcommand;
use etui::contacts::{Contact, Contacts, Entry, Filter};
use etui::{Error, RecordId};

use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::EntryObject;
use crate::output::{Out, Table, shown};

/// Shown under the help of `etui contacts`.
pub const EXAMPLES: &str = "\
Examples:
  etui contacts list                         everybody, in order
  etui contacts find mull                    names, organisations, e-mail, phones; finds Müller too
  etui contacts show 17                      all about number 17
  etui contacts add --name \"Ada Lovelace\" --email ada@example.org
  etui contacts edit 17 --set phone=\"+44 20 7946 0123\"
  etui contacts remove 17
  etui contacts restore 17                   undo the latest change, whatever it was

ID is the number in the first column of lists, or a UID.";

/// What to do with contacts.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List contacts in order
    List(list::Args),
    /// Find contacts
    Find(find::Args),
    /// Show all about a contact
    Show(show::Args),
    /// Add a contact
    Add(add::Args),
    /// Change a contact
    Edit(edit::Args),
    /// Remove contacts
    #[command(visible_alias = "rm")]
    Remove(remove::Args),
    /// Undo a contact's latest change, also a removal
    Restore(restore::Args),
    /// Tell of changes as they happen
    Watch(watch::Args),
    /// List address books, or make one
    Books(books::Args),
}

/// Does what was asked.
pub fn run(app: &mut App, command: Command) -> Result<()> {
    match command {
        Command::List(args) => list::run(app, &args),
        Command::Find(args) => find::run(app, &args),
        Command::Show(args) => show::run(app, &args),
        Command::Add(args) => add::run(app, &args),
        Command::Edit(args) => edit::run(app, &args),
        Command::Remove(args) => remove::run(app, &args),
        Command::Restore(args) => restore::run(app, &args),
        Command::Watch(args) => watch::run(app, &args),
        Command::Books(args) => books::run(app, &args),
    }
}

/// The filter that words on the command line make; none: all contacts.
pub fn filter(words: &[String]) -> Result<Filter> {
    Ok(words.join(" ").parse()?)
}

/// Nobody fits the filter that these words make.
pub fn nothing_found(words: &[String]) -> Failure {
    Failure::NotFound(format!("nobody found for: {}", words.join(" ").trim()))
}

/// The contact with this number or UID.
fn resolve(book: &Contacts<'_>, id: &str) -> Result<Contact> {
    match lookup(book, id)? {
        Some(contact) => Ok(contact),
        None if in_trash(book, id)?.is_some() => Err(Failure::NotFound(format!(
            "contact {id} was removed; bring it back with `etui contacts restore {id}`"
        ))),
        None => Err(missing(id)),
    }
}

fn lookup(book: &Contacts<'_>, id: &str) -> Result<Option<Contact>> {
    if let Some(number) = number(id)
        && let Some(contact) = book.by_id(number)?
    {
        return Ok(Some(contact));
    }
    Ok(book.get(id)?)
}

/// The contacts that `ids` mean, each of them once.
fn each_once(ids: &[String], find: impl Fn(&str) -> Result<Contact>) -> Result<Vec<Contact>> {
    let mut seen = std::collections::HashSet::new();
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        let contact = find(id)?;
        if seen.insert(contact.id) {
            all.push(contact);
        }
    }
    Ok(all)
}

/// A removed contact with this number or UID.
fn in_trash(book: &Contacts<'_>, id: &str) -> Result<Option<Contact>> {
    let number = number(id);
    let mut trash = book.trash()?;
    let place = trash
        .iter()
        .position(|c| Some(c.id) == number)
        .or_else(|| trash.iter().position(|c| c.uid == id));
    Ok(place.map(|i| trash.swap_remove(i)))
}

fn number(id: &str) -> Option<RecordId> {
    let digits = id.strip_prefix('#').unwrap_or(id);
    let plain = digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok().map(RecordId)).flatten()
}

fn missing(id: &str) -> Failure {
    Failure::NotFound(if number(id).is_some() {
        format!(
            "there is no contact number {id}; to look for a phone number: \
                 etui contacts find phone:{id}"
        )
    } else {
        format!("there is no contact with the UID {id}; `etui contacts find` tells the numbers")
    })
}

/// The name to show of a contact, whatever its vCard is.
fn name_of(contact: &Contact) -> String {
    let name = contact.card().map(|c| c.display_name()).unwrap_or_default();
    if name.is_empty() {
        "(no name)".to_owned()
    } else {
        name
    }
}

/// Writes a list, as a table or as JSON.
fn write_entries(out: &mut Out, entries: &[Entry]) -> Result<()> {
    if out.json {
        for entry in entries {
            out.object(&EntryObject::of(entry))?;
        }
        return Ok(());
    }
    let mut table = Table::new(&["#", "Name", "Organisation", "Phone", "E-mail"]);
    for entry in entries {
        let s = &entry.summary;
        table.row([
            entry.id.to_string().as_str(),
            &s.name,
            &s.organization,
            &s.phone,
            &s.email,
        ]);
    }
    table.write(out)
}

/// Says what to do about a contact that was changed by somebody else at the same time.
fn explain_conflict(error: Error, id: &str, kept: Option<&str>) -> Failure {
    match (error, kept) {
        (Error::Conflict { .. }, kept) => {
            let mut text = format!(
                "contact {} was changed meanwhile; nothing was overwritten. \
                 See what it is now: etui contacts show {}",
                shown(id),
                shown(id)
            );
            if let Some(file) = kept {
                text.push_str(&format!(
                    "\nYour text is kept in {file}; when it holds both changes: \
                     etui contacts edit {id} --from {file}"
                ));
            }
            Failure::Conflict(text)
        }
        (other, None) => other.into(),
        (other, Some(file)) => Failure::Other(format!("{other}\nYour text is kept in {file}")),
    }
}
