//! Files of a VFS that inherit the methods of a base VFS's file.
//!
//! sqlite3.h lets a VFS append fields to `sqlite3_file`. A file of [`super::layer`] is a file of
//! the base VFS with one pointer appended, and a copy of the base VFS's method table in which some
//! methods are replaced. All other methods are the base VFS's and run without an extra call.
//!
//! ```text
//! sqlite3_file *file -> | pMethods | base VFS's fields ... | pointer to our state |
//!                           |                              ^ state_offset
//!                           v
//!                       MethodTable { methods, base, state_offset }
//! ```

use std::os::raw::c_int;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use libsqlite3_sys as ffi;

use super::idle_wal::WAL_HEADER;

/// A result code of SQLite other than `SQLITE_OK`.
pub(super) type SqliteCode = c_int;

/// A file whose methods can be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InheritedKind {
    Database,
    Wal,
}

/// A method table derived from a base VFS's. It is never freed.
#[derive(Debug)]
#[repr(C)]
pub(super) struct MethodTable {
    /// The methods that SQLite calls. First, as `pMethods` points here.
    methods: ffi::sqlite3_io_methods,
    base: *const ffi::sqlite3_io_methods,
    state_offset: usize,
    kind: InheritedKind,
}

// SAFETY: a table does not change, and a base VFS's methods may be called from any thread.
unsafe impl Send for MethodTable {}
// SAFETY: as above.
unsafe impl Sync for MethodTable {}

/// All tables; one for each base table, kind and offset.
static TABLES: Mutex<Vec<&'static MethodTable>> = Mutex::new(Vec::new());

/// Returns the offset of the state pointer in a file, given `szOsFile` of the base VFS.
pub(super) fn state_offset(base_bytes: c_int) -> usize {
    usize::try_from(base_bytes)
        .unwrap_or(0)
        .next_multiple_of(align_of::<*mut ()>())
}

/// Replaces the methods of a file that the base VFS has opened, and appends a state. Returns false,
/// and leaves the file as it is, if its methods are older than WAL mode.
///
/// # Safety
///
/// `file` is open, is not used by another thread, and its memory extends beyond `state_offset` by
/// a pointer. `state` is of the type that the methods which `replace` sets expect.
pub(super) unsafe fn inherit<T>(
    file: *mut ffi::sqlite3_file,
    kind: InheritedKind,
    state_offset: usize,
    state: Box<T>,
    replace: impl FnOnce(&mut ffi::sqlite3_io_methods),
) -> bool {
    // SAFETY: an open file begins with its methods.
    let base = unsafe { (*file).pMethods };
    // SAFETY: as above.
    let Some(mut methods) = (unsafe { copy_methods(base) }) else {
        return false;
    };
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = tables.iter().find(|table| {
        ptr::eq(table.base, base) && table.state_offset == state_offset && table.kind == kind
    });
    let table: &'static MethodTable = match known {
        Some(table) => table,
        None => {
            replace(&mut methods);
            let table = Box::leak(Box::new(MethodTable {
                methods,
                base,
                state_offset,
                kind,
            }));
            tables.push(table);
            table
        }
    };
    drop(tables);
    // SAFETY: as the caller promises; `state_offset` is a multiple of a pointer's alignment.
    unsafe {
        let slot = file.byte_add(state_offset).cast::<*mut T>();
        slot.write(Box::into_raw(state));
        (*file).pMethods = ptr::from_ref(table).cast();
    }
    true
}

/// Copies a method table. Returns `None` if it has no methods for WAL mode (version 1).
///
/// # Safety
///
/// `base` is the table of an open file. A table of version 2 may end before `xFetch`.
unsafe fn copy_methods(base: *const ffi::sqlite3_io_methods) -> Option<ffi::sqlite3_io_methods> {
    // SAFETY: all versions have these fields.
    let version = unsafe { (*base).iVersion };
    if version < 2 {
        return None;
    }
    // SAFETY: each version has the fields of the ones before it.
    unsafe {
        let (fetch, unfetch) = match version {
            2 => (None, None),
            _ => ((*base).xFetch, (*base).xUnfetch),
        };
        Some(ffi::sqlite3_io_methods {
            iVersion: version.min(3),
            xClose: (*base).xClose,
            xRead: (*base).xRead,
            xWrite: (*base).xWrite,
            xTruncate: (*base).xTruncate,
            xSync: (*base).xSync,
            xFileSize: (*base).xFileSize,
            xLock: (*base).xLock,
            xUnlock: (*base).xUnlock,
            xCheckReservedLock: (*base).xCheckReservedLock,
            xFileControl: (*base).xFileControl,
            xSectorSize: (*base).xSectorSize,
            xDeviceCharacteristics: (*base).xDeviceCharacteristics,
            xShmMap: (*base).xShmMap,
            xShmLock: (*base).xShmLock,
            xShmBarrier: (*base).xShmBarrier,
            xShmUnmap: (*base).xShmUnmap,
            xFetch: fetch,
            xUnfetch: unfetch,
        })
    }
}

