//! [`OpenFile`]: the methods of an open file as SQLite calls them, from raw pointers to a type of Rust.

use std::os::raw::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{Ordering, fence};

use libsqlite3_sys as ffi;

use crate::fork::fork_count;

/// A file that SQLite has open. An error is SQLite's result code. SQLite never calls two methods of a
/// file concurrently.
pub trait OpenFile: Sized + 'static {
    /// Returns the table of the type: a static made by [`methods`] of it.
    fn table() -> &'static ffi::sqlite3_io_methods;

    /// Reads. The rest of a short read is zeros.
    ///
    /// # Errors
    ///
    /// `SQLITE_IOERR_SHORT_READ` beyond the end, or another one.
    fn read(&mut self, to: &mut [u8], offset: u64) -> Result<(), c_int>;

    /// Writes all bytes.
    ///
    /// # Errors
    ///
    /// A part may have been written.
    fn write(&mut self, bytes: &[u8], offset: u64) -> Result<(), c_int>;

    /// Sets the size.
    ///
    /// # Errors
    ///
    /// It is as before.
    fn truncate(&mut self, size: u64) -> Result<(), c_int>;

    /// Makes all writes durable.
    ///
    /// # Errors
    ///
    /// The flush failed.
    fn sync(&mut self, flags: c_int) -> Result<(), c_int>;

    /// Returns the size in bytes.
    ///
    /// # Errors
    ///
    /// It is not known.
    fn size(&mut self) -> Result<u64, c_int>;

    /// Raises the lock of a database.
    ///
    /// # Errors
    ///
    /// `SQLITE_BUSY`, or another one.
    fn lock(&mut self, _level: c_int) -> Result<(), c_int> {
        Ok(())
    }

    /// Lowers the lock of a database.
    ///
    /// # Errors
    ///
    /// It is as before.
    fn unlock(&mut self, _level: c_int) -> Result<(), c_int> {
        Ok(())
    }

    /// Returns true if somebody is about to write the database.
    ///
    /// # Errors
    ///
    /// It is not known.
    fn is_reserved(&mut self) -> Result<bool, c_int> {
        Ok(false)
    }

    /// Does an operation of its own.
    ///
    /// # Safety
    ///
    /// `argument` is valid for the operation.
    unsafe fn control(&mut self, _operation: c_int, _argument: *mut c_void) -> c_int {
        ffi::SQLITE_NOTFOUND
    }

    /// Returns the unit that a power failure leaves old or new, as far as SQLite asks.
    fn sector_size(&mut self) -> c_int {
        4096
    }

    /// Returns the device characteristics.
    fn device_characteristics(&mut self) -> c_int {
        ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
    }

    /// Maps a region of the wal-index; null: there is none, and it was not to be made.
    ///
    /// # Errors
    ///
    /// It cannot be mapped.
    fn map_index(&mut self, _region: c_int, _size: c_int, _extend: bool) -> Result<*mut u8, c_int> {
        Err(ffi::SQLITE_MISUSE)
    }

    /// Locks or unlocks slots of the wal-index.
    ///
    /// # Errors
    ///
    /// `SQLITE_BUSY`, or another one.
    fn lock_index(&mut self, _first: c_int, _count: c_int, _flags: c_int) -> Result<(), c_int> {
        Err(ffi::SQLITE_MISUSE)
    }

    /// Unmaps the wal-index.
    fn unmap_index(&mut self, _delete: bool) {}

    /// Maps a part of the file until it is unmapped; null: it is to be read.
    ///
    /// # Errors
    ///
    /// SQLite's code.
    fn fetch(&mut self, _offset: i64, _length: c_int) -> Result<*mut c_void, c_int> {
        Ok(ptr::null_mut())
    }

    /// Unmaps a page.
    ///
    /// # Safety
    ///
    /// `page` is null or came from [`OpenFile::fetch`] at this offset.
    unsafe fn unfetch(&mut self, _offset: i64, _page: *mut c_void) -> c_int {
        ffi::SQLITE_OK
    }

    /// Closes the file: in the process that opened it, never in a child.
    fn close(self) {}
}

/// SQLite's memory of an open file. Its size does not depend on the type.
#[derive(Debug)]
#[repr(C)]
pub struct FileHandle<T> {
    base: ffi::sqlite3_file,
    open: *mut T,
    /// The fork count of the process that opened it.
    forks: u64,
}

