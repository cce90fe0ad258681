//! The methods of an open file, as SQLite calls them: from raw pointers to [`File`].

use std::mem;
use std::os::raw::{c_int, c_void};
use std::ptr;

use libsqlite3_sys as ffi;

use super::file::File;
use super::real::Code;

/// What SQLite holds for an open file. The file of the VFS below follows it in the same memory.
///
/// ```text
/// | base: methods | file: our state | the VFS below: its szOsFile bytes |
/// ```
#[repr(C)]
pub(super) struct Handle {
    base: ffi::sqlite3_file,
    file: *mut File,
}

/// How much of the memory is ours; a multiple of the alignment of everything in C.
pub(super) const HANDLE_BYTES: usize = mem::size_of::<Handle>().next_multiple_of(16);

impl Handle {
    /// The file of the VFS below.
    ///
    /// # Safety
    ///
    /// `file` was given to `xOpen` of our VFS, with the bytes that the VFS asks for.
    pub unsafe fn below(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
        // SAFETY: our VFS asks for HANDLE_BYTES and as much as the one below wants.
        unsafe { file.byte_add(HANDLE_BYTES) }
    }

    /// Marks the memory as a file that is not open.
    ///
    /// # Safety
    ///
    /// As for [`Handle::below`].
    pub unsafe fn blank(file: *mut ffi::sqlite3_file) {
        let handle: *mut Handle = file.cast();
        // SAFETY: the memory is there and aligned, and nothing of it needs dropping.
        unsafe {
            (&raw mut (*handle).base.pMethods).write(ptr::null());
            (&raw mut (*handle).file).write(ptr::null_mut());
        }
    }

    /// Makes it an open file; answers its state's address, which stays until it is closed.
    ///
    /// # Safety
    ///
    /// As for [`Handle::below`].
    pub unsafe fn fill(at: *mut ffi::sqlite3_file, file: File) -> *mut File {
        let methods: &'static ffi::sqlite3_io_methods = match file.real().version() {
            i32::MIN..=1 => &VERSION_1,
            2 => &VERSION_2,
            3..=i32::MAX => &VERSION_3,
        };
        let file = Box::into_raw(Box::new(file));
        let handle: *mut Handle = at.cast();
        // SAFETY: as in `blank`.
        unsafe {
            (&raw mut (*handle).file).write(file);
            (&raw mut (*handle).base.pMethods).write(methods);
        }
        file
    }

    /// The state of an open file, if the file is one of ours.
    ///
    /// # Safety
    ///
    /// `file` is null or a file of some VFS.
    pub unsafe fn file_if_ours(file: *mut ffi::sqlite3_file) -> Option<*mut File> {
        if file.is_null() {
            return None;
        }
        // SAFETY: every VFS's file begins with its methods.
        let methods = unsafe { (*file).pMethods };
        let ours = [&VERSION_1, &VERSION_2, &VERSION_3]
            .iter()
            .any(|known| ptr::eq(methods, *known));
        // SAFETY: a file with our methods was made by `fill`.
        ours.then(|| unsafe { (*file.cast::<Handle>()).file })
    }
}

/// The state of the file that SQLite calls a method of.
///
/// # Safety
///
/// `file` is open and one of ours. SQLite calls no two methods of a file at once, so there is
/// no other reference to its state.
unsafe fn state<'a>(file: *mut ffi::sqlite3_file) -> &'a mut File {
    // SAFETY: as above; the state lives from `fill` until `close`.
    unsafe { &mut *(*file.cast::<Handle>()).file }
}

fn code(done: Result<(), Code>) -> c_int {
    done.err().unwrap_or(ffi::SQLITE_OK)
}

static VERSION_1: ffi::sqlite3_io_methods = methods(1);
static VERSION_2: ffi::sqlite3_io_methods = methods(2);
static VERSION_3: ffi::sqlite3_io_methods = methods(3);

const fn methods(version: c_int) -> ffi::sqlite3_io_methods {
    ffi::sqlite3_io_methods {
        iVersion: version,
        xClose: Some(close),
        xRead: Some(read),
        xWrite: Some(write),
        xTruncate: Some(truncate),
        xSync: Some(sync),
        xFileSize: Some(file_size),
        xLock: Some(lock),
        xUnlock: Some(unlock),
        xCheckReservedLock: Some(check_reserved_lock),
        xFileControl: Some(file_control),
        xSectorSize: Some(sector_size),
        xDeviceCharacteristics: Some(device_characteristics),
        xShmMap: Some(shm_map),
        xShmLock: Some(shm_lock),
        xShmBarrier: Some(shm_barrier),
        xShmUnmap: Some(shm_unmap),
        xFetch: Some(fetch),
        xUnfetch: Some(unfetch),
    }
}

// SAFETY, for all functions below: SQLite calls a method with a file that `xOpen` has filled
// and that is not closed, and with pointers to memory of the size that sqlite3.h promises.

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let handle: *mut Handle = file.cast();
    // SAFETY: the state was made by Box::into_raw, and nobody uses the file after this.
    unsafe {
        let mut state = Box::from_raw((*handle).file);
        let done = state.close();
        Handle::blank(file);
        code(done)
    }
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    to: *mut c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: see above.
    code(unsafe { state(file).read(to, length, offset) })
}

unsafe extern "C" fn write(
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
        code(state(file).write(data, offset))
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    let Ok(size) = u64::try_from(size) else {
        return ffi::SQLITE_IOERR_TRUNCATE;
    };
    // SAFETY: see above.
    code(unsafe { state(file).truncate(size) })
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: see above.
    code(unsafe { state(file).sync(flags) })
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, to: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: see above.
    match unsafe { state(file).size() } {
        Ok(size) => {
            // SAFETY: see above.
            unsafe { *to = i64::try_from(size).unwrap_or(i64::MAX) };
            ffi::SQLITE_OK
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    code(unsafe { state(file).lock(level) })
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    code(unsafe { state(file).unlock(level) })
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, to: *mut c_int) -> c_int {
    // SAFETY: see above.
    unsafe { state(file).real().check_reserved_lock(to) }
}

unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: see above.
    unsafe { state(file).control(operation, argument) }
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: see above.
    unsafe { state(file).real().sector_size() }
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: see above.
    unsafe { state(file).characteristics() }
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: see above.
    unsafe { state(file).real().shm_map(region, size, extend, to) }
}

unsafe extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: see above.
    unsafe { state(file).shm_lock(offset, count, flags) }
}

unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    // SAFETY: see above.
    unsafe { state(file).real().shm_barrier() }
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: see above.
    unsafe { state(file).shm_unmap(delete) }
}

unsafe extern "C" fn fetch(
    file: *mut ffi::sqlite3_file,
    offset: ffi::sqlite3_int64,
    length: c_int,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let state = state(file);
        if state.mapping_refused() {
            *to = ptr::null_mut();
            return ffi::SQLITE_OK;
        }
        state.real().fetch(offset, length, to)
    }
}

unsafe extern "C" fn unfetch(
    file: *mut ffi::sqlite3_file,
    offset: ffi::sqlite3_int64,
    page: *mut c_void,
) -> c_int {
    // SAFETY: see above.
    unsafe { state(file).real().unfetch(offset, page) }
}
