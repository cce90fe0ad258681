//! A VFS that forwards to a [`Platform`] and has the locks and the wal-index of its connections:
//! stock SQLite on the laboratory's disk. It validates the laboratory, and shows how SQLite without
//! etui-vfs reads a file. With a [`Mistake`] it must be caught.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use etui_vfs::device::{Access, File, Platform, Role};
use etui_vfs_base::file_methods::{FileHandle, OpenFile, methods};
use libsqlite3_sys as ffi;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// A mistake of the VFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    None,
    /// Flushes of files whose names have this suffix do nothing.
    NoSync(&'static str),
    /// Names are never made durable.
    NoDirectorySync,
    /// Claims that the device never reorders writes, so that SQLite omits flushes.
    ClaimsSequential,
}

struct Vfs {
    platform: Arc<dyn Platform>,
    mistake: Mistake,
    system: *mut ffi::sqlite3_vfs,
    databases: Mutex<BTreeMap<PathBuf, Arc<Mutex<Shared>>>>,
}

/// The state shared by the connections of one database.
#[derive(Default)]
struct Shared {
    readers: u32,
    reserved: bool,
    pending: bool,
    exclusive: bool,
    shm_readers: [u32; 8],
    shm_writer: [bool; 8],
    regions: Vec<Region>,
    /// The number of connections that have the regions mapped.
    mapped: u32,
}

/// Pages of address space, mapped shared, so that a VFS above can map them a second time.
struct Region(*mut c_void);

/// The size of a region of the wal-index.
const REGION: usize = 32_768;

// SAFETY: SQLite synchronises its accesses to the memory.
unsafe impl Send for Region {}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: it was mapped, and no connection has the database open.
        let _ = unsafe { munmap(self.0, REGION) };
    }
}

struct Opened {
    vfs: &'static Vfs,
    path: Option<PathBuf>,
    file: Box<dyn File>,
    shared: Arc<Mutex<Shared>>,
    level: c_int,
    shm_shared: [bool; 8],
    shm_exclusive: [bool; 8],
    mapped: bool,
    delete_on_close: bool,
    directory_due: bool,
}

/// Registers the VFS over `platform`.
pub fn register(name: &str, platform: Arc<dyn Platform>, mistake: Mistake) {
    // SAFETY: the default VFS stays registered; ours is leaked.
    unsafe {
        let system = ffi::sqlite3_vfs_find(ptr::null());
        let vfs: &'static Vfs = Box::leak(Box::new(Vfs {
            platform,
            mistake,
            system,
            databases: Mutex::default(),
        }));
        let methods = Box::leak(Box::new(ffi::sqlite3_vfs {
            iVersion: 1,
            szOsFile: size_of::<FileHandle<()>>() as c_int,
            mxPathname: 512,
            pNext: ptr::null_mut(),
            zName: CString::new(name).unwrap().into_raw(),
            pAppData: ptr::from_ref(vfs).cast_mut().cast(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_pathname),
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: Some(current_time),
            xGetLastError: None,
            xCurrentTimeInt64: None,
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        }));
        assert_eq!(ffi::sqlite3_vfs_register(methods, 0), ffi::SQLITE_OK);
    }
}

/// Returns the VFS.
///
/// # Safety
///
/// [`register`] made `vfs`.
unsafe fn vfs_of(vfs: *mut ffi::sqlite3_vfs) -> &'static Vfs {
    // SAFETY: `register` put it there.
    unsafe { &*(*vfs).pAppData.cast::<Vfs>() }
}

/// Converts a path.
///
/// # Safety
///
/// `name` is a C string.
unsafe fn path_of(name: *const c_char) -> PathBuf {
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(name) };
    PathBuf::from(OsStr::from_bytes(name.to_bytes()))
}

fn code(done: std::io::Result<()>, otherwise: c_int) -> Result<(), c_int> {
    done.map_err(|error| match error.kind() {
        std::io::ErrorKind::StorageFull => ffi::SQLITE_FULL,
        _ => otherwise,
    })
}

// SAFETY of all functions below: SQLite calls them with the registered VFS, files that it opened,
// and memory as sqlite3.h specifies.

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: see above.
    let vfs = unsafe {
        (*file).pMethods = ptr::null();
        vfs_of(vfs)
    };
    // SAFETY: see above.
    let path = (!name.is_null()).then(|| unsafe { path_of(name) });
    let role = if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
        Role::Database
    } else if path.is_none() {
        Role::Temporary
    } else {
        Role::Journal
    };
    let access = Access {
        write: flags & ffi::SQLITE_OPEN_READWRITE != 0,
        create: flags & ffi::SQLITE_OPEN_CREATE != 0,
    };
    let Ok(open) = vfs.platform.open(path.as_deref(), role, access) else {
        return ffi::SQLITE_CANTOPEN;
    };
    let shared = match (&path, role) {
        (Some(path), Role::Database) => {
            let mut all = vfs.databases.lock().unwrap();
            Arc::clone(all.entry(path.clone()).or_default())
        }
        _ => Arc::default(),
    };
    let state = Opened {
        vfs,
        directory_due: role == Role::Journal && access.create,
        path,
        file: open,
        shared,
        level: ffi::SQLITE_LOCK_NONE,
        shm_shared: [false; 8],
        shm_exclusive: [false; 8],
        mapped: false,
        delete_on_close: flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0,
    };
    // SAFETY: see above.
    unsafe {
        if !out_flags.is_null() {
            *out_flags = flags;
        }
        FileHandle::init(file, state);
    }
    ffi::SQLITE_OK
}

