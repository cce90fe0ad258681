//! `etui lab setup`: installs tools of the experiments.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::error::Error;
use crate::machine::find_tool;
use crate::output;

/// Install missing tools of the experiments, after confirmation
#[derive(Debug, clap::Args)]
pub struct SetupArgs {
    /// Install without asking
    #[arg(long, short)]
    yes: bool,
}

/// A package of Debian and its derivatives, the sign of its presence, and its purpose.
struct PackageManager {
    name: &'static str,
    shown_by: SetupCommand,
    used_for: &'static str,
}

enum SetupCommand {
    Tool(&'static str),
    File(&'static str),
}

const PACKAGES: &[PackageManager] = &[
    debian_package(
        "e2fsprogs",
        SetupCommand::Tool("mkfs.ext4"),
        "ext4 on loop images; extents",
    ),
    debian_package(
        "xfsprogs",
        SetupCommand::Tool("mkfs.xfs"),
        "xfs on loop images",
    ),
    debian_package(
        "btrfs-progs",
        SetupCommand::Tool("mkfs.btrfs"),
        "btrfs on loop images",
    ),
    debian_package(
        "dosfstools",
        SetupCommand::Tool("mkfs.vfat"),
        "vfat on loop images",
    ),
    debian_package(
        "exfatprogs",
        SetupCommand::Tool("mkfs.exfat"),
        "exfat on loop images",
    ),
    debian_package(
        "exfat-fuse",
        SetupCommand::Tool("mount.exfat-fuse"),
        "exfat where the kernel has none",
    ),
    debian_package(
        "squashfs-tools",
        SetupCommand::Tool("mksquashfs"),
        "squashfs images",
    ),
    debian_package(
        "erofs-utils",
        SetupCommand::Tool("mkfs.erofs"),
        "erofs images",
    ),
    debian_package(
        "strace",
        SetupCommand::Tool("strace"),
        "system calls by file",
    ),
    debian_package("valgrind", SetupCommand::Tool("valgrind"), "instructions"),
    debian_package(
        "evolution-data-server",
        SetupCommand::File("/usr/libexec/evolution-source-registry"),
        "the peer of `phonebook` and `calendar`",
    ),
    debian_package(
        "libebook1.2-dev",
        SetupCommand::File("/usr/include/evolution-data-server/libebook/libebook.h"),
        "driving Evolution Data Server",
    ),
    debian_package(
        "libecal2.0-dev",
        SetupCommand::File("/usr/include/evolution-data-server/libecal/libecal.h"),
        "driving Evolution Data Server's calendar",
    ),
    debian_package(
        "dbus",
        SetupCommand::Tool("dbus-daemon"),
        "a private session bus",
    ),
    debian_package(
        "gcc",
        SetupCommand::Tool("cc"),
        "driving Evolution Data Server",
    ),
    debian_package(
        "libc6-dev",
        SetupCommand::File("/usr/include/stdio.h"),
        "driving Evolution Data Server",
    ),
    debian_package(
        "pkg-config",
        SetupCommand::Tool("pkg-config"),
        "driving Evolution Data Server",
    ),
];

const fn debian_package(
    name: &'static str,
    shown_by: SetupCommand,
    used_for: &'static str,
) -> PackageManager {
    PackageManager {
        name,
        shown_by,
        used_for,
    }
}

impl PackageManager {
    fn installed(&self) -> bool {
        match self.shown_by {
            SetupCommand::Tool(name) => find_tool(name).is_some(),
            SetupCommand::File(path) => Path::new(path).exists(),
        }
    }
}

impl SetupArgs {
    /// Lists missing packages, asks, installs.
    pub fn run(&self) -> Result<ExitCode, Error> {
        let missing: Vec<&PackageManager> = PACKAGES.iter().filter(|p| !p.installed()).collect();
        if missing.is_empty() {
            output::print_line(format_args!("All that the experiments need is installed."))?;
            return Ok(ExitCode::SUCCESS);
        }
        output::print_line(format_args!(
            "Missing, each used for a part of the experiments:"
        ))?;
        for package in &missing {
            output::print_line(format_args!("  {:24}{}", package.name, package.used_for))?;
        }
        let names: Vec<&str> = missing.iter().map(|p| p.name).collect();
        let by_hand = format!("apt-get update && apt-get install -y {}", names.join(" "));
        if find_tool("apt-get").is_none() {
            return Err(Error::other(
                "there is no apt-get here; install them with your system's package manager, under the names it has for them. What is missing is reported as not run",
            ));
        }
        let Some(root) = root_prefix() else {
            return Err(Error::other(format!(
                "installing needs root; as root, run: {by_hand}"
            )));
        };
        if !self.yes && !ask_agreement()? {
            output::print_line(format_args!("Nothing was installed. By hand: {by_hand}"))?;
            return Ok(ExitCode::SUCCESS);
        }
        apt_command(&root, &["update", "-qq"])?;
        let mut install = vec!["install", "-y", "-qq", "--no-install-recommends"];
        install.extend(&names);
        apt_command(&root, &install)?;
        let still: Vec<&str> = missing
            .iter()
            .filter(|p| !p.installed())
            .map(|p| p.name)
            .collect();
        if still.is_empty() {
            output::print_line(format_args!("Installed."))?;
            Ok(ExitCode::SUCCESS)
        } else {
            Err(Error::other(format!(
                "apt-get ended well, but these are not to be found: {}",
                still.join(", ")
            )))
        }
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

fn ask_agreement() -> Result<bool, Error> {
    if !std::io::stdin().is_terminal() {
        return Err(Error::Usage(
            "there is no terminal to ask on; --yes installs without asking".to_owned(),
        ));
    }
    print!("Install them now? [y/N] ");
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
