//! The redo log of `etui-vfs` under a store ([`Vfs::RedoLog`](super::Vfs::RedoLog)).

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use etui_vfs::RedoLogUse;
use rusqlite::{Connection, ErrorCode};

use crate::error::{Error, Result};

/// The name of the VFS in this process.
const NAME: &str = "etui";

static VFS: OnceLock<std::result::Result<etui_vfs::Vfs, String>> = OnceLock::new();

/// A commit with this many bytes of new pages writes them directly to the database: a batch of a scan
/// has 60 thumbnails, some 700 kB, which would be written twice otherwise (`media-sync`). It costs one
/// flush more.
const APPEND_IN_PLACE: usize = 256 << 10;

/// Uses this VFS for the stores with [`Vfs::RedoLog`](super::Vfs::RedoLog) in this process: with other
/// options, or with an observer of commits, which receives the record of each. Returns false if a store has
/// used one already.
pub fn use_vfs(vfs: etui_vfs::Vfs) -> bool {
    VFS.set(Ok(vfs)).is_ok()
}

/// Returns the VFS, registered at the first call with the options of a store.
pub(crate) fn registered_vfs() -> Result<&'static etui_vfs::Vfs> {
    let vfs = VFS.get_or_init(|| {
        let options = etui_vfs::Options {
            redo_log: RedoLogUse::Always,
            append_in_place: APPEND_IN_PLACE,
            ..etui_vfs::Options::default()
        };
        etui_vfs::register(NAME, options).map_err(|e| e.to_string())
    });
    vfs.as_ref().map_err(|reason| Error::NoVfs(reason.clone()))
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

/// Returns the reason for which the VFS refused to open the store, if it did.
pub(super) fn refusal_reason(path: &Path) -> Option<Error> {
    let reason = etui_vfs::last_refusal()?;
    let full = path.canonicalize().ok()?;
    let reason = reason.strip_prefix(&format!("{}: ", full.display()))?;
    Some(Error::Refused {
        path: path.to_owned(),
        reason: reason.to_owned(),
    })
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

/// Recovers any SQLite database that was not closed cleanly by a program with the redo log: replays
/// it, so that plain SQLite opens the file. No durable commit is lost. A closed database is
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
