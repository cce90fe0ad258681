//! [`ConnectionPool`]: connections that read, the connection that writes, and the memory of both.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::group_commit::{
    AtCommit, TellWaiting, TransactionSize, WriteOutcome, WriteWait, Writer, execute,
};
#[cfg(feature = "media")]
use super::large_commits::LargeCommits;
use super::open::{self, OpenMode};
use super::schema::Migrations;
use super::vfs::{self, Vfs};
use super::wal::WalLimit;
use super::work::{Work, run_untyped};
use crate::error::{Error, Result};

/// The durability level of commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// An acknowledged save survives a power cut.
    #[default]
    Full,
    /// An acknowledged save survives a crash of the program; a power cut may undo the last commits,
    /// and never corrupts the store.
    Deferred,
}

/// Options of the pool.
#[derive(Debug, Clone)]
pub(crate) struct PoolOptions {
    pub(crate) durability: Durability,
    pub(crate) memory_budget: usize,
    pub(crate) memory_map: bool,
    pub(crate) busy_timeout: Duration,
    pub(crate) tell_waiting: Option<TellWaiting>,
    pub(crate) vfs: Vfs,
    pub(crate) migrations: Migrations,
}

/// Connections that stay open to read. A further one has a minimal cache, and is closed after use.
const KEPT_CONNECTIONS: usize = 4;

/// The division of the page-cache budget: half for the writer and its dirty pages, half for the
/// pooled readers, which mostly read through the memory map.
fn writer_share(budget: usize) -> usize {
    budget / 2
}

pub(super) fn reader_share(budget: usize) -> usize {
    budget / 2 / KEPT_CONNECTIONS
}

/// The minimal cache of a connection.
const LEAST_CACHE: usize = 64 << 10;

pub struct ConnectionPool {
    path: PathBuf,
    mode: OpenMode,
    settings: PoolOptions,
    idle: Mutex<Vec<Connection>>,
    /// Set once, with `idle` locked. No connection is taken or kept from then on.
    is_closed: AtomicBool,
    writer: Writer,
    log: WalLimit,
    /// The number of connections that read, idle or checked out.
    readers: AtomicUsize,
}

/// The memory bounds of a store's page caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// The budget it was opened with, in bytes.
    pub budget: usize,
    /// The bounds of the caches of all its open connections together, in bytes.
    pub bound: usize,
    /// Open connections.
    pub connections: usize,
}

impl ConnectionPool {
    /// Opens the store at `path`, creating or migrating it as `mode` allows. `found` writes the
    /// first contents, in the transaction that creates the schema.
    pub(crate) fn open(
        path: &Path,
        mode: OpenMode,
        settings: PoolOptions,
        found: impl Fn(&Connection) -> Result<()>,
    ) -> Result<Self> {
        let opened = open::open(path, mode, &settings, &found);
        let opened = opened.map_err(|e| {
            #[cfg(feature = "redo-log")]
            if settings.vfs == Vfs::RedoLog
                && let Some(refused) = super::redo_log::refusal_reason(path)
            {
                return refused;
            }
            match e.about(path, settings.busy_timeout) {
                // A database with a redo log is no database to plain SQLite.
                e @ Error::NotADatabase { .. } => vfs::refuse_logged(path).unwrap_or(e),
                e => e,
            }
        })?;
        let (connection, mode) = opened;
        Ok(Self {
            path: path.to_owned(),
            mode,
            idle: Mutex::new(vec![connection]),
            is_closed: AtomicBool::new(false),
            writer: Writer::new(
                settings.durability,
                WriteWait {
                    most: settings.busy_timeout,
                    tell: settings.tell_waiting,
                },
            ),
            log: WalLimit::new(),
            settings,
            readers: AtomicUsize::new(1),
        })
    }

    /// Restarts a WAL that grew because readers overlap. To be called now and then: it reads the
    /// file's size.
    pub(crate) fn limit_wal_size(&self) -> Result<()> {
        if !self.log.is_large(&self.path) {
            return Ok(());
        }
        let restart = |c: &Connection| self.log.restart_wal(c, &self.path);
        match self.writer.with_idle_connection(restart) {
            Some(done) => done.map_err(|e| self.explain(e.into())),
            None => Ok(()),
        }
    }

