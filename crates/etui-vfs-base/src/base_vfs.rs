//! [`BaseVfs`]: the calls to SQLite itself.

use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use libsqlite3_sys as ffi;

use crate::Error;
use crate::sqlite_api::{SqliteApi, api};

/// The oldest supported SQLite: 3.37.
const OLDEST: c_int = 3_037_000;

/// Returns an error if this version of SQLite is too old.
pub fn check_version(version: c_int) -> Result<(), Error> {
    if version >= OLDEST {
        return Ok(());
    }
    let (major, minor, patch) = (version / 1_000_000, version / 1000 % 1000, version % 1000);
    let reason = format!("SQLite {major}.{minor}.{patch} is older than 3.37.0");
    Err(Error::unsupported("the VFS etui", reason))
}

/// The VFS of SQLite that opens files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaseVfs {
    vfs: *mut ffi::sqlite3_vfs,
}

// SAFETY: a registered VFS does not change and may be called from any thread.
unsafe impl Send for BaseVfs {}
// SAFETY: as above.
unsafe impl Sync for BaseVfs {}

impl BaseVfs {
    /// Finds SQLite's VFS for files.
    pub fn find() -> Result<Self, Error> {
        Self::find_named(c"unix")
    }

    /// Finds the VFS with this name.
    pub fn find_named(name: &CStr) -> Result<Self, Error> {
        let api = Self::api()?;
        // SAFETY: the function takes no arguments.
        check_version(unsafe { (api.libversion_number)() })?;
        // SAFETY: the name is a C string.
        let vfs = unsafe { (api.vfs_find)(name.as_ptr()) };
        if vfs.is_null() {
            return Err(Error::unsupported(
                "a VFS above another",
                format!("this SQLite has no VFS named {name:?}"),
            ));
        }
        Ok(Self { vfs })
    }

    fn api() -> Result<&'static SqliteApi, Error> {
        api().ok_or_else(|| Error::unsupported("the VFS etui", "no SQLite has loaded it"))
    }

    /// Returns the VFS, which stays registered.
    pub fn vfs(&self) -> *mut ffi::sqlite3_vfs {
        self.vfs
    }

    /// Returns true if there is a VFS with this name.
    pub fn is_taken(name: &CStr) -> bool {
        // SAFETY: the name is a C string.
        api().is_some_and(|api| !unsafe { (api.vfs_find)(name.as_ptr()) }.is_null())
    }

    /// Makes a VFS the default for connections that name none.
    pub fn make_default(name: &CStr) -> Result<(), Error> {
        let api = Self::api()?;
        // SAFETY: the name is a C string; a registered VFS may be registered again.
        let code = unsafe {
            match (api.vfs_find)(name.as_ptr()) {
                vfs if vfs.is_null() => ffi::SQLITE_NOTFOUND,
                vfs => (api.vfs_register)(vfs, 1),
            }
        };
        if code == ffi::SQLITE_OK {
            return Ok(());
        }
        Err(Error::Sqlite {
            call: "sqlite3_vfs_register",
            code,
            hint: "the VFS could not be made the default one",
        })
    }

    /// Registers a VFS.
    pub fn register(vfs: &'static mut ffi::sqlite3_vfs) -> Result<(), Error> {
        // SAFETY: it is never freed, and there is no other reference to it.
        unsafe { Self::register_raw(vfs) }
    }

    /// Registers a VFS by its address.
    ///
    /// # Safety
    ///
    /// The VFS is never freed, and SQLite alone accesses it from now on.
    pub unsafe fn register_raw(vfs: *mut ffi::sqlite3_vfs) -> Result<(), Error> {
        // SAFETY: as the caller promises.
        let code = unsafe { (Self::api()?.vfs_register)(vfs, 0) };
        if code == ffi::SQLITE_OK {
            return Ok(());
        }
        Err(Error::Sqlite {
            call: "sqlite3_vfs_register",
            code,
            hint: "the VFS could not be registered",
        })
    }

    /// Writes to SQLite's error log.
    pub fn log(code: c_int, message: &str) {
        if let (Some(api), Ok(message)) = (api(), CString::new(message)) {
            // SAFETY: the format takes one C string.
            unsafe { (api.log)(code, c"%s".as_ptr(), message.as_ptr()) };
        }
    }

    /// Copies a text into SQLite's memory. Returns null if there is none left.
    pub fn text(text: &str) -> *mut c_char {
        match (api(), CString::new(text)) {
            // SAFETY: the format takes one C string.
            (Some(api), Ok(text)) => unsafe { (api.mprintf)(c"%s".as_ptr(), text.as_ptr()) },
            _ => ptr::null_mut(),
        }
    }

    /// Opens a database with the base VFS, checkpoints its WAL, and closes it.
    pub fn checkpoint(&self, path: &Path) -> Result<(), c_int> {
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| ffi::SQLITE_MISUSE)?;
        let api = api().ok_or(ffi::SQLITE_MISUSE)?;
        let flags =
            ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_NOMUTEX | ffi::SQLITE_OPEN_PRIVATECACHE;
        let mut db = ptr::null_mut();
        // SAFETY: the strings are C strings; the connection is closed below, also if it could not
        // be opened; the statements need no callback.
        unsafe {
            let name = (*self.vfs).zName;
            let mut code = (api.open_v2)(path.as_ptr(), &raw mut db, flags, name);
            // A connection that has read nothing has not opened the WAL, and checkpoints nothing.
            let statements = [c"PRAGMA schema_version", c"PRAGMA wal_checkpoint(TRUNCATE)"];
            for statement in statements {
                if code == ffi::SQLITE_OK {
                    let none = ptr::null_mut();
                    code = (api.exec)(db, statement.as_ptr(), None, none, ptr::null_mut());
                }
            }
            let closed = (api.close)(db);
            match (code, closed) {
                (ffi::SQLITE_OK, ffi::SQLITE_OK) => Ok(()),
                (ffi::SQLITE_OK, code) | (code, _) => Err(code),
            }
        }
    }
}
