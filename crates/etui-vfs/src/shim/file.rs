//! [`File`]: what the shim knows of an open file, and what it does to it.

use std::os::fd::{BorrowedFd, RawFd};
use std::os::raw::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use libsqlite3_sys as ffi;

use super::SyncCall;
use super::count::{FileKind, Operation};
use super::real::{Code, Real};
use super::rest::{HEADER, Rest};
use super::vfs::Shared;
use crate::pending::Pending;
use crate::ranges::Ranges;
use crate::windows::Windows;

/// An open file.
///
/// SQLite uses a file from one thread at a time, and a database's journal only together with
/// its database: so the two may point at each other.
#[derive(Debug)]
pub(super) struct File {
    real: Real,
    kind: FileKind,
    shared: &'static Shared,
    /// Whether its directory is to be synced at the first sync, and where the file is.
    new_in: Option<PathBuf>,
    descriptor: Option<RawFd>,
    page_size: u64,
    /// What was written since the last sync.
    written: Ranges,
    last_write_end: Option<u64>,
    lock: c_int,
    pending: Option<Pending>,
    windows: Option<Windows>,
    /// A database's open journal, if that keeps writes back, or its log, if that is kept; and the
    /// database of such a one.
    partner: *mut File,
    /// Of a log that is kept.
    rest: Option<Rest>,
    /// Of a database whose log is kept: its last connection is closing it.
    closing: bool,
}

/// What is known of a file when it is opened.
#[derive(Debug)]
pub(super) struct Opened {
    pub real: Real,
    pub kind: FileKind,
    pub shared: &'static Shared,
    pub new_in: Option<PathBuf>,
    pub descriptor: Option<RawFd>,
    pub rest: Option<Rest>,
}

/// Syncs a directory as the unix VFS does: one that cannot be synced is no error.
pub(super) fn sync_directory(path: &Path) {
    if let Ok(directory) = std::fs::File::open(path) {
        let _ = directory.sync_all();
    }
}

impl File {
    pub fn new(opened: Opened) -> Self {
        let Opened {
            real,
            kind,
            shared,
            new_in,
            descriptor,
            rest,
        } = opened;
        let database = kind == FileKind::Database;
        let options = &shared.options;
        Self {
            real,
            kind,
            shared,
            new_in,
            descriptor,
            page_size: 4096,
            written: Ranges::default(),
            last_write_end: None,
            lock: ffi::SQLITE_LOCK_NONE,
            // A journal keeps writes back only together with its database: see `pair`.
            pending: (database && options.coalesce.is_some()).then(Pending::default),
            windows: options.buffer.filter(|_| database).map(Windows::new),
            partner: ptr::null_mut(),
            rest,
            closing: false,
        }
    }

    /// Has a journal keep its writes back, to be given out before those of its database, and a
    /// database know its log, if that is kept.
    ///
    /// # Safety
    ///
    /// Both are open files of this VFS, the second the database of the first.
    pub unsafe fn pair(journal: *mut File, database: *mut File) {
        // SAFETY: both are open, and SQLite uses them from this thread alone at this moment.
        let (journal_file, database_file) = unsafe { (&mut *journal, &mut *database) };
        let is_journal = journal_file.kind == FileKind::Journal;
        let keeps_back = is_journal && database_file.pending.is_some();
        if (keeps_back || journal_file.rest.is_some()) && database_file.partner.is_null() {
            journal_file.pending = keeps_back.then(Pending::default);
            journal_file.partner = database;
            database_file.partner = journal;
        }
    }

    pub fn kind(&self) -> FileKind {
        self.kind
    }

    pub fn real(&self) -> &Real {
        &self.real
    }

    /// Whether pages may not be mapped, since the file is not all there is.
    pub fn mapping_refused(&self) -> bool {
        self.pending.is_some() || self.windows.is_some()
    }

