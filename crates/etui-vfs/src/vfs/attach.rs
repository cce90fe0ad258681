//! Attaching a [`Database`]: its lock, its name, a WAL of SQLite's, and the replay of its log.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use etui_vfs_base::base_vfs::BaseVfs;
use libsqlite3_sys as ffi;

use super::database::{Database, sibling_path};
use super::session::{ResultCode, Session, SessionPhase};
use crate::counters::add;
use crate::device::{Access, File, Lock};
use crate::mutation::Mutation;
use crate::redo::log::{LogTail, RedoLog};
use crate::redo::recover::{ReplayError, Replayed, replay_log};
use etui_redo::codec::is_page_size;
use etui_vfs_base::header_marker::{self, HeaderBytes};

/// The number of times that SQLite settles a WAL of another process while a database is attached.
const MAX_SETTLED_WALS: usize = 3;

impl Database {
    /// Takes the database for this process, and replays its log if there is a header marker.
    /// Nothing may be read before.
    pub fn attach_session(&self) -> Result<(), ResultCode> {
        if self.ready.load(Ordering::Acquire) {
            return Ok(());
        }
        let session = &mut *self.session();
        if !matches!(session.phase, SessionPhase::Detached) {
            return Ok(());
        }
        // A connection that left WAL mode with a lock reattaches by itself: its data must not
        // change, and the process's lock must not be released.
        if self.locks().is_locked() {
            return Err(ffi::SQLITE_BUSY);
        }
        self.take_lock()?;
        let attached = self.attach_locked(session);
        match attached {
            Ok(_) => self.ready.store(true, Ordering::Release),
            Err(_) => {
                // The error to report is that of the attachment.
                let _ = self.set_lock(Lock::None);
            }
        }
        attached.map(|_| ())
    }

    /// Replays the log for a connection that left WAL mode and kept its lock, while nobody else
    /// reads the database. Not with a rollback journal, which may be its own and lacks the replayed
    /// changes. Not after a failure of the log, which may contain a failed commit that the
    /// connection's pages lack.
    pub(super) fn reattach(&self, session: &mut Session) -> Result<(), ResultCode> {
        let SessionPhase::Detached = session.phase else {
            return Ok(());
        };
        if session.log_failed {
            return Err(ffi::SQLITE_IOERR);
        }
        let journal = self
            .shared
            .platform
            .exists(&sibling_path(&self.path, "-journal"));
        if journal.map_err(|error| self.io_failure("its journal cannot be looked for", &error))? {
            return Err(ffi::SQLITE_IOERR);
        }
        self.take_lock()?;
        self.attach_locked(session)?;
        self.ready.store(true, Ordering::Release);
        Ok(())
    }

    /// Reattaches for a connection that leaves WAL mode with exclusive access.
    pub(super) fn reattach_if_exclusive(&self, session: &mut Session) {
        if self.locks().is_exclusive() {
            // A failure is in SQLite's log; the next read tries again.
            let _ = self.reattach(session);
        }
    }

    /// Returns true if the database file, with the volatile WAL, has the committed state.
    pub(super) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    pub(super) fn set_lock(&self, lock: Lock) -> io::Result<bool> {
        match self.shared.broken.is(Mutation::PosixGate) {
            true => self.main.lock(lock),
            false => self.gate.set(lock),
        }
    }

