//! [`Vfs`]: what stands between SQLite and the store's files.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use etui_vfs::persist_wal::{PersistWalOptions, PersistWalVfs};
use rusqlite::{Connection, ErrorCode};

use super::open::with_suffix;
use crate::error::{Error, Result};

/// What stands between SQLite and the store's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Vfs {
    /// SQLite's own: many processes at once.
    #[default]
    System,
    /// etui's redo log (crate `etui-vfs`): a durable save costs the bytes that it changed and one
    /// flush. For now one process at a time has the store open; a second is refused
    /// ([`Error::Refused`]).
    Etui,
}

/// The name by which SQLite knows etui's VFS in this process.
const NAME: &str = "etui";

static VFS: OnceLock<std::result::Result<etui_vfs::Vfs, String>> = OnceLock::new();

/// Has the stores of this process use another VFS than etui's over the system's files: the crash
/// laboratory's. `false`: they use one already.
#[doc(hidden)]
pub fn use_vfs(vfs: etui_vfs::Vfs) -> bool {
    VFS.set(Ok(vfs)).is_ok()
}

/// etui's VFS, registered when it is first asked for.
pub(crate) fn registered_vfs() -> Result<&'static etui_vfs::Vfs> {
    let vfs = VFS.get_or_init(|| {
        let options = etui_vfs::Options::default();
        etui_vfs::register(NAME, options).map_err(|e| e.to_string())
    });
    vfs.as_ref().map_err(|reason| Error::NoVfs {
        reason: reason.clone(),
    })
}

/// Returns SQLite's own VFS with a persistent WAL of at most `max_bytes`. Registers it at the first
/// call.
pub(super) fn persist_wal(max_bytes: u32) -> Result<&'static PersistWalVfs> {
    static PERSISTING: OnceLock<std::result::Result<PersistWalVfs, String>> = OnceLock::new();
    let vfs = PERSISTING.get_or_init(|| {
        let options = PersistWalOptions::with_max_bytes(max_bytes.into());
        PersistWalVfs::register("etui-persist-wal", options).map_err(|e| e.to_string())
    });
    vfs.as_ref().map_err(|reason| Error::NoVfs {
        reason: reason.clone(),
    })
}

/// How long a process that has the store open is waited for: it has it until it closes it.
const PATIENCE: Duration = Duration::from_millis(250);

/// Refuses at once a store that another process has open, which is no lock to wait for.
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
        // Other errors come back when it is read.
        None => Ok(()),
    }
}

/// Why etui's VFS refused to open the store just now, if it did.
pub(super) fn refusal_reason(path: &Path) -> Option<Error> {
    let reason = etui_vfs::last_refusal()?;
    let full = path.canonicalize().ok()?;
    let reason = reason.strip_prefix(&format!("{}: ", full.display()))?;
    Some(Error::Refused {
        path: path.to_owned(),
        reason: reason.to_owned(),
    })
}

/// Makes a store that a killed program left with a redo log an ordinary file. `false`: there is
/// no such log.
pub(super) fn recover_if_left(path: &Path) -> Result<bool> {
    if !with_suffix(path, "-redo").exists() {
        return Ok(false);
    }
    recover(path).map(|_| true)
}

/// What [`recover`] found in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// Transactions that were in the log.
    pub transactions: u64,
    /// Pages of the database that they changed.
    pub pages: u64,
}

/// Makes any SQLite database that a program left with a redo log of etui's VFS, because it was
/// killed or the power was cut, an ordinary file again, which plain SQLite opens. Nothing that was
/// durable is lost. A file that is ordinary already stays as it is.
///
/// # Errors
/// [`Error::Io`] when there is no file; [`Error::Refused`] when a program has it open, or the
/// log is missing, damaged or another file's: nothing is changed then.
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
