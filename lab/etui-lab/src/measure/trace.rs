//! Every request that reaches a block device ([`BlockTrace`]), by the kernel's tracer:
//! tracefs, event `block_rq_issue` (Documentation/trace/events.rst of the kernel).
//!
//! A line of it, the process that sent the request last:
//!
//! ```text
//!  python3-13414 [000] ..... 12357.031275: block_rq_issue: 7,0 WS 4096 () 273776 + 8 be,0,4 [python3]
//!                                        device, flags, bytes, command, sector + sectors, priority
//! ```
//!
//! Kernels before 6.13 have no priority there. The flags (`rwbs`): `F` a flush before, then
//! the operation (`W` write, `R` read, `D` discard, `F` flush, `N` another), then `F` forced
//! unit access, `S` synchronous, `M` metadata. A request to flush and write is passed to a
//! device as a flush, a write and, if the device has no forced unit access, another flush.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use crate::error::Error;
use crate::runner::run_id;

/// Prefix of the names of the laboratory's tracer instances.
const PREFIX: &str = "etui-lab-";
/// For each processor. A request takes 96 bytes.
const BUFFER_KB: &str = "16384";

/// A request that was passed to a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRequest {
    /// The device's number, e.g. `7,0`.
    pub device: String,
    /// The kernel's letters.
    pub flags: String,
    /// How much data it carries.
    pub bytes: u64,
    /// Where on the device, in units of 512 bytes.
    pub sector: u64,
    /// The process that passed it on; often a worker of the kernel's.
    pub process: String,
}

impl BlockRequest {
    /// Of a line of the trace; none if it is another event's.
    pub fn parse(line: &str) -> Option<Self> {
        let (_, rest) = line.split_once(" block_rq_issue: ")?;
        let (rest, process) = rest.rsplit_once(" [")?;
        // The command, in brackets, holds anything.
        let (before, after) = rest.split_once(" (")?;
        let (_, after) = after.split_once(") ")?;
        let mut before = before.split(' ');
        let mut after = after.split(' ');
        Some(Self {
            device: before.next()?.to_owned(),
            flags: before.next()?.to_owned(),
            bytes: before.next()?.parse().ok()?,
            sector: after.next()?.parse().ok()?,
            process: process.strip_suffix(']')?.to_owned(),
        })
    }

    /// A flush that carries no data.
    pub fn is_flush(&self) -> bool {
        self.bytes == 0 && self.flags.contains('F')
    }

    /// A write that carries data, not a request to write zeroes.
    pub fn is_write(&self) -> bool {
        self.bytes > 0 && self.flags.contains('W')
    }

    /// Whether the file system marked it as metadata, its own journal included.
    pub fn is_metadata(&self) -> bool {
        self.flags.contains('M')
    }
}

/// A trace that is being taken, in an instance of the tracer of its own.
#[derive(Debug)]
pub struct BlockTrace {
    // The instance is reached through this; so it is closed last.
    instance: PathBuf,
    _tracefs: OwnedFd,
}

impl BlockTrace {
    /// Begins to trace devices, by the kernel's names (`loop0`).
    pub fn start(devices: &[String]) -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if devices.is_empty() {
            return Err(Error::not_run(
                "block requests are traced on the laboratory's own devices only (loop images)",
            ));
        }
        let numbers: Vec<String> = devices
            .iter()
            .map(|device| {
                Ok(format!(
                    "dev == {}",
                    kernel_number(&device_number(device)?)?
                ))
            })
            .collect::<Result<_, Error>>()?;
        let tracefs = find_tracefs().map_err(|e| {
            Error::not_run(match e {
                rustix::io::Errno::PERM => "needs root (the kernel's tracer)".to_owned(),
                e => format!("the kernel's tracer (tracefs) cannot be had: {e}"),
            })
        })?;
        let run = std::env::var(run_id::MARKER).unwrap_or_else(|_| "none".to_owned());
        let name = format!(
            "{PREFIX}{run}-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let instance = list_instances(&tracefs).join(name);
        fs::create_dir(&instance)
            .map_err(|e| Error::not_run(format!("the kernel's tracer gives no instance: {e}")))?;
        let trace = Self {
            instance,
            _tracefs: tracefs,
        };
        trace.set("buffer_size_kb", BUFFER_KB)?;
        trace.set("events/block/block_rq_issue/filter", &numbers.join(" || "))?;
        trace.set("events/block/block_rq_issue/enable", "1")?;
        trace.set("tracing_on", "1")?;
        Ok(trace)
    }

