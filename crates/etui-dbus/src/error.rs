//! [`StoreError`]: the errors `org.etui.Error1.*`.

use zbus::message::{Header, Message};
use zbus::names::ErrorName;

use etui_bus::guard::HandlerPanic;

/// The part of an error's name before its own.
const PREFIX: &str = "org.etui.Error1.";

/// An error as it is sent to a client: a name, a text and, for some, more arguments.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    kind: ErrorKind,
    message: String,
}

/// The errors of `org.etui.Store1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// No such record.
    NotFound,
    /// Something with this name exists.
    Exists,
    /// The record has another ETag than expected. Arguments: its UID and its ETag now.
    Conflict(String, String),
    /// A text cannot be a record. Argument: its index in the call, from 0.
    BadRecord(u32),
    /// A filter has a syntax error. Argument: the character, from 1.
    BadFilter(u32),
    /// No column has this name.
    BadColumn,
    /// An option is unknown, or its value has another type. Argument: its key.
    BadOption(String),
    /// Another argument is not valid.
    BadArgument,
    /// The only collection of its kind cannot be removed.
    LastCollection,
    /// No collection of this kind and name. Argument: the names that exist.
    NoCollection(Vec<String>),
    /// The token is too old, or of another store: read all records again.
    Resynchronise,
    /// The store can only be read.
    ReadOnly,
    /// Another program writes, or a limit is reached: try again.
    Busy,
    /// No space left on the device.
    DiskFull,
    /// The store is damaged.
    Damaged,
    /// The answer has more than 1 MiB: use the form by descriptor, or ask for less.
    TooLarge,
    /// Any other error.
    Internal,
}

impl ErrorKind {
    /// Returns the last part of the error's name.
    fn name(&self) -> &'static str {
        match self {
            Self::NotFound => "NotFound",
            Self::Exists => "Exists",
            Self::Conflict(..) => "Conflict",
            Self::BadRecord(_) => "BadRecord",
            Self::BadFilter(_) => "BadFilter",
            Self::BadColumn => "BadColumn",
            Self::BadOption(_) => "BadOption",
            Self::BadArgument => "BadArgument",
            Self::LastCollection => "LastCollection",
            Self::NoCollection(_) => "NoCollection",
            Self::Resynchronise => "Resynchronise",
            Self::ReadOnly => "ReadOnly",
            Self::Busy => "Busy",
            Self::DiskFull => "DiskFull",
            Self::Damaged => "Damaged",
            Self::TooLarge => "TooLarge",
            Self::Internal => "Internal",
        }
    }
}

impl StoreError {
    /// Returns an error with a text for the user.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// Returns the error for an option of the wrong type or an unknown key.
    pub(crate) fn option(key: &str, problem: &str) -> Self {
        Self::new(
            ErrorKind::BadOption(key.to_owned()),
            format!("the option \"{key}\" {problem}"),
        )
    }

    /// Returns the error for an answer of more than 1 MiB.
    pub(crate) fn too_large() -> Self {
        Self::new(
            ErrorKind::TooLarge,
            "the answer has more than 1 MiB; use the form by descriptor, or ask for less",
        )
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }
}

impl From<HandlerPanic> for StoreError {
    fn from(panic: HandlerPanic) -> Self {
        Self::new(ErrorKind::Internal, panic.to_string())
    }
}

impl From<zbus::Error> for StoreError {
    fn from(error: zbus::Error) -> Self {
        Self::new(ErrorKind::Internal, error.to_string())
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        Self::new(ErrorKind::Internal, error.to_string())
    }
}

impl From<etui::Error> for StoreError {
    fn from(error: etui::Error) -> Self {
        use etui::Error as E;
        let message = error.to_string();
        let etag_text = |etag: &Option<etui::ETag>| etag.map(|e| e.to_string()).unwrap_or_default();
        let kind = match &error {
            E::NoRecord { .. }
            | E::NothingToUndo { .. }
            | E::NoRemovedCollection { .. }
            | E::NoVersion { .. }
            | E::NoStep(_)
            | E::NoRecordId(_)
            | E::NoPlaylist(_)
            | E::NoPlaylistEntry { .. } => ErrorKind::NotFound,
            E::CollectionExists { .. }
            | E::Exists { .. }
            | E::ExternalIdExists { .. }
            | E::PlaylistExists(_) => ErrorKind::Exists,
            // Of a collection, which has no ETag.
            E::CollectionChanged { .. } => ErrorKind::Conflict(String::new(), String::new()),
            E::LastCollection { .. } => ErrorKind::LastCollection,
            E::Conflict { uid, found, .. } | E::BatchConflict { uid, found, .. } => {
                ErrorKind::Conflict(uid.clone(), etag_text(found))
            }
            E::Card(_) | E::Record(_) | E::OtherUid { .. } => ErrorKind::BadRecord(0),
            E::Filter(filter) => ErrorKind::BadFilter(u32::try_from(filter.at).unwrap_or(u32::MAX)),
            E::NoCollection { known, .. } => ErrorKind::NoCollection(known.clone()),
            E::BadName { .. }
            | E::SameCollection { .. }
            | E::NothingToMerge
            | E::BadPlaylistName(_)
            | E::SavedFilter(_) => ErrorKind::BadArgument,
            E::ReadOnly { .. } => ErrorKind::ReadOnly,
            E::Busy { .. } | E::CheckedOut { .. } => ErrorKind::Busy,
            E::DiskFull { .. } => ErrorKind::DiskFull,
            E::Damaged { .. } | E::NotADatabase { .. } => ErrorKind::Damaged,
            _ => ErrorKind::Internal,
        };
        Self { kind, message }
    }
}

impl zbus::DBusError for StoreError {
    fn create_reply(&self, call: &Header<'_>) -> zbus::Result<Message> {
        let reply = Message::error(call, zbus::DBusError::name(self));
        let text = self.message.as_str();
        match &self.kind {
            ErrorKind::Conflict(uid, etag) => reply.build(&(text, uid, etag)),
            ErrorKind::BadRecord(number) | ErrorKind::BadFilter(number) => {
                reply.build(&(text, number))
            }
            ErrorKind::BadOption(key) => reply.build(&(text, key)),
            ErrorKind::NoCollection(known) => reply.build(&(text, known)),
            _ => reply.build(&(text,)),
        }
    }

    fn name(&self) -> ErrorName<'_> {
        ErrorName::from_string_unchecked(format!("{PREFIX}{}", self.kind.name()))
    }

    fn description(&self) -> Option<&str> {
        Some(&self.message)
    }
}
