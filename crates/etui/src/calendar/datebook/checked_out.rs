//! Checking out records, each by one date book at a time.
//!
//! Within a process a set has the records that are checked out. Between processes a lock of one byte
//! of the file `NAME-locks` beside the store does, at the offset of the record's id. It is an open
//! file description lock, which the kernel releases when the process ends. The file exists while
//! date books are in use (`db::sidecar`). It holds the sequence number of the latest change that a
//! date book committed, so that a record is checked out as it was last released:
//!
//! ```text
//! NAME-locks := latest:i64le | empty       no commit since the file was created
//! ```

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rustix::fs::OFlags;

use super::shared::RecordLock;
use crate::calendar::Calendar;
use crate::calendar::CalendarObject;
use crate::db::{sidecar, with_suffix};
use crate::error::{Error, Result};
use crate::record::StoredRecord;

/// A record that is checked out of a date book, until this is released or dropped.
pub struct CheckedOut<'s> {
    hold: RecordLock<'s>,
    stored: StoredRecord<CalendarObject>,
    calendar: Calendar<'s>,
}

impl<'s> CheckedOut<'s> {
    pub(super) fn new(
        hold: RecordLock<'s>,
        stored: StoredRecord<CalendarObject>,
        calendar: Calendar<'s>,
    ) -> Self {
        Self {
            hold,
            stored,
            calendar,
        }
    }

    /// Returns the record as stored.
    pub fn stored(&self) -> &StoredRecord<CalendarObject> {
        &self.stored
    }

    /// Parses the record, with the zones of the object that it came from.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn record(&self) -> Result<CalendarObject> {
        super::parse_record(&self.calendar, &self.stored)
    }

    /// Returns its lock, the stored record, and the id of its calendar.
    pub(super) fn into_parts(self) -> (RecordLock<'s>, StoredRecord<CalendarObject>, i64) {
        (self.hold, self.stored, self.calendar.id())
    }
}

/// The lock file that date books of several processes share.
#[derive(Debug)]
pub(super) struct LockFile {
    file: OwnedFd,
    path: PathBuf,
}

impl LockFile {
    /// Opens or creates the file.
    pub(super) fn open_beside(store: &Path) -> Result<Self> {
        let path = with_suffix(store, "-locks");
        let (file, ()) =
            sidecar::join_sidecar(store, &path, OFlags::RDWR, |_| Ok(Some(())), |()| {})
                .map_err(|e| Error::io(&path, e))?;
        Ok(Self { file, path })
    }

    /// LockFile a record. Returns false if another process has it.
    pub(super) fn try_lock(&self, record: i64) -> Result<bool> {
        self.set_lock(record, libc::F_WRLCK as libc::c_short)
    }

    pub(super) fn unlock(&self, record: i64) {
        // It fails only if the file is gone, and the lock with it.
        let _ = self.set_lock(record, libc::F_UNLCK as libc::c_short);
    }

    /// Returns the latest change that a date book announced in the file.
    pub(super) fn read_latest(&self) -> i64 {
        let mut bytes = [0; 8];
        match rustix::io::pread(&self.file, &mut bytes, 0) {
            Ok(8) => i64::from_le_bytes(bytes),
            _ => 0,
        }
    }

    /// Announces a change to other processes.
    pub(super) fn announce(&self, latest: i64) {
        // If it fails, they notice the change a few hundredths of a second later.
        let _ = rustix::io::pwrite(&self.file, &latest.to_le_bytes(), 0);
    }

    fn set_lock(&self, record: i64, kind: libc::c_short) -> Result<bool> {
        let lock = libc::flock {
            l_type: kind,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: record,
            l_len: 1,
            l_pid: 0,
        };
        match fcntl(&self.file, FcntlArg::F_OFD_SETLK(&lock)) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
            Err(e) => Err(Error::io(&self.path, e.into())),
        }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        sidecar::leave_sidecar(&self.file, &self.path);
    }
}
