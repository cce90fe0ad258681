//! Personal data kept on the person's own device, in one file: as fast and as durable as the
//! hardware allows.
//!
//! A [`Store`] is one file. It holds address books ([`contacts::Contacts`]) of vCards and calendars
//! ([`calendar::Calendar`]) of iCalendar components, kept byte for byte as they came, and beside
//! them what finding and listing needs.
//!
//! ```
//! use etui::Store;
//! use etui::contacts::{Card, Filter, Paging};
//!
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("personal.etui");
//! let store = Store::open(&path)?;
//! let contacts = store.contacts()?;
//!
//! // Many cards go in in one transaction; when it returns, they survive a power cut.
//! let cards = [
//!     Card::parse("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:1\r\nN:Müller;Anna\r\nFN:Anna Müller\r\nEND:VCARD\r\n")?,
//!     Card::parse("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:2\r\nN:Öst;Åsa\r\nFN:Åsa Öst\r\nEND:VCARD\r\n")?,
//! ];
//! contacts.save_many(&cards)?;
//!
//! // Lists come in the locale's order, page by page, without reading the cards.
//! for entry in contacts.list(Paging::first(50))? {
//!     println!("{} {}", entry.id, entry.summary.name);
//! }
//!
//! // Finding ignores case and accents.
//! assert_eq!(contacts.find(&"name:mul*".parse()?)?.len(), 1);
//! assert_eq!(contacts.find(&Filter::name_suffix("OST"))?.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The rooms: [`store`] opens and closes; [`contacts`] and [`calendar`] are what a store holds;
//! [`record`] saves and reads either, [`search`] filters and queries them, [`watch`] follows a
//! filter, each the same for both; [`import`] reads foreign files, [`text`] folds and sorts. How they stand on each other is drawn in the book
//! (`docs/src/architecture.md`).

pub mod calendar;
pub mod contacts;
mod db;
mod error;
pub mod import;
pub mod media;
pub mod record;
pub mod search;
pub mod store;
mod types;
pub mod watch;

#[doc(hidden)]
pub use db::use_vfs;
pub use db::{Durability, Memory, Recovered, Vfs, recover};
pub use error::{Error, Result};
pub use etui_text as text;
pub use etui_vfs::Counters as VfsCounters;
pub use store::check::{CheckReport, Stats};
pub use store::collections::RemovedCollection;
pub use store::snapshot::Snapshot;
pub use store::{DEFAULT_ADDRESS_BOOK, Options, Store};
pub use types::{
    ChangeKind, Changes, CollectionKind, Condition, ETag, InvalidETag, InvalidSyncToken,
    RecordChange, RecordId, SaveOutcome, SavedRecord, SyncToken,
};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
