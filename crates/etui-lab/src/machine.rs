//! The machine and its tools, for the results' header.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

/// This machine, as it is now. The experiments and their parameters are filled in later.
pub fn run_header() -> RunHeader {
    let names = rustix::system::uname();
    RunHeader {
        format: FORMAT,
        started: format_timestamp(SystemTime::now()),
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
    TOOLS
        .iter()
        .filter_map(|(name, argument)| {
            let output = Command::new(find_tool(name)?)
                .arg(argument)
                .stdin(Stdio::null())
                .output()
                .ok()?;
            let text = if output.stdout.is_empty() {
                output.stderr
            } else {
                output.stdout
            };
            let text = String::from_utf8_lossy(&text);
            let version = text.lines().find_map(version_in)?;
            Some(((*name).to_owned(), version))
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

/// A moment in RFC 3339, UTC, to the second.
fn format_timestamp(at: SystemTime) -> String {
    let seconds = at
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs();
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Civil date from days since 1970-01-01, counted in eras of 400 years from 0000-03-01.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_rfc_3339() {
        let at = |seconds| format_timestamp(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_735_689_599), "2024-12-31T23:59:59Z");
    }

    #[test]
    fn this_machine_is_told() {
        let header = run_header();
        assert!(header.kernel.starts_with("Linux "), "{header:?}");
        assert!(header.memory > 0 && header.cores > 0, "{header:?}");
        assert!(header.sqlite.starts_with("3."), "{header:?}");
    }
}
