//! What can go wrong here.

use std::io;

/// What went wrong, and with what.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel, the file system or the device cannot do it, or does not permit it.
    #[error("{what} cannot be had here: {reason}")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
        /// What the system said, and what would help.
        reason: String,
    },
    /// The system refused an operation.
    #[error("{what}: {source}")]
    Io {
        /// The operation.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// SQLite refused a call.
    #[error("SQLite's {call} answered {code}: {hint}")]
    Sqlite {
        /// The function.
        call: &'static str,
        /// Its result code.
        code: i32,
        /// What it means here.
        hint: &'static str,
    },
    /// A database cannot be used as it is; nothing of it was changed.
    #[error("{reason}")]
    Refused {
        /// What SQLite is told.
        code: i32,
        /// What is the matter, and what would help.
        reason: String,
    },
    /// The caller's arguments do not fit.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    pub(crate) fn io(what: &'static str, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        Self::Io { what, source }
    }

    pub(crate) fn unsupported(what: &'static str, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Unsupported { what, reason }
    }
}
