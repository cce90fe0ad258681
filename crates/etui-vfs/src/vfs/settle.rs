//! Settling: after an idle moment a database becomes an ordinary one, though it stays open.
//! Programs are killed while they are idle, and some are never started again: rule 29.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Shared;
use super::database::Database;
use super::locks::{Held, READ, SLOTS, Slots};
use super::session::{Code, Phase, Session};
use crate::counters::add;
use crate::redo::guard;

impl Shared {
    /// Has a thread look for idle databases from now on, if that is wanted.
    pub(super) fn watch_idle(&'static self) {
        let Some(idle) = self.options.idle else {
            return;
        };
        self.watching.call_once(|| {
            let watch = move || {
                loop {
                    std::thread::sleep(idle / 2);
                    self.settle(idle);
                }
            };
            let thread = std::thread::Builder::new().name("etui-vfs".to_owned());
            // Without the thread databases are settled when they are closed.
            let _ = thread.spawn(watch);
        });
    }

    /// Settles the databases that nobody has committed to for so long.
    pub(super) fn settle(&self, idle: Duration) {
        for database in self.registry.all() {
            database.settle(idle);
        }
    }
}

impl Database {
    /// Brings all that was committed to the database's file, ends the log and clears the guard,
    /// if nobody has used it for so long and nobody reads or writes now.
    fn settle(self: &Arc<Self>, idle: Duration) {
        let session = &mut *self.session();
        let Phase::Live(_) = session.phase else {
            return;
        };
        if session.failed || session.idle_for() < idle {
            return;
        }
        let Some(all) = Slots::new(0, 8) else {
            return;
        };
        let mut held = Held::default();
        {
            let mut locks = self.locks();
            // One that has the database for itself takes no locks of the index.
            if locks.is_reserved() || !locks.lock(&mut held, all, true) {
                return;
            }
            self.settling.store(true, Ordering::Release);
        }
        // What fails is in SQLite's log, and log and guard stay.
        let _ = self
            .backfill_indexed(session)
            .and_then(|()| self.finish(session));
        self.locks().unlock(&mut held, all);
        self.settling.store(false, Ordering::Release);
    }

    /// Waits for who settles the database, if somebody does: that is no reason to tell SQLite
    /// that it is busy.
    pub(super) fn wait_until_settled(&self) -> bool {
        let settling = self.settling.load(Ordering::Acquire);
        if settling {
            drop(self.session());
        }
        settling
    }

    /// SQLite is about to make its index of the WAL anew, from frames of which some may be gone:
    /// the database gets what it does not have, and the WAL is empty then. The connection that
    /// recovers has the locks to write and to checkpoint.
    pub(super) fn prepare_recovery(&self) {
        let session = &mut *self.session();
        let Phase::Live(_) = session.phase else {
            return;
        };
        let is_read = (READ..SLOTS).any(|slot| self.locks().is_held(slot));
        if session.failed || session.has_unpublished() || !self.wal().has_gone() || is_read {
            return;
        }
        // What fails is in SQLite's log; its recovery fails next, on a frame that is gone.
        if self.backfill(session).is_ok() {
            let tail = session.tail;
            session.begin_epoch(tail);
            session.forget_frames();
            self.wal_mut().clear();
        }
    }

    /// A checkpoint of our own, while nobody has any lock of the index, and SQLite's index tells
    /// what we know.
    fn backfill_indexed(&self, session: &mut Session) -> Result<(), Code> {
        if session.is_backfilled() {
            return Ok(());
        }
        let salts = self.wal().salts().unwrap_or_default();
        let last = session.committed_frame();
        if self.index().committed(salts) != Some(last) {
            // SQLite and we disagree, or a connection has an index of its own.
            return Err(libsqlite3_sys::SQLITE_BUSY);
        }
        self.backfill(session)?;
        self.index().set_backfilled(last);
        let mut wal = self.wal_mut();
        (1..=last).for_each(|frame| wal.release(frame));
        Ok(())
    }

    /// Brings to the database's file what it does not have, and flushes it.
    fn backfill(&self, session: &mut Session) -> Result<(), Code> {
        let Phase::Live(log) = &session.phase else {
            return Ok(());
        };
        let (lineage, page_size) = (log.header().lineage, log.header().page_size as usize);
        self.flush_log(session)?;
        add(&self.counting().checkpoints, 1);
        let mut page = vec![0; page_size];
        let below = |number, to: &mut [u8]| self.read_page(number, to);
        for (number, frame) in session.not_backfilled() {
            let wal = self.wal();
            let mut buffer = vec![0; page_size];
            let written = wal.page(frame, &mut buffer, &below).and_then(|image| {
                page.copy_from_slice(image);
                if number == 1 {
                    guard::keep(&mut page, lineage);
                }
                session.database_dirty = true;
                let offset = u64::from(number - 1) * page_size as u64;
                let kept = self.options().gather;
                self.buffered().write_later(&page, offset, kept)
            });
            if let Err(error) = written {
                return Err(self.failure("writing to it", &error));
            }
        }
        let size = u64::from(session.database_pages) * page_size as u64;
        let cut = match self.main().len() {
            Ok(len) if len != size => self.main().set_len(size),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        cut.map_err(|error| self.failure("setting its size", &error))?;
        // Readers use the database's file from now on, once it is flushed.
        if let Err(error) = self.main().sync() {
            return Err(self.fail_flush(session, &error));
        }
        session.database_dirty = false;
        session.note_all_backfilled();
        Ok(())
    }
}
