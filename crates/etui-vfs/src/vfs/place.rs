//! Placing: a transaction that appends much has its new pages written straight to the database's
//! file, and flushed there before the record that makes them reachable: rule 30. So their bytes
//! are written once, not once to the log and once by a checkpoint. It costs one flush more.
//!
//! ```text
//! memory is full             new pages of the transaction     -> the database's file
//! the commit's last frame    those that are new and not there -> the database's file, flushed
//!                            the record: which they are, and their hashes
//! the record is taken back   the file gets its length back
//! ```
//!
//! New is a page beyond every size that the database had since the epoch began: what the file
//! has there no snapshot reads, and no recovery, whichever records it finds. Until the epoch ends
//! the file may not be cut below such pages: only there they are.

use std::collections::HashSet;
use std::io;

use super::database::Database;
use super::session::{Phase, Session};
use crate::counters::add;
use crate::mutation::Mutation;
use crate::redo::hash;

/// How much is written at once.
const RUN: usize = 1 << 19;

/// What is written at least before the transaction is known to its end.
const EARLY: usize = 1 << 16;

/// What a transaction that is not published appends.
#[derive(Debug, Default)]
pub(super) struct Placing {
    /// New pages, and their frames, that were not looked at yet.
    waiting: Vec<(u32, u32)>,
    /// Bytes of new pages that it wrote.
    bytes: usize,
    /// Pages whose place it wrote to.
    written: HashSet<u32>,
    /// The highest of them.
    end: u32,
    /// The file's length before it did.
    len: Option<u64>,
}

impl Placing {
    /// Up to which page it wrote to the file.
    pub fn end(&self) -> u32 {
        self.end
    }
}

/// Why pages are not placed.
pub(super) enum PlaceError {
    /// They cannot be read or written: the commit fails, and nothing else.
    Copy(io::Error),
    /// The database cannot be flushed.
    Flush(io::Error),
}

/// Pages of neighbouring numbers, to be written at once.
#[derive(Debug, Default)]
struct Gathered {
    bytes: Vec<u8>,
    first: u32,
    frames: Vec<(u32, u64)>,
}

impl Database {
    /// A frame of a transaction begins; the first one's is behind the last that is committed.
    pub(super) fn note_frame(&self, session: &mut Session, frame: u32) {
        if frame == session.committed_frame() + 1 && !session.has_unpublished() {
            self.forget_placed(session);
        }
    }

    /// A page was written to a frame of the WAL that is not a commit's last.
    pub(super) fn note_page(&self, session: &mut Session, number: u32, frame: u32, size: usize) {
        if number > self.ceiling(session) {
            session.placing.waiting.push((number, frame));
            session.placing.bytes += size;
        }
    }

    /// Beyond which page the database's file has nothing that anybody may need.
    fn ceiling(&self, session: &Session) -> u32 {
        match self.broken().is(Mutation::PlaceAfterShrink) {
            true => session.database_pages,
            false => session.ceiling,
        }
    }

    /// Makes room in memory: places what waits, if the transaction appends so much that it will
    /// be placed anyway.
    pub(super) fn place_early(&self, session: &mut Session) -> io::Result<()> {
        let enough = self.options().append_in_place;
        let size = self.wal().page_size();
        let waiting = session.placing.waiting.len() * size;
        if session.placing.bytes < enough
            || waiting < EARLY.min(enough)
            || !matches!(session.phase, Phase::Live(_))
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
            // What a savepoint may bring back stays what it is.
            let is_first = !session.placing.written.contains(&number);
            if is_newest && is_first && self.wal().page_number(frame) == Some(number) {
                pages.push((number, frame));
            }
        }
        self.place(session, &pages)
    }

    /// Before a transaction's record is written: writes its new pages to the database's file and
    /// flushes it, if they are enough. The page of the last frame is not in the WAL yet, and is
    /// not among them. Answers how many are in place.
    pub(super) fn place_appended(
        &self,
        session: &mut Session,
        last: u32,
        database_pages: u32,
    ) -> Result<usize, PlaceError> {
        let ceiling = self.ceiling(session);
        let (first, enough) = (
            session.committed_frame() + 1,
            self.options().append_in_place,
        );
        // One that appends nothing, or little in all, is done with here.
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
        self.place(session, &pages).map_err(PlaceError::Copy)?;
        if !self.broken().is(Mutation::AppendedUnflushed) {
            self.main().sync().map_err(PlaceError::Flush)?;
            session.database_dirty = false;
        }
        add(&self.counting().pages_in_place, placed as u64);
        Ok(placed)
    }

    /// Writes pages, in ascending order, to the database's file.
    fn place(&self, session: &mut Session, pages: &[(u32, u32)]) -> io::Result<()> {
        let Some(&(highest, _)) = pages.last() else {
            return Ok(());
        };
        if session.placing.len.is_none() {
            session.placing.len = Some(self.main().len()?);
        }
        // Before it is written: nobody cuts it off meanwhile, nor afterwards.
        session.placing.end = session.placing.end.max(highest);
        session.database_dirty = true;
        let size = self.wal().page_size();
        let mut gathered = Gathered::default();
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

    fn write_gathered(&self, gathered: &mut Gathered) -> io::Result<()> {
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

    /// The record could not be written behind pages that are in place: makes sure that none is
    /// there, since its pages will not be.
    pub(super) fn unmake_record(&self, session: &mut Session) -> io::Result<()> {
        match (&mut session.phase, session.tail) {
            (Phase::Live(log), Some(tail)) => log.destroy(&tail),
            _ => Ok(()),
        }
    }

    /// A transaction is over that was not published: what it wrote to the file goes, and nobody
    /// needs it. What fails leaves a file longer than the database in it, which SQLite and a
    /// checkpoint put up with.
    pub(super) fn forget_placed(&self, session: &mut Session) {
        let placing = std::mem::take(&mut session.placing);
        let Phase::Live(log) = &session.phase else {
            return;
        };
        // A record that could not be written may be there all the same.
        if session.failed {
            return;
        }
        // A checkpoint may have written up to the ceiling meanwhile.
        let kept = u64::from(session.ceiling) * u64::from(log.header().page_size);
        if let Some(len) = placing.len.map(|len| len.max(kept))
            && self.main().len().is_ok_and(|now| now > len)
            && self.main().set_len(len).is_ok()
        {
            session.database_dirty = true;
        }
    }
}
