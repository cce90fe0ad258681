//! `etui contacts edit`: changes a contact by options, from a file, or in an editor.

use std::path::PathBuf;

use etui::contacts::{Card, Contact, NewProperty};

use super::property::{Component, PropertyAssignment, component_named};
use crate::app::App;
use crate::commands::records::change;
use crate::commands::records::property::{PropertyRemoval, parse_removal, word_of};
use crate::commands::records::selection::{Selected, SelectionArgs};
use crate::errors::{Failure, Result};
use crate::output::escape_text;

const EXAMPLES: &str = "\
Examples:
  etui contacts edit 17                                  in your editor ($VISUAL, $EDITOR)
  etui contacts edit 17 --set phone=\"+44 20 7946 0123\"
  etui contacts edit Ada Lovelace --set note=x           by name, if there is one match
  etui contacts edit 17 --set phone:work=\"+44 20 7946 0999\"
  etui contacts edit 17 --add email:work=ada@example.org --remove note
  etui contacts edit 17 --remove phone=555-0100
  etui contacts edit 17 --from ada.vcf                   replace the whole vCard
  etui contacts edit 17 18 19 --add label=Club           several at once
  etui contacts edit --where category:club --remove label=Club --dry-run

--set changes the first property of its name, or adds it; with a type, phone:work, the one of that
type. city:work is the city of the first address of type work. --remove phone=VALUE compares digits. Setting name changes FN and N, setting family or given changes FN where the old one stands in it.
--remove label=Family removes one label. --remove is applied first, then --set, then --add. All
other lines of the vCard are unchanged. For PROP see `etui contacts add --help`.
`etui contacts restore 17` undoes the change.";

/// Change a contact
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct EditContactArgs {
    #[command(flatten)]
    selection: SelectionArgs,
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
    let by_options = !(args.set.is_empty() && args.add.is_empty() && args.remove.is_empty());
    let store = app.open_to_write()?;
    let selected = args.selection.resolve::<Card>(app, &store)?;
    let (Some(id), false) = (args.selection.single_id(), args.selection.dry_run) else {
        if !by_options || args.if_match.is_some() {
            return Err(Failure::usage(
                "several contacts, and --dry-run, need --set, --add or --remove, and no --if-match",
            ));
        }
        for Selected { all, records } in selected {
            let changed = records.iter().map(|r| Ok((r, apply_options(r, args)?)));
            let changed: Vec<(&Contact, Card)> = changed.collect::<Result<_>>()?;
            for (contact, card) in &changed {
                note_kept_name(app, contact, card, args);
            }
            change::save_several(app, &all, changed, args.selection.dry_run)?;
        }
        return Ok(store.close()?);
    };
    for Selected { all: book, records } in selected {
        for mut contact in records {
            change::expect_etag(&mut contact, args.if_match.as_deref())?;
            let (card, saved) = match &args.from {
                Some(file) => change::replace_from_file(&book, &contact, id, file)?,
                None if by_options => {
                    let card = apply_options(&contact, args)?;
                    change::save_changed(&book, &contact, id, card)?
                }
                None => change::edit_in_editor(app, &book, &contact, id)?,
            };
            change::report_change(app, &contact, &card, &saved)?;
            note_kept_name(app, &contact, &card, args);
        }
    }
    Ok(store.close()?)
}

/// Reports a name to show that does not have the part of the name that was set.
fn note_kept_name(app: &mut App, contact: &Contact, card: &Card, args: &EditContactArgs) {
    let Ok(before) = contact.card() else { return };
    let shown = card.display_name();
    let is_kept = args.set.iter().any(PropertyAssignment::is_part_of_name)
        && before.name() != card.name()
        && before.display_name() == shown
        && card.name().to_display() != shown;
    if is_kept {
        app.out.write_note(&format!(
            "contact {} is still shown as {}; to change that: --set name=NAME",
            contact.id,
            escape_text(&shown)
        ));
    }
}

/// Returns the card with the changes of the options.
fn apply_options(contact: &Contact, args: &EditContactArgs) -> Result<Card> {
    let mut card = contact.card()?;
    for removal in &args.remove {
        let value = removal.value.as_deref();
        let removed = match component_named(&removal.name) {
            Some(Component(name, index)) => card.remove_component(name, index, value)?,
            None => remove_property(&mut card, &removal.name, value)?,
        };
        if args.selection.single_id().is_some() {
            removal.check_removed::<Card>(contact.id, removed)?;
        }
    }
    for assignment in &args.set {
        let property = &assignment.property;
        if assignment.set_part(&mut card)? {
            continue;
        }
        if property.types.is_empty() {
            card.set(&property.name, &property.value)?;
        } else if card.set_typed(property)? > 1 {
            return Err(several_of_type(contact, &card, property));
        }
    }
    for assignment in &args.add {
        if assignment.property.name == "PHOTO" && assignment.set_part(&mut card)? {
            continue;
        }
        if assignment.component.is_some() {
            return Err(Failure::usage(format!(
                "--add {} adds a whole property; use --set for a part of one",
                assignment.property.name
            )));
        }
        card.add(&assignment.property)?;
    }
    Ok(card)
}

/// Removes the properties of a name, or those with a value; of phones, those with its digits.
fn remove_property(card: &mut Card, name: &str, value: Option<&str>) -> Result<usize> {
    let digits = |text: &str| {
        text.chars()
            .filter(char::is_ascii_digit)
            .collect::<String>()
    };
    let wanted = value.filter(|_| name == "TEL").map(digits);
    let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
        return Ok(card.remove(name, value)?);
    };
    let mut removed = 0;
    for phone in card.properties(name) {
        if digits(&phone) == wanted {
            removed += card.remove(name, Some(&phone))?;
        }
    }
    Ok(removed)
}

/// Returns the error for a value that could be that of several properties.
fn several_of_type(contact: &Contact, card: &Card, property: &NewProperty) -> Failure {
    let NewProperty { name, types, .. } = property;
    let refs = card.property_refs();
    let found = refs.iter().filter(|found| {
        let has = found.types();
        let mut wanted = types.iter();
        found.is_named(name) && wanted.all(|kind| has.iter().any(|t| t.eq_ignore_ascii_case(kind)))
    });
    let values: Vec<String> = found
        .map(|found| escape_text(&found.value()).into_owned())
        .collect();
    let word = word_of::<Card>(name);
    let types = types.join(",");
    Failure::usage(format!(
        "contact {} has several {word}:{types}: {}; remove the old one and add the new one: \
         --remove {word}=OLD --add {word}:{types}=NEW",
        contact.id,
        values.join("; ")
    ))
}
