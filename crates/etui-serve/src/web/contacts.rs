//! Contacts: a search, and the details of one.

use etui::CollectionId;
use etui::RecordId;
use etui::contacts::{Card, Column, Filter, Query, TypedValue};
use etui::record::Reader;
use etui::search::query::query_collections;
use etui::search::spelling::correct_filter;
use maud::{Markup, html};

use super::{CONTACTS_PATH, DeviceView};

/// Contacts that are shown of a search.
const MAX_SHOWN: u64 = 100;

/// Returns the contacts that match the words of a search, best first.
pub fn show_search(view: &DeviceView<'_>, words: &str) -> etui::Result<Markup> {
    let filter: Filter = match words.parse() {
        Ok(filter) => filter,
        Err(error) => {
            return Ok(html! {
                h1 { "Search" }
                p.empty { (error.to_string()) }
            });
        }
    };
    let books = view.collections::<Card>()?;
    let readers = || books.iter().map(|(_, reader)| reader);
    let mut found = find(&books, &filter)?;
    let mut corrected = None;
    if found.is_empty()
        && let Some(better) = correct_filter(readers(), &filter)?
    {
        found = find(&books, &better.filter)?;
        corrected = (!found.is_empty()).then(|| better.to_string());
    }
    let has_more = found.len() as u64 > MAX_SHOWN;
    found.truncate(MAX_SHOWN as usize);
    Ok(html! {
        h1 { "Contacts" }
        @if let Some(corrected) = corrected {
            p.date { "Nothing for “" (words) "”; results for “" (corrected) "”" }
        }
        @if found.is_empty() { p.empty { "No contact matches “" (words) "”." } }
        ul.contacts {
            @for contact in &found {
                li {
                    a href={ (CONTACTS_PATH) (contact.collection) "/" (contact.id) } {
                        strong { (contact.name) }
                        @for detail in &contact.details { span.detail { (detail) } }
                    }
                }
            }
        }
        @if has_more { p.empty { "Only the first " (MAX_SHOWN) " are shown." } }
    })
}

/// A contact of a search.
struct SearchHit {
    collection: CollectionId,
    id: RecordId,
    name: String,
    details: Vec<String>,
}

fn find(books: &[(String, Reader<Card>)], filter: &Filter) -> etui::Result<Vec<SearchHit>> {
    let columns = Column::Name | Column::Organization | Column::Phone | Column::Email;
    let query = Query::ranked(filter.clone())
        .columns(columns)
        .limit(MAX_SHOWN + 1);
    let readers = books.iter().map(|(_, reader)| reader);
    let answer = query_collections(readers, &query)?;
    let rows = answer.rows.iter().zip(&answer.collections);
    let found = rows.filter_map(|(row, collection)| {
        let (_, reader) = books.get(*collection)?;
        let details = [Column::Organization, Column::Phone, Column::Email];
        let details = details.map(|column| row.get(column).to_owned());
        Some(SearchHit {
            collection: reader.id(),
            id: row.id(),
            name: named(row.name()),
            details: details.into_iter().filter(|d| !d.is_empty()).collect(),
        })
    });
    Ok(found.collect())
}

