//! The methods of an open file as SQLite calls them: from raw pointers to [`OpenFile`].

use std::os::raw::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{Ordering, fence};

use etui_vfs_base::fork::fork_count;
use libsqlite3_sys as ffi;

use super::connection::{self, DatabaseConnection, OpenFile};
use super::session::ResultCode;
use crate::device::File;

/// SQLite's memory of an open file.
#[repr(C)]
pub(super) struct FileHandle {
    base: ffi::sqlite3_file,
    open: *mut OpenFile,
    /// The fork count of the process that opened it.
    forks: u64,
}

impl FileHandle {
    /// Marks the file as not open.
    ///
    /// # Safety
    ///
    /// `file` was passed to `xOpen` of this VFS, with `szOsFile` bytes.
    pub unsafe fn clear(file: *mut ffi::sqlite3_file) {
        // SAFETY: every file begins with its methods.
        unsafe { (&raw mut (*file).pMethods).write(ptr::null()) };
    }

    /// Marks the file as open.
    ///
    /// # Safety
    ///
    /// As for [`FileHandle::clear`].
    pub unsafe fn init(file: *mut ffi::sqlite3_file, open: OpenFile) {
        let methods: *const ffi::sqlite3_io_methods = match open {
            OpenFile::Database(_) => &DATABASE,
            OpenFile::Journal(_) | OpenFile::Wal(_) => &OTHER,
        };
        let handle: *mut FileHandle = file.cast();
        // SAFETY: the memory is valid and aligned, and its contents need no drop.
        unsafe {
            (&raw mut (*handle).open).write(Box::into_raw(Box::new(open)));
            (&raw mut (*handle).forks).write(fork_count());
            (&raw mut (*handle).base.pMethods).write(methods);
        }
    }

    /// Returns the connection of a file, if it is a database of this VFS.
    ///
    /// # Safety
    ///
    /// `file` is null or a file of some VFS; no other method of it is running.
    pub unsafe fn connection<'a>(file: *mut ffi::sqlite3_file) -> Option<&'a DatabaseConnection> {
        if file.is_null() {
            return None;
        }
        // SAFETY: a file begins with its methods; `fill` initialised a file with ours.
        unsafe {
            if !ptr::eq((*file).pMethods, &raw const DATABASE) {
                return None;
            }
            match &*(*file.cast::<FileHandle>()).open {
                OpenFile::Database(connection) => Some(connection),
                OpenFile::Journal(_) | OpenFile::Wal(_) => None,
            }
        }
    }
}

/// Returns the state of a file, or an error if it belongs to the parent process.
///
/// # Safety
///
/// `file` is an open file of this VFS. SQLite never calls two methods of a file concurrently, so
/// there is no other reference to its state.
unsafe fn file_state<'a>(file: *mut ffi::sqlite3_file) -> Result<&'a mut OpenFile, ResultCode> {
    let handle: *mut FileHandle = file.cast();
    // SAFETY: as above; the state lives from `fill` to `close`.
    unsafe {
        if (*handle).forks != fork_count() {
            return Err(ffi::SQLITE_MISUSE);
        }
        Ok(&mut *(*handle).open)
    }
}

/// Returns the state of a database.
///
/// # Safety
///
/// As for [`file_state`].
unsafe fn database_state<'a>(
    file: *mut ffi::sqlite3_file,
) -> Result<&'a mut DatabaseConnection, ResultCode> {
    // SAFETY: as the caller promises.
    match unsafe { file_state(file)? } {
        OpenFile::Database(connection) => Ok(connection),
        OpenFile::Journal(_) | OpenFile::Wal(_) => Err(ffi::SQLITE_MISUSE),
    }
}

fn to_code(done: Result<(), ResultCode>) -> c_int {
    done.err().unwrap_or(ffi::SQLITE_OK)
}

/// Databases have a wal-index and mappings; other files have neither.
static DATABASE: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 3,
    xClose: Some(file_close),
    xRead: Some(file_read),
    xWrite: Some(file_write),
    xTruncate: Some(file_truncate),
    xSync: Some(file_sync),
    xFileSize: Some(file_size),
    xLock: Some(file_lock),
    xUnlock: Some(file_unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: Some(file_fetch),
    xUnfetch: Some(file_unfetch),
};

static OTHER: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 1,
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
    ..DATABASE
};

// SAFETY of all functions below: SQLite calls a method with an open file that `xOpen` has
// initialised, and with pointers to memory of the size that sqlite3.h specifies.

