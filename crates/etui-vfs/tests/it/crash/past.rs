//! Writes that bypass SQLite, to its own open file.

use std::os::raw::c_int;
use std::ptr;

use libsqlite3_sys as ffi;

/// Returns a connection's database file.
fn file_of(sql: &rusqlite::Connection) -> *mut ffi::sqlite3_file {
    let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
    // SAFETY: the connection is open, and the result is a pointer.
    let code = unsafe {
        ffi::sqlite3_file_control(
            sql.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_FILE_POINTER,
            (&raw mut file).cast(),
        )
    };
    assert_eq!(code, ffi::SQLITE_OK);
    file
}

/// Writes to a connection's database file, bypassing SQLite.
pub fn write_past_sqlite(sql: &rusqlite::Connection, bytes: &[u8], offset: i64) -> c_int {
    let file = file_of(sql);
    // SAFETY: the file is open as long as the connection is.
    unsafe {
        let write = (*(*file).pMethods).xWrite.unwrap();
        write(file, bytes.as_ptr().cast(), bytes.len() as c_int, offset)
    }
}

/// Ends a checkpoint that began before other commits: truncates the file to the size that it saw.
pub fn end_old_checkpoint(sql: &rusqlite::Connection, size: i64) -> c_int {
    let file = file_of(sql);
    // SAFETY: the file is open as long as the connection is; these take no argument.
    unsafe {
        let control = (*(*file).pMethods).xFileControl.unwrap();
        let truncate = (*(*file).pMethods).xTruncate.unwrap();
        control(file, ffi::SQLITE_FCNTL_CKPT_START, ptr::null_mut());
        control(file, ffi::SQLITE_FCNTL_CKPT_DONE, ptr::null_mut());
        truncate(file, size)
    }
}

/// Reads from a connection's WAL, bypassing SQLite.
pub fn read_wal(sql: &rusqlite::Connection, bytes: &mut [u8], offset: i64) -> c_int {
    let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
    // SAFETY: the connection is open, and the result is a pointer, in WAL mode to an open file.
    unsafe {
        let code = ffi::sqlite3_file_control(
            sql.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_JOURNAL_POINTER,
            (&raw mut file).cast(),
        );
        assert_eq!(code, ffi::SQLITE_OK);
        let read = (*(*file).pMethods).xRead.unwrap();
        read(
            file,
            bytes.as_mut_ptr().cast(),
            bytes.len() as c_int,
            offset,
        )
    }
}
