//! [`WalFile`]: the volatile WAL that a connection has open.

use std::os::raw::c_int;
use std::sync::Arc;

use etui_vfs_base::file_methods::{OpenFile, methods};
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
}

impl OpenFile for WalFile {
    fn table() -> &'static ffi::sqlite3_io_methods {
        static TABLE: ffi::sqlite3_io_methods = methods::<WalFile>(false);
        &TABLE
    }

    fn read(&mut self, to: &mut [u8], offset: u64) -> Result<(), ResultCode> {
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

    fn write(&mut self, data: &[u8], offset: u64) -> Result<(), ResultCode> {
        self.database.write_wal(data, offset)
    }

    fn truncate(&mut self, size: u64) -> Result<(), ResultCode> {
        self.database.truncate_wal(size)
    }

    fn sync(&mut self, _flags: c_int) -> Result<(), ResultCode> {
        self.database.sync_wal()
    }

    fn size(&mut self) -> Result<u64, ResultCode> {
        Ok(self.database.wal().len())
    }

    fn close(self) {
        self.database.close_wal();
    }
}
