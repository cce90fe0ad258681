//! The life of a commit: what becomes of SQLite's reads, writes and syncs of the WAL.
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
use std::io;
use std::time::Instant;

use libsqlite3_sys as ffi;

use super::database::Database;
use super::locks::{CHECKPOINT, READ};
use super::place::PlaceError;
use super::session::{Code, Phase, Session, Unpublished};
use crate::counters::add;
use crate::mutation::Mutation;
use crate::redo::codec::{is_page_size, page_in_place};
use crate::redo::log::Tail;
use crate::redo::{guard, hash};
use crate::wal_image::{FRAME_HEADER, HEADER, Place};

thread_local! {
    /// The page of a WAL that this thread read last: which database's, which frame's.
    static READ_LAST: Cell<(usize, u32)> = const { Cell::new((0, 0)) };
}

/// Why a record is not written.
enum RecordError {
    /// What it is made of cannot be read: the commit fails, and nothing else.
    Read(io::Error),
    /// Its new pages cannot be written to the database's file: the same.
    Place(io::Error),
    /// The database's file cannot be flushed.
    Flush(io::Error),
    /// The log cannot be written.
    Write(io::Error),
    /// Nor can what may be there of it be taken back.
    Unmake(io::Error),
}

impl From<PlaceError> for RecordError {
    fn from(error: PlaceError) -> Self {
        match error {
            PlaceError::Copy(error) => Self::Place(error),
            PlaceError::Flush(error) => Self::Flush(error),
        }
    }
}

impl Database {
    /// SQLite reads the WAL; tells how many bytes there were.
    pub fn read_wal(&self, to: &mut [u8], offset: u64) -> io::Result<usize> {
        let wal = self.wal();
        if let Some(Place::Page(frame)) = wal.place(offset, to.len()) {
            let _ = READ_LAST.try_with(|last| last.set((std::ptr::from_ref(self).addr(), frame)));
        }
        wal.read(to, offset, &|number, to| self.read_page(number, to))
    }

    /// The frame of this database's WAL whose page this thread read last. A checkpoint reads a
    /// page there and writes it to the database next.
    pub fn frame_read(&self) -> Option<u32> {
        let (database, frame) = READ_LAST.try_with(Cell::get).ok()?;
        (database == std::ptr::from_ref(self).addr()).then_some(frame)
    }

    /// Whether the database's file has the page already that a checkpoint is about to write.
    pub fn is_written(&self, session: &Session, number: u32) -> bool {
        let there = session.backfilled_frame(number);
        there.is_some() && there == self.frame_read()
    }

    /// Notes what a checkpoint wrote to the database: the newest image of a page, or another one.
    pub fn note_written(&self, session: &mut Session, number: u32, page: &[u8]) {
        let Some(newest) = session.newest_frame(number) else {
            return;
        };
        let mut is_there = self.frame_read() == Some(newest);
        if !is_there {
            let mut buffer = vec![0; page.len()];
            let below = |number, to: &mut [u8]| self.read_page(number, to);
            is_there = self.wal().page(newest, &mut buffer, &below).ok() == Some(page);
        }
        session.note_backfilled(number, is_there);
    }

    /// SQLite writes to the WAL.
    pub fn write_wal(&self, data: &[u8], offset: u64) -> Result<(), Code> {
        let session = &mut *self.session();
        let mut wal = self.wal_mut();
        let Some(place) = wal.place(offset, data.len()) else {
            let what = "SQLite pads its WAL, which it does if a VFS above hides that the device \
                        has SQLITE_IOCAP_POWERSAFE_OVERWRITE";
            self.complain(ffi::SQLITE_IOERR_WRITE, what);
            return Err(ffi::SQLITE_IOERR_WRITE);
        };
        match place {
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
                self.note_frame(session, frame);
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
                    let mut wal = self.wal_mut();
                    let kept = wal.set_page(frame, data, &|| self.spill());
                    return kept.map_err(write_code);
                }
                if wal.is_full() {
                    drop(wal);
                    self.place_early(session).map_err(write_code)?;
                    wal = self.wal_mut();
                }
                wal.set_page(frame, data, &|| self.spill())
                    .map_err(write_code)?;
                let number = wal.page_number(frame).unwrap_or(0);
                self.note_page(session, number, frame, data.len());
                Ok(())
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
                        return Err(self.fail_flush(session, &error));
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
        let written = self
            .unfold_superseded(session, last)
            .map_err(RecordError::Read)
            .and_then(|()| Ok(self.place_appended(session, last, database_pages)?))
            .and_then(|placed| {
                let written = self.write_record(session, last, database_pages, page);
                if written.is_err() && placed > 0 {
                    self.unmake_record(session).map_err(RecordError::Unmake)?;
                }
                written
            });
        match written {
            Ok(tail) => {
                session.last_record = Some(Instant::now());
                session.unpublished = Some(Unpublished {
                    frame: last,
                    tail,
                    database_pages,
                });
                Ok(())
            }
            Err(RecordError::Read(error)) => {
                self.complain(
                    ffi::SQLITE_IOERR_READ,
                    &format!("reading it failed: {error}"),
                );
                Err(ffi::SQLITE_IOERR_READ)
            }
            Err(RecordError::Place(error)) => {
                let what = format!("writing its new pages to it failed: {error}");
                let code = write_code(error);
                self.complain(code, &what);
                Err(code)
            }
            Err(RecordError::Unmake(error)) => {
                Err(self.fail_io(session, "taking a record back", &error))
            }
            Err(RecordError::Flush(error)) => {
                Err(self.fail_io(session, "flushing the database", &error))
            }
            Err(RecordError::Write(error)) if error.kind() == io::ErrorKind::StorageFull => {
                // The next record overwrites what is there of it.
                session.log_failed = true;
                Err(ffi::SQLITE_FULL)
            }
            Err(RecordError::Write(error)) => {
                Err(self.fail_io(session, "writing to the log", &error))
            }
        }
    }

