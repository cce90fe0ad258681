//! The form in which reports give the content of resources.

use std::borrow::Cow;

use etui::contacts::Card;
use etui_vcard::VCardVersion;

use crate::failure::{Refusal, Result};
use crate::kind::DavKind;
use crate::path::Home;
use crate::xml::{Element, Namespace};

/// The form of `address-data` or `calendar-data`.
#[derive(Debug, Clone)]
pub(crate) enum DataForm {
    /// vCard 3.0, unless another version was asked for.
    Card(CardVersion),
    /// The calendar object as it is.
    Calendar,
}

/// A version of vCard that a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CardVersion {
    V3,
    V4,
}

impl CardVersion {
    /// Returns the version of this name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name.trim() {
            "3.0" => Some(Self::V3),
            "4.0" => Some(Self::V4),
            _ => None,
        }
    }

    /// Returns a stored card in this version, in UTF-8. One that cannot be parsed stays as it is.
    pub(crate) fn convert(self, bytes: &[u8]) -> Cow<'_, str> {
        let Ok(card) = Card::parse(bytes) else {
            return String::from_utf8_lossy(bytes);
        };
        match self {
            Self::V3 => card.to_v3().into(),
            Self::V4 if card.version() == VCardVersion::V4_0 => String::from_utf8_lossy(bytes),
            Self::V4 => card.to_v4().into(),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V3 => "3.0",
            Self::V4 => "4.0",
        }
    }
}

impl DataForm {
    /// Parses the element of a report.
    pub(crate) fn of<R: DavKind>(element: &Element) -> Result<Self> {
        match R::HOME {
            Home::Calendars => Ok(Self::Calendar),
            Home::AddressBooks => {
                let version = element.attribute("version").unwrap_or("3.0");
                let version = CardVersion::of(version).ok_or_else(|| {
                    Refusal::forbidden("address-data has version 3.0 or 4.0")
                        .with(Namespace::CardDav, "supported-address-data")
                })?;
                Ok(Self::Card(version))
            }
        }
    }

    /// Returns the attributes of the element.
    pub(crate) fn attributes(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Card(version) => vec![
                ("content-type", "text/vcard".to_owned()),
                ("version", version.name().to_owned()),
            ],
            Self::Calendar => Vec::new(),
        }
    }

    /// Returns the content of a resource in this form.
    pub(crate) fn apply<'b>(&self, bytes: &'b [u8]) -> Cow<'b, str> {
        match self {
            Self::Card(version) => version.convert(bytes),
            Self::Calendar => String::from_utf8_lossy(bytes),
        }
    }
}
