//! The methods of an open file as SQLite calls them: from raw pointers to [`InstrumentedFile`].

use std::mem;
use std::os::raw::{c_int, c_void};
use std::ptr;

use libsqlite3_sys as ffi;

use super::base_file::SqliteCode;
use super::file::InstrumentedFile;

/// SQLite's memory of an open file. The base VFS's file follows in the same allocation.
///
/// ```text
/// | sqlite3_file | pointer to the state | base VFS's file, szOsFile bytes |
/// ```
#[repr(C)]
pub(super) struct FileHandle {
    base: ffi::sqlite3_file,
    file: *mut InstrumentedFile,
}

/// The offset of the base VFS's file: a multiple of C's maximum alignment.
pub(super) const HANDLE_BYTES: usize = mem::size_of::<FileHandle>().next_multiple_of(16);

impl FileHandle {
    /// Returns the base VFS's file.
    ///
    /// # Safety
    ///
    /// `file` was passed to `xOpen` of this VFS, with `szOsFile` bytes.
    pub unsafe fn base_file(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
        // SAFETY: `szOsFile` of this VFS is HANDLE_BYTES plus that of the base VFS.
        unsafe { file.byte_add(HANDLE_BYTES) }
    }

    /// Marks the file as not open.
    ///
    /// # Safety
    ///
    /// As for [`FileHandle::base_file`].
    pub unsafe fn clear(file: *mut ffi::sqlite3_file) {
        let handle: *mut FileHandle = file.cast();
        // SAFETY: the memory is valid and aligned, and its contents need no drop.
        unsafe {
            (&raw mut (*handle).base.pMethods).write(ptr::null());
            (&raw mut (*handle).file).write(ptr::null_mut());
        }
    }

    /// Marks the file as open, with a state that lives until it is closed.
    ///
    /// # Safety
    ///
    /// As for [`FileHandle::base_file`].
    pub unsafe fn init(at: *mut ffi::sqlite3_file, file: InstrumentedFile) {
        let methods: &'static ffi::sqlite3_io_methods = match file.base().version() {
            i32::MIN..=1 => &VERSION_1,
            2 => &VERSION_2,
            3..=i32::MAX => &VERSION_3,
        };
        let file = Box::into_raw(Box::new(file));
        let handle: *mut FileHandle = at.cast();
        // SAFETY: as in `clear`.
        unsafe {
            (&raw mut (*handle).file).write(file);
            (&raw mut (*handle).base.pMethods).write(methods);
        }
    }
}

/// Returns the state of a file.
///
/// # Safety
///
/// `file` is an open file of this VFS. SQLite never calls two methods of a file concurrently, so
/// there is no other reference to its state.
unsafe fn file_state<'a>(file: *mut ffi::sqlite3_file) -> &'a mut InstrumentedFile {
    // SAFETY: as above; the state lives from `init` to `close`.
    unsafe { &mut *(*file.cast::<FileHandle>()).file }
}

fn to_code(result: Result<(), SqliteCode>) -> c_int {
    result.err().unwrap_or(ffi::SQLITE_OK)
}

static VERSION_1: ffi::sqlite3_io_methods = methods(1);
static VERSION_2: ffi::sqlite3_io_methods = methods(2);
static VERSION_3: ffi::sqlite3_io_methods = methods(3);

const fn methods(version: c_int) -> ffi::sqlite3_io_methods {
    ffi::sqlite3_io_methods {
        iVersion: version,
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
    }
}

// SAFETY of all functions below: SQLite calls a method with an open file, and with pointers to
// memory of the size that sqlite3.h specifies.

unsafe extern "C" fn file_close(file: *mut ffi::sqlite3_file) -> c_int {
    let handle: *mut FileHandle = file.cast();
    // SAFETY: `init` made the state by Box::into_raw, and SQLite does not use the file afterwards.
    unsafe {
        let state = Box::from_raw((*handle).file);
        let closed = state.base().close();
        FileHandle::clear(file);
        to_code(closed)
    }
}

unsafe extern "C" fn file_read(
    file: *mut ffi::sqlite3_file,
    to: *mut c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: see above.
    to_code(unsafe { file_state(file).read(to, length, offset) })
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
        to_code(file_state(file).write(data, offset))
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
    to_code(unsafe { file_state(file).truncate(size) })
}

unsafe extern "C" fn file_sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: see above.
    to_code(unsafe { file_state(file).sync(flags) })
}

unsafe extern "C" fn file_unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    to_code(unsafe { file_state(file).unlock(level) })
}

unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: see above.
    unsafe { file_state(file).control(operation, argument) }
}

/// Defines a method that calls the base VFS's.
macro_rules! forward {
    ($name:ident = $method:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)? => $missing:expr) => {
        unsafe extern "C" fn $name(
            file: *mut ffi::sqlite3_file $(, $argument: $kind)*
        ) $(-> $result)? {
            // SAFETY: see above; the base VFS's file is open as long as this one, and the
            // arguments are passed unchanged.
            unsafe {
                let base = FileHandle::base_file(file);
                match (*(*base).pMethods).$method {
                    Some(method) => method(base $(, $argument)*),
                    None => $missing,
                }
            }
        }
    };
}

forward!(file_size = xFileSize(to: *mut ffi::sqlite3_int64) -> c_int => ffi::SQLITE_IOERR_FSTAT);
forward!(file_lock = xLock(level: c_int) -> c_int => ffi::SQLITE_IOERR_LOCK);
forward!(check_reserved_lock = xCheckReservedLock(to: *mut c_int) -> c_int
    => ffi::SQLITE_IOERR_CHECKRESERVEDLOCK);
forward!(sector_size = xSectorSize() -> c_int => 0);
forward!(device_characteristics = xDeviceCharacteristics() -> c_int => 0);
forward!(shm_map = xShmMap(region: c_int, size: c_int, extend: c_int, to: *mut *mut c_void)
    -> c_int => ffi::SQLITE_IOERR_SHMMAP);
forward!(shm_lock = xShmLock(offset: c_int, count: c_int, flags: c_int) -> c_int
    => ffi::SQLITE_IOERR_SHMLOCK);
forward!(shm_barrier = xShmBarrier() => ());
forward!(shm_unmap = xShmUnmap(delete: c_int) -> c_int => ffi::SQLITE_OK);
forward!(file_fetch = xFetch(offset: ffi::sqlite3_int64, length: c_int, to: *mut *mut c_void)
-> c_int => {
    // Null means that nothing is mapped.
    *to = ptr::null_mut();
    ffi::SQLITE_OK
});
forward!(file_unfetch = xUnfetch(offset: ffi::sqlite3_int64, page: *mut c_void) -> c_int
    => ffi::SQLITE_OK);
