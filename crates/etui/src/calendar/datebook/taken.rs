//! Taking records, one holder each.
//!
//! Within a process a set tells who has what. Between processes a lock does, of one byte of the file
//! `NAME-taken` beside the store, at the record's number (an open file description lock, which the
//! kernel lets go of when the process ends, however it does). The file is there while date books
//! are in use (`db::sidecar`). It holds the number of the latest change that a date book
//! committed, so that whoever takes a record sees what was released before:
//!
//! ```text
//! NAME-taken := latest:i64le | nothing       nothing was committed since it was made
//! ```

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rustix::fs::OFlags;

use super::shared::Hold;
use crate::calendar::Calendar;
use crate::calendar::CalendarObject;
use crate::db::{sidecar, with_suffix};
use crate::error::{Error, Result};
use crate::record::StoredRecord;

/// A record that was taken from a date book. It is free again when this is dropped or released.
pub struct Taken<'s> {
    hold: Hold<'s>,
    stored: StoredRecord<CalendarObject>,
    calendar: Calendar<'s>,
}

impl<'s> Taken<'s> {
    pub(super) fn new(
        hold: Hold<'s>,
        stored: StoredRecord<CalendarObject>,
        calendar: Calendar<'s>,
    ) -> Self {
        Self {
            hold,
            stored,
            calendar,
        }
    }

    /// The record as it is stored.
    #[must_use]
    pub fn stored(&self) -> &StoredRecord<CalendarObject> {
        &self.stored
    }

    /// The record, read with the zones of the object that it came in.
    ///
    /// # Errors
    /// Whatever reading reports.
    pub fn record(&self) -> Result<CalendarObject> {
        super::read(&self.calendar, &self.stored)
    }

    /// Who holds it, what it was, and the number of its calendar.
    pub(super) fn into_parts(self) -> (Hold<'s>, StoredRecord<CalendarObject>, i64) {
        (self.hold, self.stored, self.calendar.id())
    }
}

/// The file by which processes tell each other what they took.
#[derive(Debug)]
pub(super) struct Locks {
    file: OwnedFd,
    path: PathBuf,
}

impl Locks {
    /// Opens it, or makes it.
    pub(super) fn beside(store: &Path) -> Result<Self> {
        let path = with_suffix(store, "-taken");
        let (file, ()) = sidecar::join(store, &path, OFlags::RDWR, |_| Ok(Some(())), |()| {})
            .map_err(|e| Error::io(&path, e))?;
        Ok(Self { file, path })
    }

    /// Takes a record; `false`: another process has it.
    pub(super) fn take(&self, record: i64) -> Result<bool> {
        self.lock(record, libc::F_WRLCK as libc::c_short)
    }

    pub(super) fn free(&self, record: i64) {
        // It may fail for nothing but a file that is gone, with which the lock went.
        let _ = self.lock(record, libc::F_UNLCK as libc::c_short);
    }

    /// The latest change that a date book committed, as far as the file tells.
    pub(super) fn latest(&self) -> i64 {
        let mut bytes = [0; 8];
        match rustix::io::pread(&self.file, &mut bytes, 0) {
            Ok(8) => i64::from_le_bytes(bytes),
            _ => 0,
        }
    }

    /// Tells the others of a change.
    pub(super) fn tell(&self, latest: i64) {
        // If it fails, what they see is some hundredths of a second old.
        let _ = rustix::io::pwrite(&self.file, &latest.to_le_bytes(), 0);
    }

    fn lock(&self, record: i64, kind: libc::c_short) -> Result<bool> {
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

impl Drop for Locks {
    fn drop(&mut self) {
        sidecar::leave(&self.file, &self.path);
    }
}
