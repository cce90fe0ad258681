//! Counters of a device: [`DeviceCounters`].

/// Requests that reached the device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes with data, those with forced unit access and writes of zeros included.
    pub writes: u64,
    /// Bytes written, zeros included.
    pub write_bytes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Writes with forced unit access.
    pub fua_writes: u64,
    /// Writes of zeros, which carry no data.
    pub zero_writes: u64,
    /// Ranges trimmed.
    pub trims: u64,
    /// Bytes trimmed.
    pub trim_bytes: u64,
}
