//! The database and the directory of the records, read from the environment when the library is
//! loaded: later the program may change its environment.

use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::libc::{self, PATH_MAX};

/// A path that is set once. Its length is 0 before.
pub struct StaticPath {
    bytes: UnsafeCell<[u8; PATH_MAX]>,
    len: AtomicUsize,
}

// SAFETY: the bytes are written only by `set`, which the loader calls once, before the program has
// threads; they are read only after `len`, which is stored last, is not 0.
unsafe impl Sync for StaticPath {}

impl StaticPath {
    const fn new() -> Self {
        Self {
            bytes: UnsafeCell::new([0; PATH_MAX]),
            len: AtomicUsize::new(0),
        }
    }

    /// Returns the path without the final zero; empty if it is not set.
    pub fn get(&self) -> &[u8] {
        let len = self.len.load(Ordering::Acquire);
        if len == 0 {
            return &[];
        }
        // SAFETY: a length that is not 0 was stored after the bytes, which no longer change.
        let bytes = unsafe { &*self.bytes.get() };
        bytes.get(..len).unwrap_or_default()
    }

    /// # Safety
    ///
    /// Called once, by one thread.
    unsafe fn set(&self, path: &[u8]) {
        // SAFETY: nobody reads the bytes before `len` is stored, and nobody else writes them.
        let bytes = unsafe { &mut *self.bytes.get() };
        // A longer path is not set, and nothing is recorded. The zero at the end remains.
        if path.len() < PATH_MAX
            && let Some(target) = bytes.get_mut(..path.len())
        {
            target.copy_from_slice(path);
            self.len.store(path.len(), Ordering::Release);
        }
    }
}

/// The canonical path of the database.
pub static DATABASE: StaticPath = StaticPath::new();
/// The directory of the records.
pub static TRACE_DIR: StaticPath = StaticPath::new();

// SAFETY: the loader calls the functions of this section when it loads the library.
#[used]
#[unsafe(link_section = ".init_array")]
static READ_ENVIRONMENT: extern "C" fn() = read_environment;

extern "C" fn read_environment() {
    for (name, path) in [
        (c"ETUI_DOCTOR_DATABASE", &DATABASE),
        (c"ETUI_DOCTOR_TRACE", &TRACE_DIR),
    ] {
        // SAFETY: the name is a C string. The loader runs this once, before the program's threads
        // exist, so the environment does not change meanwhile.
        unsafe {
            let value = libc::getenv(name.as_ptr());
            if !value.is_null() {
                path.set(CStr::from_ptr(value).to_bytes());
            }
        }
    }
}
