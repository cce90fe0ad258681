//! [`Card`]: one contact, its vCard text as it came and typed access to what it says.
//!
//! ```
//! use etui::contacts::Card;
//!
//! let card = Card::parse(
//!     "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Ada Lovelace\r\nTEL;TYPE=cell:+44 20 7946 0123\r\n\
//!      X-HOBBY:engines\r\nEND:VCARD\r\n",
//! )?;
//! assert_eq!(card.display_name(), "Ada Lovelace");
//! assert_eq!(card.phones()[0].value, "+44 20 7946 0123");
//! assert_eq!(card.property("X-HOBBY").as_deref(), Some("engines"));
//! # Ok::<(), etui::contacts::CardError>(())
//! ```
//!
//! The text is the record; everything typed is read from it. vCard 2.1, 3.0 (RFC 2426) and 4.0
//! (RFC 6350) are read; edits ([`Card::set`] and its neighbours in `edit`) change only the lines
//! they are about.

mod dates;
mod edit;
mod values;
mod version4;

use std::borrow::Cow;
use std::fmt;

use calcard::vcard::{VCard, VCardEntry, VCardProperty, VCardValue, VCardVersion};
use calcard::{Entry, Parser};
use rusqlite::Connection;

use super::keys;
use crate::db::IndexContext;
use crate::record::{IndexedColumns, RecordKind};
use crate::types::{CollectionKind, content_identity};
use etui_contentline::charset::repair_charset;
use etui_contentline::lines::component_body;

pub use edit::NewProperty;
pub use values::{Address, Date, Name, Organization, Photo, Typed};

/// Largest contact that is kept, in bytes (photos included).
pub const MAX_CARD: usize = 32 << 20;

/// Why bytes are not a contact that can be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CardError {
    /// The bytes do not begin with `BEGIN:VCARD` or do not end with `END:VCARD`.
    #[error("not a vCard: it must begin with BEGIN:VCARD and end with END:VCARD")]
    NotACard,
    /// More than one vCard stands in the bytes.
    #[error("more than one vCard; give them one at a time, or import them as a file")]
    Several,
    /// The vCard says nothing: no name, phone, e-mail or any other property.
    #[error("an empty vCard: no name, no phone, no e-mail, nothing else")]
    Empty,
    /// Larger than [`MAX_CARD`].
    #[error("a vCard of {size} bytes; at most {MAX_CARD} are kept (is it a photo?)")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
    },
    /// A property name that no content line can have (RFC 6350 §3.3).
    #[error("\"{0}\" cannot be a property's name: letters, digits and - only")]
    BadProperty(String),
}

/// The versions of vCard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// vCard 2.1 (versit, 1996).
    V2_1,
    /// vCard 3.0 (RFC 2426).
    V3_0,
    /// vCard 4.0 (RFC 6350).
    V4_0,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V2_1 => "2.1",
            Self::V3_0 => "3.0",
            Self::V4_0 => "4.0",
        })
    }
}

/// One contact.
#[derive(Debug, Clone)]
pub struct Card {
    text: Vec<u8>,
    parsed: VCard,
}

impl PartialEq for Card {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Card {}

impl RecordKind for Card {
    const KIND: CollectionKind = CollectionKind::Contacts;

    fn stored(_: &Connection, text: Vec<u8>, _: Option<i64>) -> crate::Result<Self> {
        Ok(Self::parse(text)?)
    }

    fn text(&self) -> &[u8] {
        self.text()
    }

    fn uid(&self) -> Option<&str> {
        self.uid()
    }

    fn identity(&self) -> Cow<'_, str> {
        self.identity()
    }

    fn derive(&self, with: &IndexContext<'_>) -> IndexedColumns {
        keys::derive(self, with)
    }
}