impl<T: OpenFile> FileHandle<T> {
    /// Marks the file as open.
    ///
    /// # Safety
    ///
    /// `file` was passed to `xOpen` with the memory of a handle.
    pub unsafe fn init(file: *mut ffi::sqlite3_file, open: T) {
        let handle: *mut Self = file.cast();
        // SAFETY: the memory is valid and aligned, and its contents need no drop.
        unsafe {
            (&raw mut (*handle).open).write(Box::into_raw(Box::new(open)));
            (&raw mut (*handle).forks).write(fork_count());
            (&raw mut (*handle).base.pMethods).write(T::table());
        }
    }

    /// Returns the state of a file, if it is of this type.
    ///
    /// # Safety
    ///
    /// `file` is null or an open file of some VFS; no other method of it is running.
    pub unsafe fn find<'a>(file: *mut ffi::sqlite3_file) -> Option<&'a T> {
        // SAFETY: every file begins with its methods; `init` set a file with ours up.
        unsafe {
            let is_ours = !file.is_null() && ptr::eq((*file).pMethods, T::table());
            is_ours.then(|| &*(*file.cast::<Self>()).open)
        }
    }
}

/// Returns the table of a type's methods: those of a database with all, those of other files with
/// neither a wal-index nor mappings.
pub const fn methods<T: OpenFile>(is_database: bool) -> ffi::sqlite3_io_methods {
    ffi::sqlite3_io_methods {
        iVersion: if is_database { 3 } else { 1 },
        xClose: Some(file_close::<T>),
        xRead: Some(file_read::<T>),
        xWrite: Some(file_write::<T>),
        xTruncate: Some(file_truncate::<T>),
        xSync: Some(file_sync::<T>),
        xFileSize: Some(file_size::<T>),
        xLock: Some(file_lock::<T>),
        xUnlock: Some(file_unlock::<T>),
        xCheckReservedLock: Some(check_reserved_lock::<T>),
        xFileControl: Some(file_control::<T>),
        xSectorSize: Some(sector_size::<T>),
        xDeviceCharacteristics: Some(device_characteristics::<T>),
        xShmMap: Some(shm_map::<T>),
        xShmLock: Some(shm_lock::<T>),
        xShmBarrier: Some(shm_barrier),
        xShmUnmap: Some(shm_unmap::<T>),
        xFetch: Some(file_fetch::<T>),
        xUnfetch: Some(file_unfetch::<T>),
    }
}

/// Returns the state of a file, or an error if it belongs to the parent process.
///
/// # Safety
///
/// `file` is an open file of this type. SQLite never calls two methods of a file concurrently, so
/// there is no other reference to its state.
unsafe fn state<'a, T>(file: *mut ffi::sqlite3_file) -> Result<&'a mut T, c_int> {
    let handle: *mut FileHandle<T> = file.cast();
    // SAFETY: as above; the state lives from `init` to `close`.
    unsafe {
        match (*handle).forks == fork_count() {
            true => Ok(&mut *(*handle).open),
            false => Err(ffi::SQLITE_MISUSE),
        }
    }
}

fn to_code(done: Result<(), c_int>) -> c_int {
    done.err().unwrap_or(ffi::SQLITE_OK)
}

/// Stores a value for SQLite, or another one with an error.
///
/// # Safety
///
/// `to` is valid for a write.
unsafe fn store<V>(to: *mut V, value: Result<V, c_int>, otherwise: V) -> c_int {
    let (value, code) = match value {
        Ok(value) => (value, ffi::SQLITE_OK),
        Err(code) => (otherwise, code),
    };
    // SAFETY: as the caller promises.
    unsafe { to.write(value) };
    code
}

// SAFETY of all functions below: SQLite calls a method with an open file that `init` has set up, and
// with pointers to memory of the size that sqlite3.h specifies.

