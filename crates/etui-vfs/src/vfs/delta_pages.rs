//! Delta pages: once the file of the volatile WAL has more pages than memory, the oldest pages are
//! stored as deltas to the database file, which are small. Hundreds of commits can then pass
//! between checkpoints, and the kernel writes back few unneeded pages.
//!
//! Only the newest image of a page is stored as a delta. Its base is the page in the database file,
//! which changes only in three ways: a checkpoint writes this image, over which the delta gives the
//! same page; or an older one, before which the image is restored; or the page is truncated, before
//! which it is restored, too. An image that is about to be superseded is restored, since a reader
//! may still need it. Page 1 has no delta, as the header marker is written there by other code. The
//! hash of each image is stored and verified.

use std::io;

use super::database::Database;
use super::session::Session;
use crate::counters::add;
use etui_vfs_base::header_marker;

/// The maximum number of deltas after a commit.
const AT_ONCE: usize = 64;

impl Database {
    /// Reads an existing page of the database file.
    pub(super) fn read_page(&self, number: u32, to: &mut [u8]) -> io::Result<()> {
        let offset = u64::from(number.saturating_sub(1)) * to.len() as u64;
        if self.main().read_at(to, offset)? < to.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        header_marker::hide(to, offset);
        Ok(())
    }

    /// Stores the oldest images of the volatile WAL as deltas if too many do not fit into memory.
    pub(super) fn store_deltas(&self, session: &mut Session) {
        if !self.wal().exceeds_memory() {
            return;
        }
        let mut wal = self.wal_mut();
        let page_size = wal.page_size();
        for _ in 0..AT_ONCE {
            let Some((number, newest)) = session.next_delta_candidate() else {
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
            if number == 1 || wal.is_delta(frame) || self.read_page(number, before).is_err() {
                continue;
            }
            let unread = |_: u32, _: &mut [u8]| Err(io::ErrorKind::Unsupported.into());
            let Ok(image) = wal.page(frame, after, &unread) else {
                continue;
            };
            folded.clear();
            encoder.page(folded, number, Some(before), image, newest.hash);
            if folded.len() <= image.len() / 2 {
                if !wal.store_deltas(frame, folded) {
                    return;
                }
                add(&self.atomic_counters().pages_folded, 1);
            }
            if !wal.exceeds_memory() {
                return;
            }
        }
    }

    /// Stores the newest image of a page as a whole page again if it is a delta.
    pub(super) fn restore_whole_page(&self, session: &mut Session, number: u32) -> io::Result<()> {
        let Some(frame) = session.newest_frame(number) else {
            return Ok(());
        };
        if !self.wal().is_delta(frame) {
            return Ok(());
        }
        let mut wal = self.wal_mut();
        let buffer = &mut session.before;
        buffer.resize(wal.page_size(), 0);
        let below = |number, to: &mut [u8]| self.read_page(number, to);
        wal.page(frame, buffer, &below)?;
        wal.restore_whole_page(frame, buffer, &|| self.open_spill_file())?;
        session.queue_for_delta(number, frame);
        Ok(())
    }

    /// Restores the newest image of a page before the page is written to the database, unless with
    /// that image.
    pub(super) fn restore_before_write(
        &self,
        session: &mut Session,
        number: u32,
    ) -> io::Result<()> {
        match session.newest_frame(number) {
            Some(frame) if self.frame_read() != Some(frame) => {
                self.restore_whole_page(session, number)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Restores the newest images of all pages beyond a size.
    pub(super) fn restore_pages_beyond(&self, session: &mut Session, pages: u32) -> io::Result<()> {
        for number in session.newest_beyond(pages) {
            self.restore_whole_page(session, number)?;
        }
        Ok(())
    }
}
