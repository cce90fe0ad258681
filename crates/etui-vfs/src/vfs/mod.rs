//! The VFS `etui`: SQLite's WAL mode over a redo log.
//!
//! ```text
//! SQLite  ->  vfs_methods: the VFS
//!               |
//!         connection: a database, a journal or a WAL that one connection has open
//!               |
//!         database: shared by the connections of this process; locks, wal_index
//!               |
//!         attach, session, commit, idle_checkpoint, delta_pages  ->  redo/, wal_image
//! ```

mod append_in_place;
mod attach;
mod buffered_file;
mod commit;
mod connection;
mod database;
mod database_registry;
mod delta_pages;
mod idle_checkpoint;
mod journal;
mod locks;
mod parameters;
mod session;
mod vfs_methods;
mod wal_file;
mod wal_index;

use std::cell::RefCell;
use std::ffi::CString;
use std::os::raw::c_int;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use etui_vfs_base::base_vfs::BaseVfs;
use etui_vfs_base::vfs::{Above, checked_name};

use crate::Error;
use crate::counters::{AtomicCounters, Counters};
use crate::device::{Access, Platform};
use crate::mutation::BrokenRule;
#[cfg(feature = "mutations")]
use crate::mutation::Mutation;
use crate::redo::log::LogSizes;
use crate::system_platform::SystemPlatform;
use buffered_file::BufferOptions;
use database::Database;
use database_registry::DatabaseRegistry;

/// Whether commits go to the redo log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedoLogUse {
    /// They go to SQLite's own WAL, for many processes at once, by `etui-vfs-base`; the log of a killed
    /// process is replayed when the database is opened.
    Never,
    /// As long as the database is open: other processes are refused.
    Always,
}

/// The options of a VFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether commits go to the redo log. If never, the other options have no effect.
    pub redo_log: RedoLogUse,
    /// The resting size of the redo log. It is written once and then reused; a log that an epoch or
    /// a record outgrew returns to it.
    pub log_size: u64,
    /// The step in which the redo log grows beyond its resting size.
    pub growth_step: u64,
    /// The memory for the pages of a database's volatile WAL; further pages go to an unnamed file.
    pub wal_memory: usize,
    /// A commit with at least this many bytes of new pages writes them directly to the database,
    /// flushed before its record, instead of to the log. `usize::MAX`: never.
    pub append_in_place: usize,
    /// The buffer for the pages of a checkpoint, which are then written in few writes. 0: each by
    /// itself.
    pub gather: usize,
    /// The buffer for deferred writes of a rollback journal and of its database, sorted and merged.
    /// 0: each by itself.
    pub write_back: usize,
    /// The size of the read-ahead buffer of a database, in bytes; 0: none. It should hold at least
    /// four pages. A page that does not fit is read past it.
    pub read_buffer: usize,
    /// The step in which the database file grows while it is open. 0: as it is written.
    pub database_step: u64,
    /// Rollback journals that persist, or are truncated, return to 16 pages (at least 64 KiB, at
    /// most 512 KiB) at the end of their transaction.
    pub journal_rests: bool,
    /// The time without a commit after which an open database is checkpointed and becomes an
    /// ordinary one: its program may be killed and never restarted. `None`: only when it is closed.
    pub idle: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            redo_log: RedoLogUse::Always,
            log_size: 4 << 20,
            // Most of a step is written in vain: the next checkpoint releases it.
            growth_step: 128 << 10,
            wal_memory: 2 << 20,
            append_in_place: 1 << 20,
            gather: 248 << 10,
            write_back: 0,
            read_buffer: 0,
            database_step: 0,
            journal_rests: false,
            idle: Some(Duration::from_secs(5)),
        }
    }
}

impl Options {
    fn buffer_options(&self) -> BufferOptions {
        BufferOptions {
            read: self.read_buffer,
            step: self.database_step,
            extends_once: self.write_back > 0,
        }
    }

    fn log_sizes(&self) -> LogSizes {
        LogSizes {
            resting: self.log_size,
            step: self.growth_step,
        }
    }
}

