//! [`OfdLock`]: the lock of a database that excludes other processes (rule 31).
//!
//! SQLite's own locks belong to the process. They are lost when anything in the process closes any
//! descriptor of the file: a checksum, a copy, a second SQLite. This one is a lock of the *open
//! file description* (OFD, `fcntl(2)`), on a descriptor that is used for nothing else. It conflicts
//! with the locks of SQLite, in this process too.
//!
//! ```text
//! 0x4000_0000        PENDING   \
//! 0x4000_0001        RESERVED   > SQLite's lock bytes, all locked at once
//! 0x4000_0002, 510   SHARED    /
//! ```
//!
//! Closing the descriptor releases the locks that SQLite without this VFS has in this process. It
//! is therefore closed only while its lock is held, when SQLite has none; until then it is parked.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::raw::c_int;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::device::{DatabaseLock, Lock};
use crate::first_pages;
use crate::fork::LockedFile;

/// The first of SQLite's lock bytes, and their number.
const LOCK_BYTES: (i64, i64) = (0x4000_0000, 512);

/// SHARED alone.
const SHARED_BYTES: (i64, i64) = (0x4000_0002, 510);

/// `F_OFD_SETLK`, and the kinds of locks (linux/fcntl.h).
const SET_LOCK: c_int = 37;
const READ_LOCK: i16 = 0;
const WRITE_LOCK: i16 = 1;
const NO_LOCK: i16 = 2;

/// `struct flock` with 64-bit offsets.
#[repr(C)]
#[derive(Debug)]
struct LockRequest {
    kind: i16,
    whence: i16,
    start: i64,
    len: i64,
    process: i32,
}

unsafe extern "C" {
    /// The function that takes 64-bit offsets.
    #[cfg_attr(
        all(target_env = "gnu", target_pointer_width = "32"),
        link_name = "fcntl64"
    )]
    fn fcntl(descriptor: c_int, command: c_int, ...) -> c_int;
}

/// Changes the lock atomically. Returns false if another one conflicts with it.
fn set_lock(file: &File, lock: Lock) -> io::Result<bool> {
    let kind = match lock {
        Lock::Exclusive => WRITE_LOCK,
        Lock::Shared => READ_LOCK,
        Lock::None => NO_LOCK,
        Lock::Guard => {
            return Ok(set_range(file, READ_LOCK, SHARED_BYTES)?
                && set_range(file, NO_LOCK, (LOCK_BYTES.0, SHARED_BYTES.0 - LOCK_BYTES.0))?);
        }
    };
    set_range(file, kind, LOCK_BYTES)
}

/// Locks bytes, or unlocks them. Returns false if another lock conflicts with it.
pub(crate) fn lock_bytes(file: &File, start: i64, len: i64, lock: ByteLock) -> io::Result<bool> {
    let kind = match lock {
        ByteLock::Read => READ_LOCK,
        ByteLock::Write => WRITE_LOCK,
        ByteLock::None => NO_LOCK,
    };
    set_range(file, kind, (start, len))
}

/// A lock of bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteLock {
    None,
    Read,
    Write,
}

fn set_range(file: &File, kind: i16, (start, len): (i64, i64)) -> io::Result<bool> {
    let request = LockRequest {
        kind,
        whence: 0,
        start,
        len,
        process: 0,
    };
    loop {
        // SAFETY: the descriptor is open, and the command reads a `struct flock`.
        if unsafe { fcntl(file.as_raw_fd(), SET_LOCK, &raw const request) } == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match Errno::from_io_error(&error) {
            Some(Errno::AGAIN | Errno::ACCESS) => return Ok(false),
            Some(Errno::INTR) => {}
            _ => return Err(error),
        }
    }
}

/// Descriptors that could not be closed, since SQLite may have locks in this process.
static PARKED: Mutex<Vec<LockedFile>> = Mutex::new(Vec::new());

fn parked() -> MutexGuard<'static, Vec<LockedFile>> {
    PARKED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn identity(file: &LockedFile) -> io::Result<(u64, u64)> {
    let metadata = file.get()?.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Returns true if the descriptor may be closed: nobody else has a lock, and nobody takes one until
/// it is closed.
fn may_be_closed(file: &LockedFile) -> bool {
    match file.get() {
        Ok(file) => set_lock(file, Lock::Exclusive).unwrap_or(false),
        // Closed by the fork.
        Err(_) => true,
    }
}

/// The lock of one open database.
#[derive(Debug)]
pub(crate) struct OfdLock(Option<LockedFile>);

impl OfdLock {
    /// Opens a database for locking.
    pub fn open(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        let wanted = (metadata.dev(), metadata.ino());
        let mut parked = parked();
        let known = parked
            .iter()
            .position(|file| identity(file).is_ok_and(|known| known == wanted));
        let file = match known {
            Some(at) => parked.swap_remove(at),
            None => LockedFile::open(OpenOptions::new().read(true).write(true), path)?,
        };
        first_pages::ask_for_beginning(file.get()?);
        parked.retain(|file| !may_be_closed(file));
        Ok(Self(Some(file)))
    }

    fn file(&self) -> io::Result<&LockedFile> {
        self.0
            .as_ref()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl DatabaseLock for OfdLock {
    fn set(&self, lock: Lock) -> io::Result<bool> {
        set_lock(self.file()?.get()?, lock)
    }

    fn identity(&self) -> io::Result<Option<(u64, u64)>> {
        identity(self.file()?).map(Some)
    }
}

impl Drop for OfdLock {
    fn drop(&mut self) {
        if let Some(file) = self.0.take()
            && !may_be_closed(&file)
        {
            let mut parked = parked();
            parked.retain(|file| !may_be_closed(file));
            parked.push(file);
        }
    }
}
