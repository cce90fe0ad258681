//! Idle checkpoints: a database without commits for a while becomes an ordinary one, though it
//! stays open. Programs are killed while they are idle, and some are never restarted (rule 29).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use etui_vfs_base::fork::fork_count;

use super::VfsState;
use super::database::Database;
use super::locks::{HeldLocks, LockSlots, READ, SLOTS};
use super::session::{ResultCode, Session, SessionPhase};
use crate::counters::add;
use etui_vfs_base::header_marker;

impl VfsState {
    /// Starts a thread that watches for idle databases, unless that is disabled.
    pub(super) fn watch_idle(&'static self) {
        let Some(idle) = self.options.idle else {
            return;
        };
        // A child of a fork has no threads of its parent.
        // 0 means that no process watches yet.
        let process = fork_count() + 1;
        if self.watching.swap(process, Ordering::Relaxed) == process {
            return;
        }
        let watch = move || {
            loop {
                std::thread::sleep(idle / 2);
                self.checkpoint_idle(idle);
            }
        };
        let thread = std::thread::Builder::new().name("etui-vfs".to_owned());
        // Without the thread, databases become ordinary when they are closed.
        let _ = thread.spawn(watch);
    }

    /// Checkpoints the databases without a commit for `idle`.
    pub(super) fn checkpoint_idle(&self, idle: Duration) {
        for database in self.registry.all() {
            database.checkpoint_idle(idle);
        }
    }
}

impl Database {
    /// Writes everything committed to the database file, ends the log and clears the header marker,
    /// if there was no commit for `idle` and nobody reads or writes now.
    fn checkpoint_idle(self: &Arc<Self>, idle: Duration) {
        let session = &mut *self.session();
        let SessionPhase::Live(_) = session.phase else {
            return;
        };
        if session.failed || session.idle_for() < idle {
            return;
        }
        let mut held = HeldLocks::default();
        // Set first: a connection that finds the index locked waits for this session.
        self.settling.store(true, Ordering::Release);
        let Some(all) = self.lock_whole_index(&mut held) else {
            self.settling.store(false, Ordering::Release);
            return;
        };
        // A failure is in SQLite's log; log and marker stay.
        let _ = self
            .backfill_indexed(session)
            .and_then(|()| self.finish(session));
        self.locks().unlock(&mut held, all);
        self.settling.store(false, Ordering::Release);
    }

    /// Locks the whole wal-index, if no connection holds a lock of it or is about to write.
    fn lock_whole_index(&self, held: &mut HeldLocks) -> Option<LockSlots> {
        let all = LockSlots::all();
        let mut locks = self.locks();
        // A connection with exclusive access takes no locks of the index.
        (!locks.is_reserved() && locks.lock(held, all, true)).then_some(all)
    }

    /// Waits for an idle checkpoint in progress, which is no reason to report SQLITE_BUSY.
    pub(super) fn wait_for_idle_checkpoint(&self) -> bool {
        let settling = self.settling.load(Ordering::Acquire);
        if settling {
            drop(self.session());
        }
        settling
    }

    /// Writes missing pages to the database file before SQLite rebuilds its wal-index, as some
    /// frames may have been released; the WAL is empty afterwards. The recovering connection has
    /// the locks to write and to checkpoint.
    pub(super) fn prepare_recovery(&self) {
        let session = &mut *self.session();
        let SessionPhase::Live(_) = session.phase else {
            return;
        };
        let is_read = (READ..SLOTS).any(|slot| self.locks().is_held(slot));
        if session.failed || session.has_unpublished() || !self.wal().has_released() || is_read {
            return;
        }
        // A failure is in SQLite's log; its recovery fails next, at a released frame.
        if self.backfill_database(session).is_ok() {
            let tail = session.tail;
            session.begin_epoch(tail);
            session.forget_frames();
            self.wal_mut().clear();
        }
    }

    /// Runs a checkpoint while nobody has any lock of the wal-index and its contents match this
    /// session.
    pub(super) fn backfill_indexed(&self, session: &mut Session) -> Result<(), ResultCode> {
        if session.is_backfilled() {
            return Ok(());
        }
        let salts = self.wal().wal_salts().unwrap_or_default();
        let last = session.committed_frame();
        if self.index().committed(salts) != Some(last) {
            // SQLite's state and ours differ, or a connection has a private index.
            return Err(libsqlite3_sys::SQLITE_BUSY);
        }
        self.backfill_database(session)?;
        self.index().set_backfilled(last);
        let mut wal = self.wal_mut();
        (1..=last).for_each(|frame| wal.release(frame));
        Ok(())
    }

    /// Writes the pages that the database file lacks, and flushes it.
    pub(super) fn backfill_database(&self, session: &mut Session) -> Result<(), ResultCode> {
        let SessionPhase::Live(log) = &session.phase else {
            return Ok(());
        };
        let (lineage, page_size) = (log.header().lineage, log.header().page_size as usize);
        self.flush_log(session)?;
        add(&self.atomic_counters().checkpoints, 1);
        let mut page = vec![0; page_size];
        let below = |number, to: &mut [u8]| self.read_page(number, to);
        for (number, frame) in session.not_backfilled() {
            let wal = self.wal();
            let mut buffer = vec![0; page_size];
            let written = wal.page(frame, &mut buffer, &below).and_then(|image| {
                page.copy_from_slice(image);
                if number == 1 {
                    header_marker::keep(&mut page, lineage);
                }
                session.database_dirty = true;
                let offset = u64::from(number - 1) * page_size as u64;
                let kept = self.options().gather;
                self.buffered().defer_write(&page, offset, kept)
            });
            if let Err(error) = written {
                return Err(self.io_failure("writing to it", &error));
            }
        }
        let size = u64::from(session.database_pages) * page_size as u64;
        let cut = match self.main().len() {
            Ok(len) if len != size => self.main().set_len(size),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        cut.map_err(|error| self.io_failure("setting its size", &error))?;
        // Readers use the database file from now on, so it must be flushed.
        self.flush_database(session)?;
        session.note_all_backfilled();
        Ok(())
    }
}