/// Receives each commit's record, for a program that keeps records elsewhere, too.
pub trait CommitObserver: Send + Sync + std::fmt::Debug {
    /// Receives the record of a commit: header and payload, as [`etui_redo::record`] describes them, which
    /// [`etui_redo::recovery::recover`] applies. It is called once for each commit of the database, in
    /// order, in the thread that commits, before SQLite reports the commit as complete; with
    /// `synchronous = FULL` the record is durable here. Records apply to the pages of the file as it was
    /// before it was opened. A commit with another journal mode than WAL has no record. It must not use a
    /// connection of this database. The commit of a process that was killed before it could report it may
    /// be in the log, and is then recovered without a report: after a kill, compare the pages.
    ///
    /// An error means that the record is in the log, and could not be read back: all pages have to be
    /// copied again.
    fn committed(&self, database: &Path, record: std::io::Result<&[u8]>);
}

/// State shared by all files of one VFS; never freed.
#[derive(Debug)]
#[repr(C)]
struct VfsState {
    /// The first, for [`Above`].
    host: BaseVfs,
    platform: Arc<dyn Platform>,
    options: Options,
    counting: Arc<AtomicCounters>,
    registry: DatabaseRegistry,
    broken: BrokenRule,
    /// The process that has a thread for idle checkpoints: its fork count, plus one.
    watching: AtomicU64,
    observer: OnceLock<Arc<dyn CommitObserver>>,
}

// SAFETY: its memory begins with the VFS below.
unsafe impl Above for VfsState {}

impl VfsState {
    /// Returns an identifier for a new log.
    fn log_lineage(&self) -> [u8; 16] {
        let mut lineage = [0; 16];
        let flags = rustix::rand::GetRandomFlags::empty();
        if rustix::rand::getrandom(&mut lineage[..], flags) != Ok(16) {
            // A kernel without randomness: time and process differ between logs as well.
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let now = now.map_or(0, |now| now.as_nanos() as u64);
            lineage[..8].copy_from_slice(&now.to_le_bytes());
            lineage[8..].copy_from_slice(&u64::from(std::process::id()).to_le_bytes());
        }
        lineage
    }
}

/// A registered VFS. It stays registered until the process ends.
#[derive(Debug, Clone)]
pub struct Vfs {
    name: String,
    shared: &'static VfsState,
}

impl Vfs {
    /// Returns the name to open databases with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes it the default VFS for connections that name none.
    ///
    /// # Errors
    ///
    /// SQLite refused.
    pub fn make_default(&self) -> Result<(), Error> {
        let name = CString::new(self.name.as_str());
        let name = name.map_err(|_| Error::Usage("a name with a zero byte".to_owned()))?;
        BaseVfs::make_default(&name)
    }

    /// Checkpoints the open databases that nobody reads or writes, which makes them ordinary ones,
    /// without waiting for [`Options::idle`]. A database that cannot be checkpointed is unchanged.
    pub fn checkpoint_idle(&self) {
        self.shared.checkpoint_idle(Duration::ZERO);
    }

    /// Reports each commit from now on; call it before a database is opened. Returns false if there is an
    /// observer already. [`Options::append_in_place`] has no effect then: records have all pages.
    pub fn observe(&self, observer: Arc<dyn CommitObserver>) -> bool {
        self.shared.observer.set(observer).is_ok()
    }

    /// Returns the statistics of all databases opened with it.
    pub fn counters(&self) -> Counters {
        self.shared.counting.now()
    }
}

/// Registers the VFS. Databases opened with it that are in WAL mode commit by its redo log; other
/// journal modes work as usual.
///
/// # Errors
///
/// The name is in use, an option is invalid, or this SQLite is too old.
pub fn register(name: &str, options: Options) -> Result<Vfs, Error> {
    let host = BaseVfs::find()?;
    let platform = Arc::new(SystemPlatform::new(host));
    register_on(name, options, host, platform, BrokenRule::default())
}

/// Registers the VFS above the one named `base` instead of `unix`: databases, journals and
/// temporary files are opened through it. The redo log is not.
///
/// # Errors
///
/// As for [`register`]; or there is no VFS `base`.
#[doc(hidden)]
pub fn register_above(name: &str, base: &str, options: Options) -> Result<Vfs, Error> {
    let base = CString::new(base)
        .map_err(|_| Error::Usage(format!("{base:?} is no valid name of a VFS")))?;
    let host = BaseVfs::find_named(&base)?;
    let platform = Arc::new(SystemPlatform::new(host));
    register_on(name, options, host, platform, BrokenRule::default())
}

