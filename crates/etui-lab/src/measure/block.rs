//! Counters of a block device: `/sys/class/block/NAME/stat`
//! (Documentation/block/stat.rst of the kernel).

use std::fs;
use std::path::PathBuf;

use crate::error::Error;

/// A block device by the kernel's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDevice {
    name: String,
}

/// Counters of a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceStat {
    reads: u64,
    read_sectors: u64,
    writes: u64,
    write_sectors: u64,
    flushes: u64,
}

impl BlockDevice {
    /// A device, e.g. `loop0`.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
        }
    }

    /// Reads the counters.
    pub fn stat(&self) -> Result<DeviceStat, Error> {
        let path = PathBuf::from("/sys/class/block")
            .join(&self.name)
            .join("stat");
        let text = fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
        let fields: Vec<u64> = text
            .split_ascii_whitespace()
            .filter_map(|field| field.parse().ok())
            .collect();
        let number = |at: usize| fields.get(at).copied().unwrap_or(0);
        Ok(DeviceStat {
            reads: number(0),
            read_sectors: number(2),
            writes: number(4),
            write_sectors: number(6),
            flushes: number(15),
        })
    }
}

impl DeviceStat {
    /// Returns the measures since `before`. `block_writes` holds empty flush
    /// requests too; [`super::trace`] separates them.
    pub fn since(&self, before: &Self) -> Vec<(&'static str, f64)> {
        let gone = |now: u64, then: u64| now.saturating_sub(then) as f64;
        vec![
            ("block_reads", gone(self.reads, before.reads)),
            (
                "block_read_bytes",
                gone(self.read_sectors, before.read_sectors) * 512.0,
            ),
            ("block_writes", gone(self.writes, before.writes)),
            (
                "block_write_bytes",
                gone(self.write_sectors, before.write_sectors) * 512.0,
            ),
            ("block_flushes", gone(self.flushes, before.flushes)),
        ]
    }
}
