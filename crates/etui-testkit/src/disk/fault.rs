//! [`InjectedFailure`]: a failing call to the disk.

use std::io;

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Any call: an I/O error without effect. A failed flush leaves its data in doubt,
    /// and a later flush does not repair that.
    Io,
    /// Writes, changes of size and new files: no space.
    Full,
    /// Writes: half is written, then an I/O error.
    Short,
    /// Flushes only: as [`FaultKind::Io`].
    Flush,
}

/// A failing call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InjectedFailure {
    /// Index of the call on the disk, from 0 ([`RecordingDisk::calls`](super::RecordingDisk::calls)).
    pub at: u64,
    /// The kind of failure.
    pub fault: FaultKind,
    /// Whether all later calls fail too.
    pub lasting: bool,
}

/// The kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlatformCall {
    /// Reading, a file's size, a file's existence, removing a name.
    Other,
    /// Creating a file.
    Create,
    /// Writing bytes.
    Write,
    /// Setting a size.
    SetLen,
    /// Flushing a file or a directory.
    Sync,
}

impl FaultKind {
    pub(super) fn hits(self, call: PlatformCall) -> bool {
        match self {
            Self::Io => true,
            Self::Full => matches!(
                call,
                PlatformCall::Create | PlatformCall::Write | PlatformCall::SetLen
            ),
            Self::Short => call == PlatformCall::Write,
            Self::Flush => call == PlatformCall::Sync,
        }
    }

    pub(super) fn error(self) -> io::Error {
        match self {
            Self::Io | Self::Short | Self::Flush => io::Error::other("injected I/O error"),
            Self::Full => io::Error::new(io::ErrorKind::StorageFull, "injected: no space"),
        }
    }
}

/// Counts calls and injects failures.
#[derive(Debug, Clone, Default)]
pub(super) struct FaultSchedule {
    pub calls: u64,
    pub failure: Option<InjectedFailure>,
    pub hit: bool,
}

impl FaultSchedule {
    /// Counts a call and returns its failure, if any.
    pub fn count(&mut self, call: PlatformCall) -> Option<FaultKind> {
        let now = self.calls;
        self.calls += 1;
        let failure = self.failure?;
        let due = now == failure.at || (failure.lasting && now > failure.at);
        let hit = due && failure.fault.hits(call);
        self.hit |= hit;
        hit.then_some(failure.fault)
    }
}