    /// Writes the file again without free pages, and empties the WAL. Returns false if another reader kept
    /// the WAL from being emptied.
    pub(crate) fn vacuum(&self) -> Result<bool> {
        let work = |conn: &Connection| -> rusqlite::Result<bool> {
            conn.busy_timeout(self.settings.busy_timeout)?;
            let empty_wal = || {
                conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |r| {
                    Ok(!r.get::<_, bool>(0)?)
                })
            };
            // The zeros of freed pages are written before the pages are given back.
            let done = empty_wal().and_then(|is_empty| match is_empty {
                true => conn.execute_batch("VACUUM").and_then(|()| empty_wal()),
                // Another wait would not help, and the log would hold the file once more.
                false => Ok(false),
            });
            // The writer waits for locks itself (`group_commit`).
            conn.busy_timeout(Duration::ZERO)?;
            done
        };
        match self.writer.with_idle_connection(work) {
            Some(done) => done.map_err(|e| self.explain(e.into())),
            None => Ok(false),
        }
    }

    /// Releases the memory of the page caches, after work that filled them.
    pub(crate) fn release_memory(&self) {
        let shrink = |c: &Connection| {
            // It fails only for a damaged file, which the next use reports.
            let _ = c.execute_batch("PRAGMA shrink_memory");
        };
        self.writer.with_idle_connection(shrink);
        lock(&self.idle).iter().for_each(shrink);
        etui_vfs_base::release_free_memory();
    }

    /// Unmaps the file in idle connections, until their next reads.
    pub(crate) fn unmap_files(&self) {
        if !self.settings.memory_map {
            return;
        }
        // As for `release_memory`, an error is the next use's.
        let unmap = |c: &Connection| drop(open::unmap_file(c));
        self.writer.with_idle_connection(unmap);
        lock(&self.idle).iter().for_each(unmap);
    }

    /// Begins a series of large commits; `many`: it is worth a checkpoint at its end.
    #[cfg(feature = "media")]
    pub(crate) fn expect_large_commits(&self, many: bool) -> LargeCommits<'_> {
        LargeCommits::begin(self, many)
    }

    /// Runs `work` with the connection that writes, unless there is none or it is in a transaction.
    #[cfg(feature = "media")]
    pub(super) fn with_writer<T>(&self, work: impl FnOnce(&Connection) -> T) -> Option<T> {
        self.writer.with_idle_connection(work)
    }

    /// Returns the VFS of the store.
    #[cfg(feature = "media")]
    pub(super) fn vfs(&self) -> Vfs {
        self.settings.vfs
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the store was opened to read only.
    pub(crate) fn is_read_only(&self) -> bool {
        self.mode != OpenMode::ReadWrite
    }

    /// Returns true if the file is on a medium that nobody can write to.
    pub(crate) fn is_immutable(&self) -> bool {
        self.mode == OpenMode::Immutable
    }

    /// Turns SQLite's result codes into this crate's errors, about this file.
    pub(crate) fn explain(&self, error: Error) -> Error {
        error.about(&self.path, self.settings.busy_timeout)
    }

    /// Checks out a connection to read.
    fn checkout(&self) -> Result<PooledConnection<'_>> {
        Ok(PooledConnection {
            engine: self,
            connection: Some(self.take_connection()?),
        })
    }

    /// Takes a connection for a thread that outlives a borrow. It counts as checked out until it is
    /// returned.
    pub(crate) fn take_connection(&self) -> Result<Connection> {
        match self.take_idle_connection()? {
            Some(c) => Ok(c),
            None => self.connect(),
        }
    }

    /// Returns a connection to the pool.
    pub(crate) fn return_connection(&self, connection: Connection) {
        if !connection.is_autocommit() {
            // It fails if SQLite has ended the transaction already.
            let _ = connection.execute_batch("ROLLBACK");
        }
        let mut idle = lock(&self.idle);
        if idle.len() < KEPT_CONNECTIONS && !self.is_closed.load(Ordering::Relaxed) {
            idle.push(connection);
        } else {
            self.readers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn take_idle_connection(&self) -> Result<Option<Connection>> {
        let mut idle = lock(&self.idle);
        self.refuse_if_closed()?;
        Ok(idle.pop())
    }

    /// Fails once the database is closed.
    pub(super) fn refuse_if_closed(&self) -> Result<()> {
        match self.is_closed.load(Ordering::Acquire) {
            true => Err(Error::Closed(self.path.clone())),
            false => Ok(()),
        }
    }

    /// Opens a connection to read.
    fn connect(&self) -> Result<Connection> {
        let cache = match self.readers.fetch_add(1, Ordering::Relaxed) {
            n if n < KEPT_CONNECTIONS => reader_share(self.settings.memory_budget),
            _ => LEAST_CACHE,
        };
        open::connect(&self.path, self.mode, &self.settings, cache).map_err(|e| {
            self.readers.fetch_sub(1, Ordering::Relaxed);
            self.explain(e)
        })
    }

    /// Opens a connection to read that is not the pool's: a program's own queries run on it.
    pub(crate) fn connect_apart(&self) -> Result<Connection> {
        self.refuse_if_closed()?;
        open::connect(&self.path, self.mode, &self.settings, LEAST_CACHE)
            .map_err(|e| self.explain(e))
    }

    /// Runs `work` on a connection that reads. Each statement sees one state; several see one
    /// state only inside a transaction ([`ConnectionPool::read_transaction`]).
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        run_untyped(work, |work| {
            let lease = self.checkout()?;
            work(&lease).map_err(|e| self.explain(e))
        })
    }

    /// Runs `work` in one read transaction.
    pub(crate) fn read_transaction<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        self.read(|conn| read_transaction(conn, work))
    }

    /// Runs `work` in a write transaction of its own, without hooks and signals: all of it is
    /// committed, or, on an error, nothing.
    ///
    /// Threads of this process queue for the one connection that writes; other processes are waited
    /// for up to `busy_timeout`.
    pub(crate) fn write_unhooked<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        self.write_without_hooks(TransactionSize::Large, work)
    }

    /// Runs `work`, which changes derived data only: it becomes durable with the next commit that
    /// is.
    pub(crate) fn maintain<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.write_without_hooks(TransactionSize::Maintenance, work)
    }

    fn write_without_hooks<T>(
        &self,
        size: TransactionSize,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        run_untyped(work, |work| {
            self.write_of(size, &|_| Ok(None), work).into_result()
        })
    }

    /// Runs `work` in a write transaction of this size: small ones share their commit with other
    /// threads (see [`group_commit`](super::group_commit)), each with its own result.
    ///
    /// See [`WriteOutcome`] for what follows the commit.
    pub(super) fn write_of(
        &self,
        size: TransactionSize,
        at_commit: AtCommit<'_>,
        work: Work<'_>,
    ) -> WriteOutcome {
        if self.is_read_only() {
            let path = self.path.clone();
            return WriteOutcome::uncommitted(Ok(Err(Error::ReadOnly(path))));
        }
        let mut done = self
            .writer
            .run(size, &|| self.connect_to_write(), at_commit, work);
        done.work = done.work.map(|result| result.map_err(|e| self.explain(e)));
        done
    }

    /// Opens the connection that writes: an idle one, with the writer's share of the cache.
    fn connect_to_write(&self) -> Result<Connection> {
        let connection = match self.take_idle_connection()? {
            Some(c) => c,
            None => self.connect()?,
        };
        // From now on it is counted as the writer.
        self.readers.fetch_sub(1, Ordering::Relaxed);
        set_cache(&connection, writer_share(self.settings.memory_budget))?;
        open::prepare_to_write(&connection, &self.settings)?;
        // The lock is awaited when a transaction begins; inside of it no other process writes.
        connection.busy_timeout(Duration::ZERO)?;
        Ok(connection)
    }

    /// Returns the memory bounds of the page caches.
    pub(crate) fn memory(&self) -> Memory {
        let budget = self.settings.memory_budget;
        let readers = self.readers.load(Ordering::Relaxed);
        let writers = usize::from(self.writer.has_connection());
        let kept = readers.min(KEPT_CONNECTIONS);
        Memory {
            budget,
            // `set_cache` gives no connection less than the minimum.
            bound: writers * writer_share(budget).max(LEAST_CACHE)
                + kept * reader_share(budget).max(LEAST_CACHE)
                + (readers - kept) * LEAST_CACHE,
            connections: readers + writers,
        }
    }

    /// Refuses reads from now on.
    pub(crate) fn begin_close(&self) {
        let _idle = lock(&self.idle);
        self.is_closed.store(true, Ordering::Release);
    }

    /// Closes all connections, after the transaction that writes. The last one of all processes checkpoints
    /// the WAL. A connection that another thread reads with is closed when it is returned.
    pub(crate) fn close(&self) -> Result<()> {
        self.begin_close();
        let idle = std::mem::take(&mut *lock(&self.idle));
        let writer = self.writer.close();
        for connection in idle.into_iter().chain(writer) {
            connection
                .close()
                .map_err(|(_, e)| self.explain(Error::from(e)))?;
        }
        Ok(())
    }
}

