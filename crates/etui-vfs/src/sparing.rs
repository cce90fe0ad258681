//! SQLite's own VFS, less the flushes that a log at its beginning does not need: a VFS that leaves
//! all to the one named `unix`, but for a few calls.
//!
//! **The header of a new log.** SQLite flushes a log's header before the frames behind it are
//! written (`syncHeader`). That is for a log which is begun anew over older contents: should the
//! new frames reach the disk before the new header, the old header and those of its frames that
//! are still there make a log of old pages. A log that was never written to has none. Whatever
//! part of its header and frames a power cut leaves, it is no log, or its first transactions,
//! whole, by their checksums; nothing of it was acknowledged before the flush of the commit. So
//! that one flush serves both.
//!
//! *Never written to* is looked at under the lock that SQLite writes the header under: the file is
//! empty, this connection has not begun it before, and its times of birth and of its last change
//! are the same; or it is marked (below). An empty file that is neither was cut, and nobody knows
//! whether the disk has heard of it: SQLite flushes the header then, as ever. (A file that another
//! program made, filled and cut within one tick of the kernel's clock would be taken for a new
//! one. A file system with a journal keeps even that in order: blocks that were cut off are not
//! written to before the cut is durable.) The file system must not show old blocks in a new file
//! either: on those that are not known for that ([`KNOWN`]) nothing is spared.
//!
//! **The name of a kept log.** With the log kept (SQLite's `SQLITE_FCNTL_PERSIST_WAL`) who closes
//! last leaves an empty log rather than none. Here it then flushes that, and its name, and *marks*
//! it by its time of change ([`mark_of`]), which the next write to it undoes. A log that is marked
//! is empty, and its name there, also after a power cut; the mark is good for this file under this
//! name in this directory only, so that a copy, or one that was moved, has none. It is opened
//! without `SQLITE_OPEN_CREATE`, so that the unix VFS has no directory to flush at its first sync.
//! Only who has the database to itself removes a log, and who opens one has it locked: it is still
//! the marked one then.
//!
//! All that is in a file at any time is what SQLite itself would have written to it: other
//! programs may use the store at the same time without this.

use std::ffi::{CStr, OsStr};
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use libsqlite3_sys as ffi;
use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, Timespec, Timestamps};
use twox_hash::XxHash3_64;

/// The second of the time of change of a log that was left empty for good: "etui", since 1970.
const MARK: i64 = 0x6574_7569;
/// Bytes of a log's header.
const HEADER: c_int = 32;
/// File systems that give a file no block without clearing or writing it, by `statfs`: ext4 (its
/// forerunners have the same number, and cannot be told from it), XFS, Btrfs, F2FS, bcachefs, ZFS,
/// and those in memory.
const KNOWN: [u64; 7] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0xf2f5_2010,
    0xca45_1a4e,
    0x2fc1_2fc1,
    0x0102_1994,
];

static HEADERS: AtomicU64 = AtomicU64::new(0);
static NAMES: AtomicU64 = AtomicU64::new(0);

/// Flushes that were spared in this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spared {
    /// Of headers of new logs.
    pub headers: u64,
    /// Of names of kept logs: opened without the need for one.
    pub names: u64,
}

/// What was spared in this process so far.
#[must_use]
pub fn spared() -> Spared {
    Spared {
        headers: HEADERS.load(Ordering::Relaxed),
        names: NAMES.load(Ordering::Relaxed),
    }
}

/// The name of the VFS that spares flushes, registered when it is first asked for; `keep_log`:
/// the one that also leaves logs in their place, emptied, when a database is closed. `None`: this
/// process's default is not SQLite's own VFS for Unix.
#[must_use]
pub fn sparing(keep_log: bool) -> Option<&'static str> {
    static PLAIN: OnceLock<Option<Above>> = OnceLock::new();
    static KEEPING: OnceLock<Option<Above>> = OnceLock::new();
    // SAFETY: null asks for the default.
    let default = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
    let (above, name) = match keep_log {
        false => (&PLAIN, c"etui-sparing"),
        true => (&KEEPING, c"etui-keeping"),
    };
    let above = above.get_or_init(|| register(default, name, keep_log));
    let is_default = above.as_ref().is_some_and(|above| above.base == default);
    is_default.then(|| name.to_str().ok()).flatten()
}

