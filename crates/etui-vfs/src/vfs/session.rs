//! [`Session`]: what is known of a database while it is open, and the life of a commit.
//!
//! ```text
//! frame headers and pages  ->  the volatile WAL
//! the last frame's page    ->  one record in the log          (written, not flushed)
//! xSync of the WAL         ->  one flush of the log
//! the wal-index tells of the last frame  ->  the record is published
//! the write lock is released             ->  a record that is not is taken back
//! a checkpoint writes pages  ->  the database's file; the log knows them all meanwhile
//! the WAL restarts         ->  the database is flushed, a new epoch begins
//! ```

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::os::raw::c_int;
use std::time::{Duration, Instant};

use foldhash::HashMap;
use libsqlite3_sys as ffi;

use super::database::Database;
use super::locks::{CHECKPOINT, READ};
use crate::counters::add;
use crate::mutation::{Broken, Mutation};
use crate::redo::codec::{Encoder, is_page_size};
use crate::redo::log::{Log, Tail};
use crate::redo::{guard, hash};
use crate::wal_image::{FRAME_HEADER, HEADER, Place};

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
struct Newest {
    frame: u32,
    hash: u64,
    /// Whether a checkpoint wrote it to the database.
    backfilled: bool,
}

/// A record that is written, of a transaction that SQLite may still fail to commit.
#[derive(Debug)]
struct Unpublished {
    frame: u32,
    tail: Tail,
    database_pages: u32,
}

thread_local! {
    /// The page of a WAL that this thread read last: which database's, which frame's.
    static READ_LAST: Cell<(usize, u32)> = const { Cell::new((0, 0)) };
}

