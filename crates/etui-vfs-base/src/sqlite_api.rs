//! [`SqliteApi`]: a table of the SQLite functions in use. They belong to the linked SQLite (feature
//! `bundled`), or to the program that loads this library as an extension (`loadable`).

use std::os::raw::{c_char, c_int, c_void};

use libsqlite3_sys as ffi;

/// The functions, named as in SQLite without `sqlite3_`.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "named as in SQLite")]
pub struct SqliteApi {
    pub libversion_number: unsafe extern "C" fn() -> c_int,
    pub vfs_find: unsafe extern "C" fn(*const c_char) -> *mut ffi::sqlite3_vfs,
    pub vfs_register: unsafe extern "C" fn(*mut ffi::sqlite3_vfs, c_int) -> c_int,
    pub log: unsafe extern "C" fn(c_int, *const c_char, ...),
    pub mprintf: unsafe extern "C" fn(*const c_char, ...) -> *mut c_char,
    pub open_v2:
        unsafe extern "C" fn(*const c_char, *mut *mut ffi::sqlite3, c_int, *const c_char) -> c_int,
    pub exec: unsafe extern "C" fn(
        *mut ffi::sqlite3,
        *const c_char,
        ffi::sqlite3_callback,
        *mut c_void,
        *mut *mut c_char,
    ) -> c_int,
    pub close: unsafe extern "C" fn(*mut ffi::sqlite3) -> c_int,
    pub uri_parameter: unsafe extern "C" fn(*const c_char, *const c_char) -> *const c_char,
    pub database_file_object: unsafe extern "C" fn(*const c_char) -> *mut ffi::sqlite3_file,
}

#[cfg(not(feature = "loadable"))]
mod source {
    use super::{SqliteApi, ffi};

    static LINKED: SqliteApi = SqliteApi {
        libversion_number: ffi::sqlite3_libversion_number,
        vfs_find: ffi::sqlite3_vfs_find,
        vfs_register: ffi::sqlite3_vfs_register,
        log: ffi::sqlite3_log,
        mprintf: ffi::sqlite3_mprintf,
        open_v2: ffi::sqlite3_open_v2,
        exec: ffi::sqlite3_exec,
        close: ffi::sqlite3_close,
        uri_parameter: ffi::sqlite3_uri_parameter,
        database_file_object: ffi::sqlite3_database_file_object,
    };

    /// Returns the functions, if a SQLite is linked or has loaded this library.
    pub fn api() -> Option<&'static SqliteApi> {
        Some(&LINKED)
    }
}

#[cfg(feature = "loadable")]
mod source {
    use std::sync::OnceLock;

    use super::{SqliteApi, ffi};
    use crate::Error;
    use crate::base_vfs::check_version;

    static LOADED: OnceLock<SqliteApi> = OnceLock::new();

    /// Returns the functions, if a SQLite is linked or has loaded this library.
    pub fn api() -> Option<&'static SqliteApi> {
        LOADED.get()
    }

    /// Stores the functions of the SQLite that loads this library as an extension.
    ///
    /// # Errors
    ///
    /// SQLite is too old, or lacks a function.
    ///
    /// # Safety
    ///
    /// `routines` is the argument that SQLite passed to the extension's entry point.
    pub unsafe fn use_routines(routines: *const ffi::sqlite3_api_routines) -> Result<(), Error> {
        /// Reads a function from the table. The table ends after the functions of the host's
        /// version, so no reference to the whole is made, and the version is checked first.
        macro_rules! take {
            ($name:ident) => {
                // SAFETY: the table has the function, as the caller promises and the version
                // implies.
                unsafe { (&raw const (*routines).$name).read() }.ok_or_else(|| {
                    let lacking = concat!("it has no sqlite3_", stringify!($name));
                    Error::unsupported("the VFS etui in this SQLite", lacking)
                })?
            };
        }
        let libversion_number = take!(libversion_number);
        // SAFETY: the function takes no arguments.
        check_version(unsafe { libversion_number() })?;
        let api = SqliteApi {
            libversion_number,
            vfs_find: take!(vfs_find),
            vfs_register: take!(vfs_register),
            log: take!(log),
            mprintf: take!(mprintf),
            open_v2: take!(open_v2),
            exec: take!(exec),
            close: take!(close),
            uri_parameter: take!(uri_parameter),
            database_file_object: take!(database_file_object),
        };
        // All connections of a process come from one SQLite, so the first table is kept.
        let _ = LOADED.set(api);
        Ok(())
    }
}

pub use source::api;
#[cfg(feature = "loadable")]
pub use source::use_routines;
