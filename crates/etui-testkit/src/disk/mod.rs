//! The recording disk of the crash laboratory: in memory, records every operation, and can lose
//! power at any moment.
//!
//! - [`RecordingDisk`] is a [`Platform`](etui_vfs::device::Platform): files, names, locks, failures and
//!   slow flushes. Its operations form its [`DiskHistory`].
//! - [`crash`] makes the disks ([`CrashImage`]) that a power cut can leave from a history.
//! - [`MountedDisks`] holds many disks, so that one registered VFS serves all of them.
//!
//! [`pending`] defines which data a power cut can destroy.

mod content;
mod crash;
mod fault;
mod history;
mod mounted;
pub mod pending;
mod platform;
#[cfg(test)]
mod tests;

pub use content::{FileContent, hash_of};
pub use crash::{CrashImage, CrashPlan, crash};
pub use fault::{FaultKind, InjectedFailure};
pub use history::{DiskEvent, DiskFiles, DiskHistory, FileId};
pub use mounted::{DiskMount, MountedDisks};
pub use platform::RecordingDisk;
