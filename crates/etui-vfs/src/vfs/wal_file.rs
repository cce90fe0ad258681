//! [`WalFile`]: the volatile WAL that a connection has open.

use std::sync::Arc;

use libsqlite3_sys as ffi;

use super::connection::read;
use super::database::Database;
use super::session::ResultCode;
use etui_redo::codec::SMALLEST_PAGE;

/// A WAL that a connection has open.
#[derive(Debug)]
pub(super) struct WalFile {
    database: Arc<Database>,
}

impl WalFile {
    pub fn open(database: Arc<Database>) -> Self {
        database.open_wal();
        Self { database }
    }

    pub fn read(&self, to: &mut [u8], offset: u64) -> Result<(), ResultCode> {
        let length = to.len();
        match read(to, |to| self.database.read_wal(to, offset)) {
            // SQLite's file keeps its length when a WAL restarts. After ROLLBACK TO, some
            // versions of SQLite, such as 3.40, read a checksum beyond the new end. A page
            // there is requested only by mistake: a checkpoint with an outdated index would
            // write zeros to the database.
            Err(ffi::SQLITE_IOERR_SHORT_READ) if offset > 0 && length < SMALLEST_PAGE => Ok(()),
            done => done,
        }
    }

    pub fn write(&self, data: &[u8], offset: u64) -> Result<(), ResultCode> {
        self.database.write_wal(data, offset)
    }

    pub fn truncate(&self, size: u64) -> Result<(), ResultCode> {
        self.database.truncate_wal(size)
    }

    pub fn sync(&self) -> Result<(), ResultCode> {
        self.database.sync_wal()
    }

    pub fn size(&self) -> u64 {
        self.database.wal().len()
    }

    /// Closes it for SQLite; in a child of the process that opened it, it is not to be closed.
    pub fn close(self) {
        self.database.close_wal();
    }
}
