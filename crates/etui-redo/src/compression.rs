//! The payload of a compressed record: u32, the length of the payload of codec.rs, then that as one
//! LZ4 block.

use lz4_flex::block::{
    CompressTable, compress_into, compress_into_with_table, get_maximum_output_size,
};

use crate::codec::LARGEST_PAGE;
use crate::record::RECORD_HEADER;
use crate::{BLOCK, u32_at};

/// A payload that reaches this size, in bytes, is written without compression. The VFS writes a larger
/// one in parts of it.
pub const PART: usize = 1 << 20;

/// The compressor's table, reused for each record.
#[derive(Default)]
pub struct CompressionTable(CompressTable);

impl std::fmt::Debug for CompressionTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").finish_non_exhaustive()
    }
}

/// Returns true if a record of this size is to be compressed. In a small one, one block less is
/// much; a large one is a merge or an import, and mostly text. Between them are rows with many
/// indexes, where saving one of six or seven blocks costs more CPU time than the rest of the
/// commit.
pub fn is_worth_compressing(blocks: usize) -> bool {
    matches!(blocks, 2..=3 | 16..)
}

/// Compresses a payload into `to`, after room for the record's header. Returns true if that takes
/// fewer blocks.
pub fn compress_payload(payload: &[u8], to: &mut Vec<u8>, table: &mut CompressionTable) -> bool {
    let blocks = (RECORD_HEADER + payload.len()).div_ceil(BLOCK);
    let Ok(len) = u32::try_from(payload.len()) else {
        return false;
    };
    let room = RECORD_HEADER + 4 + get_maximum_output_size(payload.len());
    if to.len() < room {
        to.resize(room, 0);
    }
    let Some((head, room)) = to.split_at_mut_checked(RECORD_HEADER + 4) else {
        return false;
    };
    if let Some(to) = head.get_mut(RECORD_HEADER..) {
        to.copy_from_slice(&len.to_le_bytes());
    }
    let compressed = match payload.len() < usize::from(u16::MAX) {
        true => compress_into_with_table(payload, room, &mut table.0),
        // The compressor would keep a larger table from then on.
        false => compress_into(payload, room),
    };
    match compressed {
        Ok(taken) if (RECORD_HEADER + 4 + taken).div_ceil(BLOCK) < blocks => {
            to.truncate(RECORD_HEADER + 4 + taken);
            true
        }
        Ok(_) | Err(_) => false,
    }
}

/// Decompresses a payload; `None`: the bytes are damaged.
pub fn decompress_payload(bytes: &[u8]) -> Option<Vec<u8>> {
    let (len, block) = bytes.split_at_checked(4)?;
    let len = u32_at(len, 0) as usize;
    // It ends with the page that reaches a part: no more memory is taken for damaged bytes.
    if len > PART + 2 * LARGEST_PAGE {
        return None;
    }
    let mut payload = vec![0; len];
    let taken = lz4_flex::block::decompress_into(block, &mut payload).ok()?;
    (taken == len).then_some(payload)
}
