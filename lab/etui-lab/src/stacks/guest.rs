//! Stacks in a virtual machine ([`crate::vm`]) whose disk is the laboratory's own device
//! ([`crate::device`]). They need no root, and their kernel is the same on every machine.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::image::ImageParts;
use super::{Stack, not_installed, outside_directory, recipe, run_tool, tool_version, words};
use crate::device::{DeviceModel, FileDisk, NbdServer, OverlayDisk};
use crate::error::Error;
use crate::machine;
use crate::vm::{self, DiskBus, Vm, VmDisk, VmOptions};

/// Prefix of the stacks' names; the file system follows.
const PREFIX: &str = "vm-";
/// Made with contents, which may be changed: an emulated processor would need minutes to write them.
const PACKED: &str = "vm-sd-card";
/// Where the disk is mounted in the guest.
const POINT: &str = "/mnt/lab";
/// A socket's longest path, of 108 bytes with a zero at its end.
const MAX_SOCKET_PATH: usize = 107;

/// A stack in a virtual machine.
#[derive(Debug, Clone, Copy)]
struct GuestRecipe {
    /// The stack with the same file system on a loop device.
    file_system: &'static str,
    model: DeviceModel,
    bus: DiskBus,
}

/// The name after the prefix; the file system's recipe, the device and its controller.
const RECIPES: [(&str, &str, DeviceModel, DiskBus); 9] = {
    use DiskBus::{Nvme, Virtio};
    [
        ("ext4", "ext4", DeviceModel::EMMC, Virtio),
        ("xfs", "xfs", DeviceModel::EMMC, Virtio),
        ("btrfs", "btrfs", DeviceModel::EMMC, Virtio),
        ("f2fs", "f2fs", DeviceModel::EMMC, Virtio),
        ("nilfs2", "nilfs2", DeviceModel::EMMC, Virtio),
        ("vfat", "vfat", DeviceModel::SD_CARD, Virtio),
        ("exfat", "exfat", DeviceModel::SD_CARD, Virtio),
        ("nvme", "ext4", DeviceModel::NVME, Nvme),
        ("sd-card", "ext4", DeviceModel::SD_CARD, Virtio),
    ]
};

fn find_recipe(stack: &str) -> Option<GuestRecipe> {
    let name = stack.strip_prefix(PREFIX)?;
    let mut recipes = RECIPES.iter();
    let (_, file_system, model, bus) = recipes.find(|(known, ..)| *known == name)?;
    Some(GuestRecipe {
        file_system,
        model: *model,
        bus: *bus,
    })
}

/// Whether a stack's file system is made with contents.
pub fn is_packed(stack: &str) -> bool {
    stack == PACKED
}

/// Whether a stack is in a virtual machine.
pub fn is_guest(stack: &str) -> bool {
    find_recipe(stack).is_some()
}

/// Whether a stack in a virtual machine can be had.
pub fn check_available(stack: &str) -> Result<(), String> {
    let recipe = find_recipe(stack).and_then(|guest| recipe::find_recipe(guest.file_system));
    let recipe = recipe.ok_or_else(|| format!("there is no stack called `{stack}`"))?;
    vm::check_available()?;
    match machine::find_tool(recipe.tool) {
        Some(_) => Ok(()),
        None => Err(not_installed(recipe.tool)),
    }
}

/// The parts of a stack that are on the host's side; taken down in this order.
#[derive(Debug)]
pub struct GuestParts {
    /// The machine, which uses the device.
    vm: Mutex<Vm>,
    device: NbdServer,
    /// The device's contents before the first run.
    base: Arc<FileDisk>,
    mount: GuestMount,
}

/// How the file system is mounted.
#[derive(Debug, Clone)]
struct GuestMount {
    device: String,
    file_system: &'static str,
    options: &'static str,
}

impl GuestMount {
    fn mount(&self, vm: &mut Vm) -> Result<(), Error> {
        vm.mount(&self.device, POINT, self.file_system, self.options)
    }
}

impl GuestParts {
    /// The machine, for one request after the other.
    pub fn machine(&self) -> MutexGuard<'_, Vm> {
        self.vm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the device back to its contents before the first run, so that no run depends on those
    /// before it: the trees of btrfs and nilfs2 do. What a run writes is kept in memory.
    pub fn restore(&self) -> Result<(), Error> {
        let mut vm = self.machine();
        vm.unmount(POINT)?;
        let overlay = OverlayDisk::new(self.base.clone());
        self.device.replace_disk(Arc::new(overlay))?;
        self.mount.mount(&mut vm)
    }
}

