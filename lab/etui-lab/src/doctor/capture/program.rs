//! [`run_command`]: runs the command under observation.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::observed::Observed;
use super::observer::summarise_events;
use super::trace;
use crate::error::Error;
use crate::machine;
use crate::measure::syscalls::database_calls;

/// The preloaded library; empty where it cannot be built.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libetui_lab_preload.so"));

/// The way in which a command is observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Tracer {
    /// A library preloaded into the program: statements, writes and flushes
    Preload,
    /// strace: writes and flushes of any program
    Strace,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandEnd {
    /// The command, as it was given.
    pub command: String,
    /// How it ended, if not with exit code 0.
    pub problem: Option<String>,
    /// It was ended after the time that was given for it.
    pub timed_out: bool,
}

#[derive(Debug)]
pub struct CommandRun<'a> {
    /// The program and its arguments.
    pub words: &'a [OsString],
    /// The canonical path of the database.
    pub database: &'a Path,
    pub dir: &'a Path,
    /// The way; None: by the program.
    pub tracer: Option<Tracer>,
    /// The program is ended after this time.
    pub time_limit: Option<Duration>,
    /// The program's standard output goes to standard error.
    pub output_to_errors: bool,
    /// Set when the person presses Ctrl-C, which the program receives too.
    pub stop: &'a AtomicBool,
}

/// Runs a command and returns what it did. Of `strace` this is I/O only.
pub fn run_command(run: &CommandRun<'_>) -> Result<(CommandEnd, Tracer, Observed), Error> {
    let program = run
        .words
        .first()
        .map(OsString::as_os_str)
        .unwrap_or_default();
    let found = find_program(program)
        .ok_or_else(|| Error::other(format!("{}: no such program", program.display())))?;
    let tracer = match run.tracer {
        Some(tracer) => tracer,
        None if LIBRARY.is_empty() || is_static(&found) => Tracer::Strace,
        None => Tracer::Preload,
    };
    let mut command = Command::new(&found);
    command.args(run.words.get(1..).unwrap_or_default());
    let records = run.dir.join("records");
    fs::create_dir_all(&records).map_err(|e| Error::file(&records, e))?;
    let calls = run.dir.join("calls");
    match tracer {
        Tracer::Preload => preload(&mut command, run, &records)?,
        Tracer::Strace => {
            database_calls::check_available().map_err(Error::NotRun)?;
            command = database_calls::wrap_command(&command, &calls)
                .ok_or_else(|| Error::not_run("strace is not installed: `etui lab setup`"))?;
        }
    }
    let end = run_to_end(command, run)?;
    let observed = match tracer {
        Tracer::Preload => {
            let events = trace::read_events(&records)?;
            let header = crate::doctor::copy::read_header(run.database)
                .ok()
                .flatten();
            let page_size = header.map_or(4096, |header| header.page_size);
            summarise_events(&events, run.database, page_size)
        }
        Tracer::Strace => Observed::of_calls(&database_calls::read(&calls, run.database)?),
    };
    Ok((end, tracer, observed))
}

fn preload(command: &mut Command, run: &CommandRun<'_>, records: &Path) -> Result<(), Error> {
    if LIBRARY.is_empty() {
        return Err(Error::not_run(
            "the library for preloading exists for Linux with glibc on 64-bit machines only; \
             --tracer strace counts writes and flushes",
        ));
    }
    let library = run.dir.join("libetui_lab_preload.so");
    fs::write(&library, LIBRARY).map_err(|e| Error::file(&library, e))?;
    let mut libraries = library.into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        libraries.push(":");
        libraries.push(others);
    }
    command
        .env("LD_PRELOAD", libraries)
        .env("ETUI_DOCTOR_DATABASE", run.database)
        .env("ETUI_DOCTOR_TRACE", records);
    Ok(())
}

fn run_to_end(mut command: Command, run: &CommandRun<'_>) -> Result<CommandEnd, Error> {
    if run.output_to_errors {
        command.stdout(std::io::stderr());
    }
    command.stdin(Stdio::inherit());
    let program = PathBuf::from(command.get_program());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => Error::other(format!(
            "{}: cannot be run: it is not executable; name its interpreter, or chmod +x",
            program.display()
        )),
        _ => Error::file(&program, error),
    })?;
    let begun = Instant::now();
    let mut timed_out = false;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|e| Error::file(&program, e))? {
            break status;
        }
        if !timed_out && run.time_limit.is_some_and(|limit| begun.elapsed() > limit) {
            timed_out = true;
            ask_to_end(&child);
        }
        if timed_out
            && run
                .time_limit
                .is_some_and(|limit| begun.elapsed() > limit + GRACE)
        {
            let _ = child.kill();
        }
        std::thread::sleep(POLL);
    };
    // Ctrl-C ended the program; what it did is examined all the same.
    run.stop.store(false, Ordering::Relaxed);
    let words: Vec<_> = run
        .words
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    Ok(CommandEnd {
        command: words.join(" "),
        problem: (!timed_out).then(|| describe_end(status)).flatten(),
        timed_out,
    })
}

const POLL: Duration = Duration::from_millis(10);
/// The time between the signal to end and the one that cannot be refused.
const GRACE: Duration = Duration::from_secs(10);

fn ask_to_end(child: &Child) {
    let process = i32::try_from(child.id()).ok();
    if let Some(process) = process.and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
    }
}

fn describe_end(status: ExitStatus) -> Option<String> {
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("exit code {code}")),
        (None, Some(signal)) => Some(format!("killed by signal {signal}")),
        (None, None) => Some("ended in an unknown way".to_owned()),
    }
}

fn find_program(program: &std::ffi::OsStr) -> Option<PathBuf> {
    match program.to_string_lossy().contains('/') {
        true => Some(PathBuf::from(program)).filter(|path| path.is_file()),
        false => machine::find_tool(&program.to_string_lossy()),
    }
}

/// Returns true for a program without a loader, into which nothing can be preloaded: an ELF file
/// without the program header `PT_INTERP`.
fn is_static(program: &Path) -> bool {
    const PT_INTERP: u32 = 3;
    let Ok(bytes) = read_beginning(program) else {
        return false;
    };
    // 64-bit and little-endian; of others nothing is known.
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return false;
    }
    let short = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let (Some(offset), Some(size), Some(count)) = (long(32), short(54), short(56)) else {
        return false;
    };
    let header = |n: u16| {
        let at = offset.checked_add(u64::from(n) * u64::from(size))?;
        word(usize::try_from(at).ok()?)
    };
    let mut kinds = (0..count).map(header);
    kinds.all(|kind| kind.is_some_and(|kind| kind != PT_INTERP))
}

fn read_beginning(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(64 << 10)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn programs_with_and_without_a_loader() {
        assert!(!is_static(&std::env::current_exe().unwrap()));
        assert!(!is_static(Path::new("/nonexistent")));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("script");
        fs::write(&path, "#!/bin/sh\n").unwrap();
        assert!(!is_static(&path));
        // An ELF file with no program headers at all.
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(64, 0);
        fs::write(&path, elf).unwrap();
        assert!(is_static(&path));
    }
}
