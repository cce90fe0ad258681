//! System calls by file, counted by `strace` in a pass of their own: it makes each call many
//! times slower, so that nothing is timed there.
//!
//! The measures of a phase, of each kind of file: `save/database_write_calls`,
//! `save/wal_write_bytes`, `save/journal_fdatasync_calls`, `save/directory_fsync_calls` and so
//! on; and `save/calls`, all of them, `save/flush_calls`, all that flush, `save/written_bytes`, bytes
//! written to files of any kind. Media files, by their extension, are `media`. Any other
//! missing measure is zero.
//!
//! Not counted: waits for opens of a file (inotify), whose number depends on the clock; and `stat`
//! and `readlink` of the folders above a database's own. A path made absolute asks for each of its
//! components, and how many there are is where the laboratory runs.

pub mod database_calls;
pub(crate) mod strace;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::machine;
use strace::TracedCall;

/// Marks the beginning of a phase for the tracer: a write to `/dev/null` that it sees.
pub fn mark_begin(phase: &str) {
    write_mark("begin", phase);
}

/// Marks the end of a phase for the tracer.
pub fn mark_end(phase: &str) {
    write_mark("end", phase);
}

fn write_mark(what: &str, phase: &str) {
    // A mark that cannot be made leaves its phase uncounted, which the parser reports.
    if let Ok(mut null) = OpenOptions::new().write(true).open("/dev/null") {
        let _ = null.write_all(format!("etui-lab {what} {phase}\n").as_bytes());
    }
}

