//! [`SystemPlatform`]: the system's files. Databases, journals and temporary files go through
//! SQLite's own VFS, the redo log through system calls.

use std::cell::UnsafeCell;
use std::ffi::{CStr, OsStr};
use std::fs::{self, File as SystemFile, Metadata, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::os::raw::{c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use libsqlite3_sys as ffi;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{CWD, IFlags, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::base_vfs::BaseVfs;
use crate::device::{Access, DatabaseLock, File, Lock, Platform, Role};
use crate::file_identity::file_identity;
use crate::fork::LockedFile;
use crate::ofd_lock::OfdLock;

/// The maximum size of a write: SQLite's VFS accepts fewer than 2^17 bytes.
const MOST: usize = (1 << 17) - 4096;

/// The bytes before a name that SQLite opens.
const NAME_BEGIN: [u8; 4] = [0; 4];

/// File systems on which another machine keeps locks or flushes (`statfs(2)`).
const NETWORKS: [(u32, &str); 9] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9P"),
    (0x5346_414f, "AFS"),
    (0x7375_7245, "Coda"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
];

/// A file system in user space; the type of its mount shows its kind.
const FUSE: u32 = 0x6573_5546;

/// FUSE types that are network file systems.
const FUSE_NETWORKS: [&str; 12] = [
    "sshfs",
    "glusterfs",
    "s3fs",
    "rclone",
    "gcsfuse",
    "juicefs",
    "ceph",
    "ceph-fuse",
    "curlftpfs",
    "davfs",
    "gvfsd-fuse",
    "smbnetfs",
];

const BTRFS: u32 = 0x9123_683e;
const F2FS: u32 = 0xf2f5_2010;

/// `F2FS_IOC_SET_PIN_FILE` (linux/f2fs.h).
const PIN_FILE: rustix::ioctl::Opcode = rustix::ioctl::opcode::write::<u32>(0xf5, 13);

/// The files of this machine.
#[derive(Debug)]
pub(crate) struct SystemPlatform {
    host: BaseVfs,
}

impl SystemPlatform {
    pub fn new(host: BaseVfs) -> Self {
        Self { host }
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    }
}

fn file_system(path: &Path) -> io::Result<u32> {
    let file_system = rustix::fs::statfs(directory_of(path))?;
    // The kernel's number has 32 bits; C's type is wider.
    Ok(file_system.f_type as u32)
}

/// Returns the name of the network file system that the path is on, if any.
fn network_of(path: &Path) -> Option<String> {
    match file_system(path).ok()? {
        FUSE => {
            let device = fs::metadata(directory_of(path)).ok()?.dev();
            let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
            let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
            fuse_network(&mounts, &format!("{major}:{minor}")).map(str::to_owned)
        }
        magic => network_name(magic).map(str::to_owned),
    }
}

fn network_name(magic: u32) -> Option<&'static str> {
    let known = NETWORKS.iter().find(|(number, _)| *number == magic);
    known.map(|(_, name)| *name)
}

/// Returns the type of a device's mount if it is a network file system (`proc_pid_mountinfo(5)`:
/// number, parent, device, ..., a dash, type).
fn fuse_network<'a>(mounts: &'a str, device: &str) -> Option<&'a str> {
    let of_device = |line: &&str| line.split(' ').nth(2) == Some(device);
    let mount = mounts.lines().find(of_device)?;
    let kind = mount.split_once(" - ")?.1.split(' ').next()?;
    let kind = kind.strip_prefix("fuse.").unwrap_or(kind);
    FUSE_NETWORKS.contains(&kind).then_some(kind)
}

/// Disables copy-on-write for the blocks of an empty log, so that later writes stay in place. The
/// log also works where this is refused.
fn keep_in_place(log: &SystemFile, path: &Path) -> io::Result<()> {
    match file_system(path)? {
        BTRFS => {
            if let Ok(flags) = rustix::fs::ioctl_getflags(log) {
                let _ = rustix::fs::ioctl_setflags(log, flags | IFlags::NOCOW);
            }
        }
        F2FS => {
            // SAFETY: the call reads a 32-bit number.
            let _ = unsafe {
                let pin = rustix::ioctl::Setter::<PIN_FILE, u32>::new(1);
                rustix::ioctl::ioctl(log, pin)
            };
        }
        // Other file systems write in place, or never do (NILFS2).
        _ => {}
    }
    Ok(())
}

