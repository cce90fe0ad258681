//! Memory: SQLite's own count of it, and giving back what is free.

use std::os::raw::c_int;

use libsqlite3_sys as ffi;

use crate::Error;

/// Has SQLite count its memory, or not. The soft heap limit works only while it counts.
///
/// To be called at the beginning of the process: once SQLite is in use it is refused, and no
/// other thread may be about to use SQLite for the first time meanwhile.
pub fn memory_statistics(on: bool) -> Result<(), Error> {
    // SAFETY: SQLITE_CONFIG_MEMSTATUS takes one int. SQLite answers SQLITE_MISUSE, and changes
    // nothing, if it is initialised already.
    let code = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, c_int::from(on)) };
    if code == ffi::SQLITE_OK {
        return Ok(());
    }
    Err(Error::Sqlite {
        call: "sqlite3_config",
        code,
        hint: "memory statistics are switched before SQLite is first used",
    })
}

/// How many bytes SQLite has allocated; 0 while it does not count.
pub fn memory_used() -> u64 {
    // SAFETY: may be called at any time, from any thread.
    let used = unsafe { ffi::sqlite3_memory_used() };
    u64::try_from(used).unwrap_or(0)
}

/// Gives back to the system what this process has freed and its allocator keeps, after work that
/// took much for a while. With another C library than glibc nothing happens.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> c_int;
        }
        // SAFETY: `malloc_trim` (glibc's manual page) may be called at any time, from any thread,
        // and touches nothing that is allocated.
        unsafe { malloc_trim(0) };
    }
}
