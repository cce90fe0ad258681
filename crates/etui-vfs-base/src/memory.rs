//! Memory of the process.

/// Returns memory that the process has freed, and its allocator keeps, to the system. Call it after
/// work with a temporary peak of memory. Does nothing with a C library other than glibc.
pub fn release_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> std::os::raw::c_int;
        }
        // SAFETY: `malloc_trim` (glibc's manual page) may be called at any time, from any thread,
        // and does not change allocated memory.
        unsafe { malloc_trim(0) };
    }
}
