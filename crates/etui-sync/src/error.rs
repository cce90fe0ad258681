//! [`SyncError`]: why a pair is not in step.

use etui_dav::client::{AddressError, AnswerError, DiscoveryError};

use crate::http::SendError;

/// Why a run did not come to its end. Its work until then stays, and the next one goes on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The store.
    #[error(transparent)]
    Store(#[from] etui::Error),
    /// The server cannot be reached.
    #[error(transparent)]
    Send(#[from] SendError),
    /// An answer that cannot be read.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// Nothing was found at an address.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// An address that is none, or of another server.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The server does not take user and password, or no longer.
    #[error("{0}: the server does not take this user and password")]
    Login(String),
    /// The collection is no longer on the server.
    #[error("{0}: the server has no such collection any more; nothing was removed here")]
    NoCollection(String),
    /// The server refuses a request that a run cannot do without.
    #[error("{0}: the server refuses: {1}")]
    Refused(String, String),
    /// The server lists resources that are not in the collection.
    #[error(
        "{0}: the server lists resources of other addresses, as one behind a proxy that is set up wrongly; \
         nothing was changed"
    )]
    OtherPaths(String),
    /// A calendar that is published as a file is none any more.
    #[error("{0}: {1}")]
    Feed(String, &'static str),
    /// A folder of devices cannot be read or written.
    #[error("{0}: {1}")]
    Folder(String, String),
}
