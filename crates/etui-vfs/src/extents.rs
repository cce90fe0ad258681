//! [`extents`]: where a file lies on its device, as the file system tells it (FIEMAP).

use std::fs::File;

use rustix::io::Errno;
use rustix::ioctl::{self, Opcode, Updater};

use crate::Error;

/// A run of a file that lies in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Where in the file.
    pub logical: u64,
    /// Where on the device; 0 if it has no place yet.
    pub physical: u64,
    /// How many bytes.
    pub length: u64,
}

/// `FS_IOC_FIEMAP`: `_IOWR('f', 11, struct fiemap)` (linux/fiemap.h).
const FIEMAP: Opcode = ioctl::opcode::read_write::<Header>(b'f', 11);
/// The last extent of the file.
const LAST: u32 = 1;
/// Sync the file first, so that everything has its place.
const SYNC: u32 = 1;
const AT_ONCE: usize = 128;

#[repr(C)]
#[derive(Clone, Copy)]
struct Header {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Mapped {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_too: [u32; 3],
}

#[repr(C)]
struct Request {
    header: Header,
    extents: [Mapped; AT_ONCE],
}

/// The extents of a file, which is synced for it.
pub fn extents(file: &File) -> Result<Vec<Extent>, Error> {
    let mut found: Vec<Extent> = Vec::new();
    let mut start = 0;
    loop {
        let mut request = Request {
            header: Header {
                start,
                length: u64::MAX - start,
                flags: SYNC,
                mapped: 0,
                count: AT_ONCE as u32,
                reserved: 0,
            },
            extents: [Mapped::default(); AT_ONCE],
        };
        // SAFETY: the kernel reads the header and writes at most `count` extents behind it.
        let asked = unsafe { ioctl::ioctl(file, Updater::<FIEMAP, Request>::new(&mut request)) };
        match asked {
            Ok(()) => {}
            Err(Errno::NOTSUP | Errno::NOTTY | Errno::INVAL) => {
                let reason = "this file system does not tell (FIEMAP)";
                return Err(Error::unsupported("the extents of a file", reason));
            }
            Err(error) => return Err(Error::io("FIEMAP", error)),
        }
        let mapped = request.extents.iter().take(request.header.mapped as usize);
        let begun = start;
        let mut last = true;
        for extent in mapped {
            found.push(Extent {
                logical: extent.logical,
                physical: extent.physical,
                length: extent.length,
            });
            last = extent.flags & LAST != 0;
            start = extent.logical.saturating_add(extent.length);
        }
        // A file system that never says which is the last one must not keep us here.
        if last || start <= begun {
            return Ok(found);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_lies_somewhere() {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &[7; 1 << 20]).unwrap();
        match extents(&file) {
            Ok(found) => {
                let length: u64 = found.iter().map(|extent| extent.length).sum();
                assert_eq!(length, 1 << 20);
            }
            Err(Error::Unsupported { reason, .. }) => eprintln!("skipped: {reason}"),
            Err(error) => panic!("{error}"),
        }
    }
}
