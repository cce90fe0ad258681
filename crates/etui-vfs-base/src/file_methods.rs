//! The methods of an open database as SQLite calls them: from raw pointers to [`DatabaseFile`], or on to
//! SQLite's own VFS.

use std::os::raw::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{Ordering, fence};

use libsqlite3_sys as ffi;

use crate::database::DatabaseFile;
use crate::fork::fork_count;

/// SQLite's memory of an open database.
#[repr(C)]
pub(crate) struct DatabaseHandle {
    base: ffi::sqlite3_file,
    open: *mut DatabaseFile,
    /// The fork count of the process that opened it.
    forks: u64,
}

impl DatabaseHandle {
    /// Marks the file as open.
    ///
    /// # Safety
    ///
    /// `file` was passed to `xOpen` with the memory of a handle.
    pub unsafe fn init(file: *mut ffi::sqlite3_file, open: DatabaseFile) {
        let handle: *mut Self = file.cast();
        // SAFETY: the memory is valid and aligned, and its contents need no drop.
        unsafe {
            (&raw mut (*handle).open).write(Box::into_raw(Box::new(open)));
            (&raw mut (*handle).forks).write(fork_count());
            (&raw mut (*handle).base.pMethods).write(&DATABASE);
        }
    }
}

/// Returns the state of a database, or an error if it belongs to the parent process.
///
/// # Safety
///
/// `file` is an open file of this VFS. SQLite never calls two methods of a file concurrently, so
/// there is no other reference to its state.
unsafe fn state<'a>(file: *mut ffi::sqlite3_file) -> Result<&'a mut DatabaseFile, c_int> {
    let handle: *mut DatabaseHandle = file.cast();
    // SAFETY: as above; the state lives from `init` to `file_close`.
    unsafe {
        if (*handle).forks != fork_count() {
            return Err(ffi::SQLITE_MISUSE);
        }
        Ok(&mut *(*handle).open)
    }
}

fn to_code(done: Result<(), c_int>) -> c_int {
    done.err().unwrap_or(ffi::SQLITE_OK)
}

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

// SAFETY of all functions below: SQLite calls a method with an open file that `xOpen` has
// initialised, and with pointers to memory of the size that sqlite3.h specifies.

/// Defines a method that calls that of the file below.
macro_rules! forward {
    ($name:ident = $method:ident($($argument:ident: $kind:ty),*) => $missing:expr) => {
        unsafe extern "C" fn $name(file: *mut ffi::sqlite3_file $(, $argument: $kind)*) -> c_int {
            // SAFETY: see above; the file below is open as long as this one, and the arguments are
            // passed unchanged.
            unsafe {
                let below = match state(file) {
                    Ok(open) => open.below(),
                    Err(code) => return code,
                };
                match (*(*below).pMethods).$method {
                    Some(method) => method(below $(, $argument)*),
                    None => $missing,
                }
            }
        }
    };
}

forward!(file_read = xRead(to: *mut c_void, length: c_int, offset: ffi::sqlite3_int64)
    => ffi::SQLITE_IOERR_READ);
forward!(file_write = xWrite(from: *const c_void, length: c_int, offset: ffi::sqlite3_int64)
    => ffi::SQLITE_IOERR_WRITE);
forward!(file_truncate = xTruncate(size: ffi::sqlite3_int64) => ffi::SQLITE_IOERR_TRUNCATE);
forward!(file_sync = xSync(flags: c_int) => ffi::SQLITE_IOERR_FSYNC);
forward!(file_size = xFileSize(to: *mut ffi::sqlite3_int64) => ffi::SQLITE_IOERR_FSTAT);
forward!(sector_size = xSectorSize() => 4096);
forward!(device_characteristics = xDeviceCharacteristics() => 0);
forward!(file_unfetch = xUnfetch(offset: ffi::sqlite3_int64, page: *mut c_void) => ffi::SQLITE_OK);
forward!(fetch_below = xFetch(offset: ffi::sqlite3_int64, length: c_int, to: *mut *mut c_void)
    => ffi::SQLITE_OK);
forward!(control_below = xFileControl(operation: c_int, argument: *mut c_void)
    => ffi::SQLITE_NOTFOUND);

unsafe extern "C" fn file_close(file: *mut ffi::sqlite3_file) -> c_int {
    let handle: *mut DatabaseHandle = file.cast();
    // SAFETY: `init` made the state by Box::into_raw, and SQLite does not use the file afterwards.
    unsafe {
        let is_ours = (*handle).forks == fork_count();
        let open = Box::from_raw((*handle).open);
        (&raw mut (*handle).base.pMethods).write(ptr::null());
        if !is_ours {
            // Locks and descriptors belong to the parent and are left alone.
            let _ = Box::into_raw(open);
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    to_code(unsafe { state(file) }.and_then(|open| open.lock(level)))
}

unsafe extern "C" fn file_unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    to_code(unsafe { state(file) }.and_then(|open| open.unlock(level)))
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, to: *mut c_int) -> c_int {
    // SAFETY: see above.
    let asked = unsafe { state(file) }.and_then(|open| open.is_reserved());
    // SAFETY: see above.
    unsafe { *to = c_int::from(asked == Ok(true)) };
    asked.err().unwrap_or(ffi::SQLITE_OK)
}

unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let own = match state(file) {
            Ok(open) => open.control(operation, argument),
            Err(code) => return code,
        };
        own.unwrap_or_else(|| control_below(file, operation, argument))
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
    let mapped = unsafe { state(file) }.and_then(|open| open.map_index(region, size, extend != 0));
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
    to_code(unsafe { state(file) }.and_then(|open| open.lock_index(offset, count, flags)))
}

unsafe extern "C" fn shm_barrier(_file: *mut ffi::sqlite3_file) {
    fence(Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: see above.
    to_code(unsafe { state(file) }.map(|open| open.unmap_index(delete != 0)))
}

unsafe extern "C" fn file_fetch(
    file: *mut ffi::sqlite3_file,
    offset: ffi::sqlite3_int64,
    length: c_int,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        *to = ptr::null_mut();
        match state(file).map(|open| open.wants_mapping()) {
            Ok(true) => fetch_below(file, offset, length, to),
            Ok(false) => ffi::SQLITE_OK,
            Err(code) => code,
        }
    }
}
