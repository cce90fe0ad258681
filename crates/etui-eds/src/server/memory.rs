//! [`release_memory_after`]: memory of large answers goes back to the system.

use std::time::Duration;

use zruntime::SharedRuntime;

/// Bytes from which an answer is large.
const LARGE_ANSWER: usize = 1 << 20;
/// Time in which an answer is sent.
const SEND_TIME: Duration = Duration::from_secs(1);

/// Releases the memory that an answer of this size has used, after it is sent: the allocator
/// would keep it, several times the answer's size.
pub(crate) fn release_memory_after(answer_bytes: usize) {
    if answer_bytes < LARGE_ANSWER {
        return;
    }
    let release = async {
        if let Ok(runtime) = SharedRuntime::current() {
            runtime.sleep(SEND_TIME).await;
            zruntime::unblock(etui_vfs::release_free_memory).await;
        }
    };
    zruntime::spawn(release).detach();
}
