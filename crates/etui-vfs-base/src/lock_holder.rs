//! [`LockHolder`]: the process that has a lock, for messages.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::guarded_file::{Bytes, LOCK_BYTES};
use crate::wal_index::{WRITE_BYTE, sibling_path};

/// Another process that has a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockHolder {
    /// The number of the process.
    pub process: u32,
    /// The name of its program, as the kernel shortens it; empty if it cannot be read.
    pub name: String,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => write!(f, "process {}", self.process),
            name => write!(f, "process {} ({name})", self.process),
        }
    }
}

/// Returns another process that has a lock of the database, if it is known: it may be of another container,
/// or of another user.
#[doc(hidden)]
pub fn holder_of_database(path: &Path) -> Option<LockHolder> {
    find(path, |lock| lock.is_within(LOCK_BYTES))
}

/// Returns another process that writes to a database in WAL mode, if it is known.
pub fn writer_of(path: &Path) -> Option<LockHolder> {
    let writes = |lock: &Lock<'_>| lock.kind == "WRITE" && lock.is_within(WRITE_BYTE);
    find(&sibling_path(path, "-shm"), writes)
}

/// A line of `/proc/locks`, or of a file of `/proc/PID/fdinfo` (proc_locks(5)).
struct Lock<'l> {
    /// READ or WRITE.
    kind: &'l str,
    /// -1 for a lock of an open file description.
    process: i64,
    file: &'l str,
    start: i64,
}

impl<'l> Lock<'l> {
    fn parse(line: &'l str) -> Option<Self> {
        let mut words = line
            .split_ascii_whitespace()
            .filter(|word| !matches!(*word, "->" | "lock:"));
        // After its number, its type and `ADVISORY`.
        let (kind, process) = (words.nth(3)?, words.next()?.parse().ok()?);
        Some(Self {
            kind,
            process,
            file: words.next()?,
            start: words.next()?.parse().ok()?,
        })
    }

    fn is_within(&self, (start, len): Bytes) -> bool {
        (start..start + len).contains(&self.start)
    }
}

fn find(path: &Path, is_wanted: impl Fn(&Lock<'_>) -> bool) -> Option<LockHolder> {
    let file = fs::metadata(path).ok()?;
    let (device, inode) = (file.dev(), file.ino());
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let name = format!("{major:02x}:{minor:02x}:{inode}");
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let of_process = locks.lines().find_map(|line| {
        let lock = Lock::parse(line).filter(|lock| lock.file == name && is_wanted(lock))?;
        // 0: of a process of another container.
        let process = u32::try_from(lock.process).ok().filter(|id| *id > 0)?;
        (process != std::process::id()).then_some(process)
    });
    let process = of_process.or_else(|| of_open_file((device, inode), &is_wanted))?;
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    Some(LockHolder {
        process,
        name: name.trim().to_owned(),
    })
}

/// Returns the process, of those that this one may inspect, with a lock of a file. The kernel lists OFD locks with
/// the open files of each process, not by process; of the others it may pass one over in `/proc/locks`, which is
/// read in parts while locks come and go.
fn of_open_file(identity: (u64, u64), is_wanted: &impl Fn(&Lock<'_>) -> bool) -> Option<u32> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    processes
        .filter(|process| *process != std::process::id())
        .find(|process| {
            let files = fs::read_dir(format!("/proc/{process}/fd"));
            files.into_iter().flatten().flatten().any(|file| {
                let is_it = fs::metadata(file.path())
                    .is_ok_and(|file| (file.dev(), file.ino()) == identity);
                let descriptor = file.file_name();
                let info = format!("/proc/{process}/fdinfo/{}", descriptor.to_string_lossy());
                is_it
                    && fs::read_to_string(info).is_ok_and(|info| {
                        let mut locks = info.lines().filter(|line| line.starts_with("lock:"));
                        locks.any(|line| Lock::parse(line).is_some_and(|lock| is_wanted(&lock)))
                    })
            })
        })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let lock = Lock::parse("12: POSIX  ADVISORY  WRITE 4711 fe:00:99 120 120").unwrap();
        assert_eq!(
            (lock.kind, lock.process, lock.file),
            ("WRITE", 4711, "fe:00:99")
        );
        assert!(lock.is_within(WRITE_BYTE) && !lock.is_within(LOCK_BYTES));
        let lock = Lock::parse("lock:\t1: OFDLCK ADVISORY  READ -1 fe:00:99 128 128").unwrap();
        assert_eq!((lock.kind, lock.process, lock.start), ("READ", -1, 128));
        let waits = Lock::parse("3: -> FLOCK  ADVISORY  WRITE 5 00:1a:7 0 EOF").unwrap();
        assert_eq!((waits.kind, waits.process, waits.start), ("WRITE", 5, 0));
        assert!(Lock::parse("").is_none() && Lock::parse("pos:\t0").is_none());
    }
}
