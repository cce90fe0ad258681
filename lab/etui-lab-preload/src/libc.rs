//! The functions of the C library that are called, as glibc declares them on 64-bit systems.

use std::ffi::{c_char, c_int, c_long, c_void};

/// `struct iovec`.
#[repr(C)]
pub struct IoSlice {
    pub base: *const c_void,
    pub len: usize,
}

/// `struct timespec`.
#[repr(C)]
#[derive(Default)]
pub struct TimeSpec {
    pub seconds: i64,
    pub nanoseconds: c_long,
}

/// `Dl_info`.
#[repr(C)]
pub struct SymbolInfo {
    pub object: *const c_char,
    pub base: *mut c_void,
    pub symbol: *const c_char,
    pub address: *mut c_void,
}

pub const RTLD_LAZY: c_int = 1;
pub const RTLD_NOLOAD: c_int = 4;
/// The object after the caller's in the search order.
pub const RTLD_NEXT: *mut c_void = -1_isize as *mut c_void;
pub const O_WRONLY: c_int = 1;
pub const O_CREAT: c_int = 0o100;
pub const O_APPEND: c_int = 0o2000;
pub const O_CLOEXEC: c_int = 0o2_000_000;
pub const CLOCK_MONOTONIC: c_int = 1;
pub const SEEK_CUR: c_int = 1;
pub const ENOSYS: c_int = 38;
pub const PATH_MAX: usize = 4096;

unsafe extern "C" {
    pub fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    pub fn dladdr(address: *const c_void, info: *mut SymbolInfo) -> c_int;
    pub fn backtrace(addresses: *mut *mut c_void, size: c_int) -> c_int;
    pub fn getenv(name: *const c_char) -> *const c_char;
    pub fn realpath(path: *const c_char, resolved: *mut c_char) -> *mut c_char;
    pub fn readlink(path: *const c_char, to: *mut c_char, size: usize) -> isize;
    pub fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub fn close(descriptor: c_int) -> c_int;
    pub fn writev(descriptor: c_int, slices: *const IoSlice, count: c_int) -> isize;
    pub fn lseek64(descriptor: c_int, offset: i64, whence: c_int) -> i64;
    pub fn clock_gettime(clock: c_int, time: *mut TimeSpec) -> c_int;
    pub fn getpid() -> c_int;
    pub fn gettid() -> c_int;
    pub fn strlen(text: *const c_char) -> usize;
    fn __errno_location() -> *mut c_int;
}

/// Returns `errno` of this thread.
pub fn errno() -> c_int {
    // SAFETY: the C library returns the address of the thread's own variable.
    unsafe { *__errno_location() }
}

/// Sets `errno` of this thread.
pub fn set_errno(value: c_int) {
    // SAFETY: as in `errno`.
    unsafe { *__errno_location() = value }
}

/// Restores `errno` when it is dropped: the program must see that of its own call.
pub struct KeepErrno(c_int);

impl KeepErrno {
    pub fn new() -> Self {
        Self(errno())
    }
}

impl Drop for KeepErrno {
    fn drop(&mut self) {
        set_errno(self.0);
    }
}
