//! The crash laboratory's disk: in memory, remembers everything, and can be cut from its power
//! at any moment.
//!
//! - [`Disk`] is a [`Platform`](etui_vfs::device::Platform): files, names, locks, failures and
//!   slow flushes. All that is done to it becomes its [`History`].
//! - [`crash`] makes of a history the disks ([`Image`]) that a power cut can leave behind.
//! - [`Rack`] holds many disks, so that a VFS is registered once for all of them.
//!
//! What a power cut can take away is told in [`pending`].

mod content;
mod crash;
mod fault;
mod history;
pub mod pending;
mod platform;
mod rack;
#[cfg(test)]
mod tests;

pub use content::{Content, hash_of};
pub use crash::{Image, Plan, crash};
pub use fault::{Failure, Fault};
pub use history::{Event, FileId, Files, History};
pub use platform::Disk;
pub use rack::{Mount, Rack};
