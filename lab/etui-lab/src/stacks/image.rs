//! The parts of a stack that must be taken down: mounts, loop devices, images, directories.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::mount::{MountFlags, UnmountFlags};

use super::{kernel, not_installed, run_tool};
use crate::error::Error;
use crate::machine;

/// Whether a file system on a loop device can be had.
pub fn check_available(file_system: &str, tool: &str) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("needs root (loop images)".to_owned());
    }
    if !kernel::may_mount() {
        return Err("needs the right to mount, which root lacks here (a container?)".to_owned());
    }
    if !kernel::has_loop() {
        return Err("this kernel has no loop devices".to_owned());
    }
    if !kernel::has_file_system(file_system) {
        if file_system != "exfat" {
            return Err(format!("this kernel has no {file_system}"));
        }
        if !kernel::has_fuse_exfat() {
            return Err(
                "this kernel has no exfat, and there is no exfat-fuse: `etui lab setup`".to_owned(),
            );
        }
    }
    for tool in [tool, "losetup"] {
        if machine::find_tool(tool).is_none() {
            return Err(not_installed(tool));
        }
    }
    Ok(())
}

/// A loop device over an image.
#[derive(Debug, Clone)]
pub struct Loop {
    path: String,
    direct: bool,
}

impl Loop {
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        self.path.strip_prefix("/dev/").unwrap_or(&self.path)
    }

    /// For the results.
    pub fn describe(&self) -> String {
        let io = if self.direct { "direct" } else { "buffered" };
        format!("loop device over a file in the current directory, {io} I/O")
    }
}

#[derive(Debug)]
enum ImagePart {
    Dir(PathBuf),
    Image(PathBuf),
    Loop(Loop),
    MountPoint(PathBuf),
}

/// Parts of an image, removed on drop in reverse order.
#[derive(Debug, Default)]
pub struct ImageParts(Vec<ImagePart>);

impl ImageParts {
    /// A directory, removed with its content.
    pub fn make_dir(&mut self, dir: &Path) -> Result<(), Error> {
        fs::create_dir(dir).map_err(|e| Error::file(dir, e))?;
        self.0.push(ImagePart::Dir(dir.to_owned()));
        Ok(())
    }

    /// A file that somebody else makes, and that is removed.
    pub fn image(&mut self, path: &Path) -> PathBuf {
        self.0.push(ImagePart::Image(path.to_owned()));
        path.to_owned()
    }

    /// A loop device over a new sparse image.
    pub fn sparse_loop(&mut self, path: &Path, size: u64) -> Result<Loop, Error> {
        self.image(path);
        File::create_new(path)
            .and_then(|file| file.set_len(size))
            .map_err(|e| Error::file(path, e))?;
        self.attach(path, &[])
    }

    /// A loop device that cannot be written.
    pub fn read_only_loop(&mut self, path: &Path) -> Result<Loop, Error> {
        self.attach(path, &["--read-only"])
    }

    /// Direct I/O, so that an image is not cached twice; not every file system below has it.
    fn attach(&mut self, path: &Path, options: &[&str]) -> Result<Loop, Error> {
        let image = path.to_string_lossy();
        let losetup = |more: &[&str]| {
            let options = options.iter().chain(more);
            let ends = ["--find", "--show", &*image];
            run_tool("losetup", options.copied().chain(ends)).map(|said| said.trim().to_owned())
        };
        let device = match losetup(&["--direct-io=on"]) {
            Ok(path) => Loop { path, direct: true },
            Err(_) => Loop {
                path: losetup(&[])?,
                direct: false,
            },
        };
        self.0.push(ImagePart::Loop(device.clone()));
        Ok(device)
    }

    /// Mounts a file system of the kernel's, without access times.
    pub fn mount(
        &mut self,
        source: &str,
        point: &Path,
        file_system: &str,
        flags: MountFlags,
        options: &str,
    ) -> Result<(), Error> {
        self.make_dir(point)?;
        let failed = |e: io::Error| Error::Command {
            command: format!("mount -t {file_system} {source} {}", point.display()),
            message: e.to_string(),
        };
        let options = CString::new(options).map_err(|e| failed(e.into()))?;
        let flags = MountFlags::NOATIME | flags;
        rustix::mount::mount(source, point, file_system, flags, options.as_c_str())
            .map_err(|e| failed(e.into()))?;
        self.0.push(ImagePart::MountPoint(point.to_owned()));
        Ok(())
    }

    /// Mounts exfat through FUSE.
    pub fn mount_fuse(&mut self, device: &Loop, point: &Path) -> Result<(), Error> {
        self.make_dir(point)?;
        let at = point.to_string_lossy();
        run_tool(kernel::FUSE_EXFAT, ["-o", "noatime", device.path(), &*at])?;
        self.0.push(ImagePart::MountPoint(point.to_owned()));
        Ok(())
    }
}

impl Drop for ImageParts {
    fn drop(&mut self) {
        // Parts that cannot be removed are left to the clean-up at the run's end or the next
        // run's beginning, which report it.
        while let Some(part) = self.0.pop() {
            let _ = match part {
                ImagePart::Dir(dir) => fs::remove_dir_all(&dir).map_err(|e| Error::file(&dir, e)),
                ImagePart::Image(path) => fs::remove_file(&path).map_err(|e| Error::file(&path, e)),
                ImagePart::Loop(device) => detach_loop(device.path()),
                ImagePart::MountPoint(point) => unmount_path(&point),
            };
        }
    }
}

/// Unmounts. A file system that stays busy is taken out of sight at least; it goes when its
/// last user goes.
pub fn unmount_path(point: &Path) -> Result<(), Error> {
    for _ in 0..20 {
        match rustix::mount::unmount(point, UnmountFlags::NOFOLLOW) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::BUSY) => thread::sleep(Duration::from_millis(50)),
            Err(e) => return Err(Error::file(point, e)),
        }
    }
    let lazily = UnmountFlags::NOFOLLOW | UnmountFlags::DETACH;
    rustix::mount::unmount(point, lazily).map_err(|e| Error::file(point, e))
}

/// Detaches a loop device, and waits a moment for it to be free: whoever used it (the file
/// system, a process of FUSE) may take a moment to let go.
pub fn detach_loop(device: &str) -> Result<(), Error> {
    run_tool("losetup", ["--detach", device])?;
    let name = device.strip_prefix("/dev/").unwrap_or(device);
    let attached = PathBuf::from(format!("/sys/block/{name}/loop"));
    for _ in 0..40 {
        if !attached.exists() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Err(Error::other(format!("{device} is still in use")))
}
