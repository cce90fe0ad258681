//! [`Vfs`]: the registered VFS, whose methods are those of the VFS below but for the opening of
//! databases.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::mem;
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use libsqlite3_sys as ffi;

use crate::Error;
use crate::base_vfs::BaseVfs;
use crate::database::DatabaseFile;
use crate::file_methods::FileHandle;
use crate::fork;
use crate::guarded_file::has_ofd_locks;
use crate::sqlite_api::api;
use crate::sqlite_file::VfsErrorCode;
use crate::wal_index::sibling_path;

/// A registered VFS. It stays registered until the process ends.
#[derive(Debug, Clone)]
pub struct Vfs {
    name: String,
}

impl Vfs {
    /// Returns the name to open databases with.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Registers the VFS above SQLite's own.
///
/// # Errors
///
/// The name is in use or invalid, or this SQLite is too old.
pub fn register(name: &str) -> Result<Vfs, Error> {
    register_above(name, "unix")
}

/// Registers the VFS above the one named `base`.
///
/// # Errors
///
/// As for [`register`]; or there is no VFS `base`.
#[doc(hidden)]
pub fn register_above(name: &str, base: &str) -> Result<Vfs, Error> {
    let base = CString::new(base)
        .map_err(|_| Error::Usage(format!("{base:?} is no valid name of a VFS")))?;
    let c_name = checked_name(name)?;
    let host: &'static BaseVfs = Box::leak(Box::new(BaseVfs::find_named(&base)?));
    fork::watch();
    let mut vfs = forwarding(c_name, host);
    vfs.xOpen = Some(vfs_open);
    BaseVfs::register(Box::leak(Box::new(vfs)))?;
    let name = name.to_owned();
    Ok(Vfs { name })
}

/// Returns the name of a new VFS for SQLite.
///
/// # Errors
///
/// It is in use, or invalid.
#[doc(hidden)]
pub fn checked_name(name: &str) -> Result<CString, Error> {
    let c_name = CString::new(name).ok().filter(|name| !name.is_empty());
    let c_name = c_name.ok_or_else(|| {
        Error::Usage(format!(
            "{name:?} cannot be the name of a VFS: it needs characters, but no zero bytes"
        ))
    })?;
    match BaseVfs::is_taken(&c_name) {
        true => Err(Error::Usage(format!(
            "there is a VFS named {name:?} already"
        ))),
        false => Ok(c_name),
    }
}

/// Returns a VFS whose methods are those of the one below. Its files may have a [`FileHandle`].
#[doc(hidden)]
pub fn forwarding<S: Above>(name: CString, state: &'static S) -> ffi::sqlite3_vfs {
    // SAFETY: the state begins with the VFS below, which is registered and does not change afterwards.
    let below = unsafe { &*(*ptr::from_ref(state).cast::<BaseVfs>()).vfs() };
    let size = c_int::try_from(mem::size_of::<FileHandle<()>>()).unwrap_or(c_int::MAX);
    ffi::sqlite3_vfs {
        // Methods of later versions are not forwarded.
        iVersion: below.iVersion.min(3),
        // The memory is that of a file of the VFS below, or of a handle.
        szOsFile: below.szOsFile.max(size),
        mxPathname: below.mxPathname,
        pNext: ptr::null_mut(),
        zName: name.into_raw(),
        pAppData: ptr::from_ref(state).cast_mut().cast(),
        xOpen: None,
        xDelete: Some(delete),
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
    }
}

/// The state of a VFS above another one.
///
/// # Safety
///
/// Its memory begins with the [`BaseVfs`] below.
#[doc(hidden)]
pub unsafe trait Above: Sync {}

// SAFETY: it is that itself.
unsafe impl Above for BaseVfs {}

/// Returns the VFS below.
///
/// # Safety
///
/// `vfs` was made by [`forwarding`].
unsafe fn below_of(vfs: *mut ffi::sqlite3_vfs) -> *mut ffi::sqlite3_vfs {
    // SAFETY: `forwarding` set the pointer to a state that begins with it and is never freed.
    unsafe { (*(*vfs).pAppData.cast::<BaseVfs>()).vfs() }
}

// SAFETY of all functions below: SQLite calls a method with the registered VFS, with C strings, and
// with pointers to memory of the size that sqlite3.h specifies.

unsafe extern "C" fn vfs_open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let host = &*(*vfs).pAppData.cast::<BaseVfs>();
        open_file(host, name, file, flags, out_flags)
    }
}

/// Opens a file: a database that may be written with locks of its own, all others by the VFS below.
///
/// # Safety
///
/// The arguments are those of `xOpen` of a VFS that [`forwarding`] made.
#[doc(hidden)]
pub unsafe fn open_file(
    host: &BaseVfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let is_own = flags & ffi::SQLITE_OPEN_MAIN_DB != 0
        && flags & ffi::SQLITE_OPEN_READWRITE != 0
        && flags & ffi::SQLITE_OPEN_DELETEONCLOSE == 0
        && !name.is_null();
    // SAFETY: as the caller promises.
    unsafe {
        // SQLite closes a file that has methods, even if it could not be opened.
        (*file).pMethods = ptr::null();
        if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 && !name.is_null() && passes_over_wal(name) {
            let name = CStr::from_ptr(name).to_string_lossy();
            BaseVfs::log(ffi::SQLITE_CANTOPEN, &format!("{name}: {PASSED_OVER}"));
            return ffi::SQLITE_CANTOPEN;
        }
        if !is_own || !has_ofd_locks() || has_parameter(name, c"readonly_shm") {
            return open_below(host, name, file, flags, out_flags);
        }
        let path = Path::new(OsStr::from_bytes(CStr::from_ptr(name).to_bytes()));
        match DatabaseFile::open(host, path, flags) {
            Ok(open) => {
                if !out_flags.is_null() {
                    *out_flags = flags;
                }
                FileHandle::init(file, open);
                ffi::SQLITE_OK
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                // It may be readable.
                open_below(host, name, file, flags, out_flags)
            }
            Err(error) => open_code(&error),
        }
    }
}

