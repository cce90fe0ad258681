//! Mount points: `/proc/self/mountinfo` (proc_pid_mountinfo(5)).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use crate::error::Error;

const MOUNTINFO: &str = "/proc/self/mountinfo";

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountPoint {
    pub point: PathBuf,
    /// The file system's type.
    pub file_system: String,
    /// The device or pseudo device.
    pub source: String,
    /// The options of the mount and of the file system.
    pub options: String,
}

/// All mounts, in the order in which they were made.
pub fn list_mounts() -> Result<Vec<MountPoint>, Error> {
    let text = fs::read(MOUNTINFO).map_err(|e| Error::file(MOUNTINFO, e))?;
    Ok(text
        .split(|&b| b == b'\n')
        .filter_map(parse_mount)
        .collect())
}

/// The mounts in a directory, the last made first: the order in which they can be unmounted.
pub fn mounts_beneath(dir: &Path) -> Result<Vec<MountPoint>, Error> {
    let mut mounts = list_mounts()?;
    mounts.retain(|mount| mount.point.starts_with(dir));
    mounts.reverse();
    Ok(mounts)
}

/// `36 35 98:0 /root /point rw,noatime shared:1 - ext4 /dev/root rw,errors=continue`
fn parse_mount(line: &[u8]) -> Option<MountPoint> {
    let fields: Vec<&[u8]> = line.split(|&b| b == b' ').collect();
    let dash = fields.iter().position(|&field| field == b"-")?;
    let text = |at: usize| Some(String::from_utf8_lossy(fields.get(at)?).into_owned());
    let mut options = text(5)?;
    for option in text(dash + 3)?.split(',') {
        if !options.split(',').any(|known| known == option) {
            options.push(',');
            options.push_str(option);
        }
    }
    Some(MountPoint {
        point: PathBuf::from(OsString::from_vec(unescape_octal(fields.get(4)?))),
        file_system: text(dash + 1)?,
        source: text(dash + 2)?,
        options,
    })
}

/// Decodes blanks and the like, which are escaped as three octal digits.
fn unescape_octal(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let octal = (first == b'\\')
            .then(|| after.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match octal {
            Some(byte) => {
                plain.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                plain.push(first);
                rest = after;
            }
        }
    }
    plain
}

/// The file system a directory is on.
pub fn mount_of(dir: &Path) -> Result<MountPoint, Error> {
    let dir = fs::canonicalize(dir).map_err(|e| Error::file(dir, e))?;
    // Of mounts on the same point, the last one made is the one that is seen.
    list_mounts()?
        .into_iter()
        .filter(|mount| dir.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.components().count())
        .ok_or_else(|| Error::other(format!("{MOUNTINFO} does not have {}", dir.display())))
}

/// The file system a directory is on, for the results. Where the root of the system is no mount
/// of its own (chroot), that is unknown.
pub fn describe_mount(dir: &Path) -> BTreeMap<String, String> {
    let mount = mount_of(dir).unwrap_or_else(|_| MountPoint {
        point: PathBuf::from("/"),
        file_system: "unknown".to_owned(),
        source: "unknown".to_owned(),
        options: String::new(),
    });
    BTreeMap::from([
        ("file system".to_owned(), mount.file_system),
        ("device".to_owned(), mount.source),
        ("mount options".to_owned(), mount.options),
    ])
}

/// A tmpfs of the machine's that may be written.
pub fn shared_ram() -> Option<PathBuf> {
    let places = [
        Some(PathBuf::from("/dev/shm")),
        std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from),
    ];
    places.into_iter().flatten().find(|place| {
        let writable = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
        mount_of(place).is_ok_and(|mount| mount.file_system == "tmpfs")
            && rustix::fs::access(place, writable).is_ok()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn lines_of_the_table() {
        let mount = parse_mount(
            b"42 27 7:0 / /home/a\\040b/mnt rw,noatime shared:5 master:1 - ext4 /dev/loop0 rw,data=ordered",
        )
        .unwrap();
        assert_eq!(mount.point, Path::new("/home/a b/mnt"));
        assert_eq!(mount.file_system, "ext4");
        assert_eq!(mount.source, "/dev/loop0");
        assert_eq!(mount.options, "rw,noatime,data=ordered");
        assert_eq!(parse_mount(b""), None);
        assert_eq!(parse_mount(b"42 27 7:0 / /mnt rw - "), None);
    }

    #[test]
    fn what_is_no_escape_stays() {
        assert_eq!(unescape_octal(b"a\\04"), b"a\\04");
        assert_eq!(unescape_octal(b"a\\999b"), b"a\\999b");
        assert_eq!(unescape_octal(b"\\134\\012"), b"\\\n");
    }

    #[test]
    fn the_current_directory_is_somewhere() {
        assert!(!mount_of(Path::new(".")).unwrap().file_system.is_empty());
    }
}
