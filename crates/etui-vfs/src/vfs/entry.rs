//! The VFS itself, as SQLite calls it: opening, deleting, looking for files.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::mem;
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use libsqlite3_sys as ffi;

use super::connection::{Connection, Open};
use super::journal::{self, Journal};
use super::methods::Handle;
use super::{Options, Shared, open_code, refuse};
use crate::Error;
use crate::api::api;
use crate::device::{Access, Role};
use crate::host::Host;
use crate::redo::guard;

/// Registers a VFS above SQLite's own.
pub(super) fn register(name: CString, shared: &'static Shared) -> Result<(), Error> {
    // SAFETY: the VFS below is registered and not changed afterwards.
    let below = unsafe { &*shared.host.vfs() };
    let ours = c_int::try_from(mem::size_of::<Handle>()).unwrap_or(c_int::MAX);
    let vfs = Box::leak(Box::new(ffi::sqlite3_vfs {
        iVersion: below.iVersion.min(3),
        szOsFile: below.szOsFile.max(ours),
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
    Host::register(vfs)
}

/// What the files of a VFS share.
///
/// # Safety
///
/// `vfs` was registered by [`register`].
unsafe fn shared(vfs: *mut ffi::sqlite3_vfs) -> &'static Shared {
    // SAFETY: `register` put it there, and it is never freed.
    unsafe { &*(*vfs).pAppData.cast::<Shared>() }
}

/// A path that SQLite gave.
///
/// # Safety
///
/// `name` is a C string.
unsafe fn path_of(name: *const c_char) -> PathBuf {
    // SAFETY: as the caller promises.
    let name = unsafe { CStr::from_ptr(name) };
    PathBuf::from(OsStr::from_bytes(name.to_bytes()))
}

/// The database that a WAL of this name belongs to.
fn database_of(wal: &Path) -> Option<PathBuf> {
    let name = wal.as_os_str().as_bytes().strip_suffix(b"-wal")?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

// SAFETY, for all functions below: SQLite calls a method with the VFS that was registered, with C
// strings, and with pointers to memory of the size that sqlite3.h promises.

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let kinds = ffi::SQLITE_OPEN_MAIN_DB
        | ffi::SQLITE_OPEN_WAL
        | ffi::SQLITE_OPEN_MAIN_JOURNAL
        | ffi::SQLITE_OPEN_SUPER_JOURNAL;
    // SAFETY: see above. The memory is as large as the larger of the two VFSes asks.
    unsafe {
        let shared = shared(vfs);
        Handle::blank(file);
        if name.is_null() || flags & kinds == 0 {
            return open_below(shared, name, file, flags, out_flags);
        }
        let path = path_of(name);
        let access = Access {
            write: flags & ffi::SQLITE_OPEN_READWRITE != 0,
            create: flags & ffi::SQLITE_OPEN_CREATE != 0,
        };
        let opened = match flags & kinds {
            ffi::SQLITE_OPEN_MAIN_DB => {
                if flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0 {
                    return open_below(shared, name, file, flags, out_flags);
                }
                let options = match shared.options.of_uri(name) {
                    Ok(options) => options,
                    Err(error) => {
                        let what = format!("{} cannot be opened: {error}", path.display());
                        refuse(ffi::SQLITE_CANTOPEN, &what);
                        return ffi::SQLITE_CANTOPEN;
                    }
                };
                match open_database(shared, &path, access, options) {
                    Err(ReadOnly::Plain) => {
                        return open_below(shared, name, file, flags, out_flags);
                    }
                    Err(ReadOnly::Refused(code)) => Err(code),
                    Ok(connection) => Ok(Open::Database(connection)),
                }
            }
            ffi::SQLITE_OPEN_WAL => {
                let database = database_of(&path).and_then(|path| {
                    if !shared.registry.is_ambiguous(&path) {
                        return shared.registry.find(&path);
                    }
                    // Not asked first: a VFS above ours may have made the name itself, which
                    // SQLite could not read then.
                    let file =
                        api().map_or(ptr::null_mut(), |api| (api.database_file_object)(name));
                    Handle::connection(file).map(|connection| connection.database.clone())
                });
                match database {
                    Some(database) => {
                        database.open_wal();
                        Ok(Open::Wal(database))
                    }
                    // A database that was opened below, to be read only.
                    None => return open_below(shared, name, file, flags, out_flags),
                }
            }
            kind => {
                let database = match kind {
                    ffi::SQLITE_OPEN_MAIN_JOURNAL => journal::database_of(shared, &path),
                    _ => None,
                };
                let opened = Journal::open(shared, path, access, database);
                let opened = opened.map_err(|error| open_code(&error));
                opened.map(Open::Journal)
            }
        };
        match opened {
            Ok(open) => {
                if !out_flags.is_null() {
                    *out_flags = flags;
                }
                Handle::fill(file, open);
                ffi::SQLITE_OK
            }
            Err(code) => code,
        }
    }
}

/// Has the VFS below open a file, whose methods SQLite calls then without us.
///
/// # Safety
///
/// As for `xOpen`.
unsafe fn open_below(
    shared: &'static Shared,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let vfs = shared.host.vfs();
    // SAFETY: as the caller promises; the memory is as large as the VFS below asks.
    unsafe {
        match (*vfs).xOpen {
            Some(open) => open(vfs, name, file, flags, out_flags),
            None => ffi::SQLITE_CANTOPEN,
        }
    }
}

/// Why a database is not opened for writing.
enum ReadOnly {
    /// It may not be written, and needs no log: the VFS below can have it.
    Plain,
    Refused(c_int),
}

fn open_database(
    shared: &'static Shared,
    path: &Path,
    access: Access,
    options: Options,
) -> Result<Connection, ReadOnly> {
    let written = Access {
        write: true,
        create: access.create,
    };
    let connection = match Connection::open(shared, path.to_owned(), written, options) {
        Ok(connection) => connection,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            return Err(read_only(shared, path));
        }
        Err(error) => {
            let code = open_code(&error);
            refuse(
                code,
                &format!("{} cannot be opened: {error}", path.display()),
            );
            return Err(ReadOnly::Refused(code));
        }
    };
    match connection.database.attach() {
        // Whoever has it now may be done when it is read first; SQLite waits there.
        Ok(()) | Err(ffi::SQLITE_BUSY) => Ok(connection),
        Err(code) => Err(ReadOnly::Refused(code)),
    }
}

/// A database that this process may not write: it can be read if it needs no log.
fn read_only(shared: &'static Shared, path: &Path) -> ReadOnly {
    let access = Access {
        write: false,
        create: false,
    };
    let mut header = [0; guard::HEADER];
    let read = shared
        .platform
        .open(Some(path), Role::Database, access)
        .and_then(|file| file.read_at(&mut header, 0));
    match read {
        Ok(_) if guard::lineage(&header).is_some() => {
            let what = "its last changes are in a redo log, and it may not be written here";
            refuse(ffi::SQLITE_CANTOPEN, &format!("{}: {what}", path.display()));
            ReadOnly::Refused(ffi::SQLITE_CANTOPEN)
        }
        _ => ReadOnly::Plain,
    }
}

unsafe extern "C" fn delete(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    sync_dir: c_int,
) -> c_int {
    // SAFETY: see above.
    let (shared, path) = unsafe { (shared(vfs), path_of(name)) };
    if let Some(database) = database_of(&path)
        && let Some(database) = shared.registry.find(&database)
    {
        database.delete_wal();
        return ffi::SQLITE_OK;
    }
    // A commit whose journal somebody took away must fail: it may come back.
    let there = shared.platform.identity(&path);
    if there.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return ffi::SQLITE_IOERR_DELETE_NOENT;
    }
    match shared.platform.remove(&path, sync_dir & 1 != 0) {
        Ok(()) => ffi::SQLITE_OK,
        Err(_) => ffi::SQLITE_IOERR_DELETE,
    }
}