/// Registers the VFS over other files than the system's.
///
/// # Errors
///
/// As for [`register`].
#[doc(hidden)]
pub fn register_with(
    name: &str,
    options: Options,
    platform: Arc<dyn Platform>,
) -> Result<Vfs, Error> {
    register_on(
        name,
        options,
        BaseVfs::find()?,
        platform,
        BrokenRule::default(),
    )
}

/// Registers the VFS with a violated rule.
///
/// # Errors
///
/// As for [`register`].
#[doc(hidden)]
#[cfg(feature = "mutations")]
pub fn register_broken(
    name: &str,
    options: Options,
    platform: Arc<dyn Platform>,
    mutation: Option<Mutation>,
) -> Result<Vfs, Error> {
    if mutation == Some(Mutation::ForkKeepsLocks) {
        etui_vfs_base::fork::keep_locks();
    }
    register_on(
        name,
        options,
        BaseVfs::find()?,
        platform,
        BrokenRule::with(mutation),
    )
}

fn register_on(
    name: &str,
    options: Options,
    host: BaseVfs,
    platform: Arc<dyn Platform>,
    broken: BrokenRule,
) -> Result<Vfs, Error> {
    let c_name = checked_name(name)?;
    options.check()?;
    etui_vfs_base::fork::watch();
    let shared: &'static VfsState = Box::leak(Box::new(VfsState {
        host,
        platform,
        options,
        counting: Arc::default(),
        registry: DatabaseRegistry::default(),
        broken,
        watching: AtomicU64::new(0),
        observer: OnceLock::new(),
    }));
    vfs_methods::register(c_name, shared)?;
    let name = name.to_owned();
    Ok(Vfs { name, shared })
}

/// The result of [`recover`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// Transactions in the log.
    pub records: u64,
    /// Pages written to the database.
    pub pages: u64,
}

/// Recovers a database that was not closed cleanly: replays its redo log and makes it an ordinary
/// one, which needs neither the log nor this VFS. An ordinary database is unchanged.
///
/// # Errors
///
/// Another process has it open, or the log is missing, damaged or another database's. Nothing is
/// changed then.
pub fn recover(path: &Path) -> Result<Recovered, Error> {
    // One for all calls: the shared state of databases is never freed.
    static SHARED: OnceLock<VfsState> = OnceLock::new();
    let host = BaseVfs::find()?;
    recover_by(
        SHARED.get_or_init(|| VfsState {
            host,
            platform: Arc::new(SystemPlatform::new(host)),
            options: Options::default(),
            counting: Arc::default(),
            registry: DatabaseRegistry::default(),
            broken: BrokenRule::default(),
            watching: AtomicU64::new(0),
            observer: OnceLock::new(),
        }),
        path,
    )
}

/// Recovers a database that no connection of this VFS has open.
fn recover_by(shared: &'static VfsState, path: &Path) -> Result<Recovered, Error> {
    let access = Access {
        write: true,
        create: false,
    };
    let opened = Database::open(shared, path, access, shared.options);
    let database = opened.map_err(|error| Error::io("opening the database", error))?;
    let replayed = database.make_ordinary().map_err(|code| Error::Refused {
        code,
        reason: last_refusal().unwrap_or_default(),
    })?;
    Ok(Recovered {
        records: replayed.records,
        pages: replayed.pages,
    })
}

thread_local! {
    static REFUSAL: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Records the reason of a refusal, and writes it to SQLite's log: once, however often SQLite
/// retries.
fn record_refusal(code: c_int, message: &str) {
    let before = REFUSAL.try_with(|refusal| refusal.replace(Some(message.to_owned())));
    if before.ok().flatten().as_deref() != Some(message) {
        BaseVfs::log(code, message);
    }
}

/// Returns the reason of the last refusal in this thread: SQLite itself reports only a code.
pub fn last_refusal() -> Option<String> {
    let refusal = REFUSAL.try_with(|refusal| refusal.borrow().clone());
    refusal.ok().flatten()
}
