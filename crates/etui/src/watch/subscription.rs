//! [`Subscription`]: what a view and the hub have in common.
//!
//! ```text
//!            the hub finds something            begin
//!   armed ───────────────────────────► told ───────────► reading ──► armed (Reading::finish)
//!     ▲  │                                                   │
//!     └──┘ nothing for it up to N: position = N              └─────► told  (the read failed)
//! ```
//!
//! Why no wakeup is lost: a view is disarmed *before* it begins to read, and the hub takes its
//! state of the store *before* it asks whom to compare with. So whatever a hub did not compare a
//! view with, because it was told already or not there yet, that view's read sees.
//!
//! While a view reads it is armed for the hub, but its position is left alone: the read may fail.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use rustix::event::{EventfdFlags, eventfd};

use crate::types::SyncToken;

/// What a view wants to know of.
pub(crate) trait ViewInterest: Send + Sync {
    /// Whether a record with these keys concerns it.
    fn matches_keys(&self, keys: &[u8]) -> bool;
}

/// A view, as the hub sees it.
pub(crate) struct Subscription {
    /// Records of this collection only.
    pub(super) collection: i64,
    pub(super) interest: Box<dyn ViewInterest>,
    state: Mutex<SubscriptionState>,
    told: Condvar,
    /// Readable while there is something to read; made when it is first asked for.
    bell: OnceLock<OwnedFd>,
}

struct SubscriptionState {
    told: bool,
    reading: bool,
    /// Everything up to here was reported, or does not concern it.
    position: SyncToken,
}

impl Subscription {
    /// One that has to be read from `position`.
    pub(crate) fn new(
        collection: i64,
        interest: Box<dyn ViewInterest>,
        position: SyncToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            collection,
            interest,
            state: Mutex::new(SubscriptionState {
                told: true,
                reading: false,
                position,
            }),
            told: Condvar::new(),
            bell: OnceLock::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, SubscriptionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything up to here was reported.
    pub(crate) fn position(&self) -> SyncToken {
        self.state().position
    }

    /// Disarms and begins a read.
    pub(crate) fn begin_read(&self) -> ViewRead<'_> {
        let mut state = self.state();
        if std::mem::take(&mut state.told)
            && let Some(bell) = self.bell.get()
        {
            let _ = rustix::io::read(bell, &mut [0u8; 8]);
        }
        state.reading = true;
        ViewRead {
            subscription: self,
            from: state.position,
            done: false,
        }
    }

    fn end(&self, position: Option<SyncToken>) {
        let mut state = self.state();
        state.reading = false;
        match position {
            Some(position) => state.position = position,
            None => self.wake_locked(&mut state),
        }
    }

    /// Says that there is something to read.
    pub(crate) fn wake(&self) {
        self.wake_locked(&mut self.state());
    }

    fn wake_locked(&self, state: &mut SubscriptionState) {
        if !std::mem::replace(&mut state.told, true) {
            if let Some(bell) = self.bell.get() {
                let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
            }
            self.told.notify_all();
        }
    }

    /// Whether the hub has to compare it.
    pub(super) fn is_armed(&self) -> bool {
        !self.state().told
    }

    /// Nothing up to `number` concerns it.
    pub(super) fn advance_to(&self, number: i64) {
        let mut state = self.state();
        if !state.told && !state.reading {
            state.position.seq = state.position.seq.max(number);
        }
    }

    /// Waits until there is something to read. `false`: there was nothing until `deadline`.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> bool {
        let mut state = self.state();
        while !state.told {
            state = match deadline {
                None => self
                    .told
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    self.told
                        .wait_timeout(state, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        }
        true
    }

    /// A descriptor that can be read from, as poll has it, while there is something to read.
    pub(crate) fn descriptor(&self) -> std::io::Result<BorrowedFd<'_>> {
        // Under the lock: nobody may tell between the look at `told` and the bell's being there.
        let state = self.state();
        if let Some(bell) = self.bell.get() {
            return Ok(bell.as_fd());
        }
        let made = eventfd(
            u32::from(state.told),
            EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
        )?;
        Ok(self.bell.get_or_init(|| made).as_fd())
    }
}

/// A read that was begun. One that ends without [`ViewRead::finish`] has failed, and there is
/// still something to read.
pub(crate) struct ViewRead<'s> {
    subscription: &'s Subscription,
    /// Where it begins.
    pub(crate) from: SyncToken,
    done: bool,
}

impl ViewRead<'_> {
    /// Everything up to `position` was read.
    pub(crate) fn finish(mut self, position: SyncToken) {
        self.done = true;
        self.subscription.end(Some(position));
    }
}

impl Drop for ViewRead<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.subscription.end(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct AllKeys;

    impl ViewInterest for AllKeys {
        fn matches_keys(&self, _: &[u8]) -> bool {
            true
        }
    }

    fn token(seq: i64) -> SyncToken {
        SyncToken {
            store: 1,
            incarnation: 1,
            seq,
        }
    }

    fn waits(subscription: &Subscription) -> bool {
        !subscription.wait(Some(Instant::now()))
    }

    #[test]
    fn a_read_that_failed_leaves_it_to_be_read_again() {
        let view = Subscription::new(1, Box::new(AllKeys), token(5));
        assert!(!waits(&view), "it has to be read first");
        view.begin_read().finish(token(7));
        assert!(waits(&view));
        view.wake();
        assert!(!waits(&view) && !view.is_armed());

        let reading = view.begin_read();
        assert!(view.is_armed() && waits(&view));
        // The hub found nothing up to 9; but what was told of before was not read.
        view.advance_to(9);
        drop(reading);
        assert!(!waits(&view));
        assert_eq!(view.begin_read().from, token(7));
    }

    #[test]
    fn what_happens_while_it_reads_is_told_afterwards() {
        let view = Subscription::new(1, Box::new(AllKeys), token(5));
        let reading = view.begin_read();
        view.wake();
        reading.finish(token(6));
        assert!(!waits(&view));
        view.advance_to(9);
        assert_eq!(view.position(), token(6), "told: it has to look for itself");
        view.begin_read().finish(token(9));
        view.advance_to(12);
        view.advance_to(11);
        assert_eq!(view.position(), token(12));
    }
}