unsafe extern "C" fn file_close<T: OpenFile>(file: *mut ffi::sqlite3_file) -> c_int {
    let handle: *mut FileHandle<T> = file.cast();
    // SAFETY: `init` made the state by Box::into_raw, and SQLite does not use the file afterwards.
    unsafe {
        let is_ours = (*handle).forks == fork_count();
        let open = Box::from_raw((*handle).open);
        (&raw mut (*handle).base.pMethods).write(ptr::null());
        match is_ours {
            true => open.close(),
            // Locks and descriptors belong to the parent and are left alone.
            false => drop(Box::into_raw(open)),
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_read<T: OpenFile>(
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
        let to = std::slice::from_raw_parts_mut(to.cast::<u8>(), length);
        to_code(state::<T>(file).and_then(|open| open.read(to, offset)))
    }
}

unsafe extern "C" fn file_write<T: OpenFile>(
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
        let bytes = std::slice::from_raw_parts(from.cast::<u8>(), length);
        to_code(state::<T>(file).and_then(|open| open.write(bytes, offset)))
    }
}

unsafe extern "C" fn file_truncate<T: OpenFile>(
    file: *mut ffi::sqlite3_file,
    size: ffi::sqlite3_int64,
) -> c_int {
    let Ok(size) = u64::try_from(size) else {
        return ffi::SQLITE_IOERR_TRUNCATE;
    };
    // SAFETY: see above.
    to_code(unsafe { state::<T>(file) }.and_then(|open| open.truncate(size)))
}

unsafe extern "C" fn file_sync<T: OpenFile>(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: see above.
    to_code(unsafe { state::<T>(file) }.and_then(|open| open.sync(flags)))
}

unsafe extern "C" fn file_size<T: OpenFile>(
    file: *mut ffi::sqlite3_file,
    to: *mut ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let size = state::<T>(file).and_then(OpenFile::size);
        store(
            to,
            size.map(|size| i64::try_from(size).unwrap_or(i64::MAX)),
            0,
        )
    }
}

unsafe extern "C" fn file_lock<T: OpenFile>(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    to_code(unsafe { state::<T>(file) }.and_then(|open| open.lock(level)))
}

unsafe extern "C" fn file_unlock<T: OpenFile>(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    to_code(unsafe { state::<T>(file) }.and_then(|open| open.unlock(level)))
}

unsafe extern "C" fn check_reserved_lock<T: OpenFile>(
    file: *mut ffi::sqlite3_file,
    to: *mut c_int,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let is_reserved = state::<T>(file).and_then(OpenFile::is_reserved);
        store(to, is_reserved.map(c_int::from), 0)
    }
}

unsafe extern "C" fn file_control<T: OpenFile>(
    file: *mut ffi::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        match state::<T>(file) {
            Ok(open) => open.control(operation, argument),
            Err(code) => code,
        }
    }
}

unsafe extern "C" fn sector_size<T: OpenFile>(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: see above.
    unsafe { state::<T>(file) }.map_or(4096, OpenFile::sector_size)
}

unsafe extern "C" fn device_characteristics<T: OpenFile>(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: see above.
    unsafe { state::<T>(file) }.map_or(0, OpenFile::device_characteristics)
}

unsafe extern "C" fn shm_map<T: OpenFile>(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let open = state::<T>(file);
        let mapped = open.and_then(|open| open.map_index(region, size, extend != 0));
        store(to, mapped.map(<*mut u8>::cast), ptr::null_mut())
    }
}

unsafe extern "C" fn shm_lock<T: OpenFile>(
    file: *mut ffi::sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: see above.
    to_code(unsafe { state::<T>(file) }.and_then(|open| open.lock_index(offset, count, flags)))
}

unsafe extern "C" fn shm_barrier(_file: *mut ffi::sqlite3_file) {
    fence(Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap<T: OpenFile>(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: see above.
    to_code(unsafe { state::<T>(file) }.map(|open| open.unmap_index(delete != 0)))
}

unsafe extern "C" fn file_fetch<T: OpenFile>(
    file: *mut ffi::sqlite3_file,
    offset: ffi::sqlite3_int64,
    length: c_int,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let mapped = state::<T>(file).and_then(|open| open.fetch(offset, length));
        store(to, mapped, ptr::null_mut())
    }
}

unsafe extern "C" fn file_unfetch<T: OpenFile>(
    file: *mut ffi::sqlite3_file,
    offset: ffi::sqlite3_int64,
    page: *mut c_void,
) -> c_int {
    // SAFETY: see above; the page came from `fetch`.
    unsafe {
        match state::<T>(file) {
            Ok(open) => open.unfetch(offset, page),
            Err(code) => code,
        }
    }
}
