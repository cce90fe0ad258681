//! [`Database`]: a database that connections of this process have open; setting its header marker,
//! and closing it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use etui_vfs_base::base_vfs::BaseVfs;
use etui_vfs_base::fork::fork_count;
use libsqlite3_sys as ffi;

use super::buffered_file::{BufferedFile, SharedBuffer};
use super::commit::is_no_space;
use super::locks::LockTable;
use super::session::{ResultCode, Session, SessionPhase};
use super::wal_index::WalIndex;
use super::{Options, VfsState, record_refusal};
use crate::counters::{AtomicCounters, CountedFile};
use crate::device::{Access, DatabaseLock, File, Lock, Role};
use crate::mutation::{BrokenRule, Mutation};
use crate::redo::log::{LogHeader, LogTail, RedoLog};
use crate::redo::recover::Replayed;
use crate::wal_image::WalImage;
use etui_vfs_base::header_marker::{self, HeaderBytes};

/// A database, shared by all connections of this process that have it open.
///
/// Locks are taken in the order of the fields.
#[derive(Debug)]
pub(crate) struct Database {
    pub(super) shared: &'static VfsState,
    pub(super) path: PathBuf,
    pub(super) options: Options,
    pub(super) main: BufferedFile,
    /// The lock of the database file that excludes all other processes.
    pub(super) gate: Box<dyn DatabaseLock>,
    /// The fork count of the process that opened it.
    forks: u64,
    /// The session is attached.
    pub(super) ready: AtomicBool,
    /// A thread with the session is doing an idle checkpoint.
    pub(super) settling: AtomicBool,
    session: Mutex<Session>,
    wal: RwLock<WalImage>,
    locks: Mutex<LockTable>,
    index: Mutex<WalIndex>,
    /// Written while the header marker is set or cleared.
    pub(super) header: RwLock<()>,
}

/// Returns the path of a file next to a database.
pub(super) fn sibling_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Defines a lock accessor. A poisoned lock is ignored: a panicked thread leaves no inconsistent
/// state.
macro_rules! access {
    ($name:ident -> $guard:ident<$kind:ty> = $field:ident.$lock:ident()) => {
        pub(super) fn $name(&self) -> $guard<'_, $kind> {
            self.$field.$lock().unwrap_or_else(PoisonError::into_inner)
        }
    };
}