/// What a VFS of these knows.
struct Above {
    /// The unix VFS.
    base: *mut ffi::sqlite3_vfs,
    keeps: bool,
}

// SAFETY: a registered VFS is not changed, and may be called from any thread.
unsafe impl Send for Above {}
// SAFETY: as above.
unsafe impl Sync for Above {}

/// Registers a VFS above the default one, if that is SQLite's own for Unix.
fn register(base: *mut ffi::sqlite3_vfs, name: &'static CStr, keeps: bool) -> Option<Above> {
    if base.is_null() {
        return None;
    }
    // SAFETY: it is registered: it stays where it is, is not changed, and has a name.
    let (below, is_unix) = unsafe { (*base, CStr::from_ptr((*base).zName) == c"unix") };
    // SAFETY: the name is a C string.
    if !is_unix || !unsafe { ffi::sqlite3_vfs_find(name.as_ptr()) }.is_null() {
        return None;
    }
    let above = Box::leak(Box::new(Above { base, keeps }));
    // The other functions of the unix VFS do not look at the VFS that they are called with.
    let vfs = Box::leak(Box::new(ffi::sqlite3_vfs {
        szOsFile: c_int::try_from(log_at(&below) + size_of::<Log>()).ok()?,
        pNext: ptr::null_mut(),
        zName: name.as_ptr(),
        pAppData: ptr::from_mut(above).cast(),
        xOpen: Some(open),
        ..below
    }));
    // SAFETY: it is leaked, so it stays where it is.
    let code = unsafe { ffi::sqlite3_vfs_register(vfs, 0) };
    (code == ffi::SQLITE_OK).then_some(Above { base, keeps })
}

/// What is known of an open log; it stands behind the unix VFS's file.
#[repr(C)]
struct Log {
    /// SQLite has it in place until the file is closed.
    name: *const c_char,
    keeps: bool,
    /// The header was written to a new log, and nothing else since: the flush that comes next is
    /// the header's.
    begun: bool,
}

/// Where it stands in a file's memory, which begins where it may hold anything.
fn log_at(base: &ffi::sqlite3_vfs) -> usize {
    let size = usize::try_from(base.szOsFile).unwrap_or(0);
    size.next_multiple_of(align_of::<Log>())
}

/// The unix VFS's methods of one kind of file, and those with ours among them.
struct Methods {
    base: *const ffi::sqlite3_io_methods,
    /// Where [`Log`] is in a file.
    at: usize,
    ours: ffi::sqlite3_io_methods,
}

// SAFETY: the tables are not changed.
unsafe impl Send for Methods {}
// SAFETY: as above.
unsafe impl Sync for Methods {}

static OF_LOGS: OnceLock<Methods> = OnceLock::new();
static OF_DATABASES: OnceLock<Methods> = OnceLock::new();

// SAFETY, for all functions below: SQLite calls them with the VFS that was registered, with files
// that it opened, and with pointers to what sqlite3.h promises. A method of ours is in the table
// of a file only if the static table was made for it.

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: see above; `register` put it there, leaked.
    let above = unsafe { &*(*vfs).pAppData.cast::<Above>() };
    // SAFETY: the VFS below is registered.
    let Some(real_open) = (unsafe { (*above.base).xOpen }) else {
        return ffi::SQLITE_CANTOPEN;
    };
    // SAFETY: `file` has the bytes that the VFS below asked for, and more.
    let open = |flags| unsafe { real_open(above.base, name, file, flags, out_flags) };
    let is_log = flags & ffi::SQLITE_OPEN_WAL != 0 && !name.is_null();
    let marked = || {
        // SAFETY: a name that is not null is a C string.
        let name = unsafe { CStr::from_ptr(name) };
        look(name).is_some_and(|found| is_marked(name, &found))
    };
    let mut code = ffi::SQLITE_CANTOPEN;
    if is_log && above.keeps && marked() {
        code = open(flags & !ffi::SQLITE_OPEN_CREATE);
        NAMES.fetch_add(u64::from(code == ffi::SQLITE_OK), Ordering::Relaxed);
    }
    if code != ffi::SQLITE_OK {
        code = open(flags);
    }
    if code != ffi::SQLITE_OK {
        return code;
    }
    if is_log {
        // SAFETY: it is open, and a log.
        unsafe { watch_log(above, name, file) };
    } else if above.keeps && flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
        // SAFETY: it is open, and a database.
        unsafe { keep_log(file) };
    }
    code
}

