//! The VFS as SQLite calls it, and the replaced methods of databases and WALs.

use std::ffi::{CStr, CString, OsStr};
use std::os::raw::{c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;

use libsqlite3_sys as ffi;

use super::idle_wal::{IdleWal, PersistWalOptions};
use super::inherited::{
    BaseMethods, InheritedKind, SqliteCode, call, inherit, is_inherited_database, split,
    state_offset, take,
};
use crate::Error;
use crate::base_vfs::BaseVfs;
use crate::first_pages::FirstPages;

/// A VFS object with its base; never freed.
#[repr(C)]
struct LayerVfs {
    /// First, as SQLite has a pointer to it.
    vfs: ffi::sqlite3_vfs,
    base: *mut ffi::sqlite3_vfs,
    options: PersistWalOptions,
}

/// The state of an open database.
#[derive(Debug)]
struct DatabaseState {
    lock: c_int,
    /// The WAL that this connection has open, or null.
    wal: *mut ffi::sqlite3_file,
    /// The last connection is closing the database.
    closing: bool,
    first_pages: FirstPages,
}

/// The state of an open WAL.
#[derive(Debug)]
struct WalState {
    idle: IdleWal,
    /// The connection's database, or null.
    database: *mut ffi::sqlite3_file,
}

/// Registers a VFS above the one named `base`.
pub(super) fn register(
    name: CString,
    base: &CStr,
    options: PersistWalOptions,
) -> Result<(), Error> {
    // SAFETY: the name is a C string.
    let base = unsafe { ffi::sqlite3_vfs_find(base.as_ptr()) };
    if base.is_null() {
        return Err(Error::unsupported(
            "a persistent WAL",
            "this SQLite has no VFS with this name to use as a base",
        ));
    }
    if BaseVfs::is_taken(&name) {
        return Err(Error::Usage(format!(
            "there is already a VFS named {name:?}"
        )));
    }
    // SAFETY: `base` is registered and does not change afterwards.
    let mut vfs = unsafe { ptr::read(base) };
    let bytes = state_offset(vfs.szOsFile) + size_of::<*mut ()>();
    vfs.szOsFile = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    vfs.pNext = ptr::null_mut();
    vfs.zName = name.into_raw();
    vfs.xOpen = Some(vfs_open);
    let layer = Box::into_raw(Box::new(LayerVfs { vfs, base, options }));
    // SAFETY: the object is never freed, and SQLite alone accesses its first field.
    unsafe { BaseVfs::register_raw(layer.cast()) }
}

fn to_code(result: Result<(), SqliteCode>) -> c_int {
    result.err().unwrap_or(ffi::SQLITE_OK)
}

// SAFETY of all functions below: SQLite calls a method with the registered VFS or with an open file
// of it, and with pointers to memory of the size that sqlite3.h specifies. It uses a file from one
// thread at a time, and a WAL only together with its database.

unsafe extern "C" fn vfs_open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: see above; `vfs` is the first field of a `LayerVfs`.
    unsafe {
        let layer: *const LayerVfs = vfs.cast();
        let (base, options) = ((*layer).base, (*layer).options);
        let Some(open_base) = (*base).xOpen else {
            return ffi::SQLITE_CANTOPEN;
        };
        (*file).pMethods = ptr::null();
        let is_wal = flags & ffi::SQLITE_OPEN_WAL != 0 && !name.is_null();
        let idle = is_wal.then(|| {
            let path = OsStr::from_bytes(CStr::from_ptr(name).to_bytes());
            IdleWal::new(options, PathBuf::from(path))
        });
        let opened_idle = match &idle {
            Some(idle) => open_idle(base, name, file, flags, out_flags, idle),
            None => false,
        };
        if !opened_idle {
            let code = open_base(base, name, file, flags, out_flags);
            if code != ffi::SQLITE_OK || (*file).pMethods.is_null() {
                return code;
            }
        }
        let offset = state_offset((*base).szOsFile);
        match idle {
            Some(idle) => pair(file, name, offset, idle),
            None if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 => {
                let state = Box::new(DatabaseState {
                    lock: ffi::SQLITE_LOCK_NONE,
                    wal: ptr::null_mut(),
                    closing: false,
                    first_pages: FirstPages::default(),
                });
                inherit(file, InheritedKind::Database, offset, state, |methods| {
                    methods.xClose = Some(close_database);
                    methods.xLock = Some(database_lock);
                    methods.xUnlock = Some(database_unlock);
                    methods.xFileControl = Some(file_control);
                    methods.xShmLock = Some(shm_lock);
                    methods.xShmUnmap = Some(shm_unmap);
                    methods.xFetch = methods.xFetch.and(Some(fetch));
                });
            }
            None => {}
        }
        ffi::SQLITE_OK
    }
}

