//! The redo log: what makes a commit durable by one write and one flush.
//!
//! - [`codec`]: a transaction as ranges of bytes that changed, pure;
//! - [`log`]: the log's file: its header, its records, how it grows;
//! - [`recover`]: bringing a database's file to where its log is;
//! - [`guard`]: the mark in the database's header that keeps others out meanwhile.

pub(crate) mod codec;
pub(crate) mod guard;
pub(crate) mod log;
pub(crate) mod recover;

use std::fmt;
use std::hash::Hasher;

use twox_hash::XxHash3_64;

/// The unit that the log is written in.
pub(crate) const BLOCK: usize = 4096;

/// The hash of all that is written: XXH3 with 64 bits. It finds what a torn or lost write left,
/// not what somebody forged.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// The same hash, of bytes that come in parts.
#[derive(Clone, Default)]
pub(crate) struct Hashing(XxHash3_64);

impl Hashing {
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    pub fn hash(&self) -> u64 {
        self.0.finish()
    }
}

impl fmt::Debug for Hashing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hashing").finish_non_exhaustive()
    }
}

/// Four bytes of a format, which are there.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    if let Some(from) = bytes.get(at..at + 4) {
        number.copy_from_slice(from);
    }
    u32::from_le_bytes(number)
}

/// Eight bytes of a format, which are there.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    if let Some(from) = bytes.get(at..at + 8) {
        number.copy_from_slice(from);
    }
    u64::from_le_bytes(number)
}

#[cfg(test)]
pub(crate) mod tests;
