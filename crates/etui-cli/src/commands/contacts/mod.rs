//! `etui contacts`: list, find, show and change contacts.

mod add;
mod edit;
mod help;
mod list;
mod pager;
mod property;
mod show;

use clap::Subcommand;
use etui::RecordId;
use etui::contacts::{Card, Column, Contacts, Row, Summary, TypedValue};
use serde::Serialize;

use super::records::RecordCommands;
use super::records::change::find_line_without_colon;
use super::records::find::{FindArgs, find_records};
use super::records::remove::{RemoveRecordsArgs, remove_records};
use super::records::restore::{RestoreRecordsArgs, list_trash, restore_records};
use super::records::watch::{WatchArgs, watch_records};
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::{AddressBookJson, ContactSummaryJson};
use crate::output::{OutputWriter, Table};

pub const EXAMPLES: &str = "\
Examples:
  etui contacts list                         all contacts by name
  etui contacts find mull                    search names, organisations, e-mail, phones
  etui contacts show 17                      show contact number 17
  etui contacts add --name \"Ada Lovelace\" --email ada@example.org
  etui contacts edit 17 --set phone=\"+44 20 7946 0123\"
  etui contacts remove 17
  etui contacts restore 17                   undo the latest change

ID is the number in the first column of lists, or a UID.";

#[derive(Debug, Subcommand)]
pub enum ContactsCommand {
    /// List contacts by name
    #[command(after_help = help::LIST)]
    List(list::ListContactsArgs),
    /// Find contacts
    #[command(after_help = help::FIND)]
    Find(FindArgs<Card>),
    /// Show contacts in full
    Show(show::ShowContactArgs),
    /// Add a contact
    Add(add::AddContactArgs),
    /// Change a contact
    Edit(edit::EditContactArgs),
    /// Remove contacts
    #[command(visible_alias = "rm", alias = "delete", after_help = help::REMOVE)]
    Remove(RemoveRecordsArgs),
    /// Undo the latest change of contacts, including a removal
    #[command(alias = "undo", after_help = help::RESTORE)]
    Restore(RestoreRecordsArgs),
    /// Print changes as they happen
    #[command(after_help = help::WATCH)]
    Watch(WatchArgs),
}

pub fn run_command(app: &mut App, command: ContactsCommand) -> Result<()> {
    match command {
        ContactsCommand::List(args) => list::list_contacts(app, &args),
        ContactsCommand::Find(args) => {
            let store = app.open_to_read()?;
            let snapshot = store.snapshot()?;
            let book = snapshot.collection(app.address_book_name())?;
            find_records(app, &[(String::new(), book)], &args)
        }
        ContactsCommand::Show(args) => show::show_contacts(app, &args),
        ContactsCommand::Add(args) => add::add_contact(app, &args),
        ContactsCommand::Edit(args) => edit::edit_contact(app, &args),
        ContactsCommand::Remove(args) => {
            let store = app.open_to_write()?;
            remove_records(app, &app.address_book(&store)?, &args.ids)?;
            Ok(store.close()?)
        }
        ContactsCommand::Restore(args) if args.list => {
            let store = app.open_to_read()?;
            list_trash(app, &app.address_book(&store)?)
        }
        ContactsCommand::Restore(args) => {
            let store = app.open_to_write()?;
            let restored = restore_records(app, &app.address_book(&store)?, &args.ids);
            store.close()?;
            restored
        }
        ContactsCommand::Watch(args) => {
            let store = app.open_to_read()?;
            watch_records(app, &app.address_book(&store)?, &args)?;
            Ok(store.close()?)
        }
    }
}

impl RecordCommands for Card {
    const ONE: &'static str = "contact";
    const MANY: &'static str = "contacts";
    const COMMAND: &'static str = "contacts";
    const ADD_COMMAND: &'static str = "etui contacts add FILE";
    const FORMAT: &'static str = "vCard";
    const UNNAMED: &'static str = "(no name)";
    const SUFFIX: &'static str = ".vcf";
    const HEADINGS: &'static [&'static str] = &["Name", "Organisation", "Phone", "E-mail"];
    const UNKNOWN_NUMBER_HINT: &'static str =
        "to search for a phone number: etui contacts find phone:{}";
    const SORT_HELP: &'static str =
        "Order: by name, by time of addition, or unordered (none, the fastest); -: descending";
    const COLLECTION_OPTION: &'static str = "--addressbook";
    const COLLECTION_FIELD: Option<&'static str> = None;
    const COLLECTIONS_COMMAND: &'static str = "addressbooks";
    const COLLECTION_HEADINGS: [&'static str; 2] = ["Contacts", "Address book"];

    type JsonSummary<'a> = ContactSummaryJson<'a>;

    fn parse_text(text: Vec<u8>) -> Result<Self> {
        Ok(Card::parse(text)?)
    }

    fn parse_replacement(text: Vec<u8>, _: &Contacts<'_>, _: RecordId) -> Result<Self> {
        Self::parse(text).map_err(Failure::from)
    }

    fn text_bytes(&self) -> &[u8] {
        self.text()
    }

    fn written_uid(&self) -> Option<&str> {
        self.uid()
    }

    fn set_uid(&mut self, uid: &str) -> Result<()> {
        Ok(self.set("UID", uid)?)
    }

    fn display_title(&self) -> String {
        self.display_name()
    }

    fn find_typing_error(text: &[u8], before: &[u8]) -> Option<String> {
        // In vCard 2.1, lines of quoted-printable and base64 values have no colon.
        let is_old = String::from_utf8_lossy(before).contains("VERSION:2.1");
        match is_old {
            true => None,
            false => find_line_without_colon("a vCard", text, before),
        }
    }

    fn summary(&self) -> Summary {
        let first =
            |all: Vec<TypedValue>| all.into_iter().next().map_or_else(String::new, |t| t.value);
        Summary {
            name: match self.display_name() {
                name if name.is_empty() => Self::UNNAMED.to_owned(),
                name => name,
            },
            organization: self.organization().map(|o| o.name).unwrap_or_default(),
            phone: first(self.phones()),
            email: first(self.emails()),
        }
    }

    fn row_summary(row: &Row<'_>) -> Summary {
        Summary {
            name: row.name().to_owned(),
            organization: row.get(Column::Organization).to_owned(),
            phone: row.get(Column::Phone).to_owned(),
            email: row.get(Column::Email).to_owned(),
        }
    }

    fn unreadable_summary() -> Summary {
        Summary {
            name: Self::UNNAMED.to_owned(),
            ..Summary::default()
        }
    }

    fn summary_name(summary: &Summary) -> &str {
        &summary.name
    }

    fn json_summary<'a>(summary: &'a Summary, _: &OutputWriter) -> ContactSummaryJson<'a> {
        summary.into()
    }

    fn collection_json(name: &str, contacts: u64) -> impl Serialize {
        AddressBookJson { name, contacts }
    }

    fn add_row(id: RecordId, s: &Summary, table: &mut Table, _: &OutputWriter) {
        let id = id.to_string();
        table.add_row([&id, &s.name, &s.organization, &s.phone, &s.email].map(String::as_str));
    }

    fn column_heading(column: Column) -> &'static str {
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
