//! `etui contacts show`: all about a contact.

use etui::contacts::{Card, Contact, Contacts, Photo, Typed};

use super::{filter, lookup, number, resolve, write_entries};
use crate::app::App;
use crate::errors::{Failure, Result};
use crate::output::json::{ContactObject, date};
use crate::output::{Out, Style, count, one_line, shown, size};

const EXAMPLES: &str = "\
Examples:
  etui contacts show 17
  etui contacts show ada                     if only one contact fits
  etui contacts show 17 --vcard              the vCard, byte for byte
  etui contacts show 17 --json

When several fit they are listed, and the exit code is 2.";

/// Show all about a contact
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Numbers, UIDs, or a filter (see `etui contacts find --help`)
    #[arg(required = true, value_name = "ID|FILTER")]
    which: Vec<String>,
    /// Write the vCard as it came
    #[arg(long, conflicts_with = "json")]
    vcard: bool,
}

/// Shows it.
pub fn run(app: &mut App, args: &Args) -> Result<()> {
    let store = app.open_to_read()?;
    let book = app.book(&store)?;
    let contacts = meant(&mut app.out, &book, &args.which)?;
    for (i, contact) in contacts.iter().enumerate() {
        if args.vcard {
            app.out.bytes(&contact.text)?;
        } else if app.out.json {
            app.out
                .object(&ContactObject::of(contact, store.region())?)?;
        } else {
            if i > 0 {
                app.out.line("")?;
            }
            show(&mut app.out, contact)?;
        }
    }
    Ok(())
}

/// The contacts with these numbers or UIDs, or the one that they mean as a filter.
fn meant(out: &mut Out, book: &Contacts<'_>, which: &[String]) -> Result<Vec<Contact>> {
    if which.iter().all(|w| number(w).is_some()) {
        return which.iter().map(|w| resolve(book, w)).collect();
    }
    let all = which
        .iter()
        .map(|w| lookup(book, w))
        .collect::<Result<Option<Vec<_>>>>()?;
    if let Some(all) = all {
        return Ok(all);
    }
    let filter = filter(which)?;
    let found = book.find(&filter)?;
    match found.as_slice() {
        [] => Err(super::nothing_found(which)),
        [one] => Ok(book.by_id(one.id)?.into_iter().collect()),
        several => {
            const SHOWN: usize = 20;
            if !out.json {
                write_entries(out, &several[..several.len().min(SHOWN)])?;
            }
            Err(Failure::usage(format!(
                "{} contacts fit{}; which one? etui contacts show NUMBER",
                count(several.len() as u64),
                if several.len() > SHOWN {
                    ", here are the first"
                } else {
                    ""
                }
            )))
        }
    }
}

/// The properties that have rows of their own.
const KNOWN: &[&str] = &[
    "FN",
    "NICKNAME",
    "ORG",
    "TITLE",
    "TEL",
    "EMAIL",
    "ADR",
    "URL",
    "BDAY",
    "CATEGORIES",
    "NOTE",
    "UID",
];

/// A contact's name and all that is known of it, with labels; why not, if its vCard cannot be
/// read.
pub(super) fn described(contact: &Contact) -> DescribedContact {
    let card = contact
        .card()
        .map_err(|error| format!("Contact {} cannot be read: {error}", contact.id))?;
    let name = one_line(&card.display_name()).into_owned();
    Ok((name, rows(&card, contact)))
}

/// See [`described`].
pub(super) type DescribedContact = std::result::Result<(String, Vec<(String, String)>), String>;

fn show(out: &mut Out, contact: &Contact) -> Result<()> {
    let (name, rows) = match described(contact) {
        Ok(described) => described,
        Err(problem) => {
            out.line(problem)?;
            return out.bytes(&contact.text);
        }
    };
    let name = out.styled(Style::Bold, &name).into_owned();
    out.line(name)?;
    let width = rows
        .iter()
        .map(|(label, _)| label.chars().count())
        .max()
        .unwrap_or(0);
    for (label, value) in rows {
        let pad = width - label.chars().count();
        let label = out.styled(Style::Dim, &label).into_owned();
        // Further lines of a value stand under its first.
        for (i, line) in value.lines().enumerate() {
            let line = shown(line);
            match i {
                0 => out.line(format!("  {label}{:pad$}  {line}", ""))?,
                _ => out.line(format!("  {:width$}  {line}", ""))?,
            }
        }
    }
    Ok(())
}

fn rows(card: &Card, contact: &Contact) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut row = |label: &str, value: String| {
        if !value.trim().is_empty() {
            rows.push((shown(label).into_owned(), value));
        }
    };
    row("Nickname", card.nicknames().join(", "));
    for organization in card.organizations() {
        let mut parts = vec![organization.name];
        parts.extend(organization.units);
        row("Organisation", parts.join(", "));
    }
    row("Title", card.title().unwrap_or_default().to_owned());
    for phone in card.phones() {
        row("Phone", typed(phone));
    }
    for email in card.emails() {
        row("E-mail", typed(email));
    }
    for a in card.addresses() {
        let town = [a.code.as_str(), a.locality.as_str()]
            .into_iter()
            .filter(|p| !p.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        let parts = [a.street, town, a.region, a.country];
        let parts: Vec<_> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        row("Address", with_types(parts.join(", "), &a.types, false));
    }
    for url in card.urls() {
        row("Web", typed(url));
    }
    let birthday = match card.birthday() {
        Some(day) => date(day),
        None => card.property("BDAY").unwrap_or_default(),
    };
    row("Birthday", birthday);
    row("Categories", card.categories().join(", "));
    row("Note", card.note().unwrap_or_default());
    let mut photo = card.photo();
    for (group, name, value) in card.all_properties() {
        let is_photo = name.eq_ignore_ascii_case("PHOTO");
        if let Some(photo) = photo.take_if(|_| is_photo) {
            row("Photo", photo_text(&photo));
        } else if !KNOWN.iter().any(|k| k.eq_ignore_ascii_case(name)) {
            match group {
                Some(group) => row(&format!("{group}.{name}"), value),
                None => row(name, value),
            }
        }
    }
    row(
        "vCard",
        format!("{}, {}", card.version(), size(contact.text.len() as u64)),
    );
    row("UID", contact.uid.clone());
    row("ETag", contact.etag.to_string());
    row("#", contact.id.to_string());
    rows
}

fn typed(value: Typed) -> String {
    with_types(value.value, &value.types, value.preferred)
}

fn with_types(value: String, types: &[String], preferred: bool) -> String {
    let mut words: Vec<&str> = types.iter().map(String::as_str).collect();
    if preferred {
        words.push("preferred");
    }
    if words.is_empty() || value.is_empty() {
        value
    } else {
        format!("{value}  ({})", words.join(", "))
    }
}

fn photo_text(photo: &Photo) -> String {
    match photo {
        Photo::Inline { media_type, bytes } => format!(
            "{}, {}",
            media_type.as_deref().unwrap_or("image of unknown type"),
            size(bytes.len() as u64)
        ),
        Photo::Uri(uri) => uri.clone(),
    }
}
