//! [`GuardedFile`]: a file with locks that nothing else in the process can release (rule 31).
//!
//! SQLite's own locks belong to the process. They are lost when anything in the process closes any
//! descriptor of the file: a checksum, a copy, a second SQLite. Here they are locks of the *open
//! file description* (OFD, `fcntl(2)`), on a descriptor that is used for nothing else. They conflict
//! with the locks of SQLite, in this process too.
//!
//! Closing a descriptor releases the locks that SQLite without this VFS has in this process. It
//! is therefore closed only while its own lock excludes everybody, when SQLite has none; until then it is
//! parked.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::raw::c_int;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use libsqlite3_sys as ffi;
use rustix::fs::MemfdFlags;
use rustix::io::Errno;

use crate::base_vfs::BaseVfs;
use crate::file_identity::{file_identity, identity_of};
use crate::first_pages;
use crate::fork::LockedFile;
use crate::sqlite_file::SqliteFile;

/// A part of a file: where it begins, and its number of bytes.
pub type Bytes = (i64, i64);

/// `F_OFD_GETLK`, `F_OFD_SETLK`, and the kinds of locks (linux/fcntl.h).
const GET_LOCK: c_int = 36;
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

/// A lock of bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteLock {
    /// Unlocked.
    None,
    /// Nobody else can lock them to write.
    Read,
    /// Nobody else can lock them.
    Write,
}

impl ByteLock {
    fn kind(self) -> i16 {
        match self {
            Self::Read => READ_LOCK,
            Self::Write => WRITE_LOCK,
            Self::None => NO_LOCK,
        }
    }
}

/// Calls `fcntl` with a lock. Returns false if another lock conflicts with it.
fn request(file: &impl AsRawFd, command: c_int, request: &mut LockRequest) -> io::Result<bool> {
    loop {
        // SAFETY: the descriptor is open, and the command reads or writes a `struct flock`.
        if unsafe { fcntl(file.as_raw_fd(), command, &raw mut *request) } == 0 {
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

fn request_of(lock: ByteLock, (start, len): Bytes) -> LockRequest {
    LockRequest {
        kind: lock.kind(),
        whence: 0,
        start,
        len,
        process: 0,
    }
}

fn set(file: &impl AsRawFd, bytes: Bytes, lock: ByteLock) -> io::Result<bool> {
    request(file, SET_LOCK, &mut request_of(lock, bytes))
}

/// Returns true if the system has locks of open file descriptions. It is asked once, with a file of this
/// process's own. WSL 1, some sandboxes and kernels before 3.15 have none.
pub fn has_ofd_locks() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let file: io::Result<OwnedFd> =
            rustix::fs::memfd_create("etui-locks", MemfdFlags::CLOEXEC).map_err(Into::into);
        file.and_then(|file| set(&file, (0, 1), ByteLock::Read))
            .unwrap_or(false)
    })
}

/// An open file.
#[derive(Debug)]
struct OpenedFile {
    /// The file as SQLite reads and writes it, by this VFS and name. Closed first: that, too, releases
    /// SQLite's locks in this process.
    sqlite: Option<(SqliteFile, BaseVfs, PathBuf)>,
    locks: LockedFile,
    identity: (u64, u64),
    /// All bytes that SQLite locks in it.
    bytes: Bytes,
}

impl OpenedFile {
    /// Returns true if the file may be closed: nobody else has a lock of it, and nobody takes one until it is
    /// closed.
    fn may_be_closed(&self) -> bool {
        // After an error the file is kept open, as if another one had locks.
        match self.locks.get() {
            Ok(file) => set(file, self.bytes, ByteLock::Write).unwrap_or(false),
            // Closed by the fork.
            Err(_) => true,
        }
    }

    fn close(mut self) {
        if !self.locks.is_ours() {
            // SQLite's state of the file is the parent's.
            std::mem::forget(self.sqlite.take());
        }
    }
}

/// Files that could not be closed, since SQLite may have locks in this process.
static PARKED: Mutex<Vec<OpenedFile>> = Mutex::new(Vec::new());

fn parked() -> MutexGuard<'static, Vec<OpenedFile>> {
    PARKED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn close_parked(parked: &mut Vec<OpenedFile>) {
    let closed = parked.extract_if(.., |file| file.may_be_closed());
    closed.for_each(OpenedFile::close);
}

