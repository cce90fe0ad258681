//! [`SystemPlatform`]: the system's files. Databases, journals and temporary files go through
//! SQLite's own VFS, the redo log through system calls.

use std::ffi::OsStr;
use std::fs::{self, File as SystemFile, Metadata, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use etui_vfs_base::base_vfs::BaseVfs;
use etui_vfs_base::fork::LockedFile;
use etui_vfs_base::guarded_file::{ByteLock, GuardedFile, LOCK_BYTES};
use etui_vfs_base::lock_holder::holder_of_database;
use etui_vfs_base::{SqliteFile, VfsErrorCode, file_identity, first_pages};
use libsqlite3_sys as ffi;
use rustix::fs::{CWD, IFlags, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::device::{Access, DatabaseLock, File, Lock, Platform, Role};

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
                // Without it the log is as safe, and slower.
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

    fn lock_holder(&self, path: &Path) -> Option<String> {
        holder_of_database(path).map(|holder| holder.to_string())
    }
}

/// The lock of a database that excludes other processes, and SQLite in this one (rule 31).
#[derive(Debug)]
struct OfdLock(GuardedFile);

impl OfdLock {
    fn open(path: &Path) -> io::Result<Self> {
        let options = OpenOptions::new().read(true).write(true).clone();
        let file = GuardedFile::open(path, &options, LOCK_BYTES)?;
        first_pages::ask_for_beginning(file.file()?);
        Ok(Self(file))
    }
}

impl DatabaseLock for OfdLock {
    fn set(&self, lock: Lock) -> io::Result<bool> {
        let lock = match lock {
            Lock::Exclusive => ByteLock::Write,
            Lock::Shared => ByteLock::Read,
            Lock::None => ByteLock::None,
        };
        self.0.lock(LOCK_BYTES, lock)
    }

    fn identity(&self) -> io::Result<Option<(u64, u64)>> {
        self.0.identity().map(Some)
    }
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
            Lock::Shared => file.try_lock_shared(),
            Lock::None => return file.unlock().map(|()| true),
        };
        match locked {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl File for SqliteFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_at(bytes, offset)
    }

    fn read_exclusive(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_exclusive(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync()
    }

    /// By SQLite's own locks, which others in the process can release (rule 31).
    fn lock(&self, lock: Lock) -> io::Result<bool> {
        let (none, shared) = (ffi::SQLITE_LOCK_NONE, ffi::SQLITE_LOCK_SHARED);
        let failed = |code| Err(io::Error::other(VfsErrorCode(code)));
        let lowered = if lock == Lock::None { none } else { shared };
        if lock != Lock::Exclusive {
            match self.lower_lock(lowered) {
                ffi::SQLITE_OK if lock == Lock::None => return Ok(true),
                ffi::SQLITE_OK => {}
                code => return failed(code),
            }
        }
        let levels = [
            shared,
            ffi::SQLITE_LOCK_RESERVED,
            ffi::SQLITE_LOCK_EXCLUSIVE,
        ];
        let raised = if lock == Lock::Exclusive { 3 } else { 1 };
        for level in levels.into_iter().take(raised) {
            match self.raise_lock(level) {
                ffi::SQLITE_OK => {}
                code => {
                    // A refused EXCLUSIVE may leave PENDING, which keeps new readers out.
                    self.lower_lock(none);
                    return match code & 0xff {
                        ffi::SQLITE_BUSY => Ok(false),
                        _ => failed(code),
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