/// Runs `work` in one read transaction on `connection`.
pub(crate) fn read_transaction<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    execute(connection, "BEGIN")?;
    let result = work(connection);
    // SQLite may have ended the transaction after an error, which is the one to return.
    let _ = execute(connection, "ROLLBACK");
    result
}

/// Runs `work` between BEGIN IMMEDIATE and COMMIT on `connection`.
pub(super) fn transact<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let value = work(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic under the lock leaves no partial state: transactions roll back, and a connection is
    // either in the list or not.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bounds a connection's page cache.
pub(super) fn set_cache(connection: &Connection, bytes: usize) -> Result<()> {
    // A negative `cache_size` is in KiB, a positive one in pages.
    connection.pragma_update(
        None,
        "cache_size",
        -((bytes.max(LEAST_CACHE) / 1024) as i64),
    )?;
    Ok(())
}

/// A checked out connection; it returns to the pool when dropped.
struct PooledConnection<'e> {
    engine: &'e ConnectionPool,
    connection: Option<Connection>,
}

impl Deref for PooledConnection<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        match &self.connection {
            Some(c) => c,
            // `connection` is taken only by `drop`.
            None => unreachable!("a lease holds its connection until it is dropped"),
        }
    }
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.engine.return_connection(connection);
        }
    }
}
