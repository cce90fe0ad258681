//! [`ConnectionPool`]: connections that read, the connection that writes, and the memory of both.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use super::group_commit::{TransactionSize, WriteOutcome, Writer};
use super::open::{self, OpenMode};
use super::schema::Migrations;
use super::vfs::{self, Vfs};
use super::wal::WalLimit;
use crate::error::{Error, Result};

/// When a save is safe from what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// When a save returns, it survives a power cut.
    #[default]
    Full,
    /// When a save returns, it survives a crash of the program; a power cut may take back the
    /// last moments, and never corrupts.
    Deferred,
}

/// What the engine is told by the store's options.
#[derive(Debug, Clone)]
pub(crate) struct PoolOptions {
    pub(crate) durability: Durability,
    pub(crate) memory_budget: usize,
    pub(crate) busy_timeout: Duration,
    pub(crate) vfs: Vfs,
    pub(crate) persist_wal: bool,
    pub(crate) migrations: Migrations,
}

/// Connections that are kept open to read. Whoever needs one more gets it, with a cache of next
/// to nothing, and it is closed after use.
const KEPT_CONNECTIONS: usize = 4;

/// How the page-cache budget is divided: half is the writer's, whose dirty pages live there, the
/// other half that of the kept readers, who mostly read through the map.
fn writer_share(budget: usize) -> usize {
    budget / 2
}

pub(super) fn reader_share(budget: usize) -> usize {
    budget / 2 / KEPT_CONNECTIONS
}

/// The least that a connection works with.
const LEAST_CACHE: usize = 64 << 10;

pub(crate) struct ConnectionPool {
    path: PathBuf,
    mode: OpenMode,
    settings: PoolOptions,
    idle: Mutex<Vec<Connection>>,
    writer: Writer,
    log: WalLimit,
    /// Connections that are open to read, idle or lent.
    readers: AtomicUsize,
}