/// Checks that calls can be traced here; the error says why not and what would help.
pub fn check_available() -> Result<(), String> {
    let Some(tracer) = machine::find_tool("strace") else {
        return Err("strace is not installed: `etui lab setup`".to_owned());
    };
    let tried = Command::new(tracer)
        .args(["-f", "-y", "-qq", "-o", "/dev/null", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match tried {
        Ok(status) if status.success() => Ok(()),
        _ => Err("this system does not let strace trace (ptrace)".to_owned()),
    }
}

/// Returns the command as it runs under `strace`, traced into a file; input and output must be set
/// again. None if there is no `strace`.
pub fn wrap_command(command: &Command, output: &Path) -> Option<Command> {
    wrap_traced(command, output, &["-s", "64", "-e", "trace=%file,%desc"])
}

/// Returns the command as it runs under `strace` with more options than all traces have.
fn wrap_traced(command: &Command, output: &Path, more: &[&str]) -> Option<Command> {
    let options = ["-f", "-y", "-qq"].iter().chain(more).chain(&["-o"]);
    let mut options: Vec<&OsStr> = options.map(OsStr::new).collect();
    options.push(output.as_os_str());
    super::wrap_command("strace", &options, command)
}

/// The figures of each phase by measure.
pub type Counts = BTreeMap<String, f64>;

/// Returns the measures of a trace, by phase.
pub fn read_trace(path: &Path) -> Result<BTreeMap<String, Counts>, Error> {
    let bytes = fs::read(path).map_err(|e| Error::file(path, e))?;
    count_calls(&String::from_utf8_lossy(&bytes))
        .map_err(|message| Error::other(format!("{}: {message}", path.display())))
}

/// Measures that are there if they are zero, too: bounds ask for them.
const ALWAYS: [&str; 3] = ["flush_calls", "media_open_calls", "written_bytes"];

fn count_calls(text: &str) -> Result<BTreeMap<String, Counts>, String> {
    let calls = strace::parse_calls(text);
    let files = TracedFiles::of(&calls);
    let mut phases: BTreeMap<String, Counts> = BTreeMap::new();
    let mut open: Vec<String> = Vec::new();
    for call in &calls {
        let Some(file) = call.file() else {
            continue;
        };
        if file == "/dev/null" {
            match is_marked(call) {
                Some(("begin", phase)) => {
                    let counts = phases.entry(phase.to_owned()).or_default();
                    for measure in ALWAYS {
                        counts.entry(measure.to_owned()).or_insert(0.0);
                    }
                    open.push(phase.to_owned());
                }
                Some(("end", phase)) => open.retain(|begun| begun != phase),
                _ => {}
            }
            continue;
        }
        // Where the laboratory itself looks.
        if file == "/proc" || file.starts_with("/proc/") || file.starts_with("/sys/") {
            continue;
        }
        // A thread that waits for opens of a file wakes at any time.
        if file == "anon_inode:inotify" {
            continue;
        }
        if files.is_path_lookup(&file, call) {
            continue;
        }
        for phase in &open {
            if let Some(counts) = phases.get_mut(phase) {
                add_call(counts, files.class(&file), is_file(&file), call);
            }
        }
    }
    match open.first() {
        Some(phase) => Err(format!("the phase `{phase}` has no end in the trace")),
        None => Ok(phases),
    }
}

/// `etui-lab begin save\n`
fn is_marked(call: &TracedCall) -> Option<(&str, &str)> {
    call.text()?
        .strip_prefix("etui-lab ")?
        .strip_suffix("\\n")?
        .split_once(' ')
}

/// Returns false for sockets, pipes and devices.
fn is_file(file: &str) -> bool {
    file.starts_with('/') && !file.starts_with("/dev/")
}

fn add_call(counts: &mut Counts, class: &str, is_file: bool, call: &TracedCall) {
    let kind = call_kind(call);
    let mut more = |name: String, by: f64| *counts.entry(name).or_insert(0.0) += by;
    more("calls".to_owned(), 1.0);
    more(format!("{class}_{kind}_calls"), 1.0);
    if matches!(kind, "fdatasync" | "fsync" | "sync") {
        more("flush_calls".to_owned(), 1.0);
    }
    if let ("read" | "write", Some(bytes @ 1..)) = (kind, call.result) {
        more(format!("{class}_{kind}_bytes"), bytes as f64);
        if kind == "write" && is_file {
            more("written_bytes".to_owned(), bytes as f64);
        }
    }
}

/// The kind of a call; those that do the same by another name are one.
fn call_kind(call: &TracedCall) -> &'static str {
    match call.name.as_str() {
        "read" | "pread64" | "readv" | "preadv" | "preadv2" => "read",
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => "write",
        "fdatasync" => "fdatasync",
        "fsync" => "fsync",
        "sync_file_range" | "syncfs" | "msync" => "sync",
        "ftruncate" | "truncate" => "truncate",
        "fallocate" => "allocate",
        "open" | "openat" | "openat2" | "creat" => "open",
        "close" => "close",
        "unlink" | "unlinkat" => "unlink",
        "rename" | "renameat" | "renameat2" => "rename",
        "mmap" => "map",
        "flock" => "lock",
        "fcntl" if call.arguments.contains("F_SETLK") || call.arguments.contains("F_OFD_") => {
            "lock"
        }
        "stat" | "lstat" | "fstat" | "newfstatat" | "statx" | "access" | "faccessat"
        | "faccessat2" => "stat",
        _ => "other",
    }
}

/// Which files are databases, which directories hold them, and those above.
struct TracedFiles {
    databases: BTreeSet<String>,
    directories: BTreeSet<String>,
    above: BTreeSet<String>,
}

/// Suffixes of SQLite, or of the VFS `etui`, to a database's name, and their files.
const BESIDE: [(&str, &str); 4] = [
    ("-journal", "journal"),
    ("-wal", "wal"),
    ("-shm", "shm"),
    ("-redo", "redo"),
];
const DATABASES: [&str; 4] = [".db", ".etui", ".sqlite", ".sqlite3"];
const MEDIA: [&str; 7] = [".aiff", ".flac", ".jpg", ".m4a", ".mp3", ".opus", ".wav"];

impl TracedFiles {
    fn of(calls: &[TracedCall]) -> Self {
        let mut databases = BTreeSet::new();
        for file in calls.iter().filter_map(TracedCall::file) {
            if DATABASES.iter().any(|ending| file.ends_with(ending)) {
                databases.insert(file);
            } else if let Some((database, _)) = names_path(&file) {
                databases.insert(database.to_owned());
            }
        }
        let directories: BTreeSet<String> = databases
            .iter()
            .filter_map(|file| Some(file.rsplit_once('/')?.0.to_owned()))
            .collect();
        let above = directories
            .iter()
            .flat_map(|directory| Path::new(directory).ancestors().skip(1))
            .filter_map(|folder| Some(folder.to_str()?.to_owned()))
            .filter(|folder| !directories.contains(folder))
            .collect();
        Self {
            databases,
            directories,
            above,
        }
    }

    /// Returns whether a call looks up a component of a path to a database.
    fn is_path_lookup(&self, file: &str, call: &TracedCall) -> bool {
        self.above.contains(file)
            && (matches!(call.name.as_str(), "readlink" | "readlinkat")
                || call_kind(call) == "stat")
    }

    fn class(&self, file: &str) -> &'static str {
        if let Some((_, class)) = names_path(file) {
            class
        } else if self.databases.contains(file) {
            "database"
        } else if MEDIA.iter().any(|ending| file.ends_with(ending)) {
            "media"
        } else if self.directories.contains(file) {
            "directory"
        } else {
            "other"
        }
    }
}

fn names_path(file: &str) -> Option<(&str, &'static str)> {
    BESIDE
        .iter()
        .find_map(|&(ending, class)| Some((file.strip_suffix(ending)?, class)))
}

#[cfg(test)]
mod tests;
