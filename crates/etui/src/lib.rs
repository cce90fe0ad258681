//! Personal data kept on the person's own device, in one file: as fast and as durable as the
//! hardware allows.
//!
//! A [`Store`] is one file. It holds address books ([`contacts::Contacts`]) of vCards and calendars
//! ([`calendar::Calendar`]) of iCalendar components, kept byte for byte as they came, and beside
//! them what finding and listing needs.
//!
//! ```
//! use etui::Store;
//! use etui::contacts::{Card, Field, MatchMode, Filter, Paging};
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
//! assert_eq!(contacts.find(&Filter::text(Field::Name, MatchMode::Suffix, "OST"))?.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The verbs
//!
//! They are the same for contacts, calendar entries and media: methods of a
//! [`Collection`](record::Collection), the handle to an address book or a calendar.
//!
//! | to | call |
//! |---|---|
//! | open | [`Store::open`], [`Store::open_with`]; then [`Store::contacts`], [`Store::calendar`], [`Store::media`] |
//! | save | [`save`](record::Collection::save), [`save_many`](record::Collection::save_many), under a condition by [`Save`](record::Save); foreign files by [`import`](record::Collection::import) |
//! | find | [`find`](record::Reader::find) by a [`Filter`](search::filter::Filter), [`query`](record::Reader::query) with order, page and columns; as a person types: [`Query::ranked`](search::query::Query::ranked), [`correct`](record::Reader::correct) |
//! | list | [`list`](record::Reader::list) by pages, [`count`](record::Reader::count), [`position`](record::Reader::position) |
//! | read | [`get`](record::Reader::get), [`all`](record::Reader::all); several reads of one state: [`Store::snapshot`] |
//! | remove, undo | [`remove`](record::Collection::remove), [`restore`](record::Collection::restore) |
//! | watch | [`view`](record::Collection::view): the changes of a filter, as they happen |
//! | sync | [`Store::token`], [`changes_since`](record::Reader::changes_since): the changes since a state |
//! | see a week | [`between`](record::Reader::between), [`next_occurrence`](record::Reader::next_occurrence), [`free_busy`](record::Reader::free_busy), [`alarms`](record::Reader::alarms) |
//! | ask in SQL | [`Store::sql`] |
//!
//! ```
//! use etui::{Changes, Store};
//! use etui::contacts::{Card, Query};
//!
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("personal.etui");
//! let store = Store::open(&path)?;
//! let contacts = store.contacts()?;
//! let token = store.token()?;                                // now
//! let mut view = contacts.view(&"note:tea".parse()?)?;       // from now on
//!
//! let mut card = Card::new("Bo Müller")?;                    // save
//! card.set("NOTE", "likes tea")?;
//! contacts.save(&card)?;
//!
//! let found = contacts.query(&Query::ranked("tea".parse()?))?;       // find
//! assert_eq!(found.iter().next().map(|row| row.name()), Some("Bo Müller"));
//!
//! assert!(view.wait(None)?.is_some());                       // watch
//!
//! match contacts.changes_since(&token)? {                    // sync
//!     Changes::Since(changes) => assert_eq!(changes.len(), 1),
//!     Changes::Resynchronise => { /* read all */ }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Handles, structs and threads
//!
//! A [`Store`] may be used by many threads at once, in an `Arc` or by reference. A handle shares it: it lives
//! in one struct with the store, is cloned and moves to a thread, as do the views and date books on it.
//! [`Store::close`] closes it for all of them.
//!
//! ```
//! use etui::contacts::{Contacts, View};
//! use etui::Store;
//!
//! struct App {
//!     view: View,
//!     contacts: Contacts,
//!     store: Store,
//! }
//!
//! # fn open(path: &std::path::Path) -> Result<App, Box<dyn std::error::Error>> {
//! let store = Store::open(path)?;
//! let contacts = store.contacts()?;
//! let view = contacts.view(&"*".parse()?)?;
//! let app = App { view, contacts, store };
//! # Ok(app)
//! # }
//! # let dir = tempfile::tempdir()?;
//! # let app = open(&dir.path().join("personal.etui"))?;
//! std::thread::spawn(move || app.contacts.count()).join().expect("it does not panic")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/` has whole programs: `contacts`, `week`, `live_view` and `sql`
//! (`cargo run --example contacts`).
//!
//! # Modules
//!
//! [`store`] opens and closes; [`contacts`], [`calendar`] and [`media`] are the kinds of records;
//! [`datebook`] is a calendar as a numbered database;
//! [`sync`] has what both sides of a synchronisation agreed on; [`record`] saves and reads them, [`search`] filters and queries, [`watch`] follows a filter, each in
//! the same way for all; [`import`] reads foreign files, [`text`] folds and sorts. The book has their
//! layers (`docs/src/architecture.md`).

pub mod calendar;
pub mod contacts;
pub mod datebook;
mod db;
mod error;
pub mod import;
#[cfg(feature = "media")]
pub mod media;
pub mod record;
pub mod resource;
mod resource_tag;
pub mod search;
pub mod store;
pub mod sync;
mod types;
pub mod watch;

pub use db::schema::VERSION as SCHEMA_VERSION;
#[doc(hidden)]
pub use db::use_base;
pub use db::{Durability, Memory, TellWaiting, Vfs, Waiting};
#[cfg(feature = "redo-log")]
pub use db::{Recovered, recover, use_vfs};
pub use error::{Error, Result, SqliteError};
pub use etui_text as text;
#[cfg(feature = "redo-log")]
pub use etui_vfs;
pub use etui_vfs_base::has_ofd_locks;
pub use record::steps::{Step, StepLabel, label_step, set_default_actor};
pub use store::check::{CheckReport, Stats};
pub use store::collections::RemovedCollection;
pub use store::purge::{PurgeReport, PurgeScope};
pub use store::snapshot::Snapshot;
pub use store::undo::{UndoEffect, UndoReport, UndoneCollection, UndoneRecord};
pub use store::{DEFAULT_ADDRESS_BOOK, Options, Store};
pub use types::{
    ChangeKind, Changes, CollectionId, CollectionKind, Condition, DeviceId, ETag, InvalidETag,
    InvalidSyncToken, RecordChange, RecordId, RefusedId, SaveOutcome, SavedRecord, SyncToken,
};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../README.md")]
mod readme {}
