//! [`DatabaseFile`]: a database that a connection has open: read and written by SQLite's own VFS, with
//! locks and a wal-index of its own.

use std::io;
use std::os::raw::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use libsqlite3_sys as ffi;

use crate::base_vfs::BaseVfs;
use crate::file_identity::file_identity;
use crate::first_pages::FirstPages;
use crate::guarded_file::{GuardedFile, LockLevel};
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
    pub fn below(&self) -> *mut ffi::sqlite3_file {
        let file = self.file.sqlite();
        file.map_or(ptr::null_mut(), |file| file.raw())
    }

    pub fn lock(&mut self, level: c_int) -> Result<(), c_int> {
        self.level.raise(&self.file, level)
    }

    pub fn unlock(&mut self, level: c_int) -> Result<(), c_int> {
        self.level.lower(&self.file, level)
    }

    pub fn lock_level(&self) -> c_int {
        self.level.get()
    }

    pub fn is_reserved(&self) -> Result<bool, c_int> {
        self.level.is_reserved(&self.file)
    }

    pub fn map_index(
        &mut self,
        region: c_int,
        size: c_int,
        extend: bool,
    ) -> Result<*mut u8, c_int> {
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

    pub fn lock_index(&mut self, first: c_int, count: c_int, flags: c_int) -> Result<(), c_int> {
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

    /// Returns true if the WAL has its name.
    fn has_its_wal(&self) -> bool {
        let named = file_identity(&sibling_path(&self.path, "-wal"));
        self.wal.is_none() || self.wal == named.ok()
    }

    pub fn unmap_index(&mut self, delete: bool) {
        if let Some(index) = self.index.take() {
            index.close(delete);
        }
    }

    /// Maps a page, but for the first ones that are wanted: these are read.
    pub fn wants_mapping(&mut self) -> bool {
        !self.first_pages.is_next()
    }

    /// Calls `xFileControl` of the file below, unless it asks for what this one has.
    ///
    /// # Safety
    ///
    /// `argument` is valid for the operation.
    pub unsafe fn control(&self, operation: c_int, argument: *mut c_void) -> Option<c_int> {
        match operation {
            ffi::SQLITE_FCNTL_LOCKSTATE => {
                // SAFETY: as the caller promises: a pointer to an int.
                unsafe { *argument.cast::<c_int>() = self.lock_level() };
                Some(ffi::SQLITE_OK)
            }
            _ => None,
        }
    }
}