    /// Ends the trace and gives the requests in their order.
    pub fn stop(self) -> Result<Vec<BlockRequest>, Error> {
        self.set("tracing_on", "0")?;
        let path = self.instance.join("trace");
        let text = fs::read(&path).map_err(|e| Error::file(&path, e))?;
        let text = String::from_utf8_lossy(&text);
        is_complete(&text)?;
        Ok(text.lines().filter_map(BlockRequest::parse).collect())
    }

    fn set(&self, file: &str, value: &str) -> Result<(), Error> {
        let path = self.instance.join(file);
        fs::write(&path, value).map_err(|e| {
            Error::other(format!(
                "the kernel's tracer refuses `{value}` in {file}: {e}"
            ))
        })
    }
}

impl Drop for BlockTrace {
    fn drop(&mut self) {
        let _ = self.set("events/block/block_rq_issue/enable", "0");
        let _ = fs::remove_dir(&self.instance);
    }
}

/// Whether a trace has all events that there were:
/// `# entries-in-buffer/entries-written: 514/514   #P:2`.
fn is_complete(trace: &str) -> Result<(), Error> {
    let counts = trace
        .lines()
        .find_map(|line| line.strip_prefix("# entries-in-buffer/entries-written: "))
        .and_then(|line| line.split_ascii_whitespace().next())
        .and_then(|counts| counts.split_once('/'));
    match counts {
        Some((kept, written)) if kept != written => Err(Error::other(format!(
            "the kernel's tracer kept {kept} of {written} requests: trace less at once"
        ))),
        _ => Ok(()),
    }
}

/// Formats a device's number as in the trace, `7,0`.
pub fn device_number(device: &str) -> Result<String, Error> {
    let path = Path::new("/sys/class/block").join(device).join("dev");
    let number = fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
    Ok(number.trim().replace(':', ","))
}

/// The number as the kernel keeps it: the major one above 20 bits of the minor one.
fn kernel_number(number: &str) -> Result<u64, Error> {
    number
        .split_once(',')
        .and_then(|(major, minor)| {
            Some(major.parse::<u64>().ok()? << 20 | minor.parse::<u64>().ok()?)
        })
        .ok_or_else(|| Error::other(format!("`{number}` is no device's number")))
}

/// tracefs, mounted for this handle alone: it appears nowhere, and is gone with the handle,
/// so that nothing stays mounted whatever happens.
fn find_tracefs() -> rustix::io::Result<OwnedFd> {
    let context = rustix::mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&context)?;
    rustix::mount::fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::empty(),
    )
}

fn list_instances(tracefs: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/instances", tracefs.as_raw_fd()))
}

