//! [`Counters`]: statistics of a VFS.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::device::{File, Lock, Role};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// Statistics of a VFS since its registration, over all its databases.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)+
        }

        /// The counters as they are updated; see [`Counters`].
        #[derive(Debug, Default)]
        pub(crate) struct AtomicCounters {
            $(pub $name: AtomicU64,)+
        }

        impl AtomicCounters {
            pub fn now(&self) -> Counters {
                Counters { $($name: self.$name.load(Ordering::Relaxed),)+ }
            }
        }

        impl Counters {
            /// Returns the difference to an earlier snapshot.
            #[must_use]
            pub fn since(&self, before: &Self) -> Self {
                Self { $($name: self.$name.saturating_sub(before.$name),)+ }
            }

            /// Returns all counters by name.
            pub fn all(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$((stringify!($name), self.$name),)+].into_iter()
            }
        }

        impl fmt::Display for Counters {
            /// Writes a line for each counter: its name, a space, its value.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $(writeln!(f, "{} {}", stringify!($name), self.$name)?;)+
                Ok(())
            }
        }
    };
}

counters! {
    /// Transactions that were committed to a WAL and published.
    commits,
    /// Records written to redo logs.
    records,
    /// Records revoked because SQLite did not publish them.
    unpublished,
    /// Pages compared with their previous images.
    pages_compared,
    /// Bytes compared with their previous images.
    bytes_compared,
    /// Pages logged without a previous image to compare with.
    pages_whole,
    /// New pages written to the database file before their record.
    pages_in_place,
    /// Bytes of records, without the padding of their last blocks.
    bytes_logged,
    /// 4 KiB blocks of records.
    blocks,
    /// Pages of the volatile WAL stored as deltas to the database file.
    pages_folded,
    /// Epochs opened.
    epochs,
    /// Checkpoints begun.
    checkpoints,
    /// Recoveries of a database from its log.
    recoveries,
    /// Writes to databases.
    database_writes,
    /// Bytes written to databases.
    database_bytes,
    /// Flushes of databases.
    database_flushes,
    /// Writes to redo logs, including their headers.
    redo_writes,
    /// Bytes written to redo logs.
    redo_bytes,
    /// Flushes of redo logs.
    redo_flushes,
    /// Writes to rollback journals.
    journal_writes,
    /// Bytes written to rollback journals.
    journal_bytes,
    /// Flushes of rollback journals.
    journal_flushes,
    /// Writes to temporary files, which hold the volatile WAL beyond its memory limit.
    temporary_writes,
    /// Bytes written to temporary files.
    temporary_bytes,
}

/// Adds to a counter.
pub(crate) fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

/// A file whose writes and flushes are counted.
#[derive(Debug)]
pub(crate) struct CountedFile {
    file: Box<dyn File>,
    role: Role,
    counting: Arc<AtomicCounters>,
}

impl CountedFile {
    pub fn new(file: Box<dyn File>, role: Role, counting: &Arc<AtomicCounters>) -> Self {
        let counting = Arc::clone(counting);
        Self {
            file,
            role,
            counting,
        }
    }
}

impl File for CountedFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(bytes, offset)
    }

    fn read_exclusive(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_exclusive(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let counting = &self.counting;
        let (writes, written) = match self.role {
            Role::Database => (&counting.database_writes, &counting.database_bytes),
            Role::Journal => (&counting.journal_writes, &counting.journal_bytes),
            Role::Redo => (&counting.redo_writes, &counting.redo_bytes),
            Role::Temporary => (&counting.temporary_writes, &counting.temporary_bytes),
        };
        add(writes, 1);
        add(written, bytes.len() as u64);
        self.file.write_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        match self.role {
            Role::Database => add(&self.counting.database_flushes, 1),
            Role::Journal => add(&self.counting.journal_flushes, 1),
            Role::Redo => add(&self.counting.redo_flushes, 1),
            Role::Temporary => {}
        }
        self.file.sync()
    }

    fn lock(&self, lock: Lock) -> io::Result<bool> {
        self.file.lock(lock)
    }

    fn host(&mut self) -> Option<&mut crate::device::SqliteFile> {
        self.file.host()
    }
}
