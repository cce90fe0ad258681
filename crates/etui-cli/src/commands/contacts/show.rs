//! `etui contacts show`: all about a contact.

use etui::contacts::{Card, Contact, Photo, Typed};

use crate::app::App;
use crate::commands::records::details::RecordDetails;
use crate::commands::records::find::{known, the_one};
use crate::errors::Result;
use crate::output::json::{ContactObject, date};
use crate::output::{OutputWriter, size};

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
    let contacts = match known(&book, &args.which)? {
        Some(contacts) => contacts,
        None => {
            let snapshot = store.snapshot()?;
            let reader = snapshot.collection::<Card>(app.book_name())?;
            let asked = [(String::new(), reader)];
            let (_, one) = the_one(&mut app.out, &asked, &args.which)?;
            book.by_id(one)?.into_iter().collect()
        }
    };
    for (i, contact) in contacts.iter().enumerate() {
        if args.vcard {
            app.out.bytes(&contact.text)?;
        } else if app.out.json {
            app.out
                .object(&ContactObject::of(contact, store.region()?)?)?;
        } else {
            if i > 0 {
                app.out.line("")?;
            }
            show(&mut app.out, contact)?;
        }
    }
    Ok(())
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

/// A contact's name and all that is known of it; why not, if its vCard cannot be read.
pub(super) fn described(contact: &Contact) -> std::result::Result<RecordDetails, String> {
    let card = contact
        .card()
        .map_err(|error| format!("Contact {} cannot be read: {error}", contact.id))?;
    let mut about = RecordDetails::new(&card.display_name());
    describe(&card, contact, &mut about);
    Ok(about)
}

fn show(out: &mut OutputWriter, contact: &Contact) -> Result<()> {
    match described(contact) {
        Ok(about) => about.write(out),
        Err(problem) => {
            out.line(problem)?;
            out.bytes(&contact.text)
        }
    }
}

fn describe(card: &Card, contact: &Contact, about: &mut RecordDetails) {
    let mut row = |label: &str, value: String| about.row(label, value);
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
