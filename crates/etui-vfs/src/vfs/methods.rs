//! The methods of an open file, as SQLite calls them: from raw pointers to [`Open`].

use std::os::raw::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{Ordering, fence};

use libsqlite3_sys as ffi;

use super::connection::{self, Connection, Open};
use super::session::Code;
use crate::device::File;
use crate::fork::forks;

/// What SQLite holds for an open file.
#[repr(C)]
pub(super) struct Handle {
    base: ffi::sqlite3_file,
    open: *mut Open,
    /// In which process it was opened.
    forks: u64,
}

impl Handle {
    /// Marks the memory as a file that is not open.
    ///
    /// # Safety
    ///
    /// `file` was given to `xOpen` of our VFS, with the bytes that the VFS asks for.
    pub unsafe fn blank(file: *mut ffi::sqlite3_file) {
        // SAFETY: every file begins with its methods.
        unsafe { (&raw mut (*file).pMethods).write(ptr::null()) };
    }

    /// Makes it an open file.
    ///
    /// # Safety
    ///
    /// As for [`Handle::blank`].
    pub unsafe fn fill(file: *mut ffi::sqlite3_file, open: Open) {
        let methods: *const ffi::sqlite3_io_methods = match open {
            Open::Database(_) => &DATABASE,
            Open::Journal(_) | Open::Wal(_) => &OTHER,
        };
        let handle: *mut Handle = file.cast();
        // SAFETY: the memory is there and aligned, and nothing of it needs dropping.
        unsafe {
            (&raw mut (*handle).open).write(Box::into_raw(Box::new(open)));
            (&raw mut (*handle).forks).write(forks());
            (&raw mut (*handle).base.pMethods).write(methods);
        }
    }

    /// The connection behind a file, if it is a database of ours.
    ///
    /// # Safety
    ///
    /// `file` is null or a file of some VFS; no other method of it runs.
    pub unsafe fn connection<'a>(file: *mut ffi::sqlite3_file) -> Option<&'a Connection> {
        if file.is_null() {
            return None;
        }
        // SAFETY: every VFS's file begins with its methods; one with ours was made by `fill`.
        unsafe {
            if !ptr::eq((*file).pMethods, &raw const DATABASE) {
                return None;
            }
            match &*(*file.cast::<Handle>()).open {
                Open::Database(connection) => Some(connection),
                Open::Journal(_) | Open::Wal(_) => None,
            }
        }
    }
}

/// What is behind the file that SQLite calls a method of. An error: it is the parent's.
///
/// # Safety
///
/// `file` is open and one of ours. SQLite calls no two methods of a file at once, so there is no
/// other reference to what is behind it.
unsafe fn open<'a>(file: *mut ffi::sqlite3_file) -> Result<&'a mut Open, Code> {
    let handle: *mut Handle = file.cast();
    // SAFETY: as above; it lives from `fill` until `close`.
    unsafe {
        if (*handle).forks != forks() {
            return Err(ffi::SQLITE_MISUSE);
        }
        Ok(&mut *(*handle).open)
    }
}

/// The same, of a database.
///
/// # Safety
///
/// As for [`open`].
unsafe fn database<'a>(file: *mut ffi::sqlite3_file) -> Result<&'a mut Connection, Code> {
    // SAFETY: as the caller promises.
    match unsafe { open(file)? } {
        Open::Database(connection) => Ok(connection),
        Open::Journal(_) | Open::Wal(_) => Err(ffi::SQLITE_MISUSE),
    }
}

fn code(done: Result<(), Code>) -> c_int {
    done.err().unwrap_or(ffi::SQLITE_OK)
}

/// Databases have an index of a WAL and mappings; other files have neither.
static DATABASE: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 3,
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

