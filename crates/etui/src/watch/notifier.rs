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

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::hub::{Running, Shared};
use super::signal;
use crate::db::{ConnectionPool, with_suffix};
use crate::error::Result;

use super::subscription::Subscription;

/// A store's part in it: says that something was committed, keeps the hub while there are views.
pub(crate) struct Notifier {
    store: PathBuf,
    /// `NAME-watch`; see [`signal`](super::signal). Found when it is first needed.
    watch: OnceLock<PathBuf>,
    shared: Arc<Shared>,
    running: Mutex<Option<Running>>,
}

impl Notifier {
    /// For the store at `path`.
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            store: path.to_owned(),
            watch: OnceLock::new(),
            shared: Arc::default(),
            running: Mutex::default(),
        }
    }

    /// Beside the file itself, whatever links lead to it: all processes must mean the same.
    fn watch(&self) -> &Path {
        self.watch.get_or_init(|| {
            let real = std::fs::canonicalize(&self.store).unwrap_or_else(|_| self.store.clone());
            with_suffix(&real, "-watch")
        })
    }

    /// Says that something was committed and can be seen by all.
    pub(crate) fn committed(&self) {
        signal::touch(self.watch());
        if self.shared.deaf.load(Ordering::SeqCst)
            && let Some(running) = &*lock(&self.running)
        {
            running.ring();
        }
    }

    /// Adds a view; the first one starts the hub. It has to be read once before it is waited for.
    pub(crate) fn subscribe(
        &self,
        engine: &ConnectionPool,
        subscription: &Arc<Subscription>,
    ) -> Result<()> {
        let mut running = lock(&self.running);
        if running.is_none() {
            let connection = engine.take()?;
            let place = super::hub::Place {
                store: self.store.clone(),
                watch: self.watch().to_owned(),
                immutable: engine.is_immutable(),
            };
            *running = Some(
                Running::start(&self.shared, connection, place).map_err(|e| engine.explain(e))?,
            );
        }
        self.shared.add(subscription);
        Ok(())
    }

    /// Takes a view out; with the last one the hub ends.
    pub(crate) fn unsubscribe(&self, engine: &ConnectionPool, subscription: &Arc<Subscription>) {
        let mut running = lock(&self.running);
        if self.shared.remove(subscription) == 0
            && let Some(connection) = running.take().and_then(Running::stop)
        {
            engine.give_back(connection);
        }
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        // Only where a view was leaked; else the last one has ended it.
        lock(&self.running).take().and_then(Running::stop);
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is kept under these locks is whole between any two statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
