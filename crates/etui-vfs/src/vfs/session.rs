//! [`Session`]: what is known of a database while it is open.

use std::collections::VecDeque;
use std::os::raw::c_int;
use std::time::{Duration, Instant};

use foldhash::HashMap;

use super::place::Placing;
use crate::mutation::{Broken, Mutation};
use crate::redo::codec::Encoder;
use crate::redo::log::{Log, Tail};

/// A result code of SQLite other than `SQLITE_OK`.
pub(super) type Code = c_int;

/// How far a database is.
#[derive(Debug, Default)]
pub(super) enum Phase {
    /// Nobody looked at it yet, or its log has to be replayed.
    #[default]
    Detached,
    /// It is locked, and an ordinary database: there is no guard.
    Plain,
    /// The guard is set; the log is needed to read it.
    Live(Box<Log>),
}

/// The newest committed image of a page in this epoch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newest {
    pub frame: u32,
    /// Whether a checkpoint wrote it to the database.
    backfilled: bool,
    /// Its hash.
    pub hash: u64,
}

/// A record that is written, of a transaction that SQLite may still fail to commit.
#[derive(Debug)]
pub(super) struct Unpublished {
    pub(super) frame: u32,
    pub(super) tail: Tail,
    pub(super) database_pages: u32,
}

/// What is known of an open database.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub phase: Phase,
    /// Whether a write or flush of the log, or a flush of the database, failed: nothing is
    /// promised any more until all have closed it.
    pub failed: bool,
    /// Whether it was the log, which may have a commit that failed, or lack one that did not.
    pub log_failed: bool,
    /// From where on the log is in doubt, as a flush of it failed.
    pub doubtful: Option<u64>,
    /// The size after the last published commit.
    pub database_pages: u32,
    /// The smallest size since the epoch began: the database's file has pages up to here as
    /// they were then, unless they are among the newest.
    pub(super) floor: u32,
    /// The largest size since the epoch began: beyond it the database's file has nothing that
    /// anybody may need, but what was placed there.
    pub(super) ceiling: u32,
    /// The highest page of a published record that is nowhere but in the database's file.
    placed: u32,
    pub(super) placing: Placing,
    pub(super) newest: HashMap<u32, Newest>,
    /// How many of the newest are not in the database's file.
    pub(super) to_backfill: usize,
    pub(super) committed_frame: u32,
    /// When a record was written last.
    pub(super) last_record: Option<Instant>,
    pub tail: Option<Tail>,
    pub(super) unpublished: Option<Unpublished>,
    /// The pages of the record that is not published, their frames, and the images' hashes.
    pub(super) unpublished_pages: Vec<(u32, u32, u64)>,
    /// Those of them that are in the database's file already.
    pub(super) unpublished_in_place: Vec<u32>,
    /// The frame whose header says that it is a commit's last, and the size after it.
    pub(super) pending: Option<(u32, u32)>,
    /// Whether the database was written since it was last flushed.
    pub database_dirty: bool,
    /// Whether the directory was synced since there may have been a rollback journal.
    pub directory_synced: bool,
    /// Frames that are not the newest of their page, by the commit that made them so.
    pub(super) superseded: VecDeque<(u32, u32)>,
    /// Pages and the frames that were their newest ones, to be folded in this order.
    pub(super) foldable: VecDeque<(u32, u32)>,
    /// How many connections have the WAL open.
    pub wal_files: usize,
    pub(super) encoder: Encoder,
    pub(super) order: Vec<(u32, u32)>,
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
    pub(super) folded: Vec<u8>,
}

impl Session {
    /// Lets go of the log.
    pub fn detach(&mut self) {
        if let Phase::Live(log) = &self.phase
            && self.log_failed
        {
            self.doubtful = log.unflushed();
        }
        self.phase = Phase::Detached;
    }

