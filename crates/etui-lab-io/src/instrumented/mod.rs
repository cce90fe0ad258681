//! An instrumented SQLite VFS above another one, by default `unix`. It counts the I/O of each kind
//! of file ([`IoCounters`]), logs it ([`IoEvent`]), and can change or delay syncs
//! ([`InstrumentedOptions`]).
//!
//! ```text
//! SQLite -> instrumented VFS: counters, log, kind and delay of syncs -> base VFS
//! ```
//!
//! A VFS with mitigations registers itself above this one; the counters then show the effect of
//! the mitigations.

mod counters;
mod descriptor;
mod file;
mod vfs;

use std::ffi::CString;
use std::time::Duration;

use etui_vfs_base::base_vfs::BaseVfs;

use crate::Error;

pub use counters::{FileCounters, FileKind, IoCounters, IoEvent, IoOperation};

/// The system call of a sync.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SyncCall {
    /// The base VFS's own. The SQLite of this workspace is built to call `fdatasync(2)`.
    #[default]
    Fdatasync,
    /// `fsync(2)`, for files and directories.
    Fsync,
}

/// Options of an [`InstrumentedVfs`].
#[derive(Debug, Clone, Copy, Default)]
pub struct InstrumentedOptions {
    /// Logs each operation. The log grows until [`InstrumentedVfs::take_log`].
    pub log: bool,
    /// The system call of a sync.
    pub sync: SyncCall,
    /// Each sync returns this much later than the real one. A fast disk then behaves like one
    /// with slow flushes.
    pub sync_delay: Duration,
}

/// A registered instrumented VFS. It stays registered until the process ends.
#[derive(Debug, Clone)]
pub struct InstrumentedVfs {
    name: String,
    shared: &'static vfs::VfsState,
}

impl InstrumentedVfs {
    /// Registers a VFS above `unix`. It is not the default VFS; see
    /// [`InstrumentedVfs::make_default`].
    ///
    /// [`SyncCall::Fsync`] replaces the unix VFS's `open` and `fstat` by functions that also
    /// record the descriptor. Register such a VFS before other threads use SQLite.
    ///
    /// # Errors
    ///
    /// The name is empty, contains a zero byte or is in use.
    pub fn register(name: &str, options: InstrumentedOptions) -> Result<Self, Error> {
        Self::register_above(name, "unix", options)
    }

    /// Registers a VFS above the one named `base`.
    ///
    /// # Errors
    ///
    /// The name is invalid or in use, or there is no VFS `base`.
    pub fn register_above(
        name: &str,
        base: &str,
        options: InstrumentedOptions,
    ) -> Result<Self, Error> {
        let shared = vfs::register(name, base, options)?;
        let name = name.to_owned();
        Ok(Self { name, shared })
    }

    /// Makes it the default VFS of this process, also for libraries that name no VFS.
    ///
    /// # Errors
    ///
    /// SQLite refused.
    pub fn make_default(&self) -> Result<(), Error> {
        let name = CString::new(self.name.as_str());
        BaseVfs::make_default(
            &name.map_err(|_| Error::Usage("a name with a zero byte".to_owned()))?,
        )
    }

    /// Returns the name to open databases with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the counters since the registration or the last reset.
    pub fn counters(&self) -> IoCounters {
        self.shared.recorder.counters()
    }

    /// Sets all counters to 0.
    pub fn reset_counters(&self) {
        self.shared.recorder.reset();
    }

    /// Returns and clears the log; empty without [`InstrumentedOptions::log`].
    pub fn take_log(&self) -> Vec<IoEvent> {
        self.shared.recorder.take_log()
    }
}
