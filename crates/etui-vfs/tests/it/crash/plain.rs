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

#[repr(C)]
struct Handle {
    base: ffi::sqlite3_file,
    opened: *mut Opened,
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
            szOsFile: size_of::<Handle>() as c_int,
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

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Returns the VFS.
///
/// # Safety
///
/// [`register`] made `vfs`.
unsafe fn vfs_of(vfs: *mut ffi::sqlite3_vfs) -> &'static Vfs {
    // SAFETY: `register` put it there.
    unsafe { &*(*vfs).pAppData.cast::<Vfs>() }
}

/// Returns the state of a file.
///
/// # Safety
///
/// [`open`] opened `file`; SQLite never calls two methods of a file concurrently.
unsafe fn opened<'a>(file: *mut ffi::sqlite3_file) -> &'a mut Opened {
    // SAFETY: as above.
    unsafe { &mut *(*file.cast::<Handle>()).opened }
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

fn code(done: std::io::Result<()>, otherwise: c_int) -> c_int {
    match done {
        Ok(()) => ffi::SQLITE_OK,
        Err(error) if error.kind() == std::io::ErrorKind::StorageFull => ffi::SQLITE_FULL,
        Err(_) => otherwise,
    }
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
    let state = Box::new(Opened {
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
    });
    // SAFETY: see above.
    unsafe {
        if !out_flags.is_null() {
            *out_flags = flags;
        }
        (*file.cast::<Handle>()).opened = Box::into_raw(state);
        (*file).pMethods = &METHODS;
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: see above; this is the last use.
    let mut state = unsafe {
        unlock(file, ffi::SQLITE_LOCK_NONE);
        shm_unmap(file, 0);
        Box::from_raw((*file.cast::<Handle>()).opened)
    };
    if let (true, Some(path)) = (state.delete_on_close, &state.path) {
        let _ = state.vfs.platform.remove(path, false);
    }
    state.shared = Arc::default();
    let mut all = state.vfs.databases.lock().unwrap();
    all.retain(|_, shared| Arc::strong_count(shared) > 1);
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    to: *mut c_void,
    len: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: see above.
    let (state, bytes) = unsafe {
        let bytes = std::slice::from_raw_parts_mut(to.cast::<u8>(), len as usize);
        (opened(file), bytes)
    };
    match state.file.read_at(bytes, offset as u64) {
        Ok(all) if all == bytes.len() => ffi::SQLITE_OK,
        Ok(some) => {
            bytes[some..].fill(0);
            ffi::SQLITE_IOERR_SHORT_READ
        }
        Err(_) => ffi::SQLITE_IOERR_READ,
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    len: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: see above.
    let (state, bytes) = unsafe {
        let bytes = std::slice::from_raw_parts(from.cast::<u8>(), len as usize);
        (opened(file), bytes)
    };
    let done = state.file.write_at(bytes, offset as u64);
    code(done, ffi::SQLITE_IOERR_WRITE)
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, len: ffi::sqlite3_int64) -> c_int {
    // SAFETY: see above.
    let state = unsafe { opened(file) };
    code(state.file.set_len(len as u64), ffi::SQLITE_IOERR_TRUNCATE)
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: see above.
    let state = unsafe { opened(file) };
    let Some(path) = &state.path else {
        return ffi::SQLITE_OK;
    };
    match state.vfs.mistake {
        Mistake::NoSync(end)
            if path
                .as_os_str()
                .as_encoded_bytes()
                .ends_with(end.as_bytes()) => {}
        _ => {
            if state.file.sync().is_err() {
                return ffi::SQLITE_IOERR_FSYNC;
            }
        }
    }
    if state.directory_due && state.vfs.mistake != Mistake::NoDirectorySync {
        if state.vfs.platform.sync_directory_of(path).is_err() {
            return ffi::SQLITE_IOERR_DIR_FSYNC;
        }
        state.directory_due = false;
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, to: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: see above.
    let state = unsafe { opened(file) };
    let Ok(len) = state.file.len() else {
        return ffi::SQLITE_IOERR_FSTAT;
    };
    // SAFETY: see above.
    unsafe { *to = len as i64 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    let state = unsafe { opened(file) };
    let mut shared = state.shared.lock().unwrap();
    if state.level >= level {
        return ffi::SQLITE_OK;
    }
    match level {
        ffi::SQLITE_LOCK_SHARED => {
            if shared.pending || shared.exclusive {
                return ffi::SQLITE_BUSY;
            }
            shared.readers += 1;
        }
        ffi::SQLITE_LOCK_RESERVED => {
            if shared.reserved || shared.pending {
                return ffi::SQLITE_BUSY;
            }
            shared.reserved = true;
        }
        _ => {
            if shared.pending && state.level < ffi::SQLITE_LOCK_PENDING
                || shared.reserved && state.level < ffi::SQLITE_LOCK_RESERVED
            {
                return ffi::SQLITE_BUSY;
            }
            shared.reserved = true;
            shared.pending = true;
            state.level = ffi::SQLITE_LOCK_PENDING;
            if level == ffi::SQLITE_LOCK_EXCLUSIVE && shared.readers > 1 {
                return ffi::SQLITE_BUSY;
            }
            shared.exclusive = level == ffi::SQLITE_LOCK_EXCLUSIVE;
        }
    }
    state.level = level;
    ffi::SQLITE_OK
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    let state = unsafe { opened(file) };
    let mut shared = state.shared.lock().unwrap();
    if state.level <= level {
        return ffi::SQLITE_OK;
    }
    if state.level >= ffi::SQLITE_LOCK_RESERVED {
        shared.reserved = false;
        if state.level >= ffi::SQLITE_LOCK_PENDING {
            shared.pending = false;
            shared.exclusive = false;
        }
    }
    if level == ffi::SQLITE_LOCK_NONE {
        shared.readers -= 1;
    }
    state.level = level;
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, to: *mut c_int) -> c_int {
    // SAFETY: see above.
    unsafe {
        let reserved = opened(file).shared.lock().unwrap().reserved;
        *to = c_int::from(reserved);
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(_: *mut ffi::sqlite3_file, _: c_int, _: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_: *mut ffi::sqlite3_file) -> c_int {
    4096
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: see above.
    let claimed = match unsafe { opened(file) }.vfs.mistake {
        Mistake::ClaimsSequential => ffi::SQLITE_IOCAP_SEQUENTIAL,
        _ => 0,
    };
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE | claimed
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: see above.
    let state = unsafe { opened(file) };
    let mut shared = state.shared.lock().unwrap();
    if !std::mem::replace(&mut state.mapped, true) {
        shared.mapped += 1;
    }
    while extend != 0 && shared.regions.len() <= region as usize {
        assert_eq!(size as usize, REGION);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the system chooses the address; nothing is there.
        let pages = unsafe { mmap_anonymous(ptr::null_mut(), REGION, access, MapFlags::SHARED) };
        let Ok(pages) = pages else {
            return ffi::SQLITE_NOMEM;
        };
        shared.regions.push(Region(pages));
    }
    let there = shared.regions.get(region as usize);
    // SAFETY: see above.
    unsafe { *to = there.map_or(ptr::null_mut(), |region| region.0) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    first: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: see above.
    let state = unsafe { opened(file) };
    let mut shared = state.shared.lock().unwrap();
    let slots = first as usize..(first + count) as usize;
    let exclusive = flags & ffi::SQLITE_SHM_EXCLUSIVE != 0;
    if flags & ffi::SQLITE_SHM_LOCK != 0 {
        for slot in slots.clone() {
            let others = shared.shm_readers[slot] - u32::from(state.shm_shared[slot]);
            let taken = shared.shm_writer[slot] && !state.shm_exclusive[slot];
            if taken || exclusive && others > 0 {
                return ffi::SQLITE_BUSY;
            }
        }
    }
    for slot in slots {
        let take = flags & ffi::SQLITE_SHM_LOCK != 0;
        if exclusive {
            if take || state.shm_exclusive[slot] {
                shared.shm_writer[slot] = take;
            }
            state.shm_exclusive[slot] = take;
        } else if state.shm_shared[slot] != take {
            state.shm_shared[slot] = take;
            let readers = &mut shared.shm_readers[slot];
            *readers = if take { *readers + 1 } else { *readers - 1 };
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn shm_barrier(_: *mut ffi::sqlite3_file) {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, _delete: c_int) -> c_int {
    // SAFETY: see above.
    let state = unsafe { opened(file) };
    let mut shared = state.shared.lock().unwrap_or_else(PoisonError::into_inner);
    for slot in 0..8 {
        if std::mem::take(&mut state.shm_exclusive[slot]) {
            shared.shm_writer[slot] = false;
        }
        if std::mem::take(&mut state.shm_shared[slot]) {
            shared.shm_readers[slot] -= 1;
        }
    }
    if std::mem::take(&mut state.mapped) {
        shared.mapped -= 1;
        if shared.mapped == 0 {
            shared.regions.clear();
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn delete(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    sync_directory: c_int,
) -> c_int {
    // SAFETY: see above.
    let (vfs, path) = unsafe { (vfs_of(vfs), path_of(name)) };
    let durably = sync_directory & 1 != 0 && vfs.mistake != Mistake::NoDirectorySync;
    code(
        vfs.platform.remove(&path, durably),
        ffi::SQLITE_IOERR_DELETE,
    )
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
