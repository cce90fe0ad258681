//! The change dispatcher: a thread that reads the change log and wakes the affected views.
//!
//! It runs while the store has views. It reads each change once, in windows of bounded length, and
//! compares the keys before and after with every view that is not awake; one that is awake is
//! skipped until it has read. When no view is left, it advances to the end of the log at once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::os::fd::OwnedFd;

use super::inotify_watch::InotifyWatch;
use super::subscription::Subscription;
use crate::db::{Db, Waker, lock, read_transaction};
use crate::error::{Error, Result};
use crate::record::changes;
use crate::record::collection_table::{self, CollectionStatus};
use crate::record::keys::SearchKeys;
use crate::types::SyncToken;

/// The number of changes compared in one read transaction, which must not hold up the WAL.
const WINDOW: i64 = 512;
/// The polling interval without inotify, and after an error.
const LOOKS_EVERY: Duration = Duration::from_millis(250);
/// After a comparison that found changes the dispatcher pauses as long as it took, so that it uses
/// at most half a processor. The minimum pause collects commits, and spares writers the wake-ups.
const RESTS_AT_LEAST: Duration = Duration::from_millis(1);
/// The maximum pause.
const RESTS_AT_MOST: Duration = Duration::from_millis(5);

/// The views, shared by writers and the dispatcher.
#[derive(Default)]
pub(super) struct ViewRegistry {
    views: Mutex<Vec<Arc<Subscription>>>,
    /// Incremented when `views` changes.
    generation: AtomicU64,
    /// A dispatcher runs without inotify: writers must wake it.
    pub(super) deaf: AtomicBool,
    stop: AtomicBool,
}

impl ViewRegistry {
    pub(super) fn add(&self, view: &Arc<Subscription>) {
        lock(&self.views).push(Arc::clone(view));
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// Removes a view, and returns the number of views left.
    pub(super) fn remove(&self, view: &Arc<Subscription>) -> usize {
        let mut views = lock(&self.views);
        views.retain(|v| !Arc::ptr_eq(v, view));
        self.generation.fetch_add(1, Ordering::SeqCst);
        views.len()
    }

    /// Wakes all views.
    pub(super) fn wake_all(&self) {
        lock(&self.views).iter().for_each(|view| view.wake());
    }
}

/// A running dispatcher.
pub(super) struct RunningDispatcher {
    shared: Arc<ViewRegistry>,
    bell: Arc<OwnedFd>,
    ended: Receiver<Connection>,
}

impl RunningDispatcher {
    /// Starts the dispatcher. It learns of every commit from here on.
    pub(super) fn start(shared: &Arc<ViewRegistry>, db: &Db) -> Result<Self> {
        let watch = db.signal().watch_file().to_owned();
        let failed = |e: std::io::Error| Error::io(&watch, e);
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|e| failed(e.into()))?;
        let bell = Arc::new(bell);
        shared.stop.store(false, Ordering::SeqCst);
        // Until inotify listens, commits of this process wake the thread.
        shared.deaf.store(true, Ordering::SeqCst);
        // Before the first state is read, so that no commit is missed.
        db.signal().set_waker(Some(waker(shared, &bell)));
        let connection = db.take_connection()?;
        let comparison = read_transaction(&connection, LogComparison::new)?;
        let mut hub = ChangeDispatcher {
            shared: Arc::clone(shared),
            bell: Arc::clone(&bell),
            connection,
            store: db.signal().store().to_owned(),
            watch: watch.clone(),
            immutable: db.is_immutable(),
            ear: None,
            comparison,
        };
        let (end, ended) = channel();
        std::thread::Builder::new()
            .name("etui-views".to_owned())
            .spawn(move || {
                hub.run();
                // Before the connection is given back: a closed store has no watch file beside it.
                let inotify = hub.ear.map(InotifyWatch::leave);
                let _ = end.send(hub.connection);
                // The kernel takes milliseconds to close it; no thread waits for that.
                drop(inotify);
            })
            .map_err(failed)?;
        Ok(Self {
            shared: Arc::clone(shared),
            bell,
            ended,
        })
    }

    /// Stops the dispatcher, and returns its connection (`None` if it panicked).
    pub(super) fn stop_and_join(self) -> Option<Connection> {
        self.shared.stop.store(true, Ordering::SeqCst);
        wake(&self.bell);
        let connection = self.ended.recv().ok();
        self.shared.deaf.store(false, Ordering::SeqCst);
        connection
    }
}