fn named(name: &str) -> String {
    match name.trim() {
        "" => "(no name)".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns the name and the details of a contact; `None` if there is none, or the device may not see it.
pub fn show_contact(
    view: &DeviceView<'_>,
    collection: CollectionId,
    record: RecordId,
) -> etui::Result<Option<(String, Markup)>> {
    let books = view.collections::<Card>()?;
    let Some((book, reader)) = books.iter().find(|(_, reader)| reader.id() == collection) else {
        return Ok(None);
    };
    let Some(contact) = reader.get(record)? else {
        return Ok(None);
    };
    // Text that another program put into the store, and that is no vCard.
    let Ok(card) = contact.card() else {
        return Ok(None);
    };
    let name = named(&card.display_name());
    let content = show_card(&card, &name, book);
    Ok(Some((name, content)))
}

fn show_card(card: &Card, name: &str, book: &str) -> Markup {
    let organizations = card.organizations().into_iter();
    let organizations = organizations.map(|o| [vec![o.name], o.units].concat().join(", "));
    let organizations: Vec<String> = card
        .title()
        .map(str::to_owned)
        .into_iter()
        .chain(organizations)
        .collect();
    let birthday = card.property("BDAY");
    html! {
        h1 { (name) }
        p.date { (book) }
        dl {
            @for text in organizations.iter().filter(|text| !text.is_empty()) {
                dt { "Organisation" } dd { (text) }
            }
            @for phone in card.phones() {
                dt { "Phone" (types(&phone)) } dd { a href=(phone_link(&phone.value)) { (phone.value) } }
            }
            @for email in card.emails() {
                dt { "E-mail" (types(&email)) } dd { a href=(mail_link(&email.value)) { (email.value) } }
            }
            @for address in card.addresses() {
                @let town = format!("{} {}", address.code, address.locality);
                @let lines = [&address.street, &town, &address.region, &address.country];
                dt { "Address" }
                dd { @for line in lines { @if !line.trim().is_empty() { (line.trim()) br; } } }
            }
            @for url in card.urls() {
                dt { "Web" }
                dd { @if is_web(&url.value) { a href=(url.value) rel="noreferrer" { (url.value) } } @else { (url.value) } }
            }
            @if let Some(birthday) = birthday { dt { "Birthday" } dd { (birthday) } }
            @let nicknames = card.nicknames().join(", ");
            @if !nicknames.is_empty() { dt { "Nickname" } dd { (nicknames) } }
            @let categories = card.categories().join(", ");
            @if !categories.is_empty() { dt { "Categories" } dd { (categories) } }
            @if let Some(note) = card.note() { dt { "Note" } dd.note { (note) } }
        }
    }
}

/// Types that say nothing to a person.
const SILENT_TYPES: [&str; 3] = ["voice", "internet", "pref"];

/// Returns the label or the types of a value, in parentheses.
fn types(value: &TypedValue) -> String {
    let words: Vec<&str> = match &value.label {
        Some(label) => vec![label],
        None => {
            let types = value.types.iter().map(String::as_str);
            types.filter(|word| !SILENT_TYPES.contains(word)).collect()
        }
    };
    match words.is_empty() {
        true => String::new(),
        false => format!(" ({})", words.join(", ")),
    }
}

/// Returns the link of a phone number (RFC 3966), of its digits.
fn phone_link(number: &str) -> String {
    let digits = number
        .chars()
        .filter(|c| c.is_ascii_digit() || matches!(c, '+' | '*' | '#'));
    let digits: String = digits.collect();
    format!("tel:{}", digits.replace('#', "%23"))
}

/// Returns the link of an e-mail address (RFC 6068).
fn mail_link(address: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~@+!$'*".contains(&b);
    let encoded = address.bytes().map(|b| match is_plain(b) {
        true => char::from(b).to_string(),
        false => format!("%{b:02X}"),
    });
    format!("mailto:{}", encoded.collect::<String>())
}

/// Returns true for a link that a browser follows without running anything.
fn is_web(url: &str) -> bool {
    let scheme = url
        .split_once("://")
        .map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| matches!(scheme.as_str(), "http" | "https"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_only_what_they_may() {
        assert_eq!(
            phone_link("+49 (30) 23125-001"),
            "tel:+4930231250 01".replace(' ', "")
        );
        assert_eq!(phone_link("javascript:alert(1)"), "tel:1");
        assert_eq!(mail_link("ada@example.org"), "mailto:ada@example.org");
        assert_eq!(
            mail_link("a?bcc=b@example.org"),
            "mailto:a%3Fbcc%3Db@example.org"
        );
        assert!(is_web("https://example.org/") && is_web("HTTP://example.org"));
        for bad in [
            "javascript:alert(1)",
            "data:text/html,x",
            "example.org",
            "javascript://%0aalert(1)",
        ] {
            assert!(!is_web(bad), "{bad}");
        }
    }
}
