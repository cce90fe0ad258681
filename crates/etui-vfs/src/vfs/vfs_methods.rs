//! The methods of the VFS as SQLite calls them: opening, deleting, testing files.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::mem;
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use libsqlite3_sys as ffi;

use super::connection::{DatabaseConnection, OpenFile};
use super::exchange::Sharing;
use super::file_methods::FileHandle;
use super::journal::{self, RollbackJournal};
use super::wal_file::WalFile;
use super::{Options, VfsState, open_code, record_refusal};
use crate::Error;
use crate::base_vfs::BaseVfs;
use crate::device::{Access, Role};
use crate::redo::header_marker;
use crate::sqlite_api::api;

/// Registers a VFS above the base VFS.
pub(super) fn register(name: CString, shared: &'static VfsState) -> Result<(), Error> {
    // SAFETY: the base VFS is registered and does not change afterwards.
    let below = unsafe { &*shared.host.vfs() };
    let ours = c_int::try_from(mem::size_of::<FileHandle>()).unwrap_or(c_int::MAX);
    let vfs = Box::leak(Box::new(ffi::sqlite3_vfs {
        iVersion: below.iVersion.min(3),
        szOsFile: below.szOsFile.max(ours),
        mxPathname: below.mxPathname,
        pNext: ptr::null_mut(),
        zName: name.into_raw(),
        pAppData: ptr::from_ref(shared).cast_mut().cast(),
        xOpen: Some(vfs_open),
        xDelete: Some(vfs_delete),
        xAccess: Some(vfs_access),
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
    BaseVfs::register(vfs)
}

/// Returns the state of a VFS.
///
/// # Safety
///
/// [`register`] registered `vfs`.
unsafe fn vfs_state(vfs: *mut ffi::sqlite3_vfs) -> &'static VfsState {
    // SAFETY: `register` set the pointer to a state that is never freed.
    unsafe { &*(*vfs).pAppData.cast::<VfsState>() }
}

/// Converts a path of SQLite.
///
/// # Safety
///
/// `name` is a C string.
unsafe fn path_of(name: *const c_char) -> PathBuf {
    // SAFETY: as the caller promises.
    let name = unsafe { CStr::from_ptr(name) };
    PathBuf::from(OsStr::from_bytes(name.to_bytes()))
}

/// Returns the path of the database of a WAL.
fn database_of(wal: &Path) -> Option<PathBuf> {
    let name = wal.as_os_str().as_bytes().strip_suffix(b"-wal")?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
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
    let kinds = ffi::SQLITE_OPEN_MAIN_DB
        | ffi::SQLITE_OPEN_WAL
        | ffi::SQLITE_OPEN_MAIN_JOURNAL
        | ffi::SQLITE_OPEN_SUPER_JOURNAL;
    // SAFETY: see above. The memory has the size of the larger of the two VFSes' files.
    unsafe {
        let shared = vfs_state(vfs);
        FileHandle::clear(file);
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
                        record_refusal(ffi::SQLITE_CANTOPEN, &what);
                        return ffi::SQLITE_CANTOPEN;
                    }
                };
                match open_database(shared, &path, access, options) {
                    Err(ReadOnlyOpen::Plain) => {
                        return open_below(shared, name, file, flags, out_flags);
                    }
                    Err(ReadOnlyOpen::Refused(code)) => Err(code),
                    Ok(connection) => Ok(OpenFile::Database(connection)),
                }
            }
            ffi::SQLITE_OPEN_WAL => {
                let database = database_of(&path).and_then(|path| {
                    if !shared.registry.is_ambiguous(&path) {
                        return shared.registry.find(&path);
                    }
                    // The database is not derived from the name: a VFS above this one may have made
                    // the name, which SQLite could not parse then.
                    let file =
                        api().map_or(ptr::null_mut(), |api| (api.database_file_object)(name));
                    FileHandle::connection(file).map(|connection| connection.database.clone())
                });
                match database {
                    Some(database) => WalFile::open(database).map(OpenFile::Wal),
                    // A database that the base VFS has open, read-only.
                    None => return open_below(shared, name, file, flags, out_flags),
                }
            }
            kind => {
                let database = match kind {
                    ffi::SQLITE_OPEN_MAIN_JOURNAL => journal::database_of(shared, &path),
                    _ => None,
                };
                let opened = RollbackJournal::open(shared, path, access, database);
                let opened = opened.map_err(|error| open_code(&error));
                opened.map(OpenFile::Journal)
            }
        };
        match opened {
            Ok(open) => {
                if !out_flags.is_null() {
                    *out_flags = flags;
                }
                FileHandle::init(file, open);
                ffi::SQLITE_OK
            }
            Err(code) => code,
        }
    }
}

