//! The laboratory's own block device: an NBD server ([`NbdServer`]) that delays requests by a model of
//! a real device ([`DeviceModel`]) and records every write and flush ([`DeviceLog`]).
//!
//! A virtual machine uses it as a disk, without root:
//!
//! ```text
//! -blockdev driver=nbd,node-name=disk,server.type=unix,server.path=SOCKET
//! -device virtio-blk-pci,drive=disk
//! ```
//!
//! The contents are a sparse file ([`FileDisk`]), or writes over another disk, kept in memory
//! ([`OverlayDisk`]). Neither is flushed to the host's storage: durability is the model's matter.

mod connection;
mod disk;
mod log;
mod model;
mod protocol;
mod server;

#[cfg(test)]
mod tests;

pub use disk::{BlockDisk, FileDisk, OverlayDisk, SECTOR_BYTES};
pub use log::{DeviceEvent, DeviceLog};
pub use model::{DeviceModel, RequestCounts};
pub use server::NbdServer;
