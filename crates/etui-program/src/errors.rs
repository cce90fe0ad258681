//! [`Failure`]: the error of a command, with its exit code and its name in JSON.
//!
//! ```text
//! 0  success
//! 1  failure of the system: a file cannot be read or written, or already exists
//! 2  usage error: options, filters, names; or several records match where one is needed
//! 3  some input was rejected; the rest was imported
//! 4  not found: no such record, collection or earlier version
//! 5  conflict: the record changed in the meantime; nothing was overwritten
//! 6  the store cannot be used: missing, not a store, too new, read-only, busy, disk full
//! 7  the store is damaged
//! ```

use std::fmt;
use std::io;
use std::path::Path;

use etui::Error;
use etui::calendar::ObjectError;
use etui::contacts::CardError;

/// The error of a command.
#[derive(Debug)]
pub enum Failure {
    /// An error of the library.
    Library(Error),
    /// An I/O error.
    Io {
        /// The path, or the name of the stream.
        what: String,
        /// The error.
        source: io::Error,
    },
    /// The reader of the output closed the pipe. Not an error.
    ClosedPipe,
    /// A usage error, or an ambiguous record.
    Usage(String),
    /// No such record, collection or earlier version.
    NotFound(String),
    /// A file or collection of this name exists.
    Exists(String),
    /// Input was rejected.
    Refused(String),
    /// The record changed in the meantime.
    Conflict(String),
    /// The store is damaged.
    Damaged(String),
    /// Another failure of the system.
    Other(String),
}

/// `std::result::Result` with [`Failure`].
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// Returns an I/O error on `path`.
    pub fn io(path: &Path, source: io::Error) -> Self {
        Self::named_io(path.display().to_string(), source)
    }

    /// Returns an I/O error on something without a path.
    pub fn named_io(what: impl Into<String>, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Self::Io {
            what: what.into(),
            source,
        }
    }

    /// Returns a usage error.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// Returns the exit code and the stable name of the error in JSON.
    pub fn code_and_kind(&self) -> (u8, &'static str) {
        match self {
            Self::ClosedPipe => (0, "closed_pipe"),
            Self::Usage(_) => (2, "usage"),
            Self::Refused(_) => (3, "refused"),
            Self::NotFound(_) => (4, "not_found"),
            Self::Conflict(_) => (5, "conflict"),
            Self::Damaged(_) => (7, "damaged"),
            Self::Io { .. } => (1, "io"),
            Self::Exists(_) => (1, "exists"),
            Self::Other(_) => (1, "failed"),
            Self::Library(error) => match error {
                Error::BadName { .. }
                | Error::BadDeviceName(_)
                | Error::BadExternalId { .. }
                | Error::BadPlaylistName(_)
                | Error::SavedFilter(_)
                | Error::Filter(_)
                | Error::BadLocale { .. }
                | Error::BadRegion { .. }
                | Error::NothingToMerge
                | Error::SameCollection { .. }
                | Error::Card(CardError::BadProperty(_))
                | Error::Record(ObjectError::BadProperty(_)) => (2, "usage"),
                Error::Card(_)
                | Error::Record(_)
                | Error::NotOneObject { .. }
                | Error::LastCollection { .. } => (3, "refused"),
                Error::NoCollection { .. }
                | Error::NoRemovedCollection { .. }
                | Error::NoRecord { .. }
                | Error::NoDevice { .. }
                | Error::NoVersion { .. }
                | Error::NoRefused(_)
                | Error::NoStep(_)
                | Error::NoRecordId(_)
                | Error::NoResource(_)
                | Error::NoPlaylist(_)
                | Error::NoPlaylistEntry { .. }
                | Error::NothingToUndo { .. } => (4, "not_found"),
                Error::Conflict { .. }
                | Error::BatchConflict { .. }
                | Error::OtherUid { .. }
                | Error::UidTaken { .. }
                | Error::ConditionFailed { .. }
                | Error::SettingsChanged { .. }
                | Error::CollectionChanged { .. } => (5, "conflict"),
                Error::NoStore { .. } => (6, "no_store"),
                Error::Refused { .. } => (6, "refused_by_vfs"),
                Error::NoVfs { .. } => (6, "no_vfs"),
                Error::NotADatabase { .. } | Error::NotAStore { .. } => (6, "not_a_store"),
                Error::Newer { .. } => (6, "newer"),
                Error::ReadOnly { .. } => (6, "read_only"),
                Error::DiskFull { .. } => (6, "disk_full"),
                Error::StrayLog { .. } => (6, "stray_log"),
                Error::Busy { .. } => (6, "busy"),
                Error::Damaged { .. } => (7, "damaged"),
                Error::Exists { .. }
                | Error::CollectionExists { .. }
                | Error::PlaylistExists(_)
                | Error::ExternalIdExists { .. }
                | Error::SegmentExists { .. }
                | Error::DeviceExists(_) => (1, "exists"),
                Error::Io { .. } => (1, "io"),
                _ => (1, "failed"),
            },
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(Error::Exists(path)) => write!(
                f,
                "{}: already exists and was not changed; choose another path",
                path.display()
            ),
            Self::Library(error) => error.fmt(f),
            Self::Io { what, source } => {
                // Without Rust's "(os error 2)".
                let text = source.to_string();
                let message = text.split(" (os error").next().unwrap_or_default();
                write!(f, "{what}: {message}")
            }
            Self::ClosedPipe => f.write_str("the output was closed"),
            Self::Usage(message)
            | Self::NotFound(message)
            | Self::Exists(message)
            | Self::Refused(message)
            | Self::Conflict(message)
            | Self::Damaged(message)
            | Self::Other(message) => f.write_str(message),
        }
    }
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        match error.into() {
            // The library writes into no pipe but the output.
            Error::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => {
                Self::ClosedPipe
            }
            error => Self::Library(error),
        }
    }
}