    fn count(&self, operation: Operation, offset: u64, length: u64) {
        self.shared
            .count
            .note(self.kind, operation, offset, length, |counters| {
                match operation {
                    Operation::Open => counters.opens += 1,
                    Operation::Read => {
                        counters.reads += 1;
                        counters.read_bytes += length;
                    }
                    Operation::Sync => counters.syncs += 1,
                    Operation::DirectorySync => counters.directory_syncs += 1,
                    // Counted where more is known: `write_through`, `set_size`, xDelete.
                    Operation::Write | Operation::Truncate | Operation::Delete => {}
                }
            });
    }

    /// Notes that the file was opened.
    pub fn count_open(&self) {
        self.count(Operation::Open, 0, 0);
    }

    /// The size, with what is not written back yet.
    pub fn size(&self) -> Result<u64, Code> {
        let kept = self.pending.as_ref().map_or(0, Pending::end);
        Ok(self.real.size()?.max(kept))
    }

    /// The page size stands at offset 16 of a database, big-endian; 1 stands for 65,536.
    fn learn_page_size(&mut self, offset: u64, data: &[u8]) {
        if self.kind == FileKind::Database
            && offset == 0
            && let Some(&[high, low]) = data.get(16..18)
        {
            let size = match u64::from(u16::from_be_bytes([high, low])) {
                1 => 65_536,
                size => size,
            };
            if (512..=65_536).contains(&size) && size.is_power_of_two() {
                self.page_size = size;
            }
        }
    }

    /// Reads for SQLite; the rest is zero, and the code tells, if the file ends before.
    ///
    /// # Safety
    ///
    /// `to` can be written for `length` bytes.
    pub unsafe fn read(&mut self, to: *mut c_void, length: c_int, offset: i64) -> Result<(), Code> {
        let (Ok(bytes), Ok(at)) = (usize::try_from(length), u64::try_from(offset)) else {
            return Err(ffi::SQLITE_IOERR_READ);
        };
        if self.mapping_refused() {
            // SAFETY: `to` can be written for so many bytes; they are all set before they are
            // seen as bytes.
            let to = unsafe {
                ptr::write_bytes(to.cast::<u8>(), 0, bytes);
                std::slice::from_raw_parts_mut(to.cast::<u8>(), bytes)
            };
            return self.read_buffered(to, at);
        }
        self.count(Operation::Read, at, bytes as u64);
        // SAFETY: as the caller promises.
        let done = unsafe { self.real.read_to(to, length, offset) };
        if at == 0 && matches!(done, Ok(()) | Err(ffi::SQLITE_IOERR_SHORT_READ)) {
            // SAFETY: a read that was done, also a short one, sets all bytes.
            let read = unsafe { std::slice::from_raw_parts(to.cast::<u8>(), bytes) };
            self.learn_page_size(at, read);
        }
        done
    }

    fn read_buffered(&mut self, to: &mut [u8], offset: u64) -> Result<(), Code> {
        let kept = self
            .pending
            .as_ref()
            .is_some_and(|pending| pending.covers(offset, to.len()));
        if !kept {
            self.read_below(to, offset)?;
        }
        if let Some(pending) = &self.pending {
            pending.overlay(offset, to);
        }
        self.learn_page_size(offset, to);
        let end = offset.saturating_add(to.len() as u64);
        if kept || end <= self.size()? {
            Ok(())
        } else {
            Err(ffi::SQLITE_IOERR_SHORT_READ)
        }
    }

    /// Reads what is in the file, through the read buffer if there is one.
    fn read_below(&mut self, to: &mut [u8], offset: u64) -> Result<(), Code> {
        let end = offset.saturating_add(to.len() as u64);
        if let Some(windows) = &self.windows
            && end <= self.real.size()?
        {
            if windows.get(offset, to) {
                return Ok(());
            }
            let Some((begin, length)) = windows.range_for(offset, to.len(), self.page_size) else {
                self.count(Operation::Read, offset, to.len() as u64);
                return self.real.read(to, offset);
            };
            let there = self.real.size()?.saturating_sub(begin);
            let length = length.min(usize::try_from(there).unwrap_or(usize::MAX));
            let mut bytes = vec![0; length];
            self.count(Operation::Read, begin, length as u64);
            self.real.read(&mut bytes, begin)?;
            if let Some(windows) = &mut self.windows {
                windows.put(begin, bytes);
                if windows.get(offset, to) {
                    return Ok(());
                }
            }
        }
        self.count(Operation::Read, offset, to.len() as u64);
        self.real.read(to, offset)
    }

