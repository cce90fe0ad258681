//! [`FileContent`]: a file's bytes in chunks that copies share, so that an image of a disk costs
//! little more than its differences.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::rng::mix64;

/// Bytes of a chunk: one page of the kernel.
const CHUNK: usize = 4096;

/// No hash yet. A chunk of zeros hashes to 0, equal to a hole.
const UNKNOWN: u64 = u64::MAX;

struct ContentChunk {
    bytes: [u8; CHUNK],
    hash: AtomicU64,
}

impl Clone for ContentChunk {
    fn clone(&self) -> Self {
        Self {
            bytes: self.bytes,
            hash: AtomicU64::new(UNKNOWN),
        }
    }
}

impl ContentChunk {
    fn hash(&self) -> u64 {
        let known = self.hash.load(Ordering::Relaxed);
        if known != UNKNOWN {
            return known;
        }
        let hash = if self.bytes.iter().all(|byte| *byte == 0) {
            0
        } else {
            hash_of(&self.bytes).clamp(1, UNKNOWN - 1)
        };
        self.hash.store(hash, Ordering::Relaxed);
        hash
    }
}

/// A 64-bit hash of bytes; not for adversaries.
pub fn hash_of(bytes: &[u8]) -> u64 {
    let mut hash = mix64(bytes.len() as u64);
    for word in bytes.chunks(8) {
        let mut eight = [0; 8];
        for (to, from) in eight.iter_mut().zip(word) {
            *to = *from;
        }
        hash = mix64(hash ^ u64::from_le_bytes(eight)).wrapping_add(hash.rotate_left(7));
    }
    hash
}

/// A file's bytes.
#[derive(Clone, Default)]
pub struct FileContent {
    /// `None` is a hole. Holes at the end may be absent. Bytes beyond the length are zero.
    chunks: Vec<Option<Arc<ContentChunk>>>,
    len: u64,
}

impl fmt::Debug for FileContent {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Content({} bytes)", self.len)
    }
}

impl FileContent {
    /// Returns the number of bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if the file has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns a hash of the bytes and their number.
    pub fn hash(&self) -> u64 {
        let mut sum = mix64(self.len ^ 0x5EED);
        for (at, chunk) in self.chunks.iter().enumerate() {
            let hash = chunk.as_ref().map_or(0, |chunk| chunk.hash());
            if hash != 0 {
                sum = sum.wrapping_add(mix64(hash ^ mix64(at as u64)));
            }
        }
        sum
    }

    /// Reads at an offset and returns the number of bytes read.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> usize {
        let there = self.len.saturating_sub(offset).min(bytes.len() as u64) as usize;
        let mut at = offset as usize;
        let mut rest = bytes.get_mut(..there).unwrap_or_default();
        while !rest.is_empty() {
            let within = at % CHUNK;
            let (now, later) = rest.split_at_mut(rest.len().min(CHUNK - within));
            let chunk = self.chunks.get(at / CHUNK).and_then(Option::as_ref);
            match chunk.and_then(|chunk| chunk.bytes.get(within..within + now.len())) {
                Some(from) => now.copy_from_slice(from),
                None => now.fill(0),
            }
            at += now.len();
            rest = later;
        }
        there
    }

    /// Writes at an offset; the file grows if needed.
    pub fn write_at(&mut self, bytes: &[u8], offset: u64) {
        let mut at = offset as usize;
        let mut rest = bytes;
        while !rest.is_empty() {
            let within = at % CHUNK;
            let (now, later) = rest.split_at(rest.len().min(CHUNK - within));
            let chunk = self.chunk(at / CHUNK);
            if let Some(to) = chunk.bytes.get_mut(within..within + now.len()) {
                to.copy_from_slice(now);
            }
            at += now.len();
            rest = later;
        }
        self.len = self.len.max(offset + bytes.len() as u64);
    }

    /// Truncates, or extends with zeros.
    pub fn set_len(&mut self, len: u64) {
        if len < self.len {
            let last = len as usize / CHUNK;
            let within = len as usize % CHUNK;
            self.chunks.truncate(last + usize::from(within > 0));
            if within > 0 && self.chunks.get(last).is_some_and(Option::is_some) {
                let chunk = self.chunk(last);
                chunk.bytes.iter_mut().skip(within).for_each(|b| *b = 0);
            }
        }
        self.len = len;
    }

    /// Returns all bytes in one buffer.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len as usize];
        self.read_at(&mut bytes, 0);
        bytes
    }

    /// Returns a chunk for writing, and clears its hash.
    fn chunk(&mut self, at: usize) -> &mut ContentChunk {
        if self.chunks.len() <= at {
            self.chunks.resize(at + 1, None);
        }
        let chunk = self.chunks[at].get_or_insert_with(|| {
            Arc::new(ContentChunk {
                bytes: [0; CHUNK],
                hash: AtomicU64::new(UNKNOWN),
            })
        });
        let chunk = Arc::make_mut(chunk);
        *chunk.hash.get_mut() = UNKNOWN;
        chunk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_file() {
        let mut content = FileContent::default();
        content.write_at(b"hello", 4094);
        assert_eq!(content.len(), 4099);
        let mut bytes = [9; 8];
        assert_eq!(content.read_at(&mut bytes, 4092), 7);
        assert_eq!(&bytes, b"\0\0hello\x09");
        content.set_len(4096);
        content.set_len(4099);
        assert_eq!(content.read_at(&mut bytes, 4093), 6);
        assert_eq!(&bytes[..6], b"\0he\0\0\0");
    }

    #[test]
    fn copies_share_and_then_differ() {
        let mut one = FileContent::default();
        one.write_at(&[7; 10_000], 0);
        let before = one.hash();
        let mut two = one.clone();
        assert_eq!(two.hash(), before);
        two.write_at(&[8], 5000);
        assert_ne!(two.hash(), before);
        two.write_at(&[7], 5000);
        assert_eq!(two.hash(), before);
        assert_eq!(one.to_vec(), two.to_vec());
    }

    #[test]
    fn a_hole_is_zeros() {
        let (mut hole, mut zeros) = (FileContent::default(), FileContent::default());
        hole.set_len(9000);
        zeros.write_at(&[0; 9000], 0);
        assert_eq!(hole.hash(), zeros.hash());
        assert_eq!(hole.to_vec(), zeros.to_vec());
    }
}
