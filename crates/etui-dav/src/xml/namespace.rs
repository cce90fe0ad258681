//! [`Namespace`]: the namespaces of WebDAV and its extensions.

use std::fmt;
use std::sync::Arc;

/// The namespace of an element.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Namespace {
    /// `DAV:` (RFC 4918).
    Dav,
    /// `urn:ietf:params:xml:ns:caldav` (RFC 4791).
    CalDav,
    /// `urn:ietf:params:xml:ns:carddav` (RFC 6352).
    CardDav,
    /// `http://calendarserver.org/ns/`: `getctag` and others.
    CalendarServer,
    /// `http://apple.com/ns/ical/`: `calendar-color`, and `calendar-order`, which is kept as a client sets it.
    Apple,
    /// Any other; empty: the element is in no namespace.
    Other(Arc<str>),
}

impl Namespace {
    /// Those with a fixed prefix in answers.
    pub(crate) const KNOWN: [Self; 5] = [
        Self::Dav,
        Self::CalDav,
        Self::CardDav,
        Self::CalendarServer,
        Self::Apple,
    ];

    /// Returns the namespace of this URI.
    #[must_use]
    pub fn of(uri: &str) -> Self {
        let known = Self::KNOWN.into_iter().find(|known| known.uri() == uri);
        known.unwrap_or_else(|| Self::Other(uri.into()))
    }

    /// Returns the URI; empty for no namespace.
    #[must_use]
    pub fn uri(&self) -> &str {
        match self {
            Self::Dav => "DAV:",
            Self::CalDav => "urn:ietf:params:xml:ns:caldav",
            Self::CardDav => "urn:ietf:params:xml:ns:carddav",
            Self::CalendarServer => "http://calendarserver.org/ns/",
            Self::Apple => "http://apple.com/ns/ical/",
            Self::Other(uri) => uri,
        }
    }

    /// Returns the prefix that answers use, which each answer declares on its first element.
    pub(crate) fn prefix(&self) -> Option<&'static str> {
        match self {
            Self::Dav => Some("d"),
            Self::CalDav => Some("c"),
            Self::CardDav => Some("card"),
            Self::CalendarServer => Some("cs"),
            Self::Apple => Some("ic"),
            Self::Other(_) => None,
        }
    }
}

/// Writes the URI.
impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.uri())
    }
}