impl Card {
    /// Reads one vCard. The bytes are kept as they are, whatever their version and charset.
    ///
    /// # Errors
    /// [`CardError`]: not one vCard, empty, or too large.
    pub fn parse(text: impl Into<Vec<u8>>) -> Result<Self, CardError> {
        let text = text.into();
        if text.len() > MAX_CARD {
            return Err(CardError::TooLarge { size: text.len() });
        }
        let parsed = read(&text)?;
        Ok(Self { text, parsed })
    }

    /// The vCard as it came, byte for byte.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The vCard as it came.
    #[must_use]
    pub fn into_text(self) -> Vec<u8> {
        self.text
    }

    /// The version the card says it has; 3.0 when it says none.
    #[must_use]
    pub fn version(&self) -> Version {
        match self.parsed.version() {
            Some(VCardVersion::V2_0 | VCardVersion::V2_1) => Version::V2_1,
            Some(VCardVersion::V4_0) => Version::V4_0,
            _ => Version::V3_0,
        }
    }

    /// The UID property, if there is one (RFC 6350 §6.7.6).
    #[must_use]
    pub fn uid(&self) -> Option<&str> {
        self.first_text(&VCardProperty::Uid)
    }

    /// What the store knows the record by: its UID, or else an identity made from its content,
    /// so that the same card is the same record however often it comes.
    #[must_use]
    pub fn identity(&self) -> Cow<'_, str> {
        match self.uid() {
            Some(uid) => Cow::Borrowed(uid),
            None => Cow::Owned(content_identity(&self.text)),
        }
    }

    /// Values of the property `name` (any, also `X-...`), unescaped; the parts of structured
    /// values are joined by `;`. The first one; `None` when the card has no such property.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<String> {
        self.properties(name).into_iter().next()
    }

    /// All values of the property `name`, in the card's order.
    #[must_use]
    pub fn properties(&self, name: &str) -> Vec<String> {
        self.parsed
            .entries
            .iter()
            .filter(|e| e.name.as_str().eq_ignore_ascii_case(name))
            .map(values::joined)
            .collect()
    }

    /// Group, name and value of every property but BEGIN, END and VERSION, in the card's order.
    pub fn all_properties(&self) -> impl Iterator<Item = (Option<&str>, &str, String)> {
        self.parsed
            .entries
            .iter()
            .filter(|e| is_content(e))
            .map(|e| (e.group.as_deref(), e.name.as_str(), values::joined(e)))
    }

    fn entries<'c>(&'c self, property: &'c VCardProperty) -> impl Iterator<Item = &'c VCardEntry> {
        self.parsed
            .entries
            .iter()
            .filter(move |e| &e.name == property)
    }

    fn first_text(&self, property: &VCardProperty) -> Option<&str> {
        self.parsed
            .entries
            .iter()
            .filter(|e| &e.name == property)
            .find_map(|e| e.values.first().and_then(values::text))
            .map(str::trim)
            .filter(|t| !t.is_empty())
    }
}

fn is_content(entry: &VCardEntry) -> bool {
    !matches!(
        entry.name,
        VCardProperty::Begin | VCardProperty::End | VCardProperty::Version
    )
}

fn says_something(entry: &VCardEntry) -> bool {
    is_content(entry)
        && entry.values.iter().any(|v| match v {
            VCardValue::Text(t) => !t.trim().is_empty(),
            VCardValue::Component(parts) => parts.iter().any(|p| !p.trim().is_empty()),
            _ => true,
        })
}

