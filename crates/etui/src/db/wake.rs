//! [`CommitSignal`]: the signal that a commit gives to processes that watch the store.
//!
//! A watching process keeps the empty file `NAME-watch` beside the store. A writer opens it after
//! each commit; inotify reports that to the watchers (`IN_OPEN`). Opening writes nothing, not even
//! a time stamp, and fails with `ENOENT` when nobody watches. Where inotify is unavailable, a
//! watcher of this process registers a waker instead.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::fs::{Mode, OFlags};

use super::paths::with_suffix;
use super::sidecar;

/// A function that wakes a watcher of this process.
pub(crate) type Waker = Arc<dyn Fn() + Send + Sync>;

/// A store's signal of commits.
pub(crate) struct CommitSignal {
    store: PathBuf,
    watch: OnceLock<PathBuf>,
    waker: Mutex<Option<Waker>>,
}

impl CommitSignal {
    pub(super) fn new(store: &Path) -> Self {
        Self {
            store: store.to_owned(),
            watch: OnceLock::new(),
            waker: Mutex::default(),
        }
    }

    pub(crate) fn store(&self) -> &Path {
        &self.store
    }

    /// Returns the path of the watch file. It is beside the file that links lead to, so that all
    /// processes use the same one.
    pub(crate) fn watch_file(&self) -> &Path {
        self.watch.get_or_init(|| {
            let real = std::fs::canonicalize(&self.store).unwrap_or_else(|_| self.store.clone());
            with_suffix(&real, "-watch")
        })
    }

    /// Signals that a commit is visible to all.
    pub(super) fn send(&self) {
        open_watch_file(self.watch_file());
        // Cloned, so that the lock is not held while it runs.
        let waker = self.waker().clone();
        if let Some(wake) = waker {
            wake();
        }
    }

    /// Sets the function that each commit of this process calls.
    pub(crate) fn set_waker(&self, waker: Option<Waker>) {
        *self.waker() = waker;
    }

    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens and closes the watch file: one system call, which fails when nobody watches.
pub(crate) fn open_watch_file(watch: &Path) {
    let _ = rustix::fs::open(watch, sidecar::OPEN | OFlags::RDONLY, Mode::empty());
}
