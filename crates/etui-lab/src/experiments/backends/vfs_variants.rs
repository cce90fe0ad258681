//! Arms whose SQLite goes through the VFS `etui`, and its counters of their saves.

use std::time::Duration;

use etui_vfs::Vfs;

use super::StoreBackend;
use crate::error::Error;
use crate::{ArmSettings, Recorder, redo, stats};

/// Bytes in a block of the redo log.
const BLOCK: f64 = 4096.0;

/// The VFS of an arm of plain SQLite that asks for it.
pub fn register_variant(settings: &ArmSettings) -> Result<Option<Vfs>, Error> {
    match settings.is("redo") {
        true => Ok(Some(redo::register_vfs(
            redo::vfs_options(),
            Duration::ZERO,
        )?)),
        false => Ok(None),
    }
}

/// Saves records singly; records the VFS's counters of all, and the log bytes of one save.
pub fn count_saves(
    recorder: &mut Recorder,
    vfs: &Vfs,
    backends: &mut dyn StoreBackend,
    from: u64,
    count: u64,
) -> Result<(), Error> {
    let before = vfs.counters();
    let mut blocks = Vec::new();
    for at in from..from + count {
        let earlier = vfs.counters();
        backends.save_each(at, 1)?;
        blocks.push(vfs.counters().since(&earlier).blocks as f64 * BLOCK);
    }
    redo::record_counters(recorder, "saves", &vfs.counters().since(&before));
    if let Some(median) = stats::median(&blocks) {
        recorder.record("save_one/vfs_median_block_bytes", median);
    }
    Ok(())
}
