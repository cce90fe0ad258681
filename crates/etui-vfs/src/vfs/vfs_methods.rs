//! The methods of the VFS as SQLite calls them: opening, deleting, testing files.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::raw::{c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use etui_vfs_base::base_vfs::BaseVfs;
use etui_vfs_base::file_methods::{FileHandle, OpenFile};
use etui_vfs_base::sqlite_api::api;
use etui_vfs_base::vfs::{
    PASSED_OVER, forwarding, open_below, open_code, open_file, passes_over_wal,
};
use libsqlite3_sys as ffi;

use super::connection::DatabaseConnection;
use super::journal::{self, RollbackJournal};
use super::wal_file::WalFile;
use super::{Options, RedoLogUse, VfsState, record_refusal, recover_by};
use crate::Error;
use crate::device::{Access, Role};
use etui_vfs_base::header_marker;

/// Registers a VFS above the base VFS.
pub(super) fn register(name: CString, shared: &'static VfsState) -> Result<(), Error> {
    let vfs = ffi::sqlite3_vfs {
        xOpen: Some(vfs_open),
        xDelete: Some(vfs_delete),
        xAccess: Some(vfs_access),
        xGetLastError: Some(get_last_error),
        ..forwarding(name, shared)
    };
    BaseVfs::register(Box::leak(Box::new(vfs)))
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
        (*file).pMethods = ptr::null();
        if name.is_null() || flags & kinds == 0 {
            return open_below(&shared.host, name, file, flags, out_flags);
        }
        let path = path_of(name);
        let access = Access {
            write: flags & ffi::SQLITE_OPEN_READWRITE != 0,
            create: flags & ffi::SQLITE_OPEN_CREATE != 0,
        };
        match flags & kinds {
            ffi::SQLITE_OPEN_MAIN_DB => {
                if flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0 {
                    return open_below(&shared.host, name, file, flags, out_flags);
                }
                let options = match shared.options.of_uri(name) {
                    Ok(options) => options,
                    Err(error) => {
                        let what = format!("{} cannot be opened: {error}", path.display());
                        record_refusal(ffi::SQLITE_CANTOPEN, &what);
                        return ffi::SQLITE_CANTOPEN;
                    }
                };
                if options.redo_log == RedoLogUse::Never {
                    return open_without_log(shared, name, file, flags, out_flags);
                }
                match open_database(shared, &path, access, options) {
                    Err(ReadOnlyOpen::Plain) => {
                        open_below(&shared.host, name, file, flags, out_flags)
                    }
                    Err(ReadOnlyOpen::Refused(code)) => code,
                    Ok(connection) => opened(file, connection, flags, out_flags),
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
                    FileHandle::<DatabaseConnection>::find(file)
                        .map(|connection| connection.database.clone())
                });
                match database {
                    Some(database) => opened(file, WalFile::open(database), flags, out_flags),
                    // A database that the base VFS has open, read-only.
                    None => open_below(&shared.host, name, file, flags, out_flags),
                }
            }
            kind => {
                let database = match kind {
                    ffi::SQLITE_OPEN_MAIN_JOURNAL => journal::database_of(shared, &path),
                    _ => None,
                };
                match RollbackJournal::open(shared, path, access, database) {
                    Ok(journal) => opened(file, journal, flags, out_flags),
                    Err(error) => open_code(&error),
                }
            }
        }
    }
}

/// Completes an open.
///
/// # Safety
///
/// `file` and `out_flags` are those of `xOpen`.
unsafe fn opened<T: OpenFile>(
    file: *mut ffi::sqlite3_file,
    open: T,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        if !out_flags.is_null() {
            *out_flags = flags;
        }
        FileHandle::init(file, open);
    }
    ffi::SQLITE_OK
}

/// Opens a database that commits to SQLite's own WAL. A log that a killed process left is replayed.
///
/// # Safety
///
/// As for `xOpen`.
unsafe fn open_without_log(
    shared: &'static VfsState,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: as the caller promises; the file is open from here on, until it is closed.
    unsafe {
        if passes_over_wal(name) {
            let path = path_of(name);
            let what = format!("{}: {PASSED_OVER}", path.display());
            record_refusal(ffi::SQLITE_CANTOPEN, &what);
            return ffi::SQLITE_CANTOPEN;
        }
        // It begins with a file without methods.
        let open = || open_file(&shared.host, name, file, flags, out_flags);
        let code = open();
        if code != ffi::SQLITE_OK || !is_marked(file) {
            return code;
        }
        if let Some(close) = (*(*file).pMethods).xClose {
            close(file);
        }
        let path = path_of(name);
        let is_immutable =
            api().is_some_and(|api| !(api.uri_parameter)(name, c"immutable".as_ptr()).is_null());
        if is_immutable || flags & ffi::SQLITE_OPEN_READWRITE == 0 {
            let what = "its last changes are in a redo log, and it may not be written here";
            record_refusal(ffi::SQLITE_CANTOPEN, &format!("{}: {what}", path.display()));
            return ffi::SQLITE_CANTOPEN;
        }
        match recover_by(shared, &path) {
            // The present holder may be done at the first read; SQLite waits there.
            Ok(_)
            | Err(Error::Refused {
                code: ffi::SQLITE_BUSY,
                ..
            }) => open(),
            Err(Error::Refused { code, .. }) => code,
            Err(error) => {
                let what = format!("{} cannot be opened: {error}", path.display());
                record_refusal(ffi::SQLITE_CANTOPEN, &what);
                ffi::SQLITE_CANTOPEN
            }
        }
    }
}

/// Returns true if the header says that the database needs its log, or was left with half of a marker.
///
/// # Safety
///
/// `file` is an open database.
unsafe fn is_marked(file: *mut ffi::sqlite3_file) -> bool {
    let mut header = [0; header_marker::HEADER];
    // SAFETY: as the caller promises, and the header has as many bytes.
    let read = unsafe {
        let length = header.len() as c_int;
        (*(*file).pMethods)
            .xRead
            .map(|read| read(file, header.as_mut_ptr().cast(), length, 0))
    };
    let is_marked =
        header_marker::log_lineage(&header).is_some() || header_marker::is_torn(&header);
    read == Some(ffi::SQLITE_OK) && is_marked
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
        database.delete_wal();
        return ffi::SQLITE_OK;
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
