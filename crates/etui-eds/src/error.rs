//! [`EdsError`]: the errors that Evolution Data Server's clients decode.
//!
//! The server registers no error names of its own. GDBus encodes the error's domain and number in
//! the name, and the client library decodes both (`g_dbus_error_encode_gerror`):
//!
//! ```text
//! org.gtk.GDBus.UnmappedGError.Quark._e_2dclient_2derror_2dquark.Code21
//!                                    | |  `- a byte that is no letter or digit: `_` and two hex digits
//!                                    |  `- the domain, `e-client-error-quark`
//!                                     `- before the domain
//! ```

use std::fmt::Write;

use zbus::message::{Header, Message};
use zbus::names::ErrorName;

/// Error domains of Evolution Data Server and GIO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// `e-client-error-quark`: errors of both kinds of collections.
    Client,
    /// `e-book-client-error-quark`: errors of address books.
    Book,
    /// `e-cal-client-error-quark`: errors of calendars.
    Calendar,
    /// `g-io-error-quark`: errors of the factories.
    Io,
}

impl Domain {
    /// The name of the domain's quark.
    pub fn quark(self) -> &'static str {
        match self {
            Self::Client => "e-client-error-quark",
            Self::Book => "e-book-client-error-quark",
            Self::Calendar => "e-cal-client-error-quark",
            Self::Io => "g-io-error-quark",
        }
    }
}

/// An error as it is sent to a client.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct EdsError {
    name: String,
    message: String,
}

/// A result with an [`EdsError`].
pub type EdsResult<T> = std::result::Result<T, EdsError>;

/// `e-client-error-quark`: an argument is not valid.
pub const INVALID_ARGUMENT: (Domain, u32) = (Domain::Client, 0);
/// `e-client-error-quark`: another program writes to the store.
pub const BUSY: (Domain, u32) = (Domain::Client, 1);
/// `e-client-error-quark`: the store is read-only.
pub const PERMISSION_DENIED: (Domain, u32) = (Domain::Client, 8);
/// `e-client-error-quark`: the operation is not supported.
pub const NOT_SUPPORTED: (Domain, u32) = (Domain::Client, 11);
/// `e-client-error-quark`: the query was not understood.
pub const INVALID_QUERY: (Domain, u32) = (Domain::Client, 16);
/// `e-client-error-quark`: the answer is too large.
pub const SIZE_LIMIT: (Domain, u32) = (Domain::Client, 14);
/// `e-client-error-quark`: the query cannot be answered here, such as a step beyond the end.
pub const QUERY_REFUSED: (Domain, u32) = (Domain::Client, 17);
/// `e-client-error-quark`: any other error.
pub const OTHER: (Domain, u32) = (Domain::Client, 19);
/// `e-client-error-quark`: the client's version of the data is not the current one.
pub const OUT_OF_SYNC: (Domain, u32) = (Domain::Client, 21);
/// `e-book-client-error-quark`: no contact with that UID.
pub const CONTACT_NOT_FOUND: (Domain, u32) = (Domain::Book, 1);
/// `e-book-client-error-quark`: a contact with that UID exists.
pub const CONTACT_EXISTS: (Domain, u32) = (Domain::Book, 2);
/// `e-book-client-error-quark`: the device is full.
pub const NO_SPACE: (Domain, u32) = (Domain::Book, 4);
/// `e-cal-client-error-quark`: no object with that UID.
pub const OBJECT_NOT_FOUND: (Domain, u32) = (Domain::Calendar, 1);
/// `e-cal-client-error-quark`: not a component, or not one of the calendar's kind.
pub const INVALID_OBJECT: (Domain, u32) = (Domain::Calendar, 2);
/// `e-cal-client-error-quark`: an object with that UID exists.
pub const OBJECT_EXISTS: (Domain, u32) = (Domain::Calendar, 4);
/// `e-cal-client-error-quark`: the range is not valid.
pub const INVALID_RANGE: (Domain, u32) = (Domain::Calendar, 5);
/// `g-io-error-quark`: no source with that UID. Clients try again on exactly this one.
pub const NO_SOURCE: (Domain, u32) = (Domain::Io, 1);
/// `g-io-error-quark`: the source has no such part.
pub const SOURCE_NOT_SUPPORTED: (Domain, u32) = (Domain::Io, 15);