/// Has a log's writes and flushes go through here.
///
/// # Safety
///
/// `file` is a log that the VFS below has just opened under this name.
unsafe fn watch_log(above: &Above, name: *const c_char, file: *mut ffi::sqlite3_file) {
    // SAFETY: an open file has methods, which stay where they are; the VFS is registered.
    let (base, at) = unsafe { ((*file).pMethods, log_at(&*above.base)) };
    let methods = OF_LOGS.get_or_init(|| Methods {
        base,
        at,
        ours: ffi::sqlite3_io_methods {
            xWrite: Some(write),
            xSync: Some(sync),
            xTruncate: Some(truncate),
            // SAFETY: as above.
            ..unsafe { *base }
        },
    });
    if methods.base != base || methods.at != at {
        return;
    }
    let log = Log {
        name,
        keeps: above.keeps,
        begun: false,
    };
    // SAFETY: the VFS asked for room for it there, behind what the VFS below uses.
    unsafe {
        file.byte_add(at).cast::<Log>().write(log);
        (*file).pMethods = &raw const methods.ours;
    }
}

/// Has a database leave its log in its place when it is closed.
///
/// # Safety
///
/// `file` is a database that the VFS below has just opened.
unsafe fn keep_log(file: *mut ffi::sqlite3_file) {
    // SAFETY: an open file has methods, which stay where they are.
    let base = unsafe { (*file).pMethods };
    let methods = OF_DATABASES.get_or_init(|| Methods {
        base,
        at: 0,
        ours: ffi::sqlite3_io_methods {
            xShmUnmap: Some(unmap_index),
            // SAFETY: as above.
            ..unsafe { *base }
        },
    });
    let mut keep: c_int = 1;
    // SAFETY: as above; the operation asks for an int.
    unsafe {
        if let Some(control) = (*base).xFileControl {
            control(file, ffi::SQLITE_FCNTL_PERSIST_WAL, (&raw mut keep).cast());
        }
        if methods.base == base {
            (*file).pMethods = &raw const methods.ours;
        }
    }
}

