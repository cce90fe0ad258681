//! [`MappedFile`]: a file mapped into memory, for measurements.
//!
//! The type returns no references into the mapping. Another process may change or truncate the
//! file at any moment, which no Rust slice allows; the methods use volatile accesses instead.
//! **If the file is truncated below the mapping, an access to the lost part kills the process
//! with SIGBUS.** Map only files that no process truncates.

use std::fs::File;
use std::ops::Range;
use std::os::raw::c_void;
use std::ptr;

use rustix::mm::{self, MapFlags, ProtFlags};

use crate::Error;

/// The page size to which the ranges of advice are rounded.
const PAGE: usize = 4096;

/// The kind of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapKind {
    /// Shared and read-only; a page is loaded at its first access.
    Shared,
    /// Shared and read-only; all pages are loaded at once (`MAP_POPULATE`).
    SharedPopulated,
    /// Private and writable; a page is copied at its first write.
    Private,
    /// Private and writable; all pages are copied at once (`MADV_POPULATE_WRITE`).
    PrivatePopulatedForWriting,
}

/// Advice to the kernel about a range of a mapping (`madvise(2)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapAdvice {
    /// `MADV_WILLNEED`: read the range ahead.
    WillNeed,
    /// `MADV_SEQUENTIAL`: accesses are in order.
    Sequential,
    /// `MADV_RANDOM`: accesses are in random order; do not read ahead.
    Random,
    /// `MADV_POPULATE_READ`: load all pages now.
    PopulateRead,
    /// `MADV_POPULATE_WRITE`: copy all pages now. Private mappings only.
    PopulateWrite,
}

/// A file mapped into memory.
#[derive(Debug)]
pub struct MappedFile {
    begin: *mut u8,
    length: usize,
    writable: bool,
}

// SAFETY: the mapping belongs to the value alone and can be unmapped from any thread.
unsafe impl Send for MappedFile {}

impl MappedFile {
    /// Maps the first `length` bytes of a file.
    ///
    /// # Errors
    ///
    /// The file is shorter, `length` is 0, or the kernel refused.
    pub fn open(file: &File, length: usize, kind: MapKind) -> Result<Self, Error> {
        let size = file
            .metadata()
            .map_err(|e| Error::io("reading the size of the file to map", e))?
            .len();
        if length == 0 || length as u64 > size {
            return Err(Error::Usage(format!(
                "cannot map {length} bytes of a file of {size}"
            )));
        }
        let read_write = ProtFlags::READ | ProtFlags::WRITE;
        let (protection, flags) = match kind {
            MapKind::Shared => (ProtFlags::READ, MapFlags::SHARED),
            MapKind::SharedPopulated => (ProtFlags::READ, MapFlags::SHARED | MapFlags::POPULATE),
            MapKind::Private | MapKind::PrivatePopulatedForWriting => {
                (read_write, MapFlags::PRIVATE)
            }
        };
        // SAFETY: the kernel chooses an unmapped address range.
        let begin = unsafe { mm::mmap(ptr::null_mut(), length, protection, flags, file, 0) }
            .map_err(|e| Error::io("mmap", e))?;
        let mapping = Self {
            begin: begin.cast(),
            length,
            writable: protection.contains(ProtFlags::WRITE),
        };
        if kind == MapKind::PrivatePopulatedForWriting {
            mapping.advise_kernel(0..length, mm::Advice::LinuxPopulateWrite)?;
        }
        Ok(mapping)
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns true if the length is 0, which never happens.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Gives the kernel advice about a range, extended to whole pages.
    ///
    /// # Errors
    ///
    /// The range is outside the mapping, or the kernel refused.
    pub fn advise(&self, range: Range<usize>, advice: MapAdvice) -> Result<(), Error> {
        let advice = match advice {
            MapAdvice::WillNeed => mm::Advice::WillNeed,
            MapAdvice::Sequential => mm::Advice::Sequential,
            MapAdvice::Random => mm::Advice::Random,
            MapAdvice::PopulateRead => mm::Advice::LinuxPopulateRead,
            MapAdvice::PopulateWrite if !self.writable => {
                return Err(Error::Usage("a shared mapping is read-only".to_owned()));
            }
            MapAdvice::PopulateWrite => mm::Advice::LinuxPopulateWrite,
        };
        self.advise_kernel(range, advice)
    }

    fn advise_kernel(&self, range: Range<usize>, advice: mm::Advice) -> Result<(), Error> {
        self.check_range(&range)?;
        let begin = range.start - range.start % PAGE;
        let length = range.end - begin;
        // SAFETY: the range is inside the mapping, and none of these kinds of advice discards
        // contents.
        let at: *mut c_void = unsafe { self.begin.add(begin) }.cast();
        // SAFETY: as above.
        unsafe { mm::madvise(at, length, advice) }.map_err(|error| {
            if error == rustix::io::Errno::INVAL {
                let what = "this advice about a mapping";
                Error::unsupported(
                    what,
                    "the kernel does not support it (Linux 5.14 supports all)",
                )
            } else {
                Error::io("madvise", error)
            }
        })
    }

    /// Returns the sum of the 8-byte words that begin in a range, `stride` bytes apart. Accesses
    /// only the pages that contain these words. [`sum_words`] computes it for a slice.
    ///
    /// # Errors
    ///
    /// The range is outside the mapping.
    pub fn sum_words(&self, range: Range<usize>, stride: usize) -> Result<u64, Error> {
        self.check_range(&range)?;
        let mut sum = 0_u64;
        for at in (range.start..range.end.saturating_sub(7)).step_by(stride.max(1)) {
            // SAFETY: the eight bytes are inside the mapping. The access is volatile, as other
            // processes may change the file concurrently.
            let word = unsafe { self.read_word(at) };
            sum = sum.wrapping_add(word);
        }
        Ok(sum)
    }

    /// Reads a word.
    ///
    /// # Safety
    ///
    /// `at + 8` is at most the length.
    unsafe fn read_word(&self, at: usize) -> u64 {
        // SAFETY: as the caller promises.
        let from = unsafe { self.begin.add(at) };
        if at.is_multiple_of(8) {
            // SAFETY: a mapping begins at a page boundary, so the pointer is aligned.
            return u64::from_le(unsafe { from.cast::<u64>().read_volatile() });
        }
        let mut bytes = [0; 8];
        for (n, byte) in bytes.iter_mut().enumerate() {
            // SAFETY: as above; bytes need no alignment.
            *byte = unsafe { from.add(n).read_volatile() };
        }
        u64::from_le_bytes(bytes)
    }

    /// Writes a byte at each offset `range.start + n * 4096` of a range, without reading first.
    /// Private mappings only.
    ///
    /// # Errors
    ///
    /// The mapping is shared, or the range is outside it.
    pub fn write_each_page(&mut self, range: Range<usize>, byte: u8) -> Result<(), Error> {
        self.check_range(&range)?;
        if !self.writable {
            return Err(Error::Usage("a shared mapping is read-only".to_owned()));
        }
        for at in range.step_by(PAGE) {
            // SAFETY: the byte is inside the mapping, which is private and writable.
            unsafe { self.begin.add(at).write_volatile(byte) };
        }
        Ok(())
    }

    fn check_range(&self, range: &Range<usize>) -> Result<(), Error> {
        if range.start <= range.end && range.end <= self.length {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "the range {range:?} is outside a mapping of {} bytes",
            self.length
        )))
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: mmap returned this range, and there are no references into it.
        let _ = unsafe { mm::munmap(self.begin.cast(), self.length) };
    }
}

