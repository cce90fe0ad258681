//! [`Api`]: the functions of SQLite that are called, in one table: of the SQLite that is linked
//! in (feature `bundled`), or of the program that loads this as an extension (`loadable`).

use std::os::raw::{c_char, c_int, c_void};

use libsqlite3_sys as ffi;

/// The functions, by the names they have in SQLite after `sqlite3_`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Api {
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
    use super::{Api, ffi};

    static LINKED: Api = Api {
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

    pub fn api() -> Option<&'static Api> {
        Some(&LINKED)
    }
}

#[cfg(feature = "loadable")]
mod source {
    use std::sync::OnceLock;

    use super::{Api, ffi};
    use crate::Error;
    use crate::host::check_version;

    static LOADED: OnceLock<Api> = OnceLock::new();

    pub fn api() -> Option<&'static Api> {
        LOADED.get()
    }

    /// Takes the functions of the SQLite that loads this as an extension.
    ///
    /// # Errors
    ///
    /// It is too old, or lacks a function.
    ///
    /// # Safety
    ///
    /// `routines` is what SQLite gave to the extension's entry point.
    pub unsafe fn use_routines(routines: *const ffi::sqlite3_api_routines) -> Result<(), Error> {
        /// A function of the table, which ends behind what the host's version knows: no
        /// reference to the whole is made, and the version is looked at first.
        macro_rules! take {
            ($name:ident) => {
                // SAFETY: the table has it, as the caller promises and the version tells.
                unsafe { (&raw const (*routines).$name).read() }.ok_or_else(|| {
                    let lacking = concat!("it has no sqlite3_", stringify!($name));
                    Error::unsupported("the VFS etui in this SQLite", lacking)
                })?
            };
        }
        let libversion_number = take!(libversion_number);
        // SAFETY: it takes nothing.
        check_version(unsafe { libversion_number() })?;
        let api = Api {
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
        // All connections of a process come from one SQLite: the first table is as good.
        let _ = LOADED.set(api);
        Ok(())
    }
}

pub(crate) use source::api;
#[cfg(feature = "loadable")]
pub use source::use_routines;
