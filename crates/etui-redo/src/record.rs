//! The header of a record.
//!
//! ```text
//!   0  4 bytes   "eRec", or "eLz4": its payload is compressed
//!   4  u32       number of pages
//!   8  u64       epoch
//!  16  u64       sequence number, from 0 in each epoch
//!  24  u64       predecessor: hash (56) of the record before, or the epoch's seed
//!  32  u64       length of the payload
//!  40  u32       size of the database after it, in pages
//!  44  u32       number of records directly before it that may not have been flushed when it was
//!                written: all earlier ones were, which proves later that a gap is damage
//!  48  u64       hash of the payload
//!  56  u64       hash of the bytes before
//!  64  payload   see codec.rs; the rest of the last block is undefined. Compressed: u32, the length
//!                of the payload of codec.rs, then that as one LZ4 block. Tried for records of 2 or
//!                3 blocks, and of 16 blocks to 1 MiB, and used if it takes fewer blocks
//! ```
//!
//! Numbers are little-endian. A record's hash covers its predecessor's, so a record is valid only
//! in its place: after exactly these records of exactly this epoch.

use crate::{BLOCK, hash, u32_at, u64_at};

const MAGIC: &[u8; 4] = b"eRec";
const COMPRESSED_MAGIC: &[u8; 4] = b"eLz4";

/// Bytes of a record's header.
pub const RECORD_HEADER: usize = 64;

/// The header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader {
    /// The payload is compressed: see [`crate::compression`].
    pub compressed: bool,
    /// The number of pages in the payload.
    pub pages: u32,
    /// The epoch: all records between two checkpoints that emptied the log.
    pub epoch: u64,
    /// The number of records before it in its epoch.
    pub sequence: u64,
    /// The hash of the record before, or the epoch's seed.
    pub predecessor: u64,
    /// The length of the payload, in bytes.
    pub payload: u64,
    /// The size of the database after it, in pages.
    pub database_pages: u32,
    /// The number of records directly before it that may not have been flushed when it was written.
    pub unflushed: u32,
    /// The hash of the payload.
    pub payload_hash: u64,
}

impl RecordHeader {
    /// Returns the header's bytes, and its hash: the predecessor of the next record.
    pub fn encode(&self) -> ([u8; RECORD_HEADER], u64) {
        let mut header = [0; RECORD_HEADER];
        header[..4].copy_from_slice(match self.compressed {
            true => COMPRESSED_MAGIC,
            false => MAGIC,
        });
        header[4..8].copy_from_slice(&self.pages.to_le_bytes());
        header[8..16].copy_from_slice(&self.epoch.to_le_bytes());
        header[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        header[24..32].copy_from_slice(&self.predecessor.to_le_bytes());
        header[32..40].copy_from_slice(&self.payload.to_le_bytes());
        header[40..44].copy_from_slice(&self.database_pages.to_le_bytes());
        header[44..48].copy_from_slice(&self.unflushed.to_le_bytes());
        header[48..56].copy_from_slice(&self.payload_hash.to_le_bytes());
        let own = hash(&header[..56]);
        header[56..].copy_from_slice(&own.to_le_bytes());
        (header, own)
    }

    /// Decodes the header at the start of `bytes`, and returns its hash with it. `None`: these bytes
    /// are no header.
    pub fn decode(bytes: &[u8]) -> Option<(Self, u64)> {
        let bytes = bytes.get(..RECORD_HEADER)?;
        let compressed = bytes.starts_with(COMPRESSED_MAGIC);
        let own = u64_at(bytes, 56);
        let is_record = compressed || bytes.starts_with(MAGIC);
        if !is_record || own != hash(bytes.get(..56)?) {
            return None;
        }
        let header = Self {
            compressed,
            pages: u32_at(bytes, 4),
            epoch: u64_at(bytes, 8),
            sequence: u64_at(bytes, 16),
            predecessor: u64_at(bytes, 24),
            payload: u64_at(bytes, 32),
            database_pages: u32_at(bytes, 40),
            unflushed: u32_at(bytes, 44),
            payload_hash: u64_at(bytes, 48),
        };
        Some((header, own))
    }

    /// Returns the number of records of its epoch that were durable when it was written.
    pub fn flushed(&self) -> u64 {
        self.sequence.saturating_sub(u64::from(self.unflushed))
    }

    /// Returns the size in bytes of the blocks that it takes; `None`: more than any file has.
    pub fn size_of_blocks(&self) -> Option<u64> {
        self.payload
            .checked_add(RECORD_HEADER as u64)?
            .checked_next_multiple_of(BLOCK as u64)
    }
}
