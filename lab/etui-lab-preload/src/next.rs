//! The functions that the library stands in front of.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::libc::{self, SymbolInfo};

/// The next definition of a function of the C library, found once.
pub struct NextFunction {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl NextFunction {
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            address: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Returns its address; null if there is none.
    pub fn address(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name is a C string.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

/// Finds a function of SQLite as the caller would have found it without this library: in the global
/// scope after this library, else in the caller's own libraries. Python and plug-ins load SQLite
/// out of the global scope.
pub fn find_sqlite_function(name: &CStr) -> *mut c_void {
    // SAFETY: the name is a C string.
    let global = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if !global.is_null() {
        return global;
    }
    let own = object_of((find_sqlite_function as fn(&CStr) -> *mut c_void) as *const c_void);
    let mut addresses = [ptr::null_mut(); 16];
    // SAFETY: the array has 16 places.
    let count = unsafe { libc::backtrace(addresses.as_mut_ptr(), 16) };
    let callers = addresses.iter().take(usize::try_from(count).unwrap_or(0));
    for address in callers {
        let object = object_of(*address);
        if object == own {
            continue;
        }
        let found = find_in_object(object, name);
        if !found.is_null() && object_of(found) != own {
            return found;
        }
    }
    // A caller that was not found: the system's library is the likely one.
    find_in_object(c"libsqlite3.so.0".as_ptr(), name)
}

/// Finds a function in the library that has another one of it.
pub fn find_beside(address: *const c_void, name: &CStr) -> *mut c_void {
    find_in_object(object_of(address), name)
}

/// Returns the name of the object that has an address; null if there is none.
fn object_of(address: *const c_void) -> *const std::ffi::c_char {
    let mut info = SymbolInfo {
        object: ptr::null(),
        base: ptr::null_mut(),
        symbol: ptr::null(),
        address: ptr::null_mut(),
    };
    // SAFETY: any address may be asked for; the name that is returned lives as long as the object.
    match unsafe { libc::dladdr(address, &mut info) } {
        0 => ptr::null(),
        _ => info.object,
    }
}

/// Finds a function in a loaded object or in its dependencies.
fn find_in_object(object: *const std::ffi::c_char, name: &CStr) -> *mut c_void {
    if object.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: both are C strings. The object is only looked up; the reference that this adds keeps
    // it loaded, as its functions are kept here.
    unsafe {
        let handle = libc::dlopen(object, libc::RTLD_NOLOAD | libc::RTLD_LAZY);
        match handle.is_null() {
            true => ptr::null_mut(),
            false => libc::dlsym(handle, name.as_ptr()),
        }
    }
}
