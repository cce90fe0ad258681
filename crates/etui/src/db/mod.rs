//! The database under a store: connections, write transactions, schema and metadata.
//!
//! [`Db`] is the only way to the file for the modules above. They read with
//! [`ConnectionPool::read`], write with [`Db::write`], and keep their caches in [`Db::cache`]. The VFS, the journal mode and the
//! pragmas of a connection are known here alone.
//!
//! A store uses SQLite's WAL mode ([`vfs`]). `synchronous=FULL`
//! makes a commit durable when it returns; `NORMAL` leaves the last commits to the operating
//! system and never corrupts (<https://sqlite.org/wal.html>, "Performance Considerations").

mod cache;
mod fixed_state;
mod group_commit;
#[cfg(feature = "media")]
mod large_commits;
pub(crate) mod metadata;
mod open;
mod paths;
mod pool;
pub(crate) mod random;
#[cfg(feature = "redo-log")]
pub(crate) mod redo_log;
pub(crate) mod schema;
pub(crate) mod sidecar;
pub(crate) mod sort;
pub(crate) mod vfs;
mod wake;
mod wal;
mod work;

use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use etui_text::collator::Collator;
use etui_text::phone::Region;
use rusqlite::Connection;

use crate::error::{Error, Result};
use cache::CacheList;
use metadata::StoreMetadata;
use pool::ConnectionPool;
use wake::CommitSignal;
use work::{Work, run_untyped};

pub(crate) use wake::Waker;
#[cfg(test)]
pub(crate) use wake::open_watch_file;

pub(crate) use fixed_state::FixedState;
pub(crate) use group_commit::TransactionSize;
pub use group_commit::{TellWaiting, Waiting};
#[cfg(feature = "media")]
pub(crate) use large_commits::LargeCommits;
pub(crate) use open::{OpenMode, refuse_stray_log};
pub(crate) use paths::{parent_of, sync_directory, with_suffix};
pub use pool::{Durability, Memory};
pub(crate) use pool::{PoolOptions, lock, read_transaction};
#[cfg(feature = "redo-log")]
pub use redo_log::{Recovered, recover, use_vfs};
pub use vfs::{Vfs, use_base};

/// Maintenance that follows a commit, outside its transaction.
pub(crate) type Maintenance = Box<dyn FnOnce(&Db) -> Result<()>>;

/// The work of higher layers around write transactions.
pub(crate) trait WriteHooks: Send + Sync {
    /// Runs before the first ordered read or write: reindexes a store that another version of
    /// the library indexed.
    fn ensure_indexed(&self, db: &Db) -> Result<()>;

    /// Returns the maintenance that is due after this commit. Runs at the end of the transaction.
    fn due_maintenance(&self, conn: &Connection) -> Result<Option<Maintenance>>;
}

/// The database of one store.
pub struct Db {
    pool: ConnectionPool,
    metadata: StoreMetadata,
    collator: Collator,
    hooks: Box<dyn WriteHooks>,
    signal: CommitSignal,
    /// The inode was compared in a committed transaction.
    is_inode_checked: AtomicBool,
    caches: CacheList,
}

/// The settings of the store that indexing depends on.
#[derive(Clone, Copy)]
pub struct IndexContext<'o> {
    /// The collator of its lists.
    pub(crate) order: &'o Collator,
    /// The region that completes national phone numbers.
    pub(crate) region: Option<Region>,
}

/// The connections. [`Db::write`] and [`Db::write_of`] take the place of the pool's transactions,
/// which run no hooks.
impl Deref for Db {
    type Target = ConnectionPool;

    fn deref(&self) -> &ConnectionPool {
        &self.pool
    }
}

impl Db {
    /// Opens the database at `path`, creating or migrating it as `mode` allows. `initialize`
    /// writes the first contents, in the transaction that creates the schema.
    pub(crate) fn open(
        path: &Path,
        mode: OpenMode,
        options: PoolOptions,
        hooks: Box<dyn WriteHooks>,
        initialize: impl Fn(&Connection) -> Result<()>,
    ) -> Result<Self> {
        let pool = ConnectionPool::open(path, mode, options, initialize)?;
        let metadata = pool.read(metadata::read)?;
        // `und` is the root locale of CLDR.
        let collator = Collator::new(metadata.locale.as_deref().unwrap_or("und"))?;
        Ok(Self {
            pool,
            metadata,
            collator,
            hooks,
            signal: CommitSignal::new(path),
            is_inode_checked: AtomicBool::new(false),
            caches: CacheList::default(),
        })
    }