impl OpenFile for Opened {
    fn table() -> &'static ffi::sqlite3_io_methods {
        static TABLE: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
            iVersion: 2,
            ..methods::<Opened>(true)
        };
        &TABLE
    }

    fn close(mut self) {
        let _ = self.unlock(ffi::SQLITE_LOCK_NONE);
        self.unmap_index(false);
        if let (true, Some(path)) = (self.delete_on_close, &self.path) {
            let _ = self.vfs.platform.remove(path, false);
        }
        self.shared = Arc::default();
        let mut all = self.vfs.databases.lock().unwrap();
        all.retain(|_, shared| Arc::strong_count(shared) > 1);
    }

    fn read(&mut self, to: &mut [u8], offset: u64) -> Result<(), c_int> {
        match self.file.read_at(to, offset) {
            Ok(all) if all == to.len() => Ok(()),
            Ok(some) => {
                to[some..].fill(0);
                Err(ffi::SQLITE_IOERR_SHORT_READ)
            }
            Err(_) => Err(ffi::SQLITE_IOERR_READ),
        }
    }

    fn write(&mut self, bytes: &[u8], offset: u64) -> Result<(), c_int> {
        code(self.file.write_at(bytes, offset), ffi::SQLITE_IOERR_WRITE)
    }

    fn truncate(&mut self, size: u64) -> Result<(), c_int> {
        code(self.file.set_len(size), ffi::SQLITE_IOERR_TRUNCATE)
    }

    fn sync(&mut self, _flags: c_int) -> Result<(), c_int> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let is_skipped = match self.vfs.mistake {
            Mistake::NoSync(end) => path.as_os_str().as_bytes().ends_with(end.as_bytes()),
            _ => false,
        };
        if !is_skipped {
            self.file.sync().map_err(|_| ffi::SQLITE_IOERR_FSYNC)?;
        }
        if self.directory_due && self.vfs.mistake != Mistake::NoDirectorySync {
            let synced = self.vfs.platform.sync_directory_of(path);
            synced.map_err(|_| ffi::SQLITE_IOERR_DIR_FSYNC)?;
            self.directory_due = false;
        }
        Ok(())
    }

    fn size(&mut self) -> Result<u64, c_int> {
        self.file.len().map_err(|_| ffi::SQLITE_IOERR_FSTAT)
    }

    fn lock(&mut self, level: c_int) -> Result<(), c_int> {
        let mut shared = self.shared.lock().unwrap();
        if self.level >= level {
            return Ok(());
        }
        match level {
            ffi::SQLITE_LOCK_SHARED => {
                if shared.pending || shared.exclusive {
                    return Err(ffi::SQLITE_BUSY);
                }
                shared.readers += 1;
            }
            ffi::SQLITE_LOCK_RESERVED => {
                if shared.reserved || shared.pending {
                    return Err(ffi::SQLITE_BUSY);
                }
                shared.reserved = true;
            }
            _ => {
                if shared.pending && self.level < ffi::SQLITE_LOCK_PENDING
                    || shared.reserved && self.level < ffi::SQLITE_LOCK_RESERVED
                {
                    return Err(ffi::SQLITE_BUSY);
                }
                shared.reserved = true;
                shared.pending = true;
                self.level = ffi::SQLITE_LOCK_PENDING;
                if level == ffi::SQLITE_LOCK_EXCLUSIVE && shared.readers > 1 {
                    return Err(ffi::SQLITE_BUSY);
                }
                shared.exclusive = level == ffi::SQLITE_LOCK_EXCLUSIVE;
            }
        }
        self.level = level;
        Ok(())
    }

    fn unlock(&mut self, level: c_int) -> Result<(), c_int> {
        let mut shared = self.shared.lock().unwrap();
        if self.level <= level {
            return Ok(());
        }
        if self.level >= ffi::SQLITE_LOCK_RESERVED {
            shared.reserved = false;
            if self.level >= ffi::SQLITE_LOCK_PENDING {
                shared.pending = false;
                shared.exclusive = false;
            }
        }
        if level == ffi::SQLITE_LOCK_NONE {
            shared.readers -= 1;
        }
        self.level = level;
        Ok(())
    }

    fn is_reserved(&mut self) -> Result<bool, c_int> {
        Ok(self.shared.lock().unwrap().reserved)
    }

    fn device_characteristics(&mut self) -> c_int {
        let claimed = match self.vfs.mistake {
            Mistake::ClaimsSequential => ffi::SQLITE_IOCAP_SEQUENTIAL,
            _ => 0,
        };
        ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE | claimed
    }

    fn map_index(&mut self, region: c_int, size: c_int, extend: bool) -> Result<*mut u8, c_int> {
        let mut shared = self.shared.lock().unwrap();
        if !std::mem::replace(&mut self.mapped, true) {
            shared.mapped += 1;
        }
        while extend && shared.regions.len() <= region as usize {
            assert_eq!(size as usize, REGION);
            let access = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: the system chooses the address; nothing is there.
            let pages =
                unsafe { mmap_anonymous(ptr::null_mut(), REGION, access, MapFlags::SHARED) };
            shared
                .regions
                .push(Region(pages.map_err(|_| ffi::SQLITE_NOMEM)?));
        }
        let there = shared.regions.get(region as usize);
        Ok(there.map_or(ptr::null_mut(), |region| region.0.cast()))
    }

    fn lock_index(&mut self, first: c_int, count: c_int, flags: c_int) -> Result<(), c_int> {
        let mut shared = self.shared.lock().unwrap();
        let slots = first as usize..(first + count) as usize;
        let exclusive = flags & ffi::SQLITE_SHM_EXCLUSIVE != 0;
        if flags & ffi::SQLITE_SHM_LOCK != 0 {
            for slot in slots.clone() {
                let others = shared.shm_readers[slot] - u32::from(self.shm_shared[slot]);
                let taken = shared.shm_writer[slot] && !self.shm_exclusive[slot];
                if taken || exclusive && others > 0 {
                    return Err(ffi::SQLITE_BUSY);
                }
            }
        }
        for slot in slots {
            let take = flags & ffi::SQLITE_SHM_LOCK != 0;
            if exclusive {
                if take || self.shm_exclusive[slot] {
                    shared.shm_writer[slot] = take;
                }
                self.shm_exclusive[slot] = take;
            } else if self.shm_shared[slot] != take {
                self.shm_shared[slot] = take;
                let readers = &mut shared.shm_readers[slot];
                *readers = if take { *readers + 1 } else { *readers - 1 };
            }
        }
        Ok(())
    }

    fn unmap_index(&mut self, _delete: bool) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        for slot in 0..8 {
            if std::mem::take(&mut self.shm_exclusive[slot]) {
                shared.shm_writer[slot] = false;
            }
            if std::mem::take(&mut self.shm_shared[slot]) {
                shared.shm_readers[slot] -= 1;
            }
        }
        if std::mem::take(&mut self.mapped) {
            shared.mapped -= 1;
            if shared.mapped == 0 {
                shared.regions.clear();
            }
        }
    }
}