fn read(text: &[u8]) -> Result<VCard, CardError> {
    let cleaned = repair_charset(text);
    let trimmed = cleaned.trim();
    let plain = ["BEGIN:VCARD\r", "BEGIN:VCARD\n"]
        .iter()
        .any(|b| starts_with(trimmed, b))
        && ["\rEND:VCARD", "\nEND:VCARD"]
            .iter()
            .any(|e| ends_with(trimmed, e));
    let trimmed = if plain {
        Cow::Borrowed(trimmed)
    } else {
        // `BEGIN : VCARD` (2.1) and `group.BEGIN:VCARD` (3.0) are right, but not for the parser.
        let body = component_body(trimmed, "VCARD").ok_or(CardError::NotACard)?;
        Cow::Owned(format!("BEGIN:VCARD\r\n{body}END:VCARD\r\n"))
    };
    let trimmed = trimmed.as_ref();
    let mut parser = Parser::new(trimmed);
    let Entry::VCard(parsed) = parser.entry() else {
        return Err(CardError::NotACard);
    };
    if !matches!(parser.entry(), Entry::Eof) {
        return Err(CardError::Several);
    }
    let mut parsed = parsed;
    dates::read_as_written(&mut parsed, trimmed);
    if !parsed.entries.iter().any(says_something) {
        return Err(CardError::Empty);
    }
    Ok(parsed)
}

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len())
        .is_some_and(|t| t.eq_ignore_ascii_case(start))
}

fn ends_with(text: &str, end: &str) -> bool {
    text.len()
        .checked_sub(end.len())
        .and_then(|at| text.get(at..))
        .is_some_and(|t| t.eq_ignore_ascii_case(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(body: &str) -> Card {
        Card::parse(format!("BEGIN:VCARD\r\n{body}END:VCARD\r\n")).unwrap()
    }

    #[test]
    fn what_is_no_card_is_refused() {
        assert_eq!(Card::parse("hello"), Err(CardError::NotACard));
        assert_eq!(Card::parse(""), Err(CardError::NotACard));
        assert_eq!(
            Card::parse("BEGIN:VCARD\r\nFN:A\r\n"),
            Err(CardError::NotACard)
        );
        assert_eq!(
            Card::parse("BEGIN:VCARD\r\nVERSION:3.0\r\nEND:VCARD\r\n"),
            Err(CardError::Empty)
        );
        assert_eq!(
            Card::parse("BEGIN:VCARD\r\nVERSION:3.0\r\nN:;;;;\r\nFN:\r\nEND:VCARD\r\n"),
            Err(CardError::Empty)
        );
        assert_eq!(
            Card::parse("BEGIN:VCARD\nFN:A\nEND:VCARD\nBEGIN:VCARD\nFN:B\nEND:VCARD\n"),
            Err(CardError::Several)
        );
    }

    #[test]
    fn identity_comes_from_uid_or_content() {
        assert_eq!(card("UID:42\r\nFN:A\r\n").identity(), "42");
        let a = card("FN:A\r\n");
        assert_eq!(a.identity(), card("FN:A\r\n").identity());
        assert_ne!(a.identity(), card("FN:B\r\n").identity());
        assert_eq!(a.identity().len(), 37);
    }

    #[test]
    fn an_agents_phone_is_not_the_cards() {
        let c = card(
            "VERSION:2.1\r\nN:Outer;O\r\nAGENT:\r\nBEGIN:VCARD\r\nVERSION:2.1\r\nN:Inner;I\r\n\
             TEL:111\r\nEND:VCARD\r\nTEL:222\r\n",
        );
        let phones: Vec<_> = c.phones().into_iter().map(|p| p.value).collect();
        assert_eq!(phones, ["222"]);
        assert_eq!(c.name().family, "Outer");
    }

    #[test]
    fn unknown_properties_stay_reachable() {
        let c = card("FN:A\r\nitem1.X-ABLABEL:_$!<Home>!$_\r\nX-A:1\r\nX-A:2\r\n");
        assert_eq!(c.properties("x-a"), ["1", "2"]);
        assert!(
            c.all_properties()
                .any(|(g, n, _)| g == Some("item1") && n == "X-ABLABEL")
        );
    }

    #[test]
    fn version_four_comes_out() {
        let c =
            card("VERSION:2.1\r\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;Anna\r\n");
        let v4 = Card::parse(c.to_v4()).unwrap();
        assert_eq!(v4.version(), Version::V4_0);
        assert_eq!(v4.name().family, "Müller");
    }
}
