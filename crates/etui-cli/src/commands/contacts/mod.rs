//! `etui contacts`: find, show and change contacts.

mod add;
mod edit;
mod find;
mod list;
mod paged;
mod property;
mod remove;
mod restore;
mod show;
mod watch;

use clap::Subcommand;
use etui::RecordId;
use etui::contacts::{Card, Column, Contacts, Row, Summary, Typed};
use serde::Serialize;

use super::records::RecordCommands;
use super::records::change::line_without_colon;
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::{AddressBookObject, ContactSummaryObject};
use crate::output::{OutputWriter, Table};

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
    #[command(visible_alias = "rm", alias = "delete")]
    Remove(remove::Args),
    /// Undo a contact's latest change, also a removal
    #[command(alias = "undo")]
    Restore(restore::Args),
    /// Tell of changes as they happen
    Watch(watch::Args),
    /// List address books; make, rename, remove one, bring one back
    Books(super::addressbooks::Args),
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
        Command::Books(args) => super::addressbooks::run(app, &args),
    }
}

impl RecordCommands for Card {
    const ONE: &'static str = "contact";
    const MANY: &'static str = "contacts";
    const NOBODY: &'static str = "nobody";
    const COMMAND: &'static str = "contacts";
    const ANOTHER: &'static str = "etui contacts add FILE";
    const FORMAT: &'static str = "vCard";
    const UNNAMED: &'static str = "(no name)";
    const SUFFIX: &'static str = ".vcf";
    const HEADINGS: &'static [&'static str] = &["Name", "Organisation", "Phone", "E-mail"];
    const BY_NUMBER: &'static str = "to look for a phone number: etui contacts find phone:{}";
    const ORDERS: &'static str =
        "Order: by name, as they were added, or as they are found, the quickest; -: from the end";
    const HOLDER_OPTION: &'static str = "--book";
    const HOLDER_FIELD: Option<&'static str> = None;
    const HOLDERS: &'static str = "books";
    const HOLDER_HEADINGS: [&'static str; 2] = ["Contacts", "Address book"];

    type Object<'a> = ContactSummaryObject<'a>;

    fn parse(text: Vec<u8>) -> Result<Self> {
        Ok(Card::parse(text)?)
    }

    fn parse_for(text: Vec<u8>, _: &Contacts<'_>, _: RecordId) -> Result<Self> {
        Self::parse(text).map_err(Failure::from)
    }

    fn bytes(&self) -> &[u8] {
        self.text()
    }

    fn own_uid(&self) -> Option<&str> {
        self.uid()
    }

    fn set_uid(&mut self, uid: &str) -> Result<()> {
        Ok(self.set("UID", uid)?)
    }

    fn title(&self) -> String {
        self.display_name()
    }

    fn odd_line(text: &[u8], before: &[u8]) -> Option<String> {
        // In 2.1 the lines of quoted-printable and base64 values look like this.
        let is_old = String::from_utf8_lossy(before).contains("VERSION:2.1");
        match is_old {
            true => None,
            false => line_without_colon("a vCard", text, before),
        }
    }

    fn summary(&self) -> Summary {
        let first = |all: Vec<Typed>| all.into_iter().next().map_or_else(String::new, |t| t.value);
        Summary {
            name: match self.display_name() {
                name if name.is_empty() => Self::unreadable().name,
                name => name,
            },
            organization: self.organization().map(|o| o.name).unwrap_or_default(),
            phone: first(self.phones()),
            email: first(self.emails()),
        }
    }

    fn summary_of(row: &Row<'_>) -> Summary {
        Summary {
            name: row.name().to_owned(),
            organization: row.get(Column::Organization).to_owned(),
            phone: row.get(Column::Phone).to_owned(),
            email: row.get(Column::Email).to_owned(),
        }
    }

    fn unreadable() -> Summary {
        Summary {
            name: Self::UNNAMED.to_owned(),
            ..Summary::default()
        }
    }

    fn name(summary: &Summary) -> &str {
        &summary.name
    }

    fn object<'a>(summary: &'a Summary, _: &OutputWriter) -> ContactSummaryObject<'a> {
        summary.into()
    }

    fn holder(name: &str, count: u64) -> impl Serialize {
        AddressBookObject {
            name,
            contacts: count,
        }
    }

    fn row(id: RecordId, s: &Summary, table: &mut Table, _: &OutputWriter) {
        let id = id.to_string();
        table.row([&id, &s.name, &s.organization, &s.phone, &s.email].map(String::as_str));
    }

    fn heading(column: Column) -> &'static str {
        match column {
            Column::Name => "Name",
            Column::Organization => "Organisation",
            Column::Phone => "Phone",
            Column::Email => "E-mail",
            Column::Uid => "UID",
            Column::ETag => "ETag",
            Column::Family => "Family name",
            Column::Given => "Given names",
            Column::Nicknames => "Nicknames",
            Column::Phones => "Phones",
            Column::Emails => "E-mails",
            Column::Categories => "Categories",
            Column::Note => "Note",
            Column::Card => "vCard",
        }
    }
}