/// Opens a WAL that has its own mark. Returns false if there is none, and leaves nothing open.
///
/// The name of such a WAL is durable. It is opened without `SQLITE_OPEN_CREATE`, as the unix VFS
/// would otherwise flush the directory at the first sync.
///
/// # Safety
///
/// The arguments are those of the base VFS's `xOpen`.
unsafe fn open_idle(
    base: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
    idle: &IdleWal,
) -> bool {
    // SAFETY: as the caller promises, the base VFS is registered and the name is a C string.
    unsafe {
        let mut exists = 0;
        let flag = ffi::SQLITE_ACCESS_EXISTS;
        let found = (*base)
            .xAccess
            .map(|access| access(base, name, flag, &raw mut exists));
        if found != Some(ffi::SQLITE_OK) || exists == 0 {
            return false;
        }
        let flags = flags & !ffi::SQLITE_OPEN_CREATE;
        let code = (*base)
            .xOpen
            .map(|open| open(base, name, file, flags, out_flags));
        if (*file).pMethods.is_null() {
            return false;
        }
        let methods = BaseMethods::of(file);
        if code == Some(ffi::SQLITE_OK) && idle.has_own_mark(&methods) {
            return true;
        }
        methods.close();
        (*file).pMethods = ptr::null();
        false
    }
}

/// Replaces the methods of a WAL, and connects it with its database. Without a database of this VFS
/// the WAL behaves as usual.
///
/// # Safety
///
/// `file` is a WAL that the base VFS has opened by this name.
unsafe fn pair(
    file: *mut ffi::sqlite3_file,
    name: ffi::sqlite3_filename,
    offset: usize,
    idle: IdleWal,
) {
    // SAFETY: SQLite passed the name to xOpen for a WAL. A database of this module has a
    // `DatabaseState`, and is used from this thread only.
    let database_state = unsafe {
        let database = ffi::sqlite3_database_file_object(name);
        if !is_inherited_database(database) {
            return;
        }
        split::<DatabaseState>(database).1
    };
    if !database_state.wal.is_null() {
        return;
    }
    // SAFETY: as above.
    let database = unsafe { ffi::sqlite3_database_file_object(name) };
    let state = Box::new(WalState { idle, database });
    // SAFETY: as the caller promises.
    let inherited = unsafe {
        inherit(file, InheritedKind::Wal, offset, state, |methods| {
            methods.xClose = Some(close_wal);
            methods.xWrite = Some(write_wal);
            methods.xTruncate = Some(truncate_wal);
            methods.xSync = Some(sync_wal);
        })
    };
    if inherited {
        database_state.wal = file;
    }
}

unsafe extern "C" fn close_database(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: see above.
    let (base, state) = unsafe { take::<DatabaseState>(file) };
    if !state.wal.is_null() {
        // SAFETY: the WAL is open; `close_wal` would have cleared the pointer.
        unsafe { split::<WalState>(state.wal).1.database = ptr::null_mut() };
    }
    base.close()
}

unsafe extern "C" fn database_lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    let (base, state) = unsafe { split::<DatabaseState>(file) };
    let code = call!(base, xLock or ffi::SQLITE_IOERR_LOCK, level);
    if code != ffi::SQLITE_OK {
        return code;
    }
    // With an open WAL, SQLite takes this lock in three cases (wal.c, sqlite3WalClose; pager.c,
    // sqlite3PagerCloseWal and sqlite3PagerBegin). A connection that leaves WAL mode already has it;
    // SQLite must delete the WAL then, or it would open the database with it again. A connection
    // that changes to `locking_mode=EXCLUSIVE` unlocks a part of the wal-index next, which clears
    // the flag. The third case is the close of the last connection.
    state.closing = level == ffi::SQLITE_LOCK_EXCLUSIVE
        && state.lock == ffi::SQLITE_LOCK_SHARED
        && !state.wal.is_null();
    state.lock = level;
    ffi::SQLITE_OK
}

