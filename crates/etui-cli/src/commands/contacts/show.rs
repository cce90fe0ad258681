//! The details of a contact.

use std::collections::HashSet;

use etui::contacts::{Card, Contact, Photo, TypedValue};
use etui_program::output::format_size;

use super::display::{shown_date, shown_phone};
use crate::commands::records::details::RecordDetails;

/// Properties with rows of their own.
const LABELLED_PROPERTIES: &str =
    "FN,NICKNAME,ORG,TITLE,TEL,EMAIL,ADR,URL,BDAY,CATEGORIES,NOTE,UID";

/// Returns the details of a contact, or why its vCard cannot be read.
pub fn contact_details(contact: &Contact) -> std::result::Result<RecordDetails, String> {
    let card = contact
        .card()
        .map_err(|error| format!("Contact {} cannot be read: {error}", contact.id))?;
    let mut details = card_details(&card);
    let size = format_size(contact.text.len() as u64);
    details.add_row("vCard", format!("{}, {size}", card.version()));
    details.add_row("UID", contact.uid.clone());
    details.add_row("ETag", contact.etag.to_string());
    details.add_row("#", contact.id.to_string());
    Ok(details)
}

/// Returns the details of a card.
pub fn card_details(card: &Card) -> RecordDetails {
    let mut details = RecordDetails::new(&card.display_name());
    details.add_row("Nickname", card.nicknames().join(", "));
    let organizations = card.organizations().into_iter();
    let organizations = organizations.map(|o| [vec![o.name], o.units].concat().join(", "));
    details.add_rows("Organisation", organizations);
    details.add_rows("Title", card.title());
    let phones = card.phones().into_iter().map(|mut phone| {
        phone.value = shown_phone(&phone.value).into_owned();
        format_typed(phone)
    });
    details.add_rows("Phone", phones);
    details.add_rows("E-mail", card.emails().into_iter().map(format_typed));
    for a in card.addresses() {
        let text = with_types(a.to_line(), a.label.as_deref(), &a.types, false);
        details.add_row("Address", text);
    }
    details.add_rows("Web", card.urls().into_iter().map(format_typed));
    let birthday = card.birthday().map(shown_date);
    details.add_rows("Birthday", birthday.or_else(|| card.property("BDAY")));
    details.add_row("Categories", card.categories().join(", "));
    details.add_rows("Note", card.note());
    let mut photo = card.photo();
    let labels = card.group_labels();
    let labelled: HashSet<String> = card
        .all_properties()
        .filter(|(_, name, _)| !is_label(name))
        .filter_map(|(group, ..)| group.map(str::to_ascii_lowercase))
        .collect();
    for (group, name, value) in card.all_properties() {
        let is_photo = name.eq_ignore_ascii_case("PHOTO");
        if let Some(photo) = photo.take_if(|_| is_photo) {
            details.add_row("Photo", format_photo(&photo));
            continue;
        }
        let key = group.map(str::to_ascii_lowercase).unwrap_or_default();
        let mut with_rows = LABELLED_PROPERTIES.split(',');
        if is_label(name) && labelled.contains(&key)
            || with_rows.any(|k| k.eq_ignore_ascii_case(name))
        {
            continue;
        }
        match labels.get(&key).filter(|_| !is_label(name)) {
            Some(label) => details.add_row(name, with_types(value, Some(label), &[], false)),
            None => {
                let group = group.map_or_else(String::new, |group| format!("{group}."));
                details.add_row(&format!("{group}{name}"), value);
            }
        }
    }
    details
}

fn is_label(name: &str) -> bool {
    name.eq_ignore_ascii_case("X-ABLABEL")
}

fn format_typed(value: TypedValue) -> String {
    with_types(
        value.value,
        value.label.as_deref(),
        &value.types,
        value.preferred,
    )
}

fn with_types(value: String, label: Option<&str>, types: &[String], preferred: bool) -> String {
    let types = types.iter().map(String::as_str);
    let mut words: Vec<&str> = label.into_iter().chain(types).collect();
    words.extend(preferred.then_some("preferred"));
    match words.is_empty() || value.is_empty() {
        true => value,
        false => format!("{value}  ({})", words.join(", ")),
    }
}

fn format_photo(photo: &Photo) -> String {
    match photo {
        Photo::Inline { media_type, bytes } => {
            let media_type = media_type.as_deref().unwrap_or("image of unknown type");
            format!("{media_type}, {}", format_size(bytes.len() as u64))
        }
        Photo::Uri(uri) => uri.clone(),
    }
}