    pub fn write(&mut self, data: &[u8], offset: u64) -> Result<(), Code> {
        if let Some(rest) = &mut self.rest {
            // A log, of which nothing is kept back.
            let begun = rest.begins(&self.real, offset, data.len());
            let written = self.write_through(data, offset);
            if let Some(rest) = &mut self.rest {
                rest.set_spare(begun && written.is_ok());
            }
            return written;
        }
        self.learn_page_size(offset, data);
        let bound = self.shared.options.coalesce.unwrap_or(0);
        let Some(pending) = &self.pending else {
            return self.write_through(data, offset);
        };
        if pending.bytes().saturating_add(data.len()) > bound {
            self.write_back()?;
        }
        if data.len() > bound {
            return self.write_through(data, offset);
        }
        if let Some(pending) = &mut self.pending {
            pending.write(offset, data);
        }
        Ok(())
    }

    /// Writes to the file, lengthening it before as the options say.
    fn write_through(&mut self, data: &[u8], offset: u64) -> Result<(), Code> {
        let end = offset.saturating_add(data.len() as u64);
        let stepped = self.stepped(end);
        if stepped > end && end > self.real.size()? {
            self.set_size(stepped)?;
        }
        if let Some(windows) = &mut self.windows {
            windows.forget(offset, end);
        }
        if self.shared.options.uncounted {
            return self.real.write(data, offset, |_, _| ());
        }
        let (kind, count, page_size) = (self.kind, &self.shared.count, self.page_size);
        let (written, last_end) = (&mut self.written, &mut self.last_write_end);
        let mut size = self.real.size()?;
        self.real.write(data, offset, |at, length| {
            let end = at.saturating_add(length);
            let again = written.add(at, end);
            let in_order = last_end.is_none_or(|last| last == at);
            *last_end = Some(end);
            count.note(kind, Operation::Write, at, length, |counters| {
                counters.writes += 1;
                counters.write_bytes += length;
                counters.size_changes += u64::from(end > size);
                counters.rewritten_bytes += again;
                if kind == FileKind::Database {
                    counters.rewritten_pages += again.div_ceil(page_size);
                }
                counters.out_of_order += u64::from(!in_order);
            });
            size = size.max(end);
        })
    }

    /// The size that the database's file is to have to hold so many bytes.
    fn stepped(&self, size: u64) -> u64 {
        match self.shared.options.growth_step {
            Some(step) if step > 0 && self.kind == FileKind::Database => {
                size.div_ceil(step).checked_mul(step).unwrap_or(size)
            }
            _ => size,
        }
    }

    /// Sets the size of the file.
    fn set_size(&mut self, size: u64) -> Result<(), Code> {
        if self.shared.options.uncounted && self.windows.is_none() {
            return self.real.truncate(size);
        }
        let before = self.real.size()?;
        self.real.truncate(size)?;
        if let Some(windows) = &mut self.windows {
            windows.clear();
        }
        self.shared
            .count
            .note(self.kind, Operation::Truncate, size, 0, |counters| {
                counters.truncates += 1;
                counters.size_changes += u64::from(before != size);
            });
        Ok(())
    }

