//! The D-Bus interface `org.etui.Store1`: a store for programs in any language.
//!
//! [`serve`] owns the bus name [`BUS_NAME`] and answers over the library's public calls. The book
//! (`docs/src/dbus.md`) has the methods, the format of descriptors and examples.
//!
//! ```text
//! /org/etui/Store1                  org.etui.Store1, org.freedesktop.DBus.ObjectManager
//! /org/etui/Store1/collection/ID    org.etui.Collection1 and org.etui.AddressBook1 or .Calendar1
//! /org/etui/Store1/media            org.etui.Media1, org.etui.Playlists1
//! /org/etui/Store1/view             org.freedesktop.DBus.ObjectManager of the caller's views
//! /org/etui/Store1/view/N           org.etui.View1       \ of the client that opened it;
//! /org/etui/ImportJob1/N            org.etui.ImportJob1  / dropped when it leaves the bus
//! ```
//!
//! | module | |
//! |---|---|
//! | `serve` | the process: name, clients, idle exit |
//! | `service` | state shared by all objects; guards and limits of calls |
//! | `registry`, `object_manager`, `paths` | which objects a connection has |
//! | `store_object`, `collection_object`, `book_object`, `calendar_object`, `media_object` | the interfaces |
//! | `collection`, `typed_collection` | the calls on a collection, whatever its kind |
//! | `view`, `view_thread`, `view_object`, `view_opening` | views |
//! | `import_job` | imports |
//! | `direct` | private connections |
//! | `etui-bus` | guards and limits of calls |
//! | `rows`, `descriptor`, `file_uri`, `options`, [`error`] | encoding on the wire |

#![deny(missing_docs)]

pub mod error;

mod book_object;
mod calendar_object;
mod collection;
mod collection_object;
mod descriptor;
mod direct;
mod file_uri;
mod import_job;
mod media_object;
mod object_manager;
mod options;
mod paths;
mod playlists_object;
mod registry;
mod rows;
mod serve;
mod service;
mod store_object;
mod typed_collection;
mod view;
mod view_object;
mod view_opening;
mod view_thread;

pub use paths::STORE_PATH;
pub use serve::{BUS_NAME, ServeError, ServeOptions, serve};
