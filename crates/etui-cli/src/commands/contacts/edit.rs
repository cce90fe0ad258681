//! `etui contacts edit`: changes a contact by options, from a file, or in an editor.

use std::path::PathBuf;

use etui::contacts::{Card, Contact, NewProperty};
use etui_program::output::{escape_text, one_line, quote_operand};
use etui_program::{App, Failure, Result};

use super::property::{Component, PropertyAssignment, ReplacedValue, component_named};
use super::show::card_details;
use crate::commands::records::change;
use crate::commands::records::property::{PropertyRemoval, parse_removal, word_of};
use crate::commands::records::selection::{Selected, SelectionArgs};

const EXAMPLES: &str = "\
Examples:
  etui contacts edit 17                                  in your editor ($VISUAL, $EDITOR)
  etui contacts edit 17 --set phone=\"+44 20 7946 0123\"
  etui contacts edit Ada Lovelace --set note=x           by name, if there is one match
  etui contacts edit 17 --set phone:work=\"+44 20 7946 0999\"
  etui contacts edit 17 --set \"phone=555-0100 > 555-0199\"   one of several
  etui contacts edit 17 --add email:work=ada@example.org --remove note
  etui contacts edit 17 --remove phone=555-0100
  etui contacts edit 17 --from ada.vcf                   replace the whole vCard
  etui contacts edit 17 18 19 --add label=Club           several at once
  etui contacts edit --where category:club --remove label=Club --dry-run

--set changes the property of its name, or adds it; with a type, phone:work, the one of that type. If
there are several, --set phone=OLD>NEW names the one to change (in quotes, because of the shell).
city:work is the city of the address of type work. --remove phone=VALUE compares digits. Setting name changes FN and N, setting family or given changes FN where the old one stands in it.
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
    if !by_options && args.from.is_none() {
        refuse_positional_set(&args.selection.ids)?;
    }
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
            if let Ok(before) = contact.card() {
                report_rows(app, &before, &card)?;
            }
            note_kept_name(app, &contact, &card, args);
        }
    }
    Ok(store.close()?)
}

/// Returns an error if a property is given among the numbers: `edit 12 note=x`.
fn refuse_positional_set(ids: &[String]) -> Result<()> {
    let is_assignment =
        |word: &&String| word.contains('=') && word.parse::<PropertyAssignment>().is_ok();
    let Some(word) = ids.iter().skip(1).find(is_assignment) else {
        return Ok(());
    };
    let others = ids.iter().take_while(|id| *id != word);
    let others: Vec<_> = others.map(|id| escape_text(id).into_owned()).collect();
    Err(Failure::usage(format!(
        "a property is set with an option: etui contacts edit {} --set {}",
        others.join(" "),
        quote_operand(word)
    )))
}

/// Reports the fields that a contact has now and did not have before, and those that it no longer has.
fn report_rows(app: &mut App, before: &Card, now: &Card) -> Result<()> {
    let (before, now) = (card_details(before).rows, card_details(now).rows);
    let gone = before.iter().filter(|row| !now.contains(row));
    let new = now.iter().filter(|row| !before.contains(row));
    let gone = gone.map(|row| ("- ", row));
    let new = new.map(|row| ("  ", row));
    for (mark, (label, value)) in gone.chain(new) {
        app.out
            .status(format!("{mark}{}", one_line(&format!("{label}: {value}"))))?;
    }
    Ok(())
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
        set_property(&mut card, contact, assignment)?;
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
        if assignment.replaced.as_ref().is_some_and(|r| r.is_certain) {
            return Err(Failure::usage("OLD>NEW is for --set; --add adds a value"));
        }
        card.add(&assignment.property)?;
    }
    Ok(card)
}

/// Sets a property, which must be the only one of its name and types, or the one with the old value.
fn set_property(card: &mut Card, contact: &Contact, assignment: &PropertyAssignment) -> Result<()> {
    let property = &assignment.property;
    let name = property.name.as_str();
    if let Some(ReplacedValue {
        old,
        new,
        is_certain,
    }) = &assignment.replaced
    {
        let is_old = |value: &str| is_value(name, value, old);
        match card.replace_value(name, is_old, new)? {
            0 if *is_certain => return Err(no_such_value(contact, card, name, old)),
            0 => {}
            1 => return Ok(()),
            _ => {
                return Err(several_values(
                    contact,
                    card,
                    property,
                    assignment.component,
                ));
            }
        }
    }
    // A photo, and a name, is one.
    let is_single = matches!(name, "PHOTO" | "N") || assignment.is_name();
    if !is_single && values_of(card, property).len() > 1 {
        return Err(several_values(
            contact,
            card,
            property,
            assignment.component,
        ));
    }
    if assignment.set_part(card)? {
        return Ok(());
    }
    match property.types.is_empty() {
        true => card.set(name, &property.value)?,
        false => {
            card.set_typed(property)?;
        }
    }
    Ok(())
}

