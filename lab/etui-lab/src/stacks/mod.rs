//! Storage stacks: a file system on a device, made for a run and taken down after it.
//!
//! | stack | storage | needs |
//! |---|---|---|
//! | `here` | the current directory's file system | nothing |
//! | `ram` | tmpfs | nothing |
//! | `ext4`, `xfs`, `btrfs`, `vfat`, `exfat` | a fresh file system on a loop device | root |
//! | `ext4-journal` | ext4 whose journal is on a second loop device | root |
//! | `vm-ext4`, `vm-f2fs`, ... | a fresh file system in a virtual machine, on a modelled device | QEMU |
//! | `squashfs`, `squashfs-uncompressed`, `erofs` | read-only, packed from a directory | root |
//!
//! Everything that a stack creates is in the run's own directory (the images, the mount points) or
//! in a directory of the same name elsewhere ([`outside_directory`]), so that whoever cleans up after a
//! killed run (`runner::cleanup`) needs to know these directories only.

mod guest;
mod image;
mod kernel;
pub(crate) mod mounts;
mod ram_copy;
mod recipe;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::MutexGuard;
use std::sync::atomic::AtomicBool;

use rustix::mount::MountFlags;

use crate::error::Error;
use crate::machine;
use crate::runner::run_id;
use crate::vm::Vm;
use guest::GuestParts;
pub(crate) use guest::is_guest;
use image::{ImageParts, Loop};
pub(crate) use image::{detach_loop, unmount_path};
pub(crate) use ram_copy::RamCopy;
pub(crate) use recipe::{Filling, StackRecipe, find_recipe};

/// The name of the current directory's file system.
pub const HERE: &str = "here";
/// The name of the RAM disk (tmpfs).
pub const RAM: &str = "ram";

/// Checks that a stack is available here; the error has the reason and the remedy.
pub fn check_available(name: &str) -> Result<(), String> {
    match name {
        HERE => Ok(()),
        RAM if kernel::may_mount() || mounts::shared_ram().is_some() => Ok(()),
        RAM => Err("needs a tmpfs that may be written (/dev/shm), or root".to_owned()),
        _ if guest::is_guest(name) => guest::check_available(name),
        _ => match recipe::find_recipe(name) {
            Some(recipe) => image::check_available(recipe.file_system, recipe.tool),
            None => Err(format!("there is no stack called `{name}`")),
        },
    }
}

/// Whether a stack can only be read, and is packed from a directory.
pub fn read_only(name: &str) -> bool {
    recipe::find_recipe(name).is_some_and(|r| matches!(r.filling, Filling::Packed(_)))
}

/// Whether a stack is made from a directory's contents.
pub(crate) fn is_packed(name: &str) -> bool {
    read_only(name) || guest::is_packed(name)
}

/// A stack that is ready; taken down when dropped.
#[derive(Debug)]
pub struct Stack {
    /// Its name.
    pub name: String,
    /// A directory on it that may be written, unless it is read-only. With a
    /// [`machine`](Self::machine) it is one of the guest.
    pub dir: PathBuf,
    /// Its block devices, if they are the laboratory's alone: the one with the file system
    /// first.
    pub devices: Vec<String>,
    /// File system, devices and options, for the results.
    pub details: BTreeMap<String, String>,
    /// The virtual machine that it is in; ended before its disk is removed.
    guest: Option<GuestParts>,
    /// Parts removed with it.
    _parts: ImageParts,
}

impl Stack {
    fn new(
        name: &str,
        dir: PathBuf,
        devices: &[Loop],
        details: BTreeMap<String, String>,
        parts: ImageParts,
    ) -> Self {
        Self {
            name: name.to_owned(),
            dir,
            devices: devices.iter().map(|d| d.name().to_owned()).collect(),
            details,
            guest: None,
            _parts: parts,
        }
    }

