//! [`ServeError`]: why a server did not start, or ended.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A server that cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A store cannot be opened.
    #[error(transparent)]
    Store(#[from] etui::Error),
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address, or the path of the Unix socket.
        address: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// Passwords would cross a network in the clear.
    #[error(
        "passwords would be sent to {0} unencrypted: use TLS, or listen on 127.0.0.1 only, or say that \
         a reverse proxy in front encrypts"
    )]
    Unencrypted(SocketAddr),
    /// A certificate or its key cannot be used.
    #[error("{}: {reason}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// The directory of stores cannot be read.
    #[error("{}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The operating system refused something else.
    #[error("{what}: {source}")]
    System {
        /// The failed operation.
        what: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
}
