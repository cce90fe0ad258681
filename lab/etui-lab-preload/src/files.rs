//! The calls of the C library by which SQLite writes, flushes, resizes and removes files.
//!
//! Each function calls the next one of its name with the same arguments and returns its result;
//! then it records the call, if it succeeded and is about the database's files.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::libc::{self, KeepErrno, PATH_MAX};
use crate::next::NextFunction;
use crate::record::{Word, read_link, record};
use crate::settings::DATABASE;

/// Suffixes to the name of a database, of SQLite's files and of the log of etui's VFS.
const SUFFIXES: [&[u8]; 5] = [b"", b"-journal", b"-wal", b"-shm", b"-redo"];

/// Returns true if a path is the database, a file of it, or its directory.
fn is_of_database(path: &[u8]) -> bool {
    let database = DATABASE.get();
    if database.is_empty() {
        return false;
    }
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    match path.strip_prefix(database) {
        Some(suffix) => SUFFIXES.contains(&suffix),
        None => {
            let name = database.rsplit(|byte| *byte == b'/').next();
            let directory = name.and_then(|name| database.strip_suffix(name));
            directory.and_then(|directory| directory.strip_suffix(b"/")) == Some(path)
        }
    }
}

/// Calls `then` with the path of a descriptor, if it is of the database. `errno` is unchanged.
fn with_path(descriptor: c_int, then: impl FnOnce(&[u8])) {
    if DATABASE.get().is_empty() {
        return;
    }
    let _errno = KeepErrno::new();
    // `/proc/self/fd/` and up to ten digits.
    let mut link = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0";
    let mut digits = [0_u8; 10];
    let (mut rest, mut count) = (descriptor.unsigned_abs(), 0);
    for place in digits.iter_mut() {
        *place = b'0' + (rest % 10) as u8;
        count += 1;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    for (place, digit) in link
        .iter_mut()
        .skip(14)
        .zip(digits.iter().take(count).rev())
    {
        *place = *digit;
    }
    let Ok(link) = CStr::from_bytes_until_nul(&link) else {
        return;
    };
    let mut path = [0_u8; PATH_MAX];
    if let Some(path) = read_link(link, &mut path)
        && is_of_database(path)
    {
        then(path);
    }
}

fn record_write(descriptor: c_int, offset: i64, written: isize) {
    if let Ok(bytes @ 1..) = u64::try_from(written) {
        with_path(descriptor, |path| {
            let words = [Word::Number(offset as u64), Word::Number(bytes)];
            record(b'w', &words, Some(path));
        });
    }
}

fn record_flush(descriptor: c_int, data_only: bool, result: c_int) {
    if result == 0 {
        with_path(descriptor, |path| {
            record(b'f', &[Word::Number(data_only.into())], Some(path));
        });
    }
}

fn record_resize(descriptor: c_int, size: i64, result: c_int) {
    if result == 0 {
        with_path(descriptor, |path| {
            record(b't', &[Word::Number(size as u64)], Some(path));
        });
    }
}

/// Defines a function of the C library that calls the next one of its name, then `$after` with the
/// result.
macro_rules! interpose {
    ($name:ident($($argument:ident: $kind:ty),*) -> $result:ty, $returned:ident => $after:expr) => {
        /// # Safety
        ///
        /// As for the function of the C library with this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> $result {
            static NEXT: NextFunction = match CStr::from_bytes_with_nul(
                concat!(stringify!($name), "\0").as_bytes(),
            ) {
                Ok(name) => NextFunction::new(name),
                Err(_) => NextFunction::new(c""),
            };
            let next = NEXT.address();
            if next.is_null() {
                libc::set_errno(libc::ENOSYS);
                return -1;
            }
            // SAFETY: a function of this name in the C library has this type.
            let next = unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($kind),*) -> $result>(next)
            };
            // SAFETY: the caller promises what that function asks for.
            let $returned = unsafe { next($($argument),*) };
            $after;
            $returned
        }
    };
}

interpose!(pwrite64(descriptor: c_int, bytes: *const c_void, count: usize, offset: i64) -> isize,
    written => record_write(descriptor, offset, written));
interpose!(pwrite(descriptor: c_int, bytes: *const c_void, count: usize, offset: i64) -> isize,
    written => record_write(descriptor, offset, written));
interpose!(write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize,
    written => record_write_at_end(descriptor, written));
interpose!(fsync(descriptor: c_int) -> c_int,
    result => record_flush(descriptor, false, result));
interpose!(fdatasync(descriptor: c_int) -> c_int,
    result => record_flush(descriptor, true, result));
interpose!(ftruncate64(descriptor: c_int, size: i64) -> c_int,
    result => record_resize(descriptor, size, result));
interpose!(ftruncate(descriptor: c_int, size: i64) -> c_int,
    result => record_resize(descriptor, size, result));
interpose!(unlink(path: *const c_char) -> c_int,
    result => record_removal(path, result));

/// Records a write that moved the position of the descriptor.
fn record_write_at_end(descriptor: c_int, written: isize) {
    if let Ok(bytes @ 1..) = u64::try_from(written) {
        with_path(descriptor, |path| {
            // SAFETY: any descriptor may be asked for its position.
            let end = unsafe { libc::lseek64(descriptor, 0, libc::SEEK_CUR) };
            let offset = (end as u64).saturating_sub(bytes);
            record(
                b'w',
                &[Word::Number(offset), Word::Number(bytes)],
                Some(path),
            );
        });
    }
}

/// Records the removal of a file by its name as SQLite has it, an absolute path.
fn record_removal(path: *const c_char, result: c_int) {
    if result != 0 || path.is_null() {
        return;
    }
    let _errno = KeepErrno::new();
    // SAFETY: the call succeeded, so the path is a C string.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if is_of_database(path) {
        record(b'u', &[], Some(path));
    }
}
