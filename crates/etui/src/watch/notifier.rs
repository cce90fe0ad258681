//! Telling those who follow a store that something was committed: in this process and in others.
//!
//! ```text
//! writer, any process                      process with views
//! ───────────────────                      ──────────────────
//! commit, visible to all
//! open + close NAME-watch ──── inotify ──► hub (a thread of the store, while it has views)
//!   (ENOENT: nobody follows)                 reads the change log since its last look, once,
//! dies before it could ── IN_CLOSE_WRITE ─►  compares it with each view that was not told yet
//!   (of the store file)                        │
//!                                              └► Subscription: condition variable, eventfd
//!                                                   │
//!                                                   └► View::changes reads for itself
//! ```
//!
//! What a writer does is one system call, whoever follows. Nothing is handed from the writer to
//! the views: each reads the log from where it stands, so nobody waits for a slow one, nothing
//! queues up, and a wakeup too many does no harm. None may be lost; [`hub`] and [`Subscription`]
//! say why none is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::hub::{RunningDispatcher, ViewRegistry};
use crate::db::Db;
use crate::error::Result;

use super::subscription::Subscription;

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

    /// Takes a view out; with the last one the hub ends.
    pub(super) fn unsubscribe(&self, db: &Db, subscription: &Arc<Subscription>) {
        let mut running = lock(&self.running);
        if self.shared.remove(subscription) == 0 {
            db.signal().set_waker(None);
        } else {
            return;
        }
        if let Some(connection) = running.take().and_then(RunningDispatcher::stop_and_join) {
            db.return_connection(connection);
        }
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        // Only where a view was leaked; else the last one has ended it.
        lock(&self.running)
            .take()
            .and_then(RunningDispatcher::stop_and_join);
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is kept under these locks is whole between any two statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
