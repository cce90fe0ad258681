//! [`file_extents`]: the extents of a file on its device (FIEMAP).

use std::fs::File;

use rustix::io::Errno;
use rustix::ioctl::{self, Opcode, Updater};

use crate::Error;

/// A contiguous run of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileExtent {
    /// Offset in the file.
    pub logical: u64,
    /// Offset on the device; 0 if it is not allocated yet.
    pub physical: u64,
    /// Length in bytes.
    pub length: u64,
}

/// `FS_IOC_FIEMAP`: `_IOWR('f', 11, struct fiemap)` (linux/fiemap.h).
const FS_IOC_FIEMAP: Opcode = ioctl::opcode::read_write::<FiemapHeader>(b'f', 11);
/// `FIEMAP_EXTENT_LAST`: the last extent of the file.
const FIEMAP_EXTENT_LAST: u32 = 1;
/// `FIEMAP_FLAG_SYNC`: sync the file first, so that every extent is allocated.
const FIEMAP_FLAG_SYNC: u32 = 1;
const EXTENTS_PER_CALL: usize = 128;

#[repr(C)]
#[derive(Clone, Copy)]
struct FiemapHeader {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct FiemapRequest {
    header: FiemapHeader,
    extents: [FiemapExtent; EXTENTS_PER_CALL],
}

/// Returns the extents of a file. The kernel syncs the file first.
///
/// # Errors
///
/// The file system does not support FIEMAP, or the call failed.
pub fn file_extents(file: &File) -> Result<Vec<FileExtent>, Error> {
    let mut extents: Vec<FileExtent> = Vec::new();
    let mut start = 0;
    loop {
        let mut request = FiemapRequest {
            header: FiemapHeader {
                start,
                length: u64::MAX - start,
                flags: FIEMAP_FLAG_SYNC,
                mapped: 0,
                count: EXTENTS_PER_CALL as u32,
                reserved: 0,
            },
            extents: [FiemapExtent::default(); EXTENTS_PER_CALL],
        };
        // SAFETY: the kernel reads the header and writes at most `count` extents after it.
        let result = unsafe {
            ioctl::ioctl(
                file,
                Updater::<FS_IOC_FIEMAP, FiemapRequest>::new(&mut request),
            )
        };
        match result {
            Ok(()) => {}
            Err(Errno::NOTSUP | Errno::NOTTY | Errno::INVAL) => {
                let reason = "this file system does not support FIEMAP";
                return Err(Error::unsupported("the extents of a file", reason));
            }
            Err(error) => return Err(Error::io("FIEMAP", error)),
        }
        let mapped = request.extents.iter().take(request.header.mapped as usize);
        let previous_start = start;
        let mut last = true;
        for extent in mapped {
            extents.push(FileExtent {
                logical: extent.logical,
                physical: extent.physical,
                length: extent.length,
            });
            last = extent.flags & FIEMAP_EXTENT_LAST != 0;
            start = extent.logical.saturating_add(extent.length);
        }
        // Ends also on a file system that never marks the last extent.
        if last || start <= previous_start {
            return Ok(extents);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn extents_cover_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &[7; 1 << 20]).unwrap();
        match file_extents(&file) {
            Ok(extents) => {
                let length: u64 = extents.iter().map(|extent| extent.length).sum();
                assert_eq!(length, 1 << 20);
            }
            Err(Error::Unsupported { reason, .. }) => eprintln!("skipped: {reason}"),
            Err(error) => panic!("{error}"),
        }
    }
}
