//! SQLite's memory statistics.

use std::os::raw::c_int;

use libsqlite3_sys as ffi;

use crate::Error;

/// Enables or disables SQLite's memory statistics. The soft heap limit requires them.
///
/// Call it at the start of the process, before any thread uses SQLite.
///
/// # Errors
///
/// SQLite is already initialised.
pub fn enable_memory_statistics(on: bool) -> Result<(), Error> {
    // SAFETY: SQLITE_CONFIG_MEMSTATUS takes one int. SQLite returns SQLITE_MISUSE, and changes
    // nothing, if it is initialised already.
    let code = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, c_int::from(on)) };
    if code == ffi::SQLITE_OK {
        return Ok(());
    }
    Err(Error::Sqlite {
        call: "sqlite3_config",
        code,
        hint: "memory statistics must be enabled before the first use of SQLite",
    })
}

/// Returns the number of bytes that SQLite has allocated; 0 while statistics are disabled.
pub fn memory_used() -> u64 {
    // SAFETY: may be called at any time, from any thread.
    let used = unsafe { ffi::sqlite3_memory_used() };
    u64::try_from(used).unwrap_or(0)
}
