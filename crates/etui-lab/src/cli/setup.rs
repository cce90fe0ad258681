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
    package(
        "e2fsprogs",
        SetupCommand::Tool("mkfs.ext4"),
        "ext4 on loop images; extents",
    ),
    package(
        "xfsprogs",
        SetupCommand::Tool("mkfs.xfs"),
        "xfs on loop images",
    ),
    package(
        "btrfs-progs",
        SetupCommand::Tool("mkfs.btrfs"),
        "btrfs on loop images",
    ),
    package(
        "dosfstools",
        SetupCommand::Tool("mkfs.vfat"),
        "vfat on loop images",
    ),
    package(
        "exfatprogs",
        SetupCommand::Tool("mkfs.exfat"),
        "exfat on loop images",
    ),
    package(
        "exfat-fuse",
        SetupCommand::Tool("mount.exfat-fuse"),
        "exfat where the kernel has none",
    ),
    package(
        "squashfs-tools",
        SetupCommand::Tool("mksquashfs"),
        "squashfs images",
    ),
    package(
        "erofs-utils",
        SetupCommand::Tool("mkfs.erofs"),
        "erofs images",
    ),
    package(
        "strace",
        SetupCommand::Tool("strace"),
        "system calls by file",
    ),
    package("valgrind", SetupCommand::Tool("valgrind"), "instructions"),
    package(
        "evolution-data-server",
        SetupCommand::File("/usr/libexec/evolution-source-registry"),
        "the peer of `phonebook` and `calendar`",
    ),
    package(
        "libebook1.2-dev",
        SetupCommand::File("/usr/include/evolution-data-server/libebook/libebook.h"),
        "driving Evolution Data Server",
    ),
    package(
        "libecal2.0-dev",
        SetupCommand::File("/usr/include/evolution-data-server/libecal/libecal.h"),
        "driving Evolution Data Server's calendar",
    ),
    package(
        "dbus",
        SetupCommand::Tool("dbus-daemon"),
        "a private session bus",
    ),
    package(
        "gcc",
        SetupCommand::Tool("cc"),
        "driving Evolution Data Server",
    ),
    package(
        "libc6-dev",
        SetupCommand::File("/usr/include/stdio.h"),
        "driving Evolution Data Server",
    ),
    package(
        "pkg-config",
        SetupCommand::Tool("pkg-config"),
        "driving Evolution Data Server",
    ),
];

const fn package(
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
            output::out(format_args!("All that the experiments need is installed."))?;
            return Ok(ExitCode::SUCCESS);
        }
        output::out(format_args!(
            "Missing, each used for a part of the experiments:"
        ))?;
        for package in &missing {
            output::out(format_args!("  {:24}{}", package.name, package.used_for))?;
        }
        let names: Vec<&str> = missing.iter().map(|p| p.name).collect();
        let by_hand = format!("apt-get update && apt-get install -y {}", names.join(" "));
        if find_tool("apt-get").is_none() {
            return Err(Error::other(
                "there is no apt-get here; install them with your system's package manager, under the names it has for them. What is missing is reported as not run",
            ));
        }
        let Some(root) = root() else {
            return Err(Error::other(format!(
                "installing needs root; as root, run: {by_hand}"
            )));
        };
        if !self.yes && !agreed()? {
            output::out(format_args!("Nothing was installed. By hand: {by_hand}"))?;
            return Ok(ExitCode::SUCCESS);
        }
        apt(&root, &["update", "-qq"])?;
        let mut install = vec!["install", "-y", "-qq", "--no-install-recommends"];
        install.extend(&names);
        apt(&root, &install)?;
        let still: Vec<&str> = missing
            .iter()
            .filter(|p| !p.installed())
            .map(|p| p.name)
            .collect();
        if still.is_empty() {
            output::out(format_args!("Installed."))?;
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
fn root() -> Option<Vec<&'static str>> {
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

fn agreed() -> Result<bool, Error> {
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

fn apt(root: &[&str], arguments: &[&str]) -> Result<(), Error> {
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
