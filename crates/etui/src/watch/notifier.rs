//! [`Notifier`]: notifies the views of a store of commits, in this process and in others.
//!
//! ```text
//! writer, any process                      process with views
//! ───────────────────                      ──────────────────
//! commit, visible to all
//! open + close NAME-watch ──── inotify ──► dispatcher (a thread, while there are views)
//!   (ENOENT: nobody follows)                 reads the change log since its last look, once,
//! dies before it could ── IN_CLOSE_WRITE ─►  compares it with each view that was not told yet
//!   (of the store file)                        │
//!                                              └► Subscription: condition variable, eventfd
//!                                                   │
//!                                                   └► View::changes reads for itself
//! ```
//!
//! A writer makes one system call, whatever watches. Nothing is passed from the writer to the
//! views: each reads the log from its own position, so no writer waits for a slow view, nothing
//! queues up, and a spurious wake-up is harmless. None may be lost; [`dispatcher`](super::dispatcher) and
//! [`Subscription`] say why.

use std::sync::{Arc, Mutex};

use super::dispatcher::{RunningDispatcher, ViewRegistry};
use super::subscription::Subscription;
use crate::db::{Db, lock};
use crate::error::Result;

/// The views of a store, and the dispatcher that runs while there are any.
#[derive(Default)]
pub(crate) struct Notifier {
    shared: Arc<ViewRegistry>,
    running: Mutex<Option<RunningDispatcher>>,
}

impl Notifier {
    /// Adds a view; the first one starts the dispatcher. The view has to be read once before it
    /// is waited for.
    pub(super) fn subscribe(&self, db: &Db, subscription: &Arc<Subscription>) -> Result<()> {
        let mut running = lock(&self.running);
        if running.is_none() {
            *running = Some(RunningDispatcher::start(&self.shared, db).map_err(|e| db.explain(e))?);
        }
        self.shared.add(subscription);
        Ok(())
    }

    /// Ends the dispatcher, and makes all views readable: they read that the store is closed.
    pub(crate) fn close(&self, db: &Db) {
        self.stop(db, &mut lock(&self.running));
        self.shared.wake_all();
    }

    fn stop(&self, db: &Db, running: &mut Option<RunningDispatcher>) {
        db.signal().set_waker(None);
        if let Some(connection) = running.take().and_then(RunningDispatcher::stop_and_join) {
            db.return_connection(connection);
        }
    }

    /// Removes a view; the dispatcher ends with the last one.
    pub(super) fn unsubscribe(&self, db: &Db, subscription: &Arc<Subscription>) {
        let mut running = lock(&self.running);
        if self.shared.remove(subscription) == 0 {
            self.stop(db, &mut running);
        }
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        // Only if a view was leaked; otherwise the last one has stopped it.
        lock(&self.running)
            .take()
            .and_then(RunningDispatcher::stop_and_join);
    }
}
