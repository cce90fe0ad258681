//! The records of the redo log as bytes: a transaction of SQLite as the byte ranges of pages that it
//! changed. No I/O.
//!
//! - [`codec`]: the payload of a record: [`PageEncoder`](codec::PageEncoder) writes pages,
//!   [`PageHeader`](codec::PageHeader) reads them;
//! - [`compression`]: of small and of large payloads;
//! - [`record`]: a record's header, which chains it to the one before;
//! - [`recovery`]: the final images of pages after a number of records.
//!
//! `etui-vfs` writes these records to its log and replays them. A program that keeps records elsewhere
//! receives them from the VFS's observer of commits, and applies them by [`recovery::recover`].

pub mod codec;
pub mod compression;
mod page_diff;
pub mod record;
pub mod recovery;

use std::fmt;
use std::hash::Hasher;

use twox_hash::XxHash3_64;

/// The unit in which records are written, in bytes.
pub const BLOCK: usize = 4096;

/// Returns the hash used in all formats: XXH3 with 64 bits. It detects torn and lost writes, not
/// forgeries.
pub fn hash(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// The hash of [`hash()`], for bytes in several parts.
#[derive(Clone, Default)]
pub struct StreamHash(XxHash3_64);

impl StreamHash {
    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// Returns the hash of the bytes so far.
    pub fn hash(&self) -> u64 {
        self.0.finish()
    }
}

impl fmt::Debug for StreamHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamHash").finish_non_exhaustive()
    }
}

/// Returns the little-endian `u32` at an offset; 0 where there are no four bytes.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let number = bytes.get(at..).and_then(<[u8]>::first_chunk);
    number.copied().map_or(0, u32::from_le_bytes)
}

/// Returns the little-endian `u64` at an offset; 0 where there are no eight bytes.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let number = bytes.get(at..).and_then(<[u8]>::first_chunk);
    number.copied().map_or(0, u64::from_le_bytes)
}
