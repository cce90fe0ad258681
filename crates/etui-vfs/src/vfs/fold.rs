//! Folding: once more pages of the volatile WAL are in its file than in memory, the oldest are
//! kept as what differs from the database's file, which is little. So hundreds of commits can
//! pass between checkpoints, and the kernel has little to write back of what nobody needs.
//!
//! Only the newest image of a page is folded. What lies below it is the page in the database's
//! file, which changes only when a checkpoint writes it: with this image, over which the same
//! differences make the same; with an older one, before which the image is unfolded; or when it
//! is cut off, before which it is unfolded too. An image that is about to be superseded is
//! unfolded, since a reader may need it longer. Page 1 is not folded: the guard is written there
//! by other ways. The hash of each image is kept and compared.

use std::io;

use super::database::Database;
use super::session::Session;
use crate::counters::add;
use crate::redo::guard;

/// How many images are folded at most after a commit.
const AT_ONCE: usize = 64;

impl Database {
    /// Reads a page of the database's file, which has it.
    pub(super) fn read_page(&self, number: u32, to: &mut [u8]) -> io::Result<()> {
        let offset = u64::from(number.saturating_sub(1)) * to.len() as u64;
        if self.main().read_at(to, offset)? < to.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        guard::hide(to, offset);
        Ok(())
    }

    /// Folds the oldest images of the volatile WAL if too many do not fit into memory.
    pub(super) fn fold(&self, session: &mut Session) {
        if !self.wal().is_short() {
            return;
        }
        let mut wal = self.wal_mut();
        let page_size = wal.page_size();
        for _ in 0..AT_ONCE {
            let Some((number, newest)) = session.next_to_fold() else {
                return;
            };
            let frame = newest.frame;
            let Session {
                before,
                after,
                folded,
                encoder,
                ..
            } = &mut *session;
            before.resize(page_size, 0);
            after.resize(page_size, 0);
            if number == 1 || wal.is_folded(frame) || self.read_page(number, before).is_err() {
                continue;
            }
            let unread = |_: u32, _: &mut [u8]| Err(io::ErrorKind::Unsupported.into());
            let Ok(image) = wal.page(frame, after, &unread) else {
                continue;
            };
            folded.clear();
            encoder.page(folded, number, Some(before), image, newest.hash);
            if folded.len() <= image.len() / 2 {
                if !wal.fold(frame, folded) {
                    return;
                }
                add(&self.counting().pages_folded, 1);
            }
            if !wal.is_short() {
                return;
            }
        }
    }

    /// Makes the newest image of a page whole again, if it is folded.
    pub(super) fn unfold(&self, session: &mut Session, number: u32) -> io::Result<()> {
        let Some(frame) = session.newest_frame(number) else {
            return Ok(());
        };
        if !self.wal().is_folded(frame) {
            return Ok(());
        }
        let mut wal = self.wal_mut();
        let buffer = &mut session.before;
        buffer.resize(wal.page_size(), 0);
        let below = |number, to: &mut [u8]| self.read_page(number, to);
        wal.page(frame, buffer, &below)?;
        wal.unfold(frame, buffer, &|| self.spill())?;
        session.may_fold(number, frame);
        Ok(())
    }

    /// The same before the page is written to the database, unless it is with that very image.
    pub(super) fn unfold_before_write(&self, session: &mut Session, number: u32) -> io::Result<()> {
        match session.newest_frame(number) {
            Some(frame) if self.frame_read() != Some(frame) => self.unfold(session, number),
            Some(_) | None => Ok(()),
        }
    }

    /// The same for all pages beyond a size.
    pub(super) fn unfold_beyond(&self, session: &mut Session, pages: u32) -> io::Result<()> {
        for number in session.newest_beyond(pages) {
            self.unfold(session, number)?;
        }
        Ok(())
    }
}
