//! The file systems under test.

use std::path::Path;
use std::process::Command;

use crate::device::{FileDisk, SECTOR_BYTES};
use crate::stacks::{self, Filling, StackRecipe};
use crate::{Error, machine};

/// The size of the device: the least that all file systems take.
pub const DEVICE_BYTES: u64 = 320 << 20;

/// The unit that flash memory writes as a whole, at least.
const BLOCK_BYTES: u64 = 4096;

/// A file system of the guest, made as the stack of its name.
#[derive(Debug)]
pub struct FileSystem {
    /// The kernel's name.
    pub name: &'static str,
    /// Further options of its mount: where there is a timer for commits, it is a second.
    timer: &'static str,
    /// The command that makes it mountable again if the kernel refuses it, as a system runs it
    /// when it boots: where a superblock is torn, from a copy of it. Not all have one.
    repair: &'static str,
    /// The unit that the file system needs the device to write as a whole, in bytes: with torn
    /// blocks of 4 KiB btrfs cannot be mounted (its superblock), and f2fs gives I/O errors (its
    /// nodes), whatever the store does.
    pub tear_unit: u64,
}

pub const FILE_SYSTEMS: [FileSystem; 5] = [
    FileSystem::new("ext4", "commit=1", "e2fsck -f -y", SECTOR_BYTES),
    FileSystem::new("xfs", "", "", SECTOR_BYTES),
    FileSystem::new("btrfs", "commit=1", "", BLOCK_BYTES),
    FileSystem::new("f2fs", "", "", BLOCK_BYTES),
    FileSystem::new("nilfs2", "", "", SECTOR_BYTES),
];

impl FileSystem {
    const fn new(
        name: &'static str,
        timer: &'static str,
        repair: &'static str,
        tear_unit: u64,
    ) -> Self {
        Self {
            name,
            timer,
            repair,
            tear_unit,
        }
    }

    pub fn by_name(name: &str) -> Result<&'static Self, Error> {
        let known = FILE_SYSTEMS.iter().find(|known| known.name == name);
        known.ok_or_else(|| Error::Usage(format!("there is no file system `{name}` here")))
    }

    fn recipe(&self) -> Result<StackRecipe, Error> {
        let recipe = stacks::find_recipe(self.name);
        recipe.ok_or_else(|| Error::other(format!("there is no recipe for {}", self.name)))
    }

    /// Returns the reason why it cannot be made here.
    pub fn check_available(&self) -> Result<(), String> {
        let tool = self.recipe().map_err(|error| error.to_string())?.tool;
        match machine::find_tool(tool) {
            Some(_) => Ok(()),
            None => Err(format!("{tool} is not installed: `etui lab setup`")),
        }
    }

    /// Returns the options of its mount.
    pub fn mount_options(&self) -> Result<String, Error> {
        Ok(match (self.recipe()?.filling, self.timer) {
            (Filling::Empty(options), "") => options.to_owned(),
            (Filling::Empty(options), timer) => format!("{options},{timer}"),
            (Filling::Packed(_), timer) => timer.to_owned(),
        })
    }

    /// Repairs one that the kernel refuses. Returns false if there is no tool for that.
    pub fn repair(&self, device: &str) -> Result<bool, Error> {
        let mut words = self.repair.split_ascii_whitespace();
        let Some(tool) = words.next().and_then(machine::find_tool) else {
            return Ok(false);
        };
        // Its exit code is about its changes; the next mount is the judge.
        let done = Command::new(&tool).args(words).arg(device).output();
        done.map(|_| true).map_err(|e| Error::file(&tool, e))
    }

    pub fn make(&self, path: &Path) -> Result<FileDisk, Error> {
        drop(FileDisk::create(path, DEVICE_BYTES)?);
        let recipe = self.recipe()?;
        let options = recipe.options.split_ascii_whitespace().map(AsRef::as_ref);
        stacks::run_tool(recipe.tool, options.chain([path.as_os_str()]))?;
        FileDisk::open(path)
    }
}