/// What is known of an open database.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub phase: Phase,
    /// Whether a write or flush of the log, or a flush of the database, failed: nothing is
    /// promised any more until all have closed it.
    pub failed: bool,
    /// The size after the last published commit.
    pub database_pages: u32,
    /// The smallest size since the epoch began: the database's file has pages up to here as
    /// they were then, unless they are among the newest.
    floor: u32,
    newest: HashMap<u32, Newest>,
    /// How many of the newest are not in the database's file.
    to_backfill: usize,
    committed_frame: u32,
    /// When a record was written last.
    last_record: Option<Instant>,
    pub tail: Option<Tail>,
    unpublished: Option<Unpublished>,
    /// The pages of the record that is not published: number, frame, hash.
    unpublished_pages: Vec<(u32, u32, u64)>,
    /// The frame whose header says that it is a commit's last, and the size after it.
    pending: Option<(u32, u32)>,
    /// Whether the database was written since it was last flushed.
    pub database_dirty: bool,
    /// Frames that are not the newest of their page, by the commit that made them so.
    superseded: VecDeque<(u32, u32)>,
    /// How many connections have the WAL open.
    pub wal_files: usize,
    encoder: Encoder,
    order: Vec<(u32, u32)>,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Session {
    /// Forgets the epoch's images; the next one begins at this size. The frames of the WAL that
    /// are committed stay so.
    pub fn begin_epoch(&mut self, tail: Option<Tail>) {
        self.newest.clear();
        self.superseded.clear();
        self.to_backfill = 0;
        self.floor = self.database_pages;
        self.tail = tail;
        self.pending = None;
    }

    /// Down to which size the database's file may be cut.
    pub fn floor(&self) -> u32 {
        self.floor
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

    /// Notes what a checkpoint writes to the database; `read`: the frame that this thread read
    /// before, which is what it writes.
    pub fn note_backfill(&mut self, number: u32, page: &[u8], read: Option<u32>) {
        if let Some(newest) = self.newest.get_mut(&number)
            && !newest.backfilled
            && (read == Some(newest.frame) || newest.hash == hash(page))
        {
            newest.backfilled = true;
            self.to_backfill -= 1;
        }
    }

    fn publish(&mut self, broken: Broken) {
        let Some(record) = self.unpublished.take() else {
            return;
        };
        self.committed_frame = record.frame;
        self.tail = Some(record.tail);
        for (number, frame, hash) in self.unpublished_pages.drain(..) {
            let newest = Newest {
                frame,
                hash,
                backfilled: false,
            };
            match self.newest.insert(number, newest) {
                Some(old) => {
                    self.superseded.push_back((record.frame, old.frame));
                    self.to_backfill += usize::from(old.backfilled);
                }
                None => self.to_backfill += 1,
            }
        }
        let size = record.database_pages;
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

impl Database {
    /// SQLite reads the WAL; tells how many bytes there were.
    pub fn read_wal(&self, to: &mut [u8], offset: u64) -> io::Result<usize> {
        let wal = self.wal();
        if let Some(Place::Page(frame)) = wal.place(offset, to.len()) {
            let _ = READ_LAST.try_with(|last| last.set((std::ptr::from_ref(self).addr(), frame)));
        }
        wal.read(to, offset)
    }

    /// The frame whose page this thread read last, of this database's WAL. A checkpoint reads
    /// a page there and writes it to the database next.
    pub fn frame_read(&self) -> Option<u32> {
        let (database, frame) = READ_LAST.try_with(|last| last.replace((0, 0))).ok()?;
        (database == std::ptr::from_ref(self).addr()).then_some(frame)
    }

    /// SQLite writes to the WAL.
    pub fn write_wal(&self, data: &[u8], offset: u64) -> Result<(), Code> {
        let session = &mut *self.session();
        let mut wal = self.wal_mut();
        match wal
            .place(offset, data.len())
            .ok_or(ffi::SQLITE_IOERR_WRITE)?
        {
            Place::Header => {
                drop(wal);
                self.restart(session, data)
            }
            Place::FrameHeader(frame) => {
                let header: [u8; FRAME_HEADER] =
                    data.try_into().map_err(|_| ffi::SQLITE_IOERR_WRITE)?;
                if frame <= session.committed_frame {
                    // What is committed is not written again; SQLite and we disagree.
                    let what = "a committed frame was about to be overwritten";
                    return Err(self.fail(session, what));
                }
                if session
                    .unpublished
                    .as_ref()
                    .is_some_and(|record| record.frame < frame)
                {
                    drop(wal);
                    self.resolve(session)?;
                    wal = self.wal_mut();
                }
                let mut size = [0; 4];
                size.copy_from_slice(&header[4..8]);
                let size = u32::from_be_bytes(size);
                session.pending = (size != 0).then_some((frame, size));
                wal.set_frame_header(frame, header).map_err(write_code)?;
                if self.broken().is(Mutation::RecordBeforeLastPage) && size != 0 {
                    let page = vec![0; wal.page_size()];
                    drop(wal);
                    session.pending = None;
                    return self.commit(session, frame, size, &page);
                }
                Ok(())
            }
            Place::Page(frame) => {
                // After a commit only headers are written again: this is another transaction.
                if session
                    .unpublished
                    .as_ref()
                    .is_some_and(|record| record.frame >= frame)
                    && !self.broken().is(Mutation::RecordBeforeLastPage)
                {
                    self.take_back(session)?;
                }
                if let Some((last, size)) = session.pending
                    && last == frame
                {
                    session.pending = None;
                    drop(wal);
                    self.commit(session, frame, size, data)?;
                    wal = self.wal_mut();
                }
                wal.set_page(frame, data, &|| self.spill())
                    .map_err(write_code)
            }
        }
    }

    /// The WAL begins anew: rule 12.
    fn restart(&self, session: &mut Session, data: &[u8]) -> Result<(), Code> {
        let header: [u8; HEADER] = data.try_into().map_err(|_| ffi::SQLITE_IOERR_WRITE)?;
        let mut page_size = [0; 4];
        page_size.copy_from_slice(&header[8..12]);
        let page_size = u32::from_be_bytes(page_size);
        if !is_page_size(page_size as usize) {
            return Err(ffi::SQLITE_IOERR_WRITE);
        }
        // Checkpoints publish; what is left is a first transaction that failed.
        self.take_back(session)?;
        if let Phase::Live(_) = session.phase {
            if session.failed {
                return Err(ffi::SQLITE_IOERR_WRITE);
            }
            if !session.is_backfilled() {
                return Err(self.fail(session, "the WAL restarts before it was checkpointed"));
            }
        }
        self.wal_mut().clear();
        let broken = self.broken();
        if let Phase::Live(log) = &mut session.phase {
            let lineage = log.header().lineage;
            let unused = session.tail == Some(Tail::of_epoch(log.header()))
                && log.header().page_size == page_size
                && !session.database_dirty;
            if broken.is(Mutation::RestartWithoutEpoch) {
                session.tail = Some(Tail::of_epoch(log.header()));
            } else if !unused {
                if session.database_dirty && !broken.is(Mutation::RestartWithoutDatabaseFlush) {
                    if let Err(error) = self.main().sync() {
                        return Err(self.fail_io(session, "flushing the database", &error));
                    }
                    session.database_dirty = false;
                }
                match log.next_epoch(lineage, page_size, true) {
                    Ok(tail) => session.tail = Some(tail),
                    Err(error) => return Err(self.fail_io(session, "opening an epoch", &error)),
                }
            }
        }
        let tail = session.tail;
        session.begin_epoch(tail);
        session.forget_frames();
        self.wal_mut().restart(header, page_size as usize);
        Ok(())
    }

    /// Writes a transaction's record: its last frame is this one, whose page is not in the WAL
    /// yet.
    fn commit(
        &self,
        session: &mut Session,
        last: u32,
        database_pages: u32,
        page: &[u8],
    ) -> Result<(), Code> {
        if session.failed && !self.broken().is(Mutation::ForgetFailure) {
            return Err(ffi::SQLITE_IOERR_WRITE);
        }
        if let Phase::Detached | Phase::Plain = session.phase {
            self.go_live(session, page.len())?;
        }
        match self.write_record(session, last, database_pages, page) {
            Ok(tail) => {
                session.last_record = Some(Instant::now());
                session.unpublished = Some(Unpublished {
                    frame: last,
                    tail,
                    database_pages,
                });
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(ffi::SQLITE_FULL),
            Err(error) => Err(self.fail_io(session, "writing to the log", &error)),
        }
    }

    fn write_record(
        &self,
        session: &mut Session,
        last: u32,
        database_pages: u32,
        page: &[u8],
    ) -> io::Result<Tail> {
        let Session {
            phase: Phase::Live(log),
            tail: Some(tail),
            newest,
            order,
            before,
            after,
            encoder,
            unpublished_pages,
            committed_frame,
            floor,
            ..
        } = session
        else {
            return Err(io::Error::other("there is no log"));
        };
        let (broken, counting) = (self.broken(), self.counting());
        let wal = self.wal();
        order.clear();
        for frame in *committed_frame + 1..=last {
            if let Some(number) = wal.page_number(frame) {
                order.push((number, frame));
            }
        }
        order.sort_unstable();
        if broken.is(Mutation::FirstFrameWins) {
            order.dedup_by_key(|(number, _)| *number);
        }
        unpublished_pages.clear();
        before.resize(page.len(), 0);
        after.resize(page.len(), 0);
        log.begin();
        let (mut compared, mut whole) = (0, 0);
        for (n, &(number, frame)) in order.iter().enumerate() {
            let is_last = order.get(n + 1).is_none_or(|next| next.0 != number);
            if !is_last || number > database_pages {
                continue;
            }
            let after = match frame == last {
                true => page,
                false => wal.page(frame, after)?,
            };
            let before = match newest.get(&number) {
                Some(newest) => Some(wal.page(newest.frame, before)?),
                None if number <= *floor => {
                    let offset = u64::from(number - 1) * page.len() as u64;
                    let there = self.main().read_at(before, offset)? == page.len();
                    guard::hide(before, offset);
                    there.then_some(&before[..])
                }
                None => None,
            };
            match before {
                Some(_) => compared += 1,
                None => whole += 1,
            }
            let hash = hash(after);
            encoder.page(log.payload(), number, before, after, hash);
            log.drain(tail)?;
            unpublished_pages.push((number, frame, hash));
        }
        add(&counting.pages_compared, compared);
        add(&counting.bytes_compared, compared * page.len() as u64);
        add(&counting.pages_whole, whole);
        log.finish(tail, unpublished_pages.len() as u32, database_pages)
    }

    /// Publishes the record if SQLite did, which its index of the WAL tells; an index that is
    /// the connection's own is the index of the only one, and then SQLite did. Answers whether
    /// a record is left, which may be of a commit that another thread is in the middle of.
    fn publish_if_committed(&self, session: &mut Session) -> bool {
        let Some(record) = &session.unpublished else {
            return false;
        };
        let salts = self.wal().salts().unwrap_or_default();
        let committed = self.index().committed(salts);
        if committed.is_some_and(|committed| committed < record.frame) {
            return true;
        }
        session.publish(self.broken());
        add(&self.counting().commits, 1);
        self.release_superseded(session);
        false
    }

    /// The same for the connection that has the write lock: what is left is its own, and failed.
    fn resolve(&self, session: &mut Session) -> Result<(), Code> {
        match self.publish_if_committed(session) {
            true => self.take_back(session),
            false => Ok(()),
        }
    }

    /// Takes back a record that was not published: rule 6.
    pub fn take_back(&self, session: &mut Session) -> Result<(), Code> {
        let Some(record) = session.unpublished.take() else {
            return Ok(());
        };
        let broken = self.broken();
        session.unpublished_pages.clear();
        let at = session.tail;
        if broken.is(Mutation::TailBehindUnpublished) {
            session.tail = Some(record.tail);
        }
        if broken.is(Mutation::KeepUnpublished) {
            return Ok(());
        }
        if let (Phase::Live(log), Some(tail)) = (&mut session.phase, at)
            && let Err(error) = log.destroy(&tail)
        {
            return Err(self.fail_io(session, "taking a record back", &error));
        }
        Ok(())
    }

    /// The write lock is about to be released.
    pub fn end_write(&self) -> Result<(), Code> {
        let session = &mut *self.session();
        self.resolve(session)
    }

    /// SQLite says that a commit is complete.
    pub fn note_commit(&self) {
        self.publish_if_committed(&mut self.session());
    }

    /// A checkpoint begins: rule 14.
    pub fn begin_checkpoint(&self) -> Result<(), Code> {
        let session = &mut *self.session();
        add(&self.counting().checkpoints, 1);
        self.publish_if_committed(session);
        if self.broken().is(Mutation::CheckpointWithoutLogFlush) {
            return Ok(());
        }
        self.flush_log(session)
    }

    /// SQLite syncs the WAL: rule 3.
    pub fn sync_wal(&self) -> Result<(), Code> {
        let session = &mut *self.session();
        if self.broken().is(Mutation::SkipFlush) {
            return Ok(());
        }
        self.flush_log(session)
    }

    /// Flushes the log, if there is something to flush.
    pub fn flush_log(&self, session: &mut Session) -> Result<(), Code> {
        if session.failed && !self.broken().is(Mutation::ForgetFailure) {
            return Err(ffi::SQLITE_IOERR_FSYNC);
        }
        if let Phase::Live(log) = &mut session.phase
            && let Err(error) = log.flush()
        {
            self.fail_io(session, "flushing the log", &error);
            return Err(ffi::SQLITE_IOERR_FSYNC);
        }
        Ok(())
    }

    /// Gives back the memory of frames that no reader can ask for: each reader that is active
    /// sees at least what its read mark says, and those to come see what is newest.
    fn release_superseded(&self, session: &mut Session) {
        if session.superseded.is_empty() {
            return;
        }
        let oldest = {
            let locks = self.locks();
            // A checkpoint may be about to read what it found newest.
            if locks.is_held(CHECKPOINT) {
                return;
            }
            let index = self.index();
            let marks = (1..5).filter(|n| locks.is_held(READ + n));
            marks.map(|n| index.read_mark(n)).min().unwrap_or(u32::MAX)
        };
        let mut wal = self.wal_mut();
        while let Some(&(by, frame)) = session.superseded.front()
            && by <= oldest
        {
            session.superseded.pop_front();
            wal.release(frame);
        }
    }

    /// Makes a failure stick: rule 7.
    pub fn fail(&self, session: &mut Session, what: &str) -> Code {
        session.failed = true;
        self.complain(ffi::SQLITE_IOERR_WRITE, what);
        ffi::SQLITE_IOERR_WRITE
    }

    /// The same, of an error of the system.
    pub fn fail_io(&self, session: &mut Session, what: &str, error: &io::Error) -> Code {
        self.fail(
            session,
            &format!("{what} failed: {error}; close it and open it again"),
        )
    }
}

/// What SQLite is told of a failed write.
pub(super) fn write_code(error: io::Error) -> Code {
    match error.kind() {
        io::ErrorKind::StorageFull => ffi::SQLITE_FULL,
        _ => ffi::SQLITE_IOERR_WRITE,
    }
}