/// Returns the metadata of the database next to a file.
fn database_beside(path: &Path) -> Option<Metadata> {
    let name = path.as_os_str().as_bytes();
    let at = name.iter().rposition(|&byte| byte == b'-')?;
    let database = OsStr::from_bytes(name.get(..at)?);
    fs::metadata(database).ok()
}

/// Returns the permissions of the database next to a file.
fn mode_beside(path: &Path) -> u32 {
    database_beside(path).map_or(0o644, |database| database.mode() & 0o777)
}

/// Gives a new log the mode of its database, whatever the umask is, and with root's rights its
/// owner. As in SQLite's VFS, a file system that refuses this is tolerated.
fn share_with_users_of_database(log: &SystemFile, path: &Path) {
    let Some(database) = database_beside(path) else {
        return;
    };
    if rustix::process::geteuid().is_root() {
        let _ = std::os::unix::fs::fchown(log, Some(database.uid()), Some(database.gid()));
    }
    let mode = database.mode() & 0o777;
    if log.metadata().is_ok_and(|log| log.mode() & 0o777 != mode) {
        let _ = log.set_permissions(Permissions::from_mode(mode));
    }
}

impl Platform for SystemPlatform {
    fn network_file_system(&self, path: &Path) -> Option<String> {
        network_of(path)
    }

    fn open(&self, path: Option<&Path>, role: Role, access: Access) -> io::Result<Box<dyn File>> {
        let Some(path) = path else {
            let flags = ffi::SQLITE_OPEN_TEMP_DB
                | ffi::SQLITE_OPEN_READWRITE
                | ffi::SQLITE_OPEN_CREATE
                | ffi::SQLITE_OPEN_EXCLUSIVE
                | ffi::SQLITE_OPEN_DELETEONCLOSE;
            return Ok(Box::new(SqliteFile::open(&self.host, None, flags)?));
        };
        let kind = match role {
            Role::Redo => return Ok(Box::new(LogFile::open(path, access)?)),
            Role::Database => ffi::SQLITE_OPEN_MAIN_DB,
            Role::Journal | Role::Temporary => ffi::SQLITE_OPEN_MAIN_JOURNAL,
        };
        let mut flags = kind;
        if !access.write {
            flags |= ffi::SQLITE_OPEN_READONLY;
        } else if access.create && role == Role::Database {
            flags |= ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE;
        } else {
            flags |= ffi::SQLITE_OPEN_READWRITE;
            if access.create {
                // Created here, so that SQLite's VFS does not sync the directory.
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(false);
                options.mode(mode_beside(path)).open(path)?;
            }
        }
        Ok(Box::new(SqliteFile::open(&self.host, Some(path), flags)?))
    }

