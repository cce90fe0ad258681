//! [`Failure`]: a call to the disk that goes wrong.

use std::io;

/// How a call goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Any call: an I/O error, and nothing is done. A flush that fails leaves in doubt all that
    /// was to be flushed, and a later flush does not mend that.
    Io,
    /// Writes, changes of size and new files: no space.
    Full,
    /// Writes: half of it is written, then an I/O error.
    Short,
    /// Flushes alone: as [`Fault::Io`].
    Flush,
}

/// A call that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// Which call of the disk, counted from 0 ([`Disk::calls`](super::Disk::calls)).
    pub at: u64,
    /// How.
    pub fault: Fault,
    /// Whether all later calls go wrong likewise.
    pub lasting: bool,
}

/// What kind of call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// Reading, a file's size, whether there is a file, a name taken away.
    Other,
    /// A file is made.
    Create,
    /// Bytes are written.
    Write,
    /// A size is set.
    SetLen,
    /// A file or a directory is flushed.
    Sync,
}

impl Fault {
    pub(super) fn hits(self, call: Call) -> bool {
        match self {
            Self::Io => true,
            Self::Full => matches!(call, Call::Create | Call::Write | Call::SetLen),
            Self::Short => call == Call::Write,
            Self::Flush => call == Call::Sync,
        }
    }

    pub(super) fn error(self) -> io::Error {
        match self {
            Self::Io | Self::Short | Self::Flush => io::Error::other("injected I/O error"),
            Self::Full => io::Error::new(io::ErrorKind::StorageFull, "injected: no space"),
        }
    }
}

/// Counts calls and makes them fail.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults {
    pub calls: u64,
    pub failure: Option<Failure>,
    pub hit: bool,
}

impl Faults {
    /// Counts a call; whether and how it goes wrong.
    pub fn count(&mut self, call: Call) -> Option<Fault> {
        let now = self.calls;
        self.calls += 1;
        let failure = self.failure?;
        let due = now == failure.at || (failure.lasting && now > failure.at);
        let hit = due && failure.fault.hits(call);
        self.hit |= hit;
        hit.then_some(failure.fault)
    }
}
