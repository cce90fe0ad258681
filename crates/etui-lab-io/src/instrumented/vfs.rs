//! The methods of the VFS as SQLite calls them. Only `xOpen` and `xDelete` do more than call the
//! base VFS.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::RawFd;
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use libsqlite3_sys as ffi;

use super::base_file::{BaseFile, SqliteCode};
use super::counters::{FileKind, IoOperation, IoRecorder};
use super::file::{InstrumentedFile, sync_directory};
use super::methods::{FileHandle, HANDLE_BYTES};
use super::{InstrumentedOptions, SyncCall, descriptor};
use crate::Error;

/// State shared by all files of one VFS; never freed.
#[derive(Debug)]
pub(super) struct VfsState {
    base: *mut ffi::sqlite3_vfs,
    pub options: InstrumentedOptions,
    pub recorder: IoRecorder,
}

// SAFETY: the base VFS does not change after its registration and may be called from any thread;
// the other fields are `Send` and `Sync`.
unsafe impl Send for VfsState {}
// SAFETY: as above.
unsafe impl Sync for VfsState {}

/// Registers a VFS above the one named `base_name`.
pub(super) fn register(
    name: CString,
    base_name: &str,
    options: InstrumentedOptions,
) -> Result<&'static VfsState, Error> {
    let base = find_vfs(base_name);
    // SAFETY: the name is a C string.
    let taken = unsafe { ffi::sqlite3_vfs_find(name.as_ptr()) };
    if base.is_null() {
        let reason = format!("this SQLite has no VFS named `{base_name}`");
        return Err(Error::unsupported("an instrumented VFS", reason));
    }
    if !taken.is_null() {
        return Err(Error::Usage(format!(
            "there is a VFS named {name:?} already"
        )));
    }
    if options.sync == SyncCall::Fsync {
        // SAFETY: `base` is registered.
        unsafe { descriptor::replace_calls(base)? };
    }
    // SAFETY: `base` is registered and does not change afterwards.
    let base_vfs = unsafe { &*base };
    let handle_bytes = c_int::try_from(HANDLE_BYTES).unwrap_or(c_int::MAX);
    let shared: &'static VfsState = Box::leak(Box::new(VfsState {
        base,
        options,
        recorder: IoRecorder::new(&options),
    }));
    let vfs = Box::leak(Box::new(ffi::sqlite3_vfs {
        iVersion: base_vfs.iVersion.min(3),
        szOsFile: base_vfs.szOsFile.saturating_add(handle_bytes),
        mxPathname: base_vfs.mxPathname,
        pNext: ptr::null_mut(),
        zName: name.into_raw(),
        pAppData: ptr::from_ref(shared).cast_mut().cast(),
        xOpen: Some(vfs_open),
        xDelete: Some(vfs_delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        xDlOpen: Some(dl_open),
        xDlError: Some(dl_error),
        xDlSym: Some(dl_sym),
        xDlClose: Some(dl_close),
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(get_last_error),
        xCurrentTimeInt64: Some(current_time_int64),
        xSetSystemCall: Some(set_system_call),
        xGetSystemCall: Some(get_system_call),
        xNextSystemCall: Some(next_system_call),
    }));
    // SAFETY: the VFS is leaked, so it stays in place.
    check_registered(unsafe { ffi::sqlite3_vfs_register(vfs, 0) })?;
    Ok(shared)
}

/// Makes a registered VFS the default one.
pub(super) fn make_default(name: &str) -> Result<(), Error> {
    let vfs = find_vfs(name);
    if vfs.is_null() {
        return Err(Error::Usage(format!("there is no VFS named {name:?}")));
    }
    // SAFETY: the VFS is registered, and those of this crate stay in place.
    check_registered(unsafe { ffi::sqlite3_vfs_register(vfs, 1) })
}

