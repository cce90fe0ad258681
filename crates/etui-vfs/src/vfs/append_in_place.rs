//! In-place append: a transaction that appends many pages writes them directly to the database
//! file, and flushes it before the record that makes them reachable (rule 30). Their bytes are
//! written once, instead of once to the log and once by a checkpoint, at the cost of one more
//! flush.
//!
//! ```text
//! memory is full             new pages of the transaction      -> the database file
//! the commit's last frame    new pages that are not there yet  -> the database file, flushed
//!                            the record: their numbers and hashes
//! the record is revoked      the file is truncated to its former length
//! ```
//!
//! A page is new if it is beyond every size of the database since the start of the epoch: no
//! snapshot and no recovery reads the file there, whichever records it finds. Until the epoch ends,
//! such pages must not be truncated, as they exist only there.

use std::collections::HashSet;
use std::io;

use super::database::Database;
use super::session::{Session, SessionPhase};
use crate::counters::add;
use crate::mutation::Mutation;
use etui_redo::hash;

/// The maximum size of a write.
const RUN: usize = 1 << 19;

/// The minimum size of new pages that are written before the end of the transaction is known: a
/// quarter of the pages that are gathered for one write to the file of the volatile WAL.
const EARLY: usize = 1 << 14;

/// The pages that an unpublished transaction appends.
#[derive(Debug, Default)]
pub(super) struct AppendState {
    /// New pages, and their frames, that are not examined yet.
    waiting: Vec<(u32, u32)>,
    /// Pages written in place.
    written: HashSet<u32>,
    /// The highest of them.
    end: u32,
    /// The length of the file before.
    len: Option<u64>,
}

impl AppendState {
    /// Returns the highest page written to the file.
    pub fn end(&self) -> u32 {
        self.end
    }
}

/// The reason why pages are not written in place.
pub(super) enum AppendError {
    /// They cannot be read or written: only this commit fails.
    Copy(io::Error),
    /// The database cannot be flushed.
    Flush(io::Error),
}

/// Pages with consecutive numbers, for a single write.
#[derive(Debug, Default)]
struct PageRun {
    bytes: Vec<u8>,
    first: u32,
    frames: Vec<(u32, u64)>,
}

impl Database {
    /// Records the start of a transaction's frame; that of the first one is after the last
    /// committed one.
    pub(super) fn note_frame(&self, session: &mut Session, frame: u32) {
        if frame == session.committed_frame() + 1 && !session.has_unpublished() {
            self.undo_appended(session);
        }
    }

    /// Records a page in a frame of the WAL that is not a commit's last.
    pub(super) fn note_page(&self, session: &mut Session, number: u32, frame: u32) {
        if number > self.max_pages(session) {
            session.placing.waiting.push((number, frame));
        }
    }

    /// Returns the page beyond which nobody needs the contents of the database file.
    fn max_pages(&self, session: &Session) -> u32 {
        match self.broken().is(Mutation::AppendAfterShrink) {
            true => session.database_pages,
            false => session.ceiling,
        }
    }

    /// Returns the bytes of new pages with which a commit writes them in place. An observer's records have
    /// all pages.
    fn enough_to_append(&self) -> usize {
        match self.shared().observer.get() {
            Some(_) => usize::MAX,
            None => self.options().append_in_place,
        }
    }

    /// Frees memory: writes the waiting pages in place, however little the transaction appends.
    /// Otherwise they would be written to the file of the volatile WAL now, and to the log and the
    /// database later.
    pub(super) fn append_early(&self, session: &mut Session) -> io::Result<()> {
        let enough = self.enough_to_append();
        let size = self.wal().page_size();
        let waiting = session.placing.waiting.len() * size;
        if enough == usize::MAX
            || waiting < EARLY.min(enough)
            || !matches!(session.phase, SessionPhase::Live(_))
            || session.failed
            || session.has_unpublished()
        {
            return Ok(());
        }
        let mut waiting = std::mem::take(&mut session.placing.waiting);
        waiting.sort_unstable();
        let mut pages = Vec::with_capacity(waiting.len());
        for (n, &(number, frame)) in waiting.iter().enumerate() {
            let is_newest = waiting.get(n + 1).is_none_or(|next| next.0 != number);
            // An image that a savepoint may restore is not overwritten.
            let is_first = !session.placing.written.contains(&number);
            if is_newest && is_first && self.wal().page_number(frame) == Some(number) {
                pages.push((number, frame));
            }
        }
        self.place(session, &pages)
    }

