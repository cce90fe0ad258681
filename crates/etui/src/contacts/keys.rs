//! What the store keeps of a card beside its text: search keys, sort key, summary.
//!
//! Search keys are the folded values of the indexed fields. They are the one truth a filter is
//! evaluated against (`filter::matches`); what the index holds is made from them. Kept in the
//! record so that an index entry can always be taken back exactly as it was put in:
//!
//! ```text
//! keys   := entry*
//! entry  := field:u8  length:varint  value[length]
//! value  := ' ' folded text ' '                       (all fields but phones)
//!         | country:u8 ' ' digits ' ' extension       (phones)
//! ```
//!
//! The spaces make every comparison a substring test: ` anna ` is the word, ` ann` the beginning
//! of one, `nna ` the end of one. `country` is how many of the digits are the country calling
//! code (0: no country known).

use calcard::vcard::VCardProperty;

use super::Card;
use crate::text::fold;
use crate::text::order::Order;
use crate::text::phone::{PhoneNumber, Region};
use crate::text::varint;

/// The fields that filters ask about. The numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Key {
    Display = 1,
    Family = 2,
    Given = 3,
    Nickname = 4,
    Organization = 5,
    Email = 6,
    Phone = 7,
    Category = 8,
    Note = 9,
}

impl Key {
    pub(crate) fn from_u8(n: u8) -> Option<Self> {
        Some(match n {
            1 => Self::Display,
            2 => Self::Family,
            3 => Self::Given,
            4 => Self::Nickname,
            5 => Self::Organization,
            6 => Self::Email,
            7 => Self::Phone,
            8 => Self::Category,
            9 => Self::Note,
            _ => return None,
        })
    }
}

/// What [`derive`] makes of a card. A change of it changes what is stored, so it must change this
/// number: stores then derive anew by themselves.
pub(crate) const VERSION: u32 = 2;

/// Longest value that is folded and kept, in bytes; what a note says beyond is not searched.
const MAX_VALUE: usize = 8 << 10;
/// Most bytes of keys a record has; what comes beyond (the ten-thousandth phone number is still
/// within) is kept in the card but not searched.
const MAX_KEYS: usize = 1 << 20;

/// What is derived from a card.
#[derive(Default)]
pub(crate) struct Derived {
    pub(crate) keys: Vec<u8>,
    pub(crate) sort: Vec<u8>,
    pub(crate) summary: Vec<u8>,
}

/// Derives keys, sort key and summary of `card`.
pub(crate) fn derive(card: &Card, order: &Order, region: Option<Region>) -> Derived {
    let mut keys = KeyWriter::default();
    let display = card.display_name();
    keys.words(Key::Display, &display);

    let (mut family, mut given, mut more) = (String::new(), String::new(), String::new());
    card.each_name_part(|place, part| {
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
    keys.words(Key::Family, &family);
    keys.words(Key::Given, &given);
    keys.words(Key::Given, &more);
    card.each_text(&VCardProperty::Nickname, |t| keys.words(Key::Nickname, t));
    let mut organization = String::new();
    card.each_text(&VCardProperty::Org, |t| {
        if organization.is_empty() {
            organization.push_str(t.trim());
        }
        keys.words(Key::Organization, t);
    });
    card.each_text(&VCardProperty::Email, |t| keys.address(Key::Email, t));
    card.each_text(&VCardProperty::Tel, |t| {
        if let Some(number) = PhoneNumber::parse(t, region) {
            keys.phone(&number);
        }
    });
    card.each_text(&VCardProperty::Categories, |t| keys.words(Key::Category, t));
    card.each_text(&VCardProperty::Note, |t| keys.words(Key::Note, t));

    let sort = if family.trim().is_empty() && given.trim().is_empty() {
        order.key(&[&display])
    } else {
        order.key(&[&family, &given, &more])
    };
    let mut summary = Vec::with_capacity(64);
    let phone = card.foremost(&VCardProperty::Tel).unwrap_or_default();
    let email = card.foremost(&VCardProperty::Email).unwrap_or_default();
    for part in [&display, &organization, phone, email] {
        varint::push_bytes(&mut summary, clip(part, 200).as_bytes());
    }
    Derived {
        keys: keys.out,
        sort,
        summary,
    }
}

/// What a list shows of a contact without reading the card.
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
        let mut next = || {
            varint::take_bytes(&mut bytes)
                .map(|v| String::from_utf8_lossy(v).into_owned())
                .unwrap_or_default()
        };
        Self {
            name: next(),
            organization: next(),
            phone: next(),
            email: next(),
        }
    }
}

/// `text` cut to at most `max` bytes, at a character's beginning.
fn clip(text: &str, max: usize) -> &str {
    match text.len() {
        n if n <= max => text,
        _ => &text[..text.floor_char_boundary(max)],
    }
}

#[derive(Default)]
struct KeyWriter {
    out: Vec<u8>,
    value: String,
}

impl KeyWriter {
    fn words(&mut self, key: Key, text: &str) {
        self.value.clear();
        self.value.push(' ');
        fold::push_words(clip(text, MAX_VALUE), &mut self.value);
        self.finish(key);
    }

    fn address(&mut self, key: Key, text: &str) {
        self.value.clear();
        self.value.push(' ');
        fold::push_address(clip(text, MAX_VALUE), &mut self.value);
        self.finish(key);
    }

    fn finish(&mut self, key: Key) {
        if self.value.len() > 1 {
            self.value.push(' ');
            let value = std::mem::take(&mut self.value);
            self.entry(key, value.as_bytes());
            self.value = value;
        }
    }

    fn phone(&mut self, number: &PhoneNumber) {
        let digits = number.digits();
        let mut value = Vec::with_capacity(digits.len() + 8);
        value.push(number.country_len());
        value.push(b' ');
        value.extend_from_slice(digits.as_bytes());
        value.push(b' ');
        value.extend_from_slice(number.extension().unwrap_or_default().as_bytes());
        self.entry(Key::Phone, &value);
    }

    fn entry(&mut self, key: Key, value: &[u8]) {
        if self.out.len() + value.len() < MAX_KEYS {
            self.out.push(key as u8);
            varint::push_bytes(&mut self.out, value);
        }
    }
}

/// The entries of stored keys. Bytes that are no keys end the walk.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Keys<'a> {
    type Item = (Key, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (&field, rest) = self.0.split_first()?;
        self.0 = rest;
        let value = varint::take_bytes(&mut self.0)?;
        Some((Key::from_u8(field)?, value))
    }
}

/// A stored phone value: the length of its country calling code, its digits, its extension.
pub(crate) fn phone_parts(value: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&country, rest) = value.split_first()?;
    let mut parts = rest.strip_prefix(b" ")?.splitn(2, |&b| b == b' ');
    Some((country, parts.next()?, parts.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_back_as_written() {
        let card = Card::parse(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nN:Müller;Anna;Maria;;\r\nFN:Anna Müller\r\n\
             ORG:Acme GmbH;R&D\r\nEMAIL:Anna@Example.org\r\nTEL:+49 30 23125 012\r\n\
             NOTE:likes tea\r\nEND:VCARD\r\n",
        )
        .unwrap();
        let derived = derive(&card, &Order::new("de").unwrap(), None);
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

    #[test]
    fn damaged_keys_end_the_walk() {
        assert_eq!(Keys(&[1]).count(), 0);
        assert_eq!(Keys(&[1, 5, b'a']).count(), 0);
        assert_eq!(Keys(&[200, 1, b'a']).count(), 0);
        assert_eq!(
            Keys(&[
                1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1
            ])
            .count(),
            0
        );
    }
}
