//! CalDAV (RFC 4791) and CardDAV (RFC 6352) over an etui store: a request in, an answer out, without a
//! socket; and the requests of a [`client`].
//!
//! [`answer`] takes one request of an authenticated device ([`Session`]) and streams the answer to a
//! [`Respond`]. A server around it accepts connections and knows the devices; `etui serve` is one.
//!
//! ```
//! use etui::Store;
//! use etui_dav::{Collected, DavOptions, Session, answer};
//! use http::Request;
//!
//! # let dir = tempfile::tempdir()?;
//! # let store = Store::open(dir.path().join("personal.etui"))?;
//! let session = Session {
//!     device: "Phone",
//!     may_write: true,
//!     sees: None,
//!     reads: None,
//!     user: "ada",
//!     root: "/dav/",
//!     shared: &[],
//! };
//! let options = DavOptions::default();
//!
//! // A phone saves a new contact.
//! let card = b"BEGIN:VCARD\r\nVERSION:3.0\r\nUID:bo\r\nN:Example;Bo;;;\r\nFN:Bo Example\r\nEND:VCARD\r\n";
//! let put = Request::put("/dav/addressbooks/1/bo.vcf")
//!     .header("If-None-Match", "*")
//!     .body(card.to_vec())?;
//! let mut out = Collected::new();
//! let outcome = answer(&store, &session, &options, &put, &mut out)?;
//! assert_eq!((outcome.status, outcome.written), (201, 1));
//!
//! // It reads the card back, byte for byte.
//! let get = Request::get("/dav/addressbooks/1/bo.vcf").body(Vec::new())?;
//! let mut out = Collected::new();
//! answer(&store, &session, &options, &get, &mut out)?;
//! assert_eq!(out.into_response().body(), card);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Paths
//!
//! ```text
//! ROOT                        finds the principal; so does `/`
//! ROOT me/                    the principal, with its two homes
//! ROOT addressbooks/          address books
//! ROOT addressbooks/ID/       one; ID is the segment that MKCOL named, or its number
//! ROOT addressbooks/ID/NAME   a contact, under the name that a client gave it
//! ROOT calendars/...          calendars and calendar objects, likewise
//! ```
//!
//! # Promises
//!
//! - A resource comes back byte for byte as it was put, or the answer to the PUT had no entity tag.
//! - A text that is refused is kept by the store before the refusal is sent
//!   ([`RefusedVersions::keep`](etui::store::RefusedVersions::keep)), because clients drop it; if it cannot be kept, the answer is a
//!   server error. Not kept are texts for collections that the store does not know, or that the device does not see, and
//!   compressed ones.
//! - Removed and overwritten versions are in the trash or the history of the store.
//! - An answer is of one state of the store, and has one resource in memory at a time.
//! - No request makes the program panic or read another file. Bodies, elements, attributes and names of properties are
//!   limited; a request needs memory for its body, for at most 100,000 elements and 100,000 attributes with its texts, and
//!   for one resource.
//!
//! The book (`docs/src/server.md`) has methods, reports, properties, limits and omissions.
//!
//! # Modules
//!
//! ```text
//! answer                           dispatch
//! method/      report/             PUT, PROPFIND, ...; sync-collection, multigets, queries
//! context      member_writer       a request and its collections; resources in an answer
//! property/    multistatus         names and values of properties; the answer 207
//! query/       data                filters, parts of objects; forms of content
//! kind  condition  headers  path   contacts or calendar objects; parts of a request
//! failure      respond  session    refusals; where answers go; the device
//! client/                          requests out, answers in
//! xml/                             trees in, streams out
//! ```

mod answer;
pub mod client;
mod condition;
mod context;
mod data;
mod failure;
mod headers;
mod kind;
mod member_writer;
mod method;
mod multistatus;
mod path;
mod property;
pub mod query;
mod report;
mod respond;
mod session;
pub mod xml;

pub use answer::answer;
pub use path::{concerns, well_known};
pub use respond::{Collected, Respond};
pub use session::{DavOptions, Outcome, Session, SharedCollection};
