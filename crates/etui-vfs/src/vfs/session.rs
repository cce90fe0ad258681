//! [`Session`]: the state of a database while it is open.

use std::collections::VecDeque;
use std::os::raw::c_int;
use std::time::{Duration, Instant};

use foldhash::HashMap;

use super::append_in_place::AppendState;
use crate::mutation::{BrokenRule, Mutation};
use crate::redo::log::{LogTail, RedoLog};
use etui_redo::codec::PageEncoder;

/// A result code of SQLite other than `SQLITE_OK`.
pub(super) type ResultCode = c_int;

/// The state of a database's log.
#[derive(Debug, Default)]
pub(super) enum SessionPhase {
    /// Not examined yet, or the log must be replayed.
    #[default]
    Detached,
    /// Locked, and an ordinary database without a header marker.
    Plain,
    /// The header marker is set; the database needs its log.
    Live(Box<RedoLog>),
}

/// The newest committed image of a page in this epoch.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewestImage {
    pub frame: u32,
    /// A checkpoint has written it to the database.
    backfilled: bool,
    /// The hash of the image.
    pub hash: u64,
}

/// A record of a transaction that SQLite may still fail to commit.
#[derive(Debug)]
pub(super) struct UnpublishedRecord {
    pub(super) frame: u32,
    pub(super) tail: LogTail,
    pub(super) database_pages: u32,
}

/// The state of an open database.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub phase: SessionPhase,
    /// A write or flush of the log, or a flush of the database, has failed: nothing is guaranteed
    /// until all connections have closed it.
    pub failed: bool,
    /// The log has failed: it may have a failed commit, or lack a successful one.
    pub log_failed: bool,
    /// The offset from which the log is in doubt after a failed flush.
    pub doubtful: Option<u64>,
    /// The size after the last published commit.
    pub database_pages: u32,
    /// The smallest size since the start of the epoch. The database file has the pages up to here
    /// as they were then, unless they are among the newest.
    pub(super) floor: u32,
    /// The largest size since the start of the epoch. Beyond it nobody needs the contents of the
    /// database file, except pages appended in place.
    pub(super) ceiling: u32,
    /// The highest page of a published record that exists only in the database file.
    placed: u32,
    pub(super) placing: AppendState,
    pub(super) newest: HashMap<u32, NewestImage>,
    /// The number of newest images that the database file lacks.
    pub(super) to_backfill: usize,
    pub(super) committed_frame: u32,
    /// The time of the last record.
    pub(super) last_record: Option<Instant>,
    pub tail: Option<LogTail>,
    pub(super) unpublished: Option<UnpublishedRecord>,
    /// The pages of the unpublished record, with their frames and the hashes of the images.
    pub(super) unpublished_pages: Vec<(u32, u32, u64)>,
    /// Those of its pages that are in the database file already.
    pub(super) unpublished_in_place: Vec<u32>,
    /// The frame whose header marks it as a commit's last, and the size after the commit.
    pub(super) pending: Option<(u32, u32)>,
    /// The database has writes since its last flush.
    pub database_dirty: bool,
    /// The directory was synced since there may have been a rollback journal.
    pub directory_synced: bool,
    /// Superseded frames, by the commit that superseded them.
    pub(super) superseded: VecDeque<(u32, u32)>,
    /// Pages with their newest frames at that time, in the order in which they are stored as
    /// deltas.
    pub(super) foldable: VecDeque<(u32, u32)>,
    /// The number of connections that have the WAL open.
    pub wal_files: usize,
    pub(super) encoder: PageEncoder,
    pub(super) order: Vec<(u32, u32)>,
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
    pub(super) folded: Vec<u8>,
}

impl Session {
    /// Detaches the log.
    pub fn detach_log(&mut self) {
        if let SessionPhase::Live(log) = &self.phase
            && self.log_failed
        {
            self.doubtful = log.unflushed();
        }
        self.phase = SessionPhase::Detached;
    }

    /// Clears the images of the epoch; the next one begins at this size. The committed frames of
    /// the WAL stay committed.
    pub fn begin_epoch(&mut self, tail: Option<LogTail>) {
        self.newest.clear();
        self.superseded.clear();
        self.foldable.clear();
        self.to_backfill = 0;
        self.floor = self.database_pages;
        self.ceiling = self.database_pages;
        self.placed = 0;
        self.placing = AppendState::default();
        self.tail = tail;
        self.pending = None;
    }

    /// Returns the size to which the database file may be truncated.
    pub fn min_pages(&self) -> u32 {
        self.floor
    }

    /// Returns the highest page of the database file that must not be truncated: pages appended in
    /// place exist nowhere else.
    pub fn placed(&self) -> u32 {
        self.placed.max(self.placing.end())
    }

