//! [`Scratch`]: a directory for the copies, on the file system of the database if possible.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tempfile::TempDir;

use crate::error::Error;
use crate::stacks::mounts;

/// A temporary directory. It is removed when it is dropped.
#[derive(Debug)]
pub struct Scratch {
    dir: TempDir,
    /// The file system.
    pub location: Location,
}

/// The file system of the copies.
#[derive(Debug, Clone, Serialize)]
pub struct Location {
    /// The parent directory.
    pub dir: PathBuf,
    /// The type of the file system, e.g. `ext4`.
    pub file_system: String,
    /// The kernel's name of the block device, e.g. `sda1`, if it has one.
    pub device: Option<String>,
    /// It is the file system of the database.
    pub same_as_database: bool,
}

impl Location {
    /// Returns true if flushes cost nothing there, so that times say little.
    pub fn is_memory(&self) -> bool {
        matches!(self.file_system.as_str(), "tmpfs" | "ramfs")
    }
}

/// File systems that other machines may use at the same time.
const NETWORK: [&str; 8] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "9p",
    "ceph",
    "afs",
    "fuse.sshfs",
];

/// Returns true if a directory is on a file system that other machines may use.
pub fn is_on_network(dir: &Path) -> bool {
    mounts::mount_of(dir).is_ok_and(|mount| NETWORK.contains(&mount.file_system.as_str()))
}

impl Scratch {
    /// Makes a directory in `parent`, or in the first of the usual ones that is on the file system of
    /// the database: the cache directory, the current one, `/var/tmp`.
    pub fn new(parent: Option<&Path>, database: &Path) -> Result<Self, Error> {
        let of_database = database.parent().unwrap_or(Path::new("/"));
        let device = device_of(of_database);
        if let Some(parent) = parent {
            return Self::make(parent, device);
        }
        let candidates = candidates();
        let same = |dir: &&PathBuf| device.is_some() && device_of(dir) == device;
        let preferred = candidates.iter().filter(same);
        let others = candidates.iter().filter(|dir| !same(dir));
        let mut last = None;
        for dir in preferred.chain(others) {
            match Self::make(dir, device) {
                Ok(scratch) => return Ok(scratch),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::other("no directory for a copy; give --scratch DIR")))
    }

    fn make(parent: &Path, device: Option<u64>) -> Result<Self, Error> {
        let made = tempfile::Builder::new()
            .prefix(".etui-doctor-")
            .tempdir_in(parent);
        let dir = made.map_err(|error| {
            let words = match error.kind() {
                io::ErrorKind::NotFound => "no such directory".to_owned(),
                kind => kind.to_string(),
            };
            Error::other(format!(
                "{}: no copies can be made there: {words}; give a writable --scratch DIR",
                parent.display()
            ))
        })?;
        let mount = mounts::mount_of(parent).ok();
        let name = mount.as_ref().and_then(|mount| {
            let device = fs::canonicalize(mount.source.as_str()).ok()?;
            let name = device.strip_prefix("/dev").ok()?.file_name()?.to_str()?;
            Some(name.to_owned())
        });
        let location = Location {
            dir: parent.to_owned(),
            file_system: mount.map_or("unknown".to_owned(), |mount| mount.file_system),
            device: name,
            same_as_database: device.is_some() && device_of(parent) == device,
        };
        Ok(Self { dir, location })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the bytes that may be written there.
    pub fn free_bytes(&self) -> u64 {
        rustix::fs::statvfs(self.path())
            .map_or(u64::MAX, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

fn candidates() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| home.map(|home| home.join(".cache")));
    let here = std::env::current_dir().ok();
    let places = [
        cache,
        here,
        Some(PathBuf::from("/var/tmp")),
        Some(std::env::temp_dir()),
    ];
    places.into_iter().flatten().collect()
}

fn device_of(dir: &Path) -> Option<u64> {
    fs::metadata(dir).ok().map(|dir| dir.dev())
}