    /// The virtual machine that the stack is in, if it is in one.
    pub fn machine(&self) -> Option<MutexGuard<'_, Vm>> {
        self.guest.as_ref().map(GuestParts::machine)
    }

    /// Makes the stack as it was before the first run, if that is possible: in a virtual machine.
    pub fn restore(&self) -> Result<(), Error> {
        self.guest.as_ref().map_or(Ok(()), GuestParts::restore)
    }

    /// Makes a directory on the stack, empty.
    pub fn fresh_dir(&self, dir: &Path) -> Result<(), Error> {
        self.remove_dir(dir)?;
        match self.machine() {
            Some(mut vm) => vm.create_dir(dir),
            None => fs::create_dir(dir).map_err(|e| Error::file(dir, e)),
        }
    }

    /// Removes a directory on the stack, if it exists.
    pub fn remove_dir(&self, dir: &Path) -> Result<(), Error> {
        if let Some(mut vm) = self.machine() {
            return vm.remove_dir(dir);
        }
        match fs::remove_dir_all(dir) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::file(dir, e)),
            _ => Ok(()),
        }
    }
}

/// Makes a stack ready. `work` is the run's own directory on the current directory's file
/// system; `contents` is the source of a read-only stack (squashfs, erofs).
pub fn prepare_stack(name: &str, work: &Path, contents: Option<&Path>) -> Result<Stack, Error> {
    prepare_until_stopped(name, work, contents, &AtomicBool::new(false))
}

/// [`prepare_stack`], which ends with [`Error::Stopped`] when `stop` is set.
pub(crate) fn prepare_until_stopped(
    name: &str,
    work: &Path,
    contents: Option<&Path>,
    stop: &AtomicBool,
) -> Result<Stack, Error> {
    check_available(name).map_err(Error::NotRun)?;
    let work = fs::canonicalize(work).map_err(|e| Error::file(work, e))?;
    match name {
        HERE => here_stack(&work),
        RAM => ram_stack(&work),
        _ if guest::is_guest(name) => guest::boot_stack(name, &work, contents, stop),
        _ => {
            let recipe = recipe::find_recipe(name)
                .ok_or_else(|| Error::not_run(format!("there is no stack called `{name}`")))?;
            match (recipe.filling, contents) {
                (Filling::Empty(mount), _) => fresh_image(name, recipe, mount, &work),
                (Filling::Packed(compression), Some(contents)) => {
                    pack_image(name, recipe, compression, &work, contents)
                }
                (Filling::Packed(_), None) => Err(Error::other(format!(
                    "the stack `{name}` is packed from a directory, and none was given"
                ))),
            }
        }
    }
}

/// The directories beside the run's own that its stacks may make.
pub fn outside_directory(work: &Path) -> Vec<PathBuf> {
    let (Some(place), Some(name)) = (mounts::shared_ram(), work.file_name()) else {
        return Vec::new();
    };
    vec![place.join(name)]
}

fn here_stack(work: &Path) -> Result<Stack, Error> {
    let (dir, details) = (work.to_owned(), mounts::describe_mount(work));
    Ok(Stack::new(HERE, dir, &[], details, ImageParts::default()))
}

fn ram_stack(work: &Path) -> Result<Stack, Error> {
    let mut parts = ImageParts::default();
    let dir = if kernel::may_mount() {
        // Half of the memory at most, as the kernel has it by itself.
        let point = work.join("mnt-ram");
        parts.mount("tmpfs", &point, "tmpfs", MountFlags::empty(), "mode=0700")?;
        point
    } else {
        let dir = outside_directory(work)
            .pop()
            .ok_or_else(|| Error::not_run("no tmpfs may be written"))?;
        parts.make_dir(&dir)?;
        dir
    };
    let details = mounts::describe_mount(&dir);
    Ok(Stack::new(RAM, dir, &[], details, parts))
}

