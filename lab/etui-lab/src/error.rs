//! Errors of the laboratory.

use std::io;
use std::path::{Path, PathBuf};

/// An error, with its place and a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A part cannot be run on this machine. Not a failure: it is reported with its reason.
    #[error("not run: {0}")]
    NotRun(String),
    /// A file or directory.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A command that was run for the laboratory.
    #[error("`{command}` failed: {message}")]
    Command {
        /// The command with its arguments.
        command: String,
        /// Its last words.
        message: String,
    },
    /// SQLite, driven as a peer.
    #[error("SQLite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// etui itself.
    #[error("etui: {0}")]
    Etui(#[from] etui::Error),
    /// A card that etui refused.
    #[error("a card: {0}")]
    Card(#[from] etui::contacts::CardError),
    /// A service on a bus.
    #[error("the bus: {0}")]
    Bus(#[from] zbus::Error),
    /// A line of a results file.
    #[error("{path}, line {line}: {message}; take the line out, or give another --out")]
    Results {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Reason.
        message: String,
    },
    /// Invalid arguments.
    #[error("{0}")]
    Usage(String),
    /// The person stopped the run.
    #[error("stopped; the same command goes on from here")]
    Stopped,
    /// The person stopped a command that does not resume.
    #[error("stopped; nothing was changed")]
    StoppedForGood,
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

impl From<etui_vfs::Error> for Error {
    /// A facility that this machine lacks is a part that cannot be run here.
    fn from(error: etui_vfs::Error) -> Self {
        match error {
            etui_vfs::Error::Unsupported { .. } => Self::NotRun(error.to_string()),
            other => Self::Other(other.to_string()),
        }
    }
}

impl Error {
    /// A file's error.
    pub fn file(path: impl AsRef<Path>, source: impl Into<io::Error>) -> Self {
        Self::File {
            path: path.as_ref().to_owned(),
            source: source.into(),
        }
    }

    /// A setting that is absent or of another kind.
    pub fn setting(name: &str, kind: &str) -> Self {
        Self::Other(format!("the setting `{name}` should be {kind}"))
    }

    /// Anything in words.
    pub fn other(words: impl Into<String>) -> Self {
        Self::Other(words.into())
    }

    /// A part that cannot be run here.
    pub fn not_run(reason: impl Into<String>) -> Self {
        Self::NotRun(reason.into())
    }
}
