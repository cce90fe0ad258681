//! [`AddContactArgs`]: the parts of a new contact, and the card of them.

use etui::contacts::{Card, NewProperty};
use etui_program::{Failure, Result};

use super::property::{Component, PropertyAssignment};
use crate::commands::records::property::parse_email;

const EXAMPLES: &str = "\
Examples:
  etui contacts add Ada Lovelace ada@example.org +44 20 7946 0123
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
    /// Name, e-mail addresses and phone numbers; or a file with one vCard; `-` is standard input
    #[arg(value_name = "WORDS|FILE", conflicts_with = "who")]
    pub words: Vec<String>,
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
    pub fn org_name(&self) -> Option<&str> {
        self.org.as_deref()?.split(';').next().map(str::trim)
    }
}

/// Makes the card of a new contact.
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
        if assignment.replaced.as_ref().is_some_and(|r| r.is_certain) {
            return Err(Failure::usage(
                "OLD>NEW changes a contact: etui contacts edit ID --set",
            ));
        }
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