/// Returns the waker for commits of this process: it wakes the dispatcher where inotify does not.
fn waker(shared: &Arc<ViewRegistry>, bell: &Arc<OwnedFd>) -> Waker {
    let (shared, bell) = (Arc::clone(shared), Arc::clone(bell));
    Arc::new(move || {
        if shared.deaf.load(Ordering::SeqCst) {
            wake(&bell);
        }
    })
}

/// Makes an eventfd readable.
fn wake(bell: &OwnedFd) {
    // It fails only if the counter is full, which wakes the thread as well.
    let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
}

struct ChangeDispatcher {
    shared: Arc<ViewRegistry>,
    bell: Arc<OwnedFd>,
    connection: Connection,
    store: PathBuf,
    watch: PathBuf,
    /// The store is on a read-only medium.
    immutable: bool,
    ear: Option<InotifyWatch>,
    comparison: LogComparison,
}

impl ChangeDispatcher {
    fn run(&mut self) {
        self.open_watch();
        while !self.shared.stop.load(Ordering::SeqCst) {
            let (begun, before) = (Instant::now(), self.comparison.at);
            let looked = self.compare_window();
            if let Err(error) = &looked {
                // Each view gets the error itself when it reads.
                tracing::warn!(%error, "views cannot look for changes");
                self.comparison.wake_all(&self.shared);
            }
            if self.comparison.at != before {
                self.pause(begun.elapsed());
            }
            if !matches!(looked, Ok(true)) {
                self.wait(looked.is_err());
            }
        }
    }

    /// Pauses after a comparison, unless it is woken.
    fn pause(&self, looked: Duration) {
        let rest = looked.clamp(RESTS_AT_LEAST, RESTS_AT_MOST);
        let mut bell = [PollFd::new(&*self.bell, PollFlags::IN)];
        // A pause that is interrupted is only shorter.
        let _ = poll(&mut bell, Some(&timespec(rest)));
    }

    fn open_watch(&mut self) {
        // Nobody can write to a read-only medium.
        if self.immutable {
            return;
        }
        match InotifyWatch::open(&self.store, &self.watch) {
            Ok(ear) => {
                self.ear = Some(ear);
                self.shared.deaf.store(false, Ordering::SeqCst);
            }
            Err(error) => {
                tracing::debug!(%error, "other processes' changes are looked for every so often");
            }
        }
    }

    /// Sleeps until something may be committed. A comparison has to follow.
    fn wait(&mut self, failed: bool) {
        let every =
            (failed || (self.ear.is_none() && !self.immutable)).then(|| timespec(LOOKS_EVERY));
        let mut fds = vec![PollFd::new(&*self.bell, PollFlags::IN)];
        if let Some(ear) = &self.ear {
            fds.push(PollFd::from_borrowed_fd(ear.descriptor(), PollFlags::IN));
        }
        let _ = poll(&mut fds, every.as_ref());
        // The counter is 0 if only inotify reported something.
        let _ = rustix::io::read(&*self.bell, &mut [0u8; 8]);
        match self.ear.as_mut().map(InotifyWatch::read_events) {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                tracing::debug!(%error, "the watch file is lost");
                self.shared.deaf.store(true, Ordering::SeqCst);
                self.ear = None;
            }
            // Inotify may be available by now.
            None => self.open_watch(),
        }
    }

    /// Compares one window of changes; returns false if none is left.
    fn compare_window(&mut self) -> Result<bool> {
        let (comparison, shared) = (&mut self.comparison, &self.shared);
        read_transaction(&self.connection, |conn| comparison.window(conn, shared))
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: 0,
        tv_nsec: time.subsec_nanos().into(),
    }
}

/// The position of the dispatcher in the change log.
struct LogComparison {
    /// All changes up to here are compared.
    at: SyncToken,
    /// The statuses of the collections at that time: renames and removals are not in the log.
    collections: BTreeMap<i64, CollectionStatus>,
    /// A copy of the registered views, and its generation.
    views: Vec<Arc<Subscription>>,
    generation: u64,
}

impl LogComparison {
    fn new(conn: &Connection) -> Result<Self> {
        Ok(Self {
            at: changes::token(conn)?,
            collections: collection_table::read_statuses(conn)?,
            views: Vec::new(),
            generation: 0,
        })
    }

