//! The indexed columns of a card: search keys, sort key, summary.

use crate::db::IndexContext;
use crate::record::IndexedColumns;
use crate::record::keys::{Key, KeyWriter, clip_text};
use etui_text::phone::PhoneNumber;
use etui_text::varint;
use etui_vcard::{Card, bare_address};

use super::filter::{ORGANIZATION, birthday_key};

/// Version of the indexed columns. A change of [`derive`] must change this number: stores with
/// another version are reindexed when opened for writing.
pub(crate) const VERSION: u32 = 7;

/// Derives keys, sort key and summary of `card`.
pub(crate) fn derive(card: &Card, context: &IndexContext<'_>) -> IndexedColumns {
    let mut keys = KeyWriter::default();
    let display = card.display_name();
    keys.push_words(Key::Display, &display);
    // Further names, such as those in other languages.
    card.for_each_text("FN", |name| {
        if name.trim() != display {
            keys.push_words(Key::Display, name);
        }
    });

    let (mut family, mut given, mut more) = (String::new(), String::new(), String::new());
    card.for_each_name_part(|place, part| {
        let target = match place {
            0 => &mut family,
            1 => &mut given,
            2 => &mut more,
            _ => return,
        };
        if !target.is_empty() {
            target.push(' ');
        }
        target.push_str(part);
    });
    keys.push_words(Key::Family, &family);
    keys.push_words(Key::Given, &given);
    keys.push_words(Key::Given, &more);
    card.for_each_reading(|place, reading| {
        let key = if place == 0 { Key::Family } else { Key::Given };
        keys.push_words(key, reading);
    });
    card.for_each_text("NICKNAME", |t| keys.push_words(Key::Nickname, t));
    let mut organization = String::new();
    card.for_each_text("ORG", |t| {
        // Lists show the first one.
        if organization.is_empty() {
            organization.push_str(t.trim());
        }
        keys.push_words(Key::Organization, t);
    });
    card.for_each_text("EMAIL", |t| keys.push_address(Key::Email, bare_address(t)));
    card.for_each_text("TEL", |t| {
        if let Some(number) = PhoneNumber::parse(t, context.region) {
            keys.push_phone(&number, t);
        }
    });
    card.for_each_text("CATEGORIES", |t| keys.push_words(Key::Category, t));
    card.for_each_text("NOTE", |t| keys.push_words(Key::Note, t));
    card.for_each_text("TITLE", |t| keys.push_words(Key::JobTitle, t));
    card.for_each_text("ROLE", |t| keys.push_words(Key::JobTitle, t));
    for address in card.properties("ADR") {
        keys.push_words(Key::Address, &address);
    }
    if let Some(date) = card.birthday() {
        let words = birthday_key(date.year, date.month, date.day);
        keys.push_words(Key::Birthday, &words);
    }
    let has_names = !(family.trim().is_empty() && given.trim().is_empty());
    if let Some(kind) = kind_of(card, has_names, !organization.is_empty()) {
        keys.push_words(Key::Component, &kind);
    }

    if let Some([sort_family, sort_given]) = card.sort_names() {
        // What it does not say is sorted as it is written.
        for (name, sort) in [(&mut family, sort_family), (&mut given, sort_given)] {
            if !sort.is_empty() {
                *name = sort;
            }
        }
    }
    let sort = match has_names {
        false if family.is_empty() => context.order.sort_key(&[&display]),
        _ => context.order.sort_key(&[&family, &given, &more]),
    };
    let mut summary = Vec::with_capacity(64);
    let phone = card.preferred_value("TEL").unwrap_or_default();
    let email = bare_address(card.preferred_value("EMAIL").unwrap_or_default());
    for part in [&display, &organization, phone, email] {
        varint::push_bytes(&mut summary, clip_text(part, 200).as_bytes());
    }
    IndexedColumns {
        keys: keys.into_keys(),
        sort_key: sort,
        summary,
        ..IndexedColumns::default()
    }
}

/// Returns the kind of a card (KIND, RFC 6350 §6.1.4); `None` for an individual. Before version 4.0
/// an organisation has no names, or Apple's mark.
fn kind_of(card: &Card, has_names: bool, has_organization: bool) -> Option<String> {
    let kind = card
        .property("KIND")
        .or_else(|| card.property("X-ADDRESSBOOKSERVER-KIND"));
    match kind.map(|kind| kind.trim().to_ascii_lowercase()) {
        Some(kind) if kind == "individual" => None,
        Some(kind) if !kind.is_empty() => Some(kind),
        _ => {
            let shown_as = card.property("X-ABSHOWAS").unwrap_or_default();
            let is_company = shown_as.trim().eq_ignore_ascii_case("company");
            (is_company || has_organization && !has_names).then(|| ORGANIZATION.to_owned())
        }
    }
}

/// The fields of a contact in lists, stored beside the card.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// The name to show; empty when the card has none.
    pub name: String,
    /// The first organisation; empty when there is none.
    pub organization: String,
    /// The preferred phone number, else the first, as written; empty when there is none.
    pub phone: String,
    /// The preferred e-mail address, else the first, as written; empty when there is none.
    pub email: String,
}

impl Summary {
    /// Reads `length:varint bytes` four times: name, organisation, phone, e-mail.
    pub(crate) fn decode(mut bytes: &[u8]) -> Self {
        let mut next = || varint::take_text(&mut bytes);
        Self {
            name: next(),
            organization: next(),
            phone: next(),
            email: next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::keys::Keys;
    use etui_text::collator::Collator;

    #[test]
    fn keys_read_back_as_written() {
        let card = Card::parse(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nN:Müller;Anna;Maria;;\r\nFN:Anna Müller\r\n\
             ORG:Acme GmbH;R&D\r\nEMAIL:Anna@Example.org\r\nTEL:+49 30 23125 012\r\n\
             NOTE:likes tea\r\nEND:VCARD\r\n",
        )
        .unwrap();
        let order = Collator::new("de").unwrap();
        let derived = derive(
            &card,
            &IndexContext {
                order: &order,
                region: None,
            },
        );
        let all: Vec<_> = Keys(&derived.keys)
            .map(|(k, v)| (k, String::from_utf8_lossy(v).into_owned()))
            .collect();
        assert!(all.contains(&(Key::Display, " anna muller ".into())));
        assert!(all.contains(&(Key::Family, " muller ".into())));
        assert!(all.contains(&(Key::Given, " maria ".into())));
        assert!(all.contains(&(Key::Organization, " r d ".into())));
        assert!(all.contains(&(Key::Email, " anna@example.org ".into())));
        assert!(all.contains(&(Key::Phone, "\u{2} 493023125012 ".into())));
        assert!(all.contains(&(Key::Note, " likes tea ".into())));
        let summary = Summary::decode(&derived.summary);
        assert_eq!(summary.name, "Anna Müller");
        assert_eq!(summary.organization, "Acme GmbH");
        assert_eq!(summary.phone, "+49 30 23125 012");
        assert_eq!(summary.email, "Anna@Example.org");
    }
}
