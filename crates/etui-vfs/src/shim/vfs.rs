//! The VFS itself, as SQLite calls it: opening and deleting are ours, the rest is passed on.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::RawFd;
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use libsqlite3_sys as ffi;

use super::count::{Count, FileKind, Operation};
use super::file::{File, Opened, sync_directory};
use super::methods::{HANDLE_BYTES, Handle};
use super::real::{Code, Real};
use super::rest::Rest;
use super::{ShimOptions, SyncCall, descriptor};
use crate::Error;

/// What all files of one shim share; never freed.
#[derive(Debug)]
pub(super) struct Shared {
    real: *mut ffi::sqlite3_vfs,
    pub options: ShimOptions,
    pub count: Count,
}

// SAFETY: the VFS below is not changed after it was registered and may be called from any
// thread; the rest is `Send` and `Sync` itself.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// Registers a VFS above the one named `below`.
pub(super) fn register(
    name: CString,
    below: &str,
    options: ShimOptions,
) -> Result<&'static Shared, Error> {
    let real = find(below);
    // SAFETY: it is a C string.
    let taken = unsafe { ffi::sqlite3_vfs_find(name.as_ptr()) };
    if real.is_null() {
        let reason = format!("this SQLite has no VFS named `{below}`");
        return Err(Error::unsupported("a VFS above another", reason));
    }
    if !taken.is_null() {
        return Err(Error::Usage(format!(
            "there is a VFS named {name:?} already"
        )));
    }
    if options.sync == SyncCall::Fsync {
        // SAFETY: `real` is the registered unix VFS.
        unsafe { descriptor::replace_calls(real)? };
    }
    // SAFETY: `real` is registered and not changed afterwards.
    let below = unsafe { &*real };
    let ours = c_int::try_from(HANDLE_BYTES).unwrap_or(c_int::MAX);
    let shared: &'static Shared = Box::leak(Box::new(Shared {
        real,
        options,
        count: Count::new(&options),
    }));
    let vfs = Box::leak(Box::new(ffi::sqlite3_vfs {
        iVersion: below.iVersion.min(3),
        szOsFile: below.szOsFile.saturating_add(ours),
        mxPathname: below.mxPathname,
        pNext: ptr::null_mut(),
        zName: name.into_raw(),
        pAppData: ptr::from_ref(shared).cast_mut().cast(),
        xOpen: Some(open),
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
    }));
    // SAFETY: the VFS is leaked, so it stays where it is.
    registered(unsafe { ffi::sqlite3_vfs_register(vfs, 0) })?;
    Ok(shared)
}

/// Makes a VFS that is registered the default one.
pub(super) fn make_default(name: &str) -> Result<(), Error> {
    let vfs = find(name);
    if vfs.is_null() {
        return Err(Error::Usage(format!("there is no VFS named {name:?}")));
    }
    // SAFETY: it is registered, and those of this crate stay where they are.
    registered(unsafe { ffi::sqlite3_vfs_register(vfs, 1) })
}

/// The VFS of a name; null: there is none.
fn find(name: &str) -> *mut ffi::sqlite3_vfs {
    match CString::new(name) {
        // SAFETY: the name is a C string.
        Ok(name) => unsafe { ffi::sqlite3_vfs_find(name.as_ptr()) },
        Err(_) => ptr::null_mut(),
    }
}

fn registered(code: c_int) -> Result<(), Error> {
    if code == ffi::SQLITE_OK {
        return Ok(());
    }
    Err(Error::Sqlite {
        call: "sqlite3_vfs_register",
        code,
        hint: "the VFS could not be registered",
    })
}

/// What the files of a VFS share.
///
/// # Safety
///
/// `vfs` was made by [`register`].
unsafe fn shared(vfs: *mut ffi::sqlite3_vfs) -> &'static Shared {
    // SAFETY: `register` put it there, leaked.
    unsafe { &*(*vfs).pAppData.cast::<Shared>() }
}

fn path_of(name: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(name.to_bytes()))
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

