//! Sidecar files: files beside a store while processes use them together.
//!
//! Each user holds a shared `flock` on the file. The last one removes it: the one that gets the
//! exclusive lock while the file is still at the path. A process that opened a file which was then
//! removed finds another one at the path once it has the lock, and starts over. A file left by a
//! killed process is harmless, and is removed with the next use.
//!
//! The store file itself must never be opened for this: closing any descriptor of it drops the
//! locks that SQLite holds on it in this process (POSIX advisory locks).

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, Stat, fstat, stat};
use rustix::io::Errno;

/// The number of attempts, a millisecond apart, while another process removes the file.
const ATTEMPTS: u32 = 100;

/// A FIFO or a symbolic link at the path must neither block a program nor redirect it.
pub(crate) const OPEN: OFlags = OFlags::CLOEXEC
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK);

/// Opens or creates the file, locks it, and verifies that it is at the path. `also` is called while
/// it is locked; if it returns `None`, or another file is at the path by then (`undo`), this starts
/// over.
pub(crate) fn join_sidecar<T>(
    store: &Path,
    path: &Path,
    access: OFlags,
    mut also: impl FnMut(&OwnedFd) -> io::Result<Option<T>>,
    undo: impl Fn(T),
) -> io::Result<(OwnedFd, T)> {
    for _ in 0..ATTEMPTS {
        let Some(file) = open_or_make(store, path, access)? else {
            continue;
        };
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {}
            // The last user holds the exclusive lock while it removes the file.
            Err(Errno::WOULDBLOCK | Errno::INTR) => {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            Err(e) => return Err(e.into()),
        }
        let Some(value) = also(&file)? else {
            continue;
        };
        if is_at(&file, path) {
            return Ok((file, value));
        }
        undo(value);
    }
    Err(Errno::AGAIN.into())
}

/// Removes the file if nobody else uses it.
pub(crate) fn leave_sidecar(file: &OwnedFd, path: &Path) {
    // The lock fails while other processes use it; the last of them gets it.
    if rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
        && is_at(file, path)
    {
        let _ = rustix::fs::unlink(path);
    }
}

/// Returns `None` if it was created or removed at this moment.
fn open_or_make(store: &Path, path: &Path, access: OFlags) -> io::Result<Option<OwnedFd>> {
    let file = match rustix::fs::open(path, OPEN | access, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => {
            let flags = OPEN | access | OFlags::CREATE | OFlags::EXCL;
            match rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => {
                    allow_as(store, &file);
                    file
                }
                Err(Errno::EXIST) => return Ok(None),
                Err(e) => return Err(e.into()),
            }
        }
        Err(e) => return Err(e.into()),
    };
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(Errno::EXIST.into());
    }
    Ok(Some(file))
}

/// A process that may write to the store must be able to open the file: it gets the store's owner
/// and mode, as SQLite's own sidecar files do.
fn allow_as(store: &Path, file: &OwnedFd) {
    let (Ok(as_is), Ok(wanted)) = (fstat(file), stat(store)) else {
        return;
    };
    if (as_is.st_uid, as_is.st_gid) != (wanted.st_uid, wanted.st_gid) {
        // Only root can change the owner; for others it is their own.
        let owner = rustix::fs::Uid::from_raw(wanted.st_uid);
        let group = rustix::fs::Gid::from_raw(wanted.st_gid);
        let _ = rustix::fs::fchown(file, Some(owner), Some(group));
    }
    let bits = 0o666;
    if as_is.st_mode & bits != wanted.st_mode & bits {
        let _ = rustix::fs::fchmod(file, Mode::from_raw_mode(wanted.st_mode & bits));
    }
}

/// Returns true if `file` is the file at the path.
pub(crate) fn is_at(file: &OwnedFd, path: &Path) -> bool {
    let same = |a: &Stat, b: &Stat| (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino);
    match (fstat(file), stat(path)) {
        (Ok(a), Ok(b)) => same(&a, &b),
        _ => false,
    }
}