/// Returns the sum of the 8-byte words of a slice, `stride` bytes apart.
pub fn sum_words(bytes: &[u8], stride: usize) -> u64 {
    let begins = (0..bytes.len().saturating_sub(7)).step_by(stride.max(1));
    begins
        .filter_map(|at| bytes.get(at..at + 8)?.try_into().ok())
        .fold(0, |sum: u64, word| {
            sum.wrapping_add(u64::from_le_bytes(word))
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn all_kinds_read_the_same_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes: Vec<u8> = (0..100_003_u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        std::fs::write(&path, &bytes).unwrap();
        let file = File::open(&path).unwrap();
        for kind in [
            MapKind::Shared,
            MapKind::SharedPopulated,
            MapKind::Private,
            MapKind::PrivatePopulatedForWriting,
        ] {
            let mut mapping = MappedFile::open(&file, bytes.len(), kind).unwrap();
            for advice in [
                MapAdvice::WillNeed,
                MapAdvice::Sequential,
                MapAdvice::Random,
                MapAdvice::PopulateRead,
            ] {
                mapping.advise(5_000..bytes.len(), advice).unwrap();
            }
            for stride in [1, 8, 4096] {
                assert_eq!(
                    mapping.sum_words(0..bytes.len(), stride).unwrap(),
                    sum_words(&bytes, stride)
                );
            }
            assert_eq!(
                mapping.sum_words(3..1_000, 5).unwrap(),
                sum_words(&bytes[3..1_000], 5)
            );
            let private = matches!(kind, MapKind::Private | MapKind::PrivatePopulatedForWriting);
            assert!(mapping.sum_words(0..bytes.len() + 1, 8).is_err());
            let ready = mapping.advise(0..bytes.len(), MapAdvice::PopulateWrite);
            assert_eq!(ready.is_ok(), private);
            assert_eq!(
                mapping.write_each_page(8..bytes.len(), !bytes[8]).is_ok(),
                private
            );
            let first = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
            let seen = mapping.sum_words(8..16, 8).unwrap();
            assert_eq!(seen ^ first, if private { 0xff } else { 0 });
        }
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        assert!(MappedFile::open(&file, bytes.len() + 1, MapKind::Shared).is_err());
        assert!(MappedFile::open(&file, 0, MapKind::Shared).is_err());
    }
}
