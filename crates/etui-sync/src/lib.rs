//! Keeps collections of a store in step with those of a CardDAV or CalDAV server.
//!
//! ```text
//! http       one connection: TLS, plain, or the pipes of a program
//! discover   from an address to the collections of an account
//! run        one pair of collections: the changes of both sides, taken, merged, sent
//! remote     the questions of a run to the other side
//! dav        a collection of a server
//! feed       a calendar that is published as one file
//! oauth      logging in by a browser
//! folder     devices in step by a folder that something else carries
//! other_side one of them, for a pair
//! kind       contacts and calendars: merge, the text that is sent
//! ```
//!
//! The rules of a run ([`sync_pair`]):
//!
//! | | remote same | remote changed | remote gone |
//! |---|---|---|---|
//! | **local same** | - | take it | remove, to the trash |
//! | **local changed** | send, if it has not changed | merge, send | send again, tell |
//! | **local gone** | delete, if it has not changed | bring back here, tell | forget the link |
//! | **no link** | send as new | link if UID and text agree, else merge | - |
//!
//! Vanished members are asked for once more, and only a 404 counts. A run that would remove many of a collection, or meets
//! an empty one, does nothing to it ([`PairReport::guard`]). The server's token is kept only if it is of after all new members
//! that were sent: the removal of a member that was made after a token need not be told.

mod dav;
mod discover;
mod error;
mod feed;
mod folder;
mod http;
mod kind;
mod oauth;
mod other_side;
mod remote;
mod run;

pub use discover::discover;
pub use error::SyncError;
pub use feed::{FeedInfo, read_feed};
pub use folder::{Folder, folder_place};
pub use http::{Answer, Body, HttpClient, HttpOptions, Login, SendError};
pub use kind::SyncKind;
pub use oauth::{OAuthClient, OAuthError, OAuthTokens};
pub use other_side::OtherSide;
pub use run::{LAST_RUN, PairReport, SyncOptions, sync_pair};
