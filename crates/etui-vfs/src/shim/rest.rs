//! The write-ahead log at rest: a file that holds nothing, and may be begun without a flush.
//!
//! When the last connection closes a database, SQLite removes its log, and the first commit of
//! the next session flushes three times: the header of the new log, its name, and what is
//! committed. Kept ([`KeptLog`]), the log lies at rest instead:
//!
//! ```text
//! offset  length  at rest                            in use (SQLite's WAL format)
//!      0       8  "etuirest"                         magic number, version
//!      8       8  the file's number, little-endian   page size, number of the checkpoint
//!     16       8  its birth, ns since 1970, l-e      salts
//!     24       8  hash of these and of its path      checksum of these
//!     32          what is left of old frames         frames
//! ```
//!
//! The header is made void first (zeros), that is flushed, with the name, and only then the mark is
//! written. So whoever reads the mark knows that no power cut brings back a header that is valid:
//! all that the disk can still hold is zeros or the mark. The first commit then writes the header
//! and its frames and flushes them together. Until that flush is done the disk has any mixture of
//! old and new; the frames in it count only if their salts and their chain of checksums are those
//! of the new header, whose salts are random: all of the transaction is there, or nothing.
//! Without the mark this does not hold: an old header with a part of its frames would be played
//! back over a newer file (<https://sqlite.org/src/info/ff5be73dee>).
//!
//! The number, the birth and the path tell the file from a copy, which nobody flushed, and from
//! one that was moved, whose new name may not be durable. Such a log holds nothing, too, but is
//! flushed as SQLite does. One that was moved away and back is not told from one that stayed: its
//! times would tell, but SQLite's VFS, run by root, changes the owner of every log that it opens.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::real::{Code, Real};
use crate::redo::hash;

/// Bytes of a log's header.
pub(super) const HEADER: usize = 32;

const MAGIC: &[u8; 8] = b"etuirest";

/// Says that the log stays when the last connection closes, and how large it may be then.
#[derive(Debug, Clone, Copy)]
pub struct KeptLog {
    /// A larger one is cut back to so many bytes.
    pub most: u64,
    /// What tells a file from all others that ever had its name: its number and its birth.
    /// `None`: it cannot be told, and the log is emptied, as if it were new. The crash
    /// laboratory's files have their own.
    #[doc(hidden)]
    pub identity: fn(&Path) -> Option<(u64, u64)>,
}

impl KeptLog {
    /// A log that keeps at most so many bytes.
    pub fn of_at_most(most: u64) -> Self {
        let identity = identity_of;
        Self { most, identity }
    }
}

/// The number and the birth of a file, where the file system tells both.
fn identity_of(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    let birth = metadata.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((metadata.ino(), u64::try_from(birth.as_nanos()).ok()?))
}

/// Whether the log at `path` is at rest, so that nothing is in it: also one that was copied or
/// moved. No file there, or one that cannot be read, is none.
pub fn is_at_rest(path: &Path) -> bool {
    use std::io::Read;
    let mut begin = [0; MAGIC.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == *MAGIC
}

/// A log that is kept.
#[derive(Debug)]
pub(super) struct Rest {
    kept: KeptLog,
    path: PathBuf,
    /// Whether the next thing that is asked for, if it is a flush, may be left out.
    spare: bool,
}

impl Rest {
    pub fn new(kept: KeptLog, path: PathBuf) -> Self {
        Self {
            kept,
            path,
            spare: false,
        }
    }

    /// What the file's header is at rest.
    pub fn mark(&self) -> Option<[u8; HEADER]> {
        let (number, birth) = (self.kept.identity)(&self.path)?;
        let mut all = [
            MAGIC.as_slice(),
            &number.to_le_bytes(),
            &birth.to_le_bytes(),
        ]
        .concat();
        let mut mark = [0; HEADER];
        mark[..24].copy_from_slice(&all);
        all.extend_from_slice(self.path.as_os_str().as_bytes());
        mark[24..].copy_from_slice(&hash(&all).to_le_bytes());
        Some(mark)
    }

    fn header(real: &Real) -> Result<[u8; HEADER], Code> {
        let mut header = [0; HEADER];
        real.read(&mut header, 0)?;
        Ok(header)
    }

    /// Whether the mark is there and is this file's: its void header and its name are durable.
    pub fn is_believed(&self, real: &Real) -> bool {
        let header = Self::header(real).ok();
        header.is_some_and(|header| header.starts_with(MAGIC) && self.mark() == Some(header))
    }

    /// Whether what is to be written is a header that takes the mark's place.
    pub fn begins(&self, real: &Real, offset: u64, length: usize) -> bool {
        offset == 0 && length == HEADER && self.is_believed(real)
    }

    /// Says whether the flush that is asked for next, directly after such a header, may be left
    /// out. It was written: otherwise another connection's header may be the next in the file.
    pub fn set_spare(&mut self, spare: bool) {
        self.spare = spare;
    }

    /// Whether the flush that is asked for now can be left out. To be told of everything else
    /// that is asked for, too.
    pub fn take_spare(&mut self) -> bool {
        std::mem::take(&mut self.spare)
    }

    /// Whether nothing is in the log and it says so: also one that was copied or moved.
    pub fn is_laid(&self, real: &Real) -> Result<bool, Code> {
        Ok(Self::header(real)?.starts_with(MAGIC))
    }

    /// How large it may be at rest.
    pub fn most(&self) -> u64 {
        self.kept.most.max(HEADER as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_next_flush_is_spared() {
        let mut rest = Rest::new(KeptLog::of_at_most(0), PathBuf::new());
        assert!(!rest.take_spare());
        rest.set_spare(true);
        assert!(rest.take_spare());
        assert!(!rest.take_spare());
        assert_eq!(rest.most(), HEADER as u64);
    }
}
