//! The VFS `etui` as a loadable extension of SQLite: `libetui_vfs.so`.
//!
//! SQLite finds [`sqlite3_etuivfs_init`] by the file's name. It registers the VFS, once in a
//! process and for its life, and defines SQL functions for the loading connection:
//!
//! - `etui_vfs_version()`: the version of this library;
//! - `etui_recover(FILE)`: recovers a database that was not closed cleanly;
//! - `etui_last_refusal()`: the reason for the VFS's last refusal in this thread.
//!
//! Options come from the environment: `ETUI_VFS_LOG` and the others of `Options::set`, each a
//! number of bytes, and `ETUI_VFS_DEFAULT`, 1 or 0.

mod functions;

use std::ffi::CString;
use std::os::raw::{c_char, c_int};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use libsqlite3_sys as ffi;
use vfs::{Error, Options, Vfs};

/// The VFS's name.
const NAME: &str = "etui";

/// The VFS, once registered.
static REGISTERED: Mutex<Option<Vfs>> = Mutex::new(None);

/// Entry point, called by SQLite after it has loaded the library.
///
/// # Safety
///
/// Called by SQLite: `routines` is its table of functions, `db` the loading connection, and
/// `message` null or a place for a text that SQLite frees.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_etuivfs_init(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    routines: *const ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: as the caller promises.
    match unsafe { load(db, routines) } {
        Ok(()) => ffi::SQLITE_OK_LOAD_PERMANENTLY,
        Err(error) => {
            // SAFETY: as the caller promises.
            unsafe { tell(&error, message, routines) };
            ffi::SQLITE_ERROR
        }
    }
}

/// Registers the VFS if it is not registered, and defines the functions.
///
/// # Safety
///
/// As for [`sqlite3_etuivfs_init`].
unsafe fn load(
    db: *mut ffi::sqlite3,
    routines: *const ffi::sqlite3_api_routines,
) -> Result<(), Error> {
    // SAFETY: as the caller promises.
    unsafe { vfs::use_routines(routines)? };
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut options, is_default) = environment()?;
    let vfs = match registered.clone() {
        Some(vfs) => vfs,
        None => {
            // SAFETY: `use_routines` has checked that the table's version has this entry.
            let threads = unsafe { (&raw const (*routines).xthreadsafe).read() };
            // SAFETY: it takes no arguments.
            if threads.is_some_and(|threads| unsafe { threads() } == 0) {
                // A single-threaded SQLite must not be called from a second thread.
                options.idle = None;
            }
            registered.insert(vfs::register(NAME, options)?).clone()
        }
    };
    if is_default {
        // Each time: after `sqlite3_shutdown` SQLite's own VFS is the default again.
        vfs.make_default()?;
    }
    drop(registered);
    // SAFETY: as the caller promises.
    unsafe { functions::define(db, routines) }
}

/// Returns a non-empty variable of the environment.
fn variable(name: &str) -> Result<Option<String>, Error> {
    match std::env::var_os(name).map(std::ffi::OsString::into_string) {
        Some(Ok(value)) => Ok(Some(value).filter(|value| !value.is_empty())),
        Some(Err(_)) => Err(Error::Usage(format!("{name}: it is not UTF-8"))),
        None => Ok(None),
    }
}

/// Returns the options of the environment, and whether the VFS becomes the default.
fn environment() -> Result<(Options, bool), Error> {
    let mut options = Options::default();
    let variables = [
        ("ETUI_VFS_REDO_LOG", "redo_log"),
        ("ETUI_VFS_LOG", "log"),
        ("ETUI_VFS_GROWTH", "growth"),
        ("ETUI_VFS_MEMORY", "memory"),
        ("ETUI_VFS_APPEND", "append"),
        ("ETUI_VFS_GATHER", "gather"),
        ("ETUI_VFS_WRITE_BACK", "write_back"),
        ("ETUI_VFS_READ_BUFFER", "read_buffer"),
        ("ETUI_VFS_DATABASE_STEP", "database_step"),
        ("ETUI_VFS_JOURNAL_RESTS", "journal_rests"),
    ];
    for (name, option) in variables {
        if let Some(value) = variable(name)? {
            options
                .set(option, &value)
                .map_err(|error| Error::Usage(format!("{name}: {error}")))?;
        }
    }
    let is_default = match variable("ETUI_VFS_DEFAULT")?.as_deref() {
        None | Some("0") => false,
        Some("1") => true,
        Some(other) => {
            let what = format!("ETUI_VFS_DEFAULT: {other:?} is neither 0 nor 1");
            return Err(Error::Usage(what));
        }
    };
    Ok((options, is_default))
}

/// Reports an error to SQLite.
///
/// # Safety
///
/// As for [`sqlite3_etuivfs_init`].
unsafe fn tell(
    error: &Error,
    message: *mut *mut c_char,
    routines: *const ffi::sqlite3_api_routines,
) {
    let Ok(text) = CString::new(error.to_string()) else {
        return;
    };
    // SAFETY: as the caller promises; every SQLite's table has this function.
    let mprintf = unsafe { (&raw const (*routines).mprintf).read() };
    let Some(mprintf) = mprintf.filter(|_| !ptr::eq(message, ptr::null())) else {
        return;
    };
    // SAFETY: the format takes one C string; SQLite provided the place for the text.
    unsafe { *message = mprintf(c"%s".as_ptr(), text.as_ptr()) };
}
