//! [`SqliteFile`]: a file opened by SQLite's own VFS.

use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::io;
use std::os::raw::{c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use libsqlite3_sys as ffi;

use crate::base_vfs::BaseVfs;
use crate::file_methods::{OpenFile, methods};

/// The maximum size of a write: SQLite's VFS accepts fewer than 2^17 bytes.
const MOST: usize = (1 << 17) - 4096;

/// The bytes before a name that SQLite opens.
const NAME_BEGIN: [u8; 4] = [0; 4];

/// A file opened by SQLite's own VFS.
#[derive(Debug)]
pub struct SqliteFile {
    /// The VFS's memory of the file, in 8-byte words for C's alignment.
    file: Box<[UnsafeCell<u64>]>,
    /// The VFS requires the name to stay in place.
    name: Option<Vec<u8>>,
    /// The VFS seeks and then reads or writes, which must not happen concurrently.
    turn: Mutex<()>,
}

/// A result code of SQLite's VFS, as the source of an error.
#[derive(Debug, thiserror::Error)]
#[error("SQLite's VFS answered {0}")]
pub struct VfsErrorCode(pub c_int);

fn failed(code: c_int) -> io::Error {
    match code & 0xff {
        ffi::SQLITE_FULL => io::ErrorKind::StorageFull.into(),
        ffi::SQLITE_READONLY => io::ErrorKind::PermissionDenied.into(),
        ffi::SQLITE_NOMEM => io::ErrorKind::OutOfMemory.into(),
        _ => io::Error::other(VfsErrorCode(code)),
    }
}

/// Calls a method of a [`SqliteFile`]. Returns `missing` if the VFS does not have it.
macro_rules! call {
    ($this:expr, $method:ident or $missing:expr $(, $argument:expr)*) => {{
        let file = $this.raw();
        // SAFETY: the file is open from `SqliteFile::open` until it is dropped, so its methods are
        // valid.
        match unsafe { (*(*file).pMethods).$method } {
            // SAFETY: the method belongs to the file; the callers of this macro justify the other
            // arguments.
            Some(method) => unsafe { method(file $(, $argument)*) },
            None => $missing,
        }
    }};
}

fn to_io(code: c_int) -> io::Result<()> {
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(failed(code)),
    }
}

#[expect(
    clippy::len_without_is_empty,
    reason = "a size in bytes, which may fail"
)]
impl SqliteFile {
    /// Opens a file by the VFS with this name.
    ///
    /// # Errors
    ///
    /// There is no such VFS, or it does not open the file.
    pub fn open_by(vfs: &CStr, path: &Path, flags: c_int) -> io::Result<Self> {
        let host = BaseVfs::find_named(vfs).map_err(io::Error::other)?;
        Self::open(&host, Some(path), flags)
    }

    /// Opens a file by a VFS, with SQLite's flags; `None`: an unnamed temporary file.
    ///
    /// # Errors
    ///
    /// The VFS does not open it as asked for.
    pub fn open(host: &BaseVfs, path: Option<&Path>, flags: c_int) -> io::Result<Self> {
        let vfs = host.vfs();
        // SAFETY: the VFS is registered.
        let (size, open) = unsafe { ((*vfs).szOsFile, (*vfs).xOpen) };
        let open = open.ok_or(io::ErrorKind::Unsupported)?;
        // As `sqlite3_create_filename` makes it: SQLite looks for four zeros before the name, and for the
        // parameters of a URI after it.
        let name = path.map(|path| [&NAME_BEGIN, path.as_os_str().as_bytes(), &[0, 0]].concat());
        // A zero byte in the path would end the name early.
        if name.as_ref().is_some_and(|name| {
            name.iter().filter(|byte| **byte == 0).count() > NAME_BEGIN.len() + 2
        }) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let opened = Self::unopened(size, name);
        let name = opened
            .name
            .as_ref()
            .map_or(ptr::null(), |name| name[NAME_BEGIN.len()..].as_ptr().cast());
        let mut answered = flags;
        // SAFETY: the name is null or a C string with a second zero. It stays in place until the
        // file is dropped, as does the file's memory, which has the size that the VFS requested.
        let code = unsafe { open(vfs, name, opened.raw(), flags, &raw mut answered) };
        // SAFETY: we own the memory; a file begins with its methods.
        let is_open = unsafe { !(*opened.raw()).pMethods.is_null() };
        if code != ffi::SQLITE_OK || !is_open {
            // Dropping closes the file if necessary.
            let error = match (flags & ffi::SQLITE_OPEN_CREATE, path) {
                (0, Some(path)) if !path.exists() => io::ErrorKind::NotFound.into(),
                _ => failed(code),
            };
            return Err(error);
        }
        // SQLite opens a file that it may not write to read only.
        if answered & ffi::SQLITE_OPEN_READONLY != 0 && flags & ffi::SQLITE_OPEN_READWRITE != 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(opened)
    }

