//! Writes and flushes of a process, observed from outside by `strace`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::Error;
use crate::machine;
use crate::measure::syscalls::strace::parse_calls;

/// How long a tracer may take to let go.
const PATIENCE: Duration = Duration::from_secs(5);

/// A process that is being watched; let go when this is dropped.
#[derive(Debug)]
pub struct SaveTrace {
    strace: Child,
    output: PathBuf,
    files: PathBuf,
}

/// Writes to files below a directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WrittenBytes {
    /// Calls that write.
    pub writes: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Flushes by threads that also wrote: those that the caller waits for.
    pub flushes: u64,
    /// Flushes by other threads, later.
    pub later: u64,
}

impl SaveTrace {
    /// Watches a process. None if it cannot be watched: no `strace`, no right to, or watched
    /// already.
    pub fn attach(pid: u32, output: &Path, files: &Path) -> Option<Self> {
        let strace = machine::find_tool("strace")?;
        let mut child = Command::new(strace)
            .args(["-f", "-y", "-s", "0", "-o"])
            .arg(output)
            .args([
                "-e",
                "trace=write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync",
            ])
            .args(["-p", &pid.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        let mut said = BufReader::new(child.stderr.take()?);
        let mut line = String::new();
        // "strace: Process N attached", or why not. Its other output is a few lines for
        // threads, which the pipe holds until it ends.
        let told = said.read_line(&mut line).is_ok();
        if told && line.contains("attached") {
            std::thread::spawn(move || said.lines().for_each(drop));
            return Some(Self {
                strace: child,
                output: output.to_owned(),
                files: files.to_owned(),
            });
        }
        let _ = child.kill();
        let _ = child.wait();
        None
    }

    /// Detaches from the process; returns its writes meanwhile.
    pub fn end(mut self) -> Result<WrittenBytes, Error> {
        self.stop();
        let text = fs::read_to_string(&self.output).map_err(|e| Error::file(&self.output, e))?;
        Ok(count_calls(&text, &self.files.to_string_lossy()))
    }

    fn stop(&mut self) {
        // Interrupted, it detaches; the process goes on.
        let pid = i32::try_from(self.strace.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::INT);
        }
        // A tracer that waits for a child which was just being made does not hear it.
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if !matches!(self.strace.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.strace.kill();
        let _ = self.strace.wait();
    }
}

impl Drop for SaveTrace {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Counts the calls on files whose path contains `below`: a process with a root of its own has that
/// before it.
fn count_calls(text: &str, below: &str) -> WrittenBytes {
    let calls = parse_calls(text).into_iter();
    let calls = calls.filter(|call| call.file().is_some_and(|file| file.contains(below)));
    let (flushes, writes): (Vec<_>, Vec<_>) =
        calls.partition(|call| matches!(call.name.as_str(), "fsync" | "fdatasync"));
    let writers: Vec<&str> = writes.iter().map(|call| call.thread.as_str()).collect();
    let written = writes
        .iter()
        .filter_map(|call| u64::try_from(call.result?).ok());
    let awaited = flushes.iter();
    let awaited = awaited.filter(|call| writers.contains(&call.thread.as_str()));
    let awaited = awaited.count() as u64;
    WrittenBytes {
        writes: writes.len() as u64,
        bytes: written.sum::<u64>(),
        flushes: awaited,
        later: flushes.len() as u64 - awaited,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_is_below_the_directory_and_who_flushes() {
        let text = "\
            12 pwrite64(11</d/book/contacts.db-journal>, \"\"..., 4096, 516) = 4096\n\
            12 pwrite64(11</d/book/contacts.db>, \"\"..., 100, 0 <unfinished ...>\n\
            13 write(3<anon_inode:[eventfd]>, \"\"..., 8) = 8\n\
            12 <... pwrite64 resumed>) = 100\n\
            12 fdatasync(11</d/book/contacts.db-journal>) = 0\n\
            14 fdatasync(11</d/book/contacts.db>) = 0\n\
            12 pwritev(9</d/x>, [{iov_base=\"\"..., iov_len=10}, {iov_base=\"\"..., iov_len=7}], 2, 0) = 17\n";
        let counted = WrittenBytes {
            writes: 3,
            bytes: 4096 + 100 + 17,
            flushes: 1,
            later: 1,
        };
        assert_eq!(count_calls(text, "/d/"), counted);
        assert_eq!(count_calls(text, "/elsewhere"), WrittenBytes::default());
        let rooted = text.replace("</d/", "</cache/root/d/");
        assert_eq!(count_calls(&rooted, "/d/"), counted);
    }
}
