//! The form in which reports give the content of resources.

use std::borrow::Cow;

use etui::calendar::time::TimeZone;

use crate::failure::Result;
use crate::kind::DavKind;
use crate::path::Home;
use crate::query::{AddressData, CalendarData, QueryError};
use crate::xml::{Element, Namespace};

/// The version of a card if the request names none.
const DEFAULT_VERSION: &str = "3.0";

/// The form of `address-data` or `calendar-data`.
#[derive(Debug, Clone)]
pub(crate) enum DataForm {
    Card {
        data: AddressData,
        version: String,
    },
    Calendar {
        data: CalendarData,
        /// The zone of dates and floating times.
        zone: TimeZone,
    },
}

impl DataForm {
    /// Parses the element of a report. `zone` is that of the collection.
    pub(crate) fn of<R: DavKind>(
        element: &Element,
        zone: impl FnOnce() -> Result<TimeZone>,
    ) -> Result<Self> {
        Ok(match R::HOME {
            Home::AddressBooks => {
                let version = element.attribute("version").unwrap_or(DEFAULT_VERSION);
                Self::Card {
                    data: AddressData::parse(element)?,
                    version: version.trim().to_owned(),
                }
            }
            Home::Calendars => Self::Calendar {
                data: CalendarData::parse(element)?,
                zone: zone()?,
            },
        })
    }

    /// Returns the attributes of the element.
    pub(crate) fn attributes(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Card { version, .. } => vec![
                ("content-type", "text/vcard".to_owned()),
                ("version", version.clone()),
            ],
            Self::Calendar { .. } => Vec::new(),
        }
    }

    /// Returns the content of a resource in this form.
    pub(crate) fn apply<'b>(
        &self,
        bytes: &'b [u8],
    ) -> std::result::Result<Cow<'b, str>, QueryError> {
        Ok(match self {
            Self::Card { data, .. } => into_text(data.apply(bytes)).into(),
            Self::Calendar { data, zone } => match data.apply(bytes, zone)? {
                Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
                Cow::Owned(bytes) => into_text(bytes).into(),
            },
        })
    }
}

/// Returns a stored card as the version of this name; `None`: there is no such version.
pub(crate) fn card_as_version(bytes: &[u8], version: &str) -> Option<Vec<u8>> {
    let element = Element {
        attributes: vec![("version".to_owned(), version.to_owned())],
        ..Element::new(Namespace::CardDav, "address-data")
    };
    let data = AddressData::parse(&element).ok()?;
    Some(data.apply(bytes))
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