    /// Opens a file as SQLite asks for it: `name` stays valid while the file is open.
    ///
    /// # Errors
    ///
    /// SQLite's code.
    ///
    /// # Safety
    ///
    /// The arguments are those of `xOpen`.
    #[doc(hidden)]
    pub unsafe fn open_as(
        host: &BaseVfs,
        name: ffi::sqlite3_filename,
        flags: c_int,
        out_flags: *mut c_int,
    ) -> Result<Self, c_int> {
        let vfs = host.vfs();
        // SAFETY: the VFS is registered.
        let (size, open) = unsafe { ((*vfs).szOsFile, (*vfs).xOpen) };
        let opened = Self::unopened(size, None);
        let open = open.ok_or(ffi::SQLITE_CANTOPEN)?;
        // SAFETY: as the caller promises; the file's memory has the size that the VFS requested.
        let code = unsafe { open(vfs, name, opened.raw(), flags, out_flags) };
        // SAFETY: we own the memory; a file begins with its methods. Dropping closes one that has any.
        match (code, unsafe { (*opened.raw()).pMethods.is_null() }) {
            (ffi::SQLITE_OK, false) => Ok(opened),
            (ffi::SQLITE_OK, true) => Err(ffi::SQLITE_CANTOPEN),
            (code, _) => Err(code),
        }
    }

    fn unopened(size: c_int, name: Option<Vec<u8>>) -> Self {
        // At least one word, so that the address is that of memory.
        let words = usize::try_from(size).unwrap_or(0).div_ceil(8).max(1);
        Self {
            file: (0..words).map(|_| UnsafeCell::new(0)).collect(),
            name,
            turn: Mutex::new(()),
        }
    }

    /// Returns the file as SQLite sees it. It is open until this is dropped.
    fn raw(&self) -> *mut ffi::sqlite3_file {
        self.file.as_ptr().cast_mut().cast()
    }

    /// Resets the settings of the last connection.
    pub(crate) fn reset(&mut self) {
        let (mut keeps_wal, mut chunk): (c_int, c_int) = (0, 0);
        // SAFETY: both operations read an int, and the first writes it.
        unsafe {
            self.control(ffi::SQLITE_FCNTL_PERSIST_WAL, (&raw mut keeps_wal).cast());
            self.control(ffi::SQLITE_FCNTL_CHUNK_SIZE, (&raw mut chunk).cast());
        }
    }

    fn one_at_a_time(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the file does not have the name by which it was opened.
    pub fn has_moved(&mut self) -> bool {
        let mut moved: c_int = 0;
        // SAFETY: the operation writes an int.
        let code = unsafe { self.control(ffi::SQLITE_FCNTL_HAS_MOVED, (&raw mut moved).cast()) };
        code == ffi::SQLITE_OK && moved != 0
    }

    /// Reads at `offset`. Returns the number of bytes, which is smaller than requested only at the end
    /// of the file.
    ///
    /// # Errors
    ///
    /// The VFS failed.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let _turn = self.one_at_a_time();
        self.read_part(bytes, offset)
    }

    /// Reads like [`SqliteFile::read_at`], with exclusive access.
    ///
    /// # Errors
    ///
    /// The VFS failed.
    pub fn read_exclusive(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_part(bytes, offset)
    }

    /// Reads; the caller holds `turn` or an exclusive reference.
    fn read_part(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let to: *mut c_void = bytes.as_mut_ptr().cast();
        let length = c_int::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let at = i64::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        match call!(self, xRead or ffi::SQLITE_IOERR_READ, to, length, at) {
            ffi::SQLITE_OK => Ok(bytes.len()),
            ffi::SQLITE_IOERR_SHORT_READ => {
                // A short read does not report the number of bytes.
                let left = self.file_size()?.saturating_sub(offset);
                Ok(usize::try_from(left).map_or(bytes.len(), |n| n.min(bytes.len())))
            }
            code => Err(failed(code)),
        }
    }