unsafe extern "C" fn delete(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    sync_directory: c_int,
) -> c_int {
    // SAFETY: see above.
    let (vfs, path) = unsafe { (vfs_of(vfs), path_of(name)) };
    let durably = sync_directory & 1 != 0 && vfs.mistake != Mistake::NoDirectorySync;
    match vfs.platform.remove(&path, durably) {
        Ok(()) => ffi::SQLITE_OK,
        Err(_) => ffi::SQLITE_IOERR_DELETE,
    }
}

unsafe extern "C" fn access(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    to: *mut c_int,
) -> c_int {
    // SAFETY: see above.
    let (vfs, path) = unsafe { (vfs_of(vfs), path_of(name)) };
    let Ok(mut there) = vfs.platform.exists(&path) else {
        return ffi::SQLITE_IOERR_ACCESS;
    };
    // An empty file does not count, as in os_unix.c.
    if there && flags == ffi::SQLITE_ACCESS_EXISTS {
        there = size(vfs, &path) != Some(0);
    }
    // SAFETY: see above.
    unsafe { *to = c_int::from(there) };
    ffi::SQLITE_OK
}

fn size(vfs: &Vfs, path: &Path) -> Option<u64> {
    let access = Access {
        write: false,
        create: false,
    };
    let file = vfs.platform.open(Some(path), Role::Journal, access).ok()?;
    file.len().ok()
}

unsafe extern "C" fn full_pathname(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    len: c_int,
    to: *mut c_char,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let bytes = CStr::from_ptr(name).to_bytes_with_nul();
        if bytes.len() > len as usize {
            return ffi::SQLITE_CANTOPEN;
        }
        ptr::copy_nonoverlapping(name, to, bytes.len());
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn randomness(vfs: *mut ffi::sqlite3_vfs, len: c_int, to: *mut c_char) -> c_int {
    // SAFETY: see above; the system's VFS is always there.
    unsafe {
        let system = vfs_of(vfs).system;
        (*system)
            .xRandomness
            .map_or(0, |call| call(system, len, to))
    }
}

unsafe extern "C" fn sleep(_: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    std::thread::sleep(std::time::Duration::from_micros(microseconds as u64));
    microseconds
}

unsafe extern "C" fn current_time(vfs: *mut ffi::sqlite3_vfs, to: *mut f64) -> c_int {
    // SAFETY: see above.
    unsafe {
        let system = vfs_of(vfs).system;
        (*system)
            .xCurrentTime
            .map_or(ffi::SQLITE_ERROR, |call| call(system, to))
    }
}