/// How much memory a store may use for its page caches.
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
    /// Opens the store at `path`, creating or migrating it as `mode` allows; what one begins
    /// with is written by `found`, in the transaction that makes the schema.
    pub(crate) fn open(
        path: &Path,
        mode: OpenMode,
        settings: PoolOptions,
        found: impl Fn(&Connection) -> Result<()>,
    ) -> Result<Self> {
        let opened = open::open(path, mode, &settings, &found).or_else(|e| {
            let refused = match settings.vfs {
                Vfs::Etui => vfs::refusal_reason(path),
                Vfs::System => None,
            };
            match (refused, e.about(path, settings.busy_timeout)) {
                (Some(refused), _) => Err(refused),
                // What plain SQLite takes a store for that a killed program left with a redo log.
                (None, Error::NotADatabase { .. }) if vfs::recover_if_left(path)? => {
                    let opened = open::open(path, mode, &settings, &found);
                    opened.map_err(|e| e.about(path, settings.busy_timeout))
                }
                (None, e) => Err(e),
            }
        })?;
        let (connection, mode) = opened;
        Ok(Self {
            path: path.to_owned(),
            mode,
            idle: Mutex::new(vec![connection]),
            writer: Writer::new(settings.durability, settings.busy_timeout),
            log: WalLimit::new(),
            settings,
            readers: AtomicUsize::new(1),
        })
    }

    /// Keeps the log from growing for as long as readers come before others go. For now and then:
    /// it looks at the file's size.
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

    /// Runs `work`, whose commits leave the log in its place while that is not too large: a later
    /// commit, or the close, brings it to the file.
    pub(crate) fn with_deferred_checkpoint<T>(&self, work: impl FnOnce() -> T) -> T {
        let _put_off = self.writer.defer_checkpoint();
        work()
    }

    /// Gives back what the page caches hold, after work that filled them, and what is free.
    pub(crate) fn release_memory(&self) {
        let shrink = |c: &Connection| {
            // It may fail for nothing but a damaged file, which the next use tells of.
            let _ = c.execute_batch("PRAGMA shrink_memory");
        };
        self.writer.with_idle_connection(shrink);
        lock(&self.idle).iter().for_each(shrink);
        etui_vfs::release_free_memory();
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.mode != OpenMode::ReadWrite
    }

    /// Whether nobody can write to the file: it lies on a read-only medium.
    pub(crate) fn is_immutable(&self) -> bool {
        self.mode == OpenMode::Immutable
    }

    pub(crate) fn explain(&self, error: Error) -> Error {
        error.about(&self.path, self.settings.busy_timeout)
    }

    /// Borrows a connection for reading.
    pub(crate) fn checkout(&self) -> Result<PooledConnection<'_>> {
        Ok(PooledConnection {
            engine: self,
            connection: Some(self.take_connection()?),
        })
    }

    /// A connection for a thread that reads on its own and outlives a borrow. It counts as lent
    /// until it is given back.
    pub(crate) fn take_connection(&self) -> Result<Connection> {
        match self.take_idle_connection() {
            Some(c) => Ok(c),
            None => self.connect(),
        }
    }

    /// Takes a connection back that was lent.
    pub(crate) fn return_connection(&self, connection: Connection) {
        if !connection.is_autocommit() {
            let _ = connection.execute_batch("ROLLBACK");
        }
        let mut idle = lock(&self.idle);
        if idle.len() < KEPT_CONNECTIONS {
            idle.push(connection);
        } else {
            self.readers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn take_idle_connection(&self) -> Option<Connection> {
        lock(&self.idle).pop()
    }

    /// A new connection to read.
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

    /// Runs `work` on a connection that reads. Each statement sees one state; several see one
    /// state only inside a transaction ([`ConnectionPool::read_transaction`]).
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let lease = self.checkout()?;
        work(&lease).map_err(|e| self.explain(e))
    }

    /// Runs `work` in one read transaction.
    pub(crate) fn read_transaction<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        self.read(|conn| read_transaction(conn, work))
    }

    /// Runs `work` in a write transaction of its own: all of it is kept, durably as the store's
    /// level says, or, on an error, nothing.
    ///
    /// Threads of this process queue for the one connection that writes; other processes are
    /// waited for as long as `busy_timeout`.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.write_of(TransactionSize::Large, |_| (), work)
            .into_result()
    }

    /// The same for what can be derived again: it is durable with the next write that is.
    pub(crate) fn maintain<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.write_of(TransactionSize::Maintenance, |_| (), work)
            .into_result()
    }

    /// The same for work of this size: small work shares its commit with what other threads
    /// write at the moment (see [`group_commit`](super::group_commit)), and each gets its own result.
    ///
    /// `at_commit` runs at the end of a transaction in the one thread that commits it; see
    /// [`WriteOutcome`] for what it gets.
    pub(crate) fn write_of<T, A>(
        &self,
        size: TransactionSize,
        at_commit: impl Fn(&Connection) -> A,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> WriteOutcome<T, A> {
        if self.is_read_only() {
            let path = self.path.clone();
            return WriteOutcome::uncommitted(Ok(Err(Error::ReadOnly { path })));
        }
        let mut done = self
            .writer
            .run(size, || self.connect_to_write(), at_commit, work);
        done.work = done.work.map(|result| result.map_err(|e| self.explain(e)));
        done
    }

    /// The connection that writes: an idle one, with the writer's share of the cache.
    fn connect_to_write(&self) -> Result<Connection> {
        let connection = match self.take_idle_connection() {
            Some(c) => c,
            None => self.connect()?,
        };
        self.readers.fetch_sub(1, Ordering::Relaxed);
        set_cache(&connection, writer_share(self.settings.memory_budget))?;
        open::prepare_to_write(&connection, &self.settings)?;
        // The lock is waited for when a transaction begins; inside of one there is nobody else.
        connection.busy_timeout(Duration::ZERO)?;
        Ok(connection)
    }

    /// What the page caches may use.
    pub(crate) fn memory(&self) -> Memory {
        let budget = self.settings.memory_budget;
        let readers = self.readers.load(Ordering::Relaxed);
        let writers = usize::from(self.writer.has_connection());
        let kept = readers.min(KEPT_CONNECTIONS);
        Memory {
            budget,
            bound: writers * writer_share(budget).max(LEAST_CACHE)
                + kept * reader_share(budget).max(LEAST_CACHE)
                + (readers - kept) * LEAST_CACHE,
            connections: readers + writers,
        }
    }

    /// Closes all connections. The last one of all processes folds the WAL back into the file.
    pub(crate) fn close(self) -> Result<()> {
        let idle = std::mem::take(&mut *lock(&self.idle));
        let writer = self.writer.take_connection();
        for connection in idle.into_iter().chain(writer) {
            connection
                .close()
                .map_err(|(_, e)| self.explain(Error::Sqlite(e)))?;
        }
        Ok(())
    }
}

/// Runs `work` in one read transaction on `connection`.
pub(crate) fn read_transaction<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let result = work(connection);
    let _ = connection.prepare_cached("ROLLBACK")?.execute([]);
    result
}

/// Runs `work` between BEGIN IMMEDIATE and COMMIT on `connection`.
pub(super) fn transact<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    /// Rolls back also when `work` panics.
    struct RollBack<'c>(&'c Connection);
    impl Drop for RollBack<'_> {
        fn drop(&mut self) {
            if !self.0.is_autocommit() {
                let _ = self.0.execute_batch("ROLLBACK");
            }
        }
    }
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let open = RollBack(connection);
    let value = work(connection)?;
    connection.prepare_cached("COMMIT")?.execute([])?;
    drop(open);
    Ok(value)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while the lock was held left no half-made state: transactions roll back, and a
    // connection is either in the list or not.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bounds a connection's page cache.
pub(super) fn set_cache(connection: &Connection, bytes: usize) -> Result<()> {
    connection.pragma_update(
        None,
        "cache_size",
        -((bytes.max(LEAST_CACHE) / 1024) as i64),
    )?;
    Ok(())
}

/// A connection on loan; it goes back when dropped.
pub(crate) struct PooledConnection<'e> {
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
