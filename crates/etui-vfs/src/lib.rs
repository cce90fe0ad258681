//! A SQLite VFS whose commits cost one block and one flush, by a redo log of the bytes that changed.
//!
//! - [`register`] adds the VFS to SQLite; [`recover`] turns a database that was not closed cleanly
//!   back into an ordinary one;
//! - [`device`] is the interface between the VFS and files.
//!
//! It is for one process that owns its file. Below it is `etui-vfs-base`. Its interface is safe: no
//! argument of a caller makes it access memory that it does not own.

mod counters;
mod deferred_writes;
pub mod device;
mod mutation;
mod page_store;
mod read_ahead;
mod redo;
mod system_platform;
mod vfs;
mod wal_image;

pub use counters::Counters;
pub use etui_vfs_base::Error;
#[cfg(feature = "loadable")]
pub use etui_vfs_base::sqlite_api::use_routines;
#[doc(hidden)]
pub use mutation::Mutation;
#[cfg(feature = "mutations")]
#[doc(hidden)]
pub use vfs::register_broken;
pub use vfs::{
    CommitObserver, Options, Recovered, RedoLogUse, Vfs, last_refusal, recover, register,
};
#[doc(hidden)]
pub use vfs::{register_above, register_with};