    /// Returns the time since the last record.
    pub fn idle_for(&self) -> Duration {
        self.last_record
            .map_or(Duration::MAX, |last| last.elapsed())
    }

    /// Returns the last published frame.
    pub fn committed_frame(&self) -> u32 {
        self.committed_frame
    }

    /// Clears the frames of the WAL.
    pub fn forget_frames(&mut self) {
        self.committed_frame = 0;
        self.pending = None;
    }

    /// Returns the pages that the database file lacks, in order, with their frames.
    pub fn not_backfilled(&self) -> Vec<(u32, u32)> {
        let left = self.newest.iter().filter(|(_, newest)| !newest.backfilled);
        let mut left: Vec<_> = left
            .map(|(number, newest)| (*number, newest.frame))
            .collect();
        left.sort_unstable();
        left
    }

    /// Records that the database file has all images.
    pub fn note_all_backfilled(&mut self) {
        self.newest
            .values_mut()
            .for_each(|newest| newest.backfilled = true);
        self.superseded.clear();
        self.to_backfill = 0;
    }

    /// Returns true if the database file, once flushed, has everything that was committed.
    pub fn is_backfilled(&self) -> bool {
        self.to_backfill == 0 && self.unpublished.is_none()
    }

    /// Returns true if there is an unpublished record.
    pub fn has_unpublished(&self) -> bool {
        self.unpublished.is_some()
    }

    /// Returns the frame of a page's newest image.
    pub fn newest_frame(&self, number: u32) -> Option<u32> {
        Some(self.newest.get(&number)?.frame)
    }

    /// Returns the pages beyond a size that have an image.
    pub fn newest_beyond(&self, pages: u32) -> Vec<u32> {
        let beyond = self.newest.keys().filter(|number| **number > pages);
        beyond.copied().collect()
    }

    /// Queues a page's newest image for storing as a delta.
    pub fn queue_for_delta(&mut self, number: u32, frame: u32) {
        self.foldable.push_back((number, frame));
    }

    /// Returns the next page to store as a delta, and its newest image.
    pub fn next_delta_candidate(&mut self) -> Option<(u32, NewestImage)> {
        loop {
            let (number, frame) = self.foldable.pop_front()?;
            if let Some(newest) = self.newest.get(&number)
                && newest.frame == frame
            {
                return Some((number, *newest));
            }
        }
    }

    /// Returns the frame of a page's newest image, if the database file has it.
    pub fn backfilled_frame(&self, number: u32) -> Option<u32> {
        let newest = self.newest.get(&number)?;
        newest.backfilled.then_some(newest.frame)
    }

    /// Records whether the database file has this page's newest image.
    pub fn note_backfilled(&mut self, number: u32, is_there: bool) {
        if let Some(newest) = self.newest.get_mut(&number)
            && newest.backfilled != is_there
        {
            newest.backfilled = is_there;
            match is_there {
                true => self.to_backfill -= 1,
                false => self.to_backfill += 1,
            }
        }
    }

    pub fn publish_record(&mut self, broken: BrokenRule) {
        let Some(record) = self.unpublished.take() else {
            return;
        };
        self.committed_frame = record.frame;
        self.tail = Some(record.tail);
        for (number, frame, hash) in self.unpublished_pages.drain(..) {
            let newest = NewestImage {
                frame,
                backfilled: false,
                hash,
            };
            self.foldable.push_back((number, frame));
            match self.newest.insert(number, newest) {
                Some(old) if old.backfilled && broken.is(Mutation::ReuseStaleInPlace) => {
                    let kept = NewestImage {
                        backfilled: true,
                        ..newest
                    };
                    self.newest.insert(number, kept);
                }
                Some(old) => {
                    self.superseded.push_back((record.frame, old.frame));
                    self.to_backfill += usize::from(old.backfilled);
                }
                None => self.to_backfill += 1,
            }
        }
        for number in std::mem::take(&mut self.unpublished_in_place) {
            self.note_backfilled(number, true);
        }
        let size = record.database_pages;
        self.placed = self.placed.max(self.placing.end()).min(size);
        self.placing = AppendState::default();
        self.ceiling = self.ceiling.max(size);
        if size < self.database_pages {
            let (superseded, to_backfill) = (&mut self.superseded, &mut self.to_backfill);
            self.newest.retain(|&number, newest| {
                let stays = number <= size;
                if !stays {
                    superseded.push_back((record.frame, newest.frame));
                    *to_backfill -= usize::from(!newest.backfilled);
                }
                stays
            });
            if !broken.is(Mutation::RangesAfterShrink) {
                self.floor = self.floor.min(size);
            }
        }
        self.database_pages = size;
    }
}
