//! Waiting for what another thread or process does.
//!
//! A test waits for a condition, never for a time: a slow machine makes it slower, and nothing else.

use std::time::{Duration, Instant};

/// Far more than anything takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(3);

/// Waits until `condition` holds, and evaluates it every few milliseconds.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// let is_done = AtomicBool::new(false);
/// std::thread::scope(|scope| {
///     scope.spawn(|| is_done.store(true, Ordering::Release));
///     etui_testkit::wait::wait_until("the other thread", || is_done.load(Ordering::Acquire));
/// });
/// ```
///
/// # Panics
/// If it does not hold after two minutes; the message names `what`.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(
            begun.elapsed() < PATIENCE,
            "waited {PATIENCE:?} in vain for {what}"
        );
        std::thread::sleep(PAUSE);
    }
}