// SAFETY, for all functions below: SQLite calls a method with the VFS that was registered and
// with pointers to what sqlite3.h promises.

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: see above.
    let (shared, below) = unsafe {
        Handle::blank(file);
        (shared(vfs), Handle::below(file))
    };
    // SAFETY: a name that is not null is a C string.
    let path = (!name.is_null()).then(|| path_of(unsafe { CStr::from_ptr(name) }));
    let rest = match (shared.options.keep_log, path) {
        (Some(kept), Some(path)) if flags & ffi::SQLITE_OPEN_WAL != 0 => {
            Some(Rest::new(kept, path.to_owned()))
        }
        _ => None,
    };
    // SAFETY: see above.
    let opened = unsafe {
        // The name of a log at rest is durable. Opened to be created it would be made so anew.
        let at_rest = match &rest {
            Some(rest) => open_at_rest(shared, name, below, flags, out_flags, rest),
            None => None,
        };
        match at_rest {
            Some(opened) => Ok((opened, flags & !ffi::SQLITE_OPEN_CREATE)),
            None => open_below(shared, name, below, flags, out_flags).map(|real| (real, flags)),
        }
    };
    let ((real, descriptor), flags) = match opened {
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
    // These are the files whose directory the unix VFS syncs (os_unix.c, `isNewJrnl`).
    let created = flags & ffi::SQLITE_OPEN_CREATE != 0 && path.is_some();
    let listed =
        ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;
    let new_in = path
        .filter(|_| created && flags & listed != 0)
        .map(directory_of);
    let state = File::new(Opened {
        real,
        kind,
        shared,
        new_in,
        descriptor,
        rest,
    });
    state.count_open();
    // SAFETY: see above.
    let state = unsafe { Handle::fill(file, state) };
    // Only the pager of the database itself opens the journal to create it, and the log, and with a
    // name that it may be found by.
    let keeps_back = kind == FileKind::Journal && created && shared.options.coalesce.is_some();
    let keeps_log = kind == FileKind::Wal && shared.options.keep_log.is_some();
    if (keeps_back || keeps_log) && path.is_some() {
        // SAFETY: SQLite gave the name to xOpen for a main journal or a log.
        unsafe {
            let database = ffi::sqlite3_database_file_object(name);
            if let Some(database) = Handle::file_if_ours(database)
                && (*database).kind() == FileKind::Database
            {
                File::pair(state, database);
            }
        }
    }
    ffi::SQLITE_OK
}