    /// Gives out what is kept back: the journal's first, sorted, in as few writes as it takes,
    /// and after one change of size. What could not be written stays.
    fn write_back(&mut self) -> Result<(), Code> {
        if self.kind == FileKind::Database && !self.partner.is_null() {
            // SAFETY: the partner is open (see `close`), another file than this one, and used
            // from this thread alone.
            unsafe { (*self.partner).write_back()? };
        }
        let Some(pending) = &self.pending else {
            return Ok(());
        };
        let runs = pending.runs();
        let end = pending.end();
        // One write that lengthens the file is one change of size anyway.
        let parts: usize = runs
            .iter()
            .map(|(_, run)| run.len().div_ceil(1 << 16))
            .sum();
        if parts > 1 && end > self.real.size()? {
            self.set_size(self.stepped(end))?;
        }
        for (offset, run) in &runs {
            self.write_through(run, *offset)?;
        }
        if let Some(pending) = &mut self.pending {
            pending.clear();
        }
        Ok(())
    }

    pub fn truncate(&mut self, size: u64) -> Result<(), Code> {
        if let Some(rest) = &mut self.rest {
            rest.take_spare();
        }
        if let Some(pending) = &mut self.pending {
            pending.truncate(size);
        }
        self.write_back()?;
        // All of a log that is cut back to nothing is in the database, and nobody reads it.
        if size == 0
            && let Some(rest) = self.rest.take()
        {
            let laid = self.lay_to_rest(&rest);
            self.rest = Some(rest);
            return laid;
        }
        self.set_size(self.stepped(size))
    }

    /// Lays the database's log to rest if this is its last connection, which asks whether the log is
    /// to stay when it has brought all of it to the database. Whether it is to stay. Programs may
    /// ask as well, at any time: a log in use stays as it is.
    fn keep_log(&mut self) -> bool {
        if !self.closing || self.partner.is_null() {
            return false;
        }
        // SAFETY: the partner is open (see `close`), another file than this one, and used
        // from this thread alone.
        let log = unsafe { &mut *self.partner };
        // A log that nothing was ever written to goes as it came: whoever only reads flushes nothing.
        log.rest.is_some() && log.size().is_ok_and(|size| size > 0) && log.truncate(0).is_ok()
    }

    /// Makes a log one that holds nothing and may be begun without a flush: see [`Rest`].
    fn lay_to_rest(&mut self, rest: &Rest) -> Result<(), Code> {
        if rest.is_laid(&self.real)? {
            return Ok(());
        }
        let Some(mark) = rest.mark() else {
            return self.set_size(0);
        };
        self.write_through(&[0; HEADER], 0)?;
        self.sync(ffi::SQLITE_SYNC_NORMAL)?;
        // Not before: a valid header with the first of its frames would be played back.
        if self.real.size()? > rest.most() {
            self.set_size(rest.most())?;
        }
        self.write_through(&mark, 0)
    }

    pub fn sync(&mut self, flags: c_int) -> Result<(), Code> {
        if self.rest.as_mut().is_some_and(Rest::take_spare) {
            return Ok(());
        }
        self.write_back()?;
        match self.shared.options.sync {
            SyncCall::Fdatasync => self.real.sync(flags)?,
            SyncCall::Fsync => {
                let descriptor = self.descriptor.ok_or(ffi::SQLITE_IOERR_FSYNC)?;
                // SAFETY: the unix VFS keeps the descriptor open until the file is closed.
                let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
                rustix::fs::fsync(descriptor).map_err(|_| ffi::SQLITE_IOERR_FSYNC)?;
                if let Some(directory) = &self.new_in {
                    sync_directory(directory);
                }
            }
        }
        let delay = self.shared.options.sync_delay;
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
        self.written.clear();
        self.count(Operation::Sync, 0, 0);
        if self.new_in.take().is_some() {
            self.count(Operation::DirectorySync, 0, 0);
        }
        Ok(())
    }

