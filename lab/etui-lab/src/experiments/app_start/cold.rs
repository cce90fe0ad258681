//! Out of memory, and back from the device.

use std::fs::{self, File};
use std::path::Path;

use rustix::fs::Advice;

use crate::Error;

/// Puts a file, which must be written back already, out of the page cache.
pub(super) fn evict_file(path: &Path) -> Result<(), Error> {
    let file = File::open(path).map_err(|e| Error::file(path, e))?;
    rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).map_err(|e| Error::file(path, e))
}

/// Whether more than a file can be put out of the page cache.
pub(super) fn can_evict_all() -> bool {
    rustix::process::geteuid().is_root()
}

/// Puts a file out of the page cache; where that may be, all other files as well, including the
/// image of a loop device and the programs' own.
pub(super) fn evict_cache(path: &Path) -> Result<(), Error> {
    evict_file(path)?;
    if can_evict_all() {
        // Clean pages only, nothing is lost. Some containers forbid it; pages not evicted
        // shows in the bytes read.
        let _ = fs::write("/proc/sys/vm/drop_caches", "3\n");
    }
    Ok(())
}

/// Brings a file into the page cache.
pub(super) fn warm_cache(path: &Path) -> Result<(), Error> {
    let mut file = File::open(path).map_err(|e| Error::file(path, e))?;
    std::io::copy(&mut file, &mut std::io::sink()).map_err(|e| Error::file(path, e))?;
    Ok(())
}

/// Returns the bytes that this process and its reaped children read from devices so far
/// (proc_pid_io(5)).
pub(super) fn device_bytes() -> f64 {
    fs::read_to_string("/proc/self/io")
        .ok()
        .and_then(|text| {
            text.lines()
                .find_map(|line| line.strip_prefix("read_bytes:"))
                .and_then(|number| number.trim().parse::<u64>().ok())
        })
        .unwrap_or(0) as f64
}
