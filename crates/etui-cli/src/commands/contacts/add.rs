//! `etui contacts add`.

use std::path::PathBuf;

use etui::Condition;
use etui::Error;
use etui::contacts::{Card, NewProperty};
use etui::record::RecordKind;

use super::property::{Component, PropertyAssignment};
use crate::app::App;
use crate::commands::records::property::parse_email;
use crate::commands::records::{change, report_saved};
use crate::errors::{Failure, Result};

const EXAMPLES: &str = "\
Examples:
  etui contacts add --name \"Ada Lovelace\" --email ada@example.org --phone \"+44 20 7946 0123\"
  etui contacts add --name \"Ada Lovelace\" --set birthday=1815-12-10 --set phone:work=555-0100
  etui contacts add --name \"Ada Lovelace\" --set street=\"12 St James's Square\" --set city=London
  etui contacts add ada.vcf
  etui contacts add - < ada.vcf

The last word of NAME is the family name, with \"van\", \"de\" and the like before it, or the text
before a comma; --set family=... and --set given=... give another split.

PROP is one of: name, family, given, middle, prefix, suffix, nick, phone, email, org, title, note,
birthday, address, street, city, region, postcode, country, label, web, photo; or a vCard property
(ROLE, ANNIVERSARY, X-ANYTHING, ...). Types follow a colon: email:home=ada@example.org. An
address is \"STREET, POSTCODE CITY, COUNTRY\"; photo=FILE reads an image.";

/// Add a contact
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("who").multiple(true))]
pub struct AddContactArgs {
    /// File with one vCard; `-` is standard input
    #[arg(value_name = "FILE", conflicts_with = "who")]
    file: Option<PathBuf>,
    /// Display name
    #[arg(long, value_name = "NAME", group = "who")]
    pub name: Option<String>,
    /// E-mail address
    #[arg(long, value_name = "ADDRESS", requires = "who", value_parser = parse_email)]
    pub email: Vec<String>,
    /// Phone number
    #[arg(long, value_name = "NUMBER", requires = "who")]
    pub phone: Vec<String>,
    /// Organisation, then each unit after a `;`; without --name, a contact that is one
    #[arg(long, value_name = "NAME", group = "who")]
    org: Option<String>,
    /// Note
    #[arg(long, value_name = "TEXT", requires = "who")]
    note: Option<String>,
    /// Any other property
    #[arg(long, value_name = "PROP=VALUE", requires = "who")]
    pub set: Vec<PropertyAssignment>,
}

impl AddContactArgs {
    /// Returns the organisation without its units.
    fn org_name(&self) -> Option<&str> {
        self.org.as_deref()?.split(';').next().map(str::trim)
    }
}

pub fn add_contact(app: &mut App, args: &AddContactArgs) -> Result<()> {
    let name = args.name.as_deref().or_else(|| args.org_name());
    let card = match (&args.file, name) {
        (Some(file), _) => Card::parse(change::read_input(file)?)?,
        (None, Some(name)) => build_card(name, args)?,
        (None, None) => {
            return Err(Failure::usage(
                "give --name NAME, or a file with a vCard (`-` is standard input)",
            ));
        }
    };
    let store = app.open_or_create(app.store_options())?;
    let book = app.open_collection::<Card>(&store)?;
    let uid = card.identity().into_owned();
    let saved = match book.save_if(&card, Condition::IfAbsent) {
        Err(Error::Conflict { uid, .. }) => {
            let there = book
                .get(&uid)?
                .map_or_else(|| uid.clone(), |c| c.id.to_string());
            return Err(Failure::Conflict(format!(
                "contact {there} already has the UID {uid}; to replace it: \
                 etui contacts edit {there} --from FILE"
            )));
        }
        saved => saved?,
    };
    store.close()?;
    report_saved(&mut app.out, &card, &saved, &uid, |name| {
        format!("Added {}: {name}", saved.id)
    })
}

pub fn build_card(name: &str, args: &AddContactArgs) -> Result<Card> {
    let mut card = Card::new(name)?;
    let has_parts = args.set.iter().any(PropertyAssignment::is_part_of_name);
    if args.org_name() != Some(name.trim()) && !has_parts {
        card.set_name(name)?;
    }
    let emails = args.email.iter().map(|email| ("EMAIL", email));
    let phones = args.phone.iter().map(|phone| ("TEL", phone));
    let org = args.org.iter().map(|org| ("ORG", org));
    let note = args.note.iter().map(|note| ("NOTE", note));
    for (property, value) in emails.chain(phones).chain(org).chain(note) {
        card.add(&NewProperty {
            name: property.to_owned(),
            types: Vec::new(),
            value: value.to_owned(),
        })?;
    }
    for assignment in &args.set {
        let property = &assignment.property;
        match assignment.component {
            // The name to show is the one given with --name.
            Some(Component("N", index)) => {
                card.set_component("N", &[], index, &property.value)?;
            }
            _ if assignment.set_part(&mut card)? => {}
            // A card has one FN and one UID, so these replace the existing value.
            _ if matches!(property.name.as_str(), "FN" | "UID") => {
                card.set(&property.name, &property.value)?;
            }
            _ => card.add(property)?,
        }
    }
    Ok(card)
}
