//! Evolution Data Server's D-Bus interfaces over an etui store.
//!
//! [`server::serve`] owns the bus names `org.gnome.evolution.dataserver.AddressBook10` and
//! `...Calendar8` and answers as the stock server does, so that every program that uses its client
//! libraries works on the store. Behaviour was read from and compared with version 3.46.4.
//!
//! | module | |
//! |---|---|
//! | [`server`] | the process: names, factories, opened objects, idle exit |
//! | [`sources`] | the registry of sources, `org.gnome.evolution.dataserver.Sources5` |
//! | [`contacts`] | address books: queries, views, cursors |
//! | [`calendar`] | calendars, task lists, memo lists |
//! | `collections` | the store's collections for sources |
//! | `stock` | the stock server's backends, for sources that are not in the store |
//! | [`switch`] | switching the desktop to the store and back |
//! | [`sexp`] | the notation of both query languages |
//! | [`error`], [`gvariant`] | what travels on the wire |

#![deny(missing_docs)]

pub mod calendar;
pub mod contacts;
pub mod error;
pub mod gvariant;
pub mod server;
pub mod sexp;
pub mod sources;
pub mod switch;

mod collections;
mod stock;
