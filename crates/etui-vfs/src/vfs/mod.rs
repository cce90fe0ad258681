//! The VFS `etui`: SQLite's WAL mode over a redo log.
//!
//! ```text
//! SQLite  ->  entry: the VFS, methods: the files
//!               |
//!         connection: a database, a journal or a WAL that one connection has open
//!               |
//!         database: shared by the connections of this process; locks, index
//!               |
//!         session, commit, settle, fold  ->  redo/, wal_image
//! ```

mod buffered;
mod commit;
mod connection;
mod database;
mod entry;
mod fold;
mod index;
mod journal;
mod locks;
mod methods;
mod parameters;
mod place;
mod registry;
mod session;
mod settle;

use std::cell::RefCell;
use std::ffi::CString;
use std::io;
use std::os::raw::c_int;
use std::path::Path;
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;

use libsqlite3_sys as ffi;

use crate::Error;
use crate::counters::{Counters, Counting};
use crate::device::{Access, Platform};
use crate::host::Host;
use crate::mutation::Broken;
#[cfg(feature = "mutations")]
use crate::mutation::Mutation;
use crate::redo::log::Sizes;
use crate::system::{Answered, System};
use buffered::Tuning;
use database::Database;
use registry::Registry;

/// What a VFS can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The size of the redo log at rest. It is written once and then used again and again; a
    /// log that an epoch or a record outgrew goes back to it.
    pub log_size: u64,
    /// In what steps the redo log grows beyond.
    pub growth_step: u64,
    /// How much memory the pages of a database's volatile WAL may take; beyond it they go to a
    /// file without a name.
    pub wal_memory: usize,
    /// A commit whose new pages are so many bytes or more has them written straight to the
    /// database, flushed before its record, instead of to the log. `usize::MAX`: none has.
    pub append_in_place: usize,
    /// Pages that checkpoints write are kept back up to so many bytes, and written in as few
    /// writes as it takes. 0: each by itself.
    pub gather: usize,
    /// The same of a rollback journal, and of its database, sorted too.
    pub write_back: usize,
    /// The size of the read-ahead buffer of a database, in bytes; 0: none. It should hold at least
    /// four pages. A page that does not fit is read past it.
    pub read_buffer: usize,
    /// In what steps the database's file grows while it is open. 0: as it is written.
    pub database_step: u64,
    /// Whether rollback journals that persist, or are cut, go back to 16 pages (at least 64 KiB,
    /// at most 512 KiB) when their transaction is over.
    pub journal_rests: bool,
    /// After so long without a commit a database is made an ordinary one, though it stays open:
    /// its program may be killed and never be started again. `None`: when it is closed.
    pub idle: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            log_size: 4 << 20,
            // Most of a step is written for nothing: the next checkpoint gives it back.
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
    fn tuning(&self) -> Tuning {
        Tuning {
            read: self.read_buffer,
            step: self.database_step,
            extends_once: self.write_back > 0,
        }
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            resting: self.log_size,
            step: self.growth_step,
        }
    }
}

/// What all files of one VFS share; never freed.
#[derive(Debug)]
struct Shared {
    host: Host,
    platform: Arc<dyn Platform>,
    options: Options,
    counting: Arc<Counting>,
    registry: Registry,
    broken: Broken,
    /// Whether a thread looks for idle databases.
    watching: Once,
}

impl Shared {
    /// What tells the log that begins now from all others.
    fn lineage(&self) -> [u8; 16] {
        let mut lineage = [0; 16];
        let flags = rustix::rand::GetRandomFlags::empty();
        if rustix::rand::getrandom(&mut lineage[..], flags) != Ok(16) {
            // A kernel without randomness: the time and the process differ between logs as well.
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let now = now.map_or(0, |now| now.as_nanos() as u64);
            lineage[..8].copy_from_slice(&now.to_le_bytes());
            lineage[8..].copy_from_slice(&u64::from(std::process::id()).to_le_bytes());
        }
        lineage
    }
}

/// A registered VFS. It stays registered for the life of the process.
#[derive(Debug, Clone)]
pub struct Vfs {
    name: String,
    shared: &'static Shared,
}

impl Vfs {
    /// The name to open databases with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Has SQLite use it for databases that are opened without the name of a VFS.
    ///
    /// # Errors
    ///
    /// SQLite refused it.
    pub fn make_default(&self) -> Result<(), Error> {
        let name = CString::new(self.name.as_str());
        let name = name.map_err(|_| Error::Usage("a name with a zero byte".to_owned()))?;
        Host::make_default(&name)
    }

