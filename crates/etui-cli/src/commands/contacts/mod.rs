//! `etui contacts`: list, find, show and change contacts.

mod add;
pub mod birthdays;
mod browse;
mod display;
mod duplicates;
mod edit;
mod help;
mod merge;
mod new_card;
mod photo;
mod phrase;
pub mod property;
mod query;
mod show;

use clap::Subcommand;
use etui::contacts::{Card, Column, Contact, Contacts, PartialDate, Row, Summary, TypedValue};
use etui::{RecordId, Store};
use etui_program::output::{OutputWriter, object};
use etui_program::{App, Result};
use serde::Serialize;

use super::records::browser::{COLUMN_GAP, ListLandmark};
use super::records::change::find_line_without_colon;
use super::records::details::RecordDetails;
use super::records::property::PropertyWords;
use super::records::transfer::{Transfer, TransferArgs, transfer_records};
use super::records::{NoOptions, RecordCommand, RecordCommands, RecordHelp};
use crate::json::contact_json;

pub const EXAMPLES: &str = "\
Examples:
  etui contacts list                         all contacts by name
  etui contacts find mull                    search names, organisations, e-mail, phones
  etui contacts show 17                      show contact number 17
  etui contacts add --name \"Ada Lovelace\" --email ada@example.org
  etui contacts edit 17 --set phone=\"+44 20 7946 0123\"
  etui contacts remove 17
  etui contacts restore 17                   undo the latest change
  etui contacts history 17                   its earlier versions
  etui contacts move --to Work 17 18         to another address book
  etui contacts duplicates                   contacts that are perhaps one person
  etui contacts birthdays                    birthdays in the next 30 days

ID is the number in the first column of lists, or a UID.";

#[derive(Debug, Subcommand)]
pub enum ContactsCommand {
    #[command(flatten)]
    Records(RecordCommand<Card>),
    /// Move contacts to another address book
    #[command(alias = "mv", after_help = help::MOVE)]
    Move(TransferArgs<Card>),
    Duplicates(duplicates::DuplicatesArgs),
    Merge(merge::MergeArgs),
    Birthdays(birthdays::BirthdaysArgs),
    Query(query::QueryAddressesArgs),
    Photo(photo::PhotoArgs),
}

impl ContactsCommand {
    pub fn run_command(&self, app: &mut App) -> Result<()> {
        match self {
            Self::Records(command) => command.run_command(app),
            Self::Move(args) => transfer_records(app, args, Transfer::Move),
            Self::Duplicates(args) => duplicates::find_duplicates(app, args),
            Self::Merge(args) => merge::merge_contacts(app, args),
            Self::Birthdays(args) => birthdays::list_birthdays(app, args),
            Self::Query(args) => query::query_addresses(app, args),
            Self::Photo(args) => photo::write_photo(app, args),
        }
    }
}

/// Width of a phone number in the browser.
const PHONE_WIDTH: usize = 18;

