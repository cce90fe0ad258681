//! [`RowFile`]: an answer by descriptor, a sealed file in memory.
//!
//! ```text
//! file  := rows:u64 row*                     native byte order, nothing aligned
//! row   := id:u64 count:u32 value[count]
//! value := length:u32 bytes[length]
//! ```
//!
//! The client gets the descriptor at offset 0, so that it can read the file or map it. Seals forbid
//! every later change: a mapping is safe to read.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

/// Bytes that are collected before they are written.
const BUFFER: usize = 256 << 10;

/// Returns bytes as a sealed file in memory, at offset 0.
pub(crate) fn sealed_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = new_file()?;
    file.write_all(bytes)?;
    seal(file)
}

fn new_file() -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    Ok(File::from(memfd_create("etui", flags)?))
}

/// Forbids every later change of a file, and returns it at offset 0.
fn seal(mut file: File) -> io::Result<OwnedFd> {
    // The offset is shared with the client's descriptor.
    file.seek(SeekFrom::Start(0))?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

/// The rows of an answer as they are written.
pub(crate) struct RowFile {
    file: File,
    buffer: Vec<u8>,
    rows: u64,
}

impl RowFile {
    /// Creates an empty file.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            file: new_file()?,
            // The number of rows is written at the end.
            buffer: vec![0; 8],
            rows: 0,
        })
    }

    /// Appends a row.
    pub(crate) fn push_row(
        &mut self,
        id: u64,
        values: impl ExactSizeIterator<Item = impl AsRef<[u8]>>,
    ) -> io::Result<()> {
        let count = |n: usize| u32::try_from(n).map_err(|_| io::ErrorKind::FileTooLarge);
        self.rows += 1;
        self.buffer.extend_from_slice(&id.to_ne_bytes());
        self.buffer
            .extend_from_slice(&count(values.len())?.to_ne_bytes());
        for value in values {
            let value = value.as_ref();
            self.buffer
                .extend_from_slice(&count(value.len())?.to_ne_bytes());
            self.buffer.extend_from_slice(value);
        }
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Seals the file; returns it and the number of its rows.
    pub(crate) fn finish(mut self) -> io::Result<(OwnedFd, u64)> {
        self.flush()?;
        self.file.write_all_at(&self.rows.to_ne_bytes(), 0)?;
        Ok((seal(self.file)?, self.rows))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Read;

    #[test]
    fn the_file_is_as_drawn_and_sealed() {
        let mut rows = RowFile::new().unwrap();
        rows.push_row(7, ["ab", ""].iter()).unwrap();
        rows.push_row(8, std::iter::empty::<&str>()).unwrap();
        let (fd, count) = rows.finish().unwrap();
        assert_eq!(count, 2);
        let mut file = File::from(fd);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        let mut expected = Vec::new();
        expected.extend(2u64.to_ne_bytes());
        expected.extend(7u64.to_ne_bytes());
        expected.extend(2u32.to_ne_bytes());
        expected.extend(2u32.to_ne_bytes());
        expected.extend(b"ab");
        expected.extend(0u32.to_ne_bytes());
        expected.extend(8u64.to_ne_bytes());
        expected.extend(0u32.to_ne_bytes());
        assert_eq!(bytes, expected);
        assert!(file.write_all(b"x").is_err());
        assert!(file.set_len(0).is_err());
    }
}