    fn file_size(&self) -> io::Result<u64> {
        let mut size = 0_i64;
        let to: *mut i64 = &raw mut size;
        to_io(call!(self, xFileSize or ffi::SQLITE_IOERR_FSTAT, to))?;
        Ok(u64::try_from(size).unwrap_or(0))
    }

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    ///
    /// The VFS failed; a part may have been written.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let _turn = self.one_at_a_time();
        let mut at = i64::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        for part in bytes.chunks(MOST) {
            let from: *const c_void = part.as_ptr().cast();
            // A part has fewer than 2^17 bytes.
            let length = part.len() as c_int;
            let code = call!(self, xWrite or ffi::SQLITE_IOERR_WRITE, from, length, at);
            to_io(code).map_err(|error| self.name_quota(error))?;
            at += i64::from(length);
        }
        Ok(())
    }

    /// Returns the size in bytes.
    ///
    /// # Errors
    ///
    /// The VFS failed.
    pub fn len(&self) -> io::Result<u64> {
        let _turn = self.one_at_a_time();
        self.file_size()
    }

    /// Sets the size.
    ///
    /// # Errors
    ///
    /// The VFS failed.
    pub fn set_len(&self, len: u64) -> io::Result<()> {
        let _turn = self.one_at_a_time();
        let len = i64::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
        let code = call!(self, xTruncate or ffi::SQLITE_IOERR_TRUNCATE, len);
        to_io(code).map_err(|error| self.name_quota(error))
    }

    /// Returns the system's error of a write that a quota or a limit of sizes refused: for SQLite, which knows
    /// a full disk, that is any I/O error.
    fn name_quota(&self, error: io::Error) -> io::Error {
        let mut number: c_int = 0;
        let to: *mut c_void = (&raw mut number).cast();
        let operation = ffi::SQLITE_FCNTL_LAST_ERRNO;
        let code = call!(self, xFileControl or ffi::SQLITE_NOTFOUND, operation, to);
        let system = io::Error::from_raw_os_error(number);
        match system.kind() {
            io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
                if code == ffi::SQLITE_OK =>
            {
                system
            }
            _ => error,
        }
    }

    /// Makes writes and the size durable.
    ///
    /// # Errors
    ///
    /// The flush failed.
    pub fn sync(&self) -> io::Result<()> {
        let _turn = self.one_at_a_time();
        let flags = ffi::SQLITE_SYNC_NORMAL | ffi::SQLITE_SYNC_DATAONLY;
        to_io(call!(self, xSync or ffi::SQLITE_IOERR_FSYNC, flags))
    }

    /// Raises SQLite's own lock of the file. Returns SQLite's code.
    pub fn raise_lock(&self, level: c_int) -> c_int {
        let _turn = self.one_at_a_time();
        call!(self, xLock or ffi::SQLITE_IOERR_LOCK, level)
    }

    /// Lowers SQLite's own lock of the file to SHARED or NONE. Returns SQLite's code.
    pub fn lower_lock(&self, level: c_int) -> c_int {
        let _turn = self.one_at_a_time();
        call!(self, xUnlock or ffi::SQLITE_OK, level)
    }
}

fn to_result(code: c_int) -> Result<(), c_int> {
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(code),
    }
}

fn length_of(bytes: &[u8]) -> Result<c_int, c_int> {
    c_int::try_from(bytes.len()).map_err(|_| ffi::SQLITE_TOOBIG)
}

fn signed(offset: u64) -> Result<i64, c_int> {
    i64::try_from(offset).map_err(|_| ffi::SQLITE_TOOBIG)
}

