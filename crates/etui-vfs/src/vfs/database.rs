//! [`Database`]: a database that connections of this process have open: how it is taken, how it
//! becomes guarded, and how it is given back.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use libsqlite3_sys as ffi;

use super::buffered::{Buffer, Buffered};
use super::index::WalIndex;
use super::locks::Locks;
use super::session::{Code, Phase, Session};
use super::{Options, Shared, refuse};
use crate::counters::{CountedFile, Counting, add};
use crate::device::{Access, File, Lock, Role};
use crate::fork::forks;
use crate::host::Host;
use crate::mutation::{Broken, Mutation};
use crate::redo::codec::is_page_size;
use crate::redo::guard::{self, Bytes};
use crate::redo::log::{Log, Tail};
use crate::redo::recover::{ReplayError, Replayed, replay};
use crate::wal_image::WalImage;

/// A database, shared by all connections of this process that have it open.
///
/// Locks are taken in the order of the fields.
#[derive(Debug)]
pub(crate) struct Database {
    shared: &'static Shared,
    path: PathBuf,
    options: Options,
    /// Holds the lock of the database's file that keeps all other processes out.
    main: Buffered,
    /// In which process it was opened.
    forks: u64,
    /// Whether the session is attached.
    ready: AtomicBool,
    /// Whether somebody who has the session brings all to the database's file.
    pub(super) settling: AtomicBool,
    session: Mutex<Session>,
    wal: RwLock<WalImage>,
    locks: Mutex<Locks>,
    index: Mutex<WalIndex>,
    /// Written while the guard is set or cleared.
    pub(super) header: RwLock<()>,
}

/// A name beside a database.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Locks; a thread that panicked while it had the lock left nothing half done that matters more
/// than going on.
macro_rules! access {
    ($name:ident -> $guard:ident<$kind:ty> = $field:ident.$lock:ident()) => {
        pub(super) fn $name(&self) -> $guard<'_, $kind> {
            self.$field.$lock().unwrap_or_else(PoisonError::into_inner)
        }
    };
}