// Flattened into the arguments of `list`.
#[derive(Debug, clap::Args)]
pub struct ListContactsOptions {
    /// Print the position of the first name of each letter
    #[arg(
        long,
        conflicts_with_all = ["fields", "sort", "limit", "all", "at", "after"]
    )]
    letters: bool,
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
    const NAME_CELL: usize = 0;
    const COLUMN_HEADINGS: &'static str = "Name,Organisation,Phone,E-mail,UID,ETag,Family name,\
        Given names,Nicknames,Phones,E-mails,Categories,Note,Addresses,Cities,Birthday,vCard";
    const UNKNOWN_NUMBER_HINT: &'static str =
        "to search for a phone number: etui contacts find phone:{}";
    const SORT_HELP: &'static str = "Order: by name, by time of addition, or unordered (none, the fastest); -: descending \
         [default: name; of `find` the best match first]";
    const TEXT_OPTION: [&'static str; 2] = ["vcard", "Print the vCard as it was imported"];
    const COLLECTION_OPTION: &'static str = "--addressbook";
    const COLLECTION_FIELD: &'static str = "addressbook";
    const COLLECTIONS_COMMAND: &'static str = "addressbooks";
    const COLLECTION_HEADINGS: [&'static str; 2] = ["Contacts", "Address book"];
    const LANDMARK: &'static str = "letter";
    const PROPERTY_WORDS: PropertyWords = property::WORDS;
    const KNOWN_PROPERTIES: &'static [&'static str] = property::KNOWN;
    const HELP: RecordHelp = help::CONTACTS;

    type ListOptions = ListContactsOptions;
    type FindOptions = NoOptions;
    type AddArgs = new_card::AddContactArgs;
    type EditArgs = edit::EditContactArgs;

    fn add_record(app: &mut App, args: &Self::AddArgs) -> Result<()> {
        add::add_contact(app, args)
    }

    fn edit_record(app: &mut App, args: &Self::EditArgs) -> Result<()> {
        edit::edit_contact(app, args)
    }

    fn lists_landmarks(options: &ListContactsOptions) -> bool {
        options.letters
    }

    fn parse_text(text: Vec<u8>, _: Option<(&Contacts, RecordId)>) -> Result<Self> {
        Ok(Card::parse(text)?)
    }

    fn set_uid(&mut self, uid: &str) -> Result<()> {
        Ok(self.set("UID", uid)?)
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
        let first = |all: Vec<TypedValue>| all.into_iter().next().map(|t| t.value);
        Summary {
            name: self.display_name(),
            organization: self.organization().map(|o| o.name).unwrap_or_default(),
            phone: first(self.phones()).unwrap_or_default(),
            email: first(self.emails()).unwrap_or_default(),
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

    fn summary_name(summary: &Summary) -> &str {
        &summary.name
    }

    fn json_summary<'a>(s: &'a Summary, _: &OutputWriter) -> impl Serialize + use<'a> {
        object! { name: &s.name, organization: &s.organization, phone: &s.phone, email: &s.email }
    }

    fn write_json(
        out: &mut OutputWriter,
        store: &Store,
        _: &Contacts,
        contact: &Contact,
    ) -> Result<()> {
        out.write_json(&contact_json(contact, store.settings().region)?)
    }

    fn cells(s: &Summary, _: &OutputWriter) -> Vec<String> {
        let phone = display::shown_phone(&s.phone);
        [&s.name, &s.organization, &*phone, &s.email]
            .map(str::to_owned)
            .into()
    }

    fn cell_text(column: Column, value: &str, _: &OutputWriter) -> String {
        match (column, PartialDate::parse(value)) {
            (Column::Birthday, Some(date)) => display::shown_date(date),
            (Column::Phone | Column::Phones, _) => display::shown_phone(value).into_owned(),
            _ => value.to_owned(),
        }
    }

    fn layout_columns(room: usize) -> Vec<(usize, usize)> {
        let [name, organization, phone, email] = [0, 1, 2, 3];
        let shared = |gaps: usize| room.saturating_sub(PHONE_WIDTH + gaps * COLUMN_GAP);
        let narrow = (shared(2) * 2 / 5).max(22);
        let wide = (shared(3) * 3 / 10).min(40);
        let phone = (phone, PHONE_WIDTH);
        match room {
            0..38 => vec![(name, room)],
            38..72 => vec![(name, shared(1)), phone],
            72..96 => vec![(name, narrow), phone, (email, shared(2) - narrow)],
            _ => {
                let email = (email, shared(3) - 2 * wide);
                vec![(name, wide), (organization, wide), phone, email]
            }
        }
    }

    fn landmarks(book: &Contacts, _: &OutputWriter) -> Result<Vec<ListLandmark>> {
        let letters = book.letters()?.into_iter().map(|letter| ListLandmark {
            label: letter.label,
            position: letter.position,
        });
        Ok(letters.collect())
    }

    fn opening_position(_: &Contacts, _: &OutputWriter) -> Result<u64> {
        Ok(0)
    }

    fn record_details(
        _: &Contacts,
        contact: &Contact,
        _: Option<&str>,
        _: &OutputWriter,
    ) -> std::result::Result<RecordDetails, String> {
        show::contact_details(contact)
    }
}
