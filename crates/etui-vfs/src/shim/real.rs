//! [`Real`]: the file of the VFS below, its methods as functions that check for null.

use std::os::raw::{c_int, c_void};
use std::ptr;

use libsqlite3_sys as ffi;

/// A result code of SQLite other than `SQLITE_OK`.
pub(super) type Code = c_int;

/// The most that is given to the unix VFS at once: it takes fewer than 2^17 bytes
/// (os_unix.c, `seekAndWriteFd`).
const MOST: usize = 1 << 16;

/// An open file of the VFS below.
///
/// Whoever makes one promises that the pointer is that of a file which the VFS below has
/// opened, and that it stays in place until [`Real::close`].
#[derive(Debug)]
pub(super) struct Real(*mut ffi::sqlite3_file);

fn checked(code: c_int) -> Result<(), Code> {
    if code == ffi::SQLITE_OK {
        Ok(())
    } else {
        Err(code)
    }
}

fn offset_of(offset: u64) -> Result<i64, Code> {
    i64::try_from(offset).map_err(|_| ffi::SQLITE_TOOBIG)
}

/// Calls a method of the file, or answers a code where the VFS below does not have it.
macro_rules! call {
    ($real:expr, $method:ident or $missing:expr $(, $argument:expr)*) => {{
        let file = $real.0;
        // SAFETY: the file is open (see `Real`), so its methods are there.
        match unsafe { (*(*file).pMethods).$method } {
            // SAFETY: the method belongs to the file; what the other arguments point to is
            // argued for where they are made.
            Some(method) => unsafe { method(file $(, $argument)*) },
            None => $missing,
        }
    }};
}

impl Real {
    /// # Safety
    ///
    /// `file` was opened by the VFS below, with success, and stays in place until it is closed.
    pub unsafe fn new(file: *mut ffi::sqlite3_file) -> Self {
        Self(file)
    }

    /// The version of its methods.
    pub fn version(&self) -> c_int {
        // SAFETY: the file is open (see `Real`).
        unsafe { (*(*self.0).pMethods).iVersion }
    }

    pub fn close(&self) -> Result<(), Code> {
        checked(call!(self, xClose or ffi::SQLITE_OK))
    }

    /// Reads; a file that ends before is an error of its own, and the rest is zero then.
    ///
    /// # Safety
    ///
    /// `to` can be written for `length` bytes.
    pub unsafe fn read_to(&self, to: *mut c_void, length: c_int, offset: i64) -> Result<(), Code> {
        checked(call!(self, xRead or ffi::SQLITE_IOERR_READ, to, length, offset))
    }

    /// Reads; the rest is zero if the file ends before.
    pub fn read(&self, to: &mut [u8], offset: u64) -> Result<(), Code> {
        let length = c_int::try_from(to.len()).map_err(|_| ffi::SQLITE_TOOBIG)?;
        // SAFETY: `to` is a slice of that length.
        match unsafe { self.read_to(to.as_mut_ptr().cast(), length, offset_of(offset)?) } {
            Err(ffi::SQLITE_IOERR_SHORT_READ) => Ok(()),
            done => done,
        }
    }

    /// Writes at most [`MOST`] bytes at once; each part is told.
    pub fn write(
        &self,
        data: &[u8],
        offset: u64,
        mut each: impl FnMut(u64, u64),
    ) -> Result<(), Code> {
        let mut at = offset;
        for part in data.chunks(MOST) {
            // A part has at most 2^16 bytes.
            let length = part.len() as c_int;
            let from = part.as_ptr().cast();
            checked(call!(self, xWrite or ffi::SQLITE_IOERR_WRITE, from, length, offset_of(at)?))?;
            each(at, part.len() as u64);
            at = at.saturating_add(part.len() as u64);
        }
        Ok(())
    }

    pub fn truncate(&self, size: u64) -> Result<(), Code> {
        checked(call!(self, xTruncate or ffi::SQLITE_IOERR_TRUNCATE, offset_of(size)?))
    }

    pub fn sync(&self, flags: c_int) -> Result<(), Code> {
        checked(call!(self, xSync or ffi::SQLITE_IOERR_FSYNC, flags))
    }

    pub fn size(&self) -> Result<u64, Code> {
        let mut size = 0_i64;
        let to: *mut i64 = &raw mut size;
        checked(call!(self, xFileSize or ffi::SQLITE_IOERR_FSTAT, to))?;
        Ok(u64::try_from(size).unwrap_or(0))
    }

    pub fn lock(&self, level: c_int) -> Result<(), Code> {
        checked(call!(self, xLock or ffi::SQLITE_IOERR_LOCK, level))
    }

    pub fn unlock(&self, level: c_int) -> Result<(), Code> {
        checked(call!(self, xUnlock or ffi::SQLITE_IOERR_UNLOCK, level))
    }

    /// # Safety
    ///
    /// `to` can be written.
    pub unsafe fn check_reserved_lock(&self, to: *mut c_int) -> c_int {
        call!(self, xCheckReservedLock or ffi::SQLITE_IOERR_CHECKRESERVEDLOCK, to)
    }

    /// # Safety
    ///
    /// `argument` is what the operation asks for.
    pub unsafe fn control(&self, operation: c_int, argument: *mut c_void) -> c_int {
        call!(self, xFileControl or ffi::SQLITE_NOTFOUND, operation, argument)
    }

    pub fn sector_size(&self) -> c_int {
        call!(self, xSectorSize or 0)
    }

    pub fn characteristics(&self) -> c_int {
        call!(self, xDeviceCharacteristics or 0)
    }

    /// # Safety
    ///
    /// `to` can be written.
    pub unsafe fn shm_map(
        &self,
        region: c_int,
        size: c_int,
        extend: c_int,
        to: *mut *mut c_void,
    ) -> c_int {
        call!(self, xShmMap or ffi::SQLITE_IOERR_SHMMAP, region, size, extend, to)
    }

    pub fn shm_lock(&self, offset: c_int, count: c_int, flags: c_int) -> c_int {
        call!(self, xShmLock or ffi::SQLITE_IOERR_SHMLOCK, offset, count, flags)
    }

    pub fn shm_barrier(&self) {
        call!(self, xShmBarrier or ());
    }

    pub fn shm_unmap(&self, delete: c_int) -> c_int {
        call!(self, xShmUnmap or ffi::SQLITE_OK, delete)
    }

    /// # Safety
    ///
    /// `to` can be written.
    pub unsafe fn fetch(&self, offset: i64, length: c_int, to: *mut *mut c_void) -> c_int {
        // SAFETY: `to` can be written. A VFS that does not map anything answers null.
        unsafe { *to = ptr::null_mut() };
        call!(self, xFetch or ffi::SQLITE_OK, offset, length, to)
    }

    /// # Safety
    ///
    /// `page` came from [`Real::fetch`] at this offset, or is null.
    pub unsafe fn unfetch(&self, offset: i64, page: *mut c_void) -> c_int {
        call!(self, xUnfetch or ffi::SQLITE_OK, offset, page)
    }
}
