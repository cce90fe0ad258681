//! The machine and its tools, for the results' header.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use jiff::Timestamp;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::error::Error;
use crate::results::{FORMAT, RunHeader};

/// The tools that experiments use, with the argument that prints each one's version.
const TOOLS: [(&str, &str); 10] = [
    ("mkfs.ext4", "-V"),
    ("mkfs.xfs", "-V"),
    ("mkfs.btrfs", "--version"),
    ("mkfs.vfat", "--help"),
    ("mkfs.exfat", "-V"),
    ("mksquashfs", "-version"),
    ("mkfs.erofs", "-V"),
    ("strace", "--version"),
    ("valgrind", "--version"),
    ("dbus-daemon", "--version"),
];

/// Where a command is, if it is installed: PATH, then where system tools live.
pub fn find_tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
}

/// Where the laboratory keeps large files between runs: `etui-lab` in `XDG_CACHE_HOME`, else in
/// `~/.cache`.
pub fn cache_dir() -> Result<PathBuf, Error> {
    let dir = |name: &str| {
        let value = std::env::var_os(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let cache = dir("XDG_CACHE_HOME").or_else(|| Some(dir("HOME")?.join(".cache")));
    let cache = cache.ok_or_else(|| {
        Error::not_run("there is no cache directory: neither XDG_CACHE_HOME nor HOME is set")
    })?;
    Ok(cache.join("etui-lab"))
}

/// This machine, as it is now. The experiments and their parameters are filled in later.
pub fn run_header() -> RunHeader {
    let names = rustix::system::uname();
    // To the second.
    let started = Timestamp::from_second(Timestamp::now().as_second());
    RunHeader {
        format: FORMAT,
        started: started.unwrap_or_default().to_string(),
        etui: env!("CARGO_PKG_VERSION").to_owned(),
        sqlite: sqlite_version(),
        kernel: format!(
            "{} {} {}",
            names.sysname().to_string_lossy(),
            names.release().to_string_lossy(),
            names.machine().to_string_lossy()
        ),
        system: read_value("/etc/os-release", "PRETTY_NAME=").unwrap_or_default(),
        processor: read_value("/proc/cpuinfo", "model name").unwrap_or_default(),
        cores: std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
        memory: read_value("/proc/meminfo", "MemTotal")
            .and_then(|text| text.split_ascii_whitespace().next()?.parse::<u64>().ok())
            .unwrap_or(0)
            * 1024,
        root: rustix::process::geteuid().is_root(),
        tools: tool_versions(),
        ..RunHeader::default()
    }
}

/// The built-in SQLite's version and the beginning of its source id.
fn sqlite_version() -> String {
    let source = rusqlite::Connection::open_in_memory()
        .and_then(|conn| conn.query_row("SELECT sqlite_source_id()", [], |row| row.get(0)))
        .unwrap_or_else(|_| String::new());
    let date = source.get(..10).unwrap_or_default();
    format!("{} ({date})", rusqlite::version())
}

fn read_value(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let rest = line[name.len()..].trim_start_matches([' ', '\t', ':']);
    Some(rest.trim().trim_matches('"').to_owned())
}

fn tool_versions() -> BTreeMap<String, String> {
    let versions = TOOLS.iter().filter_map(|(name, _)| {
        let version = version_text(name)?.lines().find_map(version_in)?;
        Some(((*name).to_owned(), version))
    });
    versions.collect()
}

/// Returns the output of a tool that is asked for its version; some write it to standard error.
pub fn version_text(tool: &str) -> Option<String> {
    let (_, argument) = TOOLS.iter().find(|(name, _)| *name == tool)?;
    let mut command = Command::new(find_tool(tool)?);
    let output = command.arg(argument).stdin(Stdio::null()).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Runs a command and returns its output; the last line that it says as the error if it fails.
pub fn run_command(command: &mut Command) -> Result<String, Error> {
    let output = command.stdin(Stdio::null()).env("LC_ALL", "C").output();
    let failed = |message: String| Error::Command {
        command: command_line(command),
        message,
    };
    let output = output.map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let last = words.lines().rev().find(|line| !line.trim().is_empty());
        return Err(failed(last.unwrap_or("no message").to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A command with its arguments, for messages.
pub(crate) fn command_line(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The processes that have a variable in their environment, never this one. Each is held by a handle that was
/// opened before it was looked at, so that no other that got its number can be meant.
pub(crate) fn processes_with(name: &str, value: &str) -> Vec<(Pid, OwnedFd)> {
    let wanted = format!("{name}={value}");
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .flatten()
        .filter_map(|process| {
            let pid = Pid::from_raw(process.file_name().to_str()?.parse().ok()?)?;
            if pid == rustix::process::getpid() {
                return None;
            }
            let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
            let environment = fs::read(process.path().join("environ")).ok()?;
            environment
                .split(|&b| b == 0)
                .any(|variable| variable == wanted.as_bytes())
                .then_some((pid, handle))
        })
        .collect()
}

/// The first word of a line that looks like a version.
fn version_in(line: &str) -> Option<String> {
    line.split_ascii_whitespace()
        .map(|word| word.trim_start_matches(|c: char| !c.is_ascii_digit()))
        .find(|word| word.contains('.'))
        .map(|word| word.trim_end_matches([',', ';', ')']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_told() {
        let header = run_header();
        assert!(header.kernel.starts_with("Linux "), "{header:?}");
        assert!(header.memory > 0 && header.cores > 0, "{header:?}");
        assert!(header.sqlite.starts_with("3."), "{header:?}");
    }
}
