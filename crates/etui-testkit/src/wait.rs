//! Waiting for what another process or thread does: for the condition, never for a fixed time.
//!
//! ```
//! # let dir = std::env::temp_dir();
//! # let made = dir.clone();
//! use etui_testkit::wait::{wait_for, wait_until};
//!
//! wait_until("the directory is there", || dir.exists());
//! let listed = wait_for("the directory can be read", || std::fs::read_dir(&made).ok());
//! # let _ = listed;
//! ```
//!
//! A test passes as soon as the condition holds, on a slow machine too. [`LIMIT`] only ends the
//! wait for what never comes.

use std::thread;
use std::time::{Duration, Instant};

/// Time after which an event counts as lost. It is no measure of speed: a busy machine takes a small
/// part of it. Also for the timeouts of calls and sockets.
pub const LIMIT: Duration = Duration::from_secs(300);

/// Time between two looks.
pub const PAUSE: Duration = Duration::from_millis(3);

/// Waits until a condition holds; `what` names it.
///
/// # Panics
/// If it does not hold within [`LIMIT`].
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(what, || condition().then_some(()));
}

/// Waits until there is a value, and returns it; `what` names what is waited for.
///
/// # Panics
/// If there is none within [`LIMIT`].
#[track_caller]
#[expect(clippy::panic, reason = "the test has failed")]
pub fn wait_for<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(value) = poll() {
            return value;
        }
        if begun.elapsed() > LIMIT {
            panic!("not within {LIMIT:?}: {what}");
        }
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn waits_for_another_thread() {
        let is_done = AtomicBool::new(false);
        let mut looks = 0;
        thread::scope(|scope| {
            wait_until("the thread has run", || {
                looks += 1;
                if looks == 3 {
                    scope.spawn(|| is_done.store(true, Ordering::Release));
                }
                is_done.load(Ordering::Acquire)
            });
        });
        assert!(looks >= 3);
        let mut numbers = 1..;
        let ten = wait_for("ten", || numbers.next().filter(|n| *n == 10));
        assert_eq!(ten, 10);
    }
}
