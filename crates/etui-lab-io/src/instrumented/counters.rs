//! [`IoCounters`] by [`FileKind`], and [`IoEvent`], an entry of the log.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::InstrumentedOptions;

/// The purpose of a file, by the flags with which SQLite opens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    /// The database.
    Database,
    /// Its rollback journal.
    Journal,
    /// Its write-ahead log.
    Wal,
    /// Temporary files and super-journals.
    Other,
}

impl FileKind {
    /// All kinds.
    pub const ALL: [FileKind; 4] = [
        FileKind::Database,
        FileKind::Journal,
        FileKind::Wal,
        FileKind::Other,
    ];

    /// Returns the kind of a deleted file, of which only the name is known.
    pub(super) fn from_name(name: &[u8]) -> Self {
        if name.ends_with(b"-journal") {
            Self::Journal
        } else if name.ends_with(b"-wal") {
            Self::Wal
        } else {
            Self::Other
        }
    }
}

/// Calls of the base VFS for the files of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileCounters {
    /// Files opened.
    pub opens: u64,
    /// Files deleted.
    pub deletes: u64,
    /// Reads.
    pub reads: u64,
    /// Bytes requested by reads.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Syncs of the file.
    pub syncs: u64,
    /// Syncs of its directory: at the first sync of a new journal or WAL, and when one is deleted
    /// durably.
    pub directory_syncs: u64,
    /// Truncations, including those that extend the file.
    pub truncates: u64,
    /// Writes and truncations that changed the file's size.
    pub size_changes: u64,
    /// Bytes that had already been written since the last sync of the file, or since its lock
    /// was last lowered.
    pub rewritten_bytes: u64,
    /// For the database: pages rewritten before a commit; see `rewritten_bytes`.
    pub rewritten_pages: u64,
    /// Writes that do not begin at the end of the previous write to the same file.
    pub out_of_order: u64,
}

impl FileCounters {
    fn since(&self, before: &Self) -> Self {
        let diff = u64::saturating_sub;
        Self {
            opens: diff(self.opens, before.opens),
            deletes: diff(self.deletes, before.deletes),
            reads: diff(self.reads, before.reads),
            read_bytes: diff(self.read_bytes, before.read_bytes),
            writes: diff(self.writes, before.writes),
            write_bytes: diff(self.write_bytes, before.write_bytes),
            syncs: diff(self.syncs, before.syncs),
            directory_syncs: diff(self.directory_syncs, before.directory_syncs),
            truncates: diff(self.truncates, before.truncates),
            size_changes: diff(self.size_changes, before.size_changes),
            rewritten_bytes: diff(self.rewritten_bytes, before.rewritten_bytes),
            rewritten_pages: diff(self.rewritten_pages, before.rewritten_pages),
            out_of_order: diff(self.out_of_order, before.out_of_order),
        }
    }
}

/// The counters of all kinds of files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoCounters([FileCounters; 4]);

impl IoCounters {
    /// Returns the counters of one kind.
    pub fn of(&self, kind: FileKind) -> &FileCounters {
        &self.0[kind as usize]
    }

    /// Returns the difference to an earlier snapshot.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self(FileKind::ALL.map(|kind| self.of(kind).since(before.of(kind))))
    }
}

/// An operation on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoOperation {
    /// The file was opened.
    Open,
    /// Bytes were read.
    Read,
    /// Bytes were written.
    Write,
    /// The size was set to the event's offset.
    Truncate,
    /// The file was synced.
    Sync,
    /// The directory was synced.
    DirectorySync,
    /// The file was deleted.
    Delete,
}

/// An entry of the log: a call of the base VFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoEvent {
    /// The kind of the file.
    pub kind: FileKind,
    /// The operation.
    pub operation: IoOperation,
    /// The offset in the file; for a truncation the new size; else 0.
    pub offset: u64,
    /// The number of bytes; 0 where it does not apply.
    pub length: u64,
}

#[derive(Debug, Default)]
struct Recording {
    counters: IoCounters,
    log: Vec<IoEvent>,
}

/// The counters and the log of one VFS, shared by its files.
#[derive(Debug)]
pub(super) struct IoRecorder {
    recording: Mutex<Recording>,
    log_events: bool,
}

impl IoRecorder {
    pub fn new(options: &InstrumentedOptions) -> Self {
        Self {
            recording: Mutex::default(),
            log_events: options.log,
        }
    }

    /// Updates the counters and logs an event.
    pub fn record(
        &self,
        kind: FileKind,
        operation: IoOperation,
        offset: u64,
        length: u64,
        count: impl FnOnce(&mut FileCounters),
    ) {
        let mut recording = self.lock();
        count(&mut recording.counters.0[kind as usize]);
        if self.log_events {
            recording.log.push(IoEvent {
                kind,
                operation,
                offset,
                length,
            });
        }
    }

    pub fn counters(&self) -> IoCounters {
        self.lock().counters
    }

    pub fn reset(&self) {
        self.lock().counters = IoCounters::default();
    }

    pub fn take_log(&self) -> Vec<IoEvent> {
        std::mem::take(&mut self.lock().log)
    }

    fn lock(&self) -> MutexGuard<'_, Recording> {
        self.recording
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
