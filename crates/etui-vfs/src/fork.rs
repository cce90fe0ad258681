//! A count of the forks between the first process and this one. Files opened before the last fork
//! belong to the parent.

use std::os::raw::c_int;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

static FORKS: AtomicU64 = AtomicU64::new(0);
static WATCH: Once = Once::new();

type Handler = Option<unsafe extern "C" fn()>;

unsafe extern "C" {
    fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
}

unsafe extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Starts to count forks.
pub(crate) fn watch() {
    WATCH.call_once(|| {
        // SAFETY: the handler is a static function and does only what is allowed in a child. If
        // there is no memory for it, forks go unnoticed, which matters only to a program that uses
        // a connection after a fork.
        let _ = unsafe { pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Returns the number of forks up to this process.
pub(crate) fn fork_count() -> u64 {
    FORKS.load(Ordering::Relaxed)
}
