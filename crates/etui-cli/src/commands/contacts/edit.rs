//! `etui contacts edit`: changes a contact, by options or in an editor.

use std::path::PathBuf;

use etui::contacts::{Card, Contact};

use super::property::{Assignment, removal};
use crate::app::App;
use crate::commands::records::property::PropertyRemoval;
use crate::commands::records::{change, resolve};
use crate::errors::{Failure, Result};

const EXAMPLES: &str = "\
Examples:
  etui contacts edit 17                                  in your editor ($VISUAL, $EDITOR)
  etui contacts edit 17 --set phone=\"+44 20 7946 0123\"
  etui contacts edit 17 --add email:work=ada@example.org --remove note
  etui contacts edit 17 --remove phone=555-0100
  etui contacts edit 17 --from ada.vcf                   replace the whole vCard

--set changes the first property of its name, or adds it. Removals are done first, then --set, then
--add. All other lines of the vCard stay as they are. Names of properties: see
`etui contacts add --help`. `etui contacts restore 17` undoes it.";

/// Change a contact
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Number or UID
    #[arg(value_name = "ID")]
    id: String,
    /// Change a property, or add it
    #[arg(long, value_name = "PROP=VALUE")]
    set: Vec<Assignment>,
    /// Add a property
    #[arg(long, value_name = "PROP=VALUE")]
    add: Vec<Assignment>,
    /// Remove a property, all of that name or the one with that value
    #[arg(long, value_name = "PROP[=VALUE]", value_parser = removal)]
    remove: Vec<PropertyRemoval>,
    /// Replace the vCard by the one in this file; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["set", "add", "remove"])]
    from: Option<PathBuf>,
    /// Only if the contact still has this ETag
    #[arg(long, value_name = "ETAG")]
    if_match: Option<String>,
}

/// Changes it.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let store = app.open_to_write()?;
    let book = app.book(&store)?;
    let mut contact = resolve(&book, &args.id)?;
    change::expect(&mut contact, args.if_match.as_deref())?;
    let by_options = !(args.set.is_empty() && args.add.is_empty() && args.remove.is_empty());
    let (card, saved) = match &args.from {
        Some(file) => change::from_file(&book, &contact, &args.id, file)?,
        None if by_options => change::save(&book, &contact, &args.id, changed(&contact, args)?)?,
        None => change::in_editor(app, &book, &contact, &args.id)?,
    };
    store.close()?;
    change::tell(app, &contact, &card, &saved)
}

/// The card with the options' changes.
fn changed(contact: &Contact, args: &Args) -> Result<Card> {
    let mut card = contact.card()?;
    for removal in &args.remove {
        if card.remove(&removal.name, removal.value.as_deref())? == 0 {
            let value = removal
                .value
                .as_ref()
                .map_or_else(String::new, |v| format!(" {v}"));
            return Err(Failure::NotFound(format!(
                "contact {} has no {}{value}; nothing was changed",
                contact.id, removal.name
            )));
        }
    }
    for Assignment(property) in &args.set {
        if property.types.is_empty() {
            card.set(&property.name, &property.value)?;
        } else if card.property(&property.name).is_none() {
            card.add(property)?;
        } else {
            return Err(Failure::usage(format!(
                "--set {} keeps the types that are there; leave them out, or use --add",
                property.name
            )));
        }
    }
    for Assignment(property) in &args.add {
        card.add(property)?;
    }
    Ok(card)
}