    /// Makes the open databases that nobody reads or writes at the moment ordinary ones, as they
    /// become by themselves after an idle moment. What cannot be done stays as it is.
    pub fn settle(&self) {
        self.shared.settle(Duration::ZERO);
    }

    /// What was done so far, by all databases opened with it.
    pub fn counters(&self) -> Counters {
        self.shared.counting.now()
    }
}

/// Registers the VFS under a name that is not taken. Databases that are opened with it and are
/// in WAL mode commit by its redo log; other journal modes are as they always are.
///
/// # Errors
///
/// The name is taken, an option does not fit, or this SQLite is too old.
pub fn register(name: &str, options: Options) -> Result<Vfs, Error> {
    let host = Host::find()?;
    let platform = Arc::new(System::new(host));
    register_on(name, options, host, platform, Broken::default())
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
    let host = Host::find_named(&base)?;
    let platform = Arc::new(System::new(host));
    register_on(name, options, host, platform, Broken::default())
}

/// The same over other files than the system's.
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
    register_on(name, options, Host::find()?, platform, Broken::default())
}

/// The same with a rule broken.
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
    register_on(
        name,
        options,
        Host::find()?,
        platform,
        Broken::with(mutation),
    )
}

fn register_on(
    name: &str,
    options: Options,
    host: Host,
    platform: Arc<dyn Platform>,
    broken: Broken,
) -> Result<Vfs, Error> {
    let c_name = CString::new(name).ok().filter(|name| !name.is_empty());
    let c_name = c_name.ok_or_else(|| {
        Error::Usage(format!(
            "{name:?} cannot be the name of a VFS: it needs characters, but no zero bytes"
        ))
    })?;
    options.check()?;
    if Host::is_taken(&c_name) {
        return Err(Error::Usage(format!(
            "there is a VFS named {name:?} already"
        )));
    }
    crate::fork::watch();
    let shared: &'static Shared = Box::leak(Box::new(Shared {
        host,
        platform,
        options,
        counting: Arc::default(),
        registry: Registry::default(),
        broken,
        watching: Once::new(),
    }));
    entry::register(c_name, shared)?;
    let name = name.to_owned();
    Ok(Vfs { name, shared })
}

/// What [`recover`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// Transactions that were in the log.
    pub records: u64,
    /// Pages that were written to the database.
    pub pages: u64,
}

/// Makes a database that a program left with a redo log an ordinary one again, which needs
/// neither the log nor this VFS. One that is ordinary already stays as it is.
///
/// # Errors
///
/// Another process has it open, or the log is missing, damaged or another database's: nothing
/// is changed then.
pub fn recover(path: &Path) -> Result<Recovered, Error> {
    // Of all calls together: what databases share is not freed.
    static SHARED: OnceLock<Shared> = OnceLock::new();
    let host = Host::find()?;
    let shared = SHARED.get_or_init(|| Shared {
        host,
        platform: Arc::new(System::new(host)),
        options: Options::default(),
        counting: Arc::default(),
        registry: Registry::default(),
        broken: Broken::default(),
        watching: Once::new(),
    });
    let access = Access {
        write: true,
        create: false,
    };
    let opened = Database::open(shared, path, access, shared.options);
    let database = opened.map_err(|error| Error::io("opening the database", error))?;
    let replayed = database.make_plain().map_err(|code| Error::Refused {
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

/// Notes why something is refused, and tells SQLite's log: once, while SQLite tries again.
fn refuse(code: c_int, message: &str) {
    let before = REFUSAL.try_with(|refusal| refusal.replace(Some(message.to_owned())));
    if before.ok().flatten().as_deref() != Some(message) {
        Host::log(code, message);
    }
}

/// Why a VFS of this crate last refused something in this thread: SQLite itself tells no more
/// than a code.
pub fn last_refusal() -> Option<String> {
    let refusal = REFUSAL.try_with(|refusal| refusal.borrow().clone());
    refusal.ok().flatten()
}

/// What SQLite is told when a file cannot be opened.
fn open_code(error: &io::Error) -> c_int {
    match error.kind() {
        io::ErrorKind::StorageFull => ffi::SQLITE_FULL,
        io::ErrorKind::OutOfMemory => ffi::SQLITE_NOMEM,
        _ => {
            let answered = error.get_ref().and_then(|error| error.downcast_ref());
            answered.map_or(ffi::SQLITE_CANTOPEN, |Answered(code)| *code)
        }
    }
}
