//! A SQLite VFS whose commits cost one block and one flush, by a redo log of the bytes that changed.
//!
//! - [`register`] adds the VFS to SQLite; [`recover`] turns a database that was not closed cleanly
//!   back into an ordinary one;
//! - [`device`] is the interface between the VFS and files;
//! - [`release_free_memory`] returns free memory to the system.
//!
//! Of the product's crates, this one alone contains unsafe code. Its interface is safe: no argument
//! of a caller makes it access memory that it does not own.

mod base_vfs;
mod counters;
mod deferred_writes;
pub mod device;
mod error;
mod file_identity;
mod first_pages;
mod fork;
mod memory;
mod mutation;
mod ofd_lock;
mod page_diff;
mod page_store;
mod read_ahead;
mod redo;
mod sqlite_api;
mod system_platform;
mod vfs;
mod wal_image;

pub use counters::Counters;
pub use error::Error;
pub use memory::release_free_memory;
#[doc(hidden)]
pub use mutation::Mutation;
#[cfg(feature = "loadable")]
pub use sqlite_api::use_routines;
#[cfg(feature = "mutations")]
#[doc(hidden)]
pub use vfs::register_broken;
pub use vfs::{Options, Recovered, RedoLogUse, Vfs, last_refusal, recover, register};
#[doc(hidden)]
pub use vfs::{register_above, register_with};
