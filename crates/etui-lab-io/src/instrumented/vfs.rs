//! The methods of the VFS as SQLite calls them. Only `xOpen` and `xDelete` do more than call the
//! base VFS.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::RawFd;
use std::os::raw::{c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use etui_vfs_base::SqliteFile;
use etui_vfs_base::base_vfs::BaseVfs;
use etui_vfs_base::file_methods::FileHandle;
use etui_vfs_base::vfs::{Above, checked_name, forwarding};
use libsqlite3_sys as ffi;

use super::counters::{FileKind, IoOperation, IoRecorder};
use super::file::{InstrumentedFile, sync_directory};
use super::{InstrumentedOptions, SyncCall, descriptor};
use crate::Error;

/// State shared by all files of one VFS; never freed.
#[derive(Debug)]
#[repr(C)]
pub(super) struct VfsState {
    /// The first, for [`Above`].
    base: BaseVfs,
    pub options: InstrumentedOptions,
    pub recorder: IoRecorder,
}

// SAFETY: its memory begins with the VFS below.
unsafe impl Above for VfsState {}

/// Registers a VFS above the one named `base_name`.
pub(super) fn register(
    name: &str,
    base_name: &str,
    options: InstrumentedOptions,
) -> Result<&'static VfsState, Error> {
    let c_name = checked_name(name)?;
    let base_name = CString::new(base_name)
        .map_err(|_| Error::Usage(format!("{base_name:?} is no valid name of a VFS")))?;
    let base = BaseVfs::find_named(&base_name)?;
    if options.sync == SyncCall::Fsync {
        // SAFETY: `base` is registered.
        unsafe { descriptor::replace_calls(base.vfs())? };
    }
    let shared: &'static VfsState = Box::leak(Box::new(VfsState {
        base,
        options,
        recorder: IoRecorder::new(&options),
    }));
    let vfs = ffi::sqlite3_vfs {
        xOpen: Some(vfs_open),
        xDelete: Some(vfs_delete),
        ..forwarding(c_name, shared)
    };
    BaseVfs::register(Box::leak(Box::new(vfs)))?;
    Ok(shared)
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
    let shared = unsafe {
        (*file).pMethods = ptr::null();
        vfs_state(vfs)
    };
    // SAFETY: a name that is not null is a C string.
    let path = (!name.is_null()).then(|| to_path(unsafe { CStr::from_ptr(name) }));
    // SAFETY: see above.
    let (base, descriptor) = match unsafe { open_base(shared, name, flags, out_flags) } {
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
/// The arguments are those of `xOpen`.
unsafe fn open_base(
    shared: &'static VfsState,
    name: ffi::sqlite3_filename,
    flags: c_int,
    out_flags: *mut c_int,
) -> Result<(SqliteFile, Option<RawFd>), c_int> {
    let (opened, descriptor) = descriptor::record_descriptor(|| {
        // SAFETY: as the caller promises.
        unsafe { SqliteFile::open_as(&shared.base, name, flags, out_flags) }
    });
    let is_unknown = shared.options.sync == SyncCall::Fsync && descriptor.is_none();
    match is_unknown {
        true => opened.and(Err(ffi::SQLITE_CANTOPEN)),
        false => Ok((opened?, descriptor)),
    }
}

unsafe extern "C" fn vfs_delete(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    sync_dir: c_int,
) -> c_int {
    // SAFETY: see above.
    let (shared, c_name) = unsafe { (vfs_state(vfs), CStr::from_ptr(name)) };
    // SAFETY: the base VFS is registered.
    let Some(base_delete) = (unsafe { (*shared.base.vfs()).xDelete }) else {
        return ffi::SQLITE_IOERR_DELETE;
    };
    let sync = sync_dir & 1 != 0;
    let sync_here = sync && shared.options.sync == SyncCall::Fsync;
    let base_sync = if sync_here { 0 } else { sync_dir };
    // SAFETY: see above.
    let code = unsafe { base_delete(shared.base.vfs(), name, base_sync) };
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
