//! [`Mutation`]: one rule of the redo log broken, for the crash laboratory, which must notice.
//!
//! Without the feature `mutations` nothing can be broken, and the checks are compiled out.

/// A rule that is broken. The numbers are those of the design's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mutation {
    /// 1: the record is made when the last frame's header is written, before its page.
    RecordBeforeLastPage,
    /// 2: the first frame of a page wins.
    FirstFrameWins,
    /// 3: syncing the WAL does not flush the log.
    SkipFlush,
    /// 5: the log's tail is behind a record that was never published.
    TailBehindUnpublished,
    /// 5: recovery follows sequence numbers and does not ask for the predecessor's hash.
    ChainBySequence,
    /// 6: an unpublished record stays when the write lock is released.
    KeepUnpublished,
    /// 7: a failed flush is forgotten.
    ForgetFailure,
    /// 9: a page that came back after a shrink is logged as ranges over the database's file.
    RangesAfterShrink,
    /// 10: recovery does not compare the hashes of the pages.
    SkipImageHash,
    /// 11: recovery writes the database before the log is flushed.
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
    /// 13: truncating the WAL begins the log anew.
    TruncateRewindsLog,
    /// 14: the log is not flushed when a checkpoint begins.
    CheckpointWithoutLogFlush,
    /// 15: the log is ended though pages are not in the database's file.
    EndWithoutBackfill,
    /// 15: the database is not flushed before the log is ended.
    EndWithoutDatabaseFlush,
    /// 15: a flush of the database leaves out what is kept back.
    SyncWithoutKept,
    /// 15: what is kept back is not seen by who reads.
    ReadPastKept,
    /// 16: any write of the database is let through.
    AllowAnyWrite,
    /// 23: the guard is not flushed before the first record.
    GuardWithoutFlush,
    /// 23: the guard leaves the change counters.
    GuardKeepsCounters,
    /// 24: a checkpoint writes page 1 without the guard.
    CheckpointErasesGuard,
    /// 25: the guard is cleared before the database is flushed and the log ended.
    ClearBeforeEnd,
    /// 25: the log is replayed whosever it is.
    ReplayAnyLineage,
    /// 25: a guard whose log is missing is cleared.
    ClearWithoutLog,
    /// 27: the directory is not synced after the log was made.
    SkipDirectorySync,
    /// 30: new pages are not flushed before the record that makes them reachable.
    AppendedUnflushed,
    /// 30: pages count as new that the database had before it shrank.
    PlaceAfterShrink,
    /// 30: the file is cut before the record that names its last pages is taken back.
    CutBeforeTakingBack,
    /// 30: a checkpoint cuts pages off that are nowhere but in the file.
    CutPlaced,
    /// 30: a page counts as in place though a later transaction changed it.
    KeepInPlace,
}

/// What is broken, if anything.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Broken(Option<Mutation>);

impl Broken {
    #[cfg(feature = "mutations")]
    pub fn with(mutation: Option<Mutation>) -> Self {
        Self(mutation)
    }

    /// Whether this rule is broken: never, without the feature.
    pub fn is(self, mutation: Mutation) -> bool {
        cfg!(feature = "mutations") && self.0 == Some(mutation)
    }
}