/// Returns the VFS with this name, or null.
fn find_vfs(name: &str) -> *mut ffi::sqlite3_vfs {
    match CString::new(name) {
        // SAFETY: the name is a C string.
        Ok(name) => unsafe { ffi::sqlite3_vfs_find(name.as_ptr()) },
        Err(_) => ptr::null_mut(),
    }
}

fn check_registered(code: c_int) -> Result<(), Error> {
    if code == ffi::SQLITE_OK {
        return Ok(());
    }
    Err(Error::Sqlite {
        call: "sqlite3_vfs_register",
        code,
        hint: "the VFS could not be registered",
    })
}

/// Returns the state of a VFS.
///
/// # Safety
///
/// [`register`] made `vfs`.
unsafe fn vfs_state(vfs: *mut ffi::sqlite3_vfs) -> &'static VfsState {
    // SAFETY: `register` set the pointer to a leaked state.
    unsafe { &*(*vfs).pAppData.cast::<VfsState>() }
}

fn to_path(name: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(name.to_bytes()))
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

// SAFETY of all functions below: SQLite calls a method with the registered VFS and with the
// pointers that sqlite3.h specifies.

unsafe extern "C" fn vfs_open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: see above.
    let (shared, base) = unsafe {
        FileHandle::clear(file);
        (vfs_state(vfs), FileHandle::base_file(file))
    };
    // SAFETY: a name that is not null is a C string.
    let path = (!name.is_null()).then(|| to_path(unsafe { CStr::from_ptr(name) }));
    // SAFETY: see above.
    let (base, descriptor) = match unsafe { open_base(shared, name, base, flags, out_flags) } {
        Ok(opened) => opened,
        Err(code) => return code,
    };
    let kind = if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
        FileKind::Database
    } else if flags & ffi::SQLITE_OPEN_MAIN_JOURNAL != 0 {
        FileKind::Journal
    } else if flags & ffi::SQLITE_OPEN_WAL != 0 {
        FileKind::Wal
    } else {
        FileKind::Other
    };
    // The unix VFS syncs the directory of these files (os_unix.c, `isNewJrnl`).
    let created = flags & ffi::SQLITE_OPEN_CREATE != 0;
    let listed =
        ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;
    let unsynced_directory = path
        .filter(|_| created && flags & listed != 0)
        .map(directory_of);
    let state = InstrumentedFile::new(base, kind, shared, unsynced_directory, descriptor);
    // SAFETY: see above.
    unsafe { FileHandle::init(file, state) };
    ffi::SQLITE_OK
}