    pub(super) fn take_lock(&self) -> Result<(), ResultCode> {
        match self.set_lock(Lock::Exclusive) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let holder = self.shared.platform.lock_holder(&self.path);
                let who = match holder {
                    Some(process) => format!("{process} has it open"),
                    None => "another process, or a connection of this one without etui's VFS, has it open".to_owned(),
                };
                Err(self.refuse_with(ffi::SQLITE_BUSY, &who))
            }
            Err(error) => Err(self.io_failure("it cannot be locked", &error)),
        }
    }

    pub(super) fn read_header(&self) -> Result<Option<HeaderBytes>, ResultCode> {
        let mut header = [0; header_marker::HEADER];
        match self.main.read_at(&mut header, 0) {
            Ok(header_marker::HEADER) => Ok(Some(header)),
            Ok(_) => Ok(None),
            Err(error) => Err(self.io_failure("its header cannot be read", &error)),
        }
    }

    pub(super) fn attach_locked(&self, session: &mut Session) -> Result<Replayed, ResultCode> {
        let replayed = self.load_state(session)?;
        session.failed = false;
        session.log_failed = false;
        session.doubtful = None;
        Ok(replayed)
    }

    /// Checks that the database has its name, before a file is opened, created or removed by a name
    /// derived from it (rule 34): it may have been renamed or deleted while it was open, and the
    /// name be another database's.
    pub(super) fn check_name(&self) -> Result<(), ResultCode> {
        if self.shared.broken.is(Mutation::TrustNames) {
            return Ok(());
        }
        let locked = self.gate.identity();
        let locked = locked.map_err(|error| self.io_failure("its file is unknown", &error))?;
        let is_named = match self.shared.platform.file_identity(&self.path) {
            Ok(named) => named == locked,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(self.io_failure("its name is unknown", &error)),
        };
        match is_named || locked.is_none() {
            true => Ok(()),
            false => {
                let what = "it was renamed or deleted while it was open";
                Err(self.refuse_with(ffi::SQLITE_READONLY_DBMOVED, what))
            }
        }
    }

    /// Examines the database, whose lock this process has.
    fn load_state(&self, session: &mut Session) -> Result<Replayed, ResultCode> {
        for _ in 0..MAX_SETTLED_WALS {
            self.check_name()?;
            let header = self.read_header()?;
            if let Some(replayed) = self.load_state_of(session, header)? {
                return Ok(replayed);
            }
            // Others may have had the database meanwhile (rule 33).
            if self.shared.broken.is(Mutation::AttachKeepsHeader)
                && let Some(replayed) = self.load_state_of(session, header)?
            {
                return Ok(replayed);
            }
        }
        Err(self.refuse_with(ffi::SQLITE_BUSY, "another process uses it by a WAL"))
    }

    /// Examines a database with this header. Returns `None` if SQLite settled a WAL, and the header
    /// must be read again.
    fn load_state_of(
        &self,
        session: &mut Session,
        header: Option<HeaderBytes>,
    ) -> Result<Option<Replayed>, ResultCode> {
        self.main.buffer().invalidate_read_ahead();
        let lineage = header.as_ref().and_then(header_marker::log_lineage);
        let wal = sibling_path(&self.path, "-wal");
        let wal_is_there = || {
            let there = self.shared.platform.exists(&wal);
            there.map_err(|error| self.io_failure("its WAL cannot be looked for", &error))
        };
        match lineage {
            Some(lineage) => {
                if wal_is_there()? {
                    let what = "its changes are in a log of etui's VFS, but there is a WAL beside \
                                it that does not belong to it; move the WAL away";
                    return Err(self.refuse_with(ffi::SQLITE_CANTOPEN, what));
                }
                self.replay_log(session, lineage).map(Some)
            }
            None => {
                if header.as_ref().is_some_and(header_marker::is_torn) {
                    self.clear_marker()?;
                } else if session.failed
                    && let Some(header) = &header
                {
                    // The flush of a cleared marker may have failed.
                    let written = self.write_header(header);
                    written
                        .map_err(|error| self.io_failure("clearing its header marker", &error))?;
                }
                if wal_is_there()? {
                    self.recover_foreign_wal(&wal)?;
                    return Ok(None);
                }
                session.directory_synced = false;
                session.phase = SessionPhase::Plain;
                Ok(Some(Replayed::default()))
            }
        }
    }

    /// Lets SQLite itself recover a WAL that it left (rule 26). A shared lock keeps other processes
    /// from committing with this VFS meanwhile. With a rollback journal SQLite may need the
    /// database to itself, and there is no lock.
    fn recover_foreign_wal(&self, wal: &Path) -> Result<(), ResultCode> {
        let platform = &self.shared.platform;
        let look = |path: &Path| {
            let there = platform.exists(path);
            there.map_err(|error| self.io_failure("its WAL cannot be looked for", &error))
        };
        let kept = match look(&sibling_path(&self.path, "-journal"))? {
            true => Lock::None,
            false => Lock::Shared,
        };
        let lowered = self.set_lock(kept);
        lowered.map_err(|error| self.io_failure("it cannot be unlocked", &error))?;
        let settled = platform.recover_foreign_wal(&self.path);
        let settled = settled.map_err(|error| self.io_failure("its WAL", &error));
        if let Err(code) = settled.and_then(|()| self.take_lock()) {
            // The error to report is that of the recovery.
            let _ = self.set_lock(Lock::None);
            return Err(code);
        }
        self.check_name()?;
        // SQLite deletes its files only with an exclusive lock. Now nobody has the database open
        // with a WAL.
        if !look(wal)? {
            let index = sibling_path(&self.path, "-shm");
            let removed = platform.remove(wal, false);
            let removed = removed.and_then(|()| platform.remove(&index, false));
            removed.map_err(|error| self.io_failure("its WAL cannot be removed", &error))?;
        }
        Ok(())
    }

    /// Removes a rollback journal that SQLite no longer needs. A database with a header marker has
    /// none, but a deleted one may reappear after a power failure and would undo later commits.
    pub(super) fn remove_journal(&self, durably: bool) -> Result<(), ResultCode> {
        let journal = sibling_path(&self.path, "-journal");
        let removed = self.shared.platform.remove(&journal, durably);
        removed.map_err(|error| self.io_failure("its journal cannot be removed", &error))
    }

    /// Removes a journal from before the header marker, durably, before the marker is cleared.
    fn remove_old_journal(&self) -> Result<(), ResultCode> {
        let journal = self
            .shared
            .platform
            .exists(&sibling_path(&self.path, "-journal"));
        if journal.map_err(|error| self.io_failure("its journal cannot be looked for", &error))? {
            self.remove_journal(true)?;
        }
        Ok(())
    }

    fn replay_log(&self, session: &mut Session, lineage: [u8; 16]) -> Result<Replayed, ResultCode> {
        let shared = self.shared;
        let path = sibling_path(&self.path, "-redo");
        let access = Access {
            write: true,
            create: false,
        };
        let opened = RedoLog::open(
            &*shared.platform,
            &path,
            access,
            self.options.log_sizes(),
            &shared.counting,
            shared.broken,
        );
        let mut log = match opened {
            Ok(Some(log)) => log,
            Ok(None) => {
                return Err(self.refuse_with(ffi::SQLITE_BUSY, "another process has its log"));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if shared.broken.is(Mutation::ClearWithoutLog) {
                    self.clear_marker()?;
                    session.phase = SessionPhase::Plain;
                    return Ok(Replayed::default());
                }
                let what = format!(
                    "its last changes are in {}, which is not there",
                    path.display()
                );
                return Err(self.refuse_with(ffi::SQLITE_CANTOPEN, &what));
            }
            Err(error) => return Err(self.io_failure("its log cannot be opened", &error)),
        };
        let is_ours = log.select_lineage(lineage);
        let is_ours = is_ours.map_err(|error| self.io_failure("its log cannot be read", &error))?;
        let header = *log.header();
        if !is_ours && !shared.broken.is(Mutation::ReplayAnyLineage) {
            let what = format!(
                "its last changes are not in {}, which belongs to another database or to another \
                 copy of this one; put the log that belongs to it there, or restore a backup",
                path.display()
            );
            return Err(self.refuse_with(ffi::SQLITE_CANTOPEN, &what));
        }
        if !is_page_size(header.page_size as usize) {
            return Err(self.refuse_with(ffi::SQLITE_CANTOPEN, "its log is damaged"));
        }
        if !header.live {
            // The log was ended, but the header marker was not cleared.
            self.remove_old_journal()?;
            self.clear_marker()?;
            session.phase = SessionPhase::Plain;
            return Ok(Replayed::default());
        }
        if let Some(from) = session.doubtful {
            let written = log.rewrite_from(from);
            written.map_err(|error| self.io_failure("writing to its log", &error))?;
        }
        let spill = || self.open_spill_file();
        let replayed = replay_log(
            &self.main,
            log.file(),
            &header,
            self.options.wal_memory,
            &spill,
            shared.broken,
        )
        .map_err(|error| match error {
            ReplayError::Damaged(why) => {
                let what = format!("{} cannot be replayed: {why}", path.display());
                self.refuse_with(ffi::SQLITE_CANTOPEN, &what)
            }
            ReplayError::Io(error) => self.io_failure("replaying its log", &error),
        })?;
        self.remove_old_journal()?;
        session.database_dirty = false;
        session.database_pages = match replayed.database_pages {
            Some(pages) => pages,
            // The file keeps its length: the header alone does not justify truncating possible
            // data.
            None => self.database_pages(header.page_size)?,
        };
        let tail = self.begin_lineage(&mut log)?;
        session.begin_epoch(Some(tail));
        session.forget_frames();
        add(&shared.counting.recoveries, 1);
        if replayed.records > 0 {
            let (records, log) = (replayed.records, path.display());
            let message = format!("recovered {records} transactions from the redo log {log}");
            BaseVfs::log(ffi::SQLITE_NOTICE_RECOVER_WAL, &message);
        }
        session.phase = SessionPhase::Live(Box::new(log));
        Ok(replayed)
    }

    /// Begins an epoch with a lineage of its own after a replay: if copies of a database and its log
    /// are recovered separately, the log of one is not replayed over another. Until the marker has
    /// the new lineage, the epoch before is replayed again.
    fn begin_lineage(&self, log: &mut RedoLog) -> Result<LogTail, ResultCode> {
        let lineage = self.shared.log_lineage();
        let page_size = log.header().page_size;
        let opening = |error| self.io_failure("opening an epoch of its log", &error);
        let tail = log.open_epoch(lineage, page_size, true).map_err(opening)?;
        let Some(mut header) = self.read_header()? else {
            return Err(self.refuse_with(ffi::SQLITE_IOERR_SHORT_READ, "it has no header"));
        };
        header_marker::set(&mut header, lineage, false);
        let written = self.write_header(&header);
        written.map_err(|error| self.io_failure("setting its header marker", &error))?;
        log.return_to_rest().map_err(opening)?;
        Ok(tail)
    }

    /// Returns the size of the database by its header, or by its file if that is shorter.
    pub(super) fn database_pages(&self, page_size: u32) -> Result<u32, ResultCode> {
        let len = self.main.len();
        let len = len.map_err(|error| self.io_failure("its size is unknown", &error))?;
        let there = u32::try_from(len / u64::from(page_size.max(1))).unwrap_or(u32::MAX);
        let told = self.read_header()?.as_ref().and_then(header_marker::pages);
        Ok(told.map_or(there, |told| told.min(there)))
    }
}
