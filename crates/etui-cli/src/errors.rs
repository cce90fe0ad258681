//! [`Failure`]: why a command did not do what it was asked, and the exit code that tells it.
//!
//! ```text
//! 0  done
//! 1  failed for a reason of the system's: a file cannot be read or written, or is in the way
//! 2  not understood: options, filters, names; or more than one record fits where one is meant
//! 3  something was refused; the rest went in
//! 4  nothing found: no such record, collection, earlier version
//! 5  the record was changed meanwhile; nothing was overwritten
//! 6  the store cannot be used: none there, not one, too new, read-only, busy, disk full
//! 7  the store is damaged
//! ```

use std::fmt;
use std::io;
use std::path::Path;

use etui::Error;
use etui::calendar::ObjectError;
use etui::contacts::CardError;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// What the library reported.
    Library(Error),
    /// The system refused something about a file.
    Io {
        /// The file, or what stands for it.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// Whoever reads the output has had enough. Not an error.
    ClosedPipe,
    /// Not understood, or not clear which record is meant.
    Usage(String),
    /// Nothing found.
    NotFound(String),
    /// Something is in the way.
    Exists(String),
    /// Something was refused.
    Refused(String),
    /// The record was changed meanwhile.
    Conflict(String),
    /// The store is damaged.
    Damaged(String),
    /// Anything else, in plain words.
    Other(String),
}

/// `std::result::Result` with [`Failure`].
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// An error of the system's about `path`.
    pub fn io(path: &Path, source: io::Error) -> Self {
        Self::named_io(path.display().to_string(), source)
    }

    /// An error of the system's about something that is no path.
    pub fn named_io(what: impl Into<String>, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Self::Io {
            what: what.into(),
            source,
        }
    }

    /// See [`Failure::Usage`].
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// The exit code; see the table above.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::ClosedPipe => 0,
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
            Self::NotFound(_) => 4,
            Self::Conflict(_) => 5,
            Self::Damaged(_) => 7,
            Self::Io { .. } | Self::Exists(_) | Self::Other(_) => 1,
            Self::Library(error) => match error {
                Error::BadName { .. }
                | Error::Filter(_)
                | Error::BadLocale { .. }
                | Error::BadRegion { .. }
                | Error::Card(CardError::BadProperty(_))
                | Error::Record(ObjectError::BadProperty(_)) => 2,
                Error::Card(_) | Error::Record(_) | Error::LastCollection { .. } => 3,
                Error::NoCollection { .. }
                | Error::NoRemovedCollection { .. }
                | Error::NoRecord { .. }
                | Error::NothingToUndo { .. } => 4,
                Error::Conflict { .. }
                | Error::OtherUid { .. }
                | Error::CollectionChanged { .. } => 5,
                Error::NoStore { .. }
                | Error::Refused { .. }
                | Error::NoVfs { .. }
                | Error::NotADatabase { .. }
                | Error::NotAStore { .. }
                | Error::Newer { .. }
                | Error::ReadOnly { .. }
                | Error::DiskFull { .. }
                | Error::StrayLog { .. }
                | Error::Busy { .. } => 6,
                Error::Damaged { .. } => 7,
                _ => 1,
            },
        }
    }

    /// The stable name of this kind of failure in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ClosedPipe => "closed_pipe",
            Self::Usage(_) => "usage",
            Self::Exists(_) => "exists",
            Self::Refused(_) => "refused",
            Self::NotFound(_) => "not_found",
            Self::Conflict(_) => "conflict",
            Self::Damaged(_) => "damaged",
            Self::Io { .. } => "io",
            Self::Other(_) => "failed",
            Self::Library(error) => match error {
                Error::BadName { .. }
                | Error::Filter(_)
                | Error::BadLocale { .. }
                | Error::BadRegion { .. }
                | Error::Card(CardError::BadProperty(_))
                | Error::Record(ObjectError::BadProperty(_)) => "usage",
                Error::Card(_) | Error::Record(_) | Error::LastCollection { .. } => "refused",
                Error::NoCollection { .. }
                | Error::NoRemovedCollection { .. }
                | Error::NoRecord { .. }
                | Error::NothingToUndo { .. } => "not_found",
                Error::Conflict { .. }
                | Error::OtherUid { .. }
                | Error::CollectionChanged { .. } => "conflict",
                Error::NoStore { .. } => "no_store",
                Error::Refused { .. } => "refused_by_vfs",
                Error::NoVfs { .. } => "no_vfs",
                Error::NotADatabase { .. } | Error::NotAStore { .. } => "not_a_store",
                Error::Newer { .. } => "newer",
                Error::ReadOnly { .. } => "read_only",
                Error::DiskFull { .. } => "disk_full",
                Error::Busy { .. } => "busy",
                Error::StrayLog { .. } => "stray_log",
                Error::Damaged { .. } => "damaged",
                Error::Exists { .. } | Error::CollectionExists { .. } => "exists",
                Error::Io { .. } => "io",
                _ => "failed",
            },
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(Error::Exists { path }) => write!(
                f,
                "{}: exists already, and was left as it is; choose another path",
                path.display()
            ),
            Self::Library(error) => error.fmt(f),
            Self::Io { what, source } => write!(f, "{what}: {}", plain(source)),
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

/// The system's words without Rust's "(os error 2)".
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<CardError> for Failure {
    fn from(error: CardError) -> Self {
        Self::Library(error.into())
    }
}

impl From<ObjectError> for Failure {
    fn from(error: ObjectError) -> Self {
        Self::Library(error.into())
    }
}

impl From<etui::contacts::FilterError> for Failure {
    fn from(error: etui::contacts::FilterError) -> Self {
        Self::Library(error.into())
    }
}
