//! [`Error`], the error type of this crate.

use std::io;

/// An operation that failed, and why.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel, the file system or the device does not support or permit it.
    #[error("{what} is not available here: {reason}")]
    Unsupported {
        /// The feature that was requested.
        what: &'static str,
        /// The system's answer, and a possible remedy.
        reason: String,
    },
    /// A system call failed.
    #[error("{what}: {source}")]
    Io {
        /// The operation.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A call of SQLite failed.
    #[error("SQLite's {call} returned {code}: {hint}")]
    Sqlite {
        /// The function.
        call: &'static str,
        /// Its result code.
        code: i32,
        /// The likely cause.
        hint: &'static str,
    },
    /// A database cannot be used in its present state. Nothing was changed.
    #[error("{reason}")]
    Refused {
        /// The result code for SQLite.
        code: i32,
        /// The reason, and a possible remedy.
        reason: String,
    },
    /// The arguments are invalid.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// Returns an [`Error::Io`].
    #[doc(hidden)]
    pub fn io(what: &'static str, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        Self::Io { what, source }
    }

    /// Returns an [`Error::Unsupported`].
    #[doc(hidden)]
    pub fn unsupported(what: &'static str, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Unsupported { what, reason }
    }
}