    fn refresh(&mut self, shared: &ViewRegistry) {
        let generation = shared.generation.load(Ordering::SeqCst);
        if generation != self.generation {
            self.views.clone_from(&lock(&shared.views));
            self.generation = generation;
        }
    }

    fn wake_all(&mut self, shared: &ViewRegistry) {
        self.refresh(shared);
        self.views.iter().for_each(|v| v.wake());
    }

    /// Wakes the views whose collection was renamed, removed or restored; and all views if one was
    /// created, since who follows all collections opens a view of it.
    fn compare_statuses(&mut self, conn: &Connection, shared: &ViewRegistry) -> Result<()> {
        let collections = collection_table::read_statuses(conn)?;
        if collections == self.collections {
            return Ok(());
        }
        self.refresh(shared);
        let is_new = collections
            .keys()
            .any(|id| !self.collections.contains_key(id));
        let is_other = |id| collections.get(id) != self.collections.get(id);
        let views = self.views.iter();
        let concerned = views.filter(|view| is_new || is_other(&view.collection));
        concerned.for_each(|view| view.wake());
        self.collections = collections;
        Ok(())
    }

    /// Compares the next window. Runs in a read transaction.
    fn window(&mut self, conn: &Connection, shared: &ViewRegistry) -> Result<bool> {
        // The state is read before the views are asked whether they are awake.
        let now = changes::token(conn)?;
        self.compare_statuses(conn, shared)?;
        if !changes::covers_token(conn, &self.at, &now)? {
            self.at = now;
            self.wake_all(shared);
            return Ok(false);
        }
        if now.seq == self.at.seq {
            return Ok(false);
        }
        self.refresh(shared);
        let armed = self.views.iter().map(|v| &**v).filter(|v| v.is_armed());
        let mut armed: Vec<&Subscription> = armed.collect();
        let mut to = now.seq;
        // Without armed views no record is compared, so the step needs no bound.
        if !armed.is_empty() {
            to = to.min(self.at.seq + WINDOW);
            compare(conn, self.at.seq, to, &mut armed)?;
        }
        armed.into_iter().for_each(|v| v.advance_to(to));
        self.at.seq = to;
        Ok(to < now.seq)
    }
}

/// Wakes the views that the changes `from + 1` to `to` affect, and removes them from `armed`.
fn compare(conn: &Connection, from: i64, to: i64, armed: &mut Vec<&Subscription>) -> Result<()> {
    let mut tell = |collection: i64, uid: &[u8], keys: Option<&[u8]>| {
        let Some(keys) = keys else { return };
        let record = SearchKeys { uid, keys };
        armed.retain(|view| {
            let concerned = view.collection == collection && view.matcher.matches(record);
            if concerned {
                view.wake();
            }
            !concerned
        });
    };
    // The keys before each change, and the present keys if the change is the record's latest. Those
    // in between belong to its later changes.
    let mut changed = conn.prepare_cached(
        "SELECT r.collection, c.keys, \
                iif(r.changed = c.seq AND r.removed_at IS NULL, r.keys, NULL), r.uid \
         FROM change c CROSS JOIN record r ON r.id = c.record \
         WHERE c.seq > ?1 AND c.seq <= ?2",
    )?;
    let mut rows = changed.query((from, to))?;
    while let Some(row) = rows.next()? {
        let collection = row.get(0)?;
        let uid = row.get_ref(3)?.as_bytes().unwrap_or_default();
        tell(collection, uid, optional_blob(row, 1)?);
        tell(collection, uid, optional_blob(row, 2)?);
    }
    let mut added = conn.prepare_cached(
        "SELECT collection, keys, uid FROM record NOT INDEXED \
         WHERE id > ?1 AND id <= ?2 AND removed_at IS NULL",
    )?;
    let mut rows = added.query((from, to))?;
    while let Some(row) = rows.next()? {
        let uid = row.get_ref(2)?.as_bytes().unwrap_or_default();
        tell(row.get(0)?, uid, optional_blob(row, 1)?);
    }
    Ok(())
}

fn optional_blob<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Result<Option<&'r [u8]>> {
    Ok(row
        .get_ref(column)?
        .as_blob_or_null()
        .map_err(rusqlite::Error::from)?)
}
