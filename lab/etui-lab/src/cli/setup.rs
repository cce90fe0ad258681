//! `etui lab setup`: installs tools of the experiments, and prepares the virtual machine.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::error::Error;
use crate::machine::{cache_dir, find_tool};
use crate::output;
use crate::peers::eds;
use crate::vm::{self, Accelerator, GuestKernel};

/// Install missing tools of the experiments, after confirmation, and prepare the virtual machine
///
/// Tools are packages of the distribution, and installing them needs root; without it they are listed.
/// The kernel of the virtual machine needs no root: it is downloaded and unpacked into the cache.
#[derive(Debug, clap::Args)]
pub struct SetupArgs {
    /// Install without asking
    #[arg(long, short)]
    yes: bool,

    /// Unpack the versions of Evolution Data Server that `eds-versions` compares: three Debian
    /// suites, about 1.2 GB each, into the cache directory; no root is needed
    #[arg(long)]
    eds_versions: bool,

    /// Debian mirror of these suites; otherwise that of the machine's apt sources
    #[arg(long, value_name = "URL", requires = "eds_versions")]
    debian_mirror: Option<String>,
}

/// The name of a package, a sign that it is installed, and its purpose.
type Package = (&'static str, &'static str, &'static str);

/// Packages of Debian and its derivatives, one a line: its name; a tool or, with a `/`, a file of
/// it; its purpose.
const PACKAGES: &str = "\
e2fsprogs | mkfs.ext4 | ext4 on loop images; extents
xfsprogs | mkfs.xfs | xfs on loop images
btrfs-progs | mkfs.btrfs | btrfs on loop images
dosfstools | mkfs.vfat | vfat on loop images
exfatprogs | mkfs.exfat | exfat on loop images
exfat-fuse | mount.exfat-fuse | exfat where the kernel has none
qemu-system-x86 | qemu-system-x86_64 | the virtual machine: ext4, xfs, btrfs, f2fs, nilfs2, vfat and exfat without root
f2fs-tools | mkfs.f2fs | f2fs in the virtual machine
nilfs-tools | mkfs.nilfs2 | nilfs2 in the virtual machine
squashfs-tools | mksquashfs | squashfs images
erofs-utils | mkfs.erofs | erofs images
strace | strace | system calls by file
valgrind | valgrind | instructions
evolution-data-server | /usr/libexec/evolution-source-registry | the peer of `phonebook` and `calendar`
libebook1.2-dev | /usr/include/evolution-data-server/libebook/libebook.h | driving Evolution Data Server
libecal2.0-dev | /usr/include/evolution-data-server/libecal/libecal.h | driving Evolution Data Server's calendar
libdbus-1-dev | /usr/include/dbus-1.0/dbus/dbus.h | the echo of `dbus-calls`
mpd | mpd | a peer of `media-scan`
beets | beet | a peer of `media-scan`
util-linux | chrt | real-time priority
dbus | dbus-daemon | a private session bus
gcc | cc | driving Evolution Data Server
libc6-dev | /usr/include/stdio.h | driving Evolution Data Server
pkg-config | pkg-config | driving Evolution Data Server
";

fn packages() -> impl Iterator<Item = Package> {
    PACKAGES.lines().filter_map(|line| {
        let (name, rest) = line.split_once(" | ")?;
        let (sign, purpose) = rest.split_once(" | ")?;
        Some((name, sign, purpose))
    })
}

fn is_installed((_, sign, _): &Package) -> bool {
    match sign.contains('/') {
        true => Path::new(sign).exists(),
        false => find_tool(sign).is_some(),
    }
}

impl SetupArgs {
    /// Lists missing packages, asks, installs; then prepares the virtual machine.
    pub fn run(&self) -> Result<ExitCode, Error> {
        if self.eds_versions {
            return self.unpack_versions();
        }
        self.install_missing()?;
        prepare_machine()?;
        Ok(ExitCode::SUCCESS)
    }

    fn install_missing(&self) -> Result<(), Error> {
        let missing: Vec<Package> = packages().filter(|p| !is_installed(p)).collect();
        if missing.is_empty() {
            output::print_line(format_args!("All that the experiments need is installed."))?;
            return Ok(());
        }
        output::print_line(format_args!(
            "Missing, each used for a part of the experiments:"
        ))?;
        for (name, _, purpose) in &missing {
            output::print_line(format_args!("  {name:24}{purpose}"))?;
        }
        let names: Vec<&str> = missing.iter().map(|(name, ..)| *name).collect();
        let by_hand = format!("apt-get update && apt-get install -y {}", names.join(" "));
        if find_tool("apt-get").is_none() {
            return output::print_line(format_args!(
                "There is no apt-get here: install them with your system's package manager, under the \
                 names it has for them. What is missing is reported as not run."
            ));
        }
        let Some(root) = root_prefix() else {
            return output::print_line(format_args!(
                "Installing them needs root; as root, run: {by_hand}\n\
                 Without them the parts that need them are reported as not run."
            ));
        };
        if !self.yes && !ask_agreement("Install them now?")? {
            return output::print_line(format_args!("Nothing was installed. By hand: {by_hand}"));
        }
        apt_command(&root, &["update", "-qq"])?;
        let mut install = vec!["install", "-y", "-qq", "--no-install-recommends"];
        install.extend(&names);
        apt_command(&root, &install)?;
        let still = missing.iter().filter(|package| !is_installed(package));
        let still: Vec<&str> = still.map(|(name, ..)| *name).collect();
        if still.is_empty() {
            return output::print_line(format_args!("Installed."));
        }
        Err(Error::other(format!(
            "apt-get ended well, but these are not to be found: {}",
            still.join(", ")
        )))
    }

    /// Unpacks the suites that are not in the cache, after confirmation.
    fn unpack_versions(&self) -> Result<ExitCode, Error> {
        let cache = cache_dir()?;
        let missing = eds::missing_suites()?;
        if missing.is_empty() {
            output::print_line(format_args!(
                "All versions are unpacked: {}",
                cache.join("eds-*").display()
            ))?;
            return Ok(ExitCode::SUCCESS);
        }
        let tools = eds::missing_tools();
        if !tools.is_empty() {
            return Err(Error::other(format!(
                "unpacking needs packages that are missing; as root, run: apt-get install -y {}",
                tools.join(" ")
            )));
        }
        let mirror = match &self.debian_mirror {
            Some(mirror) => mirror.clone(),
            None => eds::configured_mirror()?,
        };
        output::print_line(format_args!(
            "To be unpacked from {mirror} into {}, {:.1} GB: {}",
            cache.display(),
            (missing.len() as u64 * eds::SUITE_BYTES) as f64 / 1e9,
            missing.join(", ")
        ))?;
        if !self.yes && !ask_agreement("Unpack them now?")? {
            return Ok(ExitCode::SUCCESS);
        }
        for suite in missing {
            output::print_line(format_args!("{suite} ..."))?;
            eds::unpack_suite(suite, &mirror)?;
            let installed = eds::Installation::of(Some(suite))?;
            let version = installed
                .check(eds::Server::AddressBook)
                .map_err(Error::other)?;
            output::print_line(format_args!("{suite}: Evolution Data Server {version}"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Puts the virtual machine's kernel into the cache, and probes for KVM.
fn prepare_machine() -> Result<(), Error> {
    let kernel = match GuestKernel::prepare() {
        Ok(kernel) => kernel,
        Err(Error::NotRun(reason)) => {
            return output::print_line(format_args!("No virtual machine: {reason}"));
        }
        Err(error) => return Err(error),
    };
    output::print_line(format_args!(
        "The virtual machine's kernel: {}, in {}",
        kernel.version(),
        kernel.image().display()
    ))?;
    match vm::probe_accelerator() {
        Ok(Accelerator::Kvm) => output::print_line(format_args!("KVM works here.")),
        Ok(Accelerator::Tcg) => output::print_line(format_args!(
            "KVM does not work here, or may not be used: the processor is emulated. Counts are the \
             same; a machine boots in some seconds."
        )),
        Err(Error::NotRun(reason)) => {
            output::print_line(format_args!("No virtual machine yet: {reason}"))
        }
        Err(error) => Err(error),
    }
}

/// Returns the prefix of a command that needs root; none if every way asks for a password.
fn root_prefix() -> Option<Vec<&'static str>> {
    if rustix::process::geteuid().is_root() {
        return Some(vec!["env"]);
    }
    let sudo = Command::new(find_tool("sudo")?)
        .args(["-n", "true"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status();
    sudo.is_ok_and(|status| status.success())
        .then(|| vec!["sudo", "-n", "env"])
}

fn ask_agreement(question: &str) -> Result<bool, Error> {
    if !std::io::stdin().is_terminal() {
        return Err(Error::Usage(
            "there is no terminal to ask on; --yes goes on without asking".to_owned(),
        ));
    }
    print!("{question} [y/N] ");
    std::io::stdout()
        .flush()
        .map_err(|e| Error::file("standard output", e))?;
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|e| Error::file("standard input", e))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn apt_command(root: &[&str], arguments: &[&str]) -> Result<(), Error> {
    let mut words = root.iter().copied();
    let program = words.next().unwrap_or("env");
    let mut command = Command::new(program);
    command
        .args(words)
        .arg("DEBIAN_FRONTEND=noninteractive")
        .arg("apt-get")
        .args(arguments)
        .stdin(Stdio::null());
    let status = command.status().map_err(|e| Error::file("apt-get", e))?;
    if status.success() {
        Ok(())
    } else {
        Err(Error::Command {
            command: format!("apt-get {}", arguments.join(" ")),
            message: format!("it ended with {status}; its own words are above"),
        })
    }
}
