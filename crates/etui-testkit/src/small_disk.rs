//! [`SmallDisk`]: a small file system in memory that can be full.

use std::fmt;
use std::path::Path;
use std::process::Command;

/// A file system in memory, unmounted on drop.
#[derive(Debug)]
pub struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// Mounts one of a size as `mount` takes it, such as `4m`. Returns `None` and prints the reason if it
    /// cannot be mounted, as without the rights.
    pub fn mount(size: impl fmt::Display) -> Option<Self> {
        let disk = Self(tempfile::tempdir().ok()?);
        let done = disk.run(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]);
        if let Err(why) = &done {
            println!("skipped: mount: {why}");
        }
        done.is_ok().then_some(disk)
    }

    /// Returns its directory.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Changes an option, such as `ro` or `size=4m`.
    ///
    /// # Errors
    /// The message of `mount`.
    pub fn remount(&self, option: impl fmt::Display) -> Result<(), String> {
        self.run(&["-o", &format!("remount,{option}")])
    }

    /// Takes all space that is left. [`SmallDisk::remount`] with a size gives it back.
    ///
    /// # Errors
    /// The message of `df` or `mount`.
    pub fn fill(&self) -> Result<(), String> {
        let used = Command::new("df")
            .args(["-B1", "--output=used"])
            .arg(self.path())
            .output();
        let used = used.map_err(|error| error.to_string())?.stdout;
        let used = String::from_utf8_lossy(&used);
        let used = used.lines().nth(1).unwrap_or_default();
        self.remount(format_args!("size={}", used.trim()))
    }

    fn run(&self, arguments: &[&str]) -> Result<(), String> {
        let mut mount = Command::new("mount");
        let output = mount.args(arguments).arg(self.path()).output();
        match output {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}
