//! [`WalIndexFile`]: the wal-index of a connection, the file `-shm`, as SQLite's own VFS has it
//! (os_unix.c, "shared memory"), with locks of the connection's own.
//!
//! ```text
//! byte 120 ... 127   the eight locks of the wal-index: WRITE, CHECKPOINT, RECOVER, five READ
//! byte 128           locked to read by each process that has it open; one that can lock it to write is the first,
//!                    and clears the file
//! ```

use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::raw::c_int;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

use libsqlite3_sys as ffi;
use rustix::fs::OFlags;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::guarded_file::{ByteLock, Bytes, GuardedFile};

/// The size of the regions that SQLite requests.
const REGION: usize = 32_768;
/// The locks, and the byte that an open file locks (`UNIX_SHM_BASE`, `UNIX_SHM_DMS`).
const LOCKS: Bytes = (120, 8);
const IN_USE: Bytes = (128, 1);
const ALL: Bytes = (120, 9);
/// The lock that is held by a write transaction.
const WRITE: c_int = 0;
pub(crate) const WRITE_BYTE: Bytes = (LOCKS.0, 1);

/// A mapping, of one region or of all in a page of memory.
#[derive(Debug)]
struct Mapping(NonNull<u8>, usize);

// SAFETY: the memory is accessed by SQLite alone, which synchronises its accesses.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and SQLite uses it no more.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), self.1) };
    }
}

/// The wal-index of a connection.
#[derive(Debug)]
pub(crate) struct WalIndexFile {
    file: GuardedFile,
    path: PathBuf,
    mappings: Vec<Mapping>,
    /// The locks that the connection has, a bit for each.
    shared: u32,
    exclusive: u32,
}

/// Returns the path of a file next to a database.
pub(crate) fn sibling_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

impl WalIndexFile {
    /// Opens or creates it for a database.
    pub fn open(database: &Path) -> Result<Self, c_int> {
        let path = sibling_path(database, "-shm");
        let cannot = |_| ffi::SQLITE_CANTOPEN;
        let beside = fs::metadata(database).map_err(cannot)?;
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(beside.mode() & 0o777)
            .custom_flags(OFlags::NOFOLLOW.bits() as i32);
        let file = GuardedFile::open(&path, &options, ALL).map_err(cannot)?;
        if rustix::process::geteuid().is_root()
            && let Ok(file) = file.file()
        {
            // As SQLite's own VFS does, which tolerates a refusal.
            let _ = std::os::unix::fs::fchown(file, Some(beside.uid()), Some(beside.gid()));
        }
        let failed = |_| ffi::SQLITE_IOERR_SHMLOCK;
        if file.lock(IN_USE, ByteLock::Write).map_err(failed)? {
            // The first one: the contents of the file are old. Three bytes, as SQLite leaves them.
            let cleared = file.file().and_then(|file| file.set_len(3));
            cleared.map_err(|_| ffi::SQLITE_IOERR_SHMOPEN)?;
        }
        match file.lock(IN_USE, ByteLock::Read).map_err(failed)? {
            true => Ok(Self {
                file,
                path,
                mappings: Vec::new(),
                shared: 0,
                exclusive: 0,
            }),
            // Another process is clearing it.
            false => Err(ffi::SQLITE_BUSY),
        }
    }

    /// Returns the address of a region; null if it is not there and is not to be made.
    pub fn map(&mut self, region: c_int, size: c_int, extend: bool) -> Result<*mut u8, c_int> {
        let region = usize::try_from(region).map_err(|_| ffi::SQLITE_IOERR_SHMMAP)?;
        if usize::try_from(size) != Ok(REGION) {
            return Err(ffi::SQLITE_IOERR_SHMMAP);
        }
        // A mapping begins at a page of memory, which may be larger than a region.
        let unit = REGION.max(rustix::param::page_size());
        let (mapping, within) = (region * REGION / unit, region * REGION % unit);
        if mapping >= self.mappings.len() {
            let needed = (mapping + 1) * unit;
            if !self.has_bytes(needed, extend)? {
                return Ok(ptr::null_mut());
            }
            self.map_up_to(mapping, unit)
                .map_err(|_| ffi::SQLITE_IOERR_SHMMAP)?;
        }
        let mapping = self.mappings.get(mapping);
        Ok(mapping.map_or(ptr::null_mut(), |mapping| {
            // SAFETY: the region is within the mapping.
            unsafe { mapping.0.as_ptr().add(within) }
        }))
    }