    fn open_lock(&self, path: &Path) -> io::Result<Box<dyn DatabaseLock>> {
        Ok(Box::new(OfdLock::open(path)?))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        match fs::metadata(path) {
            // SQLite treats an empty journal as none.
            Ok(metadata) => Ok(!metadata.is_file() || metadata.len() > 0),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn remove(&self, path: &Path, durably: bool) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        if durably {
            self.sync_directory_of(path)?;
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let unless_used = RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(CWD, from, CWD, to, unless_used) {
            // The file system does not know the flag.
            Err(Errno::INVAL | Errno::NOSYS) if !to.try_exists()? => fs::rename(from, to),
            renamed => Ok(renamed?),
        }
    }

    fn sync_directory_of(&self, path: &Path) -> io::Result<()> {
        SystemFile::open(directory_of(path))?.sync_all()
    }

    fn file_identity(&self, path: &Path) -> io::Result<Option<(u64, u64)>> {
        file_identity(path).map(Some)
    }

    fn recover_foreign_wal(&self, path: &Path) -> io::Result<()> {
        self.host.checkpoint(path).map_err(|code| {
            io::Error::other(format!(
                "SQLite could not recover the WAL of {}: code {code}",
                path.display()
            ))
        })
    }

    fn open_shared(&self, path: &Path) -> io::Result<Option<SqliteFile>> {
        let flags = ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_READWRITE;
        SqliteFile::open(&self.host, Some(path), flags).map(Some)
    }

    fn is_open_elsewhere(&self, path: &Path) -> bool {
        let file = fs::metadata(path);
        file.is_ok_and(|file| open_file_of_others(file.dev(), file.ino(), |_, _| true).is_some())
    }

    fn watch_opens(&self, path: &Path) -> io::Result<OwnedFd> {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(&queue, path, WatchFlags::OPEN)?;
        Ok(queue)
    }

    fn open_wal(&self, path: &Path) -> io::Result<SqliteFile> {
        let flags = ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE;
        SqliteFile::open(&self.host, Some(path), flags)
    }

    fn lock_holder(&self, path: &Path) -> Option<u32> {
        let metadata = fs::metadata(path).ok()?;
        let device = metadata.dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let wanted = format!("{major:02x}:{minor:02x}:{}", metadata.ino());
        let locks = fs::read_to_string("/proc/locks").ok()?;
        let holder = locks.lines().find_map(|line| {
            let mut words = line.split_ascii_whitespace().filter(|word| *word != "->");
            let (process, file) = (words.nth(4)?, words.next()?);
            let process: u32 = process.parse().ok()?;
            (file == wanted && process != std::process::id()).then_some(process)
        });
        holder.or_else(|| ofd_lock_holder(device, metadata.ino()))
    }
}

/// Returns the process, of those that this one may inspect, with an OFD lock of a file. The kernel
/// lists these locks with the open files of each process, not by process.
fn ofd_lock_holder(device: u64, inode: u64) -> Option<u32> {
    open_file_of_others(device, inode, |process, descriptor| {
        let locks = fs::read_to_string(format!("/proc/{process}/fdinfo/{descriptor}"));
        locks.is_ok_and(|locks| locks.contains("OFDLCK"))
    })
}

/// Returns another process, of those that this one may inspect, that has a file open with a
/// descriptor as asked for.
fn open_file_of_others(
    device: u64,
    inode: u64,
    is_wanted: impl Fn(u32, &str) -> bool,
) -> Option<u32> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    processes
        .filter(|process| *process != std::process::id())
        .find(|process| {
            let files = fs::read_dir(format!("/proc/{process}/fd"));
            files.into_iter().flatten().flatten().any(|file| {
                let is_it = fs::metadata(file.path())
                    .is_ok_and(|file| (file.dev(), file.ino()) == (device, inode));
                is_it && is_wanted(*process, &file.file_name().to_string_lossy())
            })
        })
}

/// The file of the redo log.
#[derive(Debug)]
struct LogFile(LockedFile);

impl Drop for LogFile {
    /// Releases the lock explicitly. A program that another thread is starting has a copy of the
    /// descriptor for a moment, and with it the lock, which would block the next process that opens
    /// the log. A child leaves its parent's lock alone.
    fn drop(&mut self) {
        if let Ok(file) = self.0.get() {
            let _ = file.unlock();
        }
    }
}

impl LogFile {
    fn open(path: &Path, access: Access) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(access.write)
            .create(access.create)
            .mode(mode_beside(path))
            .custom_flags(OFlags::NOFOLLOW.bits() as i32);
        let log = LockedFile::open(&options, path)?;
        let file = log.get()?;
        if access.create && file.metadata()?.len() == 0 {
            share_with_users_of_database(file, path);
            keep_in_place(file, path)?;
        }
        Ok(Self(log))
    }
}