    /// Makes the images whole that this transaction supersedes.
    fn unfold_superseded(&self, session: &mut Session, last: u32) -> io::Result<()> {
        if self.wal().has_folded() {
            for frame in session.committed_frame + 1..=last {
                let number = self.wal().page_number(frame);
                if let Some(number) = number {
                    self.unfold(session, number)?;
                }
            }
        }
        Ok(())
    }

    fn write_record(
        &self,
        session: &mut Session,
        last: u32,
        database_pages: u32,
        page: &[u8],
    ) -> Result<Tail, RecordError> {
        let Session {
            phase: Phase::Live(log),
            tail: Some(tail),
            newest,
            order,
            before,
            after,
            encoder,
            unpublished_pages,
            unpublished_in_place,
            committed_frame,
            floor,
            ..
        } = session
        else {
            return Err(RecordError::Read(io::Error::other("there is no log")));
        };
        let (read, write) = (RecordError::Read, RecordError::Write);
        let (broken, counting) = (self.broken(), self.counting());
        let below = |number, to: &mut [u8]| self.read_page(number, to);
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
        unpublished_in_place.clear();
        before.resize(page.len(), 0);
        after.resize(page.len(), 0);
        log.begin();
        let (mut compared, mut whole) = (0, 0);
        for (n, &(number, frame)) in order.iter().enumerate() {
            let is_last = order.get(n + 1).is_none_or(|next| next.0 != number);
            if !is_last || number > database_pages {
                continue;
            }
            // What the last frame has is not this transaction's yet.
            if frame != last
                && let Some(hash) = wal.in_place(frame)
            {
                page_in_place(log.payload(), number, hash);
                log.drain(tail).map_err(write)?;
                unpublished_pages.push((number, frame, hash));
                unpublished_in_place.push(number);
                continue;
            }
            let after = match frame == last {
                true => page,
                false => wal.page(frame, after, &below).map_err(read)?,
            };
            let before = match newest.get(&number) {
                Some(newest) => Some(wal.page(newest.frame, before, &below).map_err(read)?),
                None if number <= *floor => {
                    let offset = u64::from(number - 1) * page.len() as u64;
                    let there = self.main().read_at(before, offset).map_err(read)?;
                    guard::hide(before, offset);
                    (there == page.len()).then_some(&before[..])
                }
                None => None,
            };
            match before {
                Some(_) => compared += 1,
                None => whole += 1,
            }
            let hash = hash(after);
            encoder.page(log.payload(), number, before, after, hash);
            log.drain(tail).map_err(write)?;
            unpublished_pages.push((number, frame, hash));
        }
        add(&counting.pages_compared, compared);
        add(&counting.bytes_compared, compared * page.len() as u64);
        add(&counting.pages_whole, whole);
        let pages = unpublished_pages.len() as u32;
        log.finish(tail, pages, database_pages).map_err(write)
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
        let size = record.database_pages;
        if size < session.database_pages && self.unfold_beyond(session, size).is_err() {
            // Only a reader of before would ask for them, and is told then.
            self.complain(
                ffi::SQLITE_IOERR_READ,
                "pages of before its shrink are lost",
            );
        }
        session.publish(self.broken());
        add(&self.counting().commits, 1);
        self.release_superseded(session);
        self.fold(session);
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
        if broken.is(Mutation::CutBeforeTakingBack) {
            self.forget_placed(session);
        }
        if let (Phase::Live(log), Some(tail)) = (&mut session.phase, at)
            && let Err(error) = log.destroy(&tail)
        {
            return Err(self.fail_io(session, "taking a record back", &error));
        }
        // Only now: as long as the record may count, its pages must be there.
        self.forget_placed(session);
        Ok(())
    }

    /// The write lock is about to be released.
    pub fn end_write(&self) -> Result<(), Code> {
        let session = &mut *self.session();
        self.resolve(session)?;
        self.forget_placed(session);
        Ok(())
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
        session.log_failed = true;
        self.fail_without_log(session, what)
    }

    fn fail_without_log(&self, session: &mut Session, what: &str) -> Code {
        session.failed = true;
        self.complain(ffi::SQLITE_IOERR_WRITE, what);
        ffi::SQLITE_IOERR_WRITE
    }

    /// The same, of an error of the system.
    pub fn fail_io(&self, session: &mut Session, what: &str, error: &io::Error) -> Code {
        self.fail(session, &failure(what, error))
    }

    /// The same, of a flush of the database's file; its log is as it should be.
    pub fn fail_flush(&self, session: &mut Session, error: &io::Error) -> Code {
        self.fail_without_log(session, &failure("flushing the database", error))
    }
}

fn failure(what: &str, error: &io::Error) -> String {
    format!("{what} failed: {error}; close it and open it again")
}

/// What SQLite is told of a failed write.
pub(super) fn write_code(error: io::Error) -> Code {
    match error.kind() {
        io::ErrorKind::StorageFull => ffi::SQLITE_FULL,
        _ => ffi::SQLITE_IOERR_WRITE,
    }
}
