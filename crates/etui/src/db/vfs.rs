//! [`Vfs`]: the VFS between SQLite and the store's files.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use etui_vfs::RedoLogUse;
use rusqlite::{Connection, ErrorCode};

use super::paths::with_suffix;
use crate::error::{Error, Result};

/// The VFS between SQLite and the store's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Vfs {
    /// SQLite's own WAL: many processes at once.
    System,
    /// etui's redo log (crate `etui-vfs`): a durable save writes the changed bytes and flushes
    /// once. One process at a time can open the store; a second is refused ([`Error::Refused`]).
    Etui,
    /// SQLite's own, and the redo log during bursts of saves: from 32 within 5 s on, while no other
    /// process has the store open. Many processes at once; one that opens the store during a burst
    /// waits for the end of its transactions, within its busy timeout. If the process is killed
    /// during a burst, SQLite without etui's VFS refuses the file until a program with it has opened
    /// the store, or [`recover`](crate::recover) was called; nothing is lost. With
    /// [`Durability::Deferred`](crate::Durability::Deferred) this is [`Vfs::System`].
    #[default]
    Bursts,
}

/// The names of etui's VFS in this process: with the redo log always, during bursts, and never.
const NAME: &str = "etui";
const BURSTS: &str = "etui-bursts";
const NEVER: &str = "etui-never";

static VFS: OnceLock<std::result::Result<etui_vfs::Vfs, String>> = OnceLock::new();

/// A commit with this many bytes of new pages writes them directly to the database: a batch of a scan
/// has 60 thumbnails, some 700 kB, which would be written twice otherwise (`media-sync`). It costs one
/// flush more.
const APPEND_IN_PLACE: usize = 256 << 10;

/// Replaces etui's VFS in this process by that of the crash laboratory; returns false if one is
/// registered already.
#[doc(hidden)]
pub fn use_vfs(vfs: etui_vfs::Vfs) -> bool {
    VFS.set(Ok(vfs)).is_ok()
}

/// Returns etui's VFS, registered at the first call.
pub(crate) fn registered_vfs() -> Result<&'static etui_vfs::Vfs> {
    let vfs = VFS.get_or_init(|| register(NAME, RedoLogUse::Always));
    vfs.as_ref().map_err(|reason| Error::NoVfs(reason.clone()))
}

/// Returns etui's VFS with the redo log during bursts, registered at the first call.
pub(crate) fn registered_bursts() -> Result<&'static etui_vfs::Vfs> {
    static VFS: OnceLock<std::result::Result<etui_vfs::Vfs, String>> = OnceLock::new();
    let vfs = VFS.get_or_init(|| register(BURSTS, RedoLogUse::Bursts));
    vfs.as_ref().map_err(|reason| Error::NoVfs(reason.clone()))
}

/// Returns SQLite's own VFS with locks that no other code of the process can release, registered at
/// the first call.
pub(super) fn registered_system() -> Result<&'static etui_vfs::Vfs> {
    static VFS: OnceLock<std::result::Result<etui_vfs::Vfs, String>> = OnceLock::new();
    let vfs = VFS.get_or_init(|| register(NEVER, RedoLogUse::Never));
    vfs.as_ref().map_err(|reason| Error::NoVfs(reason.clone()))
}

/// Registers etui's VFS with the options of a store.
fn register(name: &str, redo_log: RedoLogUse) -> std::result::Result<etui_vfs::Vfs, String> {
    let options = etui_vfs::Options {
        redo_log,
        append_in_place: APPEND_IN_PLACE,
        ..etui_vfs::Options::default()
    };
    etui_vfs::register(name, options).map_err(|e| e.to_string())
}

/// Has others let in before a long read on this connection: a read transaction that begins while
/// [`Vfs::Bursts`] has the store alone would keep them out until its end. Without etui's VFS nothing
/// happens.
pub(crate) fn share_for_long_read(connection: &Connection) -> Result<()> {
    // Other VFS have no such pragma, which SQLite ignores then.
    Ok(connection.execute_batch("PRAGMA etui_share")?)
}

/// How long to wait for a process that has the store open: it has it until it closes it.
const PATIENCE: Duration = Duration::from_millis(250);

/// Refuses a store that another process has open, without waiting for a lock.
pub(super) fn refuse_held(connection: &Connection, path: &Path, most: Duration) -> Result<()> {
    connection.busy_timeout(most.min(PATIENCE))?;
    let asked = connection.pragma_query_value(None, "schema_version", |_| Ok(()));
    let busy = |e: rusqlite::Error| e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
    match asked
        .is_err_and(busy)
        .then(|| refusal_reason(path))
        .flatten()
    {
        Some(refused) => Err(refused),
        // Other errors recur at the first read.
        None => Ok(()),
    }
}

/// Returns the reason for which etui's VFS refused to open the store, if it did.
pub(super) fn refusal_reason(path: &Path) -> Option<Error> {
    let reason = etui_vfs::last_refusal()?;
    let full = path.canonicalize().ok()?;
    let reason = reason.strip_prefix(&format!("{}: ", full.display()))?;
    Some(Error::Refused {
        path: path.to_owned(),
        reason: reason.to_owned(),
    })
}

/// Recovers a store that was not closed cleanly (replays its redo log); returns false if there is
/// no such log.
pub(super) fn recover_if_left(path: &Path) -> Result<bool> {
    if !with_suffix(path, "-redo").exists() {
        return Ok(false);
    }
    recover(path).map(|_| true)
}

/// The result of [`recover`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// The number of replayed transactions.
    pub transactions: u64,
    /// The number of database pages that they changed.
    pub pages: u64,
}

/// Recovers any SQLite database that was not closed cleanly by a program with etui's VFS: replays
/// its redo log, so that plain SQLite opens it. No durable commit is lost. A closed database is
/// unchanged.
///
/// # Errors
/// [`Error::Io`] if there is no file; [`Error::Refused`] if a program has it open, or the log is
/// missing, damaged or of another database: nothing is changed then.
pub fn recover(path: impl AsRef<Path>) -> Result<Recovered> {
    let path = path.as_ref();
    if !path.exists() {
        return Err(Error::io(path, rustix::io::Errno::NOENT.into()));
    }
    let recovered = etui_vfs::recover(path).map_err(|e| match e {
        etui_vfs::Error::Io { source, .. } => Error::io(path, source),
        other => {
            let reason = other.to_string();
            let full = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let prefix = format!("{}: ", full.display());
            let reason = reason.strip_prefix(&prefix).unwrap_or(&reason);
            Error::Refused {
                path: path.to_owned(),
                reason: reason.to_owned(),
            }
        }
    })?;
    Ok(Recovered {
        transactions: recovered.records,
        pages: recovered.pages,
    })
}
