//! [`Vfs`]: the VFS between SQLite and the store's files.

use std::ffi::CString;
use std::path::Path;
use std::sync::OnceLock;

use super::paths::with_suffix;
use crate::error::{Error, Result};

/// The VFS between SQLite and the store's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Vfs {
    /// SQLite's own WAL (crate `etui-vfs-base`): many processes at once, and at every moment a file that
    /// plain SQLite opens.
    #[default]
    System,
    /// The redo log (crate `etui-vfs`): a durable save writes the changed bytes and flushes
    /// once. One process at a time can open the store; a second is refused ([`Error::Refused`]). While
    /// it is open, and after its process was killed, plain SQLite refuses the file; nothing is lost.
    #[cfg(feature = "redo-log")]
    RedoLog,
}

/// The name of the VFS in this process.
const NAME: &str = "etui-base";

static BASE: OnceLock<std::result::Result<etui_vfs_base::Vfs, String>> = OnceLock::new();

/// Replaces the VFS of [`Vfs::System`] in this process by one above another VFS; returns false if one is
/// registered already.
#[doc(hidden)]
pub fn use_base(vfs: etui_vfs_base::Vfs) -> bool {
    BASE.set(Ok(vfs)).is_ok()
}

/// Returns the name of a VFS, which is registered at the first call.
pub(super) fn registered_name(vfs: Vfs) -> Result<&'static str> {
    match vfs {
        Vfs::System => {
            let register = || etui_vfs_base::register(NAME).map_err(|e| e.to_string());
            let vfs = BASE.get_or_init(register).as_ref();
            let vfs = vfs.map_err(|reason| Error::NoVfs(reason.clone()))?;
            Ok(vfs.name())
        }
        #[cfg(feature = "redo-log")]
        Vfs::RedoLog => Ok(super::redo_log::registered_vfs()?.name()),
    }
}

/// Returns the refusal of a database whose last changes are in a redo log, or nothing for others. To be
/// asked for a file that SQLite did not take for a database.
pub(super) fn refuse_logged(path: &Path) -> Option<Error> {
    let name = std::fs::canonicalize(path).ok()?;
    let name = CString::new(std::os::unix::ffi::OsStrExt::as_bytes(name.as_os_str())).ok()?;
    let lineage = etui_vfs_base::header_marker::of_file(&name)?;
    let log = with_suffix(path, "-redo");
    let reason = etui_vfs_base::header_marker::refusal(lineage, &log);
    Some(Error::Refused {
        path: path.to_owned(),
        reason,
    })
}
