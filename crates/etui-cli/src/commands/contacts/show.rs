//! `etui contacts show`: the full details of contacts.

use etui::contacts::{Card, Contact, Photo, TypedValue};

use crate::app::App;
use crate::commands::records::details::RecordDetails;
use crate::commands::records::find::{find_single, lookup_all};
use crate::errors::Result;
use crate::output::json::{ContactJson, format_date};
use crate::output::{OutputWriter, format_size};

const EXAMPLES: &str = "\
Examples:
  etui contacts show 17
  etui contacts show ada                     if only one contact matches
  etui contacts show 17 --vcard              print the vCard, byte for byte
  etui contacts show 17 --json

If several contacts match a filter, they are listed, and the exit code is 2.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ShowContactArgs {
    /// Numbers, UIDs, or a filter (see `etui contacts find --help`)
    #[arg(required = true, value_name = "ID|FILTER")]
    which: Vec<String>,
    /// Print the vCard as it was imported
    #[arg(long, conflicts_with = "json")]
    vcard: bool,
}

pub fn show_contacts(app: &mut App, args: &ShowContactArgs) -> Result<()> {
    let store = app.open_to_read()?;
    let book = app.address_book(&store)?;
    let contacts = match lookup_all(&book, &args.which)? {
        Some(contacts) => contacts,
        None => {
            let snapshot = store.snapshot()?;
            let reader = snapshot.collection::<Card>(app.address_book_name())?;
            let readers = [(String::new(), reader)];
            let (_, one) = find_single(&mut app.out, &readers, &args.which)?;
            book.by_id(one)?.into_iter().collect()
        }
    };
    for (i, contact) in contacts.iter().enumerate() {
        if args.vcard {
            app.out.write_bytes(&contact.text)?;
        } else if app.out.json {
            app.out
                .write_json(&ContactJson::new(contact, store.region()?)?)?;
        } else {
            if i > 0 {
                app.out.write_line("")?;
            }
            write_contact(&mut app.out, contact)?;
        }
    }
    Ok(())
}

/// Properties with rows of their own.
const LABELLED_PROPERTIES: &[&str] = &[
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

/// Returns the details of a contact, or why its vCard cannot be read.
pub(super) fn contact_details(contact: &Contact) -> std::result::Result<RecordDetails, String> {
    let card = contact
        .card()
        .map_err(|error| format!("Contact {} cannot be read: {error}", contact.id))?;
    let mut details = RecordDetails::new(&card.display_name());
    add_rows(&card, contact, &mut details);
    Ok(details)
}

fn write_contact(out: &mut OutputWriter, contact: &Contact) -> Result<()> {
    match contact_details(contact) {
        Ok(details) => details.write_to(out),
        Err(problem) => {
            out.write_line(problem)?;
            out.write_bytes(&contact.text)
        }
    }
}

fn add_rows(card: &Card, contact: &Contact, details: &mut RecordDetails) {
    let mut row = |label: &str, value: String| details.add_row(label, value);
    row("Nickname", card.nicknames().join(", "));
    for organization in card.organizations() {
        let mut parts = vec![organization.name];
        parts.extend(organization.units);
        row("Organisation", parts.join(", "));
    }
    row("Title", card.title().unwrap_or_default().to_owned());
    for phone in card.phones() {
        row("Phone", format_typed(phone));
    }
    for email in card.emails() {
        row("E-mail", format_typed(email));
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
        row("Web", format_typed(url));
    }
    let birthday = match card.birthday() {
        Some(day) => format_date(day),
        None => card.property("BDAY").unwrap_or_default(),
    };
    row("Birthday", birthday);
    row("Categories", card.categories().join(", "));
    row("Note", card.note().unwrap_or_default());
    let mut photo = card.photo();
    for (group, name, value) in card.all_properties() {
        let is_photo = name.eq_ignore_ascii_case("PHOTO");
        if let Some(photo) = photo.take_if(|_| is_photo) {
            row("Photo", format_photo(&photo));
        } else if !LABELLED_PROPERTIES
            .iter()
            .any(|k| k.eq_ignore_ascii_case(name))
        {
            match group {
                Some(group) => row(&format!("{group}.{name}"), value),
                None => row(name, value),
            }
        }
    }
    row(
        "vCard",
        format!(
            "{}, {}",
            card.version(),
            format_size(contact.text.len() as u64)
        ),
    );
    row("UID", contact.uid.clone());
    row("ETag", contact.etag.to_string());
    row("#", contact.id.to_string());
}

fn format_typed(value: TypedValue) -> String {
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

fn format_photo(photo: &Photo) -> String {
    match photo {
        Photo::Inline { media_type, bytes } => format!(
            "{}, {}",
            media_type.as_deref().unwrap_or("image of unknown type"),
            format_size(bytes.len() as u64)
        ),
        Photo::Uri(uri) => uri.clone(),
    }
}
