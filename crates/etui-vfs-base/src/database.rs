//! [`DatabaseFile`]: a database that a connection has open: read and written by SQLite's own VFS, with
//! locks and a wal-index of its own.

use std::ffi::CStr;
use std::io;
use std::os::raw::{c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use libsqlite3_sys as ffi;

use crate::base_vfs::BaseVfs;
use crate::file_identity::file_identity;
use crate::file_methods::{OpenFile, methods};
use crate::first_pages::FirstPages;
use crate::guarded_file::{GuardedFile, LockLevel};
use crate::sqlite_file::SqliteFile;
use crate::wal_index::{WalIndexFile, sibling_path};

/// A database that a connection has open.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    file: GuardedFile,
    path: PathBuf,
    level: LockLevel,
    index: Option<WalIndexFile>,
    /// The identity of the WAL, from when it was opened.
    wal: Option<(u64, u64)>,
    first_pages: FirstPages,
}

impl DatabaseFile {
    /// Opens a database to read and write, with SQLite's flags.
    pub fn open(host: &BaseVfs, path: &Path, flags: c_int) -> io::Result<Self> {
        Ok(Self {
            file: GuardedFile::open_database(host, path, flags)?,
            path: path.to_owned(),
            level: LockLevel::new(),
            index: None,
            wal: None,
            first_pages: FirstPages::default(),
        })
    }

    /// Returns the file as SQLite's own VFS has it open.
    fn below(&mut self) -> Result<&mut SqliteFile, c_int> {
        self.file.sqlite().ok_or(ffi::SQLITE_IOERR)
    }

    /// Returns true if the WAL has its name.
    fn has_its_wal(&self) -> bool {
        let named = file_identity(&sibling_path(&self.path, "-wal"));
        // Until it is opened there is none that could be lost.
        self.wal.is_none() || self.wal == named.ok()
    }
}

impl OpenFile for DatabaseFile {
    fn table() -> &'static ffi::sqlite3_io_methods {
        static TABLE: ffi::sqlite3_io_methods = methods::<DatabaseFile>(true);
        &TABLE
    }

    fn read(&mut self, to: &mut [u8], offset: u64) -> Result<(), c_int> {
        self.below()?.read(to, offset)
    }

    fn write(&mut self, bytes: &[u8], offset: u64) -> Result<(), c_int> {
        self.below()?.write(bytes, offset)
    }

    fn truncate(&mut self, size: u64) -> Result<(), c_int> {
        self.below()?.truncate(size)
    }

    fn sync(&mut self, flags: c_int) -> Result<(), c_int> {
        OpenFile::sync(self.below()?, flags)
    }

    fn size(&mut self) -> Result<u64, c_int> {
        self.below()?.size()
    }

    fn lock(&mut self, level: c_int) -> Result<(), c_int> {
        self.level.raise(&self.file, level)
    }

    fn unlock(&mut self, level: c_int) -> Result<(), c_int> {
        self.level.lower(&self.file, level)
    }

    fn is_reserved(&mut self) -> Result<bool, c_int> {
        self.level.is_reserved(&self.file)
    }

    unsafe fn control(&mut self, operation: c_int, argument: *mut c_void) -> c_int {
        if operation == ffi::SQLITE_FCNTL_LOCKSTATE {
            // SAFETY: as the caller promises: a pointer to an int.
            unsafe { *argument.cast::<c_int>() = self.level.get() };
            return ffi::SQLITE_OK;
        }
        if operation == ffi::SQLITE_FCNTL_PRAGMA {
            // SAFETY: as the caller promises: three strings or nulls, the first for the result, the second
            // the pragma's name.
            unsafe {
                let strings: *mut *mut c_char = argument.cast();
                if CStr::from_ptr(*strings.add(1))
                    .to_bytes()
                    .eq_ignore_ascii_case(b"etui_stats")
                {
                    *strings = BaseVfs::text("redo_log never");
                    return ffi::SQLITE_OK;
                }
            }
        }
        match self.below() {
            // SAFETY: as the caller promises.
            Ok(below) => unsafe { below.control(operation, argument) },
            Err(code) => code,
        }
    }

    fn sector_size(&mut self) -> c_int {
        self.below().map_or(4096, SqliteFile::sector_size)
    }

    fn device_characteristics(&mut self) -> c_int {
        self.below().map_or(0, SqliteFile::device_characteristics)
    }

    fn map_index(&mut self, region: c_int, size: c_int, extend: bool) -> Result<*mut u8, c_int> {
        let index = match &mut self.index {
            Some(index) => index,
            none => {
                // SQLite has opened the WAL just now.
                self.wal = file_identity(&sibling_path(&self.path, "-wal")).ok();
                none.insert(WalIndexFile::open(&self.path)?)
            }
        };
        index.map(region, size, extend)
    }

    fn lock_index(&mut self, first: c_int, count: c_int, flags: c_int) -> Result<(), c_int> {
        let begins_to_write = WalIndexFile::begins_to_write(first, flags);
        // Of another file commits would not be found by others.
        let is_lost = begins_to_write && !self.has_its_wal();
        let Some(index) = &mut self.index else {
            return Err(ffi::SQLITE_IOERR_SHMLOCK);
        };
        index.lock(first, count, flags)?;
        if is_lost {
            index.lock(
                first,
                count,
                ffi::SQLITE_SHM_UNLOCK | ffi::SQLITE_SHM_EXCLUSIVE,
            )?;
            BaseVfs::log(
                ffi::SQLITE_IOERR_VNODE,
                &format!(
                    "{}: its WAL was deleted or replaced; close it and open it again",
                    self.path.display()
                ),
            );
            return Err(ffi::SQLITE_IOERR_VNODE);
        }
        Ok(())
    }

    fn unmap_index(&mut self, delete: bool) {
        if let Some(index) = self.index.take() {
            index.close(delete);
        }
    }

    /// Maps a page, but for the first ones that are wanted: these are read.
    fn fetch(&mut self, offset: i64, length: c_int) -> Result<*mut c_void, c_int> {
        match self.first_pages.is_next() {
            true => Ok(ptr::null_mut()),
            false => self.below()?.fetch(offset, length),
        }
    }

    unsafe fn unfetch(&mut self, offset: i64, page: *mut c_void) -> c_int {
        match self.below() {
            // SAFETY: as the caller promises.
            Ok(below) => unsafe { below.unfetch(offset, page) },
            Err(code) => code,
        }
    }
}
