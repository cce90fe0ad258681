//! The redo log, which makes a commit durable with one write and one flush.
//!
//! - [`codec`]: a transaction as changed byte ranges; pure functions;
//! - [`compression`]: of small and of large records;
//! - [`log`]: the log's file: header, records, growth;
//! - [`recover`]: replays a log over its database;

pub(crate) mod codec;
mod compression;
pub(crate) mod log;
pub(crate) mod recover;

use std::fmt;
use std::hash::Hasher;

use twox_hash::XxHash3_64;

/// The unit in which the log is written.
pub(crate) const BLOCK: usize = 4096;

/// Returns the hash used in all formats: XXH3 with 64 bits. It detects torn and lost writes, not
/// forgeries.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// The hash of [`hash`], for bytes in several parts.
#[derive(Clone, Default)]
pub(crate) struct StreamHash(XxHash3_64);

impl StreamHash {
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    pub fn hash(&self) -> u64 {
        self.0.finish()
    }
}

impl fmt::Debug for StreamHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hashing").finish_non_exhaustive()
    }
}

/// Returns the `u32` at an offset; the bytes must exist.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    if let Some(from) = bytes.get(at..at + 4) {
        number.copy_from_slice(from);
    }
    u32::from_le_bytes(number)
}

/// Returns the `u64` at an offset; the bytes must exist.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    if let Some(from) = bytes.get(at..at + 8) {
        number.copy_from_slice(from);
    }
    u64::from_le_bytes(number)
}

#[cfg(test)]
pub(crate) mod tests;