    /// Closes all connections, also for other handles. The last process to close the file checkpoints the WAL.
    pub(crate) fn close(&self) -> Result<()> {
        self.pool.close()
    }

    /// Returns the metadata as of opening.
    pub(crate) fn metadata(&self) -> &StoreMetadata {
        &self.metadata
    }

    /// Returns the collator of the store's lists.
    pub(crate) fn order(&self) -> &Collator {
        &self.collator
    }

    /// Returns the region that completes national phone numbers.
    pub(crate) fn region(&self) -> Option<Region> {
        self.metadata.region.as_deref().and_then(Region::parse)
    }

    /// Returns the settings that indexing depends on.
    pub(crate) fn index_context(&self) -> IndexContext<'_> {
        IndexContext {
            order: self.order(),
            region: self.region(),
        }
    }

    /// Returns the cache of type `T`, created on first use. The modules above keep their caches
    /// of a store here, one of each type.
    pub(crate) fn cache<T: Default + Send + Sync + 'static>(&self) -> &T {
        self.caches.get()
    }

    /// Returns the signal that commits give to watching processes.
    pub(crate) fn signal(&self) -> &CommitSignal {
        &self.signal
    }

    /// Reindexes the store first if another version of the library indexed it.
    pub(crate) fn ensure_indexed(&self) -> Result<()> {
        self.hooks.ensure_indexed(self)
    }

    /// Runs `work` in a write transaction that is large or of unknown size; see [`Db::write_of`].
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.write_of(TransactionSize::Large, work)
    }

    /// Runs `work` in a write transaction: all of it is committed, or, on an error, nothing. Small
    /// transactions of several threads share a commit ([`group_commit`]).
    ///
    /// The store is reindexed first if necessary, and a copied file becomes a new incarnation. Due
    /// maintenance runs after the commit, in the one thread of the group that committed.
    pub(crate) fn write_of<T>(
        &self,
        size: TransactionSize,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        run_untyped(work, |work| self.write_untyped(size, work))
    }

    fn write_untyped(&self, size: TransactionSize, work: Work<'_>) -> Result<()> {
        self.ensure_indexed()?;
        let mut done = self.pool.write_of(
            size,
            &|conn| self.hooks.due_maintenance(conn),
            &mut |conn| {
                self.start_incarnation_if_copied(conn)?;
                self.check_settings(conn)?;
                work(conn)
            },
        );
        // Before the maintenance, for which watchers need not wait.
        self.after_commit(done.follows_up);
        // The commit stands. Maintenance that fails (a full disk) runs after the next commit.
        let due = done.at_commit.take().transpose().map(Option::flatten);
        if let Err(error) = due.and_then(|due| due.map_or(Ok(()), |due| due(self))) {
            tracing::warn!(%error, "maintenance failed");
        }
        done.into_result()
    }

    /// One thread of each group has `committed`, after the others were woken.
    fn after_commit(&self, committed: bool) {
        if committed {
            self.is_inode_checked.store(true, Ordering::Relaxed);
            self.signal.send();
        }
    }

    /// Refuses to write with settings that another process has changed: keys derived with both would
    /// be in one index.
    fn check_settings(&self, conn: &Connection) -> Result<()> {
        match metadata::are_current(conn, &self.metadata)? {
            true => Ok(()),
            false => Err(Error::SettingsChanged(self.path().to_owned())),
        }
    }

    /// Starts a new incarnation in a copied file: its sequence numbers must not be taken for the
    /// original's. A copy is known by its inode.
    fn start_incarnation_if_copied(&self, conn: &Connection) -> Result<()> {
        if self.is_inode_checked.load(Ordering::Relaxed) {
            return Ok(());
        }
        let inode = inode(self.path())?;
        if metadata::get_value::<i64>(conn, metadata::INODE)? != Some(inode) {
            metadata::set(conn, metadata::INODE, inode)?;
            metadata::set(conn, metadata::INCARNATION, random::random_i64()?)?;
        }
        Ok(())
    }
}

/// Returns the inode number of a file.
pub(crate) fn inode(path: &Path) -> Result<i64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path)
        .map(|m| m.ino().cast_signed())
        .map_err(|e| Error::io(path, e))
}