/// Has the VFS below open a file; its descriptor is told where descriptors are watched.
///
/// # Safety
///
/// The arguments are those of `xOpen`, but for `below`: the part of the memory that the VFS below
/// asked for.
unsafe fn open_below(
    shared: &'static Shared,
    name: ffi::sqlite3_filename,
    below: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> Result<(Real, Option<RawFd>), Code> {
    // SAFETY: the VFS below is registered; a file of its own begins with its methods.
    let (open, methods) = unsafe {
        let methods: *mut *const ffi::sqlite3_io_methods = &raw mut (*below).pMethods;
        methods.write(ptr::null());
        ((*shared.real).xOpen, methods)
    };
    let open = open.ok_or(ffi::SQLITE_CANTOPEN)?;
    let (code, descriptor) = descriptor::watch(|| {
        // SAFETY: as the caller promises.
        unsafe { open(shared.real, name, below, flags, out_flags) }
    });
    // SAFETY: `below` is as its VFS left it. One with methods is to be closed, even after a
    // failure (sqlite3.h, xOpen); one without cannot be.
    let opened = unsafe { !methods.read().is_null() };
    if !opened {
        return Err(match code {
            ffi::SQLITE_OK => ffi::SQLITE_CANTOPEN,
            code => code,
        });
    }
    // SAFETY: it is open, and its memory is SQLite's until it is closed.
    let real = unsafe { Real::new(below) };
    let blind = shared.options.sync == SyncCall::Fsync && descriptor.is_none();
    if code != ffi::SQLITE_OK || blind {
        let closed = real.close();
        return Err(match code {
            ffi::SQLITE_OK => closed.err().unwrap_or(ffi::SQLITE_CANTOPEN),
            code => code,
        });
    }
    Ok((real, descriptor))
}

/// Opens a log that is at rest; `None`: there is none, and nothing is open.
///
/// # Safety
///
/// As for [`open_below`].
unsafe fn open_at_rest(
    shared: &'static Shared,
    name: ffi::sqlite3_filename,
    below: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
    rest: &Rest,
) -> Option<(Real, Option<RawFd>)> {
    let mut there = 0;
    // SAFETY: the VFS below is registered, and the name is a C string.
    let asked = unsafe {
        (*shared.real)
            .xAccess
            .map(|access| access(shared.real, name, ffi::SQLITE_ACCESS_EXISTS, &raw mut there))
    };
    if asked != Some(ffi::SQLITE_OK) || there == 0 {
        return None;
    }
    let flags = flags & !ffi::SQLITE_OPEN_CREATE;
    // SAFETY: as the caller promises.
    let opened = unsafe { open_below(shared, name, below, flags, out_flags) }.ok()?;
    if rest.is_believed(&opened.0) {
        return Some(opened);
    }
    let _ = opened.0.close();
    None
}

unsafe extern "C" fn delete(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    sync_dir: c_int,
) -> c_int {
    // SAFETY: see above.
    let (shared, c_name) = unsafe { (shared(vfs), CStr::from_ptr(name)) };
    // SAFETY: the VFS below is registered.
    let Some(real_delete) = (unsafe { (*shared.real).xDelete }) else {
        return ffi::SQLITE_IOERR_DELETE;
    };
    let sync = sync_dir & 1 != 0;
    let sync_here = sync && shared.options.sync == SyncCall::Fsync;
    let sync_below = if sync_here { 0 } else { sync_dir };
    // SAFETY: see above.
    let code = unsafe { real_delete(shared.real, name, sync_below) };
    if code == ffi::SQLITE_OK {
        let kind = FileKind::of_name(c_name.to_bytes());
        let count = &shared.count;
        count.note(kind, Operation::Delete, 0, 0, |counters| {
            counters.deletes += 1
        });
        if sync_here {
            sync_directory(&directory_of(path_of(c_name)));
        }
        if sync {
            count.note(kind, Operation::DirectorySync, 0, 0, |counters| {
                counters.directory_syncs += 1;
            });
        }
    }
    code
}

/// A method that is passed on to the VFS below as it is.
macro_rules! pass_on {
    ($name:ident = $method:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)? => $missing:expr) => {
        unsafe extern "C" fn $name(vfs: *mut ffi::sqlite3_vfs $(, $argument: $kind)*) $(-> $result)? {
            // SAFETY: see above; the arguments are passed on as they came.
            unsafe {
                let real = shared(vfs).real;
                match (*real).$method {
                    Some(method) => method(real $(, $argument)*),
                    None => $missing,
                }
            }
        }
    };
}

type Symbol = Option<unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *mut c_void, *const c_char)>;

pass_on!(access = xAccess(name: *const c_char, flags: c_int, to: *mut c_int) -> c_int
    => ffi::SQLITE_IOERR_ACCESS);
pass_on!(full_pathname = xFullPathname(name: *const c_char, length: c_int, to: *mut c_char)
    -> c_int => ffi::SQLITE_CANTOPEN);
pass_on!(dl_open = xDlOpen(name: *const c_char) -> *mut c_void => ptr::null_mut());
pass_on!(dl_error = xDlError(length: c_int, to: *mut c_char) => ());
pass_on!(dl_sym = xDlSym(library: *mut c_void, name: *const c_char) -> Symbol => None);
pass_on!(dl_close = xDlClose(library: *mut c_void) => ());
pass_on!(randomness = xRandomness(length: c_int, to: *mut c_char) -> c_int => 0);
pass_on!(sleep = xSleep(microseconds: c_int) -> c_int => 0);
pass_on!(current_time = xCurrentTime(to: *mut f64) -> c_int => ffi::SQLITE_ERROR);
pass_on!(get_last_error = xGetLastError(length: c_int, to: *mut c_char) -> c_int => 0);
pass_on!(current_time_int64 = xCurrentTimeInt64(to: *mut ffi::sqlite3_int64) -> c_int
    => ffi::SQLITE_ERROR);
pass_on!(set_system_call = xSetSystemCall(name: *const c_char, call: ffi::sqlite3_syscall_ptr)
    -> c_int => ffi::SQLITE_NOTFOUND);
pass_on!(get_system_call = xGetSystemCall(name: *const c_char) -> ffi::sqlite3_syscall_ptr
    => None);
pass_on!(next_system_call = xNextSystemCall(name: *const c_char) -> *const c_char
    => ptr::null());