/// Takes a parked file.
fn unpark(
    identity: (u64, u64),
    bytes: Bytes,
    is_wanted: impl Fn(&OpenedFile) -> bool,
) -> Option<OpenedFile> {
    let mut parked = parked();
    let at = parked.iter().position(|file| {
        let is_it = file.identity == identity && file.bytes == bytes;
        is_it && file.locks.is_ours() && is_wanted(file)
    });
    let found = at.map(|at| parked.swap_remove(at));
    close_parked(&mut parked);
    found
}

/// A file that is opened for its locks, or for its locks and for SQLite.
#[derive(Debug)]
pub struct GuardedFile(Option<OpenedFile>);

impl GuardedFile {
    /// Opens a file for the locks of `bytes`.
    ///
    /// # Errors
    ///
    /// It cannot be opened.
    pub fn open(path: &Path, options: &OpenOptions, bytes: Bytes) -> io::Result<Self> {
        let known = file_identity(path).ok();
        let known =
            known.and_then(|identity| unpark(identity, bytes, |file| file.sqlite.is_none()));
        if known.is_some() {
            return Ok(Self(known));
        }
        let locks = LockedFile::open(options, path)?;
        let identity = identity_of(locks.get()?)?;
        Ok(Self(Some(OpenedFile {
            sqlite: None,
            locks,
            identity,
            bytes,
        })))
    }

    /// Opens a database to read and write, with these flags, and for its locks.
    ///
    /// # Errors
    ///
    /// It cannot be opened, or was renamed meanwhile.
    pub fn open_database(host: &BaseVfs, path: &Path, flags: c_int) -> io::Result<Self> {
        let known = file_identity(path).ok().and_then(|identity| {
            unpark(identity, LOCK_BYTES, |file| {
                let sqlite = file.sqlite.as_ref();
                sqlite.is_some_and(|(_, vfs, name)| vfs == host && name == path)
            })
        });
        if let Some(mut known) = known {
            if let Some((file, ..)) = &mut known.sqlite {
                file.reset();
            }
            return Ok(Self(Some(known)));
        }
        let mut file = SqliteFile::open(host, Some(path), flags)?;
        let locks = LockedFile::open(OpenOptions::new().read(true).write(true), path)?;
        let identity = identity_of(locks.get()?)?;
        first_pages::ask_for_beginning(locks.get()?);
        let has_moved = file.has_moved() || file_identity(path)? != identity;
        // From here on it is parked, if it must be.
        let opened = Self(Some(OpenedFile {
            sqlite: Some((file, *host, path.to_owned())),
            locks,
            identity,
            bytes: LOCK_BYTES,
        }));
        match has_moved {
            true => Err(io::Error::other("it was renamed while it was opened")),
            false => Ok(opened),
        }
    }

    fn opened(&self) -> io::Result<&OpenedFile> {
        self.0
            .as_ref()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Returns the open file.
    ///
    /// # Errors
    ///
    /// A parent of this process opened it.
    pub fn file(&self) -> io::Result<&File> {
        self.opened()?.locks.get()
    }

    /// Returns the file as SQLite reads and writes it, if it was opened so.
    pub fn sqlite(&mut self) -> Option<&mut SqliteFile> {
        let (file, ..) = self.0.as_mut()?.sqlite.as_mut()?;
        Some(file)
    }

    /// Returns the identity of the file.
    ///
    /// # Errors
    ///
    /// None, while it is open.
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        Ok(self.opened()?.identity)
    }

    /// Changes the lock of bytes, without waiting. Returns false if another lock conflicts with it.
    ///
    /// # Errors
    ///
    /// The file system has no such locks.
    pub fn lock(&self, bytes: Bytes, lock: ByteLock) -> io::Result<bool> {
        set(self.file()?, bytes, lock)
    }

    /// Returns true if somebody else has a lock of these bytes with which this one conflicts.
    ///
    /// # Errors
    ///
    /// As for [`GuardedFile::lock`].
    pub fn is_locked(&self, bytes: Bytes, lock: ByteLock) -> io::Result<bool> {
        let mut asked = request_of(lock, bytes);
        request(self.file()?, GET_LOCK, &mut asked)?;
        Ok(asked.kind != NO_LOCK)
    }
}