/// Makes a file system on the device, boots a machine, and mounts it there.
pub fn boot_stack(
    name: &str,
    work: &Path,
    contents: Option<&Path>,
    stop: &AtomicBool,
) -> Result<Stack, Error> {
    let unknown = || Error::not_run(format!("there is no stack called `{name}`"));
    let guest = find_recipe(name).ok_or_else(unknown)?;
    let recipe = recipe::find_recipe(guest.file_system).ok_or_else(unknown)?;
    let recipe::Filling::Empty(mount) = recipe.filling else {
        return Err(unknown());
    };
    let mut parts = ImageParts::default();
    let dir = work.join(name);
    parts.make_dir(&dir)?;
    let image = parts.image(&dir.join("disk"));
    let base = Arc::new(FileDisk::create(&image, recipe::SIZE)?);
    let mut options: Vec<&OsStr> = words(recipe.options).map(AsRef::as_ref).collect();
    let contents = contents.map(Path::as_os_str).filter(|_| is_packed(name));
    // Of ext4 alone.
    options.extend(contents.into_iter().flat_map(|dir| [OsStr::new("-d"), dir]));
    options.push(image.as_os_str());
    run_tool(recipe.tool, options)?;
    let socket = socket_path(work, &dir, name, &mut parts)?;
    let device = NbdServer::start(&socket, base.clone(), &guest.model, false)?;

    let disk = VmDisk::nbd(&socket).on(guest.bus);
    let options = VmOptions::new(&dir, vec![disk], &[recipe.file_system])?;
    let mut vm = Vm::boot(&options, stop)?;
    let kernel_name = match guest.bus {
        DiskBus::Virtio => "vda",
        DiskBus::Nvme => "nvme0n1",
    };
    let mount = GuestMount {
        device: format!("/dev/{kernel_name}"),
        file_system: recipe.file_system,
        options: mount,
    };
    mount.mount(&mut vm)?;
    let lab = match is_packed(name) {
        true => PathBuf::from(POINT),
        false => PathBuf::from(POINT).join("lab"),
    };
    vm.create_dir(&lab)?;

    let delays = format!("{} ({})", guest.model.name, guest.model.source);
    let details = BTreeMap::from([
        ("file system".to_owned(), recipe.file_system.to_owned()),
        (
            "mount options".to_owned(),
            format!("noatime,{}", mount.options),
        ),
        (
            "made by".to_owned(),
            format!("{} {}", recipe.tool, recipe.options),
        ),
        ("made by version".to_owned(), tool_version(recipe.tool)),
        ("device".to_owned(), mount.device.clone()),
        ("device model".to_owned(), delays),
        ("kernel".to_owned(), vm.info().kernel.clone()),
        ("processor".to_owned(), describe_processor(&vm)),
        (
            "backing".to_owned(),
            "NBD server in the laboratory over a sparse file".to_owned(),
        ),
    ]);
    let mut stack = Stack::new(name, lab, &[], details, parts);
    stack.devices = vec![kernel_name.to_owned()];
    stack.guest = Some(GuestParts {
        vm: Mutex::new(vm),
        device,
        base,
        mount,
    });
    Ok(stack)
}

fn describe_processor(vm: &Vm) -> String {
    match vm.accelerator() {
        vm::Accelerator::Kvm => "the host's (KVM)".to_owned(),
        vm::Accelerator::Tcg => {
            "emulated (TCG): processor times are not comparable with the host's".to_owned()
        }
    }
}

/// Returns a path for the device's socket: in the stack's directory, or, if that is too long for
/// a socket, in the run's directory on the RAM disk.
fn socket_path(
    work: &Path,
    dir: &Path,
    name: &str,
    parts: &mut ImageParts,
) -> Result<PathBuf, Error> {
    let near = dir.join("socket");
    if near.as_os_str().len() <= MAX_SOCKET_PATH {
        return Ok(near);
    }
    let outside = outside_directory(work).pop().ok_or_else(|| {
        Error::not_run("the current directory's path is too long for a socket, and /dev/shm may not be written")
    })?;
    if !outside.exists() {
        parts.make_dir(&outside)?;
    }
    let socket = outside.join(name);
    if fs::exists(&socket).is_ok_and(|there| there) {
        fs::remove_file(&socket).map_err(|e| Error::file(&socket, e))?;
    }
    Ok(socket)
}
