//! The life of a commit: SQLite's reads, writes and syncs of the WAL.
//!
//! ```text
//! frame headers and pages              -> the volatile WAL
//! the last frame's page                -> one record in the log (written, not flushed)
//! xSync of the WAL                     -> one flush of the log
//! the wal-index has the last frame     -> the record is published
//! the write lock is released           -> an unpublished record is revoked
//! a checkpoint writes pages            -> the database file; the log still has all of them
//! the WAL restarts                     -> the database is flushed, a new epoch begins
//! ```

use std::cell::Cell;
use std::io;
use std::time::Instant;

use libsqlite3_sys as ffi;

use super::append_in_place::AppendError;
use super::database::Database;
use super::locks::{CHECKPOINT, READ};
use super::session::{ResultCode, Session, SessionPhase, UnpublishedRecord};
use crate::counters::add;
use crate::mutation::Mutation;
use crate::redo::log::LogTail;
use crate::wal_image::{FRAME_HEADER, HEADER, WalSpan};
use etui_redo::codec::{is_page_size, page_in_place};
use etui_redo::hash;
use etui_vfs_base::header_marker;

thread_local! {
    /// The WAL page that this thread read last: database and frame.
    static READ_LAST: Cell<(usize, u32)> = const { Cell::new((0, 0)) };
}

/// The reason why a record is not written.
enum RecordError {
    /// Its pages cannot be read: only this commit fails.
    Read(io::Error),
    /// Its new pages cannot be written to the database file: only this commit fails.
    Place(io::Error),
    /// The database file cannot be flushed.
    Flush(io::Error),
    /// The log cannot be written.
    Write(io::Error),
    /// A partly written record cannot be erased.
    Unmake(io::Error),
}

impl From<AppendError> for RecordError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Copy(error) => Self::Place(error),
            AppendError::Flush(error) => Self::Flush(error),
        }
    }
}

impl Database {
    /// Reads the WAL for SQLite. Returns the number of bytes.
    pub fn read_wal(&self, to: &mut [u8], offset: u64) -> io::Result<usize> {
        let wal = self.wal();
        if let Some(WalSpan::Page(frame)) = wal.place(offset, to.len()) {
            // It fails in a thread that is ending; a checkpoint then compares the page.
            let _ = READ_LAST.try_with(|last| last.set((std::ptr::from_ref(self).addr(), frame)));
        }
        wal.read(to, offset, &|number, to| self.read_page(number, to))
    }

    /// Returns the frame of this database's WAL whose page this thread read last. A checkpoint
    /// reads a page there and writes it to the database next.
    pub fn frame_read(&self) -> Option<u32> {
        let (database, frame) = READ_LAST.try_with(Cell::get).ok()?;
        (database == std::ptr::from_ref(self).addr()).then_some(frame)
    }

    /// Returns true if the database file already has the page that a checkpoint is about to write.
    pub fn is_written(&self, session: &Session, number: u32) -> bool {
        let there = session.backfilled_frame(number);
        there.is_some() && there == self.frame_read()
    }

    /// Records a checkpoint's write: the newest image of a page, or another one.
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

