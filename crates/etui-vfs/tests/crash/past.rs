//! A write that goes past SQLite, to its own open file.

use std::os::raw::c_int;
use std::ptr;

use libsqlite3_sys as ffi;

/// Writes to a connection's database file as SQLite would not.
pub fn write_past_sqlite(sql: &rusqlite::Connection, bytes: &[u8], offset: i64) -> c_int {
    let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
    // SAFETY: the connection is open, and the file is as long as it is.
    unsafe {
        let code = ffi::sqlite3_file_control(
            sql.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_FILE_POINTER,
            (&raw mut file).cast(),
        );
        assert_eq!(code, ffi::SQLITE_OK);
        let write = (*(*file).pMethods).xWrite.unwrap();
        write(file, bytes.as_ptr().cast(), bytes.len() as c_int, offset)
    }
}
