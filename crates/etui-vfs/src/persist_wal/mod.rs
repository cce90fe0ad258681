//! A VFS above SQLite's `unix` that keeps the WAL when the last connection closes a database, so
//! that the first commit of the next session flushes once instead of three times.
//!
//! When the last connection closes a database, SQLite deletes the WAL. The first commit of the next
//! session flushes the header of a new WAL, its name in the directory, and its contents.
//! `SQLITE_FCNTL_PERSIST_WAL` keeps the file, but its header would still need the flush. This VFS
//! leaves an *idle WAL* instead: a file without frames whose header is known to be durable. Its
//! format, and why one flush is enough then, are documented in `idle_wal.rs`.
//!
//! Only databases and WALs are changed, and of their methods only those that the state of the WAL
//! depends on; all others are the base VFS's own:
//!
//! ```text
//! database  xLock xUnlock xShmLock   detect the close of the last connection
//!           xFileControl             PERSIST_WAL: make the WAL idle, keep it
//!           xShmUnmap                delete the shared memory then
//!           xFetch                   the first pages are read, not mapped
//! WAL       xOpen                    an idle WAL: no flush of the directory
//!           xWrite xSync             a header over an idle one: no flush of its own
//!           xTruncate                to 0: make the WAL idle
//! ```
//!
//! With `locking_mode=EXCLUSIVE`, and when a database leaves WAL mode, SQLite deletes the WAL as
//! usual. A close after writes takes one more flush.
//!
//! ```
//! use etui_vfs::persist_wal::{PersistWalOptions, PersistWalVfs, is_idle_wal};
//! use rusqlite::{Connection, OpenFlags};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let vfs = PersistWalVfs::register("persisting", PersistWalOptions::with_max_bytes(1 << 20))?;
//! let flags = OpenFlags::default();
//! let db = Connection::open_with_flags_and_vfs(dir.path().join("db"), flags, vfs.name())?;
//! db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(x)")?;
//! drop(db);
//! assert!(is_idle_wal(&dir.path().join("db-wal")));
//! # Ok(())
//! # }
//! ```

mod idle_wal;
mod inherited;
mod layer;

use std::ffi::CString;

use crate::Error;

pub use idle_wal::{PersistWalOptions, is_idle_wal};

/// A registered VFS that keeps idle WALs. It stays registered until the process ends.
#[derive(Debug, Clone)]
pub struct PersistWalVfs {
    name: String,
}

impl PersistWalVfs {
    /// Registers the VFS above `unix`.
    ///
    /// # Errors
    ///
    /// The name is empty, contains a zero byte or is in use.
    pub fn register(name: &str, options: PersistWalOptions) -> Result<Self, Error> {
        Self::register_above(name, "unix", options)
    }

    /// Registers the VFS above the one named `base`, whose methods must not depend on which VFS
    /// object they are called with.
    ///
    /// # Errors
    ///
    /// The name is invalid or in use, or there is no VFS `base`.
    #[doc(hidden)]
    pub fn register_above(
        name: &str,
        base: &str,
        options: PersistWalOptions,
    ) -> Result<Self, Error> {
        let invalid = |name: &str| {
            Error::Usage(format!(
                "{name:?} is no valid name of a VFS: it is empty or contains a zero byte"
            ))
        };
        let c_name = CString::new(name).ok().filter(|name| !name.is_empty());
        let c_name = c_name.ok_or_else(|| invalid(name))?;
        let c_base = CString::new(base).map_err(|_| invalid(base))?;
        layer::register(c_name, &c_base, options)?;
        let name = name.to_owned();
        Ok(Self { name })
    }

    /// Returns the name to open databases with.
    pub fn name(&self) -> &str {
        &self.name
    }
}