unsafe extern "C" fn access(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    to: *mut c_int,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let shared = shared(vfs);
        if flags != ffi::SQLITE_ACCESS_EXISTS {
            let below = shared.host.vfs();
            return match (*below).xAccess {
                Some(access) => access(below, name, flags, to),
                None => ffi::SQLITE_IOERR_ACCESS,
            };
        }
        let path = path_of(name);
        let there = match database_of(&path).and_then(|path| shared.registry.find(&path)) {
            Some(database) => Ok(database.has_wal()),
            None => shared.platform.exists(&path),
        };
        match there {
            Ok(there) => {
                *to = c_int::from(there);
                ffi::SQLITE_OK
            }
            Err(_) => ffi::SQLITE_IOERR_ACCESS,
        }
    }
}

unsafe extern "C" fn get_last_error(
    _vfs: *mut ffi::sqlite3_vfs,
    length: c_int,
    to: *mut c_char,
) -> c_int {
    let text = super::last_refusal().unwrap_or_default();
    let Some(most) = usize::try_from(length)
        .ok()
        .and_then(|most| most.checked_sub(1))
    else {
        return 0;
    };
    let bytes = text
        .as_bytes()
        .get(..text.len().min(most))
        .unwrap_or_default();
    // SAFETY: see above: `to` has room for `length` bytes.
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len());
        to.add(bytes.len()).write(0);
    }
    0
}

/// A method that is passed on to the VFS below as it is.
macro_rules! pass_on {
    ($name:ident = $method:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)? => $missing:expr) => {
        unsafe extern "C" fn $name(vfs: *mut ffi::sqlite3_vfs $(, $argument: $kind)*) $(-> $result)? {
            // SAFETY: see above; the arguments are passed on as they came.
            unsafe {
                let below = shared(vfs).host.vfs();
                match (*below).$method {
                    Some(method) => method(below $(, $argument)*),
                    None => $missing,
                }
            }
        }
    };
}

type Symbol = Option<unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *mut c_void, *const c_char)>;

pass_on!(full_pathname = xFullPathname(name: *const c_char, length: c_int, to: *mut c_char)
    -> c_int => ffi::SQLITE_CANTOPEN);
pass_on!(dl_open = xDlOpen(name: *const c_char) -> *mut c_void => ptr::null_mut());
pass_on!(dl_error = xDlError(length: c_int, to: *mut c_char) => ());
pass_on!(dl_sym = xDlSym(library: *mut c_void, name: *const c_char) -> Symbol => None);
pass_on!(dl_close = xDlClose(library: *mut c_void) => ());
pass_on!(randomness = xRandomness(length: c_int, to: *mut c_char) -> c_int => 0);
pass_on!(sleep = xSleep(microseconds: c_int) -> c_int => 0);
pass_on!(current_time = xCurrentTime(to: *mut f64) -> c_int => ffi::SQLITE_ERROR);
pass_on!(current_time_int64 = xCurrentTimeInt64(to: *mut ffi::sqlite3_int64) -> c_int
    => ffi::SQLITE_ERROR);
pass_on!(set_system_call = xSetSystemCall(name: *const c_char, call: ffi::sqlite3_syscall_ptr)
    -> c_int => ffi::SQLITE_NOTFOUND);
pass_on!(get_system_call = xGetSystemCall(name: *const c_char) -> ffi::sqlite3_syscall_ptr
    => None);
pass_on!(next_system_call = xNextSystemCall(name: *const c_char) -> *const c_char
    => ptr::null());