/// Reads until the buffer is full or the file ends.
fn read_all(
    mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
    to: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = to.get_mut(done..)
        && !rest.is_empty()
    {
        match read(rest, offset + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

impl File for LogFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let file = self.0.get()?;
        read_all(|to, at| file.read_at(to, at), bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.get()?.write_all_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.get()?.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.get()?.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.get()?.sync_data()
    }

    fn lock(&self, lock: Lock) -> io::Result<bool> {
        let file = self.0.get()?;
        let locked = match lock {
            Lock::Exclusive => file.try_lock(),
            Lock::Shared | Lock::Guard => file.try_lock_shared(),
            Lock::None => return file.unlock().map(|()| true),
        };
        match locked {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// A file opened by SQLite's own VFS.
#[derive(Debug)]
pub struct SqliteFile {
    /// The VFS's memory of the file, in 8-byte words for C's alignment.
    file: Box<[UnsafeCell<u64>]>,
    /// The VFS requires the name to stay in place.
    name: Option<Vec<u8>>,
    /// The VFS seeks and then reads or writes, which must not happen concurrently.
    turn: Mutex<()>,
}

/// A result code of SQLite's VFS, as the source of an error.
#[derive(Debug, thiserror::Error)]
#[error("SQLite's VFS answered {0}")]
pub(crate) struct VfsErrorCode(pub c_int);

fn failed(code: c_int) -> io::Error {
    match code & 0xff {
        ffi::SQLITE_FULL => io::ErrorKind::StorageFull.into(),
        ffi::SQLITE_READONLY => io::ErrorKind::PermissionDenied.into(),
        ffi::SQLITE_NOMEM => io::ErrorKind::OutOfMemory.into(),
        _ => io::Error::other(VfsErrorCode(code)),
    }
}

/// Calls a method of the file. Returns `missing` if the VFS does not have it.
macro_rules! call {
    ($this:expr, $method:ident or $missing:expr $(, $argument:expr)*) => {{
        let file = $this.raw();
        // SAFETY: the file is open from `SqliteFile::open` until it is dropped, so its methods are
        // valid.
        match unsafe { (*(*file).pMethods).$method } {
            // SAFETY: the method belongs to the file; the callers of this macro justify the other
            // arguments.
            Some(method) => unsafe { method(file $(, $argument)*) },
            None => $missing,
        }
    }};
}

impl SqliteFile {
    /// Opens a file by the VFS with this name, for a [`Platform`] of tests.
    ///
    /// # Errors
    ///
    /// There is no such VFS, or it does not open the file.
    #[doc(hidden)]
    pub fn open_by(vfs: &CStr, path: &Path, flags: c_int) -> io::Result<Self> {
        let host = BaseVfs::find_named(vfs).map_err(io::Error::other)?;
        Self::open(&host, Some(path), flags)
    }

    fn open(host: &BaseVfs, path: Option<&Path>, flags: c_int) -> io::Result<Self> {
        let vfs = host.vfs();
        // SAFETY: the VFS is registered.
        let (size, open) = unsafe { ((*vfs).szOsFile, (*vfs).xOpen) };
        let open = open.ok_or(io::ErrorKind::Unsupported)?;
        let words = usize::try_from(size).unwrap_or(0).div_ceil(8).max(1);
        // As `sqlite3_create_filename` makes it: SQLite looks for four zeros before the name, and for the
        // parameters of a URI after it.
        let name = path.map(|path| [&NAME_BEGIN, path.as_os_str().as_bytes(), &[0, 0]].concat());
        if name.as_ref().is_some_and(|name| {
            name.iter().filter(|byte| **byte == 0).count() > NAME_BEGIN.len() + 2
        }) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let opened = Self {
            file: (0..words).map(|_| UnsafeCell::new(0)).collect(),
            name,
            turn: Mutex::new(()),
        };
        let name = opened
            .name
            .as_ref()
            .map_or(ptr::null(), |name| name[NAME_BEGIN.len()..].as_ptr().cast());
        let mut answered = flags;
        // SAFETY: the name is null or a C string with a second zero. It stays in place until the
        // file is dropped, as does the file's memory, which has the size that the VFS requested.
        let code = unsafe { open(vfs, name, opened.raw(), flags, &raw mut answered) };
        // SAFETY: we own the memory; a file begins with its methods.
        let is_open = unsafe { !(*opened.raw()).pMethods.is_null() };
        if code != ffi::SQLITE_OK || !is_open {
            // Dropping closes the file if necessary.
            let error = match (flags & ffi::SQLITE_OPEN_CREATE, path) {
                (0, Some(path)) if !path.exists() => io::ErrorKind::NotFound.into(),
                _ => failed(code),
            };
            return Err(error);
        }
        if answered & ffi::SQLITE_OPEN_READONLY != 0 && flags & ffi::SQLITE_OPEN_READWRITE != 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(opened)
    }

    fn raw(&self) -> *mut ffi::sqlite3_file {
        self.file.as_ptr().cast_mut().cast()
    }

    fn one_at_a_time(&self) -> std::sync::MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises the lock of the database. Returns SQLite's code.
    pub(crate) fn raise_lock(&self, level: c_int) -> c_int {
        let _turn = self.one_at_a_time();
        call!(self, xLock or ffi::SQLITE_IOERR_LOCK, level)
    }

    /// Lowers the lock of the database to SHARED or NONE.
    pub(crate) fn lower_lock(&self, level: c_int) -> c_int {
        let _turn = self.one_at_a_time();
        call!(self, xUnlock or ffi::SQLITE_IOERR_UNLOCK, level)
    }

    /// Returns true if a connection of any process is about to write.
    pub(crate) fn is_reserved(&self) -> bool {
        let _turn = self.one_at_a_time();
        let mut is_reserved: c_int = 0;
        let to: *mut c_int = &raw mut is_reserved;
        call!(self, xCheckReservedLock or ffi::SQLITE_OK, to) == ffi::SQLITE_OK && is_reserved != 0
    }

    /// Maps a region of the wal-index, which is shared between processes. Null: it is not there, and
    /// was not to be made.
    pub(crate) fn map_index(
        &self,
        region: c_int,
        size: c_int,
        extend: bool,
    ) -> Result<*mut u8, c_int> {
        let _turn = self.one_at_a_time();
        let mut at: *mut c_void = ptr::null_mut();
        let to: *mut *mut c_void = &raw mut at;
        let extend = c_int::from(extend);
        match call!(self, xShmMap or ffi::SQLITE_IOERR_SHMMAP, region, size, extend, to) {
            ffi::SQLITE_OK => Ok(at.cast()),
            code => Err(code),
        }
    }

    /// Changes locks of the wal-index. Returns SQLite's code.
    pub(crate) fn lock_index(&self, first: c_int, count: c_int, flags: c_int) -> c_int {
        let _turn = self.one_at_a_time();
        call!(self, xShmLock or ffi::SQLITE_IOERR_SHMLOCK, first, count, flags)
    }

    /// Unmaps the wal-index; with `delete`, its file is removed by the last one of this process.
    pub(crate) fn unmap_index(&self, delete: bool) {
        let _turn = self.one_at_a_time();
        let delete = c_int::from(delete);
        call!(self, xShmUnmap or ffi::SQLITE_OK, delete);
    }

    /// Calls `xFileControl`.
    ///
    /// # Safety
    ///
    /// `argument` is valid for the operation.
    pub(crate) unsafe fn control(&mut self, operation: c_int, argument: *mut c_void) -> c_int {
        call!(self, xFileControl or ffi::SQLITE_NOTFOUND, operation, argument)
    }

    /// Returns true if the file does not have the name by which it was opened.
    pub(crate) fn has_moved(&mut self) -> bool {
        let mut moved: c_int = 0;
        // SAFETY: the operation writes an int.
        let code = unsafe { self.control(ffi::SQLITE_FCNTL_HAS_MOVED, (&raw mut moved).cast()) };
        code == ffi::SQLITE_OK && moved != 0
    }

    /// Returns the device characteristics.
    pub(crate) fn device_characteristics(&mut self) -> c_int {
        call!(self, xDeviceCharacteristics or 0)
    }

    /// Maps a part of the file until it is unmapped. Returns null if the VFS does not map it.
    pub(crate) fn fetch(&mut self, offset: i64, length: c_int) -> Result<*mut c_void, c_int> {
        let mut at = ptr::null_mut();
        let to: *mut *mut c_void = &raw mut at;
        match call!(self, xFetch or ffi::SQLITE_OK, offset, length, to) {
            ffi::SQLITE_OK => Ok(at),
            code => Err(code),
        }
    }

    /// Unmaps a page.
    ///
    /// # Safety
    ///
    /// `page` is null or came from [`SqliteFile::fetch`] at this offset.
    pub(crate) unsafe fn unfetch(&mut self, offset: i64, page: *mut c_void) -> c_int {
        call!(self, xUnfetch or ffi::SQLITE_OK, offset, page)
    }
}

// SAFETY: the methods may be called from any thread, one at a time. `turn` or an exclusive
// reference ensures that.
unsafe impl Send for SqliteFile {}
// SAFETY: as above.
unsafe impl Sync for SqliteFile {}

impl SqliteFile {
    /// Reads; the caller holds `turn` or an exclusive reference.
    fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let to: *mut c_void = bytes.as_mut_ptr().cast();
        let length = c_int::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let at = i64::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        match call!(self, xRead or ffi::SQLITE_IOERR_READ, to, length, at) {
            ffi::SQLITE_OK => Ok(bytes.len()),
            ffi::SQLITE_IOERR_SHORT_READ => {
                let mut size = 0_i64;
                let to: *mut i64 = &raw mut size;
                match call!(self, xFileSize or ffi::SQLITE_IOERR_FSTAT, to) {
                    ffi::SQLITE_OK => {
                        let left = u64::try_from(size).unwrap_or(0).saturating_sub(offset);
                        Ok(usize::try_from(left).map_or(bytes.len(), |n| n.min(bytes.len())))
                    }
                    code => Err(failed(code)),
                }
            }
            code => Err(failed(code)),
        }
    }
}

impl File for SqliteFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let _turn = self.one_at_a_time();
        self.read(bytes, offset)
    }

    fn read_exclusive(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let _turn = self.one_at_a_time();
        let mut at = i64::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        for part in bytes.chunks(MOST) {
            let from: *const c_void = part.as_ptr().cast();
            // A part has fewer than 2^17 bytes.
            let length = part.len() as c_int;
            match call!(self, xWrite or ffi::SQLITE_IOERR_WRITE, from, length, at) {
                ffi::SQLITE_OK => at += i64::from(length),
                code => return Err(failed(code)),
            }
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        let _turn = self.one_at_a_time();
        let mut size = 0_i64;
        let to: *mut i64 = &raw mut size;
        match call!(self, xFileSize or ffi::SQLITE_IOERR_FSTAT, to) {
            ffi::SQLITE_OK => Ok(u64::try_from(size).unwrap_or(0)),
            code => Err(failed(code)),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let _turn = self.one_at_a_time();
        let len = i64::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
        match call!(self, xTruncate or ffi::SQLITE_IOERR_TRUNCATE, len) {
            ffi::SQLITE_OK => Ok(()),
            code => Err(failed(code)),
        }
    }

    fn sync(&self) -> io::Result<()> {
        let _turn = self.one_at_a_time();
        let flags = ffi::SQLITE_SYNC_NORMAL | ffi::SQLITE_SYNC_DATAONLY;
        match call!(self, xSync or ffi::SQLITE_IOERR_FSYNC, flags) {
            ffi::SQLITE_OK => Ok(()),
            code => Err(failed(code)),
        }
    }

    fn lock(&self, lock: Lock) -> io::Result<bool> {
        let _turn = self.one_at_a_time();
        let (none, shared) = (ffi::SQLITE_LOCK_NONE, ffi::SQLITE_LOCK_SHARED);
        let lowered = if lock == Lock::None { none } else { shared };
        if lock != Lock::Exclusive {
            match call!(self, xUnlock or ffi::SQLITE_OK, lowered) {
                ffi::SQLITE_OK if lock == Lock::None => return Ok(true),
                ffi::SQLITE_OK => {}
                code => return Err(failed(code)),
            }
        }
        let levels = [
            shared,
            ffi::SQLITE_LOCK_RESERVED,
            ffi::SQLITE_LOCK_EXCLUSIVE,
        ];
        let raised = if lock == Lock::Exclusive { 3 } else { 1 };
        for level in levels.into_iter().take(raised) {
            match call!(self, xLock or ffi::SQLITE_IOERR_LOCK, level) {
                ffi::SQLITE_OK => {}
                code => {
                    call!(self, xUnlock or ffi::SQLITE_OK, none);
                    return match code & 0xff {
                        ffi::SQLITE_BUSY => Ok(false),
                        _ => Err(failed(code)),
                    };
                }
            }
        }
        Ok(true)
    }

    fn host(&mut self) -> Option<&mut SqliteFile> {
        Some(self)
    }
}

impl Drop for SqliteFile {
    fn drop(&mut self) {
        // SAFETY: we own the memory; a file without methods is not open.
        if unsafe { !(*self.raw()).pMethods.is_null() } {
            call!(self, xClose or ffi::SQLITE_OK);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn file_systems_of_the_network_are_known() {
        assert_eq!(network_name(0x6969), Some("NFS"));
        assert_eq!(network_name(BTRFS), None);
        let mounts = "36 35 0:31 / / rw shared:1 - ext4 /dev/sda1 rw\n\
                      40 36 0:52 / /mnt/far rw,nosuid - fuse.sshfs there:/ rw\n\
                      41 36 0:53 / /mnt/disk rw - fuse.ntfs-3g /dev/sdb1 rw\n";
        assert_eq!(fuse_network(mounts, "0:52"), Some("sshfs"));
        assert_eq!(fuse_network(mounts, "0:53"), None);
        assert_eq!(fuse_network(mounts, "0:99"), None);
        assert_eq!(network_of(Path::new(".")), None);
    }

    #[test]
    fn what_needs_no_place_of_its_own_is_let_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = SystemFile::create(&path).unwrap();
        keep_in_place(&log, &path).unwrap();
    }
}
