//! What stands between SQLite and the kernel, and other ways to a file's bytes.
//!
//! - [`shim`]: a VFS above SQLite's own that counts, keeps a log, and cures what studies found;
//! - [`map`]: mappings of a file that can be measured without handing out references;
//! - `ring` (a feature): reads and writes through `io_uring`, with interrupts, spinning or polled;
//! - [`extents`]: where a file lies on its device;
//! - [`memory_statistics`]: SQLite's own count of its memory, which its soft heap limit needs;
//! - [`give_back`]: free memory back to the system.
//!
//! This is the only crate of the workspace with unsafe code. Its interface is safe: nothing
//! that a caller can pass makes it touch memory that is not its own.

mod error;
pub mod extents;
pub mod map;
mod memory;
mod ranges;
#[cfg(feature = "ring")]
pub mod ring;
pub mod shim;

pub use error::Error;
pub use memory::{give_back, memory_statistics, memory_used};