/// Returns true if `file` is a database of this module.
///
/// # Safety
///
/// `file` is null or an open file of some VFS.
pub(super) unsafe fn is_inherited_database(file: *mut ffi::sqlite3_file) -> bool {
    if file.is_null() {
        return false;
    }
    // SAFETY: a file begins with its methods.
    let methods = unsafe { (*file).pMethods };
    let tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    tables.iter().any(|table| {
        table.kind == InheritedKind::Database && ptr::eq(&raw const table.methods, methods)
    })
}

/// Returns the base VFS's methods of a file, and its state.
///
/// # Safety
///
/// `file` is open, and [`inherit`] has replaced its methods with a state of type `T`, to which there
/// is no other reference.
pub(super) unsafe fn split<'a, T>(file: *mut ffi::sqlite3_file) -> (BaseMethods, &'a mut T) {
    // SAFETY: `inherit` made the state from a Box; as the caller promises.
    unsafe {
        let (base, state) = split_raw(file);
        (base, &mut *state)
    }
}

/// Returns the base VFS's methods of a file, and takes its state, before it is closed.
///
/// # Safety
///
/// As for [`split`]; the file is not used afterwards but to close it.
pub(super) unsafe fn take<T>(file: *mut ffi::sqlite3_file) -> (BaseMethods, Box<T>) {
    // SAFETY: `inherit` made the state from a Box; as the caller promises.
    unsafe {
        let (base, state) = split_raw(file);
        (base, Box::from_raw(state))
    }
}

/// # Safety
///
/// As for [`split`].
unsafe fn split_raw<T>(file: *mut ffi::sqlite3_file) -> (BaseMethods, *mut T) {
    // SAFETY: `inherit` set the pointer to a whole table, and stored the state at this offset.
    unsafe {
        let table: *const MethodTable = (*file).pMethods.cast();
        let methods = (*table).base;
        let state = file.byte_add((*table).state_offset).cast::<*mut T>().read();
        (BaseMethods { file, methods }, state)
    }
}

/// The base VFS's methods of an open file.
///
/// Valid until the file is closed; made by [`split`] or [`BaseMethods::of`], whose callers
/// guarantee that the file is open.
#[derive(Debug, Clone, Copy)]
pub(super) struct BaseMethods {
    pub(super) file: *mut ffi::sqlite3_file,
    pub(super) methods: *const ffi::sqlite3_io_methods,
}

/// Calls a method of the base VFS. Returns `$missing` if it does not have it.
macro_rules! call {
    ($base:expr, $method:ident or $missing:expr $(, $argument:expr)*) => {{
        // SAFETY: the file is open, so the base VFS's table is valid (see `BaseMethods`).
        match unsafe { (*$base.methods).$method } {
            // SAFETY: the method belongs to the file; the arguments are valid, as their sources
            // guarantee.
            Some(method) => unsafe { method($base.file $(, $argument)*) },
            None => $missing,
        }
    }};
}
pub(super) use call;

fn to_result(code: c_int) -> Result<(), SqliteCode> {
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(code),
    }
}

fn to_offset(offset: u64) -> Result<i64, SqliteCode> {
    i64::try_from(offset).map_err(|_| ffi::SQLITE_TOOBIG)
}

impl BaseMethods {
    /// Returns the methods of a file that the base VFS has opened.
    ///
    /// # Safety
    ///
    /// `file` is open, and its methods have not been replaced.
    pub unsafe fn of(file: *mut ffi::sqlite3_file) -> Self {
        // SAFETY: an open file begins with its methods.
        let methods = unsafe { (*file).pMethods };
        Self { file, methods }
    }

    /// Reads the first bytes of a WAL; beyond the end of the file they are zero.
    pub fn read_header(&self) -> Result<[u8; WAL_HEADER], SqliteCode> {
        let mut header = [0; WAL_HEADER];
        let to = header.as_mut_ptr().cast();
        match call!(self, xRead or ffi::SQLITE_IOERR_READ, to, WAL_HEADER as c_int, 0) {
            ffi::SQLITE_OK | ffi::SQLITE_IOERR_SHORT_READ => Ok(header),
            code => Err(code),
        }
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

    pub fn close(&self) -> c_int {
        call!(self, xClose or ffi::SQLITE_OK)
    }
}
