//! The guest's kernel: from the distribution's package, unpacked into a cache and not installed.
//!
//! ```text
//! ~/.cache/etui-lab/            or in $XDG_CACHE_HOME
//!   kernel/version              e.g. 6.1.0-56-amd64
//!   kernel/vmlinuz
//!   kernel/modules/NAME.ko      those that a guest may need, with their dependencies
//!   accelerator                 result of the probe
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::machine;

/// The package that depends on the distribution's current kernel.
const CURRENT: &str = "linux-image-amd64";

/// Modules of every guest: the disks, and the port to the host.
const BASE: [&str; 3] = ["virtio_pci", "virtio_console", "virtio_blk"];
const NVME: &str = "nvme";
/// File systems and modules that the kernel would load by itself if the guest had `modprobe`:
/// checksums, and the character sets of file names.
const FILE_SYSTEMS: [(&str, &[&str]); 7] = [
    ("ext4", &["crc32c_generic", "ext4"]),
    ("xfs", &["crc32c_generic", "xfs"]),
    (
        "btrfs",
        &[
            "crc32c_generic",
            "xxhash_generic",
            "blake2b_generic",
            "btrfs",
        ],
    ),
    ("f2fs", &["crc32_generic", "crc32c_generic", "f2fs"]),
    ("nilfs2", &["nilfs2"]),
    ("vfat", &["nls_cp437", "nls_ascii", "nls_utf8", "vfat"]),
    ("exfat", &["nls_utf8", "exfat"]),
];

#[derive(Debug, Clone)]
pub struct GuestKernel {
    dir: PathBuf,
    version: String,
}

impl GuestKernel {
    pub fn find() -> Result<Self, Error> {
        let dir = machine::cache_dir()?.join("kernel");
        let version = fs::read_to_string(dir.join("version")).map_err(|_| {
            Error::not_run("the virtual machine has no kernel yet: `etui lab setup`")
        })?;
        Ok(Self { dir, version })
    }

    /// The kernel in the cache; if there is none, the distribution's is downloaded and unpacked.
    /// Needs no root, but the network and some 500 MB of space for a moment.
    pub fn prepare() -> Result<Self, Error> {
        if let Ok(kernel) = Self::find() {
            return Ok(kernel);
        }
        let cache = machine::cache_dir()?;
        fs::create_dir_all(&cache).map_err(|e| Error::file(&cache, e))?;
        let work = tempfile::Builder::new()
            .prefix("kernel-")
            .tempdir_in(&cache)
            .map_err(|e| Error::file(&cache, e))?;
        let package = download_package(work.path())?;
        let tree = work.path().join("tree");
        machine::run_command(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&tree))?;
        let made = work.path().join("kernel");
        keep_needed(&tree, &made)?;
        let place = cache.join("kernel");
        match fs::rename(&made, &place) {
            // Another process was as fast.
            Err(_) if place.join("version").exists() => {}
            renamed => renamed.map_err(|e| Error::file(&place, e))?,
        }
        Self::find()
    }

    /// The kernel's release.
    pub fn version(&self) -> &str {
        &self.version
    }

    pub fn image(&self) -> PathBuf {
        self.dir.join("vmlinuz")
    }

    /// Returns the modules for file systems, and for NVMe, in the order in which they must be
    /// loaded.
    pub fn modules<'a>(
        &self,
        file_systems: impl IntoIterator<Item = &'a str>,
        nvme: bool,
    ) -> Result<Vec<PathBuf>, Error> {
        let mut wanted = BASE.to_vec();
        wanted.extend(nvme.then_some(NVME));
        for name in file_systems {
            let known = FILE_SYSTEMS.iter().find(|(known, _)| *known == name);
            let (_, modules) = known.ok_or_else(|| {
                Error::other(format!("the virtual machine knows no file system `{name}`"))
            })?;
            wanted.extend(*modules);
        }
        let tree = ModuleTree::of(&self.dir.join("modules"))?;
        tree.load_order(&wanted)
    }
}

/// Downloads the package of the distribution's current kernel.
fn download_package(dir: &Path) -> Result<PathBuf, Error> {
    for tool in ["apt-get", "apt-cache", "dpkg-deb"] {
        if machine::find_tool(tool).is_none() {
            return Err(Error::not_run(format!(
                "there is no {tool} here: the virtual machine's kernel is a package of Debian"
            )));
        }
    }
    let mut lists: Vec<String> = Vec::new();
    let mut name = current_package(&lists)?;
    if name.is_none() {
        // A system whose package lists were never fetched: into a directory of our own.
        for (what, of) in [("Dir::State::Lists", "lists"), ("Dir::Cache", "cache")] {
            let path = dir.join(of);
            fs::create_dir_all(path.join("partial")).map_err(|e| Error::file(&path, e))?;
            lists.extend(["-o".to_owned(), format!("{what}={}", path.display())]);
        }
        machine::run_command(Command::new("apt-get").args(&lists).args(["update", "-qq"]))?;
        name = current_package(&lists)?;
    }
    let name = name.ok_or_else(|| {
        Error::not_run(format!(
            "there is no package {CURRENT} here: the virtual machine's kernel is Debian's"
        ))
    })?;
    let mut download = Command::new("apt-get");
    download.args(&lists).args(["download", "-qq", &name]);
    machine::run_command(download.current_dir(dir))?;
    let mut files = fs::read_dir(dir)
        .map_err(|e| Error::file(dir, e))?
        .flatten();
    let package = files.find(|file| file.path().extension().is_some_and(|end| end == "deb"));
    let package = package.ok_or_else(|| Error::other(format!("apt-get gave no file of {name}")))?;
    Ok(package.path())
}

