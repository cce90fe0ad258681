//! Counters of a block device: `/sys/class/block/NAME/stat`
//! (Documentation/block/stat.rst of the kernel).

use std::fs;
use std::path::Path;

use crate::error::Error;

/// The measures: name, field of the file, unit of the field. `block_writes` holds empty flush
/// requests too; [`super::trace`] separates them.
const MEASURES: [(&str, usize, u64); 5] = [
    ("block_reads", 0, 1),
    ("block_read_bytes", 2, 512),
    ("block_writes", 4, 1),
    ("block_write_bytes", 6, 512),
    ("block_flushes", 15, 1),
];

/// Counters of a device so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceStat([u64; MEASURES.len()]);

impl DeviceStat {
    /// Reads the counters of a device by the kernel's name, e.g. `loop0`.
    pub fn read(device: &str) -> Result<Self, Error> {
        let path = Path::new("/sys/class/block").join(device).join("stat");
        let text = fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
        Ok(Self(
            MEASURES.map(|(_, at, unit)| number(at).unwrap_or(0) * unit),
        ))
    }

    /// Returns the measures since `before`.
    pub fn since(&self, before: &Self) -> impl Iterator<Item = (&'static str, f64)> {
        let counters = self.0.into_iter().zip(before.0);
        let names = MEASURES.into_iter().map(|(name, ..)| name);
        names.zip(counters.map(|(now, then)| now.saturating_sub(then) as f64))
    }
}
