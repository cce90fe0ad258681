//! `etui contacts edit`: changes a contact by options, from a file, or in an editor.

use std::path::PathBuf;

use etui::contacts::{Card, Contact};

use super::property::PropertyAssignment;
use crate::app::App;
use crate::commands::records::property::{PropertyRemoval, parse_removal};
use crate::commands::records::{change, resolve_record};
use crate::errors::{Failure, Result};

const EXAMPLES: &str = "\
Examples:
  etui contacts edit 17                                  in your editor ($VISUAL, $EDITOR)
  etui contacts edit 17 --set phone=\"+44 20 7946 0123\"
  etui contacts edit 17 --add email:work=ada@example.org --remove note
  etui contacts edit 17 --remove phone=555-0100
  etui contacts edit 17 --from ada.vcf                   replace the whole vCard

--set changes the first property of its name, or adds it. --remove is applied first, then --set, then
--add. All other lines of the vCard are unchanged. For PROP see `etui contacts add --help`.
`etui contacts restore 17` undoes the change.";

/// Change a contact
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct EditContactArgs {
    /// Number or UID
    #[arg(value_name = "ID")]
    id: String,
    /// Change or add a property
    #[arg(long, value_name = "PROP=VALUE")]
    set: Vec<PropertyAssignment>,
    /// Add a property
    #[arg(long, value_name = "PROP=VALUE")]
    add: Vec<PropertyAssignment>,
    /// Remove all properties of this name, or those with this value
    #[arg(long, value_name = "PROP[=VALUE]", value_parser = parse_removal::<Card>)]
    remove: Vec<PropertyRemoval>,
    /// Replace the vCard by this file; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["set", "add", "remove"])]
    from: Option<PathBuf>,
    /// Fail unless the contact has this ETag
    #[arg(long, value_name = "ETAG")]
    if_match: Option<String>,
}

pub fn edit_contact(app: &mut App, args: &EditContactArgs) -> Result<()> {
    let store = app.open_to_write()?;
    let book = app.open_collection::<Card>(&store)?;
    let mut contact = resolve_record(&book, &args.id)?;
    change::expect_etag(&mut contact, args.if_match.as_deref())?;
    let by_options = !(args.set.is_empty() && args.add.is_empty() && args.remove.is_empty());
    let (card, saved) = match &args.from {
        Some(file) => change::replace_from_file(&book, &contact, &args.id, file)?,
        None if by_options => {
            change::save_changed(&book, &contact, &args.id, apply_options(&contact, args)?)?
        }
        None => change::edit_in_editor(app, &book, &contact, &args.id)?,
    };
    store.close()?;
    change::report_change(app, &contact, &card, &saved)
}

/// Returns the card with the changes of the options.
fn apply_options(contact: &Contact, args: &EditContactArgs) -> Result<Card> {
    let mut card = contact.card()?;
    for removal in &args.remove {
        let removed = card.remove(&removal.name, removal.value.as_deref())?;
        removal.check_removed::<Card>(contact.id, removed)?;
    }
    for PropertyAssignment(property) in &args.set {
        if property.types.is_empty() {
            card.set(&property.name, &property.value)?;
        } else if card.property(&property.name).is_none() {
            card.add(property)?;
        } else {
            return Err(Failure::usage(format!(
                "--set {} keeps the existing types; leave the types out, or use --add",
                property.name
            )));
        }
    }
    for PropertyAssignment(property) in &args.add {
        card.add(property)?;
    }
    Ok(card)
}