/// As the VFS has it: what it does not have is an error, or nothing.
impl OpenFile for SqliteFile {
    fn table() -> &'static ffi::sqlite3_io_methods {
        static TABLE: ffi::sqlite3_io_methods = methods::<SqliteFile>(true);
        &TABLE
    }

    fn read(&mut self, to: &mut [u8], offset: u64) -> Result<(), c_int> {
        let (length, offset) = (length_of(to)?, signed(offset)?);
        let to: *mut c_void = to.as_mut_ptr().cast();
        to_result(call!(self, xRead or ffi::SQLITE_IOERR_READ, to, length, offset))
    }

    fn write(&mut self, bytes: &[u8], offset: u64) -> Result<(), c_int> {
        let (length, offset) = (length_of(bytes)?, signed(offset)?);
        let from: *const c_void = bytes.as_ptr().cast();
        to_result(call!(self, xWrite or ffi::SQLITE_IOERR_WRITE, from, length, offset))
    }

    fn truncate(&mut self, size: u64) -> Result<(), c_int> {
        to_result(call!(self, xTruncate or ffi::SQLITE_IOERR_TRUNCATE, signed(size)?))
    }

    fn sync(&mut self, flags: c_int) -> Result<(), c_int> {
        to_result(call!(self, xSync or ffi::SQLITE_IOERR_FSYNC, flags))
    }

    fn size(&mut self) -> Result<u64, c_int> {
        let mut size = 0_i64;
        let to: *mut i64 = &raw mut size;
        to_result(call!(self, xFileSize or ffi::SQLITE_IOERR_FSTAT, to))?;
        Ok(u64::try_from(size).unwrap_or(0))
    }

    fn lock(&mut self, level: c_int) -> Result<(), c_int> {
        to_result(call!(self, xLock or ffi::SQLITE_IOERR_LOCK, level))
    }

    fn unlock(&mut self, level: c_int) -> Result<(), c_int> {
        to_result(call!(self, xUnlock or ffi::SQLITE_IOERR_UNLOCK, level))
    }

    fn is_reserved(&mut self) -> Result<bool, c_int> {
        let mut is_reserved: c_int = 0;
        let to: *mut c_int = &raw mut is_reserved;
        let missing = ffi::SQLITE_IOERR_CHECKRESERVEDLOCK;
        to_result(call!(self, xCheckReservedLock or missing, to))?;
        Ok(is_reserved != 0)
    }

    unsafe fn control(&mut self, operation: c_int, argument: *mut c_void) -> c_int {
        call!(self, xFileControl or ffi::SQLITE_NOTFOUND, operation, argument)
    }

    fn sector_size(&mut self) -> c_int {
        call!(self, xSectorSize or 4096)
    }

    fn device_characteristics(&mut self) -> c_int {
        call!(self, xDeviceCharacteristics or 0)
    }

    fn map_index(&mut self, region: c_int, size: c_int, extend: bool) -> Result<*mut u8, c_int> {
        let mut at = ptr::null_mut();
        let (extend, to) = (c_int::from(extend), &raw mut at);
        let to: *mut *mut c_void = to;
        to_result(call!(self, xShmMap or ffi::SQLITE_IOERR_SHMMAP, region, size, extend, to))?;
        Ok(at.cast())
    }

    fn lock_index(&mut self, first: c_int, count: c_int, flags: c_int) -> Result<(), c_int> {
        to_result(call!(self, xShmLock or ffi::SQLITE_IOERR_SHMLOCK, first, count, flags))
    }

    fn unmap_index(&mut self, delete: bool) {
        call!(self, xShmUnmap or ffi::SQLITE_OK, c_int::from(delete));
    }

    fn fetch(&mut self, offset: i64, length: c_int) -> Result<*mut c_void, c_int> {
        let mut at = ptr::null_mut();
        let to: *mut *mut c_void = &raw mut at;
        to_result(call!(self, xFetch or ffi::SQLITE_OK, offset, length, to))?;
        Ok(at)
    }

    unsafe fn unfetch(&mut self, offset: i64, page: *mut c_void) -> c_int {
        call!(self, xUnfetch or ffi::SQLITE_OK, offset, page)
    }
}

// SAFETY: the methods may be called from any thread, one at a time. `turn` or an exclusive
// reference ensures that.
unsafe impl Send for SqliteFile {}
// SAFETY: as above.
unsafe impl Sync for SqliteFile {}

impl Drop for SqliteFile {
    fn drop(&mut self) {
        // SAFETY: we own the memory; a file without methods is not open.
        if unsafe { !(*self.raw()).pMethods.is_null() } {
            call!(self, xClose or ffi::SQLITE_OK);
        }
    }
}
