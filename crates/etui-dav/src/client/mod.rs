//! CalDAV and CardDAV as a client, without a socket: requests out, answers in.
//!
//! ```text
//! Address                 a URL, and the hosts that credentials may go to
//! requests                PROPFIND, sync-collection, multiget, PUT, DELETE
//! answers                 207 as a stream, with limits
//! discovery               from an address to its collections (RFC 6764, without DNS)
//! ```
//!
//! Whoever sends the requests passes on what an answer says:
//!
//! ```
//! use etui_dav::client::{Address, AnswerLimits, CollectionItem, list_members, read_multistatus};
//!
//! let book = Address::parse("https://dav.example.org/ada/book/")?;
//! let request = list_members(&book);
//! assert_eq!(request.method().as_str(), "PROPFIND");
//! let answer = br#"<multistatus xmlns="DAV:"><response><href>/ada/book/bo.vcf</href><propstat><prop>
//!     <getetag>"1"</getetag></prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>"#;
//! let mut items = Vec::new();
//! read_multistatus(&answer[..], &AnswerLimits::default(), &mut |response| {
//!     items.extend(CollectionItem::of(&book, &response));
//! })?;
//! assert_eq!((items[0].href.as_str(), items[0].etag.as_deref()), ("/ada/book/bo.vcf", Some("\"1\"")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod answers;
mod discovery;
mod requests;

pub use address::{Address, AddressError, normal_path};
pub use answers::{
    AnswerError, AnswerLimits, CollectionItem, Multistatus, Response, failure_reason,
    read_multistatus,
};
pub use discovery::{Discovery, DiscoveryError, DiscoveryStep, RemoteCollection, RemoteKind};
pub use requests::{
    ClientRequest, PutCondition, collection_state, delete, get, get_if_changed, list_collections,
    list_members, multiget, post_form, put, sync_collection,
};
