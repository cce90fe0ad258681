//! How many forks lie behind this process: what was open before the last one is the parent's.

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

/// Begins to count forks.
pub(crate) fn watch() {
    WATCH.call_once(|| {
        // SAFETY: the handler stays where it is and does what is allowed in a child. Where there
        // is no memory for it, forks are not noticed, which only matters to who breaks the rule.
        let _ = unsafe { pthread_atfork(None, None, Some(in_child)) };
    });
}

/// How many forks there were on the way to this process.
pub(crate) fn forks() -> u64 {
    FORKS.load(Ordering::Relaxed)
}