/// Opens a file of the base VFS. Returns its descriptor, too, where descriptors are recorded.
///
/// # Safety
///
/// The arguments are those of `xOpen`, but `base` is the memory of the base VFS's file.
unsafe fn open_base(
    shared: &'static VfsState,
    name: ffi::sqlite3_filename,
    base: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> Result<(BaseFile, Option<RawFd>), SqliteCode> {
    // SAFETY: the base VFS is registered; a file begins with its methods.
    let (open, methods) = unsafe {
        let methods: *mut *const ffi::sqlite3_io_methods = &raw mut (*base).pMethods;
        methods.write(ptr::null());
        ((*shared.base).xOpen, methods)
    };
    let open = open.ok_or(ffi::SQLITE_CANTOPEN)?;
    let (code, descriptor) = descriptor::record_descriptor(|| {
        // SAFETY: as the caller promises.
        unsafe { open(shared.base, name, base, flags, out_flags) }
    });
    // SAFETY: the base VFS has initialised `base`. A file with methods has to be closed, even after
    // a failure (sqlite3.h, xOpen); one without methods must not be.
    let opened = unsafe { !methods.read().is_null() };
    if !opened {
        return Err(match code {
            ffi::SQLITE_OK => ffi::SQLITE_CANTOPEN,
            code => code,
        });
    }
    // SAFETY: the file is open, and SQLite keeps its memory until it is closed.
    let base = unsafe { BaseFile::new(base) };
    let no_descriptor = shared.options.sync == SyncCall::Fsync && descriptor.is_none();
    if code != ffi::SQLITE_OK || no_descriptor {
        let closed = base.close();
        return Err(match code {
            ffi::SQLITE_OK => closed.err().unwrap_or(ffi::SQLITE_CANTOPEN),
            code => code,
        });
    }
    Ok((base, descriptor))
}

unsafe extern "C" fn vfs_delete(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    sync_dir: c_int,
) -> c_int {
    // SAFETY: see above.
    let (shared, c_name) = unsafe { (vfs_state(vfs), CStr::from_ptr(name)) };
    // SAFETY: the base VFS is registered.
    let Some(base_delete) = (unsafe { (*shared.base).xDelete }) else {
        return ffi::SQLITE_IOERR_DELETE;
    };
    let sync = sync_dir & 1 != 0;
    let sync_here = sync && shared.options.sync == SyncCall::Fsync;
    let base_sync = if sync_here { 0 } else { sync_dir };
    // SAFETY: see above.
    let code = unsafe { base_delete(shared.base, name, base_sync) };
    if code == ffi::SQLITE_OK {
        let kind = FileKind::from_name(c_name.to_bytes());
        let recorder = &shared.recorder;
        recorder.record(kind, IoOperation::Delete, 0, 0, |counters| {
            counters.deletes += 1
        });
        if sync_here {
            sync_directory(&directory_of(to_path(c_name)));
        }
        if sync {
            recorder.record(kind, IoOperation::DirectorySync, 0, 0, |counters| {
                counters.directory_syncs += 1;
            });
        }
    }
    code
}

/// Defines a method that calls the base VFS's.
macro_rules! forward {
    ($name:ident = $method:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)? => $missing:expr) => {
        unsafe extern "C" fn $name(vfs: *mut ffi::sqlite3_vfs $(, $argument: $kind)*) $(-> $result)? {
            // SAFETY: see above; the arguments are passed unchanged.
            unsafe {
                let base = vfs_state(vfs).base;
                match (*base).$method {
                    Some(method) => method(base $(, $argument)*),
                    None => $missing,
                }
            }
        }
    };
}

type DlSymbol = Option<unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *mut c_void, *const c_char)>;

forward!(access = xAccess(name: *const c_char, flags: c_int, to: *mut c_int) -> c_int
    => ffi::SQLITE_IOERR_ACCESS);
forward!(full_pathname = xFullPathname(name: *const c_char, length: c_int, to: *mut c_char)
    -> c_int => ffi::SQLITE_CANTOPEN);
forward!(dl_open = xDlOpen(name: *const c_char) -> *mut c_void => ptr::null_mut());
forward!(dl_error = xDlError(length: c_int, to: *mut c_char) => ());
forward!(dl_sym = xDlSym(library: *mut c_void, name: *const c_char) -> DlSymbol => None);
forward!(dl_close = xDlClose(library: *mut c_void) => ());
forward!(randomness = xRandomness(length: c_int, to: *mut c_char) -> c_int => 0);
forward!(sleep = xSleep(microseconds: c_int) -> c_int => 0);
forward!(current_time = xCurrentTime(to: *mut f64) -> c_int => ffi::SQLITE_ERROR);
forward!(get_last_error = xGetLastError(length: c_int, to: *mut c_char) -> c_int => 0);
forward!(current_time_int64 = xCurrentTimeInt64(to: *mut ffi::sqlite3_int64) -> c_int
    => ffi::SQLITE_ERROR);
forward!(set_system_call = xSetSystemCall(name: *const c_char, call: ffi::sqlite3_syscall_ptr)
    -> c_int => ffi::SQLITE_NOTFOUND);
forward!(get_system_call = xGetSystemCall(name: *const c_char) -> ffi::sqlite3_syscall_ptr
    => None);
forward!(next_system_call = xNextSystemCall(name: *const c_char) -> *const c_char
    => ptr::null());