impl Database {
    pub fn open(
        shared: &'static VfsState,
        path: &Path,
        access: Access,
        options: Options,
    ) -> io::Result<Self> {
        if let Some(name) = shared.platform.network_file_system(path) {
            let path = path.display();
            let what = format!("{path} is on {name}, a file system of the network");
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        if !etui_vfs_base::has_ofd_locks() {
            let what = "this system has no locks of open files (OFD), which the redo log needs: use \
                        SQLite's own WAL (redo_log=never)";
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        let mut file = shared.platform.open(Some(path), Role::Database, access)?;
        let gate = shared.platform.open_lock(path)?;
        if file.host().is_some_and(|host| host.has_moved()) {
            return Err(io::Error::other("it was renamed while it was opened"));
        }
        let file = CountedFile::new(file, Role::Database, &shared.counting);
        let buffer = SharedBuffer::new(options.buffer_options(), shared.broken);
        Ok(Self {
            shared,
            path: path.to_owned(),
            options,
            main: BufferedFile::new(file, buffer),
            gate,
            forks: fork_count(),
            ready: AtomicBool::new(false),
            settling: AtomicBool::new(false),
            session: Mutex::default(),
            wal: RwLock::new(WalImage::new(options.wal_memory)),
            locks: Mutex::default(),
            index: Mutex::default(),
            header: RwLock::new(()),
        })
    }

    access!(session -> MutexGuard<Session> = session.lock());
    access!(wal -> RwLockReadGuard<WalImage> = wal.read());
    access!(wal_mut -> RwLockWriteGuard<WalImage> = wal.write());
    access!(locks -> MutexGuard<LockTable> = locks.lock());
    access!(index -> MutexGuard<WalIndex> = index.lock());

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if this process opened it; a child has none of its parent's locks.
    pub(super) fn is_ours(&self) -> bool {
        self.forks == fork_count()
    }

    pub(super) fn shared(&self) -> &'static VfsState {
        self.shared
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    pub(super) fn main(&self) -> &dyn File {
        &self.main
    }

    pub(super) fn buffered(&self) -> &BufferedFile {
        &self.main
    }

    pub(super) fn broken(&self) -> BrokenRule {
        self.shared.broken
    }

    pub(super) fn atomic_counters(&self) -> &Arc<AtomicCounters> {
        &self.shared.counting
    }

    /// Opens a file for pages that do not fit into memory.
    pub(super) fn open_spill_file(&self) -> io::Result<Box<dyn File>> {
        let access = Access {
            write: true,
            create: true,
        };
        let file = self.shared.platform.open(None, Role::Temporary, access)?;
        let file = CountedFile::new(file, Role::Temporary, &self.shared.counting);
        Ok(Box::new(file))
    }

    /// Reports an error to SQLite's log.
    pub(super) fn report_error(&self, code: ResultCode, what: &str) {
        record_refusal(code, &format!("{}: {what}", self.path.display()));
    }

    pub(super) fn refuse_with(&self, code: ResultCode, what: &str) -> ResultCode {
        self.report_error(code, what);
        code
    }

    pub(super) fn io_failure(&self, what: &str, error: &io::Error) -> ResultCode {
        let code = match is_no_space(error) {
            true => ffi::SQLITE_FULL,
            false => ffi::SQLITE_IOERR,
        };
        self.refuse_with(code, &format!("{what}: {error}"))
    }

    /// Creates the log and sets the header marker, both durably, before the first record.
    pub(super) fn start_log(
        &self,
        session: &mut Session,
        page_size: usize,
    ) -> Result<(), ResultCode> {
        let shared = self.shared;
        let platform = &*shared.platform;
        let page_size = u32::try_from(page_size).map_err(|_| ffi::SQLITE_IOERR_WRITE)?;
        self.check_name()?;
        let Some(mut header) = self.read_header()? else {
            return Err(self.refuse_with(ffi::SQLITE_IOERR_SHORT_READ, "it has no header"));
        };
        if !header_marker::is_database(&header) {
            // A SQLite with another header format: the marker would not be recognised.
            return Err(self.refuse_with(ffi::SQLITE_IOERR_WRITE, "its header is not SQLite's"));
        }
        let wal = platform.exists(&sibling_path(&self.path, "-wal"));
        let wal = wal.map_err(|error| self.io_failure("its WAL cannot be looked for", &error))?;
        if wal || header_marker::log_lineage(&header).is_some() {
            // The lock excludes this, unless a program ignores it.
            let what = "another program used it meanwhile; close it and open it again";
            return Err(self.fail(session, what));
        }
        self.remove_journal(false)?;
        let path = sibling_path(&self.path, "-redo");
        let mut log = self.create_log(&path)?;
        let database_pages = self.database_pages(page_size)?;
        let lineage = shared.log_lineage();
        let tail = self
            .sync_directory(session, &path, log.is_new())
            .and_then(|()| log.preallocate())
            .and_then(|()| log.next_epoch(lineage, page_size, true))
            .map_err(|error| self.io_failure("its log cannot be made", &error))?;
        let counted = !shared.broken.is(Mutation::MarkerKeepsCounters);
        header_marker::set(&mut header, lineage, counted);
        // From here on the marker may exist, whatever fails: this log belongs to it.
        if let Err(error) = self.write_header(&header) {
            let code = self.fail_io(session, "setting its header marker", &error);
            // There is no record; if this fails, too, the next open clears it.
            if self.clear_marker().is_ok() {
                let _ = log.next_epoch(lineage, page_size, false);
            }
            return Err(code);
        }
        session.database_pages = database_pages;
        session.begin_epoch(Some(tail));
        session.phase = SessionPhase::Live(Box::new(log));
        shared.watch_idle();
        Ok(())
    }

    /// Opens or creates the log, for a new session. A live log has commits of another database, whose
    /// name this one has now, and so has one that another process keeps open: this process has the lock of the
    /// database. It is put aside (rule 35).
    fn create_log(&self, path: &Path) -> Result<RedoLog, ResultCode> {
        let (shared, platform) = (self.shared, &*self.shared.platform);
        let open = || {
            let access = Access {
                write: true,
                create: true,
            };
            let sizes = self.options.log_sizes();
            let (counting, broken) = (&shared.counting, shared.broken);
            let opened = RedoLog::open(platform, path, access, sizes, counting, broken);
            opened.map_err(|error| self.io_failure("its log cannot be made", &error))
        };
        let lineage = match open()? {
            Some(log) if !log.header().live || shared.broken.is(Mutation::OverwriteForeignLog) => {
                return Ok(log);
            }
            Some(log) => log.header().lineage,
            None => self.lineage_at(path)?,
        };
        let aside = sibling_path(path, &format!("-{:032x}", u128::from_be_bytes(lineage)));
        let renamed = platform.rename(path, &aside);
        renamed.map_err(|error| {
            let what = "its log is another database's, and cannot be put aside";
            self.io_failure(what, &error)
        })?;
        let (log, aside) = (path.display(), aside.display());
        let message = format!("{log} has commits of another database; it is now {aside}");
        BaseVfs::log(ffi::SQLITE_WARNING, &message);
        let busy = || self.refuse_with(ffi::SQLITE_BUSY, "another process has its log");
        open()?.ok_or_else(busy)
    }

    /// Returns the lineage of a log that another process has open.
    fn lineage_at(&self, path: &Path) -> Result<[u8; 16], ResultCode> {
        let access = Access {
            write: false,
            create: false,
        };
        let opened = self.shared.platform.open(Some(path), Role::Redo, access);
        let header = opened.and_then(|file| LogHeader::read(&*file));
        match header {
            Ok(Some(header)) => Ok(header.lineage),
            // It is making it just now.
            Ok(None) => Err(self.refuse_with(ffi::SQLITE_BUSY, "another process has its log")),
            Err(error) => Err(self.io_failure("its log cannot be read", &error)),
        }
    }

    /// Makes the log's name and the deletion of rollback journals durable: once, until the log is
    /// created again, or the database may have journals again.
    fn sync_directory(&self, session: &mut Session, log: &Path, is_new: bool) -> io::Result<()> {
        if is_new && !self.shared.broken.is(Mutation::DirectorySyncedForEver) {
            session.directory_synced = false;
        }
        if !session.directory_synced && !self.shared.broken.is(Mutation::SkipDirectorySync) {
            self.shared.platform.sync_directory_of(log)?;
            session.directory_synced = true;
        }
        Ok(())
    }

    pub(super) fn write_header(&self, header: &HeaderBytes) -> io::Result<()> {
        let _alone = self.header.write().unwrap_or_else(PoisonError::into_inner);
        self.main.write_at(header, 0)?;
        if self.shared.broken.is(Mutation::MarkerWithoutFlush) {
            return Ok(());
        }
        self.main.sync()
    }

    pub(super) fn clear_marker(&self) -> Result<(), ResultCode> {
        let Some(mut header) = self.read_header()? else {
            return Ok(());
        };
        if header_marker::log_lineage(&header).is_none() && !header_marker::is_torn(&header) {
            return Ok(());
        }
        header_marker::clear(&mut header);
        self.write_header(&header)
            .map_err(|error| self.io_failure("clearing its header marker", &error))
    }

    /// Ends the log and clears the header marker if the database file has everything that was
    /// committed (rules 15 and 25). Otherwise both stay, and the next open replays the log.
    pub(super) fn finish(&self, session: &mut Session) -> Result<(), ResultCode> {
        let broken = self.shared.broken;
        let complete = session.is_backfilled() || broken.is(Mutation::EndWithoutBackfill);
        if session.failed || !complete {
            return Ok(());
        }
        let SessionPhase::Live(log) = &session.phase else {
            return Ok(());
        };
        let (lineage, page_size) = (log.header().lineage, log.header().page_size);
        if broken.is(Mutation::ClearBeforeEnd) {
            self.clear_marker()?;
        }
        match self.main.trim_to_len() {
            Ok(trimmed) => session.database_dirty |= trimmed,
            Err(error) => return Err(self.io_failure("setting its size", &error)),
        }
        if session.database_dirty
            && !broken.is(Mutation::EndWithoutDatabaseFlush)
            && let Err(code) = self.flush_database(session)
        {
            if session.failed {
                self.detach_log(session);
            }
            return Err(code);
        }
        if let SessionPhase::Live(log) = &mut session.phase
            && let Err(error) = log.next_epoch(lineage, page_size, false)
        {
            return Err(self.fail_io(session, "ending its log", &error));
        }
        if let Err(code) = self.clear_marker() {
            session.failed = true;
            self.detach_log(session);
            return Err(code);
        }
        session.begin_epoch(None);
        session.phase = SessionPhase::Plain;
        Ok(())
    }

    /// Detaches after a failure of the database file, while the log is intact: without a WAL the
    /// state is recovered from the log, as after a crash.
    fn detach_log(&self, session: &mut Session) {
        if session.wal_files == 0 {
            session.detach_log();
            self.ready.store(false, Ordering::Release);
        }
    }

    /// Ends the log before SQLite writes to the database without a WAL. SQLite may keep its lock
    /// when it leaves WAL mode.
    pub(super) fn leave_log(&self, session: &mut Session) -> Result<(), ResultCode> {
        match session.wal_files {
            0 => self.finish(session),
            _ => Ok(()),
        }
    }

    /// Counts a connection that opens the WAL.
    pub fn open_wal(&self) {
        self.session().wal_files += 1;
    }

    /// Counts a connection that closes the WAL. The last one leaves no WAL: commits that the
    /// database file lacks are in the log, which the next open replays.
    pub fn close_wal(&self) {
        let session = &mut *self.session();
        session.wal_files = session.wal_files.saturating_sub(1);
        if session.wal_files > 0 {
            return;
        }
        // A commit that a checkpoint did not see has failed.
        let _ = self.revoke_record(session);
        // A connection that has a lock already, and opens the WAL next, needs all of it in the file.
        if self.locks().is_shared_by_several() && !session.failed {
            let _ = self.backfill_database(session);
        }
        session.forget_frames();
        self.wal_mut().clear();
        self.index().clear();
        if !session.is_backfilled() && !self.broken().is(Mutation::EndWithoutBackfill) {
            // After a failure the redo log stays, and the next open replays it.
            let _ = self.flush_log(session);
            self.detach_log(session);
            self.reattach_if_exclusive(session);
        }
    }

    /// Deletes the WAL for SQLite, which has checkpointed all of it.
    pub fn delete_wal(&self) {
        let session = &mut *self.session();
        if session.wal_files == 0 {
            // A failure is in SQLite's log; the marker stays, and with it the log.
            if self.finish(session).is_err() {
                self.reattach_if_exclusive(session);
            }
            session.directory_synced = false;
        }
    }

    /// Truncates the WAL for SQLite. The log is not affected (rule 13).
    pub fn truncate_wal(&self, size: u64) -> Result<(), ResultCode> {
        let session = &mut *self.session();
        self.wal_mut().truncate(size);
        if self.broken().is(Mutation::TruncateRewindsLog)
            && let SessionPhase::Live(log) = &session.phase
        {
            session.tail = Some(LogTail::of_epoch(log.header()));
        }
        Ok(())
    }

    /// Returns true if SQLite must find a WAL, while this process is alone.
    pub fn has_wal(&self) -> bool {
        self.session().wal_files > 0
    }

    /// Closes the database for the last connection. Returns the offset from which its log is in
    /// doubt.
    pub fn close_last(&self) -> Option<u64> {
        let session = &mut *self.session();
        // After a failure the redo log stays, and the next open replays it.
        let _ = self.finish(session);
        if let SessionPhase::Plain = session.phase {
            let _ = self.main.flush().and_then(|()| self.main.trim_to_len());
        }
        session.detach_log();
        // Last: until then no other process may open the database.
        let _ = self.set_lock(Lock::None);
        session.doubtful
    }

    /// Replays the log if there is a header marker, ends it and clears the marker.
    pub(super) fn make_ordinary(&self) -> Result<Replayed, ResultCode> {
        let session = &mut *self.session();
        self.take_lock()?;
        let replayed = self.attach_locked(session)?;
        self.finish(session)?;
        Ok(replayed)
    }
}