/// Opens a file with the base VFS, whose methods SQLite then calls directly.
///
/// # Safety
///
/// As for `xOpen`.
unsafe fn open_below(
    shared: &'static VfsState,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let vfs = shared.host.vfs();
    // SAFETY: as the caller promises; the memory has the size that the base VFS requested.
    unsafe {
        match (*vfs).xOpen {
            Some(open) => open(vfs, name, file, flags, out_flags),
            None => ffi::SQLITE_CANTOPEN,
        }
    }
}

/// The reason why a database is not opened for writing.
enum ReadOnlyOpen {
    /// It is read-only and needs no log: the base VFS can open it.
    Plain,
    Refused(c_int),
}

fn open_database(
    shared: &'static VfsState,
    path: &Path,
    access: Access,
    options: Options,
) -> Result<DatabaseConnection, ReadOnlyOpen> {
    let written = Access {
        write: true,
        create: access.create,
    };
    let connection = match DatabaseConnection::open(shared, path.to_owned(), written, options) {
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
            record_refusal(
                code,
                &format!("{} cannot be opened: {error}", path.display()),
            );
            return Err(ReadOnlyOpen::Refused(code));
        }
    };
    let database = Arc::clone(&connection.database);
    // Stepping aside waits: a shared database is not attached.
    let sharing = database.sharing();
    if *sharing == Sharing::Shared {
        return Ok(connection);
    }
    match database.attach_session() {
        // The present holder may be done at the first read; SQLite waits there.
        Ok(()) | Err(ffi::SQLITE_BUSY) => Ok(connection),
        Err(code) => Err(ReadOnlyOpen::Refused(code)),
    }
}

/// Checks a database that this process may not write: it is readable if it needs no log.
fn read_only(shared: &'static VfsState, path: &Path) -> ReadOnlyOpen {
    let access = Access {
        write: false,
        create: false,
    };
    let mut header = [0; header_marker::HEADER];
    let read = shared
        .platform
        .open(Some(path), Role::Database, access)
        .and_then(|file| file.read_at(&mut header, 0));
    match read {
        Ok(_) if header_marker::log_lineage(&header).is_some() => {
            let what = "its last changes are in a redo log, and it may not be written here";
            record_refusal(ffi::SQLITE_CANTOPEN, &format!("{}: {what}", path.display()));
            ReadOnlyOpen::Refused(ffi::SQLITE_CANTOPEN)
        }
        _ => ReadOnlyOpen::Plain,
    }
}

unsafe extern "C" fn vfs_delete(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    sync_dir: c_int,
) -> c_int {
    // SAFETY: see above.
    let (shared, path) = unsafe { (vfs_state(vfs), path_of(name)) };
    if let Some(database) = database_of(&path)
        && let Some(database) = shared.registry.find(&database)
    {
        let sharing = database.sharing();
        if *sharing == Sharing::Alone {
            database.delete_wal();
            return ffi::SQLITE_OK;
        }
        database.remove_ended_log();
    }
    // A commit whose journal was removed by someone else must fail, as the journal may reappear.
    let there = shared.platform.file_identity(&path);
    if there.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return ffi::SQLITE_IOERR_DELETE_NOENT;
    }
    match shared.platform.remove(&path, sync_dir & 1 != 0) {
        Ok(()) => ffi::SQLITE_OK,
        Err(_) => ffi::SQLITE_IOERR_DELETE,
    }
}

unsafe extern "C" fn vfs_access(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    to: *mut c_int,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let shared = vfs_state(vfs);
        if flags != ffi::SQLITE_ACCESS_EXISTS {
            let below = shared.host.vfs();
            return match (*below).xAccess {
                Some(access) => access(below, name, flags, to),
                None => ffi::SQLITE_IOERR_ACCESS,
            };
        }
        let path = path_of(name);
        let there = match database_of(&path).and_then(|path| shared.registry.find(&path)) {
            Some(database) if *database.sharing() == Sharing::Alone => Ok(database.has_wal()),
            _ => shared.platform.exists(&path),
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

/// Defines a method that calls the base VFS's.
macro_rules! forward {
    ($name:ident = $method:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)? => $missing:expr) => {
        unsafe extern "C" fn $name(vfs: *mut ffi::sqlite3_vfs $(, $argument: $kind)*) $(-> $result)? {
            // SAFETY: see above; the arguments are passed unchanged.
            unsafe {
                let below = vfs_state(vfs).host.vfs();
                match (*below).$method {
                    Some(method) => method(below $(, $argument)*),
                    None => $missing,
                }
            }
        }
    };
}

type Symbol = Option<unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *mut c_void, *const c_char)>;

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
