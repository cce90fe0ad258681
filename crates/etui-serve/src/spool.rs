//! [`Spool`]: answers for clients that read more slowly than workers write, in files without a name.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The room for answers that wait for their clients, in the system's directory for temporary files.
pub struct Spool {
    limit: u64,
    used: AtomicU64,
}

impl Spool {
    /// Returns one that holds at most `limit` bytes.
    pub fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicU64::new(0),
        })
    }

    /// Creates a file for an answer. Nobody else can open it, and it is gone when it is dropped.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(self: &Arc<Self>) -> io::Result<SpooledFile> {
        Ok(SpooledFile {
            file: tempfile::tempfile()?,
            written: 0,
            spool: Arc::clone(self),
        })
    }
}

/// A part of an answer in a file: written, rewound, then read.
pub struct SpooledFile {
    file: File,
    written: u64,
    spool: Arc<Spool>,
}

impl SpooledFile {
    /// Ends the writing; reading begins at the start.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn rewind(&mut self) -> io::Result<()> {
        self.file.rewind()
    }

    /// Reads at most `most` bytes; none at the end.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn read_chunk(&mut self, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(most);
        let mut part = (&mut self.file).take(most as u64);
        part.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Write for SpooledFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len() as u64;
        // Counted first: two answers together must not exceed the limit.
        let used = self.spool.used.fetch_add(count, Ordering::Relaxed);
        self.written += count;
        if used.saturating_add(count) > self.spool.limit {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        self.file.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for SpooledFile {
    fn drop(&mut self) {
        self.spool.used.fetch_sub(self.written, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_room_is_shared_and_given_back() {
        let spool = Spool::new(10);
        let mut first = spool.create().unwrap();
        first.write_all(b"123456").unwrap();
        let mut second = spool.create().unwrap();
        let refused = second.write_all(b"12345").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::QuotaExceeded);
        drop(second);
        first.rewind().unwrap();
        assert_eq!(first.read_chunk(4).unwrap(), b"1234");
        assert_eq!(first.read_chunk(4).unwrap(), b"56");
        assert_eq!(first.read_chunk(4).unwrap(), b"");
        drop(first);
        spool.create().unwrap().write_all(b"1234567890").unwrap();
    }
}
