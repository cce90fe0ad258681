//! [`AddressData`]: the version and the properties of a card that a report asks for (RFC 6352 section
//! 10.4).

use std::borrow::Cow;

use etui::contacts::Card;
use etui_contentline::edit::{fold_line, line_ending};
use etui_contentline::lines::{ContentLine, ContentLines};

use super::error::QueryError;
use crate::xml::{Element, Namespace};

/// The version and the properties of cards in a report. The default is all of them, as vCard 3.0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AddressData {
    version: CardVersion,
    /// `None` for all.
    properties: Option<Vec<CardPropSelection>>,
}

/// The version of a card that is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum CardVersion {
    #[default]
    V3,
    V4,
}

/// A `prop` element.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CardPropSelection {
    /// The group before the name; `None` for any.
    group: Option<String>,
    name: String,
    /// Whether the value is left out.
    no_value: bool,
}

impl AddressData {
    /// Parses an `address-data` element of a report.
    ///
    /// # Errors
    /// `supported-address-data` for another media type than vCard 3.0 and 4.0;
    /// [`QueryError::Malformed`].
    pub fn parse(element: &Element) -> Result<Self, QueryError> {
        let media_type = element.attribute("content-type").unwrap_or("text/vcard");
        let version = match element.attribute("version").map(str::trim) {
            None | Some("3.0") => CardVersion::V3,
            Some("4.0") => CardVersion::V4,
            Some(_) => return Err(unsupported()),
        };
        if !media_type.trim().eq_ignore_ascii_case("text/vcard") {
            return Err(unsupported());
        }
        let of = |name| element.children_named(&Namespace::CardDav, name);
        let is_all = of("allprop").next().is_some() || of("prop").next().is_none();
        let properties = match is_all {
            true => None,
            false => Some(
                of("prop")
                    .map(CardPropSelection::parse)
                    .collect::<Result<_, _>>()?,
            ),
        };
        Ok(Self {
            version,
            properties,
        })
    }

    /// Returns a card in the version that is asked for, in UTF-8, with the properties that are. VERSION is
    /// always among them. Bytes that are no card are returned as text.
    #[must_use]
    pub fn apply(&self, card: &[u8]) -> Vec<u8> {
        let Ok(card) = Card::parse(card) else {
            return String::from_utf8_lossy(card).into_owned().into_bytes();
        };
        let text = match self.version {
            CardVersion::V3 => card.to_v3(),
            // A card of this version keeps its bytes.
            CardVersion::V4 if is_v4(&card) => match std::str::from_utf8(card.text()) {
                Ok(_) => String::from_utf8(card.into_text()).unwrap_or_default(),
                Err(_) => card.to_v4(),
            },
            CardVersion::V4 => card.to_v4(),
        };
        match &self.properties {
            None => text.into_bytes(),
            Some(properties) => select(&text, properties),
        }
    }
}

fn is_v4(card: &Card) -> bool {
    card.property("VERSION").is_some_and(|v| v.trim() == "4.0")
}

fn unsupported() -> QueryError {
    QueryError::carddav(
        "supported-address-data",
        "address data is text/vcard, version 3.0 or 4.0",
    )
}

impl CardPropSelection {
    fn parse(element: &Element) -> Result<Self, QueryError> {
        let name = element.attribute("name").map(str::trim).unwrap_or_default();
        let (group, name) = match name.split_once('.') {
            Some((group, name)) => (Some(group.to_owned()), name),
            None => (None, name),
        };
        match name.is_empty() {
            true => Err(QueryError::malformed("prop needs a name")),
            false => Ok(Self {
                group,
                name: name.to_owned(),
                no_value: element.attribute("novalue") == Some("yes"),
            }),
        }
    }

    fn is_of(&self, line: &ContentLine<'_>) -> bool {
        let is_group = match (&self.group, line.group) {
            (None, _) => true,
            (Some(group), Some(own)) => own.eq_ignore_ascii_case(group.as_bytes()),
            (Some(_), None) => false,
        };
        is_group && line.name_is(&self.name)
    }
}

/// Returns the selected lines of a card.
fn select(text: &str, properties: &[CardPropSelection]) -> Vec<u8> {
    let ending = line_ending(text.as_bytes());
    let mut out = Vec::new();
    for line in ContentLines::of_text(text) {
        if line.delimiter().is_some() || line.name_is("VERSION") {
            out.extend_from_slice(line.raw());
            continue;
        }
        match properties.iter().find(|selection| selection.is_of(&line)) {
            Some(one) if one.no_value => {
                let name: Cow<'_, [u8]> = line.unfolded_name();
                let name = String::from_utf8_lossy(&name);
                out.extend(fold_line(&format!("{name}:"), ending));
            }
            Some(_) => out.extend_from_slice(line.raw()),
            None => {}
        }
    }
    out
}
