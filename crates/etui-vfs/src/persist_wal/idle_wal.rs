//! [`IdleWal`]: the format of an idle WAL, a file without frames that can be started without a
//! flush of its header.
//!
//! ```text
//! offset  length  idle                               in use (SQLite's WAL format)
//!      0       8  "etuirest"                         magic number, version
//!      8       8  inode number, little-endian        page size, checkpoint number
//!     16       8  birth time, ns since 1970, l-e     salts
//!     24       8  hash of these fields and the path  checksum of these
//!     32          remains of old frames              frames
//! ```
//!
//! To make a WAL idle, its header is overwritten with zeros, the file and its name are flushed, and
//! only then the mark (the idle header) is written. A mark therefore implies that no power failure
//! brings back a valid old header: the disk holds zeros or the mark. The first commit writes a
//! header and frames and flushes them together. Until that flush is complete, the disk holds any
//! mixture of old and new sectors. Frames are valid only if their salts and their checksum chain
//! match the new header, whose salts are random: the transaction is complete, or absent.
//! Without the mark, an old header with some of its frames would be replayed over a newer file
//! (<https://sqlite.org/src/info/ff5be73dee>).
//!
//! Inode number, birth time and path distinguish the file from a copy, which was never flushed, and
//! from a moved file, whose new name may not be durable. Such a WAL has no frames either, but its
//! header is flushed as usual. A WAL that was moved away and back is not detected: its change time
//! would show it, but SQLite's VFS, run by root, changes the owner of every WAL that it opens.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::inherited::{BaseMethods, SqliteCode};
use crate::redo::hash;

/// Bytes of a WAL's header.
pub(super) const WAL_HEADER: usize = 32;

const IDLE_MAGIC: &[u8; 8] = b"etuirest";

/// Options of a [`PersistWalVfs`](super::PersistWalVfs).
#[derive(Debug, Clone, Copy)]
pub struct PersistWalOptions {
    /// A longer WAL is truncated to this size when it becomes idle.
    pub max_bytes: u64,
    /// Returns the identity of a file among all that ever had its name: inode number and birth
    /// time. `None`: unknown, and the WAL is truncated to 0 instead. The crash laboratory's files
    /// have their own.
    #[doc(hidden)]
    pub identity: fn(&Path) -> Option<(u64, u64)>,
}

impl PersistWalOptions {
    /// Returns the options for idle WALs of at most `max_bytes` bytes.
    pub fn with_max_bytes(max_bytes: u64) -> Self {
        let identity = file_identity;
        Self {
            max_bytes,
            identity,
        }
    }
}

/// Returns inode number and birth time of a file, if the file system supports both.
fn file_identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    let birth = metadata.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((metadata.ino(), u64::try_from(birth.as_nanos()).ok()?))
}

/// Returns true if the WAL at `path` is idle, so that it has no frames; also for a copy or a moved
/// file. False if there is no readable file.
pub fn is_idle_wal(path: &Path) -> bool {
    use std::io::Read;
    let mut magic = [0; IDLE_MAGIC.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *IDLE_MAGIC
}

/// A WAL that persists.
#[derive(Debug)]
pub(super) struct IdleWal {
    options: PersistWalOptions,
    path: PathBuf,
    /// The last call wrote a header over a mark: a sync that follows at once is redundant.
    skips_next_sync: bool,
}

impl IdleWal {
    pub fn new(options: PersistWalOptions, path: PathBuf) -> Self {
        Self {
            options,
            path,
            skips_next_sync: false,
        }
    }

    /// Returns the idle header of this file.
    fn mark(&self) -> Option<[u8; WAL_HEADER]> {
        let (inode, birth) = (self.options.identity)(&self.path)?;
        let mut hashed = [
            IDLE_MAGIC.as_slice(),
            &inode.to_le_bytes(),
            &birth.to_le_bytes(),
        ]
        .concat();
        let mut mark = [0; WAL_HEADER];
        mark[..24].copy_from_slice(&hashed);
        hashed.extend_from_slice(self.path.as_os_str().as_bytes());
        mark[24..].copy_from_slice(&hash(&hashed).to_le_bytes());
        Some(mark)
    }

    /// Returns true if the file has its own mark: its zeroed header and its name are durable.
    pub fn has_own_mark(&self, file: &BaseMethods) -> bool {
        let header = file.read_header().ok();
        header.is_some_and(|header| header.starts_with(IDLE_MAGIC) && self.mark() == Some(header))
    }

    pub fn write(
        &mut self,
        file: &BaseMethods,
        data: &[u8],
        offset: u64,
    ) -> Result<(), SqliteCode> {
        let starts = offset == 0 && data.len() == WAL_HEADER && self.has_own_mark(file);
        self.skips_next_sync = false;
        file.write(data, offset)?;
        // Only after a success: otherwise the next header in the file may be another connection's.
        self.skips_next_sync = starts;
        Ok(())
    }

    pub fn sync(&mut self, file: &BaseMethods, flags: i32) -> Result<(), SqliteCode> {
        if std::mem::take(&mut self.skips_next_sync) {
            return Ok(());
        }
        file.sync(flags)
    }

    pub fn truncate(&mut self, file: &BaseMethods, size: u64) -> Result<(), SqliteCode> {
        self.skips_next_sync = false;
        match size {
            // SQLite truncates a WAL to 0 when the database has all of it and nobody reads it.
            0 => self.make_idle(file),
            _ => file.truncate(size),
        }
    }

    /// Makes the WAL idle. The database must have all its frames.
    fn make_idle(&self, file: &BaseMethods) -> Result<(), SqliteCode> {
        // Any mark will do: a copy or a moved file has no frames either.
        if file.read_header()?.starts_with(IDLE_MAGIC) {
            return Ok(());
        }
        let Some(mark) = self.mark() else {
            return file.truncate(0);
        };
        file.write(&[0; WAL_HEADER], 0)?;
        file.sync(libsqlite3_sys::SQLITE_SYNC_NORMAL)?;
        // Not before the sync: a valid header with the first of its frames would be replayed.
        let max_size = self.options.max_bytes.max(WAL_HEADER as u64);
        if file.size()? > max_size {
            file.truncate(max_size)?;
        }
        file.write(&mark, 0)
    }
}
