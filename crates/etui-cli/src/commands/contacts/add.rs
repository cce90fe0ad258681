//! `etui contacts add`: a new contact.

use std::path::PathBuf;

use etui::Condition;
use etui::Error;
use etui::contacts::{Card, NewProperty};

use super::property::Assignment;
use crate::app::App;
use crate::commands::records::change;
use crate::errors::{Failure, Result};
use crate::output::json::RecordChangeObject;
use crate::output::one_line;

const EXAMPLES: &str = "\
Examples:
  etui contacts add --name \"Ada Lovelace\" --email ada@example.org --phone \"+44 20 7946 0123\"
  etui contacts add --name \"Ada Lovelace\" --set birthday=1815-12-10 --set phone:work=555-0100
  etui contacts add ada.vcf
  etui contacts add - < ada.vcf

Properties are vCard's (NICKNAME, TITLE, X-ANYTHING, ...) or plain words: name, phone, email, org,
note, birthday, address, nick, category. Types go behind a colon: email:home=ada@example.org";

/// Add a contact
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A file with one vCard; `-` is standard input
    #[arg(value_name = "FILE", conflicts_with = "name")]
    file: Option<PathBuf>,
    /// The name to show
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// An e-mail address
    #[arg(long, value_name = "ADDRESS", requires = "name")]
    email: Vec<String>,
    /// A phone number
    #[arg(long, value_name = "NUMBER", requires = "name")]
    phone: Vec<String>,
    /// The organisation; `;` before each unit
    #[arg(long, value_name = "NAME", requires = "name")]
    org: Option<String>,
    /// A note
    #[arg(long, value_name = "TEXT", requires = "name")]
    note: Option<String>,
    /// Any other property
    #[arg(long, value_name = "PROP=VALUE", requires = "name")]
    set: Vec<Assignment>,
}

/// Adds it.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let card = match (&args.file, &args.name) {
        (Some(file), _) => Card::parse(change::read(file)?)?,
        (None, Some(name)) => make(name, args)?,
        (None, None) => {
            return Err(Failure::usage(
                "whom? --name NAME, or a file with a vCard (`-` is standard input)",
            ));
        }
    };
    let store = app.open_or_create(&app.options())?;
    let book = app.book(&store)?;
    let uid = card.identity().into_owned();
    let saved = match book.save_if(&card, Condition::IfAbsent) {
        Ok(saved) => saved,
        Err(Error::Conflict { uid, .. }) => {
            let there = book
                .get(&uid)?
                .map_or_else(|| uid.clone(), |c| c.id.to_string());
            return Err(Failure::Conflict(format!(
                "a contact with the UID {uid} is there already, number {there}; to replace it: \
                 etui contacts edit {there} --from FILE"
            )));
        }
        Err(e) => return Err(e.into()),
    };
    store.close()?;
    let name = card.display_name();
    if app.out.json {
        return app
            .out
            .object(&RecordChangeObject::saved(&saved, &uid, &name));
    }
    app.out
        .say(format!("Added {}: {}", saved.id, one_line(&name)))
}

fn make(name: &str, args: &Args) -> Result<Card> {
    let mut card = Card::new(name)?;
    let mut add = |property: &str, value: &str| {
        card.add(&NewProperty {
            name: property.to_owned(),
            types: Vec::new(),
            value: value.to_owned(),
        })
    };
    for email in &args.email {
        add("EMAIL", email)?;
    }
    for phone in &args.phone {
        add("TEL", phone)?;
    }
    if let Some(org) = &args.org {
        add("ORG", org)?;
    }
    if let Some(note) = &args.note {
        add("NOTE", note)?;
    }
    for Assignment(property) in &args.set {
        // A name or UID given here takes the place of the one that is there.
        if card.property(&property.name).is_some() && matches!(property.name.as_str(), "FN" | "UID")
        {
            card.set(&property.name, &property.value)?;
        } else {
            card.add(property)?;
        }
    }
    Ok(card)
}