unsafe extern "C" fn database_unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    let (base, state) = unsafe { split::<DatabaseState>(file) };
    state.closing = false;
    let code = call!(base, xUnlock or ffi::SQLITE_IOERR_UNLOCK, level);
    if code == ffi::SQLITE_OK {
        state.lock = level;
    }
    code
}

unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: see above.
    let (base, state) = unsafe { split::<DatabaseState>(file) };
    if operation == ffi::SQLITE_FCNTL_PERSIST_WAL {
        // SAFETY: the argument is an int; negative: SQLite asks whether to keep the WAL.
        let persist = unsafe { &mut *argument.cast::<c_int>() };
        if *persist < 0 && persists_wal(state) {
            *persist = 1;
            return ffi::SQLITE_OK;
        }
    }
    call!(base, xFileControl or ffi::SQLITE_NOTFOUND, operation, argument)
}

/// Makes the WAL idle if the last connection is closing the database: its checkpoint is complete
/// when it asks whether to keep the WAL. Returns true if the WAL is to be kept. A program may ask at
/// any time; a WAL in use stays as it is.
fn persists_wal(state: &DatabaseState) -> bool {
    if !state.closing || state.wal.is_null() {
        return false;
    }
    // SAFETY: the WAL is open, or `close_wal` would have cleared the pointer; `pair` gave it a
    // `WalState`.
    let (base, wal) = unsafe { split::<WalState>(state.wal) };
    // An empty WAL is deleted: a session that only reads must not flush.
    base.size().is_ok_and(|size| size > 0) && wal.idle.truncate(&base, 0).is_ok()
}

unsafe extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: see above.
    let (base, state) = unsafe { split::<DatabaseState>(file) };
    state.closing = false;
    call!(base, xShmLock or ffi::SQLITE_IOERR_SHMLOCK, offset, count, flags)
}

/// SQLite keeps the file of the wal-index if it keeps the WAL. The last connection, which has the
/// exclusive lock, deletes it here.
unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: see above.
    let (base, state) = unsafe { split::<DatabaseState>(file) };
    let delete = c_int::from(delete != 0 || state.closing);
    call!(base, xShmUnmap or ffi::SQLITE_OK, delete)
}

unsafe extern "C" fn fetch(
    file: *mut ffi::sqlite3_file,
    offset: ffi::sqlite3_int64,
    length: c_int,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: see above.
    let (base, state) = unsafe { split::<DatabaseState>(file) };
    if state.first_pages.is_next() {
        // SAFETY: see above. Null: SQLite reads the page.
        unsafe { *to = ptr::null_mut() };
        return ffi::SQLITE_OK;
    }
    call!(base, xFetch or ffi::SQLITE_IOERR_MMAP, offset, length, to)
}

unsafe extern "C" fn close_wal(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: see above.
    let (base, state) = unsafe { take::<WalState>(file) };
    if !state.database.is_null() {
        // SAFETY: the database is open; `close_database` would have cleared the pointer.
        unsafe { split::<DatabaseState>(state.database).1.wal = ptr::null_mut() };
    }
    base.close()
}

unsafe extern "C" fn write_wal(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    let (Ok(length), Ok(offset)) = (usize::try_from(length), u64::try_from(offset)) else {
        return ffi::SQLITE_IOERR_WRITE;
    };
    // SAFETY: see above.
    let (base, state, data) = unsafe {
        let (base, state) = split::<WalState>(file);
        (
            base,
            state,
            std::slice::from_raw_parts(from.cast::<u8>(), length),
        )
    };
    to_code(state.idle.write(&base, data, offset))
}

unsafe extern "C" fn truncate_wal(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    let Ok(size) = u64::try_from(size) else {
        return ffi::SQLITE_IOERR_TRUNCATE;
    };
    // SAFETY: see above.
    let (base, state) = unsafe { split::<WalState>(file) };
    to_code(state.idle.truncate(&base, size))
}

unsafe extern "C" fn sync_wal(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: see above.
    let (base, state) = unsafe { split::<WalState>(file) };
    to_code(state.idle.sync(&base, flags))
}