/// Returns the name of the current kernel's package; none if the lists do not have it.
fn current_package(lists: &[String]) -> Result<Option<String>, Error> {
    let mut command = Command::new("apt-cache");
    command.args(lists).args(["depends", CURRENT]);
    let output = command.env("LC_ALL", "C").stdin(Stdio::null()).output();
    let output = output.map_err(|e| Error::file("apt-cache", e))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let named = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "));
    let mut images = named.filter(|name| name.starts_with("linux-image-"));
    Ok(images.next().map(str::to_owned))
}

/// Moves the image and the needed modules out of an unpacked package.
fn keep_needed(tree: &Path, made: &Path) -> Result<(), Error> {
    let boot = tree.join("boot");
    let entries = fs::read_dir(&boot).map_err(|e| Error::file(&boot, e))?;
    let images = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some(name.strip_prefix("vmlinuz-")?.to_owned())
    });
    let version = images
        .max()
        .ok_or_else(|| Error::other("the package holds no kernel"))?;
    let modules = made.join("modules");
    fs::create_dir_all(&modules).map_err(|e| Error::file(&modules, e))?;
    let image = boot.join(format!("vmlinuz-{version}"));
    fs::rename(&image, made.join("vmlinuz")).map_err(|e| Error::file(&image, e))?;
    // Debian has moved them beneath /usr.
    let places = ["lib/modules", "usr/lib/modules"];
    let mut places = places.iter().map(|place| tree.join(place).join(&version));
    let found = places
        .find(|place| place.is_dir())
        .ok_or_else(|| Error::other("the package holds no modules"))?;
    decompress(&found)?;
    let all = ModuleTree::of(&found)?;
    let mut wanted: Vec<&str> = [&BASE[..], &[NVME]].concat();
    wanted.extend(FILE_SYSTEMS.iter().flat_map(|(_, modules)| *modules));
    for module in all.load_order(&wanted)? {
        let name = module.file_name().unwrap_or_default();
        fs::rename(&module, modules.join(name)).map_err(|e| Error::file(&module, e))?;
    }
    let path = made.join("version");
    fs::write(&path, &version).map_err(|e| Error::file(&path, e))
}

/// Decompresses modules where the distribution compresses them.
fn decompress(dir: &Path) -> Result<(), Error> {
    let mut packed = Vec::new();
    list_files(dir, &mut packed)?;
    packed.retain(|path| path.extension().is_some_and(|end| end == "xz"));
    for some in packed.chunks(256) {
        machine::run_command(Command::new("xz").args(["--decompress", "--"]).args(some))?;
    }
    Ok(())
}

fn list_files(dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    for entry in fs::read_dir(dir)
        .map_err(|e| Error::file(dir, e))?
        .flatten()
    {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => list_files(&entry.path(), files)?,
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    Ok(())
}

/// Kernel modules beneath a directory, by name.
struct ModuleTree(BTreeMap<String, PathBuf>);

impl ModuleTree {
    fn of(dir: &Path) -> Result<Self, Error> {
        let mut files = Vec::new();
        list_files(dir, &mut files)?;
        let named = files.into_iter().filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(".ko")?;
            Some((module_name(name), path.clone()))
        });
        Ok(Self(named.collect()))
    }

    /// Returns modules with those that they depend on before them. A module that does not
    /// exist is built into the kernel.
    fn load_order(&self, wanted: &[&str]) -> Result<Vec<PathBuf>, Error> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        for name in wanted {
            self.add(&module_name(name), &mut order, &mut seen)?;
        }
        Ok(order)
    }

    fn add(
        &self,
        name: &str,
        order: &mut Vec<PathBuf>,
        seen: &mut BTreeSet<String>,
    ) -> Result<(), Error> {
        let Some(path) = self.0.get(name) else {
            return Ok(());
        };
        if !seen.insert(name.to_owned()) {
            return Ok(());
        }
        let module = fs::read(path).map_err(|e| Error::file(path, e))?;
        for before in module_dependencies(&module) {
            self.add(&before, order, seen)?;
        }
        order.push(path.clone());
        Ok(())
    }
}

/// The kernel takes `-` and `_` in names for the same.
fn module_name(name: &str) -> String {
    name.replace('-', "_")
}

/// Reads the names after `depends=` in a module's section `.modinfo`, whose texts end with zeros.
fn module_dependencies(module: &[u8]) -> Vec<String> {
    const FIELD: &[u8] = b"\0depends=";
    let Some(at) = module.windows(FIELD.len()).position(|part| part == FIELD) else {
        return Vec::new();
    };
    let names = module[at + FIELD.len()..].split(|&byte| byte == 0).next();
    let names = String::from_utf8_lossy(names.unwrap_or_default());
    let names = names.split(',').filter(|name| !name.is_empty());
    names.map(module_name).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn modules_follow_those_they_depend_on() {
        let dir = tempfile::tempdir().unwrap();
        let module = |name: &str, depends: &str| {
            let path = dir.path().join(format!("{name}.ko"));
            fs::write(
                &path,
                format!("\x7fELF\0license=GPL\0depends={depends}\0rest"),
            )
            .unwrap();
            path
        };
        let ring = module("virtio_ring", "virtio");
        let virtio = module("virtio", "");
        let core = module("nvme-core", "");
        let block = module("virtio_blk", "virtio,virtio_ring");
        let nvme = module("nvme", "nvme-core");
        let tree = ModuleTree::of(dir.path()).unwrap();
        let order = tree
            .load_order(&["virtio_blk", "nvme", "ext4", "virtio"])
            .unwrap();
        assert_eq!(order, [virtio, ring, block, core, nvme]);
        assert_eq!(module_dependencies(b"no module"), Vec::<String>::new());
    }
}