    /// Returns true if the file has this size, or has got it.
    fn has_bytes(&self, needed: usize, extend: bool) -> Result<bool, c_int> {
        let file = self.file.file().map_err(|_| ffi::SQLITE_IOERR_SHMSIZE)?;
        let size = file.metadata().map_err(|_| ffi::SQLITE_IOERR_SHMSIZE)?;
        let there = usize::try_from(size.len()).unwrap_or(usize::MAX);
        if there >= needed || !extend {
            return Ok(there >= needed);
        }
        // Each block is written: on a full disk a mapped hole would kill the process.
        const BLOCK: usize = 4096;
        for end in (there / BLOCK..needed / BLOCK).map(|block| (block + 1) * BLOCK) {
            let written = file.write_all_at(&[0], end as u64 - 1);
            written.map_err(|error| match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ffi::SQLITE_FULL,
                _ => ffi::SQLITE_IOERR_SHMSIZE,
            })?;
        }
        Ok(true)
    }

    fn map_up_to(&mut self, last: usize, unit: usize) -> io::Result<()> {
        while self.mappings.len() <= last {
            let offset = (self.mappings.len() * unit) as u64;
            let access = ProtFlags::READ | ProtFlags::WRITE;
            let file = self.file.file()?.as_fd();
            // SAFETY: the system chooses the address; nothing is there. Only SQLite accesses it.
            let at = unsafe {
                mmap(
                    ptr::null_mut(),
                    unit,
                    access,
                    MapFlags::SHARED,
                    file,
                    offset,
                )?
            };
            let at = NonNull::new(at.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
            self.mappings.push(Mapping(at, unit));
        }
        Ok(())
    }

    /// Changes locks, all or none.
    pub fn lock(&mut self, first: c_int, count: c_int, flags: c_int) -> Result<(), c_int> {
        let is_known = first >= 0 && count > 0 && first + count <= LOCKS.1 as c_int;
        if !is_known {
            return Err(ffi::SQLITE_IOERR_SHMLOCK);
        }
        let mask = ((1_u32 << count) - 1) << first;
        let bytes = (LOCKS.0 + i64::from(first), i64::from(count));
        let lock = match flags {
            _ if flags & ffi::SQLITE_SHM_UNLOCK != 0 => ByteLock::None,
            _ if flags & ffi::SQLITE_SHM_EXCLUSIVE != 0 => ByteLock::Write,
            _ => ByteLock::Read,
        };
        let is_there = match lock {
            ByteLock::None => (self.shared | self.exclusive) & mask == 0,
            ByteLock::Read => self.shared & mask == mask,
            ByteLock::Write => self.exclusive & mask == mask,
        };
        if is_there {
            return Ok(());
        }
        match self.file.lock(bytes, lock) {
            Ok(true) => {}
            Ok(false) => return Err(ffi::SQLITE_BUSY),
            Err(_) => return Err(ffi::SQLITE_IOERR_SHMLOCK),
        }
        (self.shared, self.exclusive) = (self.shared & !mask, self.exclusive & !mask);
        match lock {
            ByteLock::None => {}
            ByteLock::Read => self.shared |= mask,
            ByteLock::Write => self.exclusive |= mask,
        }
        Ok(())
    }

    /// Returns true if these locks are to begin a write transaction.
    pub fn begins_to_write(first: c_int, flags: c_int) -> bool {
        first == WRITE
            && flags & ffi::SQLITE_SHM_EXCLUSIVE != 0
            && flags & ffi::SQLITE_SHM_LOCK != 0
    }

    /// Unmaps it; with `delete`, which SQLite asks for with EXCLUSIVE, its file is removed.
    pub fn close(self, delete: bool) {
        if delete {
            let _ = fs::remove_file(&self.path);
        }
    }
}
