//! Record of a device's writes and flushes: [`DeviceLog`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A request that changed the device or made it durable, or a mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeviceEvent {
    /// Sectors were written.
    Write {
        /// Where, in bytes.
        offset: u64,
        data: Arc<[u8]>,
        /// Forced unit access: durable when the request returned.
        force_unit_access: bool,
    },
    /// Sectors were made zeros, or trimmed, after which they read as zeros.
    Zero {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes.
        length: u64,
        /// Forced unit access: durable when the request returned.
        force_unit_access: bool,
    },
    /// All writes before are durable.
    Flush,
    /// Set by the laboratory, e.g. for an acknowledged record.
    Mark(Arc<[u8]>),
}

/// Events in the order in which the device did them.
pub type DeviceLog = Vec<DeviceEvent>;