impl Database {
    pub fn open(
        shared: &'static Shared,
        path: &Path,
        access: Access,
        options: Options,
    ) -> io::Result<Self> {
        let file = shared.platform.open(Some(path), Role::Database, access)?;
        let file = CountedFile::new(file, Role::Database, &shared.counting);
        let buffer = Buffer::new(options.tuning(), shared.broken);
        Ok(Self {
            shared,
            path: path.to_owned(),
            options,
            main: Buffered::new(file, buffer),
            forks: forks(),
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
    access!(locks -> MutexGuard<Locks> = locks.lock());
    access!(index -> MutexGuard<WalIndex> = index.lock());

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it was opened by this process; a child has no locks of its parent's.
    pub(super) fn is_ours(&self) -> bool {
        self.forks == forks()
    }

    pub(super) fn shared(&self) -> &'static Shared {
        self.shared
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    pub(super) fn main(&self) -> &dyn File {
        &self.main
    }

    pub(super) fn buffered(&self) -> &Buffered {
        &self.main
    }

    pub(super) fn broken(&self) -> Broken {
        self.shared.broken
    }

    pub(super) fn counting(&self) -> &Arc<Counting> {
        &self.shared.counting
    }

    /// Opens what takes the pages that do not fit into memory.
    pub(super) fn spill(&self) -> io::Result<Box<dyn File>> {
        let access = Access {
            write: true,
            create: true,
        };
        let file = self.shared.platform.open(None, Role::Temporary, access)?;
        let file = CountedFile::new(file, Role::Temporary, &self.shared.counting);
        Ok(Box::new(file))
    }

    /// Tells SQLite's log what is wrong.
    pub(super) fn complain(&self, code: Code, what: &str) {
        refuse(code, &format!("{}: {what}", self.path.display()));
    }

    fn refusal(&self, code: Code, what: &str) -> Code {
        self.complain(code, what);
        code
    }

    pub(super) fn failure(&self, what: &str, error: &io::Error) -> Code {
        let code = match error.kind() {
            io::ErrorKind::StorageFull => ffi::SQLITE_FULL,
            _ => ffi::SQLITE_IOERR,
        };
        self.refusal(code, &format!("{what}: {error}"))
    }

    /// Takes the database for this process, and replays its log if there is a guard. Nothing of
    /// it is to be read before.
    pub fn attach(&self) -> Result<(), Code> {
        if self.ready.load(Ordering::Acquire) {
            return Ok(());
        }
        let session = &mut *self.session();
        if !matches!(session.phase, Phase::Detached) {
            return Ok(());
        }
        // Who left WAL mode and kept a lock takes it up itself, if that can be: what it has read
        // must not change below it, nor the process's lock go.
        if self.locks().is_locked() {
            return Err(ffi::SQLITE_BUSY);
        }
        self.take_lock()?;
        let attached = self.attach_locked(session);
        match attached {
            Ok(_) => self.ready.store(true, Ordering::Release),
            Err(_) => {
                let _ = self.main.lock(Lock::None);
            }
        }
        attached.map(|_| ())
    }

    /// Replays the log for a connection that left WAL mode and kept its lock; nobody else reads
    /// the database. Not while there is a rollback journal, which may be its own: what is
    /// replayed is not in it. Not after a failure of the log: a commit that failed may be in it,
    /// and the connection has pages of without.
    pub(super) fn regain(&self, session: &mut Session) -> Result<(), Code> {
        let Phase::Detached = session.phase else {
            return Ok(());
        };
        if session.log_failed {
            return Err(ffi::SQLITE_IOERR);
        }
        let journal = self.shared.platform.exists(&beside(&self.path, "-journal"));
        if journal.map_err(|error| self.failure("its journal cannot be looked for", &error))? {
            return Err(ffi::SQLITE_IOERR);
        }
        self.take_lock()?;
        self.attach_locked(session)?;
        self.ready.store(true, Ordering::Release);
        Ok(())
    }

    /// Who has the database for itself when it leaves WAL mode goes on with its lock.
    fn regain_if_exclusive(&self, session: &mut Session) {
        if self.locks().is_exclusive() {
            // What fails is in SQLite's log; it is tried again at the next read.
            let _ = self.regain(session);
        }
    }

    /// Whether the database's file, with the volatile WAL, is what was committed.
    pub(super) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    fn take_lock(&self) -> Result<(), Code> {
        match self.main.lock(Lock::Exclusive) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let holder = self.shared.platform.holder(&self.path);
                let who = match holder {
                    Some(process) => format!("process {process} has it open"),
                    None => "another process, or a connection of this one without etui's VFS, has it open".to_owned(),
                };
                Err(self.refusal(ffi::SQLITE_BUSY, &who))
            }
            Err(error) => Err(self.failure("it cannot be locked", &error)),
        }
    }

    fn read_header(&self) -> Result<Option<Bytes>, Code> {
        let mut header = [0; guard::HEADER];
        match self.main.read_at(&mut header, 0) {
            Ok(guard::HEADER) => Ok(Some(header)),
            Ok(_) => Ok(None),
            Err(error) => Err(self.failure("its header cannot be read", &error)),
        }
    }

    fn attach_locked(&self, session: &mut Session) -> Result<Replayed, Code> {
        let replayed = self.take_up(session)?;
        session.failed = false;
        session.log_failed = false;
        session.doubtful = None;
        Ok(replayed)
    }

    fn take_up(&self, session: &mut Session) -> Result<Replayed, Code> {
        self.main.buffer().forget_read();
        let header = self.read_header()?;
        let lineage = header.as_ref().and_then(guard::lineage);
        let wal = beside(&self.path, "-wal");
        let wal_is_there = || {
            let there = self.shared.platform.exists(&wal);
            there.map_err(|error| self.failure("its WAL cannot be looked for", &error))
        };
        match lineage {
            Some(lineage) => {
                if wal_is_there()? {
                    let what = "its changes are in a log of etui's VFS, but there is a WAL beside \
                                it that does not belong to it; move the WAL away";
                    return Err(self.refusal(ffi::SQLITE_CANTOPEN, what));
                }
                self.replay(session, lineage)
            }
            None => {
                if header.as_ref().is_some_and(guard::is_torn) {
                    self.clear_guard()?;
                } else if session.failed
                    && let Some(header) = &header
                {
                    // The flush that was to clear the guard may have failed.
                    let written = self.write_header(header);
                    written.map_err(|error| self.failure("clearing its guard", &error))?;
                }
                if wal_is_there()? {
                    self.settle_wal()?;
                    if wal_is_there()? {
                        let what = "another process uses it by a WAL";
                        return Err(self.refusal(ffi::SQLITE_BUSY, what));
                    }
                }
                session.directory_synced = false;
                session.phase = Phase::Plain;
                Ok(Replayed::default())
            }
        }
    }

    /// Lets SQLite itself recover a WAL that it left: rule 26.
    fn settle_wal(&self) -> Result<(), Code> {
        let unlocked = self.main.lock(Lock::None);
        unlocked.map_err(|error| self.failure("it cannot be unlocked", &error))?;
        let settled = self.shared.platform.settle_wal(&self.path);
        settled.map_err(|error| self.failure("its WAL", &error))?;
        self.take_lock()
    }

    /// Removes a rollback journal that SQLite is done with. Guarded databases have none, but one
    /// that was deleted may come back after a power cut, and would undo what was committed since.
    fn remove_journal(&self, durably: bool) -> Result<(), Code> {
        let journal = beside(&self.path, "-journal");
        let removed = self.shared.platform.remove(&journal, durably);
        removed.map_err(|error| self.failure("its journal cannot be removed", &error))
    }

    /// Removes a journal of before the guard, durably, before the guard goes.
    fn remove_old_journal(&self) -> Result<(), Code> {
        let journal = self.shared.platform.exists(&beside(&self.path, "-journal"));
        if journal.map_err(|error| self.failure("its journal cannot be looked for", &error))? {
            self.remove_journal(true)?;
        }
        Ok(())
    }

    fn replay(&self, session: &mut Session, lineage: [u8; 16]) -> Result<Replayed, Code> {
        let shared = self.shared;
        let path = beside(&self.path, "-redo");
        let access = Access {
            write: true,
            create: false,
        };
        let opened = Log::open(
            &*shared.platform,
            &path,
            access,
            self.options.sizes(),
            &shared.counting,
            shared.broken,
        );
        let mut log = match opened {
            Ok(Some(log)) => log,
            Ok(None) => return Err(self.refusal(ffi::SQLITE_BUSY, "another process has its log")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if shared.broken.is(Mutation::ClearWithoutLog) {
                    self.clear_guard()?;
                    session.phase = Phase::Plain;
                    return Ok(Replayed::default());
                }
                let what = format!(
                    "its last changes are in {}, which is not there",
                    path.display()
                );
                return Err(self.refusal(ffi::SQLITE_CANTOPEN, &what));
            }
            Err(error) => return Err(self.failure("its log cannot be opened", &error)),
        };
        let header = *log.header();
        let ended = log.has_ended(lineage);
        let ended = ended.map_err(|error| self.failure("its log cannot be read", &error))?;
        if header.lineage != lineage && !ended && !shared.broken.is(Mutation::ReplayAnyLineage) {
            let what = format!(
                "its last changes are not in {}, which belongs to another database or to another \
                 copy of this one; put the log that belongs to it there, or restore a backup",
                path.display()
            );
            return Err(self.refusal(ffi::SQLITE_CANTOPEN, &what));
        }
        if !is_page_size(header.page_size as usize) {
            return Err(self.refusal(ffi::SQLITE_CANTOPEN, "its log is damaged"));
        }
        if ended {
            // The log was ended, and then the guard was to be cleared.
            self.remove_old_journal()?;
            self.clear_guard()?;
            session.phase = Phase::Plain;
            return Ok(Replayed::default());
        }
        if let Some(from) = session.doubtful {
            let written = log.write_again(from);
            written.map_err(|error| self.failure("writing to its log", &error))?;
        }
        let spill = || self.spill();
        let replayed = replay(
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
                self.refusal(ffi::SQLITE_CANTOPEN, &what)
            }
            ReplayError::Io(error) => self.failure("replaying its log", &error),
        })?;
        self.remove_old_journal()?;
        session.database_dirty = false;
        session.database_pages = match replayed.database_pages {
            Some(pages) => pages,
            // Its length stays: the header alone is not to be trusted with what may be data.
            None => self.database_pages(header.page_size)?,
        };
        let tail = log.next_epoch(lineage, header.page_size, true);
        let tail = tail.map_err(|error| self.failure("opening an epoch of its log", &error))?;
        session.begin_epoch(Some(tail));
        session.forget_frames();
        add(&shared.counting.recoveries, 1);
        if replayed.records > 0 {
            let (records, log) = (replayed.records, path.display());
            let message = format!("recovered {records} transactions from the redo log {log}");
            Host::log(ffi::SQLITE_NOTICE_RECOVER_WAL, &message);
        }
        session.phase = Phase::Live(Box::new(log));
        Ok(replayed)
    }

    /// The size of the database by its header, and by its file if that is shorter.
    fn database_pages(&self, page_size: u32) -> Result<u32, Code> {
        let len = self.main.len();
        let len = len.map_err(|error| self.failure("its size cannot be told", &error))?;
        let there = u32::try_from(len / u64::from(page_size.max(1))).unwrap_or(u32::MAX);
        let told = self.read_header()?.as_ref().and_then(guard::pages);
        Ok(told.map_or(there, |told| told.min(there)))
    }

    /// Makes the log and sets the guard, both durably, before the first record.
    pub(super) fn go_live(&self, session: &mut Session, page_size: usize) -> Result<(), Code> {
        let shared = self.shared;
        let platform = &*shared.platform;
        let page_size = u32::try_from(page_size).map_err(|_| ffi::SQLITE_IOERR_WRITE)?;
        self.remove_journal(false)?;
        let access = Access {
            write: true,
            create: true,
        };
        let path = beside(&self.path, "-redo");
        let made = Log::open(
            platform,
            &path,
            access,
            self.options.sizes(),
            &shared.counting,
            shared.broken,
        );
        let made = made.map_err(|error| self.failure("its log cannot be made", &error))?;
        let Some(mut log) = made else {
            return Err(self.refusal(ffi::SQLITE_BUSY, "another process has its log"));
        };
        let Some(mut header) = self.read_header()? else {
            return Err(self.refusal(ffi::SQLITE_IOERR_SHORT_READ, "it has no header"));
        };
        if !guard::is_database(&header) {
            // A SQLite that marks its files otherwise: the guard would not be known again.
            return Err(self.refusal(ffi::SQLITE_IOERR_WRITE, "its header is not SQLite's"));
        }
        let database_pages = self.database_pages(page_size)?;
        let lineage = shared.lineage();
        let tail = self
            .sync_directory(session, &path)
            .and_then(|()| log.prepare())
            .and_then(|()| log.next_epoch(lineage, page_size, true))
            .map_err(|error| self.failure("its log cannot be made", &error))?;
        let counted = !shared.broken.is(Mutation::GuardKeepsCounters);
        guard::set(&mut header, lineage, counted);
        // From here on the guard may be there, whatever fails: this log belongs to it.
        if let Err(error) = self.write_header(&header) {
            let code = self.fail_io(session, "setting its guard", &error);
            // There is no record; if this fails too, it is cleared when it is opened again.
            let _ = self.clear_guard();
            return Err(code);
        }
        session.database_pages = database_pages;
        session.begin_epoch(Some(tail));
        session.phase = Phase::Live(Box::new(log));
        shared.watch_idle();
        Ok(())
    }

    /// Makes durable that the log has its name, and that rollback journals are gone: once, until
    /// the database may have other journals again.
    fn sync_directory(&self, session: &mut Session, log: &Path) -> io::Result<()> {
        if !session.directory_synced && !self.shared.broken.is(Mutation::SkipDirectorySync) {
            self.shared.platform.sync_directory_of(log)?;
            session.directory_synced = true;
        }
        Ok(())
    }

    fn write_header(&self, header: &Bytes) -> io::Result<()> {
        let _alone = self.header.write().unwrap_or_else(PoisonError::into_inner);
        self.main.write_at(header, 0)?;
        if self.shared.broken.is(Mutation::GuardWithoutFlush) {
            return Ok(());
        }
        self.main.sync()
    }

    fn clear_guard(&self) -> Result<(), Code> {
        let Some(mut header) = self.read_header()? else {
            return Ok(());
        };
        if guard::lineage(&header).is_none() && !guard::is_torn(&header) {
            return Ok(());
        }
        guard::clear(&mut header);
        self.write_header(&header)
            .map_err(|error| self.failure("clearing its guard", &error))
    }

    /// Ends the log and clears the guard, if the database's file has all that was committed:
    /// rules 15 and 25. Otherwise both stay, and the next one to open it replays the log.
    pub(super) fn finish(&self, session: &mut Session) -> Result<(), Code> {
        let broken = self.shared.broken;
        let complete = session.is_backfilled() || broken.is(Mutation::EndWithoutBackfill);
        if session.failed || !complete {
            return Ok(());
        }
        let Phase::Live(log) = &mut session.phase else {
            return Ok(());
        };
        let (lineage, page_size) = (log.header().lineage, log.header().page_size);
        if broken.is(Mutation::ClearBeforeEnd) {
            self.clear_guard()?;
        }
        match self.main.trim() {
            Ok(trimmed) => session.database_dirty |= trimmed,
            Err(error) => return Err(self.failure("setting its size", &error)),
        }
        if session.database_dirty && !broken.is(Mutation::EndWithoutDatabaseFlush) {
            if let Err(error) = self.main.sync() {
                let code = self.fail_flush(session, &error);
                self.detach(session);
                return Err(code);
            }
            session.database_dirty = false;
        }
        if let Err(error) = log.next_epoch(lineage, page_size, false) {
            return Err(self.fail_io(session, "ending its log", &error));
        }
        if let Err(code) = self.clear_guard() {
            session.failed = true;
            self.detach(session);
            return Err(code);
        }
        session.begin_epoch(None);
        session.phase = Phase::Plain;
        Ok(())
    }

    /// What the database's file has is in doubt, but not its log: without a WAL it is taken up
    /// from there, as after a crash.
    fn detach(&self, session: &mut Session) {
        if session.wal_files == 0 {
            session.detach();
            self.ready.store(false, Ordering::Release);
        }
    }

    /// SQLite is about to write to the database without a WAL, which it may keep when it leaves
    /// WAL mode: the log is ended then.
    pub(super) fn leave_log(&self, session: &mut Session) -> Result<(), Code> {
        match session.wal_files {
            0 => self.finish(session),
            _ => Ok(()),
        }
    }

    /// A connection opens the WAL.
    pub fn open_wal(&self) {
        self.session().wal_files += 1;
    }

    /// A connection closes the WAL. The last one leaves none behind: what is not in the
    /// database's file is in the log, which is replayed when it is opened again.
    pub fn close_wal(&self) {
        let session = &mut *self.session();
        session.wal_files = session.wal_files.saturating_sub(1);
        if session.wal_files > 0 {
            return;
        }
        // A commit that a checkpoint did not see failed.
        let _ = self.take_back(session);
        session.forget_frames();
        self.wal_mut().clear();
        self.index().clear();
        if !session.is_backfilled() && !self.broken().is(Mutation::EndWithoutBackfill) {
            let _ = self.flush_log(session);
            self.detach(session);
            self.regain_if_exclusive(session);
        }
    }

    /// SQLite deletes the WAL, which it does when it has checkpointed all of it.
    pub fn delete_wal(&self) {
        let session = &mut *self.session();
        if session.wal_files == 0 {
            // What fails is in SQLite's log; the guard stays then, and with it the log.
            if self.finish(session).is_err() {
                self.regain_if_exclusive(session);
            }
            session.directory_synced = false;
        }
    }

    /// SQLite cuts the WAL. Rule 13: that is nothing to the log.
    pub fn truncate_wal(&self, size: u64) -> Result<(), Code> {
        let session = &mut *self.session();
        self.wal_mut().truncate(size);
        if self.broken().is(Mutation::TruncateRewindsLog)
            && let Phase::Live(log) = &session.phase
        {
            session.tail = Some(Tail::of_epoch(log.header()));
        }
        Ok(())
    }

    /// Whether SQLite is to find a WAL.
    pub fn has_wal(&self) -> bool {
        self.session().wal_files > 0
    }

    /// The last connection closes it. Answers from where on its log is in doubt.
    pub fn shut(&self) -> Option<u64> {
        let session = &mut *self.session();
        let _ = self.finish(session);
        if let Phase::Plain = session.phase {
            let _ = self.main.flush().and_then(|()| self.main.trim());
        }
        session.detach();
        let _ = self.main.lock(Lock::None);
        session.doubtful
    }

    /// Replays the log if there is a guard, ends it and clears the guard.
    pub(super) fn make_plain(&self) -> Result<Replayed, Code> {
        let session = &mut *self.session();
        self.take_lock()?;
        let replayed = self.attach_locked(session)?;
        self.finish(session)?;
        Ok(replayed)
    }
}
