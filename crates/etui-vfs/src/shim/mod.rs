//! A VFS that stands above SQLite's own `unix` VFS: it counts what passes ([`Counters`]), keeps
//! a log of it ([`Event`]), and can cure what the studies of storage found ([`ShimOptions`]).
//!
//! ```text
//! SQLite -> shim: write buffer, read buffer, growth, kind of sync, kept log, counters -> unix VFS
//! ```
//!
//! Counted is what is asked of the VFS below, so that the effect of a cure shows.
//!
//! ```
//! use etui_vfs::shim::{FileKind, Shim, ShimOptions};
//! use rusqlite::{Connection, OpenFlags};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let shim = Shim::register("counting", ShimOptions::default())?;
//! let flags = OpenFlags::default();
//! let db = Connection::open_with_flags_and_vfs(dir.path().join("db"), flags, shim.name())?;
//! db.execute_batch("CREATE TABLE t(x)")?;
//! assert_eq!(shim.counters().of(FileKind::Journal).deletes, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # What a crash may do
//!
//! The write buffer never changes what a sync promises: everything kept goes out before the
//! real sync, and SQLite syncs the journal before it writes to the database. What lies between
//! two syncs has no order on a disk, with or without a buffer. A killed process does not lose
//! order either: whatever of the journal is kept goes out before anything of its database, and
//! both before SQLite says that a transaction is complete and before a lock is released. The
//! write-ahead log is never kept back, since other connections read it at once.

mod count;
mod descriptor;
mod file;
mod methods;
mod real;
mod rest;
mod vfs;

use std::ffi::CString;
use std::time::Duration;

use crate::Error;

pub use crate::windows::ReadBuffer;
pub use count::{Counters, Event, FileCounters, FileKind, Operation};
pub use rest::{KeptLog, is_at_rest};

/// The call behind a sync.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SyncCall {
    /// The one of the VFS below. Here SQLite is built to call `fdatasync(2)`.
    #[default]
    Fdatasync,
    /// `fsync(2)`, for files and directories.
    Fsync,
}

/// What the shim does besides counting. By default nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShimOptions {
    /// Whether nothing is counted, nor logged: for who wants no more than a cure.
    pub uncounted: bool,
    /// Whether to keep a log of everything; it grows until it is taken.
    pub log: bool,
    /// The call behind a sync.
    pub sync: SyncCall,
    /// The database grows and shrinks in steps of so many bytes. The file may then be longer
    /// than the database in it, as with SQLite's own `SQLITE_FCNTL_CHUNK_SIZE`; but the step is
    /// one change of size, where SQLite's, built as here, writes a byte into every block.
    pub growth_step: Option<u64>,
    /// Writes to the database and to its journal are kept in a buffer of so many bytes each,
    /// and written back sorted, merged and after one change of size: when the file is synced,
    /// a lock is released or the buffer is full.
    pub coalesce: Option<usize>,
    /// Reads of the database are served from a buffer that is read ahead.
    pub buffer: Option<ReadBuffer>,
    /// The write-ahead log stays, at rest, when the last connection closes the database, and the
    /// first commit after that flushes once, where it else flushes the log's header, its name and
    /// then itself. Resting takes one flush more at the close, if anything was written. With
    /// `locking_mode=EXCLUSIVE`, and when the WAL mode is left, the log goes as ever.
    pub keep_log: Option<KeptLog>,
    /// Every sync takes so much longer: it returns this long after the real one did. So a fast
    /// disk stands for a slow one, whose flushes are what programs wait for.
    pub sync_delay: Duration,
}

/// A registered shim. It stays registered for the life of the process, and so does what it
/// counts with.
#[derive(Debug, Clone)]
pub struct Shim {
    name: String,
    shared: &'static vfs::Shared,
}

impl Shim {
    /// Registers a VFS under a name that is not taken. It does not become the default one; see
    /// [`Shim::make_default`].
    ///
    /// [`SyncCall::Fsync`] replaces the unix VFS's `open` and `fstat` by ones that note the
    /// descriptor and are otherwise the same; register it before other threads use SQLite.
    pub fn register(name: &str, options: ShimOptions) -> Result<Self, Error> {
        Self::register_above(name, "unix", options)
    }

    /// The same above another VFS than SQLite's own for files.
    #[doc(hidden)]
    pub fn register_above(name: &str, below: &str, options: ShimOptions) -> Result<Self, Error> {
        let c_name = CString::new(name)
            .ok()
            .filter(|name| !name.is_empty())
            .ok_or_else(|| {
                Error::Usage(format!(
                    "{name:?} cannot be the name of a VFS: no zero bytes"
                ))
            })?;
        let shared = vfs::register(c_name, below, options)?;
        let name = name.to_owned();
        Ok(Self { name, shared })
    }

    /// Has whoever names no VFS open databases with this one from now on, in this process: also
    /// libraries that cannot be told of it.
    pub fn make_default(&self) -> Result<(), Error> {
        vfs::make_default(&self.name)
    }

    /// The name to open databases with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        self.shared.count.counters()
    }

    /// Begins to count anew.
    pub fn reset(&self) {
        self.shared.count.reset();
    }

    /// The log since it was last taken; empty if none is kept.
    pub fn take_log(&self) -> Vec<Event> {
        self.shared.count.take_log()
    }
}
