//! The descriptor of a file of the unix VFS, recorded while the VFS opens it.
//!
//! Opening the file a second time is no alternative: closing that descriptor would drop the POSIX
//! locks of the unix VFS. Its `open` and `fstat` are therefore replaced, through
//! `xSetSystemCall`, by functions that also record the descriptor. `fstat` covers a database whose
//! descriptor the VFS has kept from an earlier open.

use std::cell::Cell;
use std::os::fd::RawFd;
use std::os::raw::{c_char, c_int, c_void};
use std::sync::OnceLock;

use libsqlite3_sys as ffi;

use crate::Error;

type OpenCall = unsafe extern "C" fn(*const c_char, c_int, c_int) -> c_int;
type FstatCall = unsafe extern "C" fn(c_int, *mut c_void) -> c_int;

struct OriginalCalls {
    open: OpenCall,
    fstat: FstatCall,
}

/// The replaced functions.
static ORIGINAL: OnceLock<OriginalCalls> = OnceLock::new();

thread_local! {
    static RECORDING: Cell<bool> = const { Cell::new(false) };
    static LAST_DESCRIPTOR: Cell<Option<RawFd>> = const { Cell::new(None) };
}

fn record(descriptor: c_int) {
    // An exiting thread has no thread-locals; it opens no files of this VFS either.
    if descriptor >= 0 && RECORDING.try_with(Cell::get).unwrap_or(false) {
        let _ = LAST_DESCRIPTOR.try_with(|last| last.set(Some(descriptor)));
    }
}

unsafe extern "C" fn recording_open(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    let Some(calls) = ORIGINAL.get() else {
        return -1;
    };
    // SAFETY: the arguments are passed unchanged to the original function.
    let descriptor = unsafe { (calls.open)(path, flags, mode) };
    record(descriptor);
    descriptor
}

unsafe extern "C" fn recording_fstat(descriptor: c_int, stat: *mut c_void) -> c_int {
    let Some(calls) = ORIGINAL.get() else {
        return -1;
    };
    record(descriptor);
    // SAFETY: as above.
    unsafe { (calls.fstat)(descriptor, stat) }
}

/// Runs the base VFS's open. Returns the descriptor, too, if the calls are replaced.
pub(super) fn record_descriptor<T>(open: impl FnOnce() -> T) -> (T, Option<RawFd>) {
    LAST_DESCRIPTOR.set(None);
    RECORDING.set(true);
    let result = open();
    RECORDING.set(false);
    (result, LAST_DESCRIPTOR.take())
}

/// Replaces the calls of the unix VFS, once per process.
///
/// # Safety
///
/// `base` is a registered VFS.
pub(super) unsafe fn replace_calls(base: *mut ffi::sqlite3_vfs) -> Result<(), Error> {
    if ORIGINAL.get().is_some() {
        return Ok(());
    }
    let missing = || {
        Error::unsupported(
            "fsync in place of fdatasync",
            "this VFS does not support xSetSystemCall",
        )
    };
    // SAFETY: `base` is registered, so it lives as long as the process and does not change.
    let (get, set) = unsafe { ((*base).xGetSystemCall, (*base).xSetSystemCall) };
    let (Some(get), Some(set)) = (get, set) else {
        return Err(missing());
    };
    // SAFETY: the names are C strings, and the functions belong to `base`.
    let (open, fstat) = unsafe { (get(base, c"open".as_ptr()), get(base, c"fstat".as_ptr())) };
    let (Some(open), Some(fstat)) = (open, fstat) else {
        return Err(missing());
    };
    // SAFETY: SQLite calls "open" and "fstat" with these types (os_unix.c, osOpen and osFstat).
    let calls = unsafe {
        OriginalCalls {
            open: std::mem::transmute::<unsafe extern "C" fn(), OpenCall>(open),
            fstat: std::mem::transmute::<unsafe extern "C" fn(), FstatCall>(fstat),
        }
    };
    if ORIGINAL.set(calls).is_err() {
        return Ok(());
    }
    // SAFETY: SQLite casts the pointers back to the types above before it calls them.
    let (open, fstat) = unsafe {
        (
            std::mem::transmute::<OpenCall, unsafe extern "C" fn()>(recording_open),
            std::mem::transmute::<FstatCall, unsafe extern "C" fn()>(recording_fstat),
        )
    };
    for (name, call) in [(c"open", open), (c"fstat", fstat)] {
        // SAFETY: as for `get`; the function has the type that SQLite expects.
        let code = unsafe { set(base, name.as_ptr(), Some(call)) };
        if code != ffi::SQLITE_OK {
            return Err(missing());
        }
    }
    Ok(())
}
