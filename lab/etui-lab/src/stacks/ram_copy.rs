//! [`RamCopy`]: the image of a read-only stack, copied to a RAM disk and mounted from there.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;

use super::image::ImageParts;
use super::{kernel, mounts};
use crate::error::Error;

/// A RAM disk for the image of a mounted file system; taken down when dropped.
#[derive(Debug)]
pub struct RamCopy {
    image: PathBuf,
    copied: PathBuf,
    file_system: String,
    point: PathBuf,
    parts: ImageParts,
}

impl RamCopy {
    /// Makes an empty RAM disk in `work` for the image of the file system that `dir` is on.
    pub fn prepare(dir: &Path, work: &Path) -> Result<Self, Error> {
        if !kernel::may_mount() {
            return Err(Error::not_run("an image on a RAM disk needs root"));
        }
        let mounted = mounts::mount_of(dir)?;
        let image = backing_file(&mounted.source)?;
        let ram = work.join("mnt-ram");
        let mut parts = ImageParts::default();
        parts.mount("tmpfs", &ram, "tmpfs", MountFlags::empty(), "mode=0700")?;
        Ok(Self {
            image,
            copied: ram.join("image"),
            file_system: mounted.file_system,
            point: work.join("mnt-copy"),
            parts,
        })
    }

    pub fn image(&self) -> &Path {
        &self.image
    }

    /// Copies the image.
    pub fn copy(&mut self) -> Result<(), Error> {
        self.parts.image(&self.copied);
        fs::copy(&self.image, &self.copied).map_err(|e| Error::file(&self.image, e))?;
        Ok(())
    }

    /// Mounts the copy and returns the mount point.
    pub fn mount(&mut self) -> Result<&Path, Error> {
        let device = self.parts.read_only_loop(&self.copied)?;
        let (point, flags) = (&self.point, MountFlags::RDONLY);
        self.parts
            .mount(device.path(), point, &self.file_system, flags, "")?;
        Ok(point)
    }
}

/// Returns the file that a loop device is over (Documentation/ABI/stable/sysfs-block of the
/// kernel).
fn backing_file(device: &str) -> Result<PathBuf, Error> {
    let name = device.strip_prefix("/dev/").unwrap_or(device);
    let path = Path::new("/sys/class/block")
        .join(name)
        .join("loop/backing_file");
    let text = fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
    Ok(PathBuf::from(text.trim_end_matches('\n')))
}