    /// Forgets the epoch's images; the next one begins at this size. The frames of the WAL that
    /// are committed stay so.
    pub fn begin_epoch(&mut self, tail: Option<Tail>) {
        self.newest.clear();
        self.superseded.clear();
        self.foldable.clear();
        self.to_backfill = 0;
        self.floor = self.database_pages;
        self.ceiling = self.database_pages;
        self.placed = 0;
        self.placing = Placing::default();
        self.tail = tail;
        self.pending = None;
    }

    /// Down to which size the database's file may be cut.
    pub fn floor(&self) -> u32 {
        self.floor
    }

    /// Up to which page the database's file must be let alone: what was placed there is nowhere
    /// else.
    pub fn placed(&self) -> u32 {
        self.placed.max(self.placing.end())
    }

    /// How long ago the last record was written.
    pub fn idle_for(&self) -> Duration {
        self.last_record
            .map_or(Duration::MAX, |last| last.elapsed())
    }

    /// The last published frame.
    pub fn committed_frame(&self) -> u32 {
        self.committed_frame
    }

    /// The WAL has no frames any more.
    pub fn forget_frames(&mut self) {
        self.committed_frame = 0;
        self.pending = None;
    }

    /// The pages that the database's file does not have, in order, and the frames that do.
    pub fn not_backfilled(&self) -> Vec<(u32, u32)> {
        let left = self.newest.iter().filter(|(_, newest)| !newest.backfilled);
        let mut left: Vec<_> = left
            .map(|(number, newest)| (*number, newest.frame))
            .collect();
        left.sort_unstable();
        left
    }

    /// The database's file has all of them now.
    pub fn note_all_backfilled(&mut self) {
        self.newest
            .values_mut()
            .for_each(|newest| newest.backfilled = true);
        self.superseded.clear();
        self.to_backfill = 0;
    }

    /// Whether the database's file has everything that was committed, if it is flushed.
    pub fn is_backfilled(&self) -> bool {
        self.to_backfill == 0 && self.unpublished.is_none()
    }

    /// Whether a record is written that is not published.
    pub fn has_unpublished(&self) -> bool {
        self.unpublished.is_some()
    }

    /// The frame of a page's newest image.
    pub fn newest_frame(&self, number: u32) -> Option<u32> {
        Some(self.newest.get(&number)?.frame)
    }

    /// The pages beyond a size that have an image.
    pub fn newest_beyond(&self, pages: u32) -> Vec<u32> {
        let beyond = self.newest.keys().filter(|number| **number > pages);
        beyond.copied().collect()
    }

    /// A page's newest image may be folded when its turn comes.
    pub fn may_fold(&mut self, number: u32, frame: u32) {
        self.foldable.push_back((number, frame));
    }

    /// The page whose newest image is to be folded next, and that image.
    pub fn next_to_fold(&mut self) -> Option<(u32, Newest)> {
        loop {
            let (number, frame) = self.foldable.pop_front()?;
            if let Some(newest) = self.newest.get(&number)
                && newest.frame == frame
            {
                return Some((number, *newest));
            }
        }
    }

    /// The frame of a page's newest image, if the database's file has it.
    pub fn backfilled_frame(&self, number: u32) -> Option<u32> {
        let newest = self.newest.get(&number)?;
        newest.backfilled.then_some(newest.frame)
    }

    /// Whether the database's file has this page's newest image now.
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

    pub fn publish(&mut self, broken: Broken) {
        let Some(record) = self.unpublished.take() else {
            return;
        };
        self.committed_frame = record.frame;
        self.tail = Some(record.tail);
        for (number, frame, hash) in self.unpublished_pages.drain(..) {
            let newest = Newest {
                frame,
                backfilled: false,
                hash,
            };
            self.foldable.push_back((number, frame));
            match self.newest.insert(number, newest) {
                Some(old) if old.backfilled && broken.is(Mutation::KeepInPlace) => {
                    let kept = Newest {
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
        self.placing = Placing::default();
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