    /// Writes a transaction's new pages to the database file, and flushes it, if they are large
    /// enough. Runs before the record is written. The page of the last frame is not in the WAL yet,
    /// and is not included. Returns the number of pages in place.
    pub(super) fn append_new_pages(
        &self,
        session: &mut Session,
        last: u32,
        database_pages: u32,
    ) -> Result<usize, AppendError> {
        let ceiling = self.max_pages(session);
        let (first, enough) = (session.committed_frame() + 1, self.enough_to_append());
        // A transaction that appends little needs no further work.
        let frames = (last + 1).saturating_sub(first) as usize;
        let is_little = || frames.saturating_mul(self.wal().page_size()) < enough;
        if database_pages <= ceiling || session.placing.end == 0 && is_little() {
            return Ok(0);
        }
        let (mut pages, size, any) = {
            let wal = self.wal();
            let new = |frame| {
                let number = wal.page_number(frame)?;
                (number > ceiling && number <= database_pages).then_some((number, frame))
            };
            let mut pages: Vec<_> = (first..=last).filter_map(new).collect();
            // In reverse order, so that the last of several frames of a page stays.
            pages.sort_unstable();
            pages.reverse();
            pages.dedup_by_key(|(number, _)| *number);
            pages.reverse();
            pages.retain(|(_, frame)| *frame != last);
            let any = pages
                .iter()
                .any(|(_, frame)| wal.in_place(*frame).is_some());
            (pages, wal.page_size(), any)
        };
        if !any && pages.len() * size < enough {
            return Ok(0);
        }
        let placed = pages.len();
        pages.retain(|(_, frame)| self.wal().in_place(*frame).is_none());
        self.place(session, &pages).map_err(AppendError::Copy)?;
        if !self.broken().is(Mutation::AppendedUnflushed) {
            self.main().sync().map_err(AppendError::Flush)?;
            session.database_dirty = false;
        }
        add(&self.atomic_counters().pages_in_place, placed as u64);
        Ok(placed)
    }

    /// Writes pages, in ascending order, to the database file.
    fn place(&self, session: &mut Session, pages: &[(u32, u32)]) -> io::Result<()> {
        let Some(&(highest, _)) = pages.last() else {
            return Ok(());
        };
        if session.placing.len.is_none() {
            session.placing.len = Some(self.main().len()?);
        }
        // Set before the write: nobody may truncate the page meanwhile or afterwards.
        session.placing.end = session.placing.end.max(highest);
        session.database_dirty = true;
        let size = self.wal().page_size();
        let mut gathered = PageRun::default();
        let mut buffer = vec![0; size];
        for &(number, frame) in pages {
            let adjacent = gathered.first as usize + gathered.frames.len() == number as usize;
            if !adjacent || gathered.bytes.len() + size > RUN {
                self.write_gathered(&mut gathered)?;
                gathered.first = number;
            }
            let wal = self.wal();
            let below = |number, to: &mut [u8]| self.read_page(number, to);
            let page = wal.page(frame, &mut buffer, &below)?;
            gathered.bytes.extend_from_slice(page);
            gathered.frames.push((frame, hash(page)));
            session.placing.written.insert(number);
        }
        self.write_gathered(&mut gathered)
    }

    fn write_gathered(&self, gathered: &mut PageRun) -> io::Result<()> {
        if gathered.frames.is_empty() {
            return Ok(());
        }
        let size = gathered.bytes.len() / gathered.frames.len();
        let offset = u64::from(gathered.first.saturating_sub(1)) * size as u64;
        self.main().write_at(&gathered.bytes, offset)?;
        gathered.bytes.clear();
        let mut wal = self.wal_mut();
        for (frame, hash) in gathered.frames.drain(..) {
            wal.set_in_place(frame, hash);
        }
        Ok(())
    }

    /// Erases a record that could not be written after its pages were written in place, so that no
    /// record refers to them.
    pub(super) fn erase_failed_record(&self, session: &mut Session) -> io::Result<()> {
        match (&mut session.phase, session.tail) {
            (SessionPhase::Live(log), Some(tail)) => log.destroy_record(&tail),
            _ => Ok(()),
        }
    }

    /// Truncates the pages of a transaction that was not published. A failure leaves a file longer
    /// than its database, which SQLite and checkpoints tolerate.
    pub(super) fn undo_appended(&self, session: &mut Session) {
        let placing = std::mem::take(&mut session.placing);
        let SessionPhase::Live(log) = &session.phase else {
            return;
        };
        // A record that could not be written may exist all the same.
        if session.failed {
            return;
        }
        // A checkpoint may have written up to this size meanwhile.
        let kept = u64::from(session.ceiling) * u64::from(log.header().page_size);
        if let Some(len) = placing.len.map(|len| len.max(kept))
            && self.main().len().is_ok_and(|now| now > len)
            && self.main().set_len(len).is_ok()
        {
            session.database_dirty = true;
        }
    }
}