unsafe extern "C" fn file_close(file: *mut ffi::sqlite3_file) -> c_int {
    let handle: *mut FileHandle = file.cast();
    // SAFETY: `fill` made the state by Box::into_raw, and SQLite does not use the file afterwards.
    unsafe {
        let ours = (*handle).forks == fork_count();
        let open = Box::from_raw((*handle).open);
        FileHandle::clear(file);
        if !ours {
            // Locks and descriptors belong to the parent and are left alone.
            let _ = Box::into_raw(open);
        } else if let OpenFile::Wal(wal) = *open {
            wal.close();
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_read(
    file: *mut ffi::sqlite3_file,
    to: *mut c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    let (Ok(length), Ok(offset)) = (usize::try_from(length), u64::try_from(offset)) else {
        return ffi::SQLITE_IOERR_READ;
    };
    // SAFETY: see above. The uninitialised rest of the buffer is written before it is read.
    unsafe {
        let open = match file_state(file) {
            Ok(open) => open,
            Err(code) => return code,
        };
        let to = std::slice::from_raw_parts_mut(to.cast::<u8>(), length);
        to_code(match open {
            OpenFile::Database(connection) => connection.read(to, offset),
            OpenFile::Journal(journal) => connection::read(to, |to| journal.read(to, offset)),
            OpenFile::Wal(wal) => wal.read(to, offset),
        })
    }
}

unsafe extern "C" fn file_write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    let (Ok(length), Ok(offset)) = (usize::try_from(length), u64::try_from(offset)) else {
        return ffi::SQLITE_IOERR_WRITE;
    };
    // SAFETY: see above.
    unsafe {
        let data = std::slice::from_raw_parts(from.cast::<u8>(), length);
        to_code(file_state(file).and_then(|open| match open {
            OpenFile::Database(connection) => connection.write(data, offset),
            OpenFile::Journal(journal) => journal.write(data, offset),
            OpenFile::Wal(wal) => wal.write(data, offset),
        }))
    }
}

unsafe extern "C" fn file_truncate(
    file: *mut ffi::sqlite3_file,
    size: ffi::sqlite3_int64,
) -> c_int {
    let Ok(size) = u64::try_from(size) else {
        return ffi::SQLITE_IOERR_TRUNCATE;
    };
    // SAFETY: see above.
    to_code(unsafe { file_state(file) }.and_then(|open| match open {
        OpenFile::Database(connection) => connection.truncate(size),
        OpenFile::Journal(journal) => journal.truncate(size),
        OpenFile::Wal(wal) => wal.truncate(size),
    }))
}

unsafe extern "C" fn file_sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: see above.
    to_code(unsafe { file_state(file) }.and_then(|open| match open {
        OpenFile::Database(connection) => connection.sync(),
        OpenFile::Journal(journal) => journal.sync(),
        OpenFile::Wal(wal) => wal.sync(),
    }))
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, to: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: see above.
    let size = unsafe { file_state(file) }.and_then(|open| match open {
        OpenFile::Database(connection) => connection.size(),
        OpenFile::Journal(journal) => journal.file().len().map_err(|_| ffi::SQLITE_IOERR_FSTAT),
        OpenFile::Wal(wal) => Ok(wal.size()),
    });
    match size {
        Ok(size) => {
            // SAFETY: see above.
            unsafe { *to = i64::try_from(size).unwrap_or(i64::MAX) };
            ffi::SQLITE_OK
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn file_lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    match unsafe { file_state(file) } {
        Ok(OpenFile::Database(connection)) => to_code(connection.lock(level)),
        Ok(OpenFile::Journal(_) | OpenFile::Wal(_)) => ffi::SQLITE_OK,
        Err(code) => code,
    }
}

unsafe extern "C" fn file_unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    match unsafe { file_state(file) } {
        Ok(OpenFile::Database(connection)) => connection.unlock(level),
        Ok(OpenFile::Journal(_) | OpenFile::Wal(_)) => {}
        Err(code) => return code,
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, to: *mut c_int) -> c_int {
    // SAFETY: see above.
    unsafe {
        *to = match file_state(file) {
            Ok(OpenFile::Database(connection)) => c_int::from(connection.is_reserved()),
            Ok(OpenFile::Journal(_) | OpenFile::Wal(_)) => 0,
            Err(code) => return code,
        };
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        match file_state(file) {
            Ok(OpenFile::Database(connection)) => connection.control(operation, argument),
            Ok(OpenFile::Journal(_) | OpenFile::Wal(_)) => ffi::SQLITE_NOTFOUND,
            Err(code) => code,
        }
    }
}

/// Returns the unit that a power failure leaves old or new, as far as SQLite asks.
unsafe extern "C" fn sector_size(_file: *mut ffi::sqlite3_file) -> c_int {
    4096
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: see above.
    match unsafe { file_state(file) } {
        Ok(OpenFile::Database(connection)) => connection.device_characteristics(),
        Ok(OpenFile::Journal(_) | OpenFile::Wal(_)) | Err(_) => {
            ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
        }
    }
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: see above.
    let mapped =
        unsafe { database_state(file) }.and_then(|c| c.map_index(region, size, extend != 0));
    // SAFETY: see above.
    unsafe { *to = mapped.unwrap_or(ptr::null_mut()).cast() };
    mapped.err().unwrap_or(ffi::SQLITE_OK)
}

unsafe extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: see above.
    to_code(unsafe { database_state(file) }.and_then(|c| c.lock_index(offset, count, flags)))
}

unsafe extern "C" fn shm_barrier(_file: *mut ffi::sqlite3_file) {
    fence(Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: see above.
    to_code(unsafe { database_state(file) }.map(|c| c.unmap_index(delete != 0)))
}

unsafe extern "C" fn file_fetch(
    file: *mut ffi::sqlite3_file,
    offset: ffi::sqlite3_int64,
    length: c_int,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: see above.
    let mapped = unsafe { database_state(file) }.and_then(|c| c.fetch(offset, length));
    // SAFETY: see above.
    unsafe { *to = mapped.unwrap_or(ptr::null_mut()) };
    mapped.err().unwrap_or(ffi::SQLITE_OK)
}

unsafe extern "C" fn file_unfetch(
    file: *mut ffi::sqlite3_file,
    offset: ffi::sqlite3_int64,
    page: *mut c_void,
) -> c_int {
    // SAFETY: see above; the page came from `fetch`.
    unsafe {
        match database_state(file) {
            Ok(connection) => connection.unfetch(offset, page),
            Err(code) => code,
        }
    }
}
