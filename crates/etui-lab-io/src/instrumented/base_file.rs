//! [`BaseFile`]: a file of the base VFS. Its methods check for null.

use std::os::raw::{c_int, c_void};

use libsqlite3_sys as ffi;

/// A result code of SQLite other than `SQLITE_OK`.
pub(super) type SqliteCode = c_int;

/// An open file of the base VFS.
///
/// The pointer is valid from [`BaseFile::new`], whose caller guarantees it, to
/// [`BaseFile::close`].
#[derive(Debug)]
pub(super) struct BaseFile(*mut ffi::sqlite3_file);

fn to_result(code: c_int) -> Result<(), SqliteCode> {
    if code == ffi::SQLITE_OK {
        Ok(())
    } else {
        Err(code)
    }
}

fn to_offset(offset: u64) -> Result<i64, SqliteCode> {
    i64::try_from(offset).map_err(|_| ffi::SQLITE_TOOBIG)
}

/// Calls a method of the file. Returns `$missing` if the base VFS does not have it.
macro_rules! call {
    ($base:expr, $method:ident or $missing:expr $(, $argument:expr)*) => {{
        let file = $base.0;
        // SAFETY: the file is open (see `BaseFile`), so its methods are valid.
        match unsafe { (*(*file).pMethods).$method } {
            // SAFETY: the method belongs to the file; the callers of this macro justify the
            // other arguments.
            Some(method) => unsafe { method(file $(, $argument)*) },
            None => $missing,
        }
    }};
}

impl BaseFile {
    /// # Safety
    ///
    /// The base VFS opened `file` successfully, and it stays in place until it is closed.
    pub unsafe fn new(file: *mut ffi::sqlite3_file) -> Self {
        Self(file)
    }

    /// Returns the version of its methods.
    pub fn version(&self) -> c_int {
        // SAFETY: the file is open (see `BaseFile`).
        unsafe { (*(*self.0).pMethods).iVersion }
    }

    pub fn close(&self) -> Result<(), SqliteCode> {
        to_result(call!(self, xClose or ffi::SQLITE_OK))
    }

    /// Reads. A short read is an error, and sets the rest of the bytes to zero.
    ///
    /// # Safety
    ///
    /// `to` is writable for `length` bytes.
    pub unsafe fn read(
        &self,
        to: *mut c_void,
        length: c_int,
        offset: i64,
    ) -> Result<(), SqliteCode> {
        to_result(call!(self, xRead or ffi::SQLITE_IOERR_READ, to, length, offset))
    }

    pub fn write(&self, data: &[u8], offset: u64) -> Result<(), SqliteCode> {
        let length = c_int::try_from(data.len()).map_err(|_| ffi::SQLITE_TOOBIG)?;
        let from = data.as_ptr().cast();
        to_result(call!(self, xWrite or ffi::SQLITE_IOERR_WRITE, from, length, to_offset(offset)?))
    }

    pub fn truncate(&self, size: u64) -> Result<(), SqliteCode> {
        to_result(call!(self, xTruncate or ffi::SQLITE_IOERR_TRUNCATE, to_offset(size)?))
    }

    pub fn sync(&self, flags: c_int) -> Result<(), SqliteCode> {
        to_result(call!(self, xSync or ffi::SQLITE_IOERR_FSYNC, flags))
    }

    pub fn size(&self) -> Result<u64, SqliteCode> {
        let mut size = 0_i64;
        let to: *mut i64 = &raw mut size;
        to_result(call!(self, xFileSize or ffi::SQLITE_IOERR_FSTAT, to))?;
        Ok(u64::try_from(size).unwrap_or(0))
    }

    pub fn unlock(&self, level: c_int) -> Result<(), SqliteCode> {
        to_result(call!(self, xUnlock or ffi::SQLITE_IOERR_UNLOCK, level))
    }

    /// # Safety
    ///
    /// `argument` is valid for the operation.
    pub unsafe fn control(&self, operation: c_int, argument: *mut c_void) -> c_int {
        call!(self, xFileControl or ffi::SQLITE_NOTFOUND, operation, argument)
    }
}
