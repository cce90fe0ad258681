//! What the shim counts: [`Counters`] by [`FileKind`], and the log's [`Event`]s.

use std::sync::{Mutex, PoisonError};

use super::ShimOptions;

/// What SQLite uses a file for, by the flags it opens it with.
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
    /// All of them.
    pub const ALL: [FileKind; 4] = [
        FileKind::Database,
        FileKind::Journal,
        FileKind::Wal,
        FileKind::Other,
    ];

    /// Of a file that is deleted, of which only the name is known.
    pub(super) fn of_name(name: &[u8]) -> Self {
        if name.ends_with(b"-journal") {
            Self::Journal
        } else if name.ends_with(b"-wal") {
            Self::Wal
        } else {
            Self::Other
        }
    }
}

/// What was asked of the VFS below for the files of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileCounters {
    /// Files opened.
    pub opens: u64,
    /// Files deleted.
    pub deletes: u64,
    /// Reads.
    pub reads: u64,
    /// Bytes asked for by reads.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Syncs of the file.
    pub syncs: u64,
    /// Syncs of its directory: with the first sync of a new journal or log, and when one is
    /// deleted durably.
    pub directory_syncs: u64,
    /// Truncations, also those that lengthen the file.
    pub truncates: u64,
    /// Writes and truncations that changed the file's size.
    pub size_changes: u64,
    /// Bytes written again that were already written since the last sync of the file, or since
    /// its lock was last lowered.
    pub rewritten_bytes: u64,
    /// For the database: pages written again before a commit: see `rewritten_bytes`.
    pub rewritten_pages: u64,
    /// Writes that do not begin where the last one on the same file ended.
    pub out_of_order: u64,
}

impl FileCounters {
    fn since(&self, before: &Self) -> Self {
        let gone = u64::saturating_sub;
        Self {
            opens: gone(self.opens, before.opens),
            deletes: gone(self.deletes, before.deletes),
            reads: gone(self.reads, before.reads),
            read_bytes: gone(self.read_bytes, before.read_bytes),
            writes: gone(self.writes, before.writes),
            write_bytes: gone(self.write_bytes, before.write_bytes),
            syncs: gone(self.syncs, before.syncs),
            directory_syncs: gone(self.directory_syncs, before.directory_syncs),
            truncates: gone(self.truncates, before.truncates),
            size_changes: gone(self.size_changes, before.size_changes),
            rewritten_bytes: gone(self.rewritten_bytes, before.rewritten_bytes),
            rewritten_pages: gone(self.rewritten_pages, before.rewritten_pages),
            out_of_order: gone(self.out_of_order, before.out_of_order),
        }
    }
}

/// The counters of all kinds of files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters([FileCounters; 4]);

impl Counters {
    /// Those of one kind.
    pub fn of(&self, kind: FileKind) -> &FileCounters {
        match kind {
            FileKind::Database => &self.0[0],
            FileKind::Journal => &self.0[1],
            FileKind::Wal => &self.0[2],
            FileKind::Other => &self.0[3],
        }
    }

    fn of_mut(&mut self, kind: FileKind) -> &mut FileCounters {
        match kind {
            FileKind::Database => &mut self.0[0],
            FileKind::Journal => &mut self.0[1],
            FileKind::Wal => &mut self.0[2],
            FileKind::Other => &mut self.0[3],
        }
    }

    /// What was counted since an earlier snapshot.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut gone = Self::default();
        for kind in FileKind::ALL {
            *gone.of_mut(kind) = self.of(kind).since(before.of(kind));
        }
        gone
    }
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It was opened.
    Open,
    /// Bytes were read.
    Read,
    /// Bytes were written.
    Write,
    /// Its size was set: to the event's offset.
    Truncate,
    /// It was synced.
    Sync,
    /// Its directory was synced.
    DirectorySync,
    /// It was deleted.
    Delete,
}

/// One line of the log: something that was asked of the VFS below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The kind of the file.
    pub kind: FileKind,
    /// What was done.
    pub operation: Operation,
    /// Where in the file; the new size for a truncation; else 0.
    pub offset: u64,
    /// How many bytes; 0 where it does not apply.
    pub length: u64,
}

#[derive(Debug, Default)]
struct Counted {
    counters: Counters,
    log: Vec<Event>,
}

/// The counters and the log of one shim, shared by all its files.
#[derive(Debug)]
pub(super) struct Count {
    counted: Mutex<Counted>,
    counting: bool,
    keep_log: bool,
}

impl Count {
    pub fn new(options: &ShimOptions) -> Self {
        Self {
            counted: Mutex::default(),
            counting: !options.uncounted,
            keep_log: options.log,
        }
    }

    /// Counts, and notes an event.
    pub fn note(
        &self,
        kind: FileKind,
        operation: Operation,
        offset: u64,
        length: u64,
        count: impl FnOnce(&mut FileCounters),
    ) {
        if !self.counting {
            return;
        }
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        count(counted.counters.of_mut(kind));
        if self.keep_log {
            counted.log.push(Event {
                kind,
                operation,
                offset,
                length,
            });
        }
    }

    pub fn counters(&self) -> Counters {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.counters
    }

    pub fn reset(&self) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.counters = Counters::default();
    }

    pub fn take_log(&self) -> Vec<Event> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut counted.log)
    }
}
