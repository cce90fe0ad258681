//! [`Mapping`]: a file mapped into memory, to be measured.
//!
//! A mapping hands out no references: another process may change or shorten the file at any
//! moment, which no Rust slice allows for. It is read and written by volatile accesses of its
//! own. **A file that is shortened below the mapping kills the process with SIGBUS** when the
//! lost part is touched; map only files that nobody shortens.

use std::fs::File;
use std::ops::Range;
use std::os::raw::c_void;
use std::ptr;

use rustix::mm::{self, MapFlags, ProtFlags};

use crate::Error;

/// The page size that ranges of advice are rounded to.
const PAGE: usize = 4096;

/// How a file is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapKind {
    /// Shared, to be read; a page comes when it is touched.
    Shared,
    /// Shared, to be read; all pages come at once (`MAP_POPULATE`).
    SharedPopulated,
    /// Private, to be read and written; a page that is written is copied then.
    Private,
    /// Private, all pages copied at once and ready to be written (`MADV_POPULATE_WRITE`).
    PrivatePopulatedForWriting,
}

/// What the kernel is told about a part of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// It will be needed: read it ahead.
    WillNeed,
    /// It will be read from front to back.
    Sequential,
    /// It will be read in no order: do not read ahead.
    Random,
    /// Make all its pages present now.
    PopulateRead,
    /// Copy all its pages now, ready to be written; private mappings only.
    PopulateWrite,
}

/// A mapped file.
#[derive(Debug)]
pub struct Mapping {
    begin: *mut u8,
    length: usize,
    writable: bool,
}

