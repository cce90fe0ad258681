//! [`Subscription`]: the state that a view and the dispatcher share.
//!
//! ```text
//!            a change affects it                begin
//!   armed ───────────────────────────► told ───────────► reading ──► armed (Reading::finish)
//!     ▲  │                                                   │
//!     └──┘ nothing for it up to N: position = N              └─────► told  (the read failed)
//! ```
//!
//! No wake-up is lost: a view is disarmed *before* it begins to read, and the dispatcher reads the
//! state of the store *before* it asks which views are armed. So the read of a view sees all
//! changes that a dispatcher did not compare with it, because it was awake or not registered yet.
//!
//! While a view reads it is armed for the dispatcher, but its position stays: the read may fail.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use rustix::event::{EventfdFlags, eventfd};

use crate::search::filter::Matcher;
use crate::types::SyncToken;

/// A view, as the dispatcher sees it.
pub(crate) struct Subscription {
    /// The collection of its records.
    pub(super) collection: i64,
    /// The records that it is about.
    pub(super) matcher: Arc<Matcher>,
    state: Mutex<SubscriptionState>,
    told: Condvar,
    /// An eventfd, readable while there is something to read; created on first use.
    bell: OnceLock<OwnedFd>,
}

struct SubscriptionState {
    told: bool,
    reading: bool,
    /// All changes up to here were reported, or do not affect it.
    position: SyncToken,
}

impl Subscription {
    /// Returns a subscription that has to be read from `position`.
    pub(crate) fn new(collection: i64, matcher: Arc<Matcher>, position: SyncToken) -> Arc<Self> {
        Arc::new(Self {
            collection,
            matcher,
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

    /// Returns the position up to which all changes were reported.
    pub(crate) fn position(&self) -> SyncToken {
        self.state().position
    }

    /// Disarms the subscription and begins a read.
    pub(crate) fn begin_read(&self) -> ViewRead<'_> {
        let mut state = self.state();
        if std::mem::take(&mut state.told)
            && let Some(bell) = self.bell.get()
        {
            // Otherwise the descriptor would stay readable.
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

    /// Wakes the view: there is something to read.
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

    /// Returns true if the dispatcher has to compare changes with it.
    pub(super) fn is_armed(&self) -> bool {
        !self.state().told
    }

    /// Advances the position: no change up to `number` affects it.
    pub(super) fn advance_to(&self, number: i64) {
        let mut state = self.state();
        if !state.told && !state.reading {
            // A read may have moved the position further.
            state.position.seq = state.position.seq.max(number);
        }
    }

    /// Waits until there is something to read; returns false at the deadline.
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

    /// Returns a descriptor that is readable, for poll, while there is something to read.
    pub(crate) fn descriptor(&self) -> std::io::Result<BorrowedFd<'_>> {
        // Under the lock: no wake-up may come between reading `told` and creating the eventfd.
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

/// A read in progress. Dropped without [`ViewRead::finish`] it has failed, and there is still
/// something to read.
pub(crate) struct ViewRead<'s> {
    subscription: &'s Subscription,
    /// The position it begins at.
    pub(crate) from: SyncToken,
    done: bool,
}

impl ViewRead<'_> {
    /// Ends the read: all changes up to `position` were read.
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

    fn token(seq: i64) -> SyncToken {
        SyncToken {
            store: 1,
            incarnation: 1,
            seq,
            listing: None,
        }
    }

    fn waits(subscription: &Subscription) -> bool {
        !subscription.wait(Some(Instant::now()))
    }

    #[test]
    fn a_read_that_failed_leaves_it_to_be_read_again() {
        let view = Subscription::new(1, Arc::new(Matcher::All), token(5));
        assert!(!waits(&view), "it has to be read first");
        view.begin_read().finish(token(7));
        assert!(waits(&view));
        view.wake();
        assert!(!waits(&view) && !view.is_armed());

        let reading = view.begin_read();
        assert!(view.is_armed() && waits(&view));
        // The dispatcher found nothing up to 9; but the earlier changes were not read.
        view.advance_to(9);
        drop(reading);
        assert!(!waits(&view));
        assert_eq!(view.begin_read().from, token(7));
    }

    #[test]
    fn what_happens_while_it_reads_is_told_afterwards() {
        let view = Subscription::new(1, Arc::new(Matcher::All), token(5));
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