/// Returns true if the URI of a database has this parameter.
///
/// # Safety
///
/// `name` is the name that SQLite passed to `xOpen` for a database.
unsafe fn has_parameter(name: ffi::sqlite3_filename, parameter: &CStr) -> bool {
    // SAFETY: as the caller promises, and the parameter is a C string.
    api().is_some_and(|api| !unsafe { (api.uri_parameter)(name, parameter.as_ptr()) }.is_null())
}

/// The reason for which [`passes_over_wal`] refuses.
#[doc(hidden)]
pub const PASSED_OVER: &str = "its last changes are in its WAL, which `immutable` passes over";

/// Returns true if a database is opened as `immutable` beside a WAL with frames: it would show an old
/// state.
///
/// # Safety
///
/// `name` is the name that SQLite passed to `xOpen` for a database.
#[doc(hidden)]
pub unsafe fn passes_over_wal(name: ffi::sqlite3_filename) -> bool {
    // SAFETY: as the caller promises, and the parameter is a C string.
    let value = api().map_or(ptr::null(), |api| unsafe {
        (api.uri_parameter)(name, c"immutable".as_ptr())
    });
    // SAFETY: SQLite returns a C string, which lives as long as the name.
    let is_set = !value.is_null()
        && !matches!(
            unsafe { CStr::from_ptr(value) }.to_bytes(),
            b"0" | b"no" | b"off" | b"false"
        );
    // SAFETY: as the caller promises.
    let path = Path::new(OsStr::from_bytes(
        unsafe { CStr::from_ptr(name) }.to_bytes(),
    ));
    // The header of a WAL has 32 bytes.
    is_set && std::fs::metadata(sibling_path(path, "-wal")).is_ok_and(|wal| wal.len() > 32)
}

/// Opens a file with the VFS below, whose methods SQLite then calls directly.
///
/// # Safety
///
/// As for `xOpen`.
#[doc(hidden)]
pub unsafe fn open_below(
    host: &BaseVfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let vfs = host.vfs();
    // SAFETY: as the caller promises; the memory has the size that the VFS below requested.
    unsafe {
        match (*vfs).xOpen {
            Some(open) => open(vfs, name, file, flags, out_flags),
            None => ffi::SQLITE_CANTOPEN,
        }
    }
}

/// Returns the result code of a failed open.
#[doc(hidden)]
pub fn open_code(error: &io::Error) -> c_int {
    match error.kind() {
        io::ErrorKind::StorageFull => ffi::SQLITE_FULL,
        io::ErrorKind::OutOfMemory => ffi::SQLITE_NOMEM,
        _ => {
            let answered = error.get_ref().and_then(|error| error.downcast_ref());
            answered.map_or(ffi::SQLITE_CANTOPEN, |VfsErrorCode(code)| *code)
        }
    }
}

/// Defines a method that calls that of the VFS below.
macro_rules! forward {
    ($name:ident = $method:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)? => $missing:expr) => {
        unsafe extern "C" fn $name(vfs: *mut ffi::sqlite3_vfs $(, $argument: $kind)*) $(-> $result)? {
            // SAFETY: see above; the arguments are passed unchanged.
            unsafe {
                let below = below_of(vfs);
                match (*below).$method {
                    Some(method) => method(below $(, $argument)*),
                    None => $missing,
                }
            }
        }
    };
}

type Symbol = Option<unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *mut c_void, *const c_char)>;

forward!(delete = xDelete(name: *const c_char, sync_dir: c_int) -> c_int
    => ffi::SQLITE_IOERR_DELETE);
forward!(access = xAccess(name: *const c_char, flags: c_int, to: *mut c_int) -> c_int
    => ffi::SQLITE_IOERR_ACCESS);
forward!(get_last_error = xGetLastError(length: c_int, to: *mut c_char) -> c_int => 0);
forward!(full_pathname = xFullPathname(name: *const c_char, length: c_int, to: *mut c_char)
    -> c_int => ffi::SQLITE_CANTOPEN);
forward!(dl_open = xDlOpen(name: *const c_char) -> *mut c_void => ptr::null_mut());
forward!(dl_error = xDlError(length: c_int, to: *mut c_char) => ());
forward!(dl_sym = xDlSym(library: *mut c_void, name: *const c_char) -> Symbol => None);
forward!(dl_close = xDlClose(library: *mut c_void) => ());
forward!(randomness = xRandomness(length: c_int, to: *mut c_char) -> c_int => 0);
forward!(sleep = xSleep(microseconds: c_int) -> c_int => 0);
forward!(current_time = xCurrentTime(to: *mut f64) -> c_int => ffi::SQLITE_ERROR);
forward!(current_time_int64 = xCurrentTimeInt64(to: *mut ffi::sqlite3_int64) -> c_int
    => ffi::SQLITE_ERROR);
forward!(set_system_call = xSetSystemCall(name: *const c_char, call: ffi::sqlite3_syscall_ptr)
    -> c_int => ffi::SQLITE_NOTFOUND);
forward!(get_system_call = xGetSystemCall(name: *const c_char) -> ffi::sqlite3_syscall_ptr
    => None);
forward!(next_system_call = xNextSystemCall(name: *const c_char) -> *const c_char
    => ptr::null());