// SAFETY: the mapping belongs to the value alone and can be unmapped from any thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps the first bytes of a file, which must be that long.
    pub fn open(file: &File, length: usize, kind: MapKind) -> Result<Self, Error> {
        let size = file
            .metadata()
            .map_err(|e| Error::io("looking at the file to map", e))?
            .len();
        if length == 0 || length as u64 > size {
            return Err(Error::Usage(format!(
                "{length} bytes cannot be mapped of a file of {size}"
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
        // SAFETY: the kernel chooses a place where nothing is mapped.
        let begin = unsafe { mm::mmap(ptr::null_mut(), length, protection, flags, file, 0) }
            .map_err(|e| Error::io("mmap", e))?;
        let mapping = Self {
            begin: begin.cast(),
            length,
            writable: protection.contains(ProtFlags::WRITE),
        };
        if kind == MapKind::PrivatePopulatedForWriting {
            mapping.tell(0..length, mm::Advice::LinuxPopulateWrite)?;
        }
        Ok(mapping)
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it is empty; a mapping never is.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Tells the kernel about a part of it, widened to whole pages.
    pub fn advise(&self, range: Range<usize>, advice: Advice) -> Result<(), Error> {
        let advice = match advice {
            Advice::WillNeed => mm::Advice::WillNeed,
            Advice::Sequential => mm::Advice::Sequential,
            Advice::Random => mm::Advice::Random,
            Advice::PopulateRead => mm::Advice::LinuxPopulateRead,
            Advice::PopulateWrite if !self.writable => {
                return Err(Error::Usage("a shared mapping is only read".to_owned()));
            }
            Advice::PopulateWrite => mm::Advice::LinuxPopulateWrite,
        };
        self.tell(range, advice)
    }

    fn tell(&self, range: Range<usize>, advice: mm::Advice) -> Result<(), Error> {
        self.check(&range)?;
        let begin = range.start - range.start % PAGE;
        let length = range.end - begin;
        // SAFETY: the range lies in the mapping, and none of these advices takes its contents
        // away.
        let at: *mut c_void = unsafe { self.begin.add(begin) }.cast();
        // SAFETY: as above.
        unsafe { mm::madvise(at, length, advice) }.map_err(|error| {
            if error == rustix::io::Errno::INVAL {
                let what = "this advice about a mapping";
                Error::unsupported(what, "the kernel does not know it (Linux 5.14 knows all)")
            } else {
                Error::io("madvise", error)
            }
        })
    }

    /// The sum of the 8-byte words that begin in a range, `stride` bytes apart; see
    /// [`sum_of`]. It touches the pages that these words lie in and no others.
    pub fn sum(&self, range: Range<usize>, stride: usize) -> Result<u64, Error> {
        self.check(&range)?;
        let mut sum = 0_u64;
        for at in (range.start..range.end.saturating_sub(7)).step_by(stride.max(1)) {
            // SAFETY: the eight bytes lie in the mapping. Volatile, since others may change
            // the file meanwhile; unaligned reads of a plain type are allowed for.
            let word = unsafe { self.word(at) };
            sum = sum.wrapping_add(word);
        }
        Ok(sum)
    }

    /// # Safety
    ///
    /// `at + 8` is at most the length.
    unsafe fn word(&self, at: usize) -> u64 {
        // SAFETY: as the caller promises.
        let from = unsafe { self.begin.add(at) };
        if at.is_multiple_of(8) {
            // SAFETY: mappings begin at a page, so this is aligned.
            return u64::from_le(unsafe { from.cast::<u64>().read_volatile() });
        }
        let mut bytes = [0; 8];
        for (n, byte) in bytes.iter_mut().enumerate() {
            // SAFETY: as above; bytes need no alignment.
            *byte = unsafe { from.add(n).read_volatile() };
        }
        u64::from_le_bytes(bytes)
    }

    /// Writes a byte to the place `range.start + n * 4096` for each such place in a range,
    /// without reading anything first; private mappings only.
    pub fn mark_each_page(&mut self, range: Range<usize>, mark: u8) -> Result<(), Error> {
        self.check(&range)?;
        if !self.writable {
            return Err(Error::Usage("a shared mapping is only read".to_owned()));
        }
        for at in range.step_by(PAGE) {
            // SAFETY: the byte lies in the mapping, which is private and writable.
            unsafe { self.begin.add(at).write_volatile(mark) };
        }
        Ok(())
    }

    fn check(&self, range: &Range<usize>) -> Result<(), Error> {
        if range.start <= range.end && range.end <= self.length {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "the range {range:?} is not in a mapping of {} bytes",
            self.length
        )))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is what mmap gave, and there are no references into it.
        let _ = unsafe { mm::munmap(self.begin.cast(), self.length) };
    }
}

/// What [`Mapping::sum`] gives, of bytes in memory.
pub fn sum_of(bytes: &[u8], stride: usize) -> u64 {
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
    fn every_kind_sees_the_same_bytes() {
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
            let mut mapping = Mapping::open(&file, bytes.len(), kind).unwrap();
            for advice in [
                Advice::WillNeed,
                Advice::Sequential,
                Advice::Random,
                Advice::PopulateRead,
            ] {
                mapping.advise(5_000..bytes.len(), advice).unwrap();
            }
            for stride in [1, 8, 4096] {
                assert_eq!(
                    mapping.sum(0..bytes.len(), stride).unwrap(),
                    sum_of(&bytes, stride)
                );
            }
            assert_eq!(
                mapping.sum(3..1_000, 5).unwrap(),
                sum_of(&bytes[3..1_000], 5)
            );
            let private = matches!(kind, MapKind::Private | MapKind::PrivatePopulatedForWriting);
            assert!(mapping.sum(0..bytes.len() + 1, 8).is_err());
            let ready = mapping.advise(0..bytes.len(), Advice::PopulateWrite);
            assert_eq!(ready.is_ok(), private);
            assert_eq!(
                mapping.mark_each_page(8..bytes.len(), !bytes[8]).is_ok(),
                private
            );
            let first = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
            let seen = mapping.sum(8..16, 8).unwrap();
            assert_eq!(seen ^ first, if private { 0xff } else { 0 });
        }
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        assert!(Mapping::open(&file, bytes.len() + 1, MapKind::Shared).is_err());
        assert!(Mapping::open(&file, 0, MapKind::Shared).is_err());
    }
}