    /// Writes the WAL for SQLite.
    pub fn write_wal(&self, data: &[u8], offset: u64) -> Result<(), ResultCode> {
        let session = &mut *self.session();
        let mut wal = self.wal_mut();
        let Some(place) = wal.place(offset, data.len()) else {
            let what = "SQLite pads its WAL, which it does if a VFS above hides that the device \
                        has SQLITE_IOCAP_POWERSAFE_OVERWRITE";
            self.report_error(ffi::SQLITE_IOERR_WRITE, what);
            return Err(ffi::SQLITE_IOERR_WRITE);
        };
        match place {
            WalSpan::Header => {
                drop(wal);
                self.restart(session, data)
            }
            WalSpan::FrameHeader(frame) => {
                let header: [u8; FRAME_HEADER] =
                    data.try_into().map_err(|_| ffi::SQLITE_IOERR_WRITE)?;
                if frame <= session.committed_frame {
                    // SQLite never rewrites a committed frame; its state and ours differ.
                    let what = "a committed frame was about to be overwritten";
                    return Err(self.fail(session, what));
                }
                if session
                    .unpublished
                    .as_ref()
                    .is_some_and(|record| record.frame < frame)
                {
                    drop(wal);
                    self.resolve_record(session)?;
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
            WalSpan::Page(frame) => {
                // After a commit only headers are rewritten: this is another transaction.
                if session
                    .unpublished
                    .as_ref()
                    .is_some_and(|record| record.frame >= frame)
                    && !self.broken().is(Mutation::RecordBeforeLastPage)
                {
                    self.revoke_record(session)?;
                }
                if let Some((last, size)) = session.pending
                    && last == frame
                {
                    session.pending = None;
                    drop(wal);
                    self.commit(session, frame, size, data)?;
                    let mut wal = self.wal_mut();
                    let kept = wal.set_page(frame, data, &|| self.open_spill_file());
                    return kept.map_err(write_code);
                }
                if wal.spills_next() {
                    drop(wal);
                    self.append_early(session).map_err(write_code)?;
                    wal = self.wal_mut();
                }
                wal.set_page(frame, data, &|| self.open_spill_file())
                    .map_err(write_code)?;
                let number = wal.page_number(frame).unwrap_or(0);
                self.note_page(session, number, frame);
                Ok(())
            }
        }
    }

    /// Restarts the WAL (rule 12).
    fn restart(&self, session: &mut Session, data: &[u8]) -> Result<(), ResultCode> {
        let header: [u8; HEADER] = data.try_into().map_err(|_| ffi::SQLITE_IOERR_WRITE)?;
        let mut page_size = [0; 4];
        page_size.copy_from_slice(&header[8..12]);
        let page_size = u32::from_be_bytes(page_size);
        if !is_page_size(page_size as usize) {
            return Err(ffi::SQLITE_IOERR_WRITE);
        }
        // Checkpoints publish; the rest is a failed first transaction.
        self.revoke_record(session)?;
        if let SessionPhase::Live(_) = session.phase {
            if session.failed {
                return Err(ffi::SQLITE_IOERR_WRITE);
            }
            if !session.is_backfilled() {
                return Err(self.fail(session, "the WAL restarts before it was checkpointed"));
            }
        }
        self.wal_mut().clear();
        let broken = self.broken();
        let is_live = matches!(session.phase, SessionPhase::Live(_));
        let skips_flush = [
            Mutation::RestartWithoutEpoch,
            Mutation::RestartWithoutDatabaseFlush,
        ];
        let is_dirty = session.database_dirty;
        if is_live && is_dirty && !skips_flush.iter().any(|rule| broken.is(*rule)) {
            self.flush_database(session)?;
        }
        if let SessionPhase::Live(log) = &mut session.phase {
            let lineage = log.header().lineage;
            let unused = session.tail == Some(LogTail::of_epoch(log.header()))
                && log.header().page_size == page_size
                && !is_dirty;
            if broken.is(Mutation::RestartWithoutEpoch) {
                session.tail = Some(LogTail::of_epoch(log.header()));
            } else if !unused {
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

    /// Writes a transaction's record. `frame` is its last frame, whose page is not in the WAL yet.
    fn commit(
        &self,
        session: &mut Session,
        last: u32,
        database_pages: u32,
        page: &[u8],
    ) -> Result<(), ResultCode> {
        if session.failed && !self.broken().is(Mutation::ForgetFailure) {
            return Err(ffi::SQLITE_IOERR_WRITE);
        }
        if let SessionPhase::Detached | SessionPhase::Plain = session.phase {
            self.start_log(session, page.len())?;
        }
        let written = self
            .restore_superseded(session, last)
            .map_err(RecordError::Read)
            .and_then(|()| Ok(self.append_new_pages(session, last, database_pages)?))
            .and_then(|placed| {
                let written = self.write_record(session, last, database_pages, page);
                if written.is_err() && placed > 0 {
                    self.erase_failed_record(session)
                        .map_err(RecordError::Unmake)?;
                }
                written
            });
        match written {
            Ok(tail) => {
                session.last_record = Some(Instant::now());
                session.unpublished = Some(UnpublishedRecord {
                    frame: last,
                    tail,
                    database_pages,
                });
                Ok(())
            }
            Err(RecordError::Read(error)) => {
                self.report_error(
                    ffi::SQLITE_IOERR_READ,
                    &format!("reading it failed: {error}"),
                );
                Err(ffi::SQLITE_IOERR_READ)
            }
            Err(RecordError::Place(error)) => {
                let what = format!("writing its new pages to it failed: {error}");
                let code = write_code(error);
                self.report_error(code, &what);
                Err(code)
            }
            Err(RecordError::Unmake(error)) => {
                Err(self.fail_io(session, "taking a record back", &error))
            }
            Err(RecordError::Flush(error)) => {
                Err(self.fail_io(session, "flushing the database", &error))
            }
            Err(RecordError::Write(error)) if is_no_space(&error) => {
                // The next record overwrites the remains of this one.
                session.log_failed = true;
                if let (SessionPhase::Live(log), Some(tail)) = (&mut session.phase, session.tail) {
                    log.discard_unfinished(&tail);
                }
                Err(ffi::SQLITE_FULL)
            }
            Err(RecordError::Write(error)) => {
                Err(self.fail_io(session, "writing to the log", &error))
            }
        }
    }

    /// Stores the whole images that this transaction supersedes.
    fn restore_superseded(&self, session: &mut Session, last: u32) -> io::Result<()> {
        if self.wal().has_deltas() {
            for frame in session.committed_frame + 1..=last {
                let number = self.wal().page_number(frame);
                if let Some(number) = number {
                    self.restore_whole_page(session, number)?;
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
    ) -> Result<LogTail, RecordError> {
        let Session {
            phase: SessionPhase::Live(log),
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
        let (broken, counting) = (self.broken(), self.atomic_counters());
        let below = |number, to: &mut [u8]| self.read_page(number, to);
        let wal = self.wal();
        order.clear();
        for frame in *committed_frame + 1..=last {
            if let Some(number) = wal.page_number(frame) {
                order.push((number, frame));
            }
        }
        // By page and then by frame: the last frame of a page is the one to log.
        order.sort_unstable();
        if broken.is(Mutation::FirstFrameWins) {
            order.dedup_by_key(|(number, _)| *number);
        }
        unpublished_pages.clear();
        unpublished_in_place.clear();
        before.resize(page.len(), 0);
        after.resize(page.len(), 0);
        log.begin_record();
        let is_observed = self.shared().observer.get().is_some();
        let (mut compared, mut whole) = (0, 0);
        for (n, &(number, frame)) in order.iter().enumerate() {
            let is_last = order.get(n + 1).is_none_or(|next| next.0 != number);
            if !is_last || number > database_pages {
                continue;
            }
            // The last frame does not have this transaction's page yet.
            if frame != last
                && let Some(hash) = wal.in_place(frame)
            {
                page_in_place(log.payload(), number, hash);
                log.write_full_parts(tail).map_err(write)?;
                unpublished_pages.push((number, frame, hash));
                unpublished_in_place.push(number);
                continue;
            }
            let after = match frame == last {
                true => page,
                false => wal.page(frame, after, &below).map_err(read)?,
            };
            let before = match newest.get(&number) {
                // The header differs from that of the closed file, which an observer may have.
                _ if is_observed && number == 1 => None,
                Some(newest) => Some(wal.page(newest.frame, before, &below).map_err(read)?),
                None if number <= *floor => {
                    let offset = u64::from(number - 1) * page.len() as u64;
                    let there = self.main().read_at(before, offset).map_err(read)?;
                    header_marker::hide(before, offset);
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
            log.write_full_parts(tail).map_err(write)?;
            unpublished_pages.push((number, frame, hash));
        }
        add(&counting.pages_compared, compared);
        add(&counting.bytes_compared, compared * page.len() as u64);
        add(&counting.pages_whole, whole);
        let pages = unpublished_pages.len() as u32;
        log.finish(tail, pages, database_pages).map_err(write)
    }

    /// Publishes the record if SQLite has, which its wal-index shows; with a private wal-index
    /// there is only this connection, and SQLite has. Returns true if a record is left, which may
    /// belong to a commit in progress in another thread.
    fn publish_if_committed(&self, session: &mut Session) -> bool {
        let Some(record) = &session.unpublished else {
            return false;
        };
        let salts = self.wal().wal_salts().unwrap_or_default();
        let committed = self.index().committed(salts);
        if committed.is_some_and(|committed| committed < record.frame) {
            return true;
        }
        let size = record.database_pages;
        if size < session.database_pages && self.restore_pages_beyond(session, size).is_err() {
            // Only an earlier reader would request it, and gets an error.
            self.report_error(
                ffi::SQLITE_IOERR_READ,
                "pages of before its shrink are lost",
            );
        }
        self.notify_observer(session);
        session.publish_record(self.broken());
        add(&self.atomic_counters().commits, 1);
        self.release_superseded(session);
        self.store_deltas(session);
        false
    }

    /// Reports the record that is about to be published. It is read back: a large one was never in memory.
    fn notify_observer(&self, session: &Session) {
        if let Some(observer) = self.shared().observer.get()
            && let SessionPhase::Live(log) = &session.phase
            && let Some(tail) = &session.tail
        {
            match log.read_record(tail) {
                Ok(record) => observer.committed(self.path(), Ok(&record)),
                Err(error) => observer.committed(self.path(), Err(error)),
            }
        }
    }

    /// Publishes or revokes the record for the connection with the write lock: a record that is
    /// left is its own, and has failed.
    fn resolve_record(&self, session: &mut Session) -> Result<(), ResultCode> {
        match self.publish_if_committed(session) {
            true => self.revoke_record(session),
            false => Ok(()),
        }
    }

    /// Revokes an unpublished record (rule 6).
    pub fn revoke_record(&self, session: &mut Session) -> Result<(), ResultCode> {
        let Some(record) = session.unpublished.take() else {
            return Ok(());
        };
        let broken = self.broken();
        session.unpublished_pages.clear();
        let at = session.tail;
        if broken.is(Mutation::TailAfterUnpublished) {
            session.tail = Some(record.tail);
        }
        if broken.is(Mutation::KeepUnpublished) {
            return Ok(());
        }
        if broken.is(Mutation::TruncateBeforeRevoke) {
            self.undo_appended(session);
        }
        if let (SessionPhase::Live(log), Some(tail)) = (&mut session.phase, at)
            && let Err(error) = log.destroy_record(&tail)
        {
            return Err(self.fail_io(session, "taking a record back", &error));
        }
        // Not before: while the record may be valid, its pages must exist.
        self.undo_appended(session);
        Ok(())
    }

    /// Completes a write before the write lock is released.
    pub fn end_write(&self) -> Result<(), ResultCode> {
        let session = &mut *self.session();
        self.resolve_record(session)?;
        self.undo_appended(session);
        Ok(())
    }

    /// Handles SQLite's notice of a complete commit.
    pub fn note_commit(&self) {
        self.publish_if_committed(&mut self.session());
    }

    /// Begins a checkpoint (rule 14).
    pub fn begin_checkpoint(&self) -> Result<(), ResultCode> {
        let session = &mut *self.session();
        add(&self.atomic_counters().checkpoints, 1);
        self.publish_if_committed(session);
        if self.broken().is(Mutation::CheckpointWithoutLogFlush) {
            return Ok(());
        }
        self.flush_log(session)
    }

    /// Syncs the WAL for SQLite (rule 3).
    pub fn sync_wal(&self) -> Result<(), ResultCode> {
        let session = &mut *self.session();
        if self.broken().is(Mutation::SkipFlush) {
            return Ok(());
        }
        self.flush_log(session)
    }

    /// Flushes the log if necessary.
    pub fn flush_log(&self, session: &mut Session) -> Result<(), ResultCode> {
        if session.failed && !self.broken().is(Mutation::ForgetFailure) {
            return Err(ffi::SQLITE_IOERR_FSYNC);
        }
        if let SessionPhase::Live(log) = &mut session.phase
            && let Err(error) = log.flush()
        {
            self.fail_io(session, "flushing the log", &error);
            return Err(ffi::SQLITE_IOERR_FSYNC);
        }
        Ok(())
    }

    /// Releases the pages of frames that no reader can request: each active reader sees at least
    /// its read mark, and new readers see the newest images.
    fn release_superseded(&self, session: &mut Session) {
        if session.superseded.is_empty() {
            return;
        }
        let oldest = {
            let locks = self.locks();
            // A checkpoint may be about to read the newest image it found.
            if locks.is_held(CHECKPOINT) {
                return;
            }
            // Without a reader no old frame is needed.
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

    /// Makes a failure permanent (rule 7).
    pub fn fail(&self, session: &mut Session, what: &str) -> ResultCode {
        session.log_failed = true;
        self.fail_without_log(session, what)
    }

    fn fail_without_log(&self, session: &mut Session, what: &str) -> ResultCode {
        session.failed = true;
        self.report_error(ffi::SQLITE_IOERR_WRITE, what);
        ffi::SQLITE_IOERR_WRITE
    }

    /// Makes an I/O error permanent; see [`Database::fail`].
    pub fn fail_io(&self, session: &mut Session, what: &str, error: &io::Error) -> ResultCode {
        self.fail(session, &io_failure(what, error))
    }

    /// Writes deferred pages of the database and flushes it. Without space for them it is as before, and
    /// can be tried again; a failed flush is permanent.
    pub(super) fn flush_database(&self, session: &mut Session) -> Result<(), ResultCode> {
        if !self.broken().is(Mutation::FlushWithoutDeferred)
            && let Err(error) = self.buffered().flush()
            && is_no_space(&error)
        {
            return Err(self.io_failure("writing to it", &error));
        }
        // Any other failure is that of the flush, too.
        if let Err(error) = self.main().sync() {
            return Err(self.fail_flush(session, &error));
        }
        session.database_dirty = false;
        Ok(())
    }

    /// Makes a failed flush of the database file permanent; the log is intact.
    pub fn fail_flush(&self, session: &mut Session, error: &io::Error) -> ResultCode {
        self.fail_without_log(session, &io_failure("flushing the database", error))
    }
}

fn io_failure(what: &str, error: &io::Error) -> String {
    format!("{what} failed: {error}; close it and open it again")
}

/// Returns true if a write failed for want of space, which may come back: a full disk, a quota, a limit
/// of sizes.
pub(super) fn is_no_space(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Returns the result code of a failed write.
pub(super) fn write_code(error: io::Error) -> ResultCode {
    match is_no_space(&error) {
        true => ffi::SQLITE_FULL,
        false => ffi::SQLITE_IOERR_WRITE,
    }
}
