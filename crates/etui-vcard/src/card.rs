//! [`Card`]: the text of one vCard and its properties.

use std::fmt;

use etui_contentline::charset::repair_record;
use etui_contentline::lines::{ContentLines, component_body};

use crate::android::{is_custom, standard_property};
use crate::error::CardError;
use crate::property::{Property, PropertyValue};

/// The size of the largest card, in bytes, photos included.
pub const MAX_CARD: usize = 32 << 20;

/// The versions of vCard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VCardVersion {
    /// vCard 2.1 (versit, 1996).
    V2_1,
    /// vCard 3.0 (RFC 2426).
    V3_0,
    /// vCard 4.0 (RFC 6350).
    V4_0,
}

impl fmt::Display for VCardVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V2_1 => "2.1",
            Self::V3_0 => "3.0",
            Self::V4_0 => "4.0",
        })
    }
}

/// One vCard: its text, byte for byte as it came, and its properties, read from it.
#[derive(Debug, Clone)]
pub struct Card {
    pub(crate) text: Vec<u8>,
    pub(crate) properties: Vec<Property>,
}

impl PartialEq for Card {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Card {}

impl Card {
    /// Parses one vCard of any version and charset. The bytes are kept as they are.
    ///
    /// # Errors
    /// [`CardError`]: not one vCard, empty, or too large.
    pub fn parse(text: impl Into<Vec<u8>>) -> Result<Self, CardError> {
        let text = text.into();
        if text.len() > MAX_CARD {
            return Err(CardError::TooLarge { size: text.len() });
        }
        let properties = parse_properties(&text)?;
        Ok(Self { text, properties })
    }

    /// The vCard as it came, byte for byte.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The vCard as it came.
    pub fn into_text(self) -> Vec<u8> {
        self.text
    }

    /// The version in the VERSION property; 3.0 when there is none.
    pub fn version(&self) -> VCardVersion {
        let mut texts = self.named("VERSION").filter_map(Property::first_text);
        let version = texts.find_map(|text| match text.trim() {
            "2.0" | "2.1" => Some(VCardVersion::V2_1),
            "3.0" => Some(VCardVersion::V3_0),
            "4.0" => Some(VCardVersion::V4_0),
            _ => None,
        });
        version.unwrap_or(VCardVersion::V3_0)
    }

    /// The UID property, if there is one (RFC 6350 §6.7.6).
    pub fn uid(&self) -> Option<&str> {
        self.first_text("UID")
    }

    /// The value of the first property `name` (any, also `X-...`), unescaped; the parts of
    /// structured values are joined by `;`. `None` when the card has no such property.
    pub fn property(&self, name: &str) -> Option<String> {
        self.named(name).next().map(Property::joined_text)
    }

    /// The values of all properties `name`, in the card's order.
    pub fn properties(&self, name: &str) -> Vec<String> {
        self.named(name).map(Property::joined_text).collect()
    }

    /// Group, name and value of every property but BEGIN, END and VERSION, in the card's order.
    pub fn all_properties(&self) -> impl Iterator<Item = (Option<&str>, &str, String)> {
        self.properties
            .iter()
            .filter(|property| !property.is_named("VERSION"))
            .map(|property| {
                let group = property.group.as_deref();
                (group, property.name.as_str(), property.joined_text())
            })
    }

    /// The properties `name`.
    pub(crate) fn named<'c, 'n>(
        &'c self,
        name: &'n str,
    ) -> impl Iterator<Item = &'c Property> + use<'c, 'n> {
        self.properties
            .iter()
            .filter(move |property| property.is_named(name))
    }

    /// The first text of the properties `name` that is not blank, trimmed.
    pub(crate) fn first_text(&self, name: &str) -> Option<&str> {
        self.named(name)
            .filter_map(Property::first_text)
            .map(str::trim)
            .find(|text| !text.is_empty())
    }
}

fn parse_properties(text: &[u8]) -> Result<Vec<Property>, CardError> {
    let repaired = repair_record(text);
    let body = component_body(repaired.text.trim(), "VCARD").ok_or(CardError::NotACard)?;
    let mut properties = Vec::new();
    for line in ContentLines::of_text(body) {
        // A nested card was removed with its AGENT line; any other part is no part of a vCard.
        if line.name_is("BEGIN") || line.name_is("END") {
            return Err(CardError::Several);
        }
        properties.extend(Property::parse(&line));
    }
    read_custom_properties(&mut properties);
    // The repaired text says 3.0, whose syntax it has.
    let version = properties
        .iter_mut()
        .find(|p| repaired.was_v21 && p.is_named("VERSION"));
    if let Some(version) = version {
        version.value = PropertyValue::Text("2.1".to_owned());
    }
    let has_content = |property: &Property| !property.is_named("VERSION") && property.has_content();
    match properties.iter().any(has_content) {
        true => Ok(properties),
        false => Err(CardError::Empty),
    }
}

/// Replaces Android's own properties by those of the standard. The card's own date stays: an edit wrote it.
fn read_custom_properties(properties: &mut [Property]) {
    if !properties.iter().any(is_custom) {
        return;
    }
    let has_own = |name| properties.iter().any(|p| p.is_named(name));
    let own_dates = ["BDAY", "ANNIVERSARY"].map(|name| (name, has_own(name)));
    for property in properties {
        let standard = standard_property(property)
            .filter(|p| !own_dates.iter().any(|(name, own)| *own && p.is_named(name)));
        if let Some(standard) = standard {
            *property = standard;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(body: &str) -> Card {
        Card::parse(format!("BEGIN:VCARD\r\n{body}END:VCARD\r\n")).unwrap()
    }

    #[test]
    fn invalid_cards_are_rejected() {
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
        assert_eq!(v4.version(), VCardVersion::V4_0);
        assert_eq!(v4.name().family, "Müller");
    }
}