/// An empty file system on a loop device.
fn fresh_image(name: &str, recipe: StackRecipe, mount: &str, work: &Path) -> Result<Stack, Error> {
    let mut parts = ImageParts::default();
    let mut details = BTreeMap::new();
    let image = work.join(format!("{name}.img"));
    let device = parts.sparse_loop(&image, recipe::SIZE)?;
    let mut devices = vec![device];
    let mut options: Vec<String> = words(recipe.options).map(str::to_owned).collect();
    if name == recipe::EXTERNAL_JOURNAL {
        let journal = parts.sparse_loop(&work.join(format!("{name}-journal.img")), recipe::SIZE)?;
        let make = ["-q", "-F", "-b", "4096", "-O", "journal_dev"];
        run_tool(recipe.tool, make.iter().copied().chain([journal.path()]))?;
        options.extend(["-J".to_owned(), format!("device={}", journal.path())]);
        details.insert("journal".to_owned(), journal.describe());
        devices.push(journal);
    }
    let device = &devices[0];
    let options = options.iter().map(String::as_str);
    run_tool(recipe.tool, options.clone().chain([device.path()]))?;
    let made: Vec<&str> = std::iter::once(recipe.tool).chain(options).collect();
    details.insert("made by".to_owned(), made.join(" "));
    details.insert("made by version".to_owned(), tool_version(recipe.tool));
    details.insert("backing".to_owned(), device.describe());

    let point = work.join(format!("mnt-{name}"));
    if kernel::has_file_system(recipe.file_system) {
        let flags = MountFlags::empty();
        parts.mount(device.path(), &point, recipe.file_system, flags, mount)?;
        details.insert("driver".to_owned(), "kernel".to_owned());
    } else {
        parts.mount_fuse(device, &point)?;
        details.insert(
            "driver".to_owned(),
            format!(
                "FUSE ({}): this kernel has no {}; its calls pass through a process",
                kernel::FUSE_EXFAT,
                recipe.file_system
            ),
        );
    }
    details.extend(mounts::describe_mount(&point));
    let dir = point.join("lab");
    fs::create_dir(&dir).map_err(|e| Error::file(&dir, e))?;
    Ok(Stack::new(name, dir, &devices, details, parts))
}

/// A read-only file system with a directory's contents.
fn pack_image(
    name: &str,
    recipe: StackRecipe,
    compression: &str,
    work: &Path,
    contents: &Path,
) -> Result<Stack, Error> {
    let mut parts = ImageParts::default();
    let image = parts.image(&work.join(format!("{name}.img")));
    let ends = match recipe.tool {
        "mkfs.erofs" => [&*image, contents],
        _ => [contents, &*image],
    };
    let ends = ends.into_iter().map(Path::as_os_str);
    run_tool(
        recipe.tool,
        ends.chain(words(recipe.options).map(OsStr::new)),
    )?;
    let device = parts.read_only_loop(&image)?;
    let point = work.join(format!("mnt-{name}"));
    let flags = MountFlags::RDONLY;
    parts.mount(device.path(), &point, recipe.file_system, flags, "")?;
    let mut details = mounts::describe_mount(&point);
    let made = format!("{} {}", recipe.tool, recipe.options);
    details.insert("made by".to_owned(), made);
    details.insert("made by version".to_owned(), tool_version(recipe.tool));
    details.insert("compression".to_owned(), compression.to_owned());
    details.insert("backing".to_owned(), device.describe());
    let size = fs::metadata(&image)
        .map_err(|e| Error::file(&image, e))?
        .len();
    details.insert("image bytes".to_owned(), size.to_string());
    Ok(Stack::new(name, point, &[device], details, parts))
}

fn words(options: &str) -> impl Iterator<Item = &str> {
    options.split_ascii_whitespace()
}

pub(crate) fn run_tool<S: AsRef<OsStr>>(
    tool: &str,
    args: impl IntoIterator<Item = S>,
) -> Result<String, Error> {
    let Some(path) = machine::find_tool(tool) else {
        return Err(Error::not_run(not_installed(tool)));
    };
    let mut command = Command::new(path);
    command.args(args);
    // Ctrl-C reaches the laboratory alone; a tool that outlives it is found by its run's id.
    command.process_group(0);
    if let Some(id) = run_id::current_run() {
        command.env(run_id::MARKER, id);
    }
    machine::run_command(&mut command)
}

fn not_installed(tool: &str) -> String {
    format!("{tool} is not installed: `etui lab setup`")
}

/// Returns the line with a tool's version.
fn tool_version(tool: &str) -> String {
    let text = machine::version_text(tool).unwrap_or_default();
    let mut lines = text.lines();
    let line = lines.find(|line| line.contains(|c: char| c.is_ascii_digit()));
    line.map_or("unknown", str::trim).to_owned()
}

#[cfg(test)]
mod tests;