impl Drop for GuardedFile {
    fn drop(&mut self) {
        let Some(opened) = self.0.take() else {
            return;
        };
        let mut parked = parked();
        if !opened.may_be_closed() {
            if let Ok(file) = opened.locks.get() {
                // From 0, of length 0: all bytes of the file.
                let _ = set(file, (0, 0), ByteLock::None);
            }
            parked.push(opened);
        } else {
            // Its lock excludes everybody: all parked files of it can be closed.
            let of_same = parked.extract_if(.., |file| {
                file.identity == opened.identity && file.bytes == opened.bytes
            });
            of_same.for_each(OpenedFile::close);
            opened.close();
        }
        close_parked(&mut parked);
    }
}

/// SQLite's lock bytes of a database: PENDING, RESERVED, and the 510 of SHARED.
pub const LOCK_BYTES: Bytes = (0x4000_0000, 512);
/// PENDING: a writer waits for readers to finish.
pub const PENDING: Bytes = (LOCK_BYTES.0, 1);
/// RESERVED: a connection is about to write.
pub const RESERVED: Bytes = (LOCK_BYTES.0 + 1, 1);
/// SHARED: read while it is locked to read, EXCLUSIVE while it is locked to write.
pub const SHARED: Bytes = (LOCK_BYTES.0 + 2, 510);

/// Returns true if anybody has a lock of the database, in this process or another one, or if that cannot be known.
pub fn is_in_use(path: &Path) -> bool {
    let options = OpenOptions::new().read(true).write(true).clone();
    let file = GuardedFile::open(path, &options, LOCK_BYTES);
    let asked = file.and_then(|file| file.is_locked(LOCK_BYTES, ByteLock::Write));
    asked.unwrap_or(true)
}

/// The lock of a database, by SQLite's levels, as its own VFS takes it (os_unix.c, `unixLock`).
#[derive(Debug)]
pub(crate) struct LockLevel(c_int);

impl LockLevel {
    pub fn new() -> Self {
        Self(ffi::SQLITE_LOCK_NONE)
    }

    pub fn get(&self) -> c_int {
        self.0
    }

    /// Raises it. After `SQLITE_BUSY` for EXCLUSIVE it is PENDING.
    pub fn raise(&mut self, file: &GuardedFile, level: c_int) -> Result<(), c_int> {
        let take = |bytes, lock| match file.lock(bytes, lock) {
            Ok(true) => Ok(()),
            Ok(false) => Err(ffi::SQLITE_BUSY),
            Err(_) => Err(ffi::SQLITE_IOERR_LOCK),
        };
        if self.0 >= level {
            return Ok(());
        }
        match level {
            ffi::SQLITE_LOCK_SHARED => {
                // By way of PENDING, as SQLite does: a writer that waits has it, and keeps new readers out.
                take(PENDING, ByteLock::Read)?;
                // PENDING is released also if SHARED is refused.
                let taken = take(SHARED, ByteLock::Read);
                let released = take(PENDING, ByteLock::None);
                taken.and(released)?;
            }
            ffi::SQLITE_LOCK_RESERVED => take(RESERVED, ByteLock::Write)?,
            _ => {
                if self.0 == ffi::SQLITE_LOCK_RESERVED {
                    take(PENDING, ByteLock::Write)?;
                    self.0 = ffi::SQLITE_LOCK_PENDING;
                }
                take(SHARED, ByteLock::Write)?;
            }
        }
        self.0 = level;
        Ok(())
    }

    /// Lowers it to SHARED or NONE.
    pub fn lower(&mut self, file: &GuardedFile, level: c_int) -> Result<(), c_int> {
        if self.0 <= level {
            return Ok(());
        }
        let failed = |_| ffi::SQLITE_IOERR_UNLOCK;
        if level == ffi::SQLITE_LOCK_SHARED {
            // Without a moment in between: others may want EXCLUSIVE.
            file.lock(SHARED, ByteLock::Read)
                .map_err(|_| ffi::SQLITE_IOERR_RDLOCK)?;
            // The bytes of PENDING and RESERVED.
            file.lock((PENDING.0, 2), ByteLock::None).map_err(failed)?;
        } else {
            file.lock(LOCK_BYTES, ByteLock::None).map_err(failed)?;
        }
        self.0 = level;
        Ok(())
    }

    /// Returns true if a connection of any process is about to write.
    pub fn is_reserved(&self, file: &GuardedFile) -> Result<bool, c_int> {
        let asked = file.is_locked(RESERVED, ByteLock::Write);
        let asked = asked.map_err(|_| ffi::SQLITE_IOERR_CHECKRESERVEDLOCK)?;
        Ok(self.0 > ffi::SQLITE_LOCK_SHARED || asked)
    }
}
