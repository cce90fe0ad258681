//! The recording disk of the crash laboratory: in memory, records every operation, and can lose
//! power at any moment.
//!
//! - [`Disk`] is a [`Platform`](etui_vfs::device::Platform): files, names, locks, failures and
//!   slow flushes. Its operations form its [`History`].
//! - [`crash`] makes the disks ([`Image`]) that a power cut can leave from a history.
//! - [`Rack`] holds many disks, so that one registered VFS serves all of them.
//!
//! [`pending`] defines which data a power cut can destroy.

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
