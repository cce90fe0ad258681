//! The file systems under test.

use std::path::Path;

use crate::device::FileDisk;
use crate::stacks::run_tool;
use crate::{Error, machine};

/// The size of the device: the least that all file systems take.
pub const DEVICE_BYTES: u64 = 320 << 20;

/// A file system of the guest.
#[derive(Debug)]
pub struct FileSystem {
    /// The kernel's name.
    pub name: &'static str,
    /// The command that makes it, and its options.
    make: &'static str,
    /// Options of its mount. Where there is a timer for commits, it is a second.
    pub options: &'static str,
}

pub const FILE_SYSTEMS: [FileSystem; 5] = [
    FileSystem {
        name: "ext4",
        make: "mkfs.ext4 -q -F -b 4096 -I 256 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard -J size=16",
        options: "data=ordered,nodiscard,commit=1",
    },
    FileSystem {
        name: "xfs",
        make: "mkfs.xfs -q -f -K -b size=4096 -s size=512 -l size=64m",
        options: "nodiscard",
    },
    FileSystem {
        name: "btrfs",
        make: "mkfs.btrfs -q -f -K -s 4096 -n 16384 -d single -m single",
        options: "nodiscard,commit=1",
    },
    FileSystem {
        name: "f2fs",
        make: "mkfs.f2fs -q -f -t 0",
        options: "nodiscard",
    },
    FileSystem {
        name: "nilfs2",
        make: "mkfs.nilfs2 -q -f -K -b 4096",
        options: "nodiscard",
    },
];

impl FileSystem {
    /// Returns the file system of a name.
    pub fn by_name(name: &str) -> Result<&'static Self, Error> {
        let known = FILE_SYSTEMS.iter().find(|known| known.name == name);
        known.ok_or_else(|| Error::Usage(format!("there is no file system `{name}` here")))
    }

    /// Returns the reason why it cannot be made here.
    pub fn check_available(&self) -> Result<(), String> {
        let tool = self.make.split(' ').next().unwrap_or_default();
        match machine::find_tool(tool) {
            Some(_) => Ok(()),
            None => Err(format!("{tool} is not installed: `etui lab setup`")),
        }
    }

    /// Makes it in a file.
    pub fn make(&self, path: &Path) -> Result<FileDisk, Error> {
        drop(FileDisk::create(path, DEVICE_BYTES)?);
        let (tool, options) = self.make.split_once(' ').unwrap_or((self.make, ""));
        let options = options.split(' ').map(AsRef::as_ref);
        run_tool(tool, options.chain([path.as_os_str()]))?;
        FileDisk::open(path)
    }
}
