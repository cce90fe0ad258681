//! The guest's root file system: an uncompressed cpio archive (`newc`,
//! Documentation/driver-api/early-userspace/buffer-format.rst of the kernel).

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::guest;
use super::kernel::GuestKernel;
use super::{DiskBus, VmOptions};
use crate::error::Error;
use crate::machine;

const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
/// The loader's index of library directories.
const LOADER_CACHE: &str = "/etc/ld.so.cache";
/// Tools that find out a file system's layout, or repair it; taken along where they are installed.
const TOOLS: [&str; 3] = ["debugfs", "xfs_db", "e2fsck"];

/// Polled queues besides those with interrupts.
const NVME_PARAMETERS: &str = " poll_queues=1";

/// Writes the archive of a machine: program, libraries, tools and kernel modules.
pub fn write_initramfs(
    path: &Path,
    kernel: &GuestKernel,
    options: &VmOptions,
) -> Result<(), Error> {
    let failed = |e| Error::file(path, e);
    let file = File::create(path).map_err(failed)?;
    let mut archive = CpioArchive::new(BufWriter::with_capacity(1 << 20, file));
    archive
        .node("/dev/console", 0o020_600, (5, 1))
        .map_err(failed)?;
    for dir in ["/proc", "/sys", "/tmp", "/mnt", "/root"] {
        archive.directory(dir).map_err(failed)?;
    }
    add_file(&mut archive, path, &options.program, guest::PROGRAM)?;
    let mut files = BTreeSet::from([PathBuf::from(LOADER), PathBuf::from(LOADER_CACHE)]);
    files.extend(list_libraries(&options.program)?);
    for tool in TOOLS.iter().filter_map(|tool| machine::find_tool(tool)) {
        files.extend(list_libraries(&tool)?);
        files.insert(tool);
    }
    for file in files.iter().filter(|file| file.exists()) {
        add_file(&mut archive, path, file, &file.to_string_lossy())?;
    }
    let nvme = options.disks.iter().any(|disk| disk.bus == DiskBus::Nvme);
    let names = options.file_systems.iter().map(String::as_str);
    let modules = kernel.modules(names, nvme)?;
    let mut list = String::new();
    for module in &modules {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        let place = format!("/lab/modules/{name}");
        add_file(&mut archive, path, module, &place)?;
        list.push_str(&place);
        if name == "nvme.ko" {
            list.push_str(NVME_PARAMETERS);
        }
        list.push('\n');
    }
    archive
        .file(guest::MODULES, list.as_bytes())
        .map_err(failed)?;
    archive.finish().map_err(failed)
}

fn add_file(
    archive: &mut CpioArchive<impl Write>,
    path: &Path,
    file: &Path,
    name: &str,
) -> Result<(), Error> {
    let content = fs::read(file).map_err(|e| Error::file(file, e))?;
    archive
        .file(name, &content)
        .map_err(|e| Error::file(path, e))
}

/// Returns the shared libraries of a program as the dynamic loader finds them; none if it is
/// linked statically.
fn list_libraries(program: &Path) -> Result<Vec<PathBuf>, Error> {
    let output = Command::new(LOADER)
        .arg("--list")
        .arg(program)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Error::file(LOADER, e))?;
    Ok(parse_libraries(&String::from_utf8_lossy(&output.stdout)))
}

/// `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f0fcec1e000)`
fn parse_libraries(list: &str) -> Vec<PathBuf> {
    let words = list.lines().flat_map(|line| {
        let line = line.rsplit_once(" (").map_or(line, |(line, _)| line);
        line.rsplit("=>").next().map(str::trim)
    });
    words
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from)
        .collect()
}

/// A cpio archive in the form that the kernel unpacks.
struct CpioArchive<W> {
    output: W,
    made: BTreeSet<String>,
    number: u32,
}

impl<W: Write> CpioArchive<W> {
    fn new(output: W) -> Self {
        Self {
            output,
            made: BTreeSet::new(),
            number: 0,
        }
    }

    /// A file that may be read and executed, after its directories.
    fn file(&mut self, path: &str, content: &[u8]) -> std::io::Result<()> {
        self.parents(path)?;
        self.entry(path, 0o100_755, content, (0, 0))
    }

    /// A device.
    fn node(&mut self, path: &str, mode: u32, device: (u32, u32)) -> std::io::Result<()> {
        self.parents(path)?;
        self.entry(path, mode, &[], device)
    }

    fn directory(&mut self, path: &str) -> std::io::Result<()> {
        self.parents(path)?;
        match self.made.insert(path.to_owned()) {
            true => self.entry(path, 0o040_755, &[], (0, 0)),
            false => Ok(()),
        }
    }

    fn parents(&mut self, path: &str) -> std::io::Result<()> {
        match path.rsplit_once('/') {
            Some(("", _)) | None => Ok(()),
            Some((parent, _)) => self.directory(parent),
        }
    }

    fn entry(
        &mut self,
        path: &str,
        mode: u32,
        content: &[u8],
        (major, minor): (u32, u32),
    ) -> std::io::Result<()> {
        self.number += 1;
        let name = path.trim_start_matches('/');
        let size = u32::try_from(content.len()).map_err(std::io::Error::other)?;
        let fields = [
            self.number,
            mode,
            0,
            0,
            1,
            0,
            size,
            0,
            0,
            major,
            minor,
            name.len() as u32 + 1,
            0,
        ];
        let mut header = "070701".to_owned();
        for field in fields {
            header.push_str(&format!("{field:08x}"));
        }
        header.push_str(name);
        header.push('\0');
        self.output.write_all(header.as_bytes())?;
        self.pad(header.len())?;
        self.output.write_all(content)?;
        self.pad(content.len())
    }

    /// Entries and contents begin at multiples of four bytes.
    fn pad(&mut self, length: usize) -> std::io::Result<()> {
        self.output
            .write_all(&[0; 4][..length.next_multiple_of(4) - length])
    }

    fn finish(mut self) -> std::io::Result<()> {
        self.entry("TRAILER!!!", 0, &[], (0, 0))?;
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn libraries_as_the_loader_lists_them() {
        let list = "\tlinux-vdso.so.1 (0x00007f0fd17d6000)\n\
             \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f0fcec1e000)\n\
             \t/lib64/ld-linux-x86-64.so.2 (0x00007f0fd17d8000)\n";
        let found = parse_libraries(list);
        let expected = ["/lib/x86_64-linux-gnu/libc.so.6", LOADER].map(PathBuf::from);
        assert_eq!(found, expected);
        assert_eq!(
            parse_libraries("\tstatically linked\n"),
            Vec::<PathBuf>::new()
        );
    }

    #[test]
    fn an_archive_that_cpio_can_read() {
        let mut bytes = Vec::new();
        let mut archive = CpioArchive::new(&mut bytes);
        archive.file("/a/b/c", b"four!").unwrap();
        archive.file("/a/b/d", b"").unwrap();
        archive.finish().unwrap();
        let Some(cpio) = machine::find_tool("cpio") else {
            eprintln!("skipped: cpio is not installed");
            return;
        };
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(cpio)
            .args(["--extract", "--quiet"])
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(fs::read(dir.path().join("a/b/c")).unwrap(), b"four!");
        assert_eq!(fs::read(dir.path().join("a/b/d")).unwrap(), b"");
    }
}
