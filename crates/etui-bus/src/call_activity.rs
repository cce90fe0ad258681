//! [`CallActivity`]: when a service answers calls, and when it is at rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use zruntime::{Event, SharedRuntime};

/// Time without a call after which a service gives back memory. Programs that list and search do so
/// within seconds; giving it back after each large answer made the next one take twice as long
/// (`etui lab run phonebook`, every vCard).
const REST_TIME: Duration = Duration::from_secs(5);

/// The calls of a service.
#[derive(Default)]
pub struct CallActivity {
    begun: AtomicU64,
    ended: AtomicU64,
    call: Event,
}

impl CallActivity {
    pub(crate) fn begin_call(&self) {
        self.begun.fetch_add(1, Ordering::AcqRel);
        self.call.notify(1);
    }

    pub(crate) fn end_call(&self) {
        self.ended.fetch_add(1, Ordering::AcqRel);
    }

    /// Runs `release` on a worker thread each time the service comes to rest after calls. Without
    /// calls it sleeps.
    pub async fn release_at_rest<F>(self: Arc<Self>, release: F)
    where
        F: Fn() + Clone + Send + 'static,
    {
        let Ok(runtime) = SharedRuntime::current() else {
            return;
        };
        let mut released = 0;
        loop {
            let listener = self.call.listen();
            if self.begun.load(Ordering::Acquire) == released {
                listener.await;
            }
            loop {
                let begun = self.begun.load(Ordering::Acquire);
                runtime.sleep(REST_TIME).await;
                let is_same = self.begun.load(Ordering::Acquire) == begun;
                if is_same && self.ended.load(Ordering::Acquire) == begun {
                    released = begun;
                    break;
                }
            }
            zruntime::unblock(release.clone()).await;
        }
    }
}
