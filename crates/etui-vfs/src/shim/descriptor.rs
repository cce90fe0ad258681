//! The descriptor behind a file of the unix VFS: noted while the VFS opens it.
//!
//! Opening the file once more would be no way to it: closing that descriptor would drop the
//! POSIX locks that the unix VFS holds. So its `open` and `fstat` are replaced, through its own
//! `xSetSystemCall`, by ones that note the descriptor and are otherwise the same. `fstat` is
//! there for a database whose descriptor the VFS had kept from before.

use std::cell::Cell;
use std::os::fd::RawFd;
use std::os::raw::{c_char, c_int, c_void};
use std::sync::OnceLock;

use libsqlite3_sys as ffi;

use crate::Error;

type Open = unsafe extern "C" fn(*const c_char, c_int, c_int) -> c_int;
type Fstat = unsafe extern "C" fn(c_int, *mut c_void) -> c_int;

struct Calls {
    open: Open,
    fstat: Fstat,
}

/// The calls that were replaced.
static CALLS: OnceLock<Calls> = OnceLock::new();

thread_local! {
    static WATCHING: Cell<bool> = const { Cell::new(false) };
    static SEEN: Cell<Option<RawFd>> = const { Cell::new(None) };
}

fn note(descriptor: c_int) {
    // A thread that is ending has no thread-locals; it does not open files for a shim either.
    if descriptor >= 0 && WATCHING.try_with(Cell::get).unwrap_or(false) {
        let _ = SEEN.try_with(|seen| seen.set(Some(descriptor)));
    }
}

unsafe extern "C" fn noting_open(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    let Some(calls) = CALLS.get() else {
        return -1;
    };
    // SAFETY: the arguments are passed on as they came to the function that they were meant for.
    let descriptor = unsafe { (calls.open)(path, flags, mode) };
    note(descriptor);
    descriptor
}

unsafe extern "C" fn noting_fstat(descriptor: c_int, stat: *mut c_void) -> c_int {
    let Some(calls) = CALLS.get() else {
        return -1;
    };
    note(descriptor);
    // SAFETY: as above.
    unsafe { (calls.fstat)(descriptor, stat) }
}

/// Runs the VFS's open and tells the descriptor that it opened, if calls were replaced.
pub(super) fn watch<T>(open: impl FnOnce() -> T) -> (T, Option<RawFd>) {
    SEEN.set(None);
    WATCHING.set(true);
    let done = open();
    WATCHING.set(false);
    (done, SEEN.take())
}

/// Replaces the calls of the unix VFS, once in the process's life.
///
/// # Safety
///
/// `real` is the registered unix VFS.
pub(super) unsafe fn replace_calls(real: *mut ffi::sqlite3_vfs) -> Result<(), Error> {
    if CALLS.get().is_some() {
        return Ok(());
    }
    let missing = || {
        Error::unsupported(
            "fsync in place of fdatasync",
            "this SQLite's unix VFS does not let its calls be replaced",
        )
    };
    // SAFETY: `real` is registered, so it lives as long as the process and is not changed.
    let (get, set) = unsafe { ((*real).xGetSystemCall, (*real).xSetSystemCall) };
    let (Some(get), Some(set)) = (get, set) else {
        return Err(missing());
    };
    // SAFETY: the names are C strings, `real` is the VFS that the functions belong to.
    let (open, fstat) = unsafe { (get(real, c"open".as_ptr()), get(real, c"fstat".as_ptr())) };
    let (Some(open), Some(fstat)) = (open, fstat) else {
        return Err(missing());
    };
    // SAFETY: these are the types that SQLite itself calls "open" and "fstat" with (os_unix.c,
    // osOpen and osFstat).
    let calls = unsafe {
        Calls {
            open: std::mem::transmute::<unsafe extern "C" fn(), Open>(open),
            fstat: std::mem::transmute::<unsafe extern "C" fn(), Fstat>(fstat),
        }
    };
    if CALLS.set(calls).is_err() {
        return Ok(());
    }
    // SAFETY: SQLite casts the pointers back to the types above before it calls them.
    let (open, fstat) = unsafe {
        (
            std::mem::transmute::<Open, unsafe extern "C" fn()>(noting_open),
            std::mem::transmute::<Fstat, unsafe extern "C" fn()>(noting_fstat),
        )
    };
    for (name, call) in [(c"open", open), (c"fstat", fstat)] {
        // SAFETY: as for `get`; the call is a function of the type that SQLite expects.
        let code = unsafe { set(real, name.as_ptr(), Some(call)) };
        if code != ffi::SQLITE_OK {
            return Err(missing());
        }
    }
    Ok(())
}