/// Returns true if a value is the one that was written: of a phone, if it has the same digits; of an
/// address, if its parts begin with it or contain it.
fn is_value(name: &str, value: &str, written: &str) -> bool {
    let (value, written) = (value.trim(), written.trim());
    match name {
        "TEL" => {
            value == written
                || (!digits_of(written).is_empty() && digits_of(value) == digits_of(written))
        }
        "EMAIL" => value.eq_ignore_ascii_case(written),
        "ADR" => {
            let plain = |text: &str| {
                let parts = text.split([';', ',', ' ']).filter(|part| !part.is_empty());
                parts.map(str::to_lowercase).collect::<Vec<_>>()
            };
            let (value, written) = (plain(value), plain(written));
            !written.is_empty() && written.iter().all(|word| value.contains(word))
        }
        _ => value == written,
    }
}

fn digits_of(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Removes the properties of a name, or those with a value; of phones, those with its digits.
fn remove_property(card: &mut Card, name: &str, value: Option<&str>) -> Result<usize> {
    let wanted = value.filter(|_| name == "TEL").map(digits_of);
    let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
        return Ok(card.remove(name, value)?);
    };
    let mut removed = 0;
    for phone in card.properties(name) {
        if digits_of(&phone) == wanted {
            removed += card.remove(name, Some(&phone))?;
        }
    }
    Ok(removed)
}

/// Returns the values of the properties with the name and types of another one; of lists, their entries.
fn values_of(card: &Card, property: &NewProperty) -> Vec<String> {
    let NewProperty { name, types, .. } = property;
    let refs = card.property_refs();
    let found = refs.iter().filter(|found| {
        let has = found.types();
        let mut wanted = types.iter();
        found.is_named(name) && wanted.all(|kind| has.iter().any(|t| t.eq_ignore_ascii_case(kind)))
    });
    match name.as_str() {
        "CATEGORIES" if types.is_empty() => card.categories(),
        "NICKNAME" if types.is_empty() => card.nicknames(),
        _ => found.map(|found| found.value().to_owned()).collect(),
    }
}

fn join_values(values: &[String]) -> String {
    let shown = values.iter().map(|value| {
        let parts = value
            .split(';')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        let value = parts.collect::<Vec<_>>().join(", ");
        escape_text(&value).into_owned()
    });
    shown.collect::<Vec<_>>().join("; ")
}

/// Returns the error for an old value that the contact does not have.
fn no_such_value(contact: &Contact, card: &Card, name: &str, old: &str) -> Failure {
    let property = NewProperty {
        name: name.to_owned(),
        ..NewProperty::default()
    };
    let values = values_of(card, &property);
    let has = match values.is_empty() {
        true => "it has none".to_owned(),
        false => format!("it has {}", join_values(&values)),
    };
    Failure::NotFound(format!(
        "contact {} has no {} {}: {has}; nothing was changed",
        contact.id,
        word_of::<Card>(name),
        escape_text(old)
    ))
}

/// Returns the error for a value that could be that of several properties.
fn several_values(
    contact: &Contact,
    card: &Card,
    property: &NewProperty,
    component: Option<Component>,
) -> Failure {
    let word = word_of::<Card>(&property.name);
    let typed = match property.types.is_empty() {
        true => word.clone(),
        false => format!("{word}:{}", property.types.join(",")),
    };
    let values = values_of(card, property);
    let way = match component {
        Some(_) => format!("name its type, or replace the whole: --set {word}=OLD>NEW"),
        None => format!(
            "replace one: --set \"{word}=OLD>NEW\"; add another: --add {typed}=NEW; or remove one: \
             --remove {word}=OLD"
        ),
    };
    Failure::usage(format!(
        "contact {} has several {typed}: {}; {way}",
        contact.id,
        join_values(&values)
    ))
}
