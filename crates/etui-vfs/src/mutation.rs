//! [`Mutation`]: a violation of one rule of the redo log. The crash laboratory must detect each
//! one.
//!
//! Without the feature `mutations` no rule can be violated, and the checks compile to nothing.

/// A violated rule. The numbers refer to the book's page "Rules of the redo log"
/// (`docs/src/redo-log.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mutation {
    /// 1: the record is written with the last frame's header, before its page.
    RecordBeforeLastPage,
    /// 2: the first frame of a page wins.
    FirstFrameWins,
    /// 3: a sync of the WAL does not flush the log.
    SkipFlush,
    /// 5: the log's tail is after a record that was never published.
    TailAfterUnpublished,
    /// 5: recovery follows sequence numbers and ignores the predecessor's hash.
    ChainBySequence,
    /// 6: an unpublished record stays when the write lock is released.
    KeepUnpublished,
    /// 7: a failed flush is forgotten.
    ForgetFailure,
    /// 9: a page that returned after a shrink is logged as a diff to the database file.
    RangesAfterShrink,
    /// 10: recovery does not verify the hashes of pages.
    SkipImageHash,
    /// 11: recovery writes the database before it flushes the log.
    ReplayUnflushedLog,
    /// 11: recovery does not flush the database before it opens a new epoch.
    ReplayWithoutFlush,
    /// 11: recovery does not set the size.
    ReplayWithoutSize,
    /// 12: the WAL is restarted without flushing the database.
    RestartWithoutDatabaseFlush,
    /// 12: the WAL is restarted in the same epoch.
    RestartWithoutEpoch,
    /// 12: the new epoch is not flushed.
    EpochWithoutFlush,
    /// 12: the log's header has one slot.
    OneHeaderSlot,
    /// 13: truncating the WAL rewinds the log.
    TruncateRewindsLog,
    /// 14: the log is not flushed at the start of a checkpoint.
    CheckpointWithoutLogFlush,
    /// 15: the log is ended although the database file lacks pages.
    EndWithoutBackfill,
    /// 15: the database is not flushed before the log is ended.
    EndWithoutDatabaseFlush,
    /// 15: a flush of the database omits deferred writes.
    FlushWithoutDeferred,
    /// 15: readers do not see deferred writes.
    ReadPastDeferred,
    /// 16: every write of the database is permitted.
    AllowAnyWrite,
    /// 23: the header marker is not flushed before the first record.
    MarkerWithoutFlush,
    /// 23: the header marker leaves the change counters unchanged.
    MarkerKeepsCounters,
    /// 24: a checkpoint writes page 1 without the header marker.
    CheckpointErasesMarker,
    /// 25: the header marker is cleared before the database is flushed and the log ended.
    ClearBeforeEnd,
    /// 25: a log of any lineage is replayed.
    ReplayAnyLineage,
    /// 25: a header marker without a log is cleared.
    ClearWithoutLog,
    /// 27: the directory is not synced after the log is created.
    SkipDirectorySync,
    /// 30: new pages are not flushed before the record that makes them reachable.
    AppendedUnflushed,
    /// 30: pages that the database had before it shrank count as new.
    AppendAfterShrink,
    /// 30: the file is truncated before the record that names its last pages is revoked.
    TruncateBeforeRevoke,
    /// 30: a checkpoint truncates pages that exist only in the file.
    TruncateAppended,
    /// 30: a page counts as in place although a later transaction changed it.
    ReuseStaleInPlace,
    /// 31: the lock that excludes other processes is SQLite's own.
    PosixGate,
    /// 32: a child of a fork keeps the descriptors that have locks.
    ForkKeepsLocks,
    /// 33: the header of before SQLite settled a WAL applies afterwards.
    AttachKeepsHeader,
    /// 34: files are opened and removed by name although the database may have another name.
    TrustNames,
    /// 35: a live log of another lineage is overwritten.
    OverwriteForeignLog,
    /// 36: the directory is synced only once, whenever the log is created.
    DirectorySyncedForEver,
}

/// The violated rule, if any.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BrokenRule(Option<Mutation>);

impl BrokenRule {
    #[cfg(feature = "mutations")]
    pub fn with(mutation: Option<Mutation>) -> Self {
        Self(mutation)
    }

    /// Returns true if this rule is violated: never, without the feature.
    pub fn is(self, mutation: Mutation) -> bool {
        cfg!(feature = "mutations") && self.0 == Some(mutation)
    }
}
