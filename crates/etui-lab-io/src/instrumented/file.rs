//! [`InstrumentedFile`]: the state of an open file.

use std::os::fd::{BorrowedFd, RawFd};
use std::os::raw::{c_int, c_void};
use std::path::{Path, PathBuf};

use etui_vfs_base::SqliteFile;
use etui_vfs_base::file_methods::{OpenFile, methods};
use libsqlite3_sys as ffi;

use super::SyncCall;
use super::counters::{FileKind, IoOperation};
use super::vfs::VfsState;
use crate::range_set::RangeSet;

/// An open file. SQLite uses a file from one thread at a time.
#[derive(Debug)]
pub(super) struct InstrumentedFile {
    base: SqliteFile,
    kind: FileKind,
    shared: &'static VfsState,
    /// The directory of a new file, until the first sync.
    unsynced_directory: Option<PathBuf>,
    descriptor: Option<RawFd>,
    page_size: u64,
    /// The ranges written since the last sync.
    written: RangeSet,
    last_write_end: Option<u64>,
}

/// Syncs a directory like the unix VFS: failures are ignored.
pub(super) fn sync_directory(path: &Path) {
    if let Ok(directory) = std::fs::File::open(path) {
        let _ = directory.sync_all();
    }
}

impl InstrumentedFile {
    pub fn new(
        base: SqliteFile,
        kind: FileKind,
        shared: &'static VfsState,
        unsynced_directory: Option<PathBuf>,
        descriptor: Option<RawFd>,
    ) -> Self {
        let file = Self {
            base,
            kind,
            shared,
            unsynced_directory,
            descriptor,
            page_size: 4096,
            written: RangeSet::default(),
            last_write_end: None,
        };
        file.record(IoOperation::Open, 0, 0);
        file
    }

    fn record(&self, operation: IoOperation, offset: u64, length: u64) {
        self.shared
            .recorder
            .record(self.kind, operation, offset, length, |counters| {
                match operation {
                    IoOperation::Open => counters.opens += 1,
                    IoOperation::Read => {
                        counters.reads += 1;
                        counters.read_bytes += length;
                    }
                    IoOperation::Sync => counters.syncs += 1,
                    IoOperation::DirectorySync => counters.directory_syncs += 1,
                    // Counted by `write`, `truncate` and xDelete, which know more.
                    IoOperation::Write | IoOperation::Truncate | IoOperation::Delete => {}
                }
            });
    }

    /// Reads the page size at offset 16 of a database: big-endian, 1 means 65,536.
    fn update_page_size(&mut self, offset: u64, data: &[u8]) {
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
}

impl OpenFile for InstrumentedFile {
    fn table() -> &'static ffi::sqlite3_io_methods {
        static TABLE: ffi::sqlite3_io_methods = methods::<InstrumentedFile>(true);
        &TABLE
    }

    fn read(&mut self, to: &mut [u8], offset: u64) -> Result<(), c_int> {
        self.record(IoOperation::Read, offset, to.len() as u64);
        let result = self.base.read(to, offset);
        // A short read sets all bytes, too.
        if matches!(result, Ok(()) | Err(ffi::SQLITE_IOERR_SHORT_READ)) {
            self.update_page_size(offset, to);
        }
        result
    }

    fn write(&mut self, data: &[u8], offset: u64) -> Result<(), c_int> {
        self.update_page_size(offset, data);
        let length = data.len() as u64;
        let end = offset.saturating_add(length);
        let grows = end > self.base.size()?;
        self.base.write(data, offset)?;
        let rewritten = self.written.add(offset, end);
        let in_order = self.last_write_end.is_none_or(|last| last == offset);
        self.last_write_end = Some(end);
        let (kind, page_size) = (self.kind, self.page_size);
        self.shared
            .recorder
            .record(kind, IoOperation::Write, offset, length, |counters| {
                counters.writes += 1;
                counters.write_bytes += length;
                counters.size_changes += u64::from(grows);
                counters.rewritten_bytes += rewritten;
                if kind == FileKind::Database {
                    counters.rewritten_pages += rewritten.div_ceil(page_size);
                }
                counters.out_of_order += u64::from(!in_order);
            });
        Ok(())
    }

    fn truncate(&mut self, size: u64) -> Result<(), c_int> {
        let before = self.base.size()?;
        self.base.truncate(size)?;
        self.shared
            .recorder
            .record(self.kind, IoOperation::Truncate, size, 0, |counters| {
                counters.truncates += 1;
                counters.size_changes += u64::from(before != size);
            });
        Ok(())
    }

    fn sync(&mut self, flags: c_int) -> Result<(), c_int> {
        match self.shared.options.sync {
            SyncCall::Fdatasync => OpenFile::sync(&mut self.base, flags)?,
            SyncCall::Fsync => {
                let descriptor = self.descriptor.ok_or(ffi::SQLITE_IOERR_FSYNC)?;
                // SAFETY: the unix VFS keeps the descriptor open until the file is closed.
                let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
                rustix::fs::fsync(descriptor).map_err(|_| ffi::SQLITE_IOERR_FSYNC)?;
                if let Some(directory) = &self.unsynced_directory {
                    sync_directory(directory);
                }
            }
        }
        let delay = self.shared.options.sync_delay;
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
        self.written.clear();
        self.record(IoOperation::Sync, 0, 0);
        if self.unsynced_directory.take().is_some() {
            self.record(IoOperation::DirectorySync, 0, 0);
        }
        Ok(())
    }

    fn unlock(&mut self, level: c_int) -> Result<(), c_int> {
        self.written.clear();
        self.base.unlock(level)
    }

    unsafe fn control(&mut self, operation: c_int, argument: *mut c_void) -> c_int {
        if operation == ffi::SQLITE_FCNTL_NULL_IO {
            self.descriptor = None;
        }
        // SAFETY: as the caller promises.
        unsafe { self.base.control(operation, argument) }
    }

    fn size(&mut self) -> Result<u64, c_int> {
        self.base.size()
    }

    fn lock(&mut self, level: c_int) -> Result<(), c_int> {
        self.base.lock(level)
    }

    fn is_reserved(&mut self) -> Result<bool, c_int> {
        self.base.is_reserved()
    }

    fn sector_size(&mut self) -> c_int {
        self.base.sector_size()
    }

    fn device_characteristics(&mut self) -> c_int {
        self.base.device_characteristics()
    }

    fn map_index(&mut self, region: c_int, size: c_int, extend: bool) -> Result<*mut u8, c_int> {
        self.base.map_index(region, size, extend)
    }

    fn lock_index(&mut self, first: c_int, count: c_int, flags: c_int) -> Result<(), c_int> {
        self.base.lock_index(first, count, flags)
    }

    fn unmap_index(&mut self, delete: bool) {
        self.base.unmap_index(delete);
    }

    fn fetch(&mut self, offset: i64, length: c_int) -> Result<*mut c_void, c_int> {
        self.base.fetch(offset, length)
    }

    unsafe fn unfetch(&mut self, offset: i64, page: *mut c_void) -> c_int {
        // SAFETY: as the caller promises.
        unsafe { self.base.unfetch(offset, page) }
    }
}