    pub fn lock(&mut self, level: c_int) -> Result<(), Code> {
        self.real.lock(level)?;
        // With a log open SQLite locks a database in three cases (wal.c, sqlite3WalClose; pager.c,
        // sqlite3PagerCloseWal and sqlite3PagerBegin). Whoever leaves the WAL mode has this lock
        // already: the log has to go then, or the database would be opened with it again. Who turns
        // to `locking_mode=EXCLUSIVE` goes on to unlock something of the wal-index. What is left is
        // the last connection, which closes.
        self.closing = self.shared.options.keep_log.is_some()
            && level == ffi::SQLITE_LOCK_EXCLUSIVE
            && self.lock == ffi::SQLITE_LOCK_SHARED
            && !self.partner.is_null();
        // Another process may have written while there was no lock: what was read is old, and
        // so is what a failed write-back left when the last lock was given up.
        if self.lock == ffi::SQLITE_LOCK_NONE {
            if let Some(windows) = &mut self.windows {
                windows.clear();
            }
            if let Some(pending) = &mut self.pending {
                pending.clear();
            }
        }
        self.lock = level;
        Ok(())
    }

    pub fn unlock(&mut self, level: c_int) -> Result<(), Code> {
        self.closing = false;
        let written_back = self.write_back();
        self.written.clear();
        self.real.unlock(level)?;
        self.lock = level;
        written_back
    }

    /// # Safety
    ///
    /// `argument` is what the operation asks for.
    pub unsafe fn control(&mut self, operation: c_int, argument: *mut c_void) -> c_int {
        // Where SQLite would sync but does not (synchronous=OFF), before and after it says that
        // a transaction or a checkpoint is complete.
        let boundary = matches!(
            operation,
            ffi::SQLITE_FCNTL_SYNC
                | ffi::SQLITE_FCNTL_SYNC_OMITTED
                | ffi::SQLITE_FCNTL_COMMIT_PHASETWO
                | ffi::SQLITE_FCNTL_CKPT_DONE
        );
        if boundary && let Err(code) = self.write_back() {
            return code;
        }
        if operation == ffi::SQLITE_FCNTL_NULL_IO {
            self.descriptor = None;
        }
        if operation == ffi::SQLITE_FCNTL_PERSIST_WAL && self.shared.options.keep_log.is_some() {
            // SAFETY: the argument of this operation is an int; below 0 it is asked for.
            let asked = unsafe { &mut *argument.cast::<c_int>() };
            if *asked < 0 && self.keep_log() {
                *asked = 1;
                return ffi::SQLITE_OK;
            }
        }
        // SAFETY: as the caller promises.
        unsafe { self.real.control(operation, argument) }
    }

    /// What the device can do: never more than the VFS below says, and no batches of atomic
    /// writes where writes are kept back.
    pub fn characteristics(&self) -> c_int {
        let below = self.real.characteristics();
        if self.pending.is_some() {
            below & !ffi::SQLITE_IOCAP_BATCH_ATOMIC
        } else {
            below
        }
    }

    pub fn shm_lock(&mut self, offset: c_int, count: c_int, flags: c_int) -> c_int {
        self.closing = false;
        if flags & ffi::SQLITE_SHM_UNLOCK != 0
            && let Err(code) = self.write_back()
        {
            return code;
        }
        // A read transaction of the write-ahead log begins by taking one of these.
        if flags & ffi::SQLITE_SHM_LOCK != 0
            && let Some(windows) = &mut self.windows
        {
            windows.clear();
        }
        self.real.shm_lock(offset, count, flags)
    }

    /// Gives the wal-index back. Where a log is kept SQLite keeps the wal-index's file, too; the
    /// last connection, which has the exclusive lock, has no use for it.
    pub fn shm_unmap(&mut self, delete: c_int) -> c_int {
        let delete = c_int::from(delete != 0 || self.closing);
        self.real.shm_unmap(delete)
    }

    /// Closes it; afterwards it is of no more use.
    pub fn close(&mut self) -> Result<(), Code> {
        let written_back = self.write_back();
        if !self.partner.is_null() {
            // SAFETY: the partner is open: whichever of the two is closed first clears the
            // other's pointer here.
            unsafe { (*self.partner).partner = ptr::null_mut() };
            self.partner = ptr::null_mut();
        }
        self.real.close()?;
        written_back
    }
}
