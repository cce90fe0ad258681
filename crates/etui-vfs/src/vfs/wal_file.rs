//! [`WalFile`]: the WAL that a connection has open: the volatile one, or SQLite's own while the
//! database is shared.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use libsqlite3_sys as ffi;

use super::commit::write_code;
use super::connection::read;
use super::database::{Database, sibling_path};
use super::exchange::Sharing;
use super::open_code;
use super::session::ResultCode;
use super::shared_guard::FileId;
use crate::device::{File, SqliteFile};
use crate::redo::codec::SMALLEST_PAGE;
use crate::wal_image::FRAME_HEADER;

/// A WAL that a connection has open.
#[derive(Debug)]
pub(super) struct WalFile {
    database: Arc<Database>,
    /// SQLite's own, and the exchange since which it is open.
    own: Option<(u64, SqliteFile)>,
    /// The identity of SQLite's own.
    id: FileId,
}

impl WalFile {
    pub fn open(database: Arc<Database>) -> Result<Self, ResultCode> {
        let mut wal = Self {
            database: Arc::clone(&database),
            own: None,
            id: FileId::default(),
        };
        let sharing = database.sharing();
        if *sharing == Sharing::Shared {
            wal.own().map_err(|error| open_code(&error))?;
        }
        database.open_wal();
        Ok(wal)
    }

    /// Returns SQLite's own WAL.
    fn own(&mut self) -> io::Result<&SqliteFile> {
        let since = self.database.shares.load(Ordering::Relaxed);
        let own = match self.own.take() {
            Some(own) if own.0 == since => own,
            _ => {
                let path = sibling_path(self.database.path(), "-wal");
                let own = self.database.shared().platform.open_wal(&path)?;
                self.id = self.database.shared().platform.file_identity(&path)?;
                (since, own)
            }
        };
        Ok(&self.own.insert(own).1)
    }

    pub fn read(&mut self, to: &mut [u8], offset: u64) -> Result<(), ResultCode> {
        let database = Arc::clone(&self.database);
        let sharing = database.sharing();
        if *sharing == Sharing::Shared {
            let own = self.own().map_err(|_| ffi::SQLITE_IOERR_READ)?;
            return read(to, |to| own.read_at(to, offset));
        }
        let length = to.len();
        match read(to, |to| database.read_wal(to, offset)) {
            // SQLite's file keeps its length when a WAL restarts. After ROLLBACK TO, some
            // versions of SQLite, such as 3.40, read a checksum beyond the new end. A page
            // there is requested only by mistake: a checkpoint with an outdated index would
            // write zeros to the database.
            Err(ffi::SQLITE_IOERR_SHORT_READ) if offset > 0 && length < SMALLEST_PAGE => Ok(()),
            done => done,
        }
    }

    pub fn write(&mut self, data: &[u8], offset: u64) -> Result<(), ResultCode> {
        let database = Arc::clone(&self.database);
        let sharing = database.sharing();
        if *sharing == Sharing::Alone {
            return database.write_wal(data, offset);
        }
        database.has_written_wal.store(true, Ordering::Relaxed);
        self.own().map_err(|_| ffi::SQLITE_IOERR_WRITE)?;
        // The header of a commit's last frame has the size of the database.
        let is_commit = data.len() == FRAME_HEADER && data.get(4..8) != Some(&[0; 4]);
        if is_commit {
            database.check_shared_commit(self.id)?;
        }
        let own = self.own().map_err(|_| ffi::SQLITE_IOERR_WRITE)?;
        own.write_at(data, offset).map_err(write_code)
    }

    pub fn truncate(&mut self, size: u64) -> Result<(), ResultCode> {
        let database = Arc::clone(&self.database);
        let sharing = database.sharing();
        if *sharing == Sharing::Alone {
            return database.truncate_wal(size);
        }
        let own = self.own().and_then(|own| own.set_len(size));
        own.map_err(|_| ffi::SQLITE_IOERR_TRUNCATE)
    }

    pub fn sync(&mut self) -> Result<(), ResultCode> {
        let database = Arc::clone(&self.database);
        let sharing = database.sharing();
        if *sharing == Sharing::Alone {
            return database.sync_wal();
        }
        let own = self.own().and_then(File::sync);
        own.map_err(|_| ffi::SQLITE_IOERR_FSYNC)
    }

    pub fn size(&mut self) -> Result<u64, ResultCode> {
        let database = Arc::clone(&self.database);
        let sharing = database.sharing();
        if *sharing == Sharing::Alone {
            return Ok(database.wal().len());
        }
        let own = self.own().and_then(File::len);
        own.map_err(|_| ffi::SQLITE_IOERR_FSTAT)
    }

    /// Closes it for SQLite; in a child of the process that opened it, it is not to be closed.
    pub fn close(self) {
        let _sharing = self.database.sharing();
        self.database.close_wal();
    }
}