// SAFETY, for all functions below: SQLite calls a method with a file that `xOpen` has filled and
// that is not closed, and with pointers to memory of the size that sqlite3.h promises.

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let handle: *mut Handle = file.cast();
    // SAFETY: what is behind it was made by Box::into_raw, and nobody uses it after this.
    unsafe {
        let ours = (*handle).forks == forks();
        let open = Box::from_raw((*handle).open);
        Handle::blank(file);
        if !ours {
            // Locks and descriptors are the parent's: nothing of them is touched here.
            let _ = Box::into_raw(open);
        } else if let Open::Wal(database) = *open {
            database.close_wal();
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    to: *mut c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    let (Ok(length), Ok(offset)) = (usize::try_from(length), u64::try_from(offset)) else {
        return ffi::SQLITE_IOERR_READ;
    };
    // SAFETY: see above. What SQLite has not set of the buffer is written here before it is read.
    unsafe {
        let open = match open(file) {
            Ok(open) => open,
            Err(code) => return code,
        };
        let to = std::slice::from_raw_parts_mut(to.cast::<u8>(), length);
        code(match open {
            Open::Database(connection) => connection.read(to, offset),
            Open::Journal(journal) => connection::read(to, |to| journal.read(to, offset)),
            Open::Wal(database) => {
                match connection::read(to, |to| database.read_wal(to, offset)) {
                    // A file keeps its length when a WAL begins anew. After ROLLBACK TO there are
                    // versions of SQLite, such as 3.40, that read a checksum behind the new end.
                    Err(ffi::SQLITE_IOERR_SHORT_READ) if offset > 0 => Ok(()),
                    done => done,
                }
            }
        })
    }
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
        code(open(file).and_then(|open| match open {
            Open::Database(connection) => connection.write(data, offset),
            Open::Journal(journal) => journal.write(data, offset),
            Open::Wal(database) => database.write_wal(data, offset),
        }))
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    let Ok(size) = u64::try_from(size) else {
        return ffi::SQLITE_IOERR_TRUNCATE;
    };
    // SAFETY: see above.
    code(unsafe { open(file) }.and_then(|open| match open {
        Open::Database(connection) => connection.truncate(size),
        Open::Journal(journal) => journal.truncate(size),
        Open::Wal(database) => database.truncate_wal(size),
    }))
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: see above.
    code(unsafe { open(file) }.and_then(|open| match open {
        Open::Database(connection) => connection.sync(),
        Open::Journal(journal) => journal.sync(),
        Open::Wal(database) => database.sync_wal(),
    }))
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, to: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: see above.
    let size = unsafe { open(file) }.and_then(|open| match open {
        Open::Database(connection) => connection.size(),
        Open::Journal(journal) => journal.file().len().map_err(|_| ffi::SQLITE_IOERR_FSTAT),
        Open::Wal(database) => Ok(database.wal().len()),
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

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    match unsafe { open(file) } {
        Ok(Open::Database(connection)) => code(connection.lock(level)),
        Ok(Open::Journal(_) | Open::Wal(_)) => ffi::SQLITE_OK,
        Err(code) => code,
    }
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    match unsafe { open(file) } {
        Ok(Open::Database(connection)) => connection.unlock(level),
        Ok(Open::Journal(_) | Open::Wal(_)) => {}
        Err(code) => return code,
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, to: *mut c_int) -> c_int {
    // SAFETY: see above.
    unsafe {
        *to = match open(file) {
            Ok(Open::Database(connection)) => c_int::from(connection.is_reserved()),
            Ok(Open::Journal(_) | Open::Wal(_)) => 0,
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
        match open(file) {
            Ok(Open::Database(connection)) => connection.control(operation, argument),
            Ok(Open::Journal(_) | Open::Wal(_)) => ffi::SQLITE_NOTFOUND,
            Err(code) => code,
        }
    }
}

/// The unit that a power cut leaves old or new, as far as SQLite asks.
unsafe extern "C" fn sector_size(_file: *mut ffi::sqlite3_file) -> c_int {
    4096
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: see above.
    match unsafe { open(file) } {
        Ok(Open::Database(connection)) => connection.characteristics(),
        Ok(Open::Journal(_) | Open::Wal(_)) | Err(_) => ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE,
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
    let mapped = unsafe { database(file) }.and_then(|c| c.map_index(region, size, extend != 0));
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
    code(unsafe { database(file) }.and_then(|c| c.lock_index(offset, count, flags)))
}

unsafe extern "C" fn shm_barrier(_file: *mut ffi::sqlite3_file) {
    fence(Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: see above.
    code(unsafe { database(file) }.map(|c| c.unmap_index(delete != 0)))
}

unsafe extern "C" fn fetch(
    file: *mut ffi::sqlite3_file,
    offset: ffi::sqlite3_int64,
    length: c_int,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: see above.
    let mapped = unsafe { database(file) }.and_then(|c| c.fetch(offset, length));
    // SAFETY: see above.
    unsafe { *to = mapped.unwrap_or(ptr::null_mut()) };
    mapped.err().unwrap_or(ffi::SQLITE_OK)
}

unsafe extern "C" fn unfetch(
    file: *mut ffi::sqlite3_file,
    offset: ffi::sqlite3_int64,
    page: *mut c_void,
) -> c_int {
    // SAFETY: see above; the page came from `fetch`.
    unsafe {
        match database(file) {
            Ok(connection) => connection.unfetch(offset, page),
            Err(code) => code,
        }
    }
}
