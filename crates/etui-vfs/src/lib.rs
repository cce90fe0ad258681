//! What stands between SQLite and the kernel, and other ways to a file's bytes.
//!
//! - [`register`]: a VFS whose commits cost one block and one flush, by a redo log of what
//!   changed; [`recover`] makes a database that a program left with one an ordinary one again;
//! - [`device`]: the seam between that and files;
//! - [`shim`]: a VFS above SQLite's own that counts, keeps a log, and cures what studies found;
//! - [`map`]: mappings of a file that can be measured without handing out references;
//! - `ring` (a feature): reads and writes through `io_uring`, with interrupts, spinning or polled;
//! - [`extents`]: where a file lies on its device;
//! - [`memory_statistics`]: SQLite's own count of its memory, which its soft heap limit needs;
//! - [`give_back`]: free memory back to the system.
//!
//! This is the only crate of the workspace with unsafe code. Its interface is safe: nothing
//! that a caller can pass makes it touch memory that is not its own.

mod api;
mod counters;
pub mod device;
mod error;
#[cfg(feature = "bundled")]
pub mod extents;
mod fork;
mod host;
#[cfg(feature = "bundled")]
pub mod map;
#[cfg(feature = "bundled")]
mod memory;
mod mutation;
mod pending;
#[cfg(feature = "bundled")]
mod ranges;
mod redo;
#[cfg(feature = "ring")]
pub mod ring;
#[cfg(feature = "bundled")]
pub mod shim;
mod store;
mod system;
mod vfs;
mod wal_image;
mod wide;
mod windows;

#[cfg(feature = "loadable")]
pub use api::use_routines;
pub use counters::Counters;
pub use error::Error;
#[cfg(feature = "bundled")]
pub use memory::{give_back, memory_statistics, memory_used};
#[doc(hidden)]
pub use mutation::Mutation;
#[cfg(feature = "mutations")]
#[doc(hidden)]
pub use vfs::register_broken;
#[doc(hidden)]
pub use vfs::register_with;
pub use vfs::{Options, Recovered, Vfs, last_refusal, recover, register};