/// Removes the tracer instances of a finished run, and returns them.
pub fn remove_instances(run: &str) -> Vec<String> {
    let Ok(tracefs) = find_tracefs() else {
        return Vec::new();
    };
    let Ok(entries) = fs::read_dir(list_instances(&tracefs)) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().to_str()?.to_owned();
            let of = name.strip_prefix(PREFIX)?;
            (of.split('-').next() == Some(run) && fs::remove_dir(entry.path()).is_ok())
                .then(|| format!("tracer instance {name}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::stacks;

    #[test]
    fn lines_of_the_trace() {
        let data = BlockRequest::parse(
            "         python3-13414   [000] .N... 12357.031275: block_rq_issue: 7,0 WS 4096 () 273776 + 8 be,0,4 [python3]",
        )
        .unwrap();
        assert_eq!(data.device, "7,0");
        assert_eq!((data.bytes, data.sector), (4096, 273_776));
        assert_eq!(data.process, "python3");
        assert!(data.is_write() && !data.is_flush() && !data.is_metadata());

        let flush = BlockRequest::parse(
            "    kworker/0:1H-54      [000] ..... 12357.031341: block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [kworker/0:1H]",
        )
        .unwrap();
        assert!(flush.is_flush() && !flush.is_write());

        let journal = BlockRequest::parse(
            "    jbd2/loop0-8-13407   [000] ..... 12357.031769: block_rq_issue: 7,0 WSM 28672 () 1058272 + 56 be,0,3 [jbd2/loop0-8]",
        )
        .unwrap();
        assert!(journal.is_write() && journal.is_metadata());
        assert_eq!(journal.process, "jbd2/loop0-8");

        // As kernels before 6.13 have it, and with a process that is called `a [b] c`.
        let old = BlockRequest::parse(
            "     a [b] c-77      [001] d..1.   5.5: block_rq_issue: 253,16 FWFSM 512 () 2048 + 1 [a [b] c]",
        );
        assert_eq!(old.unwrap().sector, 2048);

        let zeroes = BlockRequest::parse(
            " kworker/u8:1-7 [001] ..... 1.0: block_rq_issue: 7,1 NS 2097152 () 40 + 4096 be,0,4 [kworker/u8:1]",
        )
        .unwrap();
        assert!(!zeroes.is_write() && !zeroes.is_flush());

        assert_eq!(BlockRequest::parse("# tracer: nop"), None);
        assert_eq!(
            BlockRequest::parse(
                " x-1 [000] ..... 1.0: block_rq_complete: 7,0 WS () 40 + 8 be,0,4 [0]"
            ),
            None
        );
        assert_eq!(BlockRequest::parse(" block_rq_issue: 7,0 WS"), None);
    }

    #[test]
    fn lost_requests_are_noticed() {
        assert!(is_complete("# entries-in-buffer/entries-written: 514/514   #P:2\n").is_ok());
        assert!(is_complete("# entries-in-buffer/entries-written: 500/514   #P:2\n").is_err());
        assert_eq!(kernel_number("7,3").unwrap(), 7 << 20 | 3);
        assert!(kernel_number("seven").is_err());
    }

    #[test]
    fn a_synced_file_reaches_the_device() {
        if stacks::check_available("ext4").is_err() {
            return;
        }
        let work = tempfile::tempdir().unwrap();
        let stack = stacks::prepare_stack("ext4", work.path(), None).unwrap();
        let trace = BlockTrace::start(&stack.devices).unwrap();
        let instance = trace.instance.file_name().unwrap().to_owned();
        let file = fs::File::create(stack.dir.join("file")).unwrap();
        std::io::Write::write_all(&mut &file, &[1; 8192]).unwrap();
        file.sync_all().unwrap();
        let requests = trace.stop().unwrap();
        let data: u64 = requests
            .iter()
            .filter(|r| r.is_write() && !r.is_metadata())
            .map(|r| r.bytes)
            .sum();
        assert_eq!(data, 8192);
        assert!(requests.iter().any(BlockRequest::is_flush));
        assert!(requests.iter().any(|r| r.is_write() && r.is_metadata()));
        assert!(
            !list_instances(&find_tracefs().unwrap())
                .join(instance)
                .exists()
        );
    }

    #[test]
    fn instances_of_a_dead_run_are_removed() {
        let Ok(tracefs) = find_tracefs() else {
            return;
        };
        let dir = list_instances(&tracefs);
        let (mine, other) = (
            "etui-lab-00000000000000aa-1-0",
            "etui-lab-00000000000000ab-1-0",
        );
        fs::create_dir(dir.join(mine)).unwrap();
        fs::create_dir(dir.join(other)).unwrap();
        let removed = remove_instances("00000000000000aa");
        assert_eq!(removed, [format!("tracer instance {mine}")]);
        assert!(dir.join(other).exists());
        assert_eq!(remove_instances("00000000000000ab").len(), 1);
    }
}