impl EdsError {
    /// An error with a code of this module and a text for the user.
    pub fn new(code: (Domain, u32), message: impl Into<String>) -> Self {
        Self {
            name: encode_name(code.0.quark(), code.1),
            message: message.into(),
        }
    }

    /// The error that a method of a stock service returned, to be passed on as it is; an error of
    /// the connection is given back.
    pub(crate) fn from_reply(error: zbus::Error) -> Result<Self, zbus::Error> {
        use zbus::DBusError;
        match error {
            zbus::Error::MethodError(name, message, _) => Ok(Self {
                name: name.to_string(),
                message: message.unwrap_or_default(),
            }),
            // An error of the specification, such as `ServiceUnknown`.
            zbus::Error::FDO(error) => Ok(Self {
                name: error.name().to_string(),
                message: error.description().unwrap_or_default().to_owned(),
            }),
            other => Err(other),
        }
    }

    /// The error's name on the bus.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text for the user.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Puts what was attempted before the message: `Cannot add contact: ...`.
    pub fn attempting(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// The error of an address book for an error of the store.
    pub fn of_book(error: &etui::Error) -> Self {
        use etui::Error as E;
        let code = match error {
            E::NoRecord { .. } => CONTACT_NOT_FOUND,
            E::DiskFull { .. } => NO_SPACE,
            _ => common_code(error),
        };
        Self::new(code, error.to_string())
    }

    /// The error of a calendar for an error of the store.
    pub fn of_calendar(error: &etui::Error) -> Self {
        use etui::Error as E;
        let code = match error {
            E::NoRecord { .. } => OBJECT_NOT_FOUND,
            _ => common_code(error),
        };
        Self::new(code, error.to_string())
    }
}

/// The code that both kinds of collections have for an error.
fn common_code(error: &etui::Error) -> (Domain, u32) {
    use etui::Error as E;
    match error {
        E::Conflict { .. } => OUT_OF_SYNC,
        E::ReadOnly { .. } => PERMISSION_DENIED,
        E::Busy { .. } => BUSY,
        _ => OTHER,
    }
}

/// Encodes a domain and a number as GDBus does.
fn encode_name(quark: &str, code: u32) -> String {
    let mut name = String::from("org.gtk.GDBus.UnmappedGError.Quark._");
    for byte in quark.bytes() {
        if byte.is_ascii_alphanumeric() {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "_{byte:02x}");
        }
    }
    let _ = write!(name, ".Code{code}");
    name
}

impl zbus::DBusError for EdsError {
    fn create_reply(&self, call: &Header<'_>) -> zbus::Result<Message> {
        Message::error(call, self.name.as_str()).build(&(self.message.as_str(),))
    }

    fn name(&self) -> ErrorName<'_> {
        ErrorName::from_str_unchecked(&self.name)
    }

    fn description(&self) -> Option<&str> {
        Some(&self.message)
    }
}

impl From<zbus::Error> for EdsError {
    fn from(error: zbus::Error) -> Self {
        Self::new(OTHER, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_as_gdbus_does() {
        assert_eq!(
            EdsError::new(OUT_OF_SYNC, "").name(),
            "org.gtk.GDBus.UnmappedGError.Quark._e_2dclient_2derror_2dquark.Code21"
        );
        assert_eq!(
            EdsError::new(NO_SOURCE, "").name(),
            "org.gtk.GDBus.UnmappedGError.Quark._g_2dio_2derror_2dquark.Code1"
        );
    }
}