/// What is known of a log, and its own methods.
///
/// # Safety
///
/// `file` is a log that [`watch_log`] gave our methods, and nothing else borrows what is known.
unsafe fn log<'a>(
    file: *mut ffi::sqlite3_file,
) -> Option<(&'a mut Log, &'a ffi::sqlite3_io_methods)> {
    let methods = OF_LOGS.get()?;
    // SAFETY: `watch_log` wrote it; SQLite uses a file from one thread at a time. The methods are
    // the unix VFS's, which stay where they are.
    unsafe { Some((&mut *file.byte_add(methods.at).cast(), &*methods.base)) }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    length: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: see above.
    let Some((log, base)) = (unsafe { log(file) }) else {
        return ffi::SQLITE_IOERR_WRITE;
    };
    let Some(real_write) = base.xWrite else {
        return ffi::SQLITE_IOERR_WRITE;
    };
    let begins = offset == 0 && length == HEADER && {
        // SAFETY: SQLite gives so many bytes; the name is there until the file is closed.
        let (header, name) = unsafe { (*from.cast::<[u8; 32]>(), CStr::from_ptr(log.name)) };
        // It tells how often this connection has begun the log anew: only a mark would excuse that.
        let again = header.get(12..16).is_none_or(|times| times != [0; 4]);
        (!again || log.keeps) && is_new(name, again)
    };
    // SAFETY: as SQLite calls it.
    let code = unsafe { real_write(file, from, length, offset) };
    log.begun = begins && code == ffi::SQLITE_OK;
    code
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: see above.
    let Some((log, base)) = (unsafe { log(file) }) else {
        return ffi::SQLITE_IOERR_FSYNC;
    };
    if std::mem::take(&mut log.begun) {
        HEADERS.fetch_add(1, Ordering::Relaxed);
        return ffi::SQLITE_OK;
    }
    match base.xSync {
        // SAFETY: as SQLite calls it.
        Some(sync) => unsafe { sync(file, flags) },
        None => ffi::SQLITE_IOERR_FSYNC,
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    // SAFETY: see above.
    let Some((log, base)) = (unsafe { log(file) }) else {
        return ffi::SQLITE_IOERR_TRUNCATE;
    };
    let (Some(real_truncate), Some(sync)) = (base.xTruncate, base.xSync) else {
        return ffi::SQLITE_IOERR_TRUNCATE;
    };
    log.begun = false;
    // SAFETY: as SQLite calls it.
    let code = unsafe { real_truncate(file, size) };
    // Nobody writes to it meanwhile: SQLite has the lock to write, or the database to itself. A
    // log that could not be flushed or marked costs the next session its flushes.
    // SAFETY: the file is open; its name is there until it is closed.
    unsafe {
        if code == ffi::SQLITE_OK
            && size == 0
            && log.keeps
            && sync(file, ffi::SQLITE_SYNC_NORMAL) == ffi::SQLITE_OK
        {
            mark(CStr::from_ptr(log.name));
        }
    }
    code
}

/// A kept log would have its index kept, too, which is of no use to anybody.
unsafe extern "C" fn unmap_index(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    let Some(methods) = OF_DATABASES.get() else {
        return ffi::SQLITE_IOERR;
    };
    // SAFETY: the unix VFS's methods stay where they are.
    let base = unsafe { &*methods.base };
    let (Some(unmap), Some(control)) = (base.xShmUnmap, base.xFileControl) else {
        return ffi::SQLITE_IOERR;
    };
    let mut level: c_int = 0;
    // SAFETY: the file is open; the operation asks for where an int goes.
    unsafe { control(file, ffi::SQLITE_FCNTL_LOCKSTATE, (&raw mut level).cast()) };
    // Who has the database to itself is the last to use it, and removes it where no log is kept.
    let delete = delete != 0 || level == ffi::SQLITE_LOCK_EXCLUSIVE;
    // SAFETY: as SQLite calls it.
    unsafe { unmap(file, c_int::from(delete)) }
}

/// What is told of a log.
fn look(name: &CStr) -> Option<Statx> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    rustix::fs::statx(CWD, name, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()
}

fn is_empty(found: &Statx) -> bool {
    FileType::from_raw_mode(found.stx_mode.into()) == FileType::RegularFile && found.stx_size == 0
}

/// Whether a log has nothing in it that a power cut could bring back; `again`: it was written to.
fn is_new(name: &CStr, again: bool) -> bool {
    let Some(found) = look(name).filter(is_empty) else {
        return false;
    };
    let (born, changed) = (found.stx_btime, found.stx_mtime);
    let untouched = !again
        && found.stx_mask & StatxFlags::BTIME.bits() != 0
        && (born.tv_sec, born.tv_nsec) == (changed.tv_sec, changed.tv_nsec);
    (untouched || is_marked(name, &found)) && shows_no_old_blocks(name)
}

/// Whether the file lies on a file system that is known never to show in a new file what was in
/// another one before.
fn shows_no_old_blocks(name: &CStr) -> bool {
    rustix::fs::statfs(name).is_ok_and(|fs| {
        // Its type differs between machines.
        u64::try_from(fs.f_type).is_ok_and(|kind| KNOWN.contains(&kind))
    })
}

/// Whether a log is empty, and was left so by [`mark`].
fn is_marked(name: &CStr, found: &Statx) -> bool {
    let changed = found.stx_mtime;
    is_empty(found)
        && changed.tv_sec == MARK
        && mark_of(name, found).is_some_and(|mark| mark == changed.tv_nsec)
}

/// The nanosecond of the time of change that a log is marked with: it says which file this is, and
/// where.
fn mark_of(name: &CStr, found: &Statx) -> Option<u32> {
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    let directory = rustix::fs::stat(path.parent()?).ok()?;
    let mut told = Vec::new();
    told.extend(directory.st_ino.to_le_bytes());
    told.extend(found.stx_ino.to_le_bytes());
    told.extend(path.file_name()?.as_bytes());
    u32::try_from(XxHash3_64::oneshot(&told) % 1_000_000_000).ok()
}

/// Marks a log as empty for good.
fn mark(name: &CStr) {
    let Some(nanosecond) = look(name).and_then(|found| mark_of(name, &found)) else {
        return;
    };
    let at = Timespec {
        tv_sec: MARK,
        tv_nsec: nanosecond.into(),
    };
    let times = Timestamps {
        last_access: at,
        last_modification: at,
    };
    // Without it the next session has its flushes.
    let _ = rustix::fs::utimensat(CWD, name, &times, AtFlags::SYMLINK_NOFOLLOW);
}
